//! The way of a request through its three steps: open, choose, secure.
//!
//! The steps are one task for the crypto workers. They leave it where it waits for a store, and
//! where the conversation with the backend has no context.
//!
//! The rule kept here: a request enters each step once.

use std::sync::Arc;

use http::Response;
use soapstone::endpoint::TokenAnswer;
use soapstone::mime;
use soapstone::wss::SoapVersion;
use soapstone::xml::Buffers;
use tokio::time::Instant;

use super::authorize::{Authorities, authorize, authorize_token};
use super::bsp::Suspect;
use super::choose::{self, Chosen, Destination, Unready};
use super::open::{Entered, Incoming, Opened, open};
use super::package::unpack;
use super::refusal_moment::refusal_moment;
use super::reporter::{Message, Reporter};
use super::secure::{Forward, Plain, secure};
use super::steps::{EndpointError, read_request};
use super::working::{SMALL_MESSAGE, done, go_on, work};
use crate::config::direction::Direction;
use crate::route::Route;
use crate::route::upstream::{Said, Upstream};
use crate::scheduling::class::WorkClass;
use crate::scheduling::endpoint::InboundEndpoint;
use crate::scheduling::task::{Desk, Task};
use crate::wire::budget::Reservation;
use crate::wire::packaged::{Announced, Unpacked};
use crate::wire::reply::Reply;

/// A request whose body arrived.
pub(super) struct Arrived {
    pub(super) octets: Vec<u8>,
    /// The package that they are, if they are one.
    pub(super) package: Option<Announced>,
    pub(super) version: SoapVersion,
    /// What the client says of it beside the message.
    pub(super) said: Said,
    /// Everything that it says of that beside the message, where the endpoint asks.
    pub(super) actions: Vec<String>,
    /// The same, where roles or agreements ask.
    pub(super) claimed: Vec<String>,
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
    /// It was opened, and does not go on at once.
    Unready(Box<Opened>, Box<(Unready, Said)>),
}

/// Opens and secures a request, as the route has endpoints.
pub(super) async fn prepare_request(
    reporter: &Reporter<'_>,
    request: Box<Arrived>,
    reservation: &mut Reservation,
) -> Result<Prepared, Response<Reply>> {
    let (arrived, bytes) = (Instant::now(), request.octets.len());
    if reporter.exchange.route.inbound.is_some() {
        reporter.copy(&request.octets, request.package.as_ref());
    }
    let prepared = prepare(reporter, request, reservation).await;
    let refused = match &prepared {
        Ok(Prepared::Answered(answer)) => answer.refused.is_some(),
        Ok(Prepared::Forward(_)) => false,
        Err(_) => true,
    };
    if refused {
        tokio::time::sleep_until(refusal_moment(arrived, bytes)).await;
    }
    reporter.drop_copy();
    prepared
}

async fn prepare(
    reporter: &Reporter<'_>,
    request: Box<Arrived>,
    reservation: &mut Reservation,
) -> Result<Prepared, Response<Reply>> {
    let Arrived {
        octets,
        package,
        version,
        mut said,
        mut actions,
        mut claimed,
    } = *request;
    let message = match package {
        None => mime::Message::from(octets),
        Some(package) => {
            let is_request = Message::Request;
            let unpacked = unpack(reporter, octets, package, version, reservation, is_request);
            let Unpacked { message, packing } = Box::pin(unpacked).await?;
            // Each of them goes on as it was read here.
            for action in packing.actions() {
                actions.push(action.to_owned());
                claimed.push(action.to_owned());
                said.action.get_or_insert_with(|| action.to_owned());
            }
            said.packing = Some(packing);
            message
        }
    };
    let exchange = reporter.exchange;
    let destination = Destination::of(exchange, &said);
    let upstream_class = securing(exchange.route);
    let Some(endpoint) = &exchange.route.inbound else {
        let class = match message.size() > SMALL_MESSAGE {
            true => WorkClass::Blocking,
            false => upstream_class,
        };
        let mut opened = Box::new(Opened::plain(message, version));
        let chosen = match choose::at_once(destination, &mut opened) {
            Ok(chosen) => chosen,
            Err(unready) => {
                let octets = &opened.octets;
                Box::pin(choose::after_waiting(reporter, unready, version, octets)).await?
            }
        };
        let (version, task) = securing_task(reporter, class, opened, chosen, said);
        let forward = work(reporter, version, task, reservation, Message::Request);
        return forward.await.map(Prepared::Forward);
    };
    let suspect = Suspect::copy(reporter, Direction::Inbound, version, &message.root)
        .map_err(|answer| *answer)?;
    let bytes = message.size() as u64;
    let (incoming, class) = read_if_inline(
        reporter,
        endpoint,
        upstream_class,
        message,
        actions,
        version,
    )
    .map_err(|answer| *answer)?;
    let private = exchange.connection.through_tls;
    let shown = exchange.connection.client_certificate.clone();
    let observed = Arc::clone(&reporter.observed);
    let (asked, opening) = (Arc::clone(&endpoint.stores), Arc::clone(endpoint));
    let authorities = Authorities::of(exchange.serving, &exchange.route.name);
    let counts_together = authorities
        .as_ref()
        .is_some_and(Authorities::count_together);
    let room = exchange.reserve();
    let steps = |desk: Desk| async move {
        // Contexts are nothing by themselves: each message in one needs a role. A requester without
        // a role for assertions gets one answer, whatever the token service says.
        // The request for a token is judged before anything of its answer is in force.
        let allows = |answer: &TokenAnswer| {
            if let Some(suspect) = &suspect {
                suspect.judge(opening.endpoint.limits(), true, &observed, &desk)?;
            }
            match &authorities {
                Some(authorities) if answer.of_assertions => {
                    authorize_token(authorities, answer, bytes)
                }
                _ => Ok(()),
            }
        };
        let by = (private, shown);
        let judged = suspect.as_ref();
        let entered = open(&opening, incoming, by, &allows, judged, &observed, &desk);
        let mut opened = match entered.await? {
            Entered::Message(opened) => opened,
            Entered::Answered(answer) => return Ok(Stepped::Prepared(Prepared::Answered(answer))),
        };
        if let Some(authorities) = &authorities {
            let admitting = {
                let limits = opening.endpoint.limits();
                let buffers = &mut desk.workspace().buffers();
                authorize(authorities, &mut opened, &claimed, limits, buffers)?
            };
            if let Some(admitting) = admitting {
                let asked = Box::pin(desk.workspace().ask_driver(|| admitting.admit()));
                opened.agreement = asked.await.map_err(EndpointError::OverAgreement)?;
            }
        }
        let chosen = match choose::at_once(destination, &mut opened) {
            Ok(chosen) => chosen,
            Err(unready) => return Ok(Stepped::Unready(opened, Box::new((unready, said)))),
        };
        let forward = secure(opened, chosen, said, room, &observed, &desk).await?;
        Ok(Stepped::Prepared(Prepared::Forward(forward)))
    };
    let task = Task::new(class, Some(asked), steps)
        .asking_beyond_stores(counts_together)
        .recorded(&reporter.observed);
    match work(reporter, version, task, reservation, Message::Request).await? {
        Stepped::Prepared(prepared) => Ok(prepared),
        Stepped::Unready(opened, unready) => {
            let (unready, said) = *unready;
            let class = class.max(upstream_class);
            let version = opened.version;
            let octets = &opened.octets;
            let waiting = choose::after_waiting(reporter, unready, version, octets);
            let chosen = Box::pin(waiting).await?;
            let (version, task) = securing_task(reporter, class, opened, chosen, said);
            // Its marks are taken.
            let forward = go_on(reporter, version, task, reservation);
            Box::pin(forward).await.map(Prepared::Forward)
        }
    }
}

