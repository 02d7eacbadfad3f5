//! What an endpoint does with one message: work for the crypto workers, timed step by step.
//!
//! The rule kept here: whatever it comes to, the message is consumed; what is left of it is what
//! the endpoint let through.

use std::sync::{Arc, Mutex, PoisonError};

use soapstone::config::UnsecuredFaults;
use soapstone::endpoint::{
    Arrived, Call, Directions, Endpoint, OpenedMessage, ReadRequest, ReceiveError, Step,
    StepObserver, TokenAnswer, UnsecuredFault,
};
use soapstone::mime::{Message, PackageError};
use soapstone::trust::addressing::Addressing;
use soapstone::wss::{
    AssertionToken, Envelope, InboundPlan, KerberosSession, Outgoing, Receipt, Rejected,
    SecureError, Secured, SecurityContext, Verified,
};
use soapstone::xml::Buffers;
use tokio::time::Instant;

use super::weak_use;
use crate::config::direction::Direction;
use crate::observe::metrics::Unsecured;
use crate::observe::traces::Observed;
use crate::route::agreements::OverAgreement;
use crate::route::roles::{Denial, Denied, Proven};
use crate::route::upstream::Label;
use crate::scheduling::endpoint::{InboundEndpoint, OutboundEndpoint};
use crate::scheduling::session::SessionInUse;
use crate::scheduling::task::Desk;

/// A fault that nobody secured, in the place of an answer.
pub(crate) struct PeerFault {
    pub(crate) fault: Box<UnsecuredFault>,
    /// How much of it the client is told.
    pub(crate) told: UnsecuredFaults,
    /// What the peer may refuse of the request.
    pub(crate) hint: Option<&'static str>,
}

/// Why work on a message came to nothing.
pub(crate) enum EndpointError {
    /// An endpoint refuses a message that came from outside.
    Refused {
        direction: Direction,
        rejected: Rejected,
        /// The fault that the message is, if it is one.
        peer_fault: Option<PeerFault>,
    },
    /// An endpoint cannot secure a message.
    Unsecurable {
        direction: Direction,
        error: SecureError,
    },
    /// A package can be read in several ways, or is none of SOAP Messages with Attachments.
    Package(Box<PackageError>),
    /// There is no room for what another backend may need of the message.
    NoRoom,
    /// The endpoint that the message goes to has no word for attachments.
    PackageUntaken,
    /// The answer to a request for a token would show its key.
    WouldExpose,
    /// A request for tokens failed after something of it was done, which stands.
    AfterTokens {
        told: Box<TokenAnswer>,
        error: Box<Self>,
    },
    /// No role lets the sender do it.
    Denied(Denied),
    /// The agreement of the sender does not let the request in.
    OverAgreement(OverAgreement),
}

impl EndpointError {
    /// Why a request from outside came to nothing.
    pub(crate) fn of(error: ReceiveError) -> Self {
        let direction = Direction::Inbound;
        match error {
            ReceiveError::Rejected(rejected) => refused(direction, rejected),
            ReceiveError::Unsecurable(error) => Self::Unsecurable { direction, error },
            ReceiveError::WouldExpose => Self::WouldExpose,
            ReceiveError::NotAllowed => Self::Denied(Denied {
                denial: Denial::NoRole,
                detail: error.to_string(),
            }),
            ReceiveError::AfterTokens { told, error } => Self::AfterTokens {
                told,
                error: Box::new(Self::of(*error)),
            },
        }
    }
}

/// Tells the time of each step, without the time for which the work waited for a worker.
struct Timing<'t> {
    observed: &'t Observed,
    direction: Direction,
    since: Instant,
    desk: Option<&'t Desk>,
}

impl<'t> Timing<'t> {
    fn new(observed: &'t Observed, direction: Direction, desk: Option<&'t Desk>) -> Self {
        if let Some(desk) = desk {
            desk.pause_over();
        }
        Self {
            observed,
            direction,
            since: Instant::now(),
            desk,
        }
    }
}

impl StepObserver for Timing<'_> {
    fn ended(&mut self, step: Step) {
        let now = Instant::now();
        let pause = self.desk.map(Desk::pause_over).unwrap_or_default();
        let begun = match pause.is_zero() {
            true => self.since,
            false => (self.since + pause).min(now),
        };
        self.observed.step(self.direction, step, begun, now);
        self.since = now;
    }

    fn verified(&mut self, message: &Verified<Envelope>) {
        if self.direction == Direction::Inbound {
            self.observed.opened(message);
        }
    }
}

