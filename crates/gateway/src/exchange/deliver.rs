//! A request on its way to its backend, and to another one of several where the first fails it.
//!
//! The rule kept here: each backend gets a request that was secured for it alone. One that several
//! backends got would be a replay for those that share what they remember.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, header, request};
use soapstone::wss::{AssertionEvidence, Receipt, SoapVersion};
use tokio::time::Instant;

use super::attempt::{failure_by, repeatable};
use super::choose;
use super::identity::InnerProof;
use super::reporter::Reporter;
use super::request::secure_anew;
use super::retry::{secure_again, was_lost};
use super::secure::{Balanced, Forward, InConversation, Plain};
use super::send::{Arrival, Unanswered, send};
use crate::observe::log::Beginning;
use crate::route::balancer::Attempt;
use crate::route::upstream::Upstream;
use crate::scheduling::session::SessionInUse;
use crate::wire::budget::Reservation;
use crate::wire::headers::mark_unproven;
use crate::wire::media;
use crate::wire::reply::Reply;

/// A request that is ready to leave.
pub(super) struct Sending {
    pub(super) upstream: Arc<Upstream>,
    octets: Bytes,
    /// What the endpoint needs to open the response.
    pub(super) receipt: Receipt,
    conversation: Option<InConversation>,
    kerberos: Option<SessionInUse>,
    balanced: Option<Balanced>,
}

/// What fields of a request tell its backend of its message.
#[derive(Clone, Copy)]
pub(super) struct Told<'a> {
    /// Who sent it, if an assertion proves that.
    pub(super) assertion: Option<&'a AssertionEvidence>,
    /// What was found of elements of its Body that are protected by themselves.
    pub(super) inner: Option<&'a InnerProof>,
    /// Names of header blocks that nothing proves.
    pub(super) unproven: &'a [String],
    /// What a header said that is not passed on, and that may be told.
    pub(super) action: Option<&'a str>,
}

/// A request whose response arrived.
pub(super) struct Delivered {
    /// What was sent.
    pub(super) sent: Box<Sending>,
    pub(super) response: Arrival,
    /// The attempt that the backend answered, where there are several.
    pub(super) attempt: Option<Box<Attempt>>,
}

/// Why a request was not delivered.
enum Undelivered {
    Unanswered(Unanswered),
    /// It could not be secured anew, and this is the answer.
    Answered(Box<Response<Reply>>),
}

impl Sending {
    /// Takes what leaves out of a request.
    pub(super) fn take(reporter: &Reporter<'_>, forward: &mut Forward) -> Box<Self> {
        let octets = std::mem::take(&mut forward.octets);
        Box::new(Self {
            upstream: Arc::clone(&forward.upstream),
            octets: reporter.exchange.resources.memory.buffers.lend(octets),
            receipt: std::mem::take(&mut forward.receipts.outbound),
            conversation: forward.conversation.take(),
            kerberos: forward.kerberos.take(),
            balanced: forward.balanced.take(),
        })
    }
}

/// Sends a request with that head, as the client sent it. Returns the response.
pub(super) async fn deliver(
    reporter: &Reporter<'_>,
    mut sending: Box<Sending>,
    mut head: Box<request::Parts>,
    told: Told<'_>,
    version: SoapVersion,
    reservation: &mut Reservation,
) -> Result<Delivered, Response<Reply>> {
    let identity = reporter.exchange.route.identity.as_ref();
    if let Some(domain) = identity.and_then(|it| it.untold_domain(told.assertion)) {
        tracing::warn!(
            route = reporter.exchange.route.name,
            request = reporter.id.to_str().unwrap_or_default(),
            domain = %Beginning(&domain),
            "a subject of another domain than its issuer's is not told to the backend"
        );
    }
    loop {
        // Kept where another backend may need it.
        let kept = sending.balanced.is_some().then(|| head.clone());
        let exchange = reporter.exchange;
        if let Some(balanced) = &mut sending.balanced {
            exchange.note_attempt(&balanced.attempt);
            balanced.attempt.leaves();
        }
        if sending.upstream.endpoint.is_none()
            && let Some(action) = told.action
        {
            // A secured message may hide it (WS-Addressing 1.0 SOAP Binding, 5.2).
            media::say_action(&mut head.headers, version, action);
        }
        exchange.head_for_backend(&mut head, &sending.upstream);
        // Behind the fields of the connection, whose names the client chooses.
        mark_unproven(&mut head.headers, told.unproven);
        if let Some(identity) = &exchange.route.identity {
            identity.apply(&mut head.headers, told.assertion, told.inner);
        }
        let begun = Instant::now();
        let sent = once(reporter, &mut sending, head, version, reservation).await;
        let sent = match sent {
            Ok(response) => Ok(response),
            Err(Undelivered::Unanswered(unanswered)) => Err(unanswered),
            Err(Undelivered::Answered(answer)) => return Err(*answer),
        };
        let (Some(mut balanced), Some(former_head)) = (sending.balanced.take(), kept) else {
            let response = sent.map_err(|unanswered| unanswered.answer(reporter, version))?;
            return Ok(sending.delivered(response, None));
        };
        let (failed, error) = match &sent {
            Ok((head, _)) => (failure_by(head.status), None),
            Err(unanswered) => (unanswered.failed(), unanswered.error()),
        };
        let Some(failed) = failed else {
            match sent {
                Err(Unanswered::Backend(_) | Unanswered::NoRoom) => balanced.attempt.excuse(),
                _ => balanced.attempt.answered(begun.elapsed()),
            }
            let response = sent.map_err(|unanswered| unanswered.answer(reporter, version))?;
            return Ok(sending.delivered(response, Some(balanced.attempt)));
        };
        let Balanced {
            attempt,
            plain,
            is_idempotent,
        } = balanced;
        let octets = plain
            .as_ref()
            .map_or(&*sending.octets, |plain| &plain.message.root);
        let decide = || is_idempotent.unwrap_or_else(|| attempt.is_idempotent(octets));
        let repeatable = repeatable(error, decide);
        let Ok(next) = attempt.another(failed, repeatable) else {
            let response = sent.map_err(|unanswered| unanswered.answer(reporter, version))?;
            return Ok(sending.delivered(response, None));
        };
        drop(sent);
        head = former_head;
        let Some(plain) = plain else {
            // No backend of the route has an endpoint.
            sending.upstream = Arc::clone(next.upstream());
            sending.balanced = Some(Balanced {
                attempt: next,
                plain: None,
                is_idempotent,
            });
            continue;
        };
        let anew = anew(reporter, next, plain, &mut head, version, reservation);
        sending = Box::pin(anew).await?;
    }
}

