//! Requests on a route without an endpoint: they pass as they are, as streams, and so do their
//! responses.
//!
//! The rule kept here: nothing is held of a message but what is on its way.

use std::sync::Arc;

use http::{Request, Response};
use hyper::body::{Body, Incoming};
use soapstone::wss::SoapVersion;

use super::context::Exchange;
use super::failure::{backend_failure, fail, too_large};
use crate::wire::body::Upload;
use crate::wire::fault::{Cause, Failure};
use crate::wire::headers::X_REQUEST_ID;
use crate::wire::media;
use crate::wire::reply::Reply;

/// Passes a request and its response as they are, as streams.
pub(super) async fn serve(exchange: &Exchange<'_>, request: Request<Incoming>) -> Response<Reply> {
    let (mut head, body) = request.into_parts();
    let metrics = &exchange.route.metrics;
    let version = media::version_of(&head.headers).unwrap_or(SoapVersion::V11);
    let limit = exchange.serving.limits.body;
    let announced = body.size_hint().lower();
    if announced > limit {
        return fail(
            exchange,
            version,
            Cause::TooLarge,
            head.headers.get(X_REQUEST_ID),
            &too_large(limit),
        );
    }
    let given_id = head.headers.get(X_REQUEST_ID).cloned();
    let upstream = &exchange.route.upstream;
    exchange.head_for_backend(&mut head, upstream);
    let mut calling = exchange.call(&mut head.headers);
    let upload = Upload::streamed(body, limit, Arc::clone(metrics));
    match upstream
        .backend
        .send(Request::from_parts(head, upload), exchange.started)
        .await
    {
        Ok(response) => {
            metrics.backend(exchange.started.elapsed());
            if let Some(calling) = &mut calling {
                calling.answered(response.status());
            }
            if response.body().size_hint().lower() > limit {
                let failure = Failure {
                    reason: "backend-broken",
                    detail: format!("the response has more than {limit} octets"),
                };
                return fail(
                    exchange,
                    version,
                    Cause::BadGateway,
                    given_id.as_ref(),
                    &failure,
                );
            }
            response.map(|body| Reply::streamed(body, limit, Arc::clone(metrics)))
        }
        Err(error) => backend_failure(exchange, version, &error, given_id.as_ref()),
    }
}
