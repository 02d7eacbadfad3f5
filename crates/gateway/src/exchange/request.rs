//! The way of a request through its three steps: open, choose, secure.
//!
//! The steps are one task for the crypto workers. They leave it where it waits for a store, and
//! where the conversation with the backend has no context.
//!
//! The rule kept here: a request enters each step once.

use std::sync::Arc;

use http::Response;
use soapstone::endpoint::TokenAnswer;
use soapstone::wss::SoapVersion;
use soapstone::xml::Buffers;
use tokio::time::Instant;

use super::choose::{self, Chosen};
use super::open::{Entered, Incoming, Opened, open};
use super::refusal_moment::refusal_moment;
use super::reporter::{Message, Reporter};
use super::secure::{Forward, secure};
use super::steps::read_request;
use super::working::{SMALL_MESSAGE, done, work};
use crate::route::upstream::Upstream;
use crate::scheduling::class::WorkClass;
use crate::scheduling::endpoint::RouteEndpoint;
use crate::scheduling::task::{Desk, Task};
use crate::wire::budget::Reservation;
use crate::wire::reply::Reply;

/// A request whose body arrived.
pub(super) struct Arrived {
    pub(super) octets: Vec<u8>,
    pub(super) version: SoapVersion,
    /// What the client says that it is about.
    pub(super) action: Option<String>,
    /// Everything that it says of that beside the message, where the endpoint asks.
    pub(super) actions: Vec<String>,
}

/// What is to become of a request.
pub(super) enum Prepared {
    /// It goes on to the backend.
    Forward(Box<Forward>),
    /// It was a request for a token, and this is the answer.
    Answered(TokenAnswer),
}

/// How far a task has come.
enum Stepped {
    Prepared(Prepared),
    /// It was opened, and the conversation with the upstream has no context.
    NeedsContext(Box<Opened>, Arc<Upstream>),
}

/// Opens and secures a request, as the route has endpoints.
pub(super) async fn prepare_request(
    reporter: &Reporter<'_>,
    request: Arrived,
    reservation: &mut Reservation,
) -> Result<Prepared, Response<Reply>> {
    let (arrived, bytes) = (Instant::now(), request.octets.len());
    let prepared = prepare(reporter, request, reservation).await;
    let refused = match &prepared {
        Ok(Prepared::Answered(answer)) => answer.refused.is_some(),
        Ok(Prepared::Forward(_)) => false,
        Err(_) => true,
    };
    if refused {
        tokio::time::sleep_until(refusal_moment(arrived, bytes)).await;
    }
    prepared
}

async fn prepare(
    reporter: &Reporter<'_>,
    request: Arrived,
    reservation: &mut Reservation,
) -> Result<Prepared, Response<Reply>> {
    let Arrived {
        octets,
        version,
        action,
        actions,
    } = request;
    let exchange = reporter.exchange;
    let upstream = Arc::clone(&exchange.route.upstream);
    let Some(endpoint) = &exchange.route.inbound else {
        let class = match octets.len() > SMALL_MESSAGE {
            true => WorkClass::Blocking,
            false => securing(&upstream),
        };
        let chosen = match choose::at_once(upstream, version) {
            Ok(chosen) => chosen,
            Err(upstream) => choose::after_handshake(reporter, upstream, version).await?,
        };
        let opened = Opened::plain(octets, version);
        return secure_by_worker(reporter, class, opened, chosen, action, reservation).await;
    };
    let (incoming, class) = read_if_inline(reporter, endpoint, &upstream, octets, actions, version)
        .map_err(|answer| *answer)?;
    let private = exchange.connection.through_tls;
    let shown = exchange.connection.client_certificate.clone();
    let observed = exchange.observed();
    let (asked, opening) = (Arc::clone(endpoint), Arc::clone(endpoint));
    let said = action.clone();
    let steps = |desk: Desk| async move {
        let opened = match open(&opening, incoming, private, shown, &observed, &desk).await? {
            Entered::Message(opened) => opened,
            Entered::Answered(answer) => return Ok(Stepped::Prepared(Prepared::Answered(answer))),
        };
        let chosen = match choose::at_once(upstream, opened.version) {
            Ok(chosen) => chosen,
            Err(upstream) => return Ok(Stepped::NeedsContext(Box::new(opened), upstream)),
        };
        let buffers = &mut desk.workspace().buffers();
        let forward = secure(opened, chosen, said, &observed, buffers)?;
        Ok(Stepped::Prepared(Prepared::Forward(forward)))
    };
    let task = Task::new(class, Some(asked), steps).recorded(exchange.observed());
    match work(reporter, version, task, reservation, Message::Request).await? {
        Stepped::Prepared(prepared) => Ok(prepared),
        Stepped::NeedsContext(opened, upstream) => {
            let class = class.max(securing(&upstream));
            let version = opened.version;
            let chosen = choose::after_handshake(reporter, upstream, version).await?;
            secure_by_worker(reporter, class, *opened, chosen, action, reservation).await
        }
    }
}

/// What it takes to secure a request that is not large.
fn securing(upstream: &Upstream) -> WorkClass {
    let in_conversation = upstream.conversation.is_some();
    upstream
        .endpoint
        .as_ref()
        .map_or(WorkClass::Inline, |endpoint| {
            endpoint.securing(in_conversation)
        })
}

/// The last step, where it is a task of its own.
async fn secure_by_worker(
    reporter: &Reporter<'_>,
    class: WorkClass,
    opened: Opened,
    chosen: Chosen,
    action: Option<String>,
    reservation: &mut Reservation,
) -> Result<Prepared, Response<Reply>> {
    let version = opened.version;
    let observed = reporter.exchange.observed();
    let step = |desk: Desk| async move {
        let buffers = &mut desk.workspace().buffers();
        secure(opened, chosen, action, &observed, buffers)
    };
    let task = Task::new(class, None, step).recorded(reporter.exchange.observed());
    let forward = work(reporter, version, task, reservation, Message::Request).await?;
    Ok(Prepared::Forward(forward))
}

/// What it takes to open and secure a request; the request itself is read where that has to be
/// known first.
fn read_if_inline(
    reporter: &Reporter<'_>,
    endpoint: &RouteEndpoint,
    upstream: &Upstream,
    octets: Vec<u8>,
    actions: Vec<String>,
    version: SoapVersion,
) -> Result<(Incoming, WorkClass), Box<Response<Reply>>> {
    if octets.len() > SMALL_MESSAGE {
        return Ok((Incoming::Bytes { octets, actions }, WorkClass::Blocking));
    }
    let (opening, securing) = (endpoint.opening(false), securing(upstream));
    if opening == WorkClass::Inline
        || securing > WorkClass::Inline
        || endpoint.opening(true) > WorkClass::Inline
    {
        let class = opening.max(securing);
        return Ok((Incoming::Bytes { octets, actions }, class));
    }
    let exchange = reporter.exchange;
    let observed = &exchange.observed();
    let read = |buffers: &mut Buffers| read_request(endpoint, octets, actions, observed, buffers);
    let read = exchange.resources.executor.run_here(read);
    let request = done(reporter, version, read, Message::Request)?;
    let class = match request.names_context() {
        true => WorkClass::Inline,
        false => opening,
    };
    Ok((Incoming::Read(request), class))
}
