//! The message to be secured, and what it is secured with.
//!
//! The one rule: nothing here changes while the message is secured.

use std::sync::Arc;

use jiff::Timestamp;
use soapstone_crypto::random::Supply;
use soapstone_crypto::{Certificate, SymmetricKey};
use soapstone_xml::NodeId;

use crate::binding::Recipient;
use crate::conversation::SecurityContext;
use crate::envelope::Envelope;
use crate::facts::{HeldAssertion, Receipt};
use crate::freshness::PeerClock;
use crate::kerberos::KerberosSession;
use crate::part::Part;
use crate::plan::{OutboundPlan, Protection};
use crate::proof::ProofKey;
use crate::secure_error::SecureError;
use crate::token::{AssertionReference, AssertionToken};
use crate::username::User;

/// Random bytes in the ids of a message.
pub(super) const ID_BYTES: usize = 8;

/// What securing a message needs from outside.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outgoing<'a> {
    /// What the request left behind, where the message is its answer.
    pub answers: Option<&'a Receipt>,
    /// The security context that the message is to be secured with, where it is no answer.
    pub context: Option<&'a SecurityContext>,
    /// The Kerberos session that the message is to be secured with, where it is no answer.
    pub kerberos: Option<&'a KerberosSession>,
    /// The assertion that the message is to carry, in the place of the plan's.
    pub assertion: Option<&'a AssertionToken>,
    /// What the message is about, as far as its sender says so beside it (`SOAPAction`), where it
    /// is no answer. Not for the plan, but for a host that chooses among the plans of
    /// operations.
    pub action: Option<&'a str>,
    /// How far the peer's clock is known to be off: the message has its times by that clock.
    pub clock: PeerClock,
}

impl<'a> Outgoing<'a> {
    /// An answer to a request that left `receipt` behind.
    pub fn answer(receipt: &'a Receipt) -> Self {
        Self {
            answers: Some(receipt),
            ..Self::default()
        }
    }

    /// The same with an assertion that was found in the message, if one was.
    pub(super) fn carrying(self, found: Option<&'a AssertionToken>) -> Self {
        Self {
            assertion: found.or(self.assertion),
            ..self
        }
    }

    /// A request in a conversation.
    pub fn within(context: &'a SecurityContext) -> Self {
        Self {
            context: Some(context),
            ..Self::default()
        }
    }
}

/// Whose certificate a session key is wrapped to.
#[derive(Clone, Copy)]
pub(super) struct Addressee<'p> {
    pub(super) certificate: &'p Certificate,
    /// The assertion that names the certificate, in the place of a reference to that.
    pub(super) held: Option<&'p HeldAssertion>,
}

impl<'p> Addressee<'p> {
    /// The holder of a certificate that messages name itself.
    pub(super) const fn alone(certificate: &'p Certificate) -> Self {
        Self {
            certificate,
            held: None,
        }
    }
}

/// A plan, with what it is executed with.
pub(super) struct Message<'p> {
    pub(super) plan: &'p OutboundPlan,
    pub(super) outgoing: Outgoing<'p>,
    pub(super) now: Timestamp,
    /// Random start of every id in this message, so that a message inside a message has other ids.
    id: String,
}

impl<'p> Message<'p> {
    pub(super) fn new(
        plan: &'p OutboundPlan,
        outgoing: Outgoing<'p>,
        now: Timestamp,
        supply: &mut Supply,
    ) -> Self {
        Self {
            plan,
            outgoing,
            now,
            id: message_id(supply),
        }
    }

