//! The types that say how far a message has come.
//!
//! `Opened` has passed the cryptography and the plan. `Verified` has passed the replay cache, too,
//! and can be forwarded:
//!
//! ```
//! use soapstone_wss::{Envelope, FirstSeen, Opened, Rejected, Verified};
//! use soapstone_xml::Buffers;
//!
//! fn admit(opened: Opened, first_seen: FirstSeen) -> Result<Verified<Envelope>, Rejected> {
//!     opened.admit(first_seen)
//! }
//! fn forward(verified: &Verified<Envelope>, out: &mut Vec<u8>) -> Result<(), Rejected> {
//!     verified.forward(out, &mut Buffers::default())
//! }
//! ```
//!
//! [`admit`](Opened::admit) is the only way to have a [`Verified`]. It cannot be put together:
//!
//! ```compile_fail,E0451
//! use soapstone_wss::{Envelope, Verified};
//! fn forge(envelope: Envelope, other: Verified<Envelope>) -> Verified<Envelope> {
//!     Verified { inner: envelope, ..other }
//! }
//! ```
//!
//! Nor can another message be put into it:
//!
//! ```compile_fail,E0616
//! use soapstone_wss::{Envelope, Verified};
//! fn exchange(verified: &mut Verified<Envelope>, envelope: Envelope) {
//!     verified.inner = envelope;
//! }
//! ```
//!
//! An envelope is not forwarded:
//!
//! ```compile_fail,E0599
//! use soapstone_wss::{Envelope, Rejected};
//! use soapstone_xml::Buffers;
//! fn forward(envelope: &Envelope, out: &mut Vec<u8>) -> Result<(), Rejected> {
//!     envelope.forward(out, &mut Buffers::default())
//! }
//! ```
//!
//! Nor is what was opened, and might be a replay:
//!
//! ```compile_fail,E0599
//! use soapstone_wss::{Opened, Rejected};
//! use soapstone_xml::Buffers;
//! fn forward(opened: &Opened, out: &mut Vec<u8>) -> Result<(), Rejected> {
//!     opened.forward(out, &mut Buffers::default())
//! }
//! ```
//!
//! What writes the message that is passed on is not reached without a `Verified`:
//!
//! ```compile_fail,E0603
//! use soapstone_wss::forward::write;
//! ```
//!
//! An [`Opened`] comes from a plan alone, and its message is not taken out of it:
//!
//! ```compile_fail,E0451
//! use soapstone_wss::{Envelope, Opened};
//! fn forge(envelope: Envelope, other: Opened) -> Opened {
//!     Opened { envelope, ..other }
//! }
//! ```
//!
//! ```compile_fail,E0616
//! use soapstone_wss::{Envelope, Opened};
//! fn take(opened: Opened) -> Envelope {
//!     opened.envelope
//! }
//! ```
//!
//! It is admitted once, and cannot be copied to be admitted again:
//!
//! ```compile_fail,E0382
//! use soapstone_wss::{FirstSeen, Opened};
//! fn twice(opened: Opened, one: FirstSeen, two: FirstSeen) {
//!     drop(opened.admit(one));
//!     drop(opened.admit(two));
//! }
//! ```
//!
//! ```compile_fail,E0277
//! use soapstone_wss::Opened;
//! fn copy(opened: &Opened) -> Opened {
//!     Opened::clone(opened)
//! }
//! ```
//!
//! The word of a replay cache admits one message. It cannot be given twice, copied, or made of
//! nothing:
//!
//! ```compile_fail,E0382
//! use soapstone_wss::{FirstSeen, Opened};
//! fn both(one: Opened, two: Opened, first_seen: FirstSeen) {
//!     drop(one.admit(first_seen));
//!     drop(two.admit(first_seen));
//! }
//! ```
//!
//! ```compile_fail,E0277
//! use soapstone_wss::FirstSeen;
//! fn copy(first_seen: &FirstSeen) -> FirstSeen {
//!     FirstSeen::clone(first_seen)
//! }
//! ```
//!
//! ```compile_fail,E0451
//! use soapstone_wss::FirstSeen;
//! fn forge() -> FirstSeen {
//!     FirstSeen { keys: Vec::new() }
//! }
//! ```

use soapstone_mime::Attachment;
use soapstone_xml::{Buffers, Element, NodeId};

