//! Demands that an explanation cannot judge, since an item of the header that they rest on was
//! refused before.
//!
//! The one rule: no verdict hangs on it. The refusal of the item is the verdict already.

use soapstone_xml::NodeId;

use super::comparison::Comparison;
use crate::binding::Layout;
use crate::event::{Demand, Event};
use crate::header::ItemKind;
use crate::names::{SAML20, XENC};
use crate::part::{EncryptedPart, Part};
use crate::rejected::Rejected;

impl Comparison<'_, '_> {
    /// Tells a listener how a demand compares.
    pub(super) fn tell_of_demand(&mut self, demand: Demand<'_>, refused: Option<&Rejected>) {
        let unjudged_for = match self.refused_items {
            [] => None,
            _ => self.unjudged_for(demand, refused),
        };
        self.observer
            .found(&self.message.envelope, || Event::Demand {
                demand,
                refused,
                unjudged_for,
            });
    }

    /// The first refused item that a demand rests on, where its own outcome says nothing.
    fn unjudged_for(&self, demand: Demand<'_>, refused: Option<&Rejected>) -> Option<NodeId> {
        let is_unmet = refused.is_some();
        match demand {
            // An item that was not deciphered is there, and nobody knows which.
            Demand::Timestamp if is_unmet => {
                self.refused_among(|kind| kind == ItemKind::Timestamp || self.is_hidden_by(kind))
            }
            Demand::Confirmation if is_unmet => {
                self.refused_among(|kind| kind == ItemKind::Confirmation || self.is_hidden_by(kind))
            }
            Demand::Username | Demand::Kerberos | Demand::Assertion if is_unmet => {
                // The holder of a key, or of a password, signs.
                let by_signature =
                    demand == Demand::Assertion || self.demands().password_keys.is_some();
                self.refused_among(|kind| {
                    is_token(kind)
                        || by_signature && kind == ItemKind::Signature
                        || self.is_hidden_by(kind)
                })
            }
            Demand::Required(part) if is_unmet => self.refused_among(|kind| match part {
                Part::Signature | Part::Token | Part::EndorsingToken => {
                    kind == ItemKind::Signature || self.is_hidden_by(kind)
                }
                Part::UsernameToken | Part::Assertion => is_token(kind) || is_cipher_text(kind),
                _ => is_cipher_text(kind),
            }),
            Demand::Signature | Demand::Endorsements | Demand::Signed(_) if is_unmet => {
                self.refused_among(|kind| kind == ItemKind::Signature || self.is_hidden_by(kind))
            }
            Demand::Encrypted(wanted) => match refused {
                Some(Rejected::WrongOrder { .. }) => {
                    self.refused_among(|kind| kind == ItemKind::Signature || is_cipher_text(kind))
                }
                _ => self.refused_among(|kind| {
                    is_cipher_text(kind) && self.may_be_cipher_text(wanted, is_unmet)
                }),
            },
            Demand::Attachments | Demand::HeaderBlocks if is_unmet => {
                self.refused_among(|kind| kind == ItemKind::Signature || is_cipher_text(kind))
            }
            Demand::EncryptedHeaders | Demand::Deciphered(_) if is_unmet => {
                self.refused_among(is_cipher_text)
            }
            // Nothing is in a wrong order or place where nothing was accepted.
            Demand::Order if self.demands().encryption.is_some() => {
                self.refused_among(|kind| kind == ItemKind::Signature || is_cipher_text(kind))
            }
            Demand::Layout if self.demands().layout == Layout::Strict && !is_unmet => {
                self.refused_among(|kind| kind == ItemKind::Signature || is_cipher_text(kind))
            }
            Demand::Places => {
                self.refused_among(|kind| kind == ItemKind::Signature || is_cipher_text(kind))
            }
            _ => None,
        }
    }

    fn refused_among(&self, rests_on: impl Fn(ItemKind) -> bool) -> Option<NodeId> {
        let mut refused = self.refused_items.iter();
        let found = refused.find(|(_, kind)| rests_on(*kind));
        found.map(|(node, _)| *node)
    }

    /// Whether cipher text that this item names or is may hide another item of the header.
    fn is_hidden_by(&self, kind: ItemKind) -> bool {
        let security = self.message.security;
        let items = security
            .into_iter()
            .flat_map(|it| self.document().element(it).children());
        let mut hidden = items.filter(|item| !item.is_replaced());
        is_cipher_text(kind)
            && hidden
                .any(|item| item.is(XENC, "EncryptedData") || item.is(SAML20, "EncryptedAssertion"))
    }

    /// Whether cipher text that was not deciphered stands where the plan has a part encrypted, or
    /// may be the part.
    fn may_be_cipher_text(&self, wanted: &EncryptedPart, is_unmet: bool) -> bool {
        let nodes = self.nodes_of(&wanted.part);
        let is_left = |node: NodeId| {
            let mut inside = self.document().element(node).descendants();
            inside.any(|it| it.is(XENC, "EncryptedData") && !it.is_replaced())
        };
        nodes.is_empty() || is_unmet && nodes.into_iter().any(is_left)
    }
}

/// Items that decipher, or are cipher text.
fn is_cipher_text(kind: ItemKind) -> bool {
    matches!(
        kind,
        ItemKind::EncryptedKey
            | ItemKind::EncryptedData
            | ItemKind::AttachmentData
            | ItemKind::EncryptedAssertion
            | ItemKind::ReferenceList
    )
}

fn is_token(kind: ItemKind) -> bool {
    matches!(kind, ItemKind::Token(_) | ItemKind::TokenReference)
}
