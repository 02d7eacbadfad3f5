//! `xenc:EncryptedData` and `xenc:EncryptedKey` as values (XML-Enc 3.1, 3.4 and 3.5).
//!
//! The one rule: both are read strictly and completely before any key is looked for; the ciphertext
//! of data stays where it is, in the message, until it is decrypted.

use soapstone_crypto::{DataEncryption, base64};
use soapstone_xml::{Document, Element, NodeId};

use super::error::EncryptionError;
use super::method::{KeyEncryption, parse_data_encryption};
use crate::namespaces::{DSIG, TYPE_CONTENT, TYPE_ELEMENT, XENC};
use crate::structure::{
    Children, StructureError, owned_attribute, required_attribute, simple_content,
};

/// What was encrypted (`Type`, XML-Enc 3.1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ContentType {
    /// One element, replaced by the `EncryptedData`.
    Element,
    /// The content of an element, replaced by the `EncryptedData`.
    Content,
    /// Something else, by URI (`Type` of attachments, for instance).
    Other(String),
    /// Not said: bytes.
    Unspecified,
}

/// Where the ciphertext is (`xenc:CipherData`, XML-Enc 3.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CipherData {
    /// In this `xenc:CipherValue`.
    Value(NodeId),
    /// Elsewhere: attachments of WS-Security, and the command line's generic decrypter.
    Reference {
        /// The `xenc:CipherReference`.
        node: NodeId,
        /// Its `URI`.
        uri: String,
        /// Its `xenc:Transforms`.
        transforms: Option<NodeId>,
    },
}

/// A parsed `xenc:EncryptedData`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EncryptedData {
    /// The element.
    pub node: NodeId,
    /// Its `Id`.
    pub id: Option<String>,
    /// What was encrypted.
    pub content_type: ContentType,
    /// `MimeType`: a hint.
    pub mime_type: Option<String>,
    /// `Encoding`: a hint.
    pub encoding: Option<String>,
    /// The algorithm.
    pub method: DataEncryption,
    /// The `ds:KeyInfo`, if any.
    pub key_info: Option<NodeId>,
    /// Where the ciphertext is.
    pub cipher: CipherData,
}

/// A parsed `xenc:EncryptedKey`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct EncryptedKey {
    /// The element.
    pub node: NodeId,
    /// Its `Id`.
    pub id: Option<String>,
    /// Its `Recipient`: a hint.
    pub recipient: Option<String>,
    /// The algorithm with its parameters.
    pub method: KeyEncryption,
    /// The `ds:KeyInfo` that says which key opens it, if any.
    pub key_info: Option<NodeId>,
    /// The encrypted key; its SHA-1 is what `EncryptedKeySHA1` references name.
    pub cipher_value: Vec<u8>,
    /// `xenc:DataReference` URIs of the reference list: what is encrypted with this key.
    pub data_references: Vec<String>,
    /// `xenc:KeyReference` URIs of the reference list: which keys are encrypted with this key.
    pub key_references: Vec<String>,
    /// `xenc:CarriedKeyName`: what others may call the key that is inside.
    pub carried_key_name: Option<String>,
}

/// The parts that both kinds share (`EncryptedType`, XML-Enc 3.1).
struct EncryptedType<'d> {
    method: Option<Element<'d>>,
    key_info: Option<NodeId>,
    cipher: CipherData,
}

impl<'d> EncryptedType<'d> {
    fn parse(children: &mut Children<'d>) -> Result<Self, EncryptionError> {
        let method = children.optional(XENC, "EncryptionMethod");
        let key_info = children
            .optional(DSIG, "KeyInfo")
            .map(|key_info| key_info.id());
        let data = children.required(XENC, "CipherData", "`xenc:CipherData`")?;
        let mut inside = Children::of(data);
        let cipher = if let Some(value) = inside.optional(XENC, "CipherValue") {
            CipherData::Value(value.id())
        } else {
            let reference = inside.required(
                XENC,
                "CipherReference",
                "`xenc:CipherValue` or `xenc:CipherReference`",
            )?;
            let uri = required_attribute(reference, "URI", "a `URI` attribute")?.into_owned();
            let mut parts = Children::of(reference);
            let transforms = parts
                .optional(XENC, "Transforms")
                .map(|transforms| transforms.id());
            parts.end("at most one `xenc:Transforms`")?;
            CipherData::Reference {
                node: reference.id(),
                uri,
                transforms,
            }
        };
        inside.end("exactly one child")?;
        // Encryption properties say nothing that decryption depends on.
        children.optional(XENC, "EncryptionProperties");
        Ok(Self {
            method,
            key_info,
            cipher,
        })
    }
}

