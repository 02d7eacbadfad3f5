//! What was done about tokens, for metrics, log and audit trail.
//!
//! The rule kept here: what is in force is told, whether or not the request is answered. Of an
//! assertion its names are told, and never the assertion.

use soapstone::endpoint::TokenAnswer;
use soapstone::trust::RequesterToken;
use soapstone::wss::ContextOwner;

use super::context::Exchange;
use crate::observe::audit::{IssuedAssertion, Sender};

/// Tells what was done about tokens, whatever became of the answer.
pub(super) fn tell_done(exchange: &Exchange<'_>, request: &str, answer: &TokenAnswer) {
    let route = exchange.route;
    let peer = exchange.connection.peer;
    note(exchange, answer);
    for done in &answer.done {
        if let Some(audience) = &done.audience {
            route.metrics.assertion(done.what);
            tracing::info!(
                route = route.name,
                request,
                %peer,
                what = done.what,
                assertion = done.identifier,
                subject = done.owner,
                domain = done.domain,
                requester = %requester_of(answer),
                audience,
                "assertion"
            );
            continue;
        }
        route.metrics.context(done.what);
        tracing::info!(
            route = route.name,
            request,
            %peer,
            what = done.what,
            context = done.identifier,
            owner = done.owner,
            domain = done.domain,
            "security context"
        );
    }
}

/// Who asked, in words.
fn requester_of(answer: &TokenAnswer) -> String {
    match &answer.token {
        Some(token) => token.to_string(),
        None => answer.requester.to_string(),
    }
}

/// In whose domain the name of an assertion's subject is: its issuer's, if that does not name
/// another one.
fn domain_of(answer: &TokenAnswer) -> Option<String> {
    let (subject, issuer) = match (&answer.token, &*answer.requester) {
        (
            Some(RequesterToken::Assertion {
                assertion: shown, ..
            }),
            _,
        ) => (&shown.subject, &shown.issuer),
        (None, ContextOwner::Subject(owner)) => (&owner.subject, &owner.issuer),
        _ => return None,
    };
    Some(subject.domain(issuer).to_owned())
}

/// Notes who asked, for which tokens, or why nothing was issued, for the audit trail.
fn note(exchange: &Exchange<'_>, answer: &TokenAnswer) {
    exchange.note(|found| {
        found.sender = match (&answer.token, &*answer.requester) {
            (
                Some(RequesterToken::Assertion {
                    assertion: shown, ..
                }),
                _,
            ) => Some(("assertion", shown.subject.value.as_str())),
            (Some(RequesterToken::Kerberos { client, .. }), _) => {
                Some(("kerberos", client.as_str()))
            }
            (None, ContextOwner::Certificate(certificate)) => {
                Some(("certificate", certificate.subject()))
            }
            (None, ContextOwner::User(user)) => Some(("user", user.as_str())),
            (None, ContextOwner::Kerberos { client, .. }) => Some(("kerberos", client.as_str())),
            (None, ContextOwner::Subject(owner)) => {
                Some(("assertion", owner.subject.value.as_str()))
            }
            (None, ContextOwner::Anonymous) => None,
        }
        .map(|(by, name)| Sender {
            by,
            name: name.to_owned(),
            domain: domain_of(answer),
        });
        if let Some(fault) = &answer.refused {
            found.refused = true;
            found.reason = Some(fault.refusal.name());
        }
        let assertions = answer.done.iter().filter(|done| done.audience.is_some());
        found.assertions = assertions
            .map(|done| IssuedAssertion {
                id: done.identifier.clone(),
                is_cancelled: done.what == "cancelled",
                subject: done.owner.clone().unwrap_or_default(),
                domain: done.domain.clone(),
                audience: done.audience.clone().unwrap_or_default(),
            })
            .collect();
    });
}
