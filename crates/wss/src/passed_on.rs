//! A message that an intermediary passes on: what was for this node is proven and taken out.
//!
//! The one rule: it claims nothing of the rest. There is no way from here to a
//! [`Verified`](crate::Verified), and none back:
//!
//! ```compile_fail,E0599
//! use soapstone_wss::{FirstSeen, PassedOn};
//! fn keep(passed: PassedOn, first_seen: FirstSeen) {
//!     drop(passed.admit(first_seen));
//! }
//! ```
//!
//! ```compile_fail,E0451
//! use soapstone_wss::{Envelope, PassedOn};
//! fn forge(envelope: Envelope, other: PassedOn) -> PassedOn {
//!     PassedOn { envelope, ..other }
//! }
//! ```
//!
//! ```
//! use soapstone_wss::{FirstSeen, Opened, PassedOn, Rejected};
//! fn pass(opened: Opened, first_seen: FirstSeen) -> Result<PassedOn, Rejected> {
//!     opened.pass_on(first_seen)
//! }
//! ```

use soapstone_xml::{Buffers, C14nOptions, Canonicalization, NodeId, canonicalize_each};

use crate::envelope::Envelope;
use crate::evidence::Evidence;
use crate::facts::Receipt;
use crate::passage::Passage;
use crate::rejected::Rejected;
use crate::verified::{FirstSeen, Opened};

/// A message of which everything is proven that the policy of an intermediary names, and nothing
/// else.
#[derive(Debug)]
pub struct PassedOn {
    envelope: Envelope,
    evidence: Box<Evidence>,
    receipt: Box<Receipt>,
    blocks: Vec<NodeId>,
    passage: Passage,
}

impl Opened {
    /// Has the message passed on, on the word of the replay cache about its [late
    /// marks](Self::late_marks).
    ///
    /// # Errors
    /// [`Rejected::ReplayUnknown`] if the word was given for another message, and
    /// [`Rejected::NotTheReceiver`] if the plan is not that of an intermediary.
    pub fn pass_on(self, first_seen: FirstSeen) -> Result<PassedOn, Rejected> {
        first_seen.vouch_for(self.late_marks())?;
        let passage = self.passage.ok_or(Rejected::NotTheReceiver)?;
        Ok(PassedOn {
            envelope: self.envelope,
            evidence: self.evidence,
            receipt: self.receipt,
            blocks: self.blocks,
            passage,
        })
    }
}

impl PassedOn {
    /// The envelope, with the parts that were for this node decrypted in place, and everything that
    /// nothing proves.
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// What was proven.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// Header blocks that a signature for this node covers.
    pub fn blocks(&self) -> &[NodeId] {
        &self.blocks
    }

    /// Those of them that are addressed to this node, and go no further.
    pub fn addressed(&self) -> &[NodeId] {
        self.passage.addressed()
    }

    /// Appends these blocks in canonical form, one behind the other.
    ///
    /// # Errors
    /// [`Rejected::Canonicalization`] if they repeat namespaces so often that they would grow
    /// beyond the limits of the message.
    pub fn write_addressed(
        &self,
        out: &mut Vec<u8>,
        buffers: &mut Buffers,
    ) -> Result<(), Rejected> {
        let blocks = self.passage.addressed();
        if blocks.is_empty() {
            return Ok(());
        }
        let mut scratch = buffers.take_scratch();
        let document = self.envelope.document();
        let options = C14nOptions::new(Canonicalization::Inclusive10);
        let written = canonicalize_each(document, blocks, &options, &mut scratch, out);
        buffers.give_scratch(scratch);
        written.map_err(Rejected::Canonicalization)
    }

    /// Appends the message for the next node: every byte that came, without the `wsse:Security`
    /// header of this node and the header blocks that were for it (SOAP 1.1, 4.2.2; SOAP 1.2 part
    /// 1, 2.7.2). Cipher text that was for this node goes on as it came, or as plaintext where the
    /// policy [reinserts](crate::Intermediary::reinserts).
    pub fn forward(&self, out: &mut Vec<u8>) {
        self.passage.write(self.envelope.document().bytes(), out);
    }

    /// Takes what was proven, and gives the memory back.
    pub fn finish(self, buffers: &mut Buffers) -> (Evidence, Receipt) {
        self.envelope.recycle(buffers);
        (*self.evidence, *self.receipt)
    }
}
