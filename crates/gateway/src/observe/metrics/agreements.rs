//! Metrics of agreements.
//!
//! The rule kept here: they are for operators. Who has agreed on what is nobody else's business.

use soapstone_broker::AgreementStatus;

use crate::route::together::UnansweredCounts;

use super::text::{COUNTER, Exposition, GAUGE, escape};

/// What is known of agreements and their records.
#[derive(Debug, Default)]
pub(crate) struct AgreementsSnapshot {
    pub(crate) agreements: Vec<AgreementStatus>,
    /// The number of the last violation record.
    pub(crate) records: u64,
    /// Violation records that were lost.
    pub(crate) lost: u64,
    /// What the store which gateways share has not answered for.
    pub(crate) shared: Option<UnansweredCounts>,
}

fn label(agreement: &AgreementStatus) -> String {
    format!("agreement=\"{}\"", escape(&agreement.name))
}

/// Writes them.
pub(super) fn expose(snapshot: &AgreementsSnapshot, out: &mut Exposition) {
    let all = &snapshot.agreements;
    let help = "Whether an agreement is in force.";
    let mut samples = out.family(("soapstone_agreement_in_force", GAUGE, help));
    for one in all {
        samples.sample(&label(one), u8::from(one.in_force));
    }
    let help = "Requests under an agreement, by whether it let them in.";
    let mut samples = out.family(("soapstone_agreement_requests_total", COUNTER, help));
    for one in all {
        for (outcome, count) in [("admitted", one.admitted), ("refused", one.refused)] {
            samples.sample(&format!("{},outcome=\"{outcome}\"", label(one)), count);
        }
    }
    let help = "Violations of an agreement, by the party and its obligation.";
    let mut samples = out.family(("soapstone_agreement_violations_total", COUNTER, help));
    for one in all {
        for (obligation, count) in &one.violations {
            let (party, name) = (obligation.party(), obligation.name());
            let labels = format!("{},party=\"{party}\",obligation=\"{name}\"", label(one));
            samples.sample(&labels, count);
        }
    }
    let help = "Whether an agreement has excluded a backend.";
    let mut samples = out.family(("soapstone_agreement_excluded", GAUGE, help));
    for one in all {
        for provider in &one.providers {
            let labels = format!("{},backend=\"{}\"", label(one), escape(&provider.backend));
            samples.sample(&labels, u8::from(provider.excluded.is_some()));
        }
    }
    if let Some(counts) = snapshot.shared {
        let help = "Requests under agreements that the store of rates has not answered for.";
        out.number(
            ("soapstone_agreement_store_unanswered_total", COUNTER, help),
            counts.requests,
        );
        let help = "Requests under agreements that were let in by what this gateway alone counted.";
        out.number(
            ("soapstone_agreement_decided_alone_total", COUNTER, help),
            counts.decided_alone,
        );
        let help = "Questions about windows of agreements that the store has not answered.";
        out.number(
            ("soapstone_agreement_window_unanswered_total", COUNTER, help),
            counts.windows,
        );
    }
    let help = "The number of the last violation record.";
    out.number(
        ("soapstone_violation_records", GAUGE, help),
        snapshot.records,
    );
    let help = "Violation records that were lost: they could not be signed or written.";
    out.number(
        ("soapstone_violation_records_lost_total", COUNTER, help),
        snapshot.lost,
    );
}
