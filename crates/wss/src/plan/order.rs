//! Which orders of header items a receiver can process.
//!
//! The rule kept here: a header is processed from its first item to its last (SOAP Message Security
//! 1.1.1, 5). What a later item needs stands before it.

use super::PlanProblem;
use super::protection::signs_by_holder;
use crate::binding::{KeyBinding, Layout, ProtectionOrder};
use crate::header_order::OrderedItem;
use crate::part::Part;
use crate::policy::Policy;

/// One item that stands before another one, and why.
type Rule = (bool, OrderedItem, OrderedItem, &'static str);

impl Policy {
    /// Whether messages that we make have an item in their header, if what it is for is in the
    /// message.
    pub fn writes_item(&self, item: OrderedItem) -> bool {
        let (signature, encryption) = (self.signature(), self.encryption());
        let by_certificate = KeyBinding::Certificate;
        match item {
            OrderedItem::Timestamp => self.header.timestamp.is_some_and(|one| one.sent),
            OrderedItem::Token => {
                let names_token = signature.is_some_and(|one| {
                    one.key == by_certificate && one.reference.has_token() && !signs_by_holder(self)
                });
                names_token || self.introduces_certificate()
            }
            OrderedItem::KeyToken => {
                encryption.is_some_and(|one| one.key == by_certificate && one.reference.has_token())
            }
            OrderedItem::Username => self.username().is_some(),
            OrderedItem::Assertion => self.assertion().is_some(),
            OrderedItem::Key => encryption.is_some(),
            OrderedItem::Signature => signature.is_some(),
        }
    }

    /// Everything that is wrong with the order that messages are written in.
    pub(super) fn wrong_order(&self) -> Vec<PlanProblem> {
        let signs_late = self.order() == ProtectionOrder::EncryptBeforeSigning;
        if signs_late && self.encrypts(&Part::Assertion) && self.is_signed_by_holder() {
            // We make one key for all cipher text, and no order of the three can be processed.
            return vec![PlanProblem::Combination {
                problem: "an assertion whose holder signs is deciphered before his signature is verified: it is signed before it is encrypted",
            }];
        }
        let order = self.header.order.as_slice();
        if order.is_empty() {
            return Vec::new();
        }
        let unfit = |problem| vec![PlanProblem::HeaderOrderUnfit { problem }];
        if self.has_keys_of_keys() {
            return unfit(
                "`header_order` is for signatures and session keys by certificates and shared keys: other keys have their own order",
            );
        }
        let repeated = order
            .iter()
            .enumerate()
            .filter(|(place, item)| order[..*place].contains(item));
        let repeated = repeated.map(|(_, item)| PlanProblem::ItemRepeated { item: *item });
        // Operations share an order, and not all of them have all of its items.
        let written = order.iter().filter(|item| self.writes_item(**item));
        let written: Vec<OrderedItem> = written.copied().collect();
        let timestamp = OrderedItem::Timestamp;
        if self.header.layout == Layout::LaxTimestampLast && written.contains(&timestamp) {
            return unfit(
                "the layout has the Timestamp last, where it stands if `header_order` does not name it",
            );
        }
        let broken = self.rules(&written).into_iter().filter(|rule| {
            let (applies, first, second, _) = *rule;
            let has_both = self.writes_item(first) && self.writes_item(second);
            applies && has_both && first.rank(&written) > second.rank(&written)
        });
        let broken = broken.map(|(_, first, second, reason)| PlanProblem::HeaderOrder {
            first,
            second,
            reason,
        });
        repeated.chain(broken).collect()
    }

    fn rules(&self, order: &[OrderedItem]) -> Vec<Rule> {
        use OrderedItem::{Assertion, Key, KeyToken, Signature, Timestamp, Token, Username};
        let signs_first = self.order() == ProtectionOrder::SignBeforeEncrypting;
        let strict = self.header.layout == Layout::Strict;
        let at_front = self.header.layout == Layout::LaxTimestampFirst;
        // Of the two kinds of cipher text, the message's key deciphers one.
        let by_message = self.encrypts(&Part::Assertion);
        let by_itself = self.hides_assertion();
        let covered_inside = by_itself && self.signs(&Part::Assertion);
        let held_inside = (by_message || by_itself) && signs_by_holder(self);
        let covered_outside = by_message && !signs_first;
        let deciphers = "a key stands before what it deciphers";
        let uses = "the layout is strict: a token stands before what uses it";
        let mut rules = vec![
            (
                signs_first,
                Key,
                Signature,
                "the message is signed first, and what was done last stands first",
            ),
            (
                !signs_first,
                Signature,
                Key,
                "the message is encrypted first, and what was done last stands first",
            ),
            (
                self.encrypts(&Part::UsernameToken),
                Key,
                Username,
                deciphers,
            ),
            (by_message, Key, Assertion, deciphers),
            (
                covered_inside || held_inside,
                Assertion,
                Signature,
                "an assertion is deciphered before the signature that covers it, or that its holder makes, is verified",
            ),
            (strict, Token, Signature, uses),
            (strict, KeyToken, Key, uses),
            (strict && !covered_outside, Assertion, Signature, uses),
        ];
        let first = order.iter().find(|item| **item != Timestamp);
        rules.extend(first.map(|first| {
            let reason = "the layout has the Timestamp first";
            (at_front, Timestamp, *first, reason)
        }));
        rules
    }

    /// Whether the header has items whose order follows from how keys come from each other: derived
    /// keys, session keys that sign, contexts, endorsements, and a signature whose cipher text has
    /// a list of its own.
    fn has_keys_of_keys(&self) -> bool {
        let plain = |key: KeyBinding| matches!(key, KeyBinding::Certificate | KeyBinding::Shared);
        let keys = [
            self.signature().map(|one| one.key),
            self.encryption().map(|one| one.key),
        ];
        let hides_signature = self.order() == ProtectionOrder::EncryptBeforeSigning
            && self.encrypts(&Part::Signature);
        !keys.into_iter().flatten().all(plain)
            || self.derived_keys().is_some()
            || self.kerberos().is_some()
            || self.endorsing_beside().next().is_some()
            || hides_signature
    }
}
