//! Requests on a route without an endpoint: they pass as they are, as streams, and so do their
//! responses.
//!
//! The rule kept here: nothing is held of a message but what is on its way, and a request that may
//! have to go to another backend.

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, Request, Response, request};
use hyper::body::{Body, Incoming};
use soapstone::wss::SoapVersion;
use tokio::time::Instant;

use super::carry::{Carried, Uncarried, carry};
use super::context::Exchange;
use super::failure::{fail, too_large};
use super::read::read_request;
use super::reporter::Reporter;
use crate::route::balancer::Balancer;
use crate::route::upstream::Upstream;
use crate::wire::backend::{BackendError, Download};
use crate::wire::body::Upload;
use crate::wire::fault::{Cause, Failure};
use crate::wire::headers::X_REQUEST_ID;
use crate::wire::media;
use crate::wire::packaged::spoken;
use crate::wire::reply::Reply;

/// Passes a request and its response as they are, as streams.
pub(super) async fn serve(
    exchange: &Exchange<'_>,
    upstream: &Upstream,
    request: Box<Request<Incoming>>,
) -> Response<Reply> {
    let (head, body) = request.into_parts();
    let metrics = &exchange.route.metrics;
    let version = spoken(&head.headers);
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
    let sent = match &exchange.route.balancer {
        None => {
            let upload = Upload::streamed(body, limit, Arc::clone(metrics));
            one(exchange, upstream, head, upload)
                .await
                .map_err(Uncarried::Backend)
        }
        Some(balancer) => {
            let carried = match Box::pin(carried(exchange, balancer, &head, body, version)).await {
                Ok(carried) => carried,
                Err(response) => return response,
            };
            Box::pin(carry(exchange, balancer, &head, carried)).await
        }
    };
    match sent {
        Ok(response) => {
            metrics.backend(exchange.started.elapsed());
            if response.body().size_hint().lower() > limit {
                let failure = Failure::new(
                    "backend-broken",
                    format!("the response has more than {limit} bytes"),
                );
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
        Err(uncarried) => uncarried.answer(exchange, version, given_id.as_ref()),
    }
}

/// Sends a request to the one backend of its route.
async fn one(
    exchange: &Exchange<'_>,
    upstream: &Upstream,
    mut head: request::Parts,
    upload: Upload,
) -> Result<Response<Download>, BackendError> {
    exchange.head_for_backend(&mut head, upstream);
    let mut calling = exchange.call(&mut head.headers);
    let request = Request::from_parts(head, upload);
    let sent = Instant::now();
    let response = upstream.backend.try_send(request, exchange.started).await;
    exchange.waited_for_backend(sent);
    let response = response.map_err(|unanswered| unanswered.error)?;
    if let Some(calling) = &mut calling {
        calling.answered(response.status());
    }
    Ok(response)
}

/// The body of a request to one of several backends. It is read whole where its operation may be
/// one that can be done twice.
async fn carried(
    exchange: &Exchange<'_>,
    balancer: &Balancer,
    head: &request::Parts,
    body: Incoming,
    version: SoapVersion,
) -> Result<Carried, Response<Reply>> {
    if body.is_end_stream() {
        return Ok(Carried::Whole {
            bytes: Bytes::new(),
            is_idempotent: head.method.is_idempotent(),
        });
    }
    let is_message =
        head.method == Method::POST && media::uncoded_version_of(&head.headers).is_some();
    if balancer.rules.idempotent.is_empty() || !is_message {
        let serving = exchange.serving;
        let metrics = Arc::clone(&exchange.route.metrics);
        let upload = Upload::streamed(body, serving.limits.body, metrics);
        return Ok(Carried::Streamed(upload));
    }
    let id = exchange.request_id(head.headers.get(X_REQUEST_ID));
    let reporter = &Reporter::new(exchange, id);
    let mut reservation = exchange.reserve();
    let octets = read_request(
        reporter,
        (body, exchange.serving.limits.body),
        version,
        &mut reservation,
    )
    .await?;
    let is_idempotent = balancer.is_idempotent(&octets);
    let buffers = &exchange.resources.memory.buffers;
    Ok(Carried::Whole {
        bytes: buffers.lend_in(octets, Some(reservation)),
        is_idempotent,
    })
}
