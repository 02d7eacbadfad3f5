//! The third step of a request: secured by the endpoint that faces the backend.
//!
//! The rule kept here: what goes to a backend with an endpoint is what that endpoint made.

use std::sync::Arc;

use http::HeaderValue;
use soapstone::endpoint::user_of;
use soapstone::mime::{Attachment, Message};
use soapstone::trust::addressing::Addressing;
use soapstone::wss::{AssertionEvidence, Receipt, SoapVersion};

use super::choose::Chosen;
use super::identity::InnerProof;
use super::open::Opened;
use super::steps::{EndpointError, With, kerberos_session, secure_request};
use crate::config::direction::Direction;
use crate::conversation::context::ContextLease;
use crate::observe::audit::Sender;
use crate::observe::traces::Observed;
use crate::route::balancer::Attempt;
use crate::route::upstream::{Label, Said, Upstream};
use crate::scheduling::endpoint::OutboundEndpoint;
use crate::scheduling::session::SessionInUse;
use crate::scheduling::task::Desk;
use crate::wire::budget::Reservation;
use crate::wire::packaged::Packing;

/// A request on its way to the backend.
pub(super) struct Forward {
    pub(super) octets: Vec<u8>,
    /// Its `Content-Type`, where it is a package.
    pub(super) content_type: Option<HeaderValue>,
    pub(super) version: SoapVersion,
    pub(super) upstream: Arc<Upstream>,
    pub(super) receipts: Box<Receipts>,
    /// What a header said that is not passed on, and that may be told.
    pub(super) action: Option<String>,
    /// Who sent it, as far as that was proven.
    pub(super) sender: Option<Sender>,
    /// The assertion about its sender.
    pub(super) assertion: Option<Box<AssertionEvidence>>,
    /// What was found of elements of its Body that are protected by themselves.
    pub(super) inner: Option<Box<InnerProof>>,
    /// Header blocks in it that nothing proves.
    pub(super) unproven: Vec<String>,
    /// The conversation with the backend that it is secured in.
    pub(super) conversation: Option<InConversation>,
    /// The Kerberos session with the backend that it is secured with.
    pub(super) kerberos: Option<SessionInUse>,
    /// The id of the assertion that a token service made for it.
    pub(super) issued: Option<String>,
    /// Where there are several backends.
    pub(super) balanced: Option<Balanced>,
}

/// The attempt at one of several backends, and what another one would need.
pub(super) struct Balanced {
    pub(super) attempt: Box<Attempt>,
    /// The request before it was secured, where any backend has an endpoint and another one is
    /// left. Each backend gets what its own endpoint makes of that.
    pub(super) plain: Option<Plain>,
    /// Whether a package may be obeyed twice that no backend has an endpoint for.
    pub(super) is_idempotent: Option<bool>,
}

impl Balanced {
    /// Keeps what another backend needs of a message that is not secured yet, as long as there is
    /// one. It takes room.
    fn keep(
        &mut self,
        octets: &[u8],
        parts: &[Attachment],
        said: Said,
        mut room: Reservation,
    ) -> Result<(), EndpointError> {
        if !self.attempt.may_be_secured() {
            if said.packing.is_some() {
                self.is_idempotent = Some(self.attempt.is_idempotent(octets));
            }
        } else if self.attempt.has_another() {
            let attached = parts.iter().map(|part| part.content().len());
            let size = attached.fold(octets.len(), usize::saturating_add);
            if !room.grow(size as u64) {
                return Err(EndpointError::NoRoom);
            }
            self.plain = Some(Plain {
                message: Message {
                    root: octets.to_vec(),
                    parts: parts.to_vec(),
                },
                said,
                _room: room,
            });
        }
        Ok(())
    }
}

/// A request before it was secured.
pub(super) struct Plain {
    pub(super) message: Message,
    /// What its client said of it beside the message.
    pub(super) said: Said,
    /// The room that it takes.
    _room: Reservation,
}

/// What a request left behind on each side.
#[derive(Default)]
pub(super) struct Receipts {
    /// That of a request that nothing was demanded of is empty.
    pub(super) inbound: Receipt,
    /// What the client's addressing headers said, where the answer has to refer to them.
    pub(super) addressing: Option<Box<Addressing>>,
    /// That of a request that goes on as it came is empty.
    pub(super) outbound: Receipt,
}

