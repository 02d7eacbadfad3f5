//! Opening a message: what stands in the clear is authenticated, then the `wsse:Security` header is
//! processed in its order, then what was proven is compared with the plan.
//!
//! ```text
//! plan.authenticate ─▶ Authenticated ─ replay keys known ─▶ open ─▶ Opened
//!                   ─ late replay keys known ─▶ admit ─▶ Verified
//! ```
//!
//! Every step looks up nodes of one tree. A signature proves nodes; the comparison asks whether the
//! node that stands in the place the plan speaks of is among them. Neither names nor ids decide
//! anything, which is what makes signature wrapping (McIntosh and Austel 2005) fruitless.

mod algorithms;
mod assertion;
mod attached;
mod attachments;
mod authentic;
mod authenticate;
mod budget;
mod certificates;
mod chosen_keys;
mod cipher_text;
mod compare;
mod comparison;
mod decrypt;
mod dereference;
mod endorsement;
mod hidden_assertion;
mod items;
mod key_agreement;
mod keyring;
mod message;
mod opening;
mod own_key;
mod passing;
mod password_keys;
mod places;
mod plaintext;
mod proof_key;
mod recognition;
mod references;
mod replay_keys;
mod signature;
mod signer;
mod symmetric_keys;
mod unjudged;
mod wrapped_keys;

use jiff::Timestamp;
use soapstone_xml::{Buffers, NodeId};

pub(crate) use self::algorithms::not_allowed;
pub use self::authenticate::DecipheringKey;
use self::keyring::Proof;
use self::opening::Opening;
pub(crate) use self::own_key::OwnKey;
use self::places::PassedBlocks;
use crate::envelope::Envelope;
use crate::facts::{Facts, Receipt};
use crate::header::ItemKind;
use crate::kerberos::KerberosSession;
use crate::marks::{self, End, ReplayKey};
use crate::operation::{Operation, OperationObserver};
use crate::passage::Passage;
use crate::plan::InboundPlan;
use crate::proof::ProofKey;
use crate::rejected::Rejected;
use crate::verified::{FirstSeen, Opened};

/// A message whose signatures in the clear verified, and of which nothing is deciphered yet.
///
/// It is opened on the word of a replay cache only: a captured message gives nobody a try at its
/// cipher text.
pub struct Authenticated<'p> {
    opening: Box<Opening<'p>>,
    deciphering_keys: Vec<DecipheringKey>,
}

impl Authenticated<'_> {
    /// What the replay cache is asked about before anything is deciphered. A message that is
    /// refused afterwards stays known: whoever changed it on its way could have dropped it as
    /// well.
    pub fn marks(&self) -> &[ReplayKey] {
        &self.opening.replay.marks
    }

    /// The keys that the message asks to decipher with, where failed openings are counted.
    pub fn deciphering_keys(&self) -> &[DecipheringKey] {
        &self.deciphering_keys
    }

    /// Opens the message: deciphers, checks references, compares with the plan.
    ///
    /// # Errors
    /// Why the message is refused; see [`Rejected::fault`] for what may be told to the peer. From
    /// the first decryption on all reasons are one to everybody but the operator.
    pub fn open(self, first_seen: &FirstSeen, buffers: &mut Buffers) -> Result<Opened, Rejected> {
        first_seen.vouch_for(self.marks())?;
        self.opening.run(buffers)
    }
}

