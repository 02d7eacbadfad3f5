//! What can go wrong here, told as values.
//!
//! Errors about keys and configuration say what was expected and what was found. A failure to
//! decrypt says nothing at all: [`DecryptFailed`] has no fields, so that no caller can pass on the
//! reason by mistake.

use std::fmt;

use crate::key::KeyKind;

/// A ciphertext, wrapped key, padding or authentication tag did not come out right.
///
/// There is one value for every cause, because the difference between causes is what padding
/// oracles are made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecryptFailed;

impl fmt::Display for DecryptFailed {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("decryption failed")
    }
}

impl std::error::Error for DecryptFailed {}

/// Why a message establishes no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EstablishmentError {
    /// The private key is elsewhere and cannot be used. This depends on no message.
    Unavailable {
        /// The holder, the key, and what is wrong, for the operator.
        reason: String,
    },
    /// Whatever else: one failure.
    Failed,
}

impl fmt::Display for EstablishmentError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable { reason } => formatter.write_str(reason),
            Self::Failed => DecryptFailed.fmt(formatter),
        }
    }
}

impl std::error::Error for EstablishmentError {}

impl From<DecryptFailed> for EstablishmentError {
    fn from(_: DecryptFailed) -> Self {
        Self::Failed
    }
}

/// Why a key, a certificate or an operation with them was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CryptoError {
    /// The signature or message authentication code does not belong to this message and key.
    BadSignature,
    /// The operation needs another kind of key.
    WrongKey {
        /// The algorithm or operation that was asked for.
        operation: &'static str,
        /// The key that was given.
        key: KeyKind,
    },
    /// A shared key was given to an algorithm that needs a key pair, or the reverse.
    WrongFamily {
        /// The algorithm that was asked for.
        operation: &'static str,
        /// What it needs.
        expected: &'static str,
    },
    /// An RSA key is shorter or longer than accepted.
    RsaSize {
        /// Bits of the modulus found.
        bits: u32,
        /// Fewest bits accepted.
        minimum: u32,
        /// Most bits accepted.
        maximum: u32,
    },
    /// An RSA public exponent is even, less than 3 or longer than 33 bits.
    RsaExponent,
    /// A shared key has the wrong number of bytes.
    KeyLength {
        /// The algorithm it was meant for.
        algorithm: &'static str,
        /// Bytes the algorithm needs.
        expected: usize,
        /// Bytes found.
        found: usize,
    },
    /// A shared key without a single byte.
    EmptyKey,
    /// A message authentication code is cut shorter than is safe, or to a length that cannot be.
    MacLength {
        /// Bits asked for.
        bits: u32,
        /// Fewest bits accepted.
        minimum: u32,
        /// Most bits there are.
        maximum: u32,
    },
    /// The data is too long for the key to encrypt.
    TooLong {
        /// The algorithm that was asked for.
        operation: &'static str,
        /// Most bytes it takes with this key.
        maximum: usize,
        /// Bytes found.
        found: usize,
    },
    /// A shared key has enciphered as much as it may under this algorithm (see
    /// [`key::CipherUsage`](crate::key::CipherUsage)).
    KeyUsedUp {
        /// The algorithm.
        algorithm: &'static str,
        /// Most that it may encipher.
        limit: u64,
        /// Of what: messages, or blocks.
        unit: &'static str,
    },
    /// Something that had to be read is not what it should be.
    Malformed {
        /// What was expected.
        expected: &'static str,
        /// What stands there instead, or where reading stopped.
        found: String,
    },
    /// A well-formed thing that this crate has no implementation for.
    Unsupported {
        /// What it is.
        what: String,
    },
    /// The key or keystore is encrypted and no password was given.
    PasswordNeeded,
    /// The password does not open the key or keystore.
    WrongPassword,
    /// No entry of a keystore has this name.
    NoSuchEntry {
        /// The name asked for.
        alias: String,
        /// The names there are.
        available: Vec<String>,
    },
    /// The private key and the certificate do not belong together.
    KeyCertificateMismatch {
        /// Subject of the certificate.
        subject: String,
    },
    /// The private key is held elsewhere, and cannot be used now or for this.
    KeyUnavailable {
        /// The holder, the key, and what is wrong, for the operator.
        reason: String,
    },
    /// The cryptographic library refused an operation that should have worked.
    Library {
        /// The operation.
        operation: &'static str,
    },
}

impl fmt::Display for CryptoError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeyUsedUp {
                algorithm,
                limit,
                unit,
            } => write!(
                formatter,
                "the shared key has enciphered as much as it may with {algorithm} ({limit} {unit}): a new key is needed"
            ),
            Self::BadSignature => formatter.write_str("the signature does not match"),
            Self::WrongKey { operation, key } => {
                write!(
                    formatter,
                    "{operation} cannot be done with this key: found {key}"
                )
            }
            Self::WrongFamily {
                operation,
                expected,
            } => {
                write!(formatter, "{operation} needs {expected}")
            }
            Self::RsaSize {
                bits,
                minimum,
                maximum,
            } => write!(
                formatter,
                "expected an RSA key of {minimum} to {maximum} bits, found {bits}"
            ),
            Self::RsaExponent => formatter
                .write_str("expected an odd RSA public exponent from 3 to 33 bits, found another"),
            Self::KeyLength {
                algorithm,
                expected,
                found,
            } => write!(
                formatter,
                "{algorithm} needs a key of {expected} bytes, found {found}"
            ),
            Self::EmptyKey => formatter.write_str("the shared key is empty"),
            Self::MacLength {
                bits,
                minimum,
                maximum,
            } => write!(
                formatter,
                "expected a message authentication code of {minimum} to {maximum} bits in whole bytes, found {bits}"
            ),
            Self::TooLong {
                operation,
                maximum,
                found,
            } => write!(
                formatter,
                "{operation} takes at most {maximum} bytes with this key, found {found}"
            ),
            Self::Malformed { expected, found } => {
                write!(formatter, "expected {expected}, found {found}")
            }
            Self::Unsupported { what } => write!(formatter, "not supported: {what}"),
            Self::PasswordNeeded => {
                formatter.write_str("the key is encrypted and no password was given")
            }
            Self::WrongPassword => formatter.write_str("the password does not open the key"),
            Self::NoSuchEntry { alias, available } => write!(
                formatter,
                "the keystore has no entry `{alias}`; it has: {}",
                available.join(", ")
            ),
            Self::KeyCertificateMismatch { subject } => write!(
                formatter,
                "the private key does not belong to the certificate of `{subject}`"
            ),
            Self::KeyUnavailable { reason } => {
                write!(formatter, "the private key cannot be used: {reason}")
            }
            Self::Library { operation } => {
                write!(formatter, "the cryptographic library failed at {operation}")
            }
        }
    }
}

impl std::error::Error for CryptoError {}

/// Turns any library's error into [`CryptoError::Library`]. The library's own words are dropped:
/// they may quote what it was working on.
pub(crate) trait OrLibrary<T> {
    /// The value, or the error that the library failed at `operation`.
    fn or_library(self, operation: &'static str) -> Result<T, CryptoError>;
}

impl<T, E> OrLibrary<T> for Result<T, E> {
    fn or_library(self, operation: &'static str) -> Result<T, CryptoError> {
        self.map_err(|_| CryptoError::Library { operation })
    }
}
