//! The answer to a request for a token.
//!
//! The rule kept here: what was done about tokens is told to metrics, log and audit trail before it
//! is answered. Of an assertion its names are told, and never the assertion.

use http::{Response, StatusCode};
use soapstone::endpoint::TokenAnswer;
use soapstone::wss::SoapVersion;

use super::reporter::Reporter;
use super::token_done::tell_done;
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
    tell_done(reporter.exchange, request, &answer);
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