/// What it takes to secure a request that is not large.
fn securing(route: &Route) -> WorkClass {
    let of = |upstream: &Arc<Upstream>| {
        let in_conversation = upstream.conversation.is_some();
        let endpoint = upstream.endpoint.as_ref();
        endpoint.map_or(WorkClass::Inline, |one| one.securing(in_conversation))
    };
    route.upstreams().map(of).max().unwrap_or(WorkClass::Inline)
}

/// The last step, where it is a task of its own, and the version of its message.
fn securing_task(
    reporter: &Reporter<'_>,
    class: WorkClass,
    opened: Box<Opened>,
    chosen: Chosen,
    said: Said,
) -> (SoapVersion, Task<Result<Box<Forward>, EndpointError>>) {
    let version = opened.version;
    let observed = Arc::clone(&reporter.observed);
    let endpoint = chosen.upstream.endpoint.as_ref();
    let stores = endpoint.map(|endpoint| Arc::clone(&endpoint.stores));
    let room = reporter.exchange.reserve();
    let step =
        |desk: Desk| async move { secure(opened, chosen, said, room, &observed, &desk).await };
    let task = Task::new(class, stores, step).recorded(&reporter.observed);
    (version, task)
}

/// The same, of a request that another backend did not answer. It goes on: it has had its turn.
pub(super) async fn secure_anew(
    reporter: &Reporter<'_>,
    plain: Plain,
    chosen: Chosen,
    version: SoapVersion,
    reservation: &mut Reservation,
) -> Result<Box<Forward>, Response<Reply>> {
    let opened = Box::new(Opened::plain(plain.message, version));
    let (said, class) = (plain.said, WorkClass::Blocking);
    let (version, task) = securing_task(reporter, class, opened, chosen, said);
    go_on(reporter, version, task, reservation).await
}

/// What it takes to open and secure a request; the request itself is read where that has to be
/// known first.
fn read_if_inline(
    reporter: &Reporter<'_>,
    endpoint: &InboundEndpoint,
    securing: WorkClass,
    message: mime::Message,
    actions: Vec<String>,
    version: SoapVersion,
) -> Result<(Incoming, WorkClass), Box<Response<Reply>>> {
    if message.size() > SMALL_MESSAGE {
        return Ok((Incoming::Unread { message, actions }, WorkClass::Blocking));
    }
    let opening = endpoint.opening(false);
    if opening == WorkClass::Inline
        || securing > WorkClass::Inline
        || endpoint.opening(true) > WorkClass::Inline
    {
        let class = opening.max(securing);
        return Ok((Incoming::Unread { message, actions }, class));
    }
    let exchange = reporter.exchange;
    let observed = &*reporter.observed;
    let private = exchange.connection.through_tls;
    let read = |buffers: &mut Buffers| {
        read_request(endpoint, message, actions, private, observed, buffers)
    };
    let read = exchange.resources.executor.run_here(read);
    let request = done(reporter, version, read, Message::Request)?;
    let class = match request.names_context() {
        true => WorkClass::Inline,
        false => opening,
    };
    Ok((Incoming::Read(request), class))
}
