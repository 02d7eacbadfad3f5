//! Packages (SOAP Messages with Attachments) on a route: whether they are taken, and taken apart.
//!
//! The rule kept here: a package is read where every endpoint on its way has a word for
//! attachments, and nowhere else.

use http::{HeaderMap, Response};
use soapstone::mime::LARGEST_PACKAGE;
use soapstone::wss::SoapVersion;

use super::reporter::{Message, Reporter};
use super::steps::EndpointError;
use super::working::{SMALL_MESSAGE, work};
use crate::route::Route;
use crate::route::upstream::Upstream;
use crate::scheduling::class::WorkClass;
use crate::scheduling::task::{Desk, Task};
use crate::wire::budget::Reservation;
use crate::wire::fault::Cause;
use crate::wire::media;
use crate::wire::packaged::{Announced, NO_WORD, Unfit, Unpacked, spoken};
use crate::wire::reply::Reply;

/// What a head announces: the version of a message, and the package that it comes in.
pub(super) type Expected = (SoapVersion, Option<Announced>);

/// What the head of a request announces, if the route takes it.
pub(super) fn of_request(
    reporter: &Reporter<'_>,
    headers: &HeaderMap,
) -> Result<Expected, Box<Response<Reply>>> {
    let route = reporter.exchange.route;
    let (reason, detail) = match expected(headers) {
        Ok((_, Some(_))) if !takes_requests(route) => (
            "media-type",
            format!("expected text/xml or application/soap+xml, {NO_WORD}"),
        ),
        Ok(expected) => return Ok(expected),
        Err(failure) => failure,
    };
    let refused = reporter.fail(spoken(headers), Cause::MediaType, reason, detail);
    Err(Box::new(refused))
}

/// The most bytes that a body with that head may have: `limits.body`, and no more than a package
/// can have where it is one.
pub(super) fn most_bytes(headers: &HeaderMap, limit: u64) -> u64 {
    match Announced::of(headers) {
        Some(_) => limit.min(LARGEST_PACKAGE as u64),
        None => limit,
    }
}

/// What the head of an answer announces, if the route takes it from that upstream. Otherwise why it
/// does not.
pub(super) fn of_answer(
    reporter: &Reporter<'_>,
    upstream: &Upstream,
    headers: &HeaderMap,
) -> Result<Expected, String> {
    let inbound = reporter.exchange.route.inbound.as_ref();
    let takes = inbound.is_none_or(|it| it.endpoint.takes_packages()) && upstream.takes_packages();
    match expected(headers) {
        Ok((_, Some(_))) if !takes => Err(NO_WORD.to_owned()),
        Ok(expected) => Ok(expected),
        Err((_, detail)) => Err(detail),
    }
}

fn takes_requests(route: &Route) -> bool {
    let inbound = route.inbound.as_ref();
    inbound.is_none_or(|it| it.endpoint.takes_packages())
        && route.upstreams().any(|upstream| upstream.takes_packages())
}

fn expected(headers: &HeaderMap) -> Result<Expected, (&'static str, String)> {
    if let Some(version) = media::uncoded_version_of(headers) {
        return Ok((version, None));
    }
    let found = media::said(headers);
    Err(match Announced::of(headers) {
        Some(Ok(package)) => return Ok((package.version, Some(package))),
        Some(Err(Unfit::Xop)) => (
            "xop",
            format!("expected a message whose content is its own, found one of MTOM: {found}"),
        ),
        Some(Err(Unfit::Head(wanted))) => {
            ("media-type", format!("expected {wanted}, found {found}"))
        }
        None => (
            "media-type",
            format!(
                "expected text/xml or application/soap+xml without content encoding, found {found}"
            ),
        ),
    })
}

/// Takes a package apart. It has its room twice until its exchange goes on: as it came, and as the
/// parts that are made of it.
pub(super) async fn unpack(
    reporter: &Reporter<'_>,
    octets: Vec<u8>,
    package: Announced,
    version: SoapVersion,
    reservation: &mut Reservation,
    message: Message,
) -> Result<Unpacked, Response<Reply>> {
    if !reservation.grow(octets.len() as u64) {
        return Err(reporter.no_room(version));
    }
    let class = match octets.len() > SMALL_MESSAGE {
        true => WorkClass::Blocking,
        false => WorkClass::Inline,
    };
    let step = |_: Desk| async move {
        let unpacked = package.unpack(&octets);
        let unpacked = unpacked.map_err(|error| EndpointError::Package(Box::new(error)))?;
        Ok((octets, unpacked))
    };
    let task = Task::new(class, None, step).recorded(&reporter.observed);
    let (octets, unpacked) = work(reporter, version, task, reservation, message).await?;
    reporter.exchange.resources.memory.buffers.give(octets);
    Ok(unpacked)
}
