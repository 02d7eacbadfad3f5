//! `ds:KeyInfo`: where a message says its key is to be found (XML-DSig 4.5, XML-Enc 5.8).
//!
//! Everything here is a hint. [`sources`] lists what a `ds:KeyInfo` holds; the types of this module
//! read each kind. Which of them may be followed, and whether what is found is trusted, is the
//! caller's decision.
//!
//! The one rule: reading a key from a message does not make it a key that anything verifies with.

mod derivation;
mod error;
mod key_value;
mod x509;

pub use derivation::{AgreementMethod, DerivedKey, KeyDerivationMethod};
pub use error::KeyInfoError;
pub use key_value::{KeyValue, der_encoded_key_value};
pub use x509::{IssuerSerial, X509Data, X509Digest};

use soapstone_xml::{Element, NodeId};

use crate::namespaces::{DSIG, DSIG11, XENC, XENC11};
use crate::structure::{owned_attribute, required_attribute, simple_content};

/// One child of a `ds:KeyInfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeySource {
    /// `ds:KeyName`: what the sender calls the key.
    KeyName(String),
    /// `ds:KeyValue`: the public key itself; see [`KeyValue`].
    KeyValue(NodeId),
    /// `dsig11:DEREncodedKeyValue`; see [`der_encoded_key_value`].
    DerEncodedKeyValue(NodeId),
    /// `ds:X509Data`; see [`X509Data`].
    X509Data(NodeId),
    /// `ds:RetrievalMethod`: key information elsewhere.
    RetrievalMethod {
        /// The element, which may hold `ds:Transforms`.
        node: NodeId,
        /// Where.
        uri: String,
        /// What is found there.
        kind: Option<String>,
    },
    /// `dsig11:KeyInfoReference`: another `ds:KeyInfo`.
    KeyInfoReference {
        /// Where.
        uri: String,
    },
    /// `xenc:EncryptedKey`; see [`EncryptedKey`](crate::enc::EncryptedKey).
    EncryptedKey(NodeId),
    /// `xenc11:DerivedKey`; see [`DerivedKey`].
    DerivedKey(NodeId),
    /// `xenc:AgreementMethod`; see [`AgreementMethod`].
    AgreementMethod(NodeId),
    /// Anything else, such as `wsse:SecurityTokenReference`.
    Other(NodeId),
}

/// The children of the `ds:KeyInfo` (or element of that type) `key_info`, at most `limit` of them.
///
/// # Errors
/// [`KeyInfoError::TooMany`], and [`KeyInfoError::Structure`] for children without the attributes
/// or the simple content they need.
pub fn sources(key_info: Element<'_>, limit: usize) -> Result<Vec<KeySource>, KeyInfoError> {
    let mut sources = Vec::new();
    for child in key_info.children() {
        if sources.len() == limit {
            return Err(KeyInfoError::TooMany {
                what: "child of ds:KeyInfo",
                limit,
            });
        }
        sources.push(source(child)?);
    }
    Ok(sources)
}

/// One child of a `ds:KeyInfo`.
///
/// # Errors
/// [`KeyInfoError::Structure`] when it lacks the attribute or the simple content that it needs.
pub fn source(child: Element<'_>) -> Result<KeySource, KeyInfoError> {
    let node = child.id();
    Ok(match (child.namespace(), child.local()) {
        (DSIG, "KeyName") => KeySource::KeyName(simple_content(child)?.trim().to_owned()),
        (DSIG, "KeyValue") => KeySource::KeyValue(node),
        (DSIG, "X509Data") => KeySource::X509Data(node),
        (DSIG, "RetrievalMethod") => KeySource::RetrievalMethod {
            node,
            uri: required_attribute(child, "URI", "a `URI` attribute")?.into_owned(),
            kind: owned_attribute(child, "Type"),
        },
        (DSIG11, "DEREncodedKeyValue") => KeySource::DerEncodedKeyValue(node),
        (DSIG11, "KeyInfoReference") => KeySource::KeyInfoReference {
            uri: required_attribute(child, "URI", "a `URI` attribute")?.into_owned(),
        },
        (XENC, "EncryptedKey") => KeySource::EncryptedKey(node),
        (XENC, "AgreementMethod") => KeySource::AgreementMethod(node),
        (XENC11, "DerivedKey") => KeySource::DerivedKey(node),
        _ => KeySource::Other(node),
    })
}
