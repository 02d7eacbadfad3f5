//! The body of a request, read whole.
//!
//! The rule kept here: it takes no more room and no more time than the configuration gives it.

use http::Response;
use hyper::body::Incoming;
use soapstone::wss::SoapVersion;

use super::failure::too_large;
use super::reporter::Reporter;
use crate::observe::metrics::Flow;
use crate::wire::body::{CollectError, collect};
use crate::wire::budget::Reservation;
use crate::wire::fault::Cause;
use crate::wire::reply::Reply;

/// Reads the body of a request to its end, if it has no more bytes than `limit`.
pub(super) async fn read_request(
    reporter: &Reporter<'_>,
    (body, limit): (Incoming, u64),
    version: SoapVersion,
    reservation: &mut Reservation,
) -> Result<Vec<u8>, Response<Reply>> {
    let exchange = reporter.exchange;
    let serving = exchange.serving;
    let buffers = &exchange.resources.memory.buffers;
    let patience = serving.timeouts.request;
    let collecting = collect(body, limit, reservation, buffers);
    let collected = tokio::time::timeout(patience, collecting).await;
    exchange.record("read", exchange.started);
    match collected {
        Ok(Ok(buffer)) => {
            let length = buffer.len() as u64;
            let metrics = &exchange.route.metrics;
            metrics.octets(Flow::FromClient, length);
            exchange.note(|found| found.request_bytes = Some(length));
            Ok(buffer)
        }
        Ok(Err(CollectError::TooLarge { limit })) => {
            Err(reporter.fail_with(version, Cause::TooLarge, &too_large(limit)))
        }
        Ok(Err(CollectError::NoRoom)) => Err(reporter.no_room(version)),
        Ok(Err(CollectError::Broken(error))) => Err(reporter.fail(
            version,
            Cause::Incomplete,
            "incomplete",
            format!("the body broke off: {error}"),
        )),
        Err(_) => {
            let detail = format!("the body did not arrive within {patience:?}");
            Err(reporter.fail(version, Cause::RequestTimeout, "request-timeout", detail))
        }
    }
}