/// Reads a request, which is not opened yet. `actions` is what was said beside it, and `private`
/// says whether it came over TLS.
pub(crate) fn read_request(
    endpoint: &InboundEndpoint,
    message: impl Into<Message>,
    actions: Vec<String>,
    private: bool,
    observed: &Observed,
    buffers: &mut Buffers,
) -> Result<Box<ReadRequest>, EndpointError> {
    let direction = Direction::Inbound;
    let mut timing = Timing::new(observed, direction, None);
    let mut call = Call::new(jiff::Timestamp::now(), buffers).observed(&mut timing);
    let read = endpoint.endpoint.read(message, &mut call);
    let request = read.map_err(|rejected| refused(direction, rejected))?;
    let request = request.about(actions);
    Ok(Box::new(match private {
        true => request.over_tls(),
        false => request,
    }))
}

/// Whether a requester may have what a token service answers, which is neither sent nor done yet.
pub(crate) type Allows<'a> = dyn Fn(&TokenAnswer) -> Result<(), EndpointError> + Sync + 'a;

/// Opens a request, or answers it where it asks for a token that `allows` lets it have.
pub(crate) async fn receive(
    endpoint: &InboundEndpoint,
    request: Box<ReadRequest>,
    allows: &Allows<'_>,
    observed: &Observed,
    desk: &Desk,
) -> Result<Arrived, EndpointError> {
    let direction = Direction::Inbound;
    let mut timing = Timing::new(observed, direction, Some(desk));
    let now = jiff::Timestamp::now();
    let denied = Mutex::new(None);
    let is_allowed = |answer: &TokenAnswer| match allows(answer) {
        Ok(()) => true,
        Err(error) => {
            *denied.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            false
        }
    };
    let arrived = endpoint
        .endpoint
        .receive_in(desk.workspace(), request, &is_allowed, now, &mut timing)
        .await;
    let denied = denied.into_inner().unwrap_or_else(PoisonError::into_inner);
    let arrived = arrived.map_err(|error| denied.unwrap_or_else(|| EndpointError::of(error)))?;
    if let Arrived::Message(opened) = &arrived {
        count(opened, direction, observed);
        covered(&endpoint.endpoint, opened, direction, observed)?;
    }
    Ok(arrived)
}

/// Opens a response to the request that left this receipt.
pub(crate) async fn open(
    endpoint: &OutboundEndpoint,
    message: impl Into<Message>,
    request: Box<Receipt>,
    observed: &Observed,
    desk: &Desk,
) -> Result<Box<OpenedMessage>, EndpointError> {
    let direction = Direction::Outbound;
    let mut timing = Timing::new(observed, direction, Some(desk));
    let now = jiff::Timestamp::now();
    let opened = endpoint
        .endpoint
        .open_in(desk.workspace(), message, request, now, &mut timing)
        .await
        .map_err(|rejected| refused(direction, rejected))?;
    count(&opened, direction, observed);
    weak_use::count(&opened, &Proven::Nobody, direction, observed);
    covered(&endpoint.endpoint, &opened, direction, observed)?;
    if is_unproven(endpoint, &opened) {
        let kind = match opened.evidence.freshness {
            Some(_) => Unsecured::Timestamp,
            None => Unsecured::Plain,
        };
        observed.metrics.unsecured_answer(direction, kind);
    }
    Ok(opened)
}

/// Takes out of an answer that passes this node what is for it.
pub(crate) async fn pass_answer(
    reader: &Endpoint<InboundPlan>,
    octets: Vec<u8>,
    observed: &Observed,
    desk: &Desk,
) -> Result<OpenedMessage, EndpointError> {
    let direction = Direction::Outbound;
    let mut timing = Timing::new(observed, direction, Some(desk));
    let now = jiff::Timestamp::now();
    let passed = reader
        .pass_on_in(desk.workspace(), octets, now, &mut timing)
        .await
        .map_err(|error| match error {
            ReceiveError::Rejected(rejected) => refused(direction, rejected),
            other => EndpointError::of(other),
        })?;
    count(&passed, direction, observed);
    weak_use::count(&passed, &Proven::Nobody, direction, observed);
    Ok(passed)
}

/// Whether nothing proves an answer, to a request that was secured.
pub(crate) fn is_unproven(endpoint: &OutboundEndpoint, opened: &OpenedMessage) -> bool {
    let evidence = &opened.evidence;
    evidence.signatures.is_empty() && evidence.encrypted.is_empty() && endpoint.secures_more()
}