use crate::envelope::Envelope;
use crate::evidence::{AttachmentEvidence, Evidence};
use crate::facts::Receipt;
use crate::forward;
use crate::inner::{InnerCipherEvidence, InnerEvidence};
use crate::marks::ReplayKey;
use crate::passage::Passage;
use crate::rejected::Rejected;

/// The word of a replay cache that none of these marks was seen before.
#[derive(Debug)]
pub struct FirstSeen {
    keys: Vec<[u8; 32]>,
}

impl FirstSeen {
    /// Asserts that all of `marks` were absent and are remembered now, in one atomic step.
    ///
    /// Only a replay cache, or a test that has none, may say so.
    pub fn assertion(marks: &[ReplayKey]) -> Self {
        Self {
            keys: marks.iter().map(|mark| mark.key).collect(),
        }
    }

    /// Whether the word is about these marks.
    pub(crate) fn vouch_for(&self, marks: &[ReplayKey]) -> Result<(), Rejected> {
        if marks.iter().all(|mark| self.keys.contains(&mark.key)) {
            return Ok(());
        }
        let problem = "the replay cache was asked about another message".to_owned();
        Err(Rejected::ReplayUnknown { problem })
    }
}

/// A message that passed the cryptography and the plan, and might still be a replay.
#[derive(Debug)]
pub struct Opened {
    pub(crate) envelope: Envelope,
    pub(crate) evidence: Box<Evidence>,
    pub(crate) marks: Vec<ReplayKey>,
    /// How many of them a replay cache was asked about before anything was deciphered.
    pub(crate) known_marks: usize,
    pub(crate) receipt: Box<Receipt>,
    /// Header blocks that are proven.
    pub(crate) blocks: Vec<NodeId>,
    /// All header blocks to pass on, where some are not proven.
    pub(crate) passed: Option<Vec<NodeId>>,
    /// What is passed on inherits attributes of elements around it.
    pub(crate) inherits: bool,
    /// Something was deciphered.
    pub(crate) deciphered: bool,
    /// How the message is passed on, where that is all that may be done with it.
    pub(crate) passage: Option<Passage>,
}

impl Opened {
    /// Everything that a copy of the message is known by.
    pub fn marks(&self) -> &[ReplayKey] {
        &self.marks
    }

    /// The marks that a replay cache was not asked about yet, since cipher text held what they are
    /// of. Mostly there are none.
    pub fn late_marks(&self) -> &[ReplayKey] {
        &self.marks[self.known_marks..]
    }

    /// Header blocks that are proven: where the plan wants signatures, those that are signed. They
    /// would be passed on.
    pub fn blocks(&self) -> &[NodeId] {
        &self.blocks
    }

    /// Of each attachment, whether it is signed and whether it was encrypted. The attachments
    /// themselves are handed out when the message is admitted.
    pub fn attachments(&self) -> &[AttachmentEvidence] {
        &self.evidence.attachments
    }

    /// The issuer and the id of the assertion that the message was accepted with.
    pub fn assertion(&self) -> Option<(&str, &str)> {
        let accepted = self.evidence.assertion.as_ref()?;
        let assertion = &accepted.assertion;
        Some((&assertion.issuer, &assertion.id))
    }

    /// Has the host judge what its plans cannot know of each other, such as whether this is an
    /// operation that the plan is for. The peer of a message that is refused here is told no
    /// more than if the plan had refused it.
    ///
    /// # Errors
    /// What the host says.
    pub fn examine<T>(
        &self,
        host: impl FnOnce(&Envelope) -> Result<T, Rejected>,
    ) -> Result<T, Rejected> {
        host(&self.envelope).map_err(|rejected| self.refused(rejected))
    }

    /// A reason of the host's to refuse the message, with what its peer may be told of it. To be
    /// told of a changed copy that it is a copy, where others fail to be deciphered, is to be
    /// told that it can be read.
    pub fn refused(&self, reason: Rejected) -> Rejected {
        // A peer is to try again where a replay cache cannot tell. What is signed cannot be changed
        // by anybody who learns from that.
        let again = matches!(reason, Rejected::ReplayUnknown { .. });
        let is_signed = !self.evidence.signatures.is_empty();
        reason.after(self.deciphered && !(again && is_signed))
    }

