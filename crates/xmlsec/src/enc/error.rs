//! Why something encrypted is not opened.
//!
//! The one rule: whatever fails once a secret is in play (unwrapping, padding, tag, the shape of
//! the plaintext) is [`EncryptionError::Failed`], without a cause, so that no answer can serve as
//! an oracle. A private key that is unavailable is told apart: that depends on no message.

use std::fmt;

use soapstone_crypto::EstablishmentError;

use crate::structure::StructureError;

/// Why something encrypted is refused or cannot be opened.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EncryptionError {
    /// The element does not have the content that XML-Enc 3 gives it.
    Structure(StructureError),
    /// An algorithm URI that is not known, or has another role.
    UnknownAlgorithm {
        /// The element that names it: `EncryptionMethod`, `DigestMethod`, `MGF`, …
        element: &'static str,
        /// The URI found.
        uri: String,
    },
    /// No `xenc:EncryptionMethod`, and nothing else says how the data is encrypted.
    NoMethod,
    /// More of something than the caller allows.
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// The largest number allowed.
        limit: usize,
    },
    /// The ciphertext is elsewhere (`xenc:CipherReference`) and this caller does not fetch.
    CipherReference {
        /// The `URI` attribute.
        uri: String,
    },
    /// A value that is not what its type demands: base64, a number.
    Malformed {
        /// The element that holds it.
        element: &'static str,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The plaintext is not XML content or an element, so that it cannot take the place of the
    /// ciphertext.
    NotXml {
        /// The `Type` attribute.
        kind: Option<String>,
    },
    /// The key that the caller offers is not one for this algorithm.
    WrongKey {
        /// Short name of the algorithm.
        algorithm: &'static str,
    },
    /// The private key is held elsewhere, and cannot be used. This depends on no message.
    KeyUnavailable {
        /// The holder, the key, and what is wrong, for the operator.
        reason: String,
    },
    /// Decryption failed. One error for every cause.
    Failed,
}

impl fmt::Display for EncryptionError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Structure(error) => error.fmt(formatter),
            Self::UnknownAlgorithm { element, uri } => {
                write!(formatter, "unknown algorithm in `{element}`: {uri}")
            }
            Self::NoMethod => write!(formatter, "no `xenc:EncryptionMethod`"),
            Self::TooMany { what, limit } => write!(formatter, "more than {limit} `{what}`"),
            Self::CipherReference { uri } => {
                write!(formatter, "ciphertext by reference is not allowed: {uri}")
            }
            Self::Malformed { element, reason } => write!(formatter, "`{element}`: {reason}"),
            Self::NotXml { kind: Some(kind) } => write!(
                formatter,
                "expected encrypted XML (`xenc:Element` or `xenc:Content`), found type {kind}"
            ),
            Self::NotXml { kind: None } => write!(
                formatter,
                "expected encrypted XML (`xenc:Element` or `xenc:Content`), found no `Type`"
            ),
            Self::WrongKey { algorithm } => write!(formatter, "the key is not one for {algorithm}"),
            Self::KeyUnavailable { reason } => {
                write!(formatter, "the private key cannot be used: {reason}")
            }
            Self::Failed => write!(formatter, "decryption failed"),
        }
    }
}

impl std::error::Error for EncryptionError {}

impl From<EstablishmentError> for EncryptionError {
    fn from(error: EstablishmentError) -> Self {
        match error {
            EstablishmentError::Unavailable { reason } => Self::KeyUnavailable { reason },
            _ => Self::Failed,
        }
    }
}

impl From<StructureError> for EncryptionError {
    fn from(error: StructureError) -> Self {
        Self::Structure(error)
    }
}
