//! What stands in a `wsse:Security` header: its items in their order, with their places, before any
//! key is touched.
//!
//! ```text
//! Envelope ─ SecurityHeader::read ─▶ items ─ opening takes them one by one, and refuses
//!                                          ─ findings: what receivers refuse, all of it
//! ```
//!
//! The one rule: reading judges nothing. It needs no plan and no key, and it does not end at the
//! first oddity. Who reads decides what an oddity means.

mod content;

use std::ops::Range;

use soapstone_xml::{Document, Element, NodeId};

pub use self::content::{Content, Finding};
use crate::envelope::Envelope;
use crate::names::{
    ATTACHMENT_COMPLETE, ATTACHMENT_CONTENT_ONLY, DS, SAML20, WSSE, WSSE11, WSU, XENC,
};
use crate::token::TokenKind;

/// A `wsse:Security` header block as it came.
#[derive(Clone, Debug)]
pub struct SecurityHeader {
    node: NodeId,
    items: Vec<HeaderItem>,
}

/// A child of the header.
#[derive(Clone, Debug)]
pub struct HeaderItem {
    /// The element.
    pub node: NodeId,
    /// Where it stands in the source of the message.
    pub range: Range<u32>,
    /// What it is.
    pub kind: ItemKind,
}

/// The kind of a header item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ItemKind {
    /// `xenc:EncryptedKey`.
    EncryptedKey,
    /// `xenc:EncryptedData`: another item in cipher text.
    EncryptedData,
    /// `xenc:EncryptedData` of an attachment (SwA Profile 1.1.1, 5.5).
    AttachmentData,
    /// `saml:EncryptedAssertion` (SAML Core 2.0, 2.3.4).
    EncryptedAssertion,
    /// `xenc:ReferenceList`.
    ReferenceList,
    /// `ds:Signature`.
    Signature,
    /// `wsu:Timestamp`.
    Timestamp,
    /// `wsse11:SignatureConfirmation`.
    Confirmation,
    /// `wsse:SecurityTokenReference`: for a signature to cover what it refers to.
    TokenReference,
    /// A token.
    Token(TokenKind),
    /// An element that WS-Security has no meaning for.
    Unknown,
}

impl ItemKind {
    /// The kind of a child of the header.
    pub fn of(element: Element<'_>) -> Self {
        match (element.local(), element.namespace()) {
            ("EncryptedKey", XENC) => Self::EncryptedKey,
            ("EncryptedData", XENC) if is_of_attachment(element) => Self::AttachmentData,
            ("EncryptedData", XENC) => Self::EncryptedData,
            ("EncryptedAssertion", SAML20) => Self::EncryptedAssertion,
            ("ReferenceList", XENC) => Self::ReferenceList,
            ("Signature", DS) => Self::Signature,
            ("Timestamp", WSU) => Self::Timestamp,
            ("SignatureConfirmation", WSSE11) => Self::Confirmation,
            ("SecurityTokenReference", WSSE) => Self::TokenReference,
            _ => TokenKind::of(element).map_or(Self::Unknown, Self::Token),
        }
    }
}

/// Whether an `xenc:EncryptedData` says that it is of an attachment.
fn is_of_attachment(data: Element<'_>) -> bool {
    let kind = data.attribute("", "Type");
    matches!(
        kind.as_deref(),
        Some(ATTACHMENT_CONTENT_ONLY | ATTACHMENT_COMPLETE)
    )
}

impl SecurityHeader {
    /// Reads a `wsse:Security` header block.
    pub fn read(security: Element<'_>) -> Self {
        let item = |child: Element<'_>| HeaderItem {
            node: child.id(),
            range: child.range(),
            kind: ItemKind::of(child),
        };
        Self {
            node: security.id(),
            items: security.children().map(item).collect(),
        }
    }

    /// Reads every `wsse:Security` header block of a message, whoever it is for.
    pub fn all(envelope: &Envelope) -> Vec<Self> {
        Self::in_document(envelope.document())
    }

    /// The same of a document that may be no envelope: the header is the first child of the root
    /// that is called `Header` and has the root's namespace.
    pub fn in_document(document: &Document) -> Vec<Self> {
        let root = document.root();
        let header = root.child(root.namespace(), "Header");
        let blocks = header.into_iter().flat_map(|header| header.children());
        let headers = blocks.filter(|block| block.is(WSSE, "Security"));
        headers.map(Self::read).collect()
    }

    /// The header block.
    pub fn node(&self) -> NodeId {
        self.node
    }

    /// The children of the header block, in their order.
    pub fn items(&self) -> &[HeaderItem] {
        &self.items
    }

    /// The children alone.
    pub(crate) fn into_items(self) -> Vec<HeaderItem> {
        self.items
    }

    /// Whether an item is of this kind.
    pub fn has(&self, kind: ItemKind) -> bool {
        self.items.iter().any(|item| item.kind == kind)
    }
}
