//! The description of a service, fetched from the backend and served with the gateway's addresses.
//!
//! Addresses become the gateway's, and security policies those of the route ([`rewriting`]).
//! Everything else stays as it is, byte by byte.
//!
//! The rule kept here: a client that configures itself from the description never learns of the
//! backend.

mod edit;
mod policy;
mod rewriting;

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Uri, header, response};
use hyper::body::Incoming;
use soapstone::wss::SoapVersion;
use tokio::time::Instant;

use crate::config::published::PublishedPolicy;
use crate::exchange::carry::{Carried, Uncarried, carry};
use crate::exchange::context::Exchange;
use crate::exchange::failure::fail;
use crate::observe::metrics::Flow;
use crate::wire::answer_head;
use crate::wire::backend::Download;
use crate::wire::body::{CollectError, Upload, collect};
use crate::wire::budget::Reservation;
use crate::wire::fault::{Cause, Failure};
use crate::wire::headers::X_REQUEST_ID;
use crate::wire::reply::Reply;
use crate::wire::text::text;
use rewriting::{Origin, Rewriting};

/// Answers a request for a description.
pub(crate) async fn serve(exchange: &Exchange<'_>, request: Request<Incoming>) -> Response<Reply> {
    let (mut head, _) = request.into_parts();
    let gateway = public_base(exchange, &head.headers, &head.uri);
    let given_id = head.headers.get(X_REQUEST_ID).cloned();
    let failed = |cause, reason, detail: String| {
        fail(
            exchange,
            SoapVersion::V11,
            cause,
            given_id.as_ref(),
            &Failure::new(reason, detail),
        )
    };
    let mut reservation = exchange.reserve();
    let only_head = std::mem::replace(&mut head.method, Method::GET) == Method::HEAD;
    let published = exchange
        .route
        .inbound
        .as_ref()
        .and_then(|inbound| inbound.published.as_ref());
    let mut rewriting = Rewriting {
        routes: &exchange.serving.routes,
        route: exchange.route,
        gateway: &gateway,
        origin: Origin::Backend(published),
    };
    if let Some(PublishedPolicy::Description(octets)) = published
        && is_whole_description(&head.uri)
    {
        rewriting.origin = Origin::File;
        if !reservation.grow(octets.len() as u64) {
            return failed(Cause::Busy, "no-room", NO_ROOM.to_owned());
        }
        return match rewriting.apply(octets.clone()) {
            Ok(octets) => {
                let mut response = Response::new(Reply::empty());
                response
                    .headers_mut()
                    .insert(header::CONTENT_TYPE, XML_MEDIA_TYPE);
                let (head, _) = response.into_parts();
                described(exchange, head, octets, only_head, reservation)
            }
            Err(detail) => failed(Cause::Internal, "policy-description", detail),
        };
    }
    let Some(upstream) = &exchange.route.upstream else {
        let why = "this service has no description\n";
        return text(StatusCode::NOT_FOUND, why);
    };
    for name in [
        header::CONTENT_LENGTH,
        header::ACCEPT_ENCODING,
        header::IF_NONE_MATCH,
        header::IF_MODIFIED_SINCE,
        header::RANGE,
    ] {
        head.headers.remove(name);
    }
    let metrics = &exchange.route.metrics;
    let sent = Instant::now();
    let response = match &exchange.route.balancer {
        None => {
            exchange.head_for_backend(&mut head, upstream);
            let request = Request::from_parts(head, Upload::empty());
            let response = upstream.backend.send(request, sent).await;
            response.map_err(Uncarried::Backend)
        }
        Some(balancer) => {
            let nothing = Carried::Whole {
                bytes: Bytes::new(),
                is_idempotent: true,
            };
            carry(exchange, balancer, &head, nothing).await
        }
    };
    let (mut head, body) = match response {
        Ok(response) => response.into_parts(),
        Err(uncarried) => return uncarried.answer(exchange, SoapVersion::V11, given_id.as_ref()),
    };
    metrics.backend(sent.elapsed());
    // Which of several backends answered is not told.
    let is_trusted = exchange.route.outbound().is_none();
    if !is_trusted && head.status != StatusCode::OK {
        let failure =
            answer_head::unfit(head.status).unwrap_or_else(|| no_description(head.status));
        return failed(Cause::BadGateway, failure.reason, failure.detail);
    }
    let time = (sent, upstream.backend.timeouts().response);
    let collected = collected(exchange, body, time, &mut reservation).await;
    let mut octets = match collected {
        Ok(octets) => octets,
        Err((cause, reason, detail)) => return failed(cause, reason, detail),
    };
    metrics.octets(Flow::FromBackend, octets.len() as u64);
    rewriting.relocate(&mut head.headers);
    if head.status == StatusCode::OK && is_xml(&head.headers) {
        octets = match rewriting.apply(octets) {
            Ok(rewritten) => rewritten,
            Err(detail) => return failed(Cause::BadGateway, "backend-description", detail),
        };
        if !is_trusted {
            head = Response::new(()).into_parts().0;
        }
        head.headers.insert(header::CONTENT_TYPE, XML_MEDIA_TYPE);
        head.headers.remove(header::ETAG);
    } else if !exchange.route.is_plain() {
        if head.status == StatusCode::OK {
            let detail = "the backend answered with something else than XML".to_owned();
            return failed(Cause::BadGateway, "backend-description", detail);
        }
        // What else a backend says, nobody was asked to prove who he is for.
        octets.clear();
        head.headers.remove(header::CONTENT_TYPE);
    }
    described(exchange, head, octets, only_head, reservation)
}