impl EncryptedData {
    /// Reads the `xenc:EncryptedData` at `at`.
    ///
    /// # Errors
    /// [`EncryptionError::Structure`], [`UnknownAlgorithm`](EncryptionError::UnknownAlgorithm),
    /// [`NoMethod`](EncryptionError::NoMethod), [`Malformed`](EncryptionError::Malformed).
    pub fn parse(document: &Document, at: NodeId) -> Result<Self, EncryptionError> {
        let element = document.element(at);
        if !element.is(XENC, "EncryptedData") {
            return Err(StructureError::new(element, "`xenc:EncryptedData`", None).into());
        }
        let mut children = Children::of(element);
        let parts = EncryptedType::parse(&mut children)?;
        children.end("nothing after `xenc:CipherData` but `xenc:EncryptionProperties`")?;
        Ok(Self {
            node: at,
            id: owned_attribute(element, "Id"),
            content_type: content_type(element),
            mime_type: owned_attribute(element, "MimeType"),
            encoding: owned_attribute(element, "Encoding"),
            method: parse_data_encryption(parts.method.ok_or(EncryptionError::NoMethod)?)?,
            key_info: parts.key_info,
            cipher: parts.cipher,
        })
    }
}

impl EncryptedKey {
    /// Reads the `xenc:EncryptedKey` at `at`, with at most `references` entries in its reference
    /// list.
    ///
    /// # Errors
    /// As [`EncryptedData::parse`], [`EncryptionError::TooMany`], and
    /// [`EncryptionError::CipherReference`] when the key is not in the element itself.
    pub fn parse(
        document: &Document,
        at: NodeId,
        references: usize,
    ) -> Result<Self, EncryptionError> {
        let element = document.element(at);
        if !element.is(XENC, "EncryptedKey") {
            return Err(StructureError::new(element, "`xenc:EncryptedKey`", None).into());
        }
        let mut children = Children::of(element);
        let parts = EncryptedType::parse(&mut children)?;
        let list = match children.optional(XENC, "ReferenceList") {
            Some(list) => ReferenceList::parse(list, references)?,
            None => ReferenceList::default(),
        };
        let carried_key_name = match children.optional(XENC, "CarriedKeyName") {
            Some(name) => Some(simple_content(name)?.trim().to_owned()),
            None => None,
        };
        children.end("nothing after `xenc:ReferenceList` and `xenc:CarriedKeyName`")?;
        let cipher_value = match parts.cipher {
            CipherData::Value(value) => {
                let mut octets = Vec::new();
                base64::decode_xml(
                    simple_content(document.element(value))?.as_bytes(),
                    &mut octets,
                )
                .map_err(|_| EncryptionError::Malformed {
                    element: "xenc:CipherValue",
                    reason: "not base64",
                })?;
                octets
            }
            CipherData::Reference { uri, .. } => {
                return Err(EncryptionError::CipherReference { uri });
            }
        };
        Ok(Self {
            node: at,
            id: owned_attribute(element, "Id"),
            recipient: owned_attribute(element, "Recipient"),
            method: KeyEncryption::parse(parts.method.ok_or(EncryptionError::NoMethod)?)?,
            key_info: parts.key_info,
            cipher_value,
            data_references: list.data,
            key_references: list.keys,
            carried_key_name,
        })
    }
}

/// A `xenc:ReferenceList` (XML-Enc 3.6).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReferenceList {
    /// URIs of the `xenc:DataReference` elements.
    pub data: Vec<String>,
    /// URIs of the `xenc:KeyReference` elements.
    pub keys: Vec<String>,
}

impl ReferenceList {
    /// Reads a `xenc:ReferenceList` of at most `limit` entries.
    ///
    /// # Errors
    /// [`EncryptionError::Structure`], [`EncryptionError::TooMany`].
    pub fn parse(list: Element<'_>, limit: usize) -> Result<Self, EncryptionError> {
        let mut parsed = Self::default();
        let mut children = Children::of(list);
        while let Some(child) = children.any() {
            let entries = if child.is(XENC, "DataReference") {
                &mut parsed.data
            } else if child.is(XENC, "KeyReference") {
                &mut parsed.keys
            } else {
                let found = Some(child.qualified_name().to_owned());
                return Err(StructureError::new(
                    list,
                    "`xenc:DataReference` and `xenc:KeyReference` only",
                    found,
                )
                .into());
            };
            entries.push(required_attribute(child, "URI", "a `URI` attribute")?.into_owned());
            if parsed.data.len() + parsed.keys.len() > limit {
                return Err(EncryptionError::TooMany {
                    what: "xenc:DataReference",
                    limit,
                });
            }
        }
        Ok(parsed)
    }
}

fn content_type(element: Element<'_>) -> ContentType {
    match element.attribute("", "Type") {
        None => ContentType::Unspecified,
        Some(kind) if kind == TYPE_ELEMENT => ContentType::Element,
        Some(kind) if kind == TYPE_CONTENT => ContentType::Content,
        Some(kind) => ContentType::Other(kind.into_owned()),
    }
}
