//! Requests on a route with an endpoint: opened, secured, or both, on their way to the backend, and
//! their responses on the way back.
//!
//! ```text
//! client ─ body ─▶ [inbound: open] ─▶ [outbound: secure] ─▶ backend
//! client ◀─ body ─ [inbound: secure] ◀─ [outbound: open] ◀─ backend
//! ```
//!
//! What an endpoint learnt from the request, it needs for the response: its receipt.
//!
//! The rule kept here: the backend is not reached before the request is admitted.

use http::{Request, Response, header};
use hyper::body::Incoming;

use super::context::Exchange;
use super::deliver::{Delivered, Sending, Told, deliver};
use super::failure::too_many;
use super::package;
use super::read::read_request;
use super::reporter::{RefusedAnswer, Reporter};
use super::request::{Arrived, Prepared, prepare_request};
use super::response::finish;
use super::status_hint::StatusHint;
use super::token_answer::token_answer;
use crate::route::upstream::Said;
use crate::wire::headers::X_REQUEST_ID;
use crate::wire::media;
use crate::wire::reply::Reply;

/// Serves one request.
pub(super) async fn serve(
    exchange: &Exchange<'_>,
    request: Box<Request<Incoming>>,
) -> Response<Reply> {
    let (head, body) = request.into_parts();
    // What is handed on from step to step is handed on by its pointer.
    let mut head = Box::new(head);
    let id = exchange.request_id(head.headers.get(X_REQUEST_ID));
    head.headers.insert(X_REQUEST_ID, id.clone());
    let reporter = &Reporter::new(exchange, id);
    let (version, package) = match package::of_request(reporter, &head.headers) {
        Ok(expected) => expected,
        Err(response) => return *response,
    };
    let mut reservation = exchange.reserve();
    let limit = package::most_bytes(&head.headers, exchange.serving.limits.body);
    let octets = match read_request(reporter, (body, limit), version, &mut reservation).await {
        Ok(octets) => octets,
        Err(response) => return response,
    };
    let arrived = Box::new(Arrived {
        octets,
        package,
        version,
        said: Said {
            action: media::action_of(&head.headers),
            packing: None,
        },
        actions: match &exchange.route.inbound {
            Some(inbound) if inbound.endpoint.asks_for_actions() => {
                media::actions_of(&head.headers)
            }
            _ => Vec::new(),
        },
        claimed: match exchange.serving.asks_for_operations() {
            true => media::claims_of(&head.headers),
            false => Vec::new(),
        },
    });
    let mut forward = match prepare_request(reporter, arrived, &mut reservation).await {
        Ok(Prepared::Forward(forward)) => forward,
        Ok(Prepared::Answered(answer)) => return token_answer(reporter, answer),
        Err(response) => return response,
    };
    let version = forward.version;
    if let Err((reason, wait)) = exchange.admit(forward.sender.as_ref(), &mut reservation) {
        return too_many(exchange, &head.headers, reason, wait);
    }
    exchange.note(|found| {
        found.sender = forward.sender.take();
        if let Some(inner) = &forward.inner {
            found.document_signer = inner.signer().map(str::to_owned);
            found.document_recipient = inner.recipient().map(str::to_owned);
        }
        found.issued_assertion = forward.issued.take();
        if let Some(action) = &forward.action {
            found.operation = Some(action.clone());
        }
    });
    let content_type = forward.content_type.take();
    head.headers.insert(
        header::CONTENT_TYPE,
        content_type.unwrap_or_else(|| media::rewritten(&head.headers, version)),
    );
    head.headers.remove(header::CONTENT_LENGTH);
    // A compressed response could not be secured, and its length would tell of what it holds.
    head.headers.remove(header::ACCEPT_ENCODING);
    let sending = Sending::take(reporter, &mut forward);
    let mut receipts = forward.receipts;
    let told = Told {
        assertion: forward.assertion.as_deref(),
        inner: forward.inner.as_deref(),
        unproven: &forward.unproven,
        action: forward.action.as_deref(),
    };
    let delivered = deliver(reporter, sending, head, told, version, &mut reservation).await;
    let Delivered {
        mut sent,
        response,
        attempt,
    } = match delivered {
        Ok(delivered) => delivered,
        Err(response) => return response,
    };
    receipts.outbound = std::mem::take(&mut sent.receipt);
    let said = StatusHint::of(response.0.status);
    let response = finish(
        reporter,
        &sent.upstream,
        response,
        receipts,
        version,
        reservation,
    )
    .await;
    if let Some(mut attempt) = attempt {
        match reporter.refused_answer() {
            Some(RefusedAnswer::Unproven(reason)) => attempt.unproven(reason),
            Some(RefusedAnswer::Unknown) => attempt.unknown(),
            Some(RefusedAnswer::Undecided) => attempt.excuse(),
            None => {
                if let Some(evidence) = reporter.answer() {
                    attempt.proved(&evidence);
                }
            }
        }
    }
    said.in_place_of(response, version)
}
