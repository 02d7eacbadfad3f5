//! The key inside an `xenc:EncryptedKey` that was wrapped with a key agreed on (XML-Enc 1.1 section
//! 5.6): what has to be the same for every agreement, whoever reads the element.
//!
//! The one rule: a point that is not on the curve, one of low order, a key of another curve, a
//! wrapped key that was changed: nothing of it shows. A substitute takes the place of the key
//! inside, the same each time, and the message fails where any wrong key fails.

use soapstone_crypto::{EstablishmentError, KeyEstablishment, PrivateKey, PublicKey, SymmetricKey};

use super::encrypted::EncryptedKey;
use super::error::EncryptionError;
use super::method::KeyEncryption;
use crate::keyinfo::AgreementMethod;

/// Bytes of the secret that stands in for one that could not be agreed on: as many as P-256 and
/// X25519 give.
const SUBSTITUTE_SECRET: usize = 32;

/// Bytes that a wrapped key has more than the key, at most: two blocks with Triple DES (RFC 3217
/// section 3), one with AES (RFC 3394).
const LONGEST_GROWTH: usize = 16;

impl EncryptedKey {
    /// The key inside, `length` bytes long, with the private key that the recipient has.
    ///
    /// `originator` is the public key of `xenc:OriginatorKeyInfo`; `None` where what stands there
    /// is no key, such as a point that is not on its curve. Whatever goes wrong with it, with
    /// the agreement or with the wrapped key gives the key's
    /// [`substitute`](PrivateKey::substitute): after as much work, and the same for each try of the
    /// same wrapped key, so that a stranger learns of a private key neither from an answer nor from
    /// how long it takes (the invalid-curve attack on ECDH-ES of JWE, CVE-2016-9121, and the
    /// small subgroups of RFC 7748 section 7 need to see a difference).
    ///
    /// # Errors
    /// [`EncryptionError::WrongKey`] when the key is not wrapped, or the private key is of another
    /// kind than the agreement takes; [`EncryptionError::KeyUnavailable`] when it is held elsewhere
    /// and cannot be used; [`EncryptionError::Failed`] when the derivation is one that cannot be
    /// computed.
    pub fn open_agreed(
        &self,
        private: &PrivateKey,
        agreement: &AgreementMethod,
        originator: Option<&PublicKey>,
        length: usize,
    ) -> Result<SymmetricKey, EncryptionError> {
        let KeyEncryption::Wrap(wrap) = self.method else {
            return Err(EncryptionError::WrongKey {
                algorithm: self.method.short_name(),
            });
        };
        if !agreement.algorithm.fits(private.kind()) {
            return Err(EncryptionError::WrongKey {
                algorithm: agreement.algorithm.short_name(),
            });
        }
        let substitute = private.substitute(&self.cipher_value, length);
        let fitting = originator.filter(|key| key.kind() == private.kind());
        let agreed = private.establish(&KeyEstablishment::Agreement {
            algorithm: agreement.algorithm,
            originator: fitting.unwrap_or_else(|| private.public_key()),
        });
        if let Err(EstablishmentError::Unavailable { reason }) = agreed {
            return Err(EncryptionError::KeyUnavailable { reason });
        }
        let succeeded = fitting.is_some() && agreed.is_ok();
        let secret =
            agreed.unwrap_or_else(|_| private.substitute(&self.cipher_value, SUBSTITUTE_SECRET));
        let wrapping = agreement
            .derivation
            .derive(&secret, wrap.key_length())
            .ok()
            .and_then(|key| SymmetricKey::from_secret(key).ok())
            .ok_or(EncryptionError::Failed)?;
        // What cannot be a key of that length is not unwrapped: it might be as long as the message,
        // and AES goes over it six times (RFC 3394, 2.2.2).
        let wrapped = &self.cipher_value;
        let opened = (wrapped.len() <= length + LONGEST_GROWTH)
            .then(|| wrapping.unwrap(wrap, wrapped).ok())
            .flatten()
            .filter(|key| succeeded && key.len() == length)
            .unwrap_or(substitute);
        SymmetricKey::from_secret(opened).map_err(|_| EncryptionError::Failed)
    }
}
