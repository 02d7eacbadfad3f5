//! Why a generic operation does not succeed.
//!
//! The one rule: the command line's exit code follows from the variant:
//! [`GenericError::is_refusal`] tells a message that is refused from an operation that could not be
//! carried out.

use std::fmt;

use crate::dtd::DtdError;
use soapstone_crypto::CryptoError;
use soapstone_xml::ParseError;

use soapstone_xmlsec::dsig::SignatureError;
use soapstone_xmlsec::enc::EncryptionError;
use soapstone_xmlsec::keyinfo::KeyInfoError;

/// Why signing, verifying, encrypting or decrypting failed.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum GenericError {
    /// The document, or one that it references, is not well-formed or out of bounds.
    Parse(ParseError),
    /// Its DTD cannot be applied.
    Dtd(DtdError),
    /// The signature is refused.
    Signature(SignatureError),
    /// The encrypted element is refused or cannot be opened.
    Encryption(EncryptionError),
    /// Key information cannot be read.
    KeyInfo(KeyInfoError),
    /// A key or certificate is not acceptable.
    Crypto(CryptoError),
    /// No key of the caller's and none that the message may provide fits.
    KeyNotFound,
    /// A certificate in the message is not trusted.
    Untrusted {
        /// Its subject.
        subject: String,
        /// Why not.
        reason: String,
    },
    /// The document has no element of the kind that the operation works on.
    NoStartNode {
        /// What was looked for.
        expected: &'static str,
    },
    /// A URI that the options do not allow.
    UriNotEnabled {
        /// The URI.
        uri: String,
    },
    /// A URI for which the caller's resolver has nothing.
    Unresolved {
        /// The URI.
        uri: String,
    },
    /// An XPath or XPointer expression that cannot be evaluated.
    XPath {
        /// The expression.
        expression: String,
        /// Why not.
        reason: String,
    },
    /// A document with more nodes than XPath is evaluated over.
    TooLarge,
    /// XSLT, or a transform that is not known.
    TransformRefused {
        /// The transform's URI.
        uri: String,
    },
    /// Key information that refers to itself, or further than the bound.
    TooDeep {
        /// What is nested: `ds:RetrievalMethod`, `xenc:EncryptedKey`.
        what: &'static str,
    },
    /// A template lacks something that is to be filled in, or the caller gave nothing to fill in.
    Template {
        /// What is wrong.
        reason: &'static str,
    },
    /// A key file that is not one.
    KeysFile {
        /// What is wrong.
        reason: &'static str,
    },
}

impl GenericError {
    /// Whether the message itself is refused (exit code 2), and not the operation impossible (exit
    /// code 1).
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        matches!(
            self,
            Self::Signature(_)
                | Self::Encryption(_)
                | Self::KeyInfo(_)
                | Self::KeyNotFound
                | Self::Untrusted { .. }
                | Self::UriNotEnabled { .. }
                | Self::Unresolved { .. }
                | Self::TransformRefused { .. }
                | Self::TooDeep { .. }
                | Self::TooLarge
                | Self::XPath { .. }
                | Self::Parse(_)
                | Self::Dtd(_)
        )
    }
}

impl fmt::Display for GenericError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parse(error) => error.fmt(formatter),
            Self::Dtd(error) => error.fmt(formatter),
            Self::Signature(error) => error.fmt(formatter),
            Self::Encryption(error) => error.fmt(formatter),
            Self::KeyInfo(error) => error.fmt(formatter),
            Self::Crypto(error) => error.fmt(formatter),
            Self::KeyNotFound => formatter.write_str("no suitable key: neither the keys given nor the key information of the message lead to one"),
            Self::Untrusted { subject, reason } => write!(formatter, "certificate of `{subject}` is not trusted: {reason}"),
            Self::NoStartNode { expected } => write!(formatter, "the document has no {expected}"),
            Self::UriNotEnabled { uri } => write!(formatter, "reference not enabled: {uri}"),
            Self::Unresolved { uri } => write!(formatter, "nothing is known of {uri}"),
            Self::XPath { expression, reason } => write!(formatter, "expression `{expression}`: {reason}"),
            Self::TooLarge => formatter.write_str("too many nodes for XPath"),
            Self::TransformRefused { uri } => write!(formatter, "transform not supported: {uri}"),
            Self::TooDeep { what } => write!(formatter, "`{what}` refers to itself or too far"),
            Self::Template { reason } => write!(formatter, "template: {reason}"),
            Self::KeysFile { reason } => write!(formatter, "keys file: {reason}"),
        }
    }
}

impl std::error::Error for GenericError {}

macro_rules! from {
    ($($error:ident => $variant:ident),*) => {
        $(impl From<$error> for GenericError {
            fn from(error: $error) -> Self {
                Self::$variant(error)
            }
        })*
    };
}

from!(ParseError => Parse, DtdError => Dtd, SignatureError => Signature, EncryptionError => Encryption, KeyInfoError => KeyInfo,
    CryptoError => Crypto);
