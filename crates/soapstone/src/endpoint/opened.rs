//! A message that was accepted.
//!
//! The one rule: what is given out was proven.

use soapstone_trust::addressing::Addressing;
use soapstone_wss::{Attachment, Evidence, PassedOn, Receipt, Rejected, SoapVersion};
use soapstone_xml::Buffers;

use super::fault::{self, Blame};

/// A message that was accepted.
#[derive(Debug)]
pub struct OpenedMessage {
    /// The plain envelope, rebuilt from what the plan covers. At an intermediary the message for
    /// the next node, of which [`Evidence::unproven`] and the Body are nobody's word.
    pub bytes: Vec<u8>,
    /// Its attachments, deciphered, in the canonical form that was signed.
    /// [`Evidence::attachments`] says in the same order what is proven of each.
    pub parts: Vec<Attachment>,
    /// Its version.
    pub version: SoapVersion,
    /// Whom it blames, if it is a SOAP fault.
    pub fault: Option<Blame>,
    /// What was proven.
    pub evidence: Evidence,
    /// What the answer needs.
    pub receipt: Receipt,
    /// Addressing headers of the request, where the policy asks for them: they are not passed on,
    /// and the answer refers to them ([`Endpoint::label_answer`](super::Endpoint::label_answer)).
    pub addressing: Option<Box<Addressing>>,
    /// `wsa:Action` of a request whose addressing headers are taken out, if it would have been
    /// passed on: where the plan wants signatures, only a signed one would.
    pub action: Option<String>,
    /// At an intermediary the header blocks that go no further, and that their sender addressed
    /// and signed for it: in canonical form, one behind the other. `None` where this is the
    /// last node.
    pub addressed: Option<Vec<u8>>,
}

/// A message that an intermediary passes on.
#[derive(Debug)]
pub struct PassedMessage {
    /// The message for the next node.
    pub bytes: Vec<u8>,
    /// What was proven of it for this node, and nothing more.
    pub passed: PassedOn,
}

impl OpenedMessage {
    /// A message that an intermediary passes on.
    ///
    /// # Errors
    /// [`Rejected::Canonicalization`] if the blocks that are for the intermediary grow beyond the
    /// limits of the message.
    pub(super) fn passed_on(
        message: PassedMessage,
        buffers: &mut Buffers,
    ) -> Result<Self, Rejected> {
        let PassedMessage { bytes, passed } = message;
        let envelope = passed.envelope();
        let (version, fault) = (envelope.version(), fault::blame(envelope));
        let mut addressed = Vec::new();
        passed.write_addressed(&mut addressed, buffers)?;
        let (evidence, receipt) = passed.finish(buffers);
        Ok(Self {
            bytes,
            parts: Vec::new(),
            version,
            fault,
            evidence,
            receipt,
            addressing: None,
            action: None,
            addressed: Some(addressed),
        })
    }
}
