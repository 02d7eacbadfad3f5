//! One message being opened: the parts that change on the way.
//!
//! The one rule: each part has its own file with what may be done to it. Here is only which parts
//! there are.

use jiff::Timestamp;
use soapstone_xml::{Buffers, NodeId};
use soapstone_xmlsec::dsig::Scratch;

use super::attachments::Attachments;
use super::authentic::Authentic;
use super::budget::Budget;
use super::cipher_text::KeyedData;
use super::keyring::Keyring;
use super::message::Message;
use super::plaintext::Plaintext;
use super::replay_keys::ReplayKeys;
use crate::envelope::Envelope;
use crate::evidence::Evidence;
use crate::facts::Facts;
use crate::header::{HeaderItem, ItemKind};
use crate::operation::{Observer, OperationObserver};
use crate::plan::InboundPlan;
use crate::rejected::Rejected;
use crate::tuning::Buffering;

/// One message being opened.
pub(super) struct Opening<'p> {
    pub(super) message: Message<'p>,
    /// The items of the header that were there when the message came, in their order.
    pub(super) items: Vec<HeaderItem>,
    pub(super) attachments: Attachments,
    pub(super) budget: Budget,
    pub(super) keyring: Keyring,
    /// Signatures whose turn has not come, and whose value verified.
    pub(super) authentic: Vec<Authentic>,
    pub(super) plaintext: Plaintext,
    /// Short cipher text that was deciphered with a session key of this message.
    pub(super) short_cipher_text: Vec<KeyedData>,
    /// Boxed, as it is handed on from step to step.
    pub(super) evidence: Box<Evidence>,
    pub(super) replay: ReplayKeys,
    pub(super) scratch: Scratch,
    pub(super) observer: Observer<'p>,
    /// The refusals that an explanation goes on after.
    pub(super) refusals: Refusals,
}

/// The refusals of a message that is explained.
#[derive(Default)]
pub(super) struct Refusals {
    /// The first one, which is the verdict.
    pub(super) first: Option<Rejected>,
    /// The items of the header that were refused, in the order of their refusals.
    pub(super) items: Vec<(NodeId, ItemKind)>,
}

impl Refusals {
    /// Whether an item was refused.
    pub(super) fn contains(&self, node: NodeId) -> bool {
        self.items.iter().any(|(item, _)| *item == node)
    }
}

impl<'p> Opening<'p> {
    pub(super) fn new(
        plan: &'p InboundPlan,
        envelope: Envelope,
        facts: &'p Facts,
        now: Timestamp,
        buffers: &mut Buffers,
        observer: &'p mut dyn OperationObserver,
    ) -> Result<Box<Self>, Rejected> {
        let tuning = &plan.demands.tuning;
        let mut scratch = Scratch::reusing(buffers);
        scratch.canonical_runs = tuning.canonical_runs;
        scratch.on_demand = tuning.on_demand;
        scratch.collects = tuning.buffering == Buffering::Buffered;
        let mut evidence: Box<Evidence> = Box::default();
        let mut envelope = envelope;
        let attachments = match envelope.attachments.is_empty() {
            true => Attachments::default(),
            false => Attachments::taken(&mut envelope, &mut evidence),
        };
        let message_bytes = envelope.document.bytes().len() + attachments.bytes();
        Ok(Box::new(Self {
            message: Message::new(plan, facts, now, envelope)?,
            items: Vec::new(),
            attachments,
            budget: Budget::new(plan.demands.limits, message_bytes),
            keyring: Keyring::default(),
            authentic: Vec::new(),
            plaintext: Plaintext::default(),
            short_cipher_text: Vec::new(),
            evidence,
            replay: ReplayKeys::default(),
            scratch,
            observer: Observer::new(observer),
            refusals: Refusals::default(),
        }))
    }

    /// The kind of a child of the header. That of one that was there when the message came is
    /// known: neither a name nor an attribute ever changes.
    pub(super) fn kind_of(&self, node: NodeId) -> ItemKind {
        match self.items.binary_search_by_key(&node, |item| item.node) {
            Ok(at) => self.items[at].kind,
            Err(_) => ItemKind::of(self.message.element(node)),
        }
    }

    /// Whether a child of the header was there when the message came.
    pub(super) fn was_in_the_clear(&self, node: NodeId) -> bool {
        let found = self.items.binary_search_by_key(&node, |item| item.node);
        found.is_ok()
    }

    /// Ends the opening with a refusal. For an explanation it goes on, and the first refusal is
    /// kept.
    pub(super) fn judge<T>(&mut self, outcome: Result<T, Rejected>) -> Result<Option<T>, Rejected> {
        match outcome {
            Ok(value) => Ok(Some(value)),
            Err(rejected) if self.observer.explains => {
                let rejected = rejected.after(self.plaintext.is_tried);
                self.refusals.first.get_or_insert(rejected);
                Ok(None)
            }
            Err(rejected) => Err(rejected),
        }
    }

    /// [Judges](Self::judge) an item of the header. An explanation keeps in mind which ones were
    /// refused: demands that rest on them are not judged.
    pub(super) fn judge_item<T>(
        &mut self,
        node: NodeId,
        kind: ItemKind,
        outcome: Result<T, Rejected>,
    ) -> Result<Option<T>, Rejected> {
        if outcome.is_err() && self.observer.explains {
            self.refusals.items.push((node, kind));
        }
        self.judge(outcome)
    }
}
