//! The answer to a request for a token.
//!
//! The rule kept here: what was done about tokens is told to metrics, log and audit trail before it
//! is answered. Of an assertion its names are told, and never the assertion.

use http::{Response, StatusCode};
use soapstone::endpoint::TokenAnswer;
use soapstone::trust::RequesterToken;
use soapstone::wss::{ContextOwner, SoapVersion};

use super::reporter::Reporter;
use crate::observe::audit::{IssuedAssertion, Sender};
use crate::observe::log::Beginning;
use crate::observe::metrics::Flow;
use crate::wire::headers::X_REQUEST_ID;
use crate::wire::media;
use crate::wire::reply::Reply;

/// The answer to a request for a token.
pub(super) fn token_answer(reporter: &Reporter<'_>, answer: TokenAnswer) -> Response<Reply> {
    let route = reporter.exchange.route;
    let request = reporter.id.to_str().unwrap_or_default();
    let peer = reporter.exchange.connection.peer;
    note(reporter, &answer);
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
                requester = %requester_of(&answer),
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
    let status = match (&answer.refused, answer.version) {
        (None, _) => StatusCode::OK,
        (Some(_), SoapVersion::V11) => StatusCode::INTERNAL_SERVER_ERROR,
        (Some(_), SoapVersion::V12) => StatusCode::BAD_REQUEST,
    };
    if let Some(fault) = &answer.refused {
        match answer.of_assertions {
            true => route.metrics.assertion("refused"),
            false => route.metrics.context("refused"),
        }
        route.metrics.token_fault(fault.code());
        tracing::warn!(
            route = route.name,
            request,
            %peer,
            fault = fault.code().local(),
            detail = %Beginning(fault),
            "request for a token refused"
        );
    }
    route
        .metrics
        .octets(Flow::ToClient, answer.bytes.len() as u64);
    let content_type = media::with_action(answer.version, &answer.action);
    let mut response = Response::new(Reply::whole(answer.bytes));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(http::header::CONTENT_TYPE, content_type);
    headers.insert(X_REQUEST_ID, reporter.id.clone());
    response
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
fn note(reporter: &Reporter<'_>, answer: &TokenAnswer) {
    reporter.exchange.note(|found| {
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
