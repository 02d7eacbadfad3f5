//! Which orders of header items a receiver can process.
//!
//! The rule kept here: a header is processed from its first item to its last (SOAP Message Security
//! 1.1.1, 5). What a later item needs stands before it.

use super::PlanProblem;
use crate::binding::{KeyBinding, KeyReference, Layout, ProtectionOrder};
use crate::header_order::OrderedItem;
use crate::part::Part;
use crate::policy::Policy;

/// One item that stands before another one, and why.
type Rule = (bool, OrderedItem, OrderedItem, &'static str);

impl Policy {
    /// Everything that is wrong with the order that messages are written in.
    pub(super) fn wrong_order(&self) -> Vec<PlanProblem> {
        let order = self.header.order.as_slice();
        if order.is_empty() {
            return Vec::new();
        }
        let combination = |problem| vec![PlanProblem::Combination { problem }];
        if self.has_keys_of_keys() {
            return combination(
                "`header_order` is for signatures and session keys by certificates and shared keys: other keys have their own order",
            );
        }
        let timestamp = OrderedItem::Timestamp;
        if self.header.layout == Layout::LaxTimestampLast && order.contains(&timestamp) {
            return combination(
                "the layout has the Timestamp last, where it stands if `header_order` does not name it",
            );
        }
        let repeated = order
            .iter()
            .enumerate()
            .filter(|(place, item)| order[..*place].contains(item));
        let repeated = repeated.map(|(_, item)| PlanProblem::ItemRepeated { item: *item });
        let rules = self.rules(order[0]);
        let broken = rules.into_iter().filter(|(applies, first, second, _)| {
            *applies && first.rank(order) > second.rank(order)
        });
        let broken = broken.map(|(_, first, second, reason)| PlanProblem::HeaderOrder {
            first,
            second,
            reason,
        });
        repeated.chain(broken).collect()
    }

    fn rules(&self, first: OrderedItem) -> [Rule; 8] {
        use OrderedItem::{Assertion, Key, KeyToken, Signature, Timestamp, Token, Username};
        let both = self.signature().is_some() && self.encryption().is_some();
        let signs_first = self.order() == ProtectionOrder::SignBeforeEncrypting;
        let strict = self.header.layout == Layout::Strict;
        let signature = self.signature().map(|one| one.reference);
        let signs_by_token = signature.is_some_and(KeyReference::has_token);
        let encryption = self.encryption().map(|one| one.reference);
        let wraps_by_token = encryption.is_some_and(KeyReference::has_token);
        let at_front = self.header.layout == Layout::LaxTimestampFirst && first != Timestamp;
        let deciphers = "a key stands before what it deciphers";
        let uses = "the layout is strict: a token stands before what uses it";
        [
            (
                both && signs_first,
                Key,
                Signature,
                "the message is signed first, and what was done last stands first",
            ),
            (
                both && !signs_first,
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
            (self.hides_assertion(), Key, Assertion, deciphers),
            (strict && signs_by_token, Token, Signature, uses),
            (strict && wraps_by_token, KeyToken, Key, uses),
            (
                strict && self.assertion().is_some(),
                Assertion,
                Signature,
                uses,
            ),
            (
                at_front,
                Timestamp,
                first,
                "the layout has the Timestamp first",
            ),
        ]
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
