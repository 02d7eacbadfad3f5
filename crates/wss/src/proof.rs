//! The proof key of an assertion: a symmetric key that its issuer gives to the subject and,
//! enciphered inside of the assertion, to the receiver (SAML Token Profile 1.1.1, 3.5.1; WS-Trust
//! 1.4, 4.4.3).
//!
//! The one rule: the key is known by its assertion alone. Whoever has the assertion without the key
//! has nothing.

use soapstone_crypto::{CryptoError, DataEncryption, KeyTransport, SecretBytes, SymmetricKey};

use crate::token::SamlVersion;

/// The key of an assertion's holder, as the messages have it that it protects.
#[derive(Clone, Debug)]
pub struct ProofKey {
    /// The version of the assertion.
    pub version: SamlVersion,
    /// The id of the assertion.
    pub id: String,
    /// Its issuer.
    pub issuer: String,
    /// Its subject.
    pub subject: String,
    /// The key. Clones share it.
    pub key: SymmetricKey,
}

impl ProofKey {
    /// The fewest and the most bytes of one: those of AES-128, and those that no HMAC shortens.
    pub(crate) const LENGTHS: std::ops::RangeInclusive<usize> = 16..=64;

    /// The ways in which one comes. How long the key is, nobody says: no substitute of that length
    /// could take the place of one whose padding is wrong, or which was agreed on.
    pub(crate) const TRANSPORTS: [KeyTransport; 2] =
        [KeyTransport::RsaOaepMgf1p, KeyTransport::RsaOaep];
}

/// The key that encrypts where none is derived: its first bytes, as many as the cipher wants.
pub(crate) fn encryption_key(
    proof: &SymmetricKey,
    algorithm: DataEncryption,
) -> Result<SymmetricKey, CryptoError> {
    match proof.expose().get(..algorithm.key_length()) {
        Some(first) if first.len() < proof.len() => {
            SymmetricKey::from_secret(SecretBytes::copy_of(first))
        }
        _ => Ok(proof.clone()),
    }
}
