//! Why key information cannot be read.

use std::fmt;

use soapstone_crypto::CryptoError;

use crate::structure::StructureError;

/// Why a child of a `ds:KeyInfo` cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyInfoError {
    /// The element does not have the content that its specification gives it.
    Structure(StructureError),
    /// More of something than the caller allows.
    TooMany {
        /// What there is too much of.
        what: &'static str,
        /// The largest number allowed.
        limit: usize,
    },
    /// A value that is not what its type demands.
    Malformed {
        /// The element or attribute that holds it.
        element: &'static str,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// An algorithm URI that is not known, or has another role.
    UnknownAlgorithm {
        /// The element that names it.
        element: &'static str,
        /// The URI found.
        uri: String,
    },
    /// A curve that is not known.
    UnknownCurve {
        /// The URI found.
        uri: String,
    },
    /// The key or certificate itself is not acceptable.
    Crypto(CryptoError),
}

impl fmt::Display for KeyInfoError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Structure(error) => error.fmt(formatter),
            Self::TooMany { what, limit } => write!(formatter, "more than {limit} `{what}`"),
            Self::Malformed { element, reason } => write!(formatter, "`{element}`: {reason}"),
            Self::UnknownAlgorithm { element, uri } => {
                write!(formatter, "unknown algorithm in `{element}`: {uri}")
            }
            Self::UnknownCurve { uri } => write!(formatter, "unknown elliptic curve: {uri}"),
            Self::Crypto(error) => error.fmt(formatter),
        }
    }
}

impl std::error::Error for KeyInfoError {}

impl From<StructureError> for KeyInfoError {
    fn from(error: StructureError) -> Self {
        Self::Structure(error)
    }
}

impl From<CryptoError> for KeyInfoError {
    fn from(error: CryptoError) -> Self {
        Self::Crypto(error)
    }
}
