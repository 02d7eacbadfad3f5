//! A request on its way to the backend, and its response as it arrives.
//!
//! The rule kept here: the response is read whole before anything of it is believed.

use bytes::Bytes;
use http::{Request, Response, StatusCode, request, response};
use soapstone::wss::SoapVersion;
use soapstone_broker::Failed;
use tokio::time::Instant;

use super::attempt::{failure_by, failure_of};
use super::failure::backend_failure;
use super::package::most_bytes;
use super::peer_clock::observe;
use super::reporter::Reporter;
use super::status_hint::StatusHint;
use crate::observe::metrics::Flow;
use crate::route::upstream::Upstream;
use crate::wire::answer_head;
use crate::wire::backend::BackendError;
use crate::wire::body::{CollectError, Upload, collect};
use crate::wire::budget::Reservation;
use crate::wire::fault::{Cause, Failure};
use crate::wire::reply::Reply;

/// A response of the backend that arrived whole.
pub(super) type Arrival = (response::Parts, Vec<u8>);

/// Why a request to a backend came to nothing.
pub(super) enum Unanswered {
    /// There is no response.
    Backend(BackendError),
    /// A response with this status is not looked at.
    Status(StatusCode, Failure),
    /// The response did not arrive whole.
    Broken(String),
    /// The response was not complete in time.
    Late(String),
    /// The response has no place here.
    TooLarge(String),
    NoRoom,
}

impl Unanswered {
    /// How the backend failed; `None` where it did not.
    pub(super) fn failed(&self) -> Option<Failed> {
        match self {
            Self::Backend(error) => failure_of(error),
            Self::Status(status, _) => failure_by(*status),
            Self::Broken(_) => Some(Failed::Broken),
            Self::Late(_) => Some(Failed::Late),
            Self::TooLarge(_) | Self::NoRoom => None,
        }
    }

    /// Why there is no response.
    pub(super) fn error(&self) -> Option<&BackendError> {
        match self {
            Self::Backend(error) => Some(error),
            _ => None,
        }
    }

    /// The answer to the client.
    pub(super) fn answer(self, reporter: &Reporter<'_>, version: SoapVersion) -> Response<Reply> {
        let (cause, reason, detail) = match self {
            Self::Backend(error) => {
                let id = Some(&reporter.id);
                return backend_failure(reporter.exchange, version, &error, id);
            }
            Self::Status(status, failure) => {
                let failed = reporter.fail_with(version, Cause::BadGateway, &failure);
                return StatusHint::of(status).in_place_of(failed, version);
            }
            Self::NoRoom => return reporter.no_room(version),
            Self::Broken(detail) | Self::TooLarge(detail) => {
                (Cause::BadGateway, "backend-broken", detail)
            }
            Self::Late(detail) => (Cause::GatewayTimeout, "backend-response-timeout", detail),
        };
        reporter.fail(version, cause, reason, detail)
    }
}

/// Sends a request to the backend and waits for all of its response.
pub(super) async fn send(
    reporter: &Reporter<'_>,
    upstream: &Upstream,
    head: Box<request::Parts>,
    octets: Bytes,
    reservation: &mut Reservation,
) -> Result<Arrival, Unanswered> {
    let begun = Instant::now();
    let arrived = transfer(reporter, upstream, head, octets, reservation).await;
    reporter.exchange.waited_for_backend(begun);
    arrived
}

async fn transfer(
    reporter: &Reporter<'_>,
    upstream: &Upstream,
    mut head: Box<request::Parts>,
    octets: Bytes,
    reservation: &mut Reservation,
) -> Result<Arrival, Unanswered> {
    let exchange = reporter.exchange;
    let memory = &exchange.resources.memory;
    let metrics = &exchange.route.metrics;
    metrics.octets(Flow::ToBackend, octets.len() as u64);
    let (sent, sent_at) = (Instant::now(), jiff::Timestamp::now());
    let mut calling = exchange.call(&mut head.headers);
    let request = Request::from_parts(*head, Upload::whole(octets));
    let response = upstream.backend.try_send(request, sent).await;
    let response = response.map_err(|unanswered| Unanswered::Backend(unanswered.error))?;
    let (head, body) = response.into_parts();
    exchange.backend_answered(sent.elapsed());
    if let Some(calling) = &mut calling {
        calling.answered(head.status);
    }
    if upstream.endpoint.is_some()
        && let Some(failure) = answer_head::unfit(head.status)
    {
        return Err(Unanswered::Status(head.status, failure));
    }
    let patience = upstream.backend.timeouts().response;
    let limit = most_bytes(&head.headers, exchange.serving.limits.body);
    let collecting = collect(body, limit, reservation, &memory.buffers);
    match tokio::time::timeout_at(sent + patience, collecting).await {
        Ok(Ok(octets)) => {
            metrics.octets(Flow::FromBackend, octets.len() as u64);
            if let Some(endpoint) = &upstream.endpoint {
                observe(reporter, endpoint, &head.headers, &octets, sent_at);
            }
            Ok((head, octets))
        }
        Ok(Err(CollectError::TooLarge { limit })) => Err(Unanswered::TooLarge(format!(
            "the response has more than {limit} bytes"
        ))),
        Ok(Err(CollectError::NoRoom)) => Err(Unanswered::NoRoom),
        Ok(Err(CollectError::Broken(error))) => Err(Unanswered::Broken(format!(
            "the response broke off: {error}"
        ))),
        Err(_) => Err(Unanswered::Late(format!(
            "the response was not complete within {patience:?}"
        ))),
    }
}