    pub(super) fn protection(&self) -> &'p Protection {
        &self.plan.protection
    }

    /// The start of every id.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// The id of something in this message.
    pub(super) fn named(&self, name: &str) -> String {
        let mut id = String::with_capacity(self.id.len() + 1 + name.len());
        id.push_str(&self.id);
        id.push('-');
        id.push_str(name);
        id
    }

    /// The nodes of the message that a part means. Parts of the header that we write are handled
    /// where they are written.
    pub(super) fn nodes_of(
        &self,
        envelope: &Envelope,
        part: &Part,
    ) -> Result<Vec<NodeId>, SecureError> {
        match part {
            Part::Body => Ok(vec![envelope.body().id()]),
            Part::Header { namespace, local } => Ok(envelope
                .header()
                .into_iter()
                .flat_map(|header| header.children())
                .filter(|block| block.is(namespace, local))
                .map(|block| block.id())
                .collect()),
            Part::Id(id) => match envelope.document.by_id(id) {
                Ok(Some(node)) => Ok(vec![node]),
                _ => Err(SecureError::PartMissing { part: part.clone() }),
            },
            Part::Path(path) => Ok(path.select(&envelope.document)),
            Part::Timestamp
            | Part::Signature
            | Part::UsernameToken
            | Part::Assertion
            | Part::Token
            | Part::EndorsingToken
            | Part::SignatureConfirmation => Ok(Vec::new()),
        }
    }

    /// The session key of the request, with its name.
    pub(super) fn request_key(&self) -> Result<&'p ([u8; 20], SymmetricKey), SecureError> {
        self.outgoing
            .answers
            .and_then(|request| request.session_keys.first())
            .ok_or(SecureError::RequestKeyMissing)
    }

    pub(super) fn context(&self) -> Result<&'p SecurityContext, SecureError> {
        let answered = self
            .outgoing
            .answers
            .and_then(|request| request.context.as_ref());
        answered
            .or(self.outgoing.context)
            .ok_or(SecureError::ContextMissing)
    }

    /// The Kerberos session of the message, if it has not ended.
    pub(super) fn kerberos(&self) -> Result<&'p KerberosSession, SecureError> {
        let answered = self.outgoing.answers;
        let answered = answered.and_then(|request| request.kerberos.as_ref());
        let session = answered.or(self.outgoing.kerberos);
        let session = session.ok_or(SecureError::KerberosMissing)?;
        match session.expires <= self.now {
            true => Err(SecureError::KerberosExpired {
                expired: session.expires,
            }),
            false => Ok(session),
        }
    }

    /// The user whose password keys are derived from: that of the request, or we ourselves.
    pub(super) fn user(&self) -> Result<&'p Arc<User>, SecureError> {
        let user = match self.outgoing.answers {
            Some(request) => request.user.as_ref(),
            None => self.plan.keys.user.as_ref(),
        };
        user.ok_or(SecureError::UserMissing)
    }

    /// The proof key that protects the message: that of the request, or of the assertion that the
    /// message carries.
    pub(super) fn proof_key(&self) -> Result<ProofKey, SecureError> {
        let found = match self.outgoing.answers {
            Some(request) => request.proof.clone(),
            None => self.assertion().and_then(AssertionToken::proof_key),
        };
        found.ok_or(SecureError::ProofKeyMissing)
    }

    /// The reference to the assertion, where the message names it and does not carry it.
    pub(super) fn assertion_elsewhere(&self) -> Result<Option<AssertionReference>, SecureError> {
        let authority = self.protection().assertion_authority.as_deref();
        let Some((authority, assertion)) = authority.zip(self.assertion()) else {
            return Ok(None);
        };
        assertion
            .check_named(&self.protection().assertion_methods)
            .map_err(|problem| SecureError::AssertionUnfit { problem })?;
        let reference = AssertionReference::at(authority, assertion.version(), assertion.id());
        reference
            .map(Some)
            .map_err(|error| SecureError::AssertionUnfit {
                problem: error.to_string(),
            })
    }

    /// The assertion that the message carries or names.
    pub(super) fn assertion(&self) -> Option<&'p AssertionToken> {
        self.outgoing
            .assertion
            .or(self.plan.keys.assertion.as_deref())
    }

    /// Whose certificate the session key of a message is wrapped to that encrypts alone.
    pub(super) fn recipient(&self) -> Result<Addressee<'p>, SecureError> {
        let encryption = self.protection().encryption.as_ref();
        let recipient = encryption.map_or(Recipient::Peer, |encryption| encryption.recipient);
        let request = self.outgoing.answers.filter(|_| recipient.is_of_request());
        let held = request.and_then(|request| request.held.as_ref());
        if let Some(held) = held.filter(|_| recipient == Recipient::Holder) {
            return Ok(Addressee {
                certificate: &held.certificate,
                held: Some(held),
            });
        }
        let signer = request.and_then(|request| request.signer.as_ref());
        let certificate = signer.or(self.plan.keys.peer.as_ref());
        certificate
            .map(Addressee::alone)
            .ok_or(SecureError::RequestKeyMissing)
    }

    /// Refuses an algorithm whose time is over.
    pub(super) fn check_retirement(&self, algorithm: &'static str) -> Result<(), SecureError> {
        self.protection().check_retirement(algorithm, self.now)
    }
}

/// The name of something of which there may be several; the first one has none of the numbers.
pub(super) fn numbered(name: &str, index: usize) -> String {
    match index {
        0 => name.to_owned(),
        _ => format!("{name}-{index}"),
    }
}

/// The random start of the ids of one message.
fn message_id(supply: &mut Supply) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    // An NCName must not begin with a digit.
    let mut id = String::with_capacity(1 + 2 * ID_BYTES);
    id.push('s');
    for byte in supply.bytes::<ID_BYTES>() {
        for digit in [byte >> 4, byte & 15] {
            id.push(char::from(DIGITS[usize::from(digit)]));
        }
    }
    id
}
