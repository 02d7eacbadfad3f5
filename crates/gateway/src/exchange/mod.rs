//! One exchange: a request of a client on a route, and its answer.
//!
//! ```text
//! request ─▶ open ─▶ choose ─▶ secure ─▶ backend
//! answer  ◀─ secure ◀─────────── open ◀─ backend
//! ```
//!
//! The rule kept here: on a route with an endpoint nothing reaches the backend but what the
//! endpoint let through, and the description of the service.

mod attempt;
mod authorize;
mod bsp;
pub(crate) mod carry;
mod choose;
pub(crate) mod connection;
pub(crate) mod context;
mod deliver;
pub(crate) mod failure;
mod identity;
mod open;
mod package;
mod pass;
mod peer_clock;
mod read;
pub(crate) mod refusal_moment;
mod reporter;
mod request;
mod requirements;
pub(crate) mod resources;
mod response;
mod retry;
mod secure;
mod secured;
mod send;
mod status_hint;
pub(crate) mod steps;
mod token_answer;
mod token_done;
mod weak_use;
mod working;

use std::io;

use http::{HeaderValue, Method, Request, Response, StatusCode, Uri, header};
use hyper::body::{Body, Incoming};
use soapstone_store::server_trust::describe;

use crate::description;
use crate::observe::traces::Traced;
use crate::wire::fault::{Cause, Failure};
use crate::wire::headers::X_REQUEST_ID;
use crate::wire::media;
use crate::wire::packaged::spoken;
use crate::wire::reply::Reply;
use crate::wire::text::text;
use context::Exchange;
use failure::{fail, too_many};

/// Serves a request on its route. `traced` is its trace, where that is recorded.
pub(crate) async fn serve(
    exchange: &Exchange<'_>,
    request: Box<Request<Incoming>>,
    mut traced: Option<Traced>,
) -> Response<Reply> {
    let route = exchange.route;
    let _in_hand = route.metrics.in_hand();
    exchange.note(|found| {
        found.operation = media::action_of(request.headers());
        found.request_bytes = request.body().size_hint().exact();
    });
    let response = if let Err((reason, wait)) = exchange.within_rates() {
        too_many(exchange, request.headers(), reason, wait)
    } else if let Err(error) = exchange
        .connection
        .check_revoked(exchange.serving.client_revocation.as_deref())
    {
        let (cause, reason) = (Cause::NeedsClientCertificate, "client-certificate-revoked");
        let detail = describe(&io::Error::new(io::ErrorKind::InvalidData, error));
        of_another_connection(exchange, &request, cause, reason, &detail)
    } else if is_description(request.method(), request.uri()) {
        Box::pin(description::serve(exchange, *request)).await
    } else if route.needs_tls && !exchange.connection.through_tls {
        let detail =
            "the policy of the route leaves protection to TLS, and the request came without";
        of_another_connection(exchange, &request, Cause::NeedsTls, "needs-tls", detail)
    } else if route.needs_client_certificate && !exchange.connection.shows_certificate {
        let detail = "the policy of the route wants a client certificate, and the connection was made without";
        let (cause, reason) = (Cause::NeedsClientCertificate, "needs-client-certificate");
        of_another_connection(exchange, &request, cause, reason, detail)
    } else if let (true, Some(upstream)) = (route.is_plain(), &route.upstream) {
        Box::pin(pass::serve(exchange, upstream, request)).await
    } else if request.method() == Method::POST {
        Box::pin(secured::serve(exchange, request)).await
    } else {
        only_post()
    };
    exchange.count_response(response.status());
    exchange.tell(&response);
    if let Some(traced) = &mut traced {
        let notes = exchange.notes.as_ref();
        traced.answered(
            response.status(),
            notes.and_then(|notes| notes.lock().reason),
        );
    }
    tracing::debug!(
        route = route.name,
        trace = exchange.trace,
        request = response
            .headers()
            .get(X_REQUEST_ID)
            .and_then(|id| id.to_str().ok()),
        peer = %exchange.connection.peer,
        status = response.status().as_u16(),
        took = ?exchange.started.elapsed(),
        "request"
    );
    response
}

/// Answers a request whose connection is not as the policy wants it.
fn of_another_connection(
    exchange: &Exchange<'_>,
    request: &Request<Incoming>,
    cause: Cause,
    reason: &'static str,
    detail: &str,
) -> Response<Reply> {
    fail(
        exchange,
        spoken(request.headers()),
        cause,
        request.headers().get(X_REQUEST_ID),
        &Failure::new(reason, detail.to_owned()),
    )
}

/// Whether a request asks for the description of a service or a part of it.
fn is_description(method: &Method, uri: &Uri) -> bool {
    let Some(query) = uri.query() else {
        return false;
    };
    let name = query.split(['=', '&']).next().unwrap_or_default();
    matches!(*method, Method::GET | Method::HEAD)
        && ["wsdl", "xsd", "singlewsdl"]
            .iter()
            .any(|known| name.eq_ignore_ascii_case(known))
}

fn only_post() -> Response<Reply> {
    let why = "a SOAP service is called with POST; if it has a description, that is at ?wsdl\n";
    let mut response = text(StatusCode::METHOD_NOT_ALLOWED, why);
    response
        .headers_mut()
        .insert(header::ALLOW, HeaderValue::from_static("POST"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The size of the future that a function returns.
    fn size<A, F: Future>(_: impl FnOnce(A) -> F) -> usize {
        size_of::<F>()
    }

    /// Whatever a future holds while it waits is copied with it before it begins, once or twice for
    /// each request.
    #[test]
    fn the_futures_of_a_request_are_small() {
        type Asked = (&'static Exchange<'static>, Box<Request<Incoming>>);
        let all = size(|(exchange, request): Asked| serve(exchange, request, None));
        let secured = size(|(exchange, request): Asked| secured::serve(exchange, request));
        assert!(all <= 512, "{all} bytes");
        assert!(secured <= 3584, "{secured} bytes");
    }
}
