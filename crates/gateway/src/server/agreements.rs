//! What is known of each agreement, as JSON.
//!
//! The rule kept here: looking changes nothing.

use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Value, json};
use soapstone_broker::{Agreement, AgreementStatus, ProviderStatus};

use crate::observe::violations::Violations;
use crate::route::serving::Serving;

/// All of them, and where their records end.
pub(super) fn agreements(serving: &Serving, violations: &Violations) -> String {
    let in_use = serving.agreements.iter().flat_map(|it| it.status());
    let all: Vec<Value> = in_use.map(|(it, status)| agreement(it, &status)).collect();
    let head = violations.head();
    let shown = json!({
        "agreements": all,
        "records": { "number": head.number, "digest": head.digest, "lost": violations.lost() },
    });
    format!("{shown:#}\n")
}

fn agreement(agreement: &Agreement, status: &AgreementStatus) -> Value {
    let terms = agreement.terms();
    let violations = status.violations.iter();
    let violations: Map<String, Value> = violations
        .map(|(obligation, count)| (obligation.name().to_owned(), json!(count)))
        .collect();
    let providers: Vec<Value> = status.providers.iter().map(provider).collect();
    json!({
        "name": status.name,
        "route": terms.service,
        "client": terms.client,
        "provider": terms.of_provider.subject,
        "class": terms.class.name(),
        "from": moment(terms.validity.from),
        "until": moment(terms.validity.until),
        "in_force": status.in_force,
        "admitted": status.admitted,
        "refused": status.refused,
        "window": { "requests": status.asked, "refused": status.excess },
        "violations": violations,
        "backends": providers,
    })
}

fn provider(status: &ProviderStatus) -> Value {
    json!({
        "name": status.backend,
        "window": {
            "calls": status.calls,
            "late": status.late,
            "failed": status.failed,
            "weak": status.weak,
        },
        "strikes": status.strikes,
        "excluded_for_ms": status.excluded.map(|left| left.as_millis()),
    })
}

fn moment(since: Duration) -> Option<String> {
    let seconds = i64::try_from(since.as_secs()).ok()?;
    Some(Timestamp::from_second(seconds).ok()?.to_string())
}
