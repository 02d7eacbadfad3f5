//! What was proven, as the plan asks for it: by part, by node, and by what holds the node.
//!
//! The one rule: nodes are asked for, by their places in the tree. Neither names nor ids decide.

use soapstone_crypto::Certificate;
use soapstone_xml::{Document, Element, NodeId};

use super::message::Message;
use super::opening::Opening;
use super::plaintext::Plaintext;
use crate::binding::ProtectionOrder;
use crate::evidence::{EncryptionEvidence, Evidence, SignatureEvidence};
use crate::header::ItemKind;
use crate::names::WSSE11;
use crate::operation::Observer;
use crate::part::{Extent, Part};
use crate::plan::Demands;
use crate::rejected::Rejected;

/// What was proven about a message, beside what the plan demands of it.
pub(super) struct Comparison<'a, 'p> {
    pub(super) message: &'a Message<'p>,
    pub(super) plaintext: &'a Plaintext,
    /// Tokens, each with an element of the header that uses it.
    pub(super) uses: &'a [(NodeId, NodeId)],
    pub(super) evidence: &'a mut Evidence,
    pub(super) observer: &'a mut Observer<'p>,
    /// The items of the header that an explanation went on after.
    pub(super) refused_items: &'a [(NodeId, ItemKind)],
    /// The first refusal, where the others are explained as well.
    pub(super) refused: Option<Rejected>,
}

impl<'p> Opening<'p> {
    /// What was proven until now.
    pub(super) fn comparison(&mut self) -> Comparison<'_, 'p> {
        Comparison {
            message: &self.message,
            plaintext: &self.plaintext,
            uses: self.keyring.uses(),
            evidence: &mut self.evidence,
            observer: &mut self.observer,
            refused_items: &self.refusals.items,
            refused: None,
        }
    }
}

impl<'a, 'p> Comparison<'a, 'p> {
    pub(super) fn demands(&self) -> &'p Demands {
        self.message.demands()
    }

    pub(super) fn document(&self) -> &'a Document {
        self.message.document()
    }

    /// The nodes of this message that a part means. None where the part is absent, which is for the
    /// required parts to judge.
    pub(super) fn nodes_of(&self, part: &Part) -> Vec<NodeId> {
        match part {
            Part::Body => vec![self.message.envelope.body().id()],
            Part::Timestamp => self.evidence.timestamp.into_iter().collect(),
            Part::UsernameToken => self.evidence.user_token.into_iter().collect(),
            Part::Assertion => {
                let assertion = self.evidence.assertion.iter();
                assertion.map(|one| one.node).collect()
            }
            Part::Signature => {
                let signatures = self.evidence.signatures.iter();
                signatures.map(|one| one.node).collect()
            }
            // One inside of the signature that it is for is as it is signed, or encrypted, together
            // with that.
            Part::Token => self.evidence.signing_tokens().collect(),
            Part::EndorsingToken => {
                let endorsements = self.evidence.endorsements();
                let tokens = endorsements.filter_map(|one| one.token);
                tokens.collect()
            }
            Part::SignatureConfirmation => {
                let confirmations = self.evidence.confirmations.iter();
                confirmations.map(|one| one.node).collect()
            }
            Part::Header { namespace, local } => self
                .header_blocks()
                .filter(|block| block.is(namespace, local))
                // The header that is read covers others of its name, and never itself.
                .filter(|block| Some(block.id()) != self.message.security)
                .map(|block| block.id())
                .collect(),
            Part::Id(id) => self.message.named(id).into_iter().collect(),
            Part::Path(path) => path.select(self.document()),
        }
    }

    /// Header blocks as the application sees them: what an `EncryptedHeader` held counts as the
    /// block (SOAP Message Security 1.1.1, 9.3).
    pub(super) fn header_blocks(&self) -> impl Iterator<Item = Element<'a>> {
        self.message
            .envelope
            .header()
            .into_iter()
            .flat_map(|header| header.children())
            .map(|block| {
                let inner = block
                    .is(WSSE11, "EncryptedHeader")
                    .then(|| block.first_child())
                    .flatten();
                inner
                    .filter(|inner| self.plaintext.origin(inner.id()).is_some())
                    .unwrap_or(block)
            })
    }

    /// The steps at which accepted signatures covered `node`: itself, or something that holds it.
    pub(super) fn signing_steps(&self, node: NodeId) -> impl Iterator<Item = u32> {
        self.evidence
            .message_signatures()
            .filter(move |signature| self.holders(node).any(|holder| signature.covers(holder)))
            .map(|signature| signature.step)
    }

    /// Whether the plan has an endorsing signature cover parts, and it covers `node`, and is of
    /// whoever made the message's: what somebody else endorses is not what the sender says.
    pub(super) fn is_endorsed_by_sender(&self, node: NodeId) -> bool {
        let sender = self.evidence.signer().map(Certificate::der);
        // Where nobody signs by name, neither does the context whose owner sends.
        let by_sender = |signature: &&SignatureEvidence| {
            signature.certificate().map(Certificate::der) == sender
        };
        self.demands().endorsements.cover_parts
            && self
                .evidence
                .endorsements()
                .filter(by_sender)
                .any(|signature| self.holders(node).any(|holder| signature.covers(holder)))
    }

    /// `node`, every element around it, and every `EncryptedData` in whose cipher text it was;
    /// `node` first.
    pub(super) fn holders(&self, node: NodeId) -> impl Iterator<Item = NodeId> + 'a {
        self.plaintext.holders(self.document(), node)
    }

    /// How `node` (or its content) was deciphered: by itself, or with something around it. Of
    /// several the first.
    pub(super) fn deciphering(&self, node: NodeId, extent: Extent) -> Option<&EncryptionEvidence> {
        let holders: Vec<NodeId> = self.holders(node).collect();
        let (itself, around) = holders.split_first()?;
        let encrypted = &self.evidence.encrypted;
        let enough = |found: Extent| extent == Extent::Content || found == Extent::Element;
        encrypted
            .iter()
            .find(|proof| proof.node == *itself && enough(proof.extent))
            .or_else(|| {
                encrypted.iter().find(|proof| {
                    around.contains(&proof.node) || around.contains(&proof.encrypted_data)
                })
            })
    }

    /// Whether the plan has plain text signed, and `node` was signed as cipher text: then nobody
    /// who has read it says so.
    pub(super) fn is_signed_unread(&self, node: NodeId) -> bool {
        self.demands().order == ProtectionOrder::SignBeforeEncrypting
            && self.is_signed_as_cipher(node)
    }

    /// Whether a signature is over cipher text that `node`, or something inside of it, was in.
    pub(super) fn is_signed_as_cipher(&self, node: NodeId) -> bool {
        self.plaintext.is_signed_as_cipher(self.document(), node)
    }
}
