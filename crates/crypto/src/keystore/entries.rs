//! What a key store holds, whatever file it came from.
//!
//! The one rule: a private key stays as the file has it until its password is given.

use crate::certificate::Certificate;
use crate::secret::SecretBytes;

/// Private keys and certificates by alias.
pub struct KeyStore {
    pub(super) keys: Vec<KeyEntry>,
    pub(super) certificates: Vec<(String, Certificate)>,
}

pub(super) struct KeyEntry {
    pub(super) alias: String,
    pub(super) key: ProtectedKey,
    pub(super) chain: Vec<Certificate>,
}

/// A private key as the file holds it.
pub(super) enum ProtectedKey {
    /// PKCS#8.
    Plain(SecretBytes),
    /// PKCS#8 `EncryptedPrivateKeyInfo` (PKCS#12).
    Encrypted(Vec<u8>),
    /// Java's own protection (JKS).
    Java(Vec<u8>),
}