impl InboundPlan {
    /// Verifies what can be verified of a message before anything of it is deciphered. Pure: no
    /// clock but `now`.
    ///
    /// # Errors
    /// Why the message is refused; see [`Rejected::fault`] for what may be told to the peer.
    pub fn authenticate<'p>(
        &'p self,
        envelope: Envelope,
        facts: &'p Facts,
        now: Timestamp,
        buffers: &mut Buffers,
        observer: &'p mut dyn OperationObserver,
    ) -> Result<Authenticated<'p>, Rejected> {
        let mut opening = Opening::new(self, envelope, facts, now, buffers, observer)?;
        let deciphering_keys = opening.authenticate()?;
        Ok(Authenticated {
            opening,
            deciphering_keys,
        })
    }

    /// [Authenticates](Self::authenticate) a message and opens it although no replay cache was
    /// asked: for measurements and tests. Behind a network it would let everybody who has a
    /// captured message try its cipher text again and again.
    ///
    /// # Errors
    /// As [`authenticate`](Self::authenticate) and [`Authenticated::open`].
    pub fn open_unmarked(
        &self,
        envelope: Envelope,
        facts: &Facts,
        now: Timestamp,
        buffers: &mut Buffers,
    ) -> Result<Opened, Rejected> {
        let mut nobody = ();
        let authenticated = self.authenticate(envelope, facts, now, buffers, &mut nobody)?;
        let first_seen = FirstSeen::assertion(authenticated.marks());
        authenticated.open(&first_seen, buffers)
    }

    /// Opens a message for an observer that listens, and goes on after a refusal as far as
    /// possible: for messages at rest. The verdict is that of
    /// [`open_unmarked`](Self::open_unmarked). Whoever may send messages to an explanation learns
    /// by its time what he can decipher.
    ///
    /// # Errors
    /// The first refusal. The observer has heard of the others.
    pub fn explain(
        &self,
        envelope: Envelope,
        facts: &Facts,
        now: Timestamp,
        buffers: &mut Buffers,
        observer: &mut dyn OperationObserver,
    ) -> Result<Opened, Rejected> {
        let mut opening = Opening::new(self, envelope, facts, now, buffers, observer)?;
        opening.observer.explains = true;
        opening.authenticate()?;
        opening.run(buffers)
    }
}