    /// Admits the message on the word of the replay cache about its [late marks](Self::late_marks).
    ///
    /// # Errors
    /// [`Rejected::ReplayUnknown`] if the word was given for another message, and
    /// [`Rejected::NotTheReceiver`] of an intermediary's plan.
    pub fn admit(self, first_seen: FirstSeen) -> Result<Verified<Envelope>, Rejected> {
        first_seen.vouch_for(self.late_marks())?;
        if self.passage.is_some() {
            return Err(Rejected::NotTheReceiver);
        }
        Ok(Verified {
            inner: self.envelope,
            evidence: self.evidence,
            receipt: self.receipt,
            blocks: self.blocks,
            passed: self.passed,
            inherits: self.inherits,
        })
    }
}

/// A message of which everything that the plan demands is proven.
#[derive(Debug)]
pub struct Verified<T> {
    inner: T,
    evidence: Box<Evidence>,
    receipt: Box<Receipt>,
    blocks: Vec<NodeId>,
    passed: Option<Vec<NodeId>>,
    inherits: bool,
}

impl Verified<Envelope> {
    /// The envelope, decrypted parts in place.
    pub fn envelope(&self) -> &Envelope {
        &self.inner
    }

    /// Header blocks that are proven: where the plan wants signatures, those that are signed. They
    /// are passed on.
    pub fn blocks(&self) -> &[NodeId] {
        &self.blocks
    }

    /// The attachments, deciphered, in the canonical form that was signed.
    /// [`Evidence::attachments`] says what is proven of each, in the same order. Of their headers
    /// there is what is proven, and the media type.
    pub fn attachments(&self) -> &[Attachment] {
        &self.inner.attachments
    }

    /// Takes the [attachments](Self::attachments).
    pub fn take_attachments(&mut self) -> Vec<Attachment> {
        std::mem::take(&mut self.inner.attachments).into_vec()
    }

    /// Keeps header blocks from being passed on: those that were for the receiver, and mean nothing
    /// behind it.
    pub fn drop_blocks(&mut self, mut is_ours: impl FnMut(Element<'_>) -> bool) {
        let document = self.inner.document();
        let passed = self.passed.iter_mut();
        for blocks in passed.chain(std::iter::once(&mut self.blocks)) {
            blocks.retain(|block| !is_ours(document.element(*block)));
        }
    }

    /// What was proven.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// Notes for the answer which operations of the host's the message may be of
    /// ([`Receipt::operations`]).
    pub fn note_operations(&mut self, operations: Vec<usize>) {
        self.receipt.operations = operations;
    }

    /// Notes what the host has proven of an element of the Body
    /// ([`InnerVerification`](crate::InnerVerification)).
    pub fn note_inner(&mut self, inner: Option<InnerEvidence>) {
        self.note_weak(inner.iter().flat_map(|inner| &inner.weak));
        self.evidence.inner = inner;
    }

    /// Notes which element of the Body the host has deciphered
    /// ([`InnerDecryption`](crate::InnerDecryption)).
    pub fn note_inner_encryption(&mut self, inner: Option<InnerCipherEvidence>) {
        self.note_weak(inner.iter().flat_map(|inner| &inner.weak));
        self.evidence.inner_encryption = inner;
    }

    fn note_weak<'n>(&mut self, names: impl Iterator<Item = &'n &'static str>) {
        for name in names {
            if !self.evidence.weak.contains(name) {
                self.evidence.weak.push(name);
            }
        }
    }

    /// Appends the message rebuilt from what the plan covers: no `wsse:Security` header, and, where
    /// the plan wants signatures, no header block, no comment and no attribute of an element
    /// around them (`xml:lang` of the Envelope) that is not signed. The blocks of
    /// [`Evidence::unproven`] are there all the same.
    ///
    /// # Errors
    /// [`Rejected::Canonicalization`] if the message repeats namespaces so often that it would grow
    /// beyond its limits.
    pub fn forward(&self, out: &mut Vec<u8>, buffers: &mut Buffers) -> Result<(), Rejected> {
        let blocks = self.passed.as_deref().unwrap_or(&self.blocks);
        forward::write(&self.inner, blocks, self.inherits, out, buffers)
            .map_err(Rejected::Canonicalization)
    }

    /// Takes what the answer needs, and gives the memory back.
    pub fn finish(self, buffers: &mut Buffers) -> (Evidence, Receipt) {
        self.inner.recycle(buffers);
        (*self.evidence, *self.receipt)
    }
}
