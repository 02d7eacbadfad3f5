//! The first step of a request: opened by the endpoint that faces the client.
//!
//! The rule kept here: what comes out was admitted, or passes a route that demands nothing of
//! clients.

use std::sync::Arc;

use soapstone::crypto::Certificate;
use soapstone::endpoint::{Arrived, OpenedMessage, ReadRequest, TokenAnswer};
use soapstone::mime::{Attachment, Message};
use soapstone::trust::addressing::Addressing;
use soapstone::wss::{AssertionEvidence, ContextOwner, Receipt, SoapVersion};

use super::bsp::Suspect;
use super::identity::InnerProof;
use super::steps::{Allows, EndpointError, read_request, receive};
use super::weak_use;
use crate::config::direction::Direction;
use crate::observe::audit::Sender;
use crate::observe::traces::Observed;
use crate::route::agreements::UnderAgreement;
use crate::route::roles::Proven;
use crate::scheduling::endpoint::InboundEndpoint;
use crate::scheduling::task::Desk;

/// A request as it arrived.
pub(super) enum Incoming {
    /// Not looked at.
    Unread {
        message: Message,
        /// What the client says beside the message that it is about, where the endpoint asks.
        actions: Vec<String>,
    },
    /// Read, to know what it takes to open it.
    Read(Box<ReadRequest>),
}

/// What a request came to.
pub(super) enum Entered {
    /// It may go on.
    Message(Box<Opened>),
    /// It was a request for a token, and this is the answer.
    Answered(TokenAnswer),
}

/// A request that was opened, in plain.
pub(super) struct Opened {
    pub(super) octets: Vec<u8>,
    /// Its attachments.
    pub(super) parts: Vec<Attachment>,
    pub(super) version: SoapVersion,
    /// What the endpoint needs to secure the answer.
    pub(super) receipt: Receipt,
    /// What the client's addressing headers said, where the answer has to refer to them.
    pub(super) addressing: Option<Box<Addressing>>,
    /// What a header said that is not passed on, and that may be told.
    pub(super) action: Option<String>,
    /// The element in its Body, where the route counts calls of that apart.
    pub(super) operation: Option<Arc<str>>,
    /// Who sent it, as far as that was proven.
    pub(super) sender: Option<Sender>,
    /// The same, for those who decide what it may do.
    pub(super) proven: Proven,
    /// The assertion about its sender.
    pub(super) assertion: Option<Box<AssertionEvidence>>,
    /// What was found of elements of its Body that are protected by themselves.
    pub(super) inner: Option<Box<InnerProof>>,
    /// Header blocks that are passed on although nothing proves them.
    pub(super) unproven: Vec<String>,
    /// Header blocks that the sender addressed to this node and signed for it, where it is one on
    /// the way.
    pub(super) addressed: Option<Vec<u8>>,
    /// The agreement that lets it in.
    pub(super) agreement: Option<UnderAgreement>,
}

impl Opened {
    /// Bytes of its envelope and of the contents of its attachments together.
    pub(super) fn size(&self) -> usize {
        let attached = self.parts.iter().map(|part| part.content().len());
        self.octets.len() + attached.sum::<usize>()
    }

    /// A request on a route that demands nothing of clients.
    pub(super) fn plain(message: impl Into<Message>, version: SoapVersion) -> Self {
        let Message { root, parts } = message.into();
        Self {
            octets: root,
            parts,
            version,
            receipt: Receipt::default(),
            addressing: None,
            action: None,
            operation: None,
            sender: None,
            proven: Proven::Nobody,
            assertion: None,
            inner: None,
            unproven: Vec::new(),
            addressed: None,
            agreement: None,
        }
    }
}

/// Who sent a request, for those who decide what it may do: its user, if the user is the sender
/// beyond doubt; or else its signer, the owner of its conversation, or the user whom the policy
/// takes. The holder of an assertion's key counts by the assertion alone: nobody has checked the
/// name in that certificate.
fn proven(opened: &OpenedMessage, private: bool) -> Proven {
    let evidence = &opened.evidence;
    let user = evidence.user.as_ref();
    let is_sender = private || evidence.user_is_sender();
    let context = opened.receipt.context.as_ref();
    // The token of another user may stand beside an assertion.
    let by_another = evidence.assertion.is_some();
    match (user, evidence.signer(), context.map(|it| &it.owner)) {
        (Some(user), ..) if is_sender => Proven::User(user.clone()),
        (_, Some(signer), _) => Proven::Certificate(signer.clone()),
        (_, _, Some(ContextOwner::User(owner))) => Proven::User(owner.clone()),
        (_, _, Some(ContextOwner::Certificate(owner))) => Proven::Certificate(owner.clone()),
        (_, _, Some(ContextOwner::Kerberos { client, .. })) => Proven::Kerberos(client.clone()),
        (_, _, Some(ContextOwner::Subject(owner))) => Proven::Subject(Arc::clone(owner)),
        _ if evidence.kerberos_client().is_some() => {
            let client = evidence.kerberos_client();
            Proven::Kerberos(client.unwrap_or_default().to_owned())
        }
        (Some(user), _, None) if !by_another => Proven::User(user.clone()),
        _ => Proven::Nobody,
    }
}

/// Opens a request, or answers it where it asks for a token that `allows` lets it have. `private`
/// says whether it came over TLS, `shown` is the certificate that its client proved then. A
/// `suspect` is judged once it verified.
pub(super) async fn open(
    endpoint: &InboundEndpoint,
    incoming: Incoming,
    (private, shown): (bool, Option<Arc<Certificate>>),
    allows: &Allows<'_>,
    suspect: Option<&Suspect>,
    observed: &Observed,
    desk: &Desk,
) -> Result<Entered, EndpointError> {
    let request = match incoming {
        Incoming::Read(request) => request,
        Incoming::Unread { message, actions } => {
            let buffers = &mut desk.workspace().buffers();
            read_request(endpoint, message, actions, private, observed, buffers)?
        }
    };
    let request = match shown {
        None => request,
        shown => Box::new(request.shown(shown)),
    };
    match receive(endpoint, request, allows, observed, desk).await? {
        Arrived::Message(mut opened) => {
            if let Some(suspect) = suspect {
                let deciphered = !opened.evidence.encrypted.is_empty();
                suspect.judge(endpoint.endpoint.limits(), deciphered, observed, desk)?;
            }
            let proven = proven(&opened, private);
            weak_use::count(&opened, &proven, Direction::Inbound, observed);
            Ok(Entered::Message(Box::new(Opened {
                operation: observed.operation(),
                sender: Sender::of(&opened, &proven),
                proven,
                assertion: opened.evidence.assertion.take().map(Box::new),
                inner: InnerProof::take(&mut opened.evidence),
                unproven: opened.evidence.unproven,
                addressed: opened.addressed,
                octets: opened.bytes,
                parts: opened.parts,
                version: opened.version,
                receipt: opened.receipt,
                addressing: opened.addressing,
                action: opened.action,
                agreement: None,
            })))
        }
        Arrived::Answered(answer) => Ok(Entered::Answered(answer)),
    }
}
