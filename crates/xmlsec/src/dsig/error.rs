//! Why a signature is not accepted.
//!
//! The one rule: each refusal carries the value that caused it, so that the message alone tells an
//! operator what to change.

use std::fmt;

use soapstone_crypto::CryptoError;
use soapstone_xml::C14nError;

use crate::structure::StructureError;

/// Why a signature, or one of its references, is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignatureError {
    /// The `ds:Signature` does not have the content that XML-DSig 4.1 gives it.
    Structure(StructureError),
    /// An algorithm URI that is not known, or has another role.
    UnknownAlgorithm {
        /// The element that names it: `CanonicalizationMethod`, `SignatureMethod`, `DigestMethod`.
        element: &'static str,
        /// The URI found.
        uri: String,
    },
    /// A transform that the caller's [`Rules`](super::Rules) do not admit.
    TransformRefused {
        /// The transform's URI.
        uri: String,
    },
    /// Transforms in an order that this verifier does not execute, such as two canonicalizations in
    /// a row.
    TransformOrder {
        /// The transform that may not stand where it stands.
        uri: String,
    },
    /// More of something than the caller's [`Rules`](super::Rules) allow.
    TooMany {
        /// What there is too much of: `ds:Reference`, `ds:Transform`, …
        what: &'static str,
        /// The largest number allowed.
        limit: usize,
    },
    /// The reference names something outside this document.
    ExternalReference {
        /// The `URI` attribute.
        uri: String,
    },
    /// The reference has no `URI` attribute, so that only the application could know what it refers
    /// to.
    NoUri,
    /// No element has the id that the reference names.
    NotFound {
        /// The id.
        id: String,
    },
    /// Several elements have the id that the reference names.
    DuplicateId {
        /// The id.
        id: String,
    },
    /// A digest, a signature value or a length that is not what its type demands.
    Malformed {
        /// The element that holds it.
        element: &'static str,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// What the reference names is not what was signed (XML-DSig 3.2.1).
    DigestMismatch {
        /// The `URI` attribute of the reference.
        uri: String,
        /// The digest in the signature, base64.
        expected: String,
        /// The digest of what was found, base64.
        found: String,
    },
    /// The signature value does not belong to this `SignedInfo` and this key (XML-DSig 3.2.2).
    ValueMismatch {
        /// Short name of the signature method.
        algorithm: &'static str,
    },
    /// The key is not one for the method, or is refused (too short, truncated too far:
    /// CVE-2009-0217).
    Crypto(CryptoError),
    /// An HMAC output cut shorter than the caller's [`Rules`](super::Rules) allow.
    HmacLength {
        /// `ds:HMACOutputLength`, in bits.
        bits: u32,
        /// The shortest accepted, in bits.
        minimum: u32,
    },
    /// The transform that the caller supplies failed.
    Extension {
        /// The transform's URI.
        uri: String,
        /// What the caller said.
        reason: String,
    },
    /// Canonicalization is not possible.
    Canonicalization(C14nError),
}

impl fmt::Display for SignatureError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Structure(error) => error.fmt(formatter),
            Self::UnknownAlgorithm { element, uri } => {
                write!(formatter, "unknown algorithm in `ds:{element}`: {uri}")
            }
            Self::TransformRefused { uri } => write!(formatter, "transform not allowed: {uri}"),
            Self::TransformOrder { uri } => {
                write!(formatter, "transform not possible at its place: {uri}")
            }
            Self::TooMany { what, limit } => write!(formatter, "more than {limit} `{what}`"),
            Self::ExternalReference { uri } => write!(
                formatter,
                "reference to something outside the message: {uri}"
            ),
            Self::NoUri => write!(formatter, "a `ds:Reference` without `URI`"),
            Self::NotFound { id } => write!(formatter, "no element has the id {id}"),
            Self::DuplicateId { id } => write!(formatter, "several elements have the id {id}"),
            Self::Malformed { element, reason } => write!(formatter, "`ds:{element}`: {reason}"),
            Self::DigestMismatch {
                uri,
                expected,
                found,
            } => {
                write!(
                    formatter,
                    "digest of reference `{uri}`: expected {expected}, found {found}"
                )
            }
            Self::ValueMismatch { algorithm } => write!(
                formatter,
                "the signature value does not verify ({algorithm})"
            ),
            Self::Crypto(error) => error.fmt(formatter),
            Self::HmacLength { bits, minimum } => {
                write!(formatter, "HMAC output of {bits} bits (at least {minimum})")
            }
            Self::Extension { uri, reason } => write!(formatter, "transform {uri}: {reason}"),
            Self::Canonicalization(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for SignatureError {}

impl From<StructureError> for SignatureError {
    fn from(error: StructureError) -> Self {
        Self::Structure(error)
    }
}

impl From<C14nError> for SignatureError {
    fn from(error: C14nError) -> Self {
        Self::Canonicalization(error)
    }
}

impl From<CryptoError> for SignatureError {
    fn from(error: CryptoError) -> Self {
        Self::Crypto(error)
    }
}
