//! The content of header items, read for people and rules: without a plan, and without a verdict.
//!
//! The one rule: opening reads an item with the same functions, in its own order. What is said here
//! of an item is what a receiver reads there.

use std::ops::Range;

use soapstone_xml::NodeId;
use soapstone_xmlsec::dsig::Signature;
use soapstone_xmlsec::enc::{EncryptedData, EncryptedKey, ReferenceList};

use super::{HeaderItem, ItemKind, SecurityHeader};
use crate::confirmation;
use crate::envelope::{Envelope, expanded_name};
use crate::freshness::Life;
use crate::key_locator::KeyLocator;
use crate::limits::SecurityLimits;
use crate::rejected::Rejected;
use crate::token::{Claim, HiddenAssertion};

/// What an item says.
#[derive(Debug)]
#[non_exhaustive]
pub enum Content {
    /// A wrapped key.
    EncryptedKey(EncryptedKey),
    /// Cipher text.
    EncryptedData(EncryptedData),
    /// A list of cipher text apart from its keys.
    ReferenceList(ReferenceList),
    /// A signature. Its references are not followed.
    Signature(Signature),
    /// The life that the message claims.
    Timestamp(Life),
    /// A confirmed signature value; `None` where the request had no signature.
    Confirmation(Option<Vec<u8>>),
    /// Which token a reference means.
    Reference(KeyLocator),
    /// What a token says.
    Token(Vec<Claim>),
}

/// Something that a receiver may refuse the message for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The element.
    pub node: NodeId,
    /// Where the element stands in the source of the message.
    pub range: Range<u32>,
    /// The refusal of a receiver that minds.
    pub reason: Rejected,
}

impl HeaderItem {
    /// Reads the content, within the limits.
    ///
    /// # Errors
    /// The first thing that a receiver cannot read in it.
    pub fn content(
        &self,
        envelope: &Envelope,
        limits: &SecurityLimits,
    ) -> Result<Content, Rejected> {
        let document = envelope.document();
        let element = document.element(self.node);
        Ok(match self.kind {
            ItemKind::EncryptedKey => {
                let key = EncryptedKey::parse(document, self.node, limits.references)?;
                Content::EncryptedKey(key)
            }
            ItemKind::EncryptedData | ItemKind::AttachmentData => {
                Content::EncryptedData(EncryptedData::parse(document, self.node)?)
            }
            ItemKind::EncryptedAssertion => {
                Content::EncryptedData(HiddenAssertion::read(element)?.data)
            }
            ItemKind::ReferenceList => {
                Content::ReferenceList(ReferenceList::parse(element, limits.references)?)
            }
            ItemKind::Signature => {
                let rules = limits.signature_rules();
                Content::Signature(Signature::parse(document, self.node, &rules)?)
            }
            ItemKind::Timestamp => Content::Timestamp(Life::read(element)?),
            ItemKind::Confirmation => Content::Confirmation(confirmation::read(element)?),
            ItemKind::TokenReference => Content::Reference(KeyLocator::read_reference(element)?),
            ItemKind::Token(kind) => Content::Token(kind.claims(element)?),
            ItemKind::Unknown => {
                return Err(Rejected::ElementUnexpected {
                    element: expanded_name(element),
                });
            }
        })
    }
}

impl SecurityHeader {
    /// Everything about the header that receivers may refuse, in its order.
    pub fn findings(&self, envelope: &Envelope, limits: &SecurityLimits) -> Vec<Finding> {
        let mut findings = Vec::new();
        for (place, item) in self.items.iter().enumerate() {
            let mut found = |reason| {
                findings.push(Finding {
                    node: item.node,
                    range: item.range.clone(),
                    reason,
                });
            };
            let before = &self.items[..place];
            if let Some(reason) = item.repeats(before) {
                found(reason);
            }
            let content = item.content(envelope, limits);
            let references = content.as_ref().ok().into_iter();
            for reason in references.flat_map(|content| unreadable_references(content, envelope)) {
                found(reason);
            }
            if let Err(reason) = content {
                found(reason);
            }
        }
        findings
    }
}

impl HeaderItem {
    /// The refusal of an item that a header has once, where one stands in front of it.
    fn repeats(&self, before: &[Self]) -> Option<Rejected> {
        if !before.iter().any(|other| other.kind == self.kind) {
            return None;
        }
        match self.kind {
            ItemKind::Timestamp => Some(Rejected::TimestampDuplicated),
            ItemKind::EncryptedAssertion => Some(Rejected::TooMany {
                what: "`saml:EncryptedAssertion`",
                limit: 1,
            }),
            ItemKind::Token(kind) => kind.repeated(),
            _ => None,
        }
    }
}

/// What an item refers to and cannot be read as a reference, or is not in the message.
fn unreadable_references(content: &Content, envelope: &Envelope) -> Vec<Rejected> {
    let document = envelope.document();
    let key = |info: Option<NodeId>| {
        let info = info.map(|info| document.element(info));
        info.and_then(|info| KeyLocator::read(info).err())
    };
    match content {
        Content::Signature(signature) => {
            let references = signature.references.iter();
            let lost = references.filter_map(|one| one.target(document).err());
            let lost = lost.map(Rejected::from);
            lost.chain(key(signature.key_info)).collect()
        }
        Content::EncryptedData(data) => key(data.key_info).into_iter().collect(),
        // The reference of a key that was agreed on stands in its agreement.
        _ => Vec::new(),
    }
}