fn refused(direction: Direction, rejected: Rejected) -> EndpointError {
    EndpointError::Refused {
        direction,
        rejected,
        peer_fault: None,
    }
}

/// Counts what an endpoint accepts in a message because its file says so.
fn count(opened: &OpenedMessage, direction: Direction, observed: &Observed) {
    for algorithm in &opened.evidence.weak {
        observed.metrics.weak_algorithm(direction, algorithm);
    }
    for item in &opened.evidence.ignored {
        observed.metrics.ignored_item(direction, item);
    }
    if !opened.evidence.unproven.is_empty() {
        observed.metrics.unproven_blocks(direction);
    }
}

/// Refuses a message with an attachment that nothing covers, unless the file of the endpoint has
/// such attachments passed on.
fn covered<P: Directions>(
    endpoint: &Endpoint<P>,
    opened: &OpenedMessage,
    direction: Direction,
    observed: &Observed,
) -> Result<(), EndpointError> {
    let uncovered = endpoint.has_uncovered_part(&opened.evidence);
    if uncovered.map_err(|rejected| refused(direction, rejected))? {
        observed.metrics.uncovered_parts(direction);
    }
    Ok(())
}

/// What a request is secured with beside the keys of its endpoint.
#[derive(Clone, Copy, Default)]
pub(crate) struct With<'w> {
    /// The context of the conversation with the backend.
    pub(crate) context: Option<&'w SecurityContext>,
    /// The session with the backend that a Kerberos token begins, or began.
    pub(crate) kerberos: Option<&'w KerberosSession>,
    /// The assertion that a token service made.
    pub(crate) assertion: Option<&'w AssertionToken>,
}

/// The Kerberos session of a request, where its endpoint has tokens.
pub(crate) async fn kerberos_session(
    endpoint: &Arc<OutboundEndpoint>,
    desk: &Desk,
) -> Result<Option<SessionInUse>, EndpointError> {
    let session = SessionInUse::begin(endpoint, desk).await;
    session.map_err(|error| EndpointError::Unsecurable {
        direction: Direction::Outbound,
        error,
    })
}

/// Secures a request for the backend.
pub(crate) fn secure_request(
    endpoint: &OutboundEndpoint,
    message: impl Into<Message>,
    label: &Label,
    with: With<'_>,
    observed: &Observed,
    buffers: &mut Buffers,
) -> Result<Secured, EndpointError> {
    let direction = Direction::Outbound;
    let (client, action) = (&endpoint.endpoint, label.action.as_deref());
    let outgoing = Outgoing {
        context: with.context,
        kerberos: with.kerberos,
        assertion: with.assertion,
        action,
        ..Outgoing::default()
    };
    let Message { root, parts } = message.into();
    let secured = client
        .label_request(root, action, Some(&label.to), buffers)
        .and_then(|root| {
            let mut timing = Timing::new(observed, direction, None);
            let mut call = Call::new(jiff::Timestamp::now(), buffers).observed(&mut timing);
            client.secure_with(Message { root, parts }, outgoing, &mut call)
        });
    secured.map_err(|error| EndpointError::Unsecurable { direction, error })
}

/// Secures the answer to a client, whose request left this receipt. `addressing` is what the
/// request said, where the policy asks for it.
pub(crate) fn secure_answer(
    endpoint: &InboundEndpoint,
    message: impl Into<Message>,
    request: &Receipt,
    addressing: Option<&Addressing>,
    observed: &Observed,
    buffers: &mut Buffers,
) -> Result<Secured, EndpointError> {
    let direction = Direction::Inbound;
    let service = &endpoint.endpoint;
    let Message { root, parts } = message.into();
    observed.answers(&root, buffers);
    let labelled = match addressing {
        Some(request) => service.label_answer(root, request, buffers),
        None => Ok(root),
    };
    let secured = labelled.and_then(|root| {
        let mut timing = Timing::new(observed, direction, None);
        let mut call = Call::new(jiff::Timestamp::now(), buffers).observed(&mut timing);
        service.answer_with(Message { root, parts }, request, &mut call)
    });
    let secured = secured.map_err(|error| EndpointError::Unsecurable { direction, error })?;
    if service.answers_prove_less() && secured.receipt.signature_values.is_empty() {
        let mut plans = service.outbound();
        let kind = match plans.any(|plan| plan.policy().header.timestamp.is_some()) {
            true => Unsecured::Timestamp,
            false => Unsecured::Plain,
        };
        observed.metrics.unsecured_answer(direction, kind);
    }
    Ok(secured)
}
