//! Answers to requests that fail for another reason than their security.
//!
//! The rule kept here: metrics, log, audit trail and trace learn the stable name of the reason, and
//! the client a fault.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, Response, header};
use soapstone::wss::SoapVersion;

use super::context::Exchange;
use crate::observe::log::Beginning;
use crate::wire::backend::BackendError;
use crate::wire::body::PassError;
use crate::wire::fault::{self, Cause, Failure};
use crate::wire::headers::X_REQUEST_ID;
use crate::wire::packaged::spoken;
use crate::wire::reply::Reply;

/// Answers a request that came too soon.
pub(crate) fn too_many(
    exchange: &Exchange<'_>,
    headers: &HeaderMap,
    reason: &'static str,
    wait: Duration,
) -> Response<Reply> {
    let failure = Failure::new(reason, format!("the next request may come in {wait:?}"));
    let version = spoken(headers);
    let given_id = headers.get(X_REQUEST_ID);
    let response = fail(exchange, version, Cause::TooMany, given_id, &failure);
    retry_after(response, wait)
}

/// An answer that tells when to come again.
pub(super) fn retry_after(mut response: Response<Reply>, wait: Duration) -> Response<Reply> {
    let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
    response
        .headers_mut()
        .insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    response
}

/// Answers for a backend that gave no response, or for a client whose body could not be sent to it.
pub(crate) fn backend_failure(
    exchange: &Exchange<'_>,
    version: SoapVersion,
    error: &BackendError,
    given_id: Option<&HeaderValue>,
) -> Response<Reply> {
    let (cause, reason) = match error.upload_error() {
        Some(PassError::TooLarge { .. }) => (Cause::TooLarge, "too-large"),
        Some(PassError::Broken { .. }) => (Cause::Incomplete, "incomplete"),
        None if error.is_timeout() => (Cause::GatewayTimeout, error.name()),
        None => (Cause::BadGateway, error.name()),
    };
    fail(
        exchange,
        version,
        cause,
        given_id,
        &Failure::new(reason, error.to_string()),
    )
}

pub(crate) fn too_large(limit: u64) -> Failure {
    Failure::new("too-large", format!("the body has more than {limit} bytes"))
}

/// Counts and logs a failure, and answers with its fault.
pub(crate) fn fail(
    exchange: &Exchange<'_>,
    version: SoapVersion,
    cause: Cause,
    given_id: Option<&HeaderValue>,
    failure: &Failure,
) -> Response<Reply> {
    let metrics = &exchange.route.metrics;
    exchange.count_failure(failure.reason);
    exchange.note(|found| found.reason = Some(failure.reason));
    metrics.fault(cause.code());
    let id = exchange.request_id(given_id);
    tracing::warn!(
        route = exchange.route.name,
        request = id.to_str().unwrap_or_default(),
        trace = exchange.trace,
        peer = %exchange.connection.peer,
        reason = failure.reason,
        detail = Beginning(&failure.detail).to_string(),
        hint = failure.hint,
        fault = cause.code(),
        "request failed"
    );
    let mut response = fault::response(version, cause);
    response.headers_mut().insert(X_REQUEST_ID, id);
    response
}
