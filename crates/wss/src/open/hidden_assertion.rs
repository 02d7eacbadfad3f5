//! An assertion in cipher text of its own: read in the clear, and deciphered in its turn.
//!
//! The one rule: its key deciphers this cipher text, and does nothing else in the message. What
//! comes to light is one assertion, which is read as strictly as any other.

use std::sync::Arc;

use soapstone_xml::{Buffers, NodeId};

use super::algorithms::not_allowed;
use super::decrypt::DecryptionKey;
use super::keyring::{Hidden, unwrapped};
use super::opening::Opening;
use crate::envelope::expanded_name;
use crate::evidence::CipherKey;
use crate::header::ItemKind;
use crate::names::SAML20;
use crate::part::Part;
use crate::rejected::{AlgorithmUse, Rejected};
use crate::token::{HiddenAssertion, SamlVersion, TokenKind, holds_key, version_of};

impl Opening<'_> {
    /// Whether an item of the header is the assertion in cipher text of its own.
    pub(super) fn is_hidden_assertion(&self, item: NodeId, kind: ItemKind) -> bool {
        let element = self.message.element(item);
        self.message.demands().hides_assertion()
            && match kind {
                ItemKind::EncryptedAssertion => true,
                ItemKind::EncryptedData => holds_key(element),
                _ => false,
            }
    }

    /// Reads the cipher text of the assertion, and finds the private key of ours that it is for.
    /// Nothing is deciphered.
    pub(super) fn read_hidden_assertion(&mut self, item: NodeId) -> Result<(), Rejected> {
        self.budget.token()?;
        self.budget.encrypted_key()?;
        if self.keyring.hidden.is_some() {
            return Err(Rejected::TooMany {
                what: "`saml:EncryptedAssertion`",
                limit: 1,
            });
        }
        let assertion = HiddenAssertion::read(self.message.element(item))?;
        let allowed = &self.message.demands().suite.data;
        let method = assertion.data.method;
        if !allowed.contains(&method) {
            let names = allowed.iter().map(|one| one.short_name());
            return Err(not_allowed(AlgorithmUse::Data, method.uri(), names));
        }
        let plan = self.message.plan;
        let key = self.wrapped_key(assertion.key.clone(), &plan.unwrapping.assertions)?;
        self.keyring.hidden = Some(Hidden {
            assertion,
            key: Arc::new(key),
        });
        Ok(())
    }

    /// Deciphers the assertion, and judges it by itself.
    pub(super) fn process_hidden_assertion(
        &mut self,
        item: NodeId,
        buffers: &mut Buffers,
    ) -> Result<(), Rejected> {
        let unexpected = |opening: &Self| Rejected::ElementUnexpected {
            element: expanded_name(opening.message.element(item)),
        };
        // One that cipher text brought was not among the keys that failures are counted of.
        let Some(hidden) = self.keyring.hidden.take_if(|it| it.assertion.item == item) else {
            return Err(unexpected(self));
        };
        let data = &hidden.assertion.data;
        let key = DecryptionKey {
            key: unwrapped(&hidden.key, data.method.key_length())?,
            origin: CipherKey::Assertion,
        };
        let nodes = self.decrypt(data, &key, buffers)?;
        let [node] = nodes[..] else {
            return Err(not_one());
        };
        let found = self.message.element(node);
        // The element of SAML 2.0 holds assertions of that version.
        let is_held = self.message.element(item).is(SAML20, "EncryptedAssertion");
        let version = version_of(found).filter(|it| !is_held || *it == SamlVersion::V20);
        match TokenKind::of(found).filter(|_| version.is_some()) {
            Some(kind) => {
                self.keyring.came_hidden = Some(node);
                self.read_token(node, kind)
            }
            None => Err(not_one()),
        }
    }

    /// Refuses an assertion that anybody could read, where the plan has it hidden.
    pub(super) fn check_hidden(&self, node: NodeId) -> Result<(), Rejected> {
        let is_assertion = version_of(self.message.element(node)).is_some();
        let came_hidden = self.keyring.came_hidden == Some(node);
        match is_assertion && self.message.demands().hides_assertion() && !came_hidden {
            true => Err(Rejected::Unencrypted {
                part: Part::Assertion,
            }),
            false => Ok(()),
        }
    }
}

fn not_one() -> Rejected {
    Rejected::Malformed {
        element: "saml:EncryptedAssertion",
        problem: "expected one assertion in its plaintext".to_owned(),
    }
}
