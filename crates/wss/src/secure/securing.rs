//! One message being secured: the parts that change on the way.
//!
//! The one rule: each part has its own file. Here is only which parts there are.

use jiff::Timestamp;
use soapstone_crypto::NONCE_OCTETS;
use soapstone_crypto::random::Supply;
use soapstone_mime::Attachment;
use soapstone_xml::Buffers;

use super::changes::Changes;
use super::message::{ID_BYTES, Message, Outgoing};
use super::pieces::{Pieces, timestamp};
use super::prefix_lists::PrefixLists;
use super::ready_keys::Keys;
use super::scope::Declarations;
use crate::confirmation;
use crate::facts::Receipt;
use crate::freshness;
use crate::marks::{self, End};
use crate::operation::{Observer, Operation, OperationObserver};
use crate::plan::OutboundPlan;
use crate::token;

/// What a message mostly has of randomness that everybody sees: in its ids, in the nonces of two
/// derived keys or of a UsernameToken, and in the vectors of two parts.
const PUBLIC_RANDOMNESS: usize = ID_BYTES + 2 * 16 + 2 * NONCE_OCTETS;

/// One message being secured.
pub(super) struct Securing<'p> {
    pub(super) message: Message<'p>,
    pub(super) supply: Supply,
    pub(super) keys: Keys,
    pub(super) pieces: Pieces,
    /// What signatures list, where they do, once the message is being signed.
    pub(super) lists: Option<Box<PrefixLists<'p>>>,
    pub(super) changes: Changes,
    /// What travels beside the message.
    pub(super) attachments: Vec<Attachment>,
    /// Most bytes of that together, as it is and in canonical form.
    pub(super) attachment_bytes: usize,
    pub(super) receipt: Receipt,
    pub(super) observer: Observer<'p>,
}

impl<'p> Securing<'p> {
    /// Begins with the pieces that need no key.
    pub(super) fn new(
        plan: &'p OutboundPlan,
        outgoing: Outgoing<'p>,
        now: Timestamp,
        observer: &'p mut dyn OperationObserver,
    ) -> Self {
        let mut observer = Observer::new(observer);
        let mut supply = Supply::of(PUBLIC_RANDOMNESS);
        let message = Message::new(plan, outgoing, now, &mut supply);
        let mut pieces = Pieces::default();
        if !plan.protection.inclusive_prefixes.is_nothing() {
            pieces.declarations = Declarations::settled();
        }
        let shown = outgoing.clock.shown(now);
        if let Some(life) = plan.protection.timestamp {
            pieces.timestamp = timestamp(message.id(), shown, freshness::later(shown, life.ttl));
        }
        if let (true, Some(request)) = (plan.protection.confirms, outgoing.answers) {
            pieces.confirmations = confirmation::write(message.id(), &request.signature_values);
        }
        let wanted = plan.protection.username.as_ref();
        if let (Some(wanted), Some(user)) = (wanted, plan.keys.user.as_deref()) {
            observer.ended(Operation::Other);
            let id = message.named("user");
            token::write_username(user, wanted, &id, shown, &mut supply, &mut pieces.username);
            observer.ended(Operation::Username);
        }
        let mut receipt = Receipt::default();
        let assertion = message.assertion();
        if let Some(assertion) = assertion.filter(|_| plan.protection.carries_assertion) {
            receipt.held = assertion.held();
        }
        Self {
            message,
            supply,
            keys: Keys::default(),
            pieces,
            lists: None,
            changes: Changes::default(),
            attachments: Vec::new(),
            attachment_bytes: 0,
            receipt,
            observer,
        }
    }

    /// Remembers something that the receiver will know this message by.
    pub(super) fn mark(&mut self, key: [u8; 32]) {
        let protection = self.message.protection();
        let until = marks::until(protection.freshness, None, self.message.now);
        let end = match protection.timestamp {
            Some(_) => End::Proven,
            None => End::Counted,
        };
        self.receipt
            .marks
            .extend(marks::ending((until, end), [key]));
    }

    /// What the answer needs; the memory goes back.
    pub(super) fn finish(mut self, buffers: &mut Buffers) -> Receipt {
        self.receipt.signs_session_key = self.signs_keys();
        self.changes.edits.recycle(buffers);
        self.observer.ended(Operation::Other);
        self.receipt
    }
}