/// The conversation that a request is secured in, and the request as it was before.
pub(super) struct InConversation {
    pub(super) lease: ContextLease,
    pub(super) plain: Message,
    pub(super) label: Label,
    /// How it is packaged, if it is.
    pub(super) packing: Option<Packing>,
}

/// Secures a request for the upstream that was chosen. `said` is what its client said of it beside
/// the message, and `room` a place for what another backend may need.
pub(super) async fn secure(
    opened: Box<Opened>,
    Chosen {
        upstream,
        context,
        token,
        attempt,
    }: Chosen,
    said: Said,
    room: Reservation,
    observed: &Observed,
    desk: &Desk,
) -> Result<Box<Forward>, EndpointError> {
    let mut parts = opened.parts;
    // What leaves is of the version that was read, whatever its sender announced.
    let packing = said.packing.map(|it| it.of_version(opened.version));
    let mut forward = Box::new(Forward {
        octets: opened.octets,
        content_type: None,
        version: opened.version,
        receipts: Box::new(Receipts {
            inbound: opened.receipt,
            addressing: opened.addressing,
            outbound: Receipt::default(),
        }),
        action: opened.action,
        sender: opened.sender,
        assertion: opened.assertion,
        inner: opened.inner,
        unproven: opened.unproven,
        conversation: None,
        kerberos: None,
        issued: None,
        balanced: attempt.map(|attempt| Balanced {
            attempt,
            plain: None,
            is_idempotent: None,
        }),
        upstream,
    });
    let said = Said {
        action: said.action.or_else(|| forward.action.clone()),
        packing: packing.clone(),
    };
    if let Some(balanced) = &mut forward.balanced {
        balanced.keep(&forward.octets, &parts, said.clone(), room)?;
    }
    if let Some(endpoint) = &forward.upstream.endpoint {
        if packing.is_some() && !endpoint.endpoint.takes_packages() {
            return Err(EndpointError::PackageUntaken);
        }
        let mut octets = std::mem::take(&mut forward.octets);
        if forward
            .upstream
            .tokens
            .as_ref()
            .is_some_and(|it| it.are_for_users())
        {
            octets = without_user(endpoint, octets, desk)?;
        }
        let label = forward.upstream.label(said);
        forward.conversation = context.map(|lease| InConversation {
            lease,
            plain: Message {
                root: octets.clone(),
                parts: parts.clone(),
            },
            label: label.clone(),
            packing: packing.clone(),
        });
        forward.kerberos = kerberos_session(endpoint, desk).await?;
        let with = With {
            context: forward.conversation.as_ref().map(|it| it.lease.context()),
            kerberos: forward.kerberos.as_ref().and_then(SessionInUse::session),
            assertion: token.as_ref().map(|token| &token.assertion.token),
        };
        let buffers = &mut desk.workspace().buffers();
        let message = Message {
            root: octets,
            parts,
        };
        let secured = secure_request(endpoint, message, &label, with, observed, buffers)?;
        (forward.octets, parts) = (secured.bytes, secured.parts);
        forward.receipts.outbound = secured.receipt;
        let tokens = forward.upstream.tokens.as_ref().zip(token.as_ref());
        forward.issued = tokens.map(|(tokens, token)| tokens.told_id(token));
    }
    if let Some(packing) = packing {
        let packed = packing.write(std::mem::take(&mut forward.octets), parts);
        forward.octets = packed.body;
        forward.content_type = Some(packed.content_type);
    }
    Ok(forward)
}

/// The request without the assertion of its user, for whom the token service was asked.
fn without_user(
    endpoint: &OutboundEndpoint,
    octets: Vec<u8>,
    desk: &Desk,
) -> Result<Vec<u8>, EndpointError> {
    let limits = endpoint.endpoint.limits();
    let found = user_of(octets, limits, &mut desk.workspace().buffers());
    let (octets, _) = found.map_err(|error| EndpointError::Unsecurable {
        direction: Direction::Outbound,
        error,
    })?;
    Ok(octets)
}