/// All of a description that the backend sends; or how the client is answered, and why.
async fn collected(
    exchange: &Exchange<'_>,
    body: Download,
    (sent, patience): (Instant, Duration),
    reservation: &mut Reservation,
) -> Result<Vec<u8>, (Cause, &'static str, String)> {
    let limit = exchange.serving.limits.body;
    let buffers = &exchange.resources.memory.buffers;
    let collecting = collect(body, limit, reservation, buffers);
    let broken = |detail| (Cause::BadGateway, "backend-broken", detail);
    match tokio::time::timeout_at(sent + patience, collecting).await {
        Ok(Ok(octets)) => Ok(octets),
        Ok(Err(CollectError::TooLarge { limit })) => Err(broken(format!(
            "the description has more than {limit} bytes"
        ))),
        Ok(Err(CollectError::Broken(error))) => {
            Err(broken(format!("the description broke off: {error}")))
        }
        Ok(Err(CollectError::NoRoom)) => Err((Cause::Busy, "no-room", NO_ROOM.to_owned())),
        Err(_) => {
            let detail = format!("the description was not complete within {patience:?}");
            Err((Cause::GatewayTimeout, "backend-response-timeout", detail))
        }
    }
}

/// Why a description finds no place.
const NO_ROOM: &str = "too many messages are in hand";

fn no_description(status: StatusCode) -> Failure {
    Failure::new(
        "backend-status",
        format!("the backend answered {status}, which comes with no description"),
    )
}

const XML_MEDIA_TYPE: HeaderValue = HeaderValue::from_static("text/xml; charset=utf-8");

/// The response with a description.
fn described(
    exchange: &Exchange<'_>,
    mut head: response::Parts,
    octets: Vec<u8>,
    only_head: bool,
    mut reservation: Reservation,
) -> Response<Reply> {
    head.headers.remove(header::CONTENT_LENGTH);
    let metrics = &exchange.route.metrics;
    metrics.octets(Flow::ToClient, octets.len() as u64);
    if only_head {
        head.headers
            .insert(header::CONTENT_LENGTH, HeaderValue::from(octets.len()));
        return Response::from_parts(head, Reply::empty());
    }
    reservation.settle(octets.len() as u64);
    let octets = exchange
        .resources
        .memory
        .buffers
        .lend_in(octets, Some(reservation));
    Response::from_parts(head, Reply::whole(octets))
}

/// Whether the description itself is asked for, not a part of it that it names.
fn is_whole_description(asked: &Uri) -> bool {
    let query = asked.query().unwrap_or_default();
    ["wsdl", "singlewsdl"]
        .iter()
        .any(|known| query.eq_ignore_ascii_case(known))
}

/// Scheme and authority under which clients see the gateway: as configured, or as this client asked
/// for it.
fn public_base(exchange: &Exchange<'_>, headers: &HeaderMap, asked: &Uri) -> String {
    if let Some(url) = &exchange.serving.public_url {
        return url.clone();
    }
    let host = headers
        .get(header::HOST)
        .and_then(|host| host.to_str().ok());
    let host = host
        .or_else(|| asked.authority().map(|authority| authority.as_str()))
        .unwrap_or("localhost");
    format!("{}://{host}", exchange.connection.forwarded.scheme())
}

fn is_xml(headers: &HeaderMap) -> bool {
    let media_type = headers
        .get(header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default();
    let essence = media_type
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    essence.ends_with("/xml") || essence.ends_with("+xml")
}