/// The same request, secured for another backend. Its head says what it is.
async fn anew(
    reporter: &Reporter<'_>,
    attempt: Box<Attempt>,
    plain: Plain,
    head: &mut request::Parts,
    version: SoapVersion,
    reservation: &mut Reservation,
) -> Result<Box<Sending>, Response<Reply>> {
    let upstream = Arc::clone(attempt.upstream());
    let octets = &plain.message.root;
    let chosen = choose::after_handshake(reporter, upstream, Some(attempt), version, octets);
    let chosen = chosen.await?;
    let mut forward = secure_anew(reporter, plain, chosen, version, reservation).await?;
    if let Some(content_type) = forward.content_type.take() {
        head.headers.insert(header::CONTENT_TYPE, content_type);
    }
    Ok(Sending::take(reporter, &mut forward))
}

impl Sending {
    fn delivered(
        mut self: Box<Self>,
        response: Arrival,
        attempt: Option<Box<Attempt>>,
    ) -> Delivered {
        // Nobody needs them any more.
        self.octets = Bytes::new();
        Delivered {
            sent: self,
            response,
            attempt,
        }
    }
}

/// Sends a request to one backend; again in another conversation, where the backend has lost the
/// one it was secured in.
async fn once(
    reporter: &Reporter<'_>,
    sending: &mut Sending,
    head: Box<request::Parts>,
    version: SoapVersion,
    reservation: &mut Reservation,
) -> Result<Arrival, Undelivered> {
    let upstream = &sending.upstream;
    // Kept where the request may have to be sent again.
    let repeated = sending.conversation.is_some().then(|| head.clone());
    // Their memory is free again once they have left, unless another backend may need them.
    let octets = match sending.balanced {
        Some(_) => sending.octets.clone(),
        None => std::mem::take(&mut sending.octets),
    };
    let response = send(reporter, upstream, head, octets, reservation).await;
    // Forgotten unless the backend accepts the request, also where its client goes away meanwhile.
    let kerberos = sending.kerberos.take();
    let response = response.map_err(Undelivered::Unanswered)?;
    if let Some(kerberos) = kerberos.filter(|_| response.0.status.is_success()) {
        kerberos.accepted();
    }
    // In use until the response is here.
    let (Some(conversation), Some(head)) = (sending.conversation.take(), repeated) else {
        return Ok(response);
    };
    if !was_lost(&response) {
        return Ok(response);
    }
    let buffers = &reporter.exchange.resources.memory.buffers;
    buffers.give(response.1);
    let again = once_more(reporter, sending, conversation, head, version, reservation);
    Box::pin(again).await
}

/// Sends a request in another conversation than that one, which the backend has lost.
async fn once_more(
    reporter: &Reporter<'_>,
    sending: &mut Sending,
    lost: InConversation,
    mut head: Box<request::Parts>,
    version: SoapVersion,
    reservation: &mut Reservation,
) -> Result<Arrival, Undelivered> {
    let upstream = &sending.upstream;
    let again = secure_again(reporter, upstream, lost, version, reservation).await;
    let (again, _lease) = again.map_err(|answer| Undelivered::Answered(Box::new(answer)))?;
    sending.receipt = again.receipt;
    if let Some(content_type) = again.content_type {
        head.headers.insert(header::CONTENT_TYPE, content_type);
    }
    let buffers = &reporter.exchange.resources.memory.buffers;
    let octets = buffers.lend(again.octets);
    let response = send(reporter, upstream, head, octets, reservation).await;
    response.map_err(Undelivered::Unanswered)
}
