//! Private keys that are held elsewhere: in a token, a card, a security module.
//!
//! [`ExternalKey`] is the interface to such a key. A [`PrivateKey`](super::PrivateKey) made of one
//! has the same operations as a key in this process; each may wait for the holder, up to a time
//! that the holder's side bounds.
//!
//! The rule kept here: an answer tells [unavailable](ExternalKeyError::Unavailable) from
//! [refused](ExternalKeyError::Refused), and the former depends on no ciphertext. So the
//! unavailable key can be reported to a peer, and no report is an oracle.

use std::fmt;

use crate::algorithms::{DigestAlgorithm, SignatureAlgorithm};
use crate::error::CryptoError;
use crate::secret::SecretBytes;

/// A private key held elsewhere.
pub trait ExternalKey: Send + Sync {
    /// Signs with this algorithm: the signature of XML Signature, which for ECDSA is two numbers
    /// side by side.
    ///
    /// `input` is the digest of the message; the message itself where the algorithm names no
    /// digest.
    ///
    /// # Errors
    ///
    /// [`ExternalKeyError`].
    fn sign(
        &self,
        algorithm: SignatureAlgorithm,
        input: &[u8],
    ) -> Result<Vec<u8>, ExternalKeyError>;

    /// Decrypts with an RSA key.
    ///
    /// # Errors
    ///
    /// [`ExternalKeyError`].
    fn decrypt(
        &self,
        padding: RsaPadding<'_>,
        ciphertext: &[u8],
    ) -> Result<SecretBytes, ExternalKeyError>;

    /// The secret shared with the holder of a key of the same kind, from the
    /// [bits](crate::PublicKey::key_bits) of the public half: a point, for a curve of ECDH.
    ///
    /// # Errors
    ///
    /// [`ExternalKeyError`].
    fn agree(&self, other: &[u8]) -> Result<SecretBytes, ExternalKeyError>;
}

/// The padding that an external key removes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RsaPadding<'m> {
    /// None: the encoded message, as long as the modulus. This crate removes the padding of RSA 1.5
    /// itself, so that no answer of a token is an oracle of it (Bleichenbacher).
    None,
    /// RSA-OAEP.
    Oaep {
        /// Digest of the label.
        digest: DigestAlgorithm,
        /// Digest of mask generation function 1.
        mgf: DigestAlgorithm,
        /// The label, usually empty.
        label: &'m [u8],
    },
}

/// Why an external key gives no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExternalKeyError {
    /// The key cannot be used now, or not for this operation, whatever the input.
    Unavailable {
        /// The holder, the key, and what is wrong, for the operator.
        reason: String,
    },
    /// The holder refused the input.
    Refused,
}

impl ExternalKeyError {
    /// What callers of an operation are told, where the input is no secret.
    pub(crate) fn of(self, operation: &'static str) -> CryptoError {
        match self {
            Self::Unavailable { reason } => CryptoError::KeyUnavailable { reason },
            Self::Refused => CryptoError::Library { operation },
        }
    }
}

impl fmt::Display for ExternalKeyError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unavailable { reason } => formatter.write_str(reason),
            Self::Refused => formatter.write_str("the holder of the key refused the input"),
        }
    }
}

impl std::error::Error for ExternalKeyError {}
