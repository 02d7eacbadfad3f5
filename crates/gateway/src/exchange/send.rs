//! A request on its way to the backend, and its response as it arrives.
//!
//! The rule kept here: the response is read whole before anything of it is believed.

use http::{Request, Response, request, response};
use soapstone::wss::SoapVersion;
use tokio::time::Instant;

use super::failure::backend_failure;
use super::peer_clock::observe;
use super::reporter::Reporter;
use super::status_hint::StatusHint;
use crate::observe::metrics::Flow;
use crate::route::upstream::Upstream;
use crate::wire::answer_head;
use crate::wire::body::{CollectError, Upload, collect};
use crate::wire::budget::Reservation;
use crate::wire::fault::Cause;
use crate::wire::reply::Reply;

/// A response of the backend that arrived whole.
pub(super) type Arrival = (response::Parts, Vec<u8>);

/// Sends a request to the backend and waits for all of its response.
pub(super) async fn send(
    reporter: &Reporter<'_>,
    upstream: &Upstream,
    mut head: request::Parts,
    octets: Vec<u8>,
    version: SoapVersion,
    reservation: &mut Reservation,
) -> Result<Arrival, Response<Reply>> {
    let exchange = reporter.exchange;
    let memory = &exchange.resources.memory;
    let metrics = &exchange.route.metrics;
    metrics.octets(Flow::ToBackend, octets.len() as u64);
    let (sent, sent_at) = (Instant::now(), jiff::Timestamp::now());
    let mut calling = exchange.call(&mut head.headers);
    let upload = Upload::whole(memory.buffers.lend(octets));
    let request = Request::from_parts(head, upload);
    let (head, body) = match upstream.backend.send(request, sent).await {
        Ok(response) => response.into_parts(),
        Err(error) => {
            return Err(backend_failure(
                exchange,
                version,
                &error,
                Some(&reporter.id),
            ));
        }
    };
    metrics.backend(sent.elapsed());
    if let Some(calling) = &mut calling {
        calling.answered(head.status);
    }
    if upstream.endpoint.is_some()
        && let Some(failure) = answer_head::unfit(head.status)
    {
        let failed = reporter.fail_with(version, Cause::BadGateway, &failure);
        return Err(StatusHint::of(head.status).in_place_of(failed, version));
    }
    let patience = upstream.backend.timeouts().response;
    let collecting = collect(
        body,
        exchange.serving.limits.body,
        reservation,
        &memory.buffers,
    );
    let detail = match tokio::time::timeout_at(sent + patience, collecting).await {
        Ok(Ok(octets)) => {
            metrics.octets(Flow::FromBackend, octets.len() as u64);
            if let Some(endpoint) = &upstream.endpoint {
                observe(reporter, endpoint, &head.headers, &octets, sent_at);
            }
            return Ok((head, octets));
        }
        Ok(Err(CollectError::TooLarge { limit })) => {
            format!("the response has more than {limit} octets")
        }
        Ok(Err(CollectError::NoRoom)) => return Err(reporter.no_room(version)),
        Ok(Err(CollectError::Broken(error))) => format!("the response broke off: {error}"),
        Err(_) => {
            let detail = format!("the response was not complete within {patience:?}");
            return Err(reporter.fail(
                version,
                Cause::GatewayTimeout,
                "backend-response-timeout",
                detail,
            ));
        }
    };
    Err(reporter.fail(version, Cause::BadGateway, "backend-broken", detail))
}