impl Opening<'_> {
    fn run(mut self: Box<Self>, buffers: &mut Buffers) -> Result<Opened, Rejected> {
        let known_marks = self.replay.marks.len();
        match self.process_header_and_compare(buffers) {
            Ok((blocks, passage)) => {
                self.keyring.keep_derived_keys(&self.message);
                let receipt = self.receipt();
                self.scratch.recycle(buffers);
                let has_security = self.message.demands().has_security;
                self.message.envelope.attachments = self
                    .attachments
                    .handed_out(&self.evidence, has_security)
                    .into();
                Ok(Opened {
                    inherits: self.message.demands().covers_inherited,
                    envelope: self.message.envelope,
                    evidence: self.evidence,
                    marks: self.replay.marks,
                    known_marks,
                    receipt: Box::new(receipt),
                    blocks: blocks.proven,
                    passed: blocks.in_order,
                    deciphered: self.plaintext.is_tried,
                    passage,
                })
            }
            // What was deciphered when it was refused is said in it.
            Err(rejected) if self.observer.explains => Err(rejected),
            Err(rejected) => Err(rejected.after(self.plaintext.is_tried)),
        }
    }

    /// Processes the header and compares what was proven with the plan; returns the header blocks
    /// to pass on, and how an intermediary passes the message on.
    fn process_header_and_compare(
        &mut self,
        buffers: &mut Buffers,
    ) -> Result<(PassedBlocks, Option<Passage>), Rejected> {
        let security = self.message.security;
        let sealed = self.sealed_as_cipher_text();
        let sealed = self.judge(sealed)?.unwrap_or_default();
        let first = security.and_then(|security| self.message.element(security).first_child());
        let mut next = first.map(|child| child.id());
        while let Some(node) = next {
            let outcome = self.process(node, buffers);
            self.judge_item(node, self.kind_of(node), outcome)?;
            // Asked anew each time: decryption may have put other elements in the place of this
            // one's followers.
            next = self.plaintext.after(self.message.document(), node);
        }
        let outcome = self.judge_deciphered_keys();
        self.judge(outcome)?;
        let outcome = self.comparison().compare();
        self.judge(outcome)?;
        self.mark_what_was_hidden();
        let blocks = self.comparison().blocks_to_pass_on();
        self.observer.ended(Operation::Other);
        let blocks = self.judge(blocks)?;
        let passage = self.passage(&sealed);
        let passage = self.judge(passage)?;
        match self.refusals.first.take() {
            Some(refused) => Err(refused),
            None => Ok((blocks.unwrap_or_default(), passage.flatten())),
        }
    }

    fn process(&mut self, node: NodeId, buffers: &mut Buffers) -> Result<(), Rejected> {
        let kind = self.kind_of(node);
        if self.is_hidden_assertion(node, kind) {
            self.observer.ended(Operation::Other);
            return self.process_hidden_assertion(node, buffers);
        }
        match kind {
            ItemKind::EncryptedKey => {
                self.observer.ended(Operation::Other);
                let processed = self.process_encrypted_key(node, buffers);
                self.observer.ended(Operation::Encryption);
                processed
            }
            ItemKind::ReferenceList => {
                self.observer.ended(Operation::Other);
                let processed = self.process_reference_list(node, buffers);
                self.observer.ended(Operation::Encryption);
                processed
            }
            ItemKind::Signature if self.refusals.contains(node) => Ok(()),
            ItemKind::Signature => self.process_signature(node),
            // The others were read before anything was deciphered. What a key lists of attachments
            // is deciphered with that key.
            kind if kind == ItemKind::EncryptedData || self.plaintext.origin(node).is_some() => {
                self.read_item(node, kind)
            }
            _ => Ok(()),
        }
    }

    /// What a replay of this message would repeat, beside what was known before anything was
    /// deciphered: signatures that cipher text held, or cipher text that it held where the key is
    /// one that both sides hold.
    fn mark_what_was_hidden(&mut self) {
        let (demand, now) = (self.message.demands().timestamp, self.message.now);
        let until = |life| marks::until(demand, life, now);
        let by_life = until(self.evidence.freshness);
        let timestamp = self.evidence.timestamp;
        let comparison = self.comparison();
        let is_signed = |timestamp: NodeId| comparison.signing_steps(timestamp).next().is_some();
        let end = match timestamp.is_some_and(is_signed) {
            true => (by_life, End::Proven),
            // Nobody proves when it ends: it may come again with another life.
            false => (by_life.max(until(None)), End::Counted),
        };
        self.replay.mark_rest(end);
    }

    /// The session of the message's Kerberos token, for its answer.
    fn kerberos_session(&mut self) -> Option<KerberosSession> {
        let shown = self.evidence.kerberos.as_ref();
        let shown = shown.and(self.message.facts.kerberos.clone());
        let session = self.keyring.kerberos.take().or(shown);
        session.map(KerberosSession::of_answers)
    }

    /// The proof key that the message was secured with, for its answer.
    fn proof_key(&mut self) -> Option<ProofKey> {
        self.keyring.proof.take().and_then(Proof::of_answers)
    }

    fn receipt(&mut self) -> Receipt {
        let senders_key = self.keyring.senders_key(&self.evidence);
        let signatures = self.evidence.signatures.iter_mut();
        let values = signatures.map(|signature| std::mem::take(&mut signature.value));
        let signature_values = values.collect();
        let kerberos = self.kerberos_session();
        self.evidence.kerberos_end = kerberos.as_ref().map(|it| it.expires);
        let holder = self.evidence.holder();
        Receipt {
            signer: self.evidence.signer().or(holder).cloned(),
            session_keys: senders_key
                .into_iter()
                .map(|session| (session.sha1, session.key))
                .collect(),
            signature_values,
            signs_session_key: false,
            user: self.keyring.user.take(),
            context: self.keyring.context.take(),
            kerberos,
            proof: self.proof_key(),
            held: self.evidence.held(),
            operations: Vec::new(),
            marks: Vec::new(),
            relation: None,
        }
    }
}
