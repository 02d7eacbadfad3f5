//! The symmetric keys that are ready for use.

use soapstone_crypto::random::Supply;
use soapstone_crypto::{DataEncryption, SymmetricKey, seal_in_place};
use soapstone_xml::Buffers;

use crate::secure_error::SecureError;

/// A symmetric key ready for use.
pub(super) struct Use {
    pub(super) key: SymmetricKey,
    /// Content of the `ds:KeyInfo` of whatever uses it.
    pub(super) key_info: Vec<u8>,
}

/// The key that encrypts, once for the whole message.
pub(super) struct Session {
    pub(super) key: SymmetricKey,
    pub(super) algorithm: DataEncryption,
    /// `ds:KeyInfo` for each `EncryptedData`.
    pub(super) key_info: Vec<u8>,
}

/// The keys of one message. Private keys are the plan's.
#[derive(Default)]
pub(super) struct Keys {
    pub(super) signing: Option<Use>,
    pub(super) encrypting: Option<Use>,
    /// Those of security contexts that endorse, by the places of their signatures.
    pub(super) endorsing: Vec<Option<Use>>,
    /// The key that encrypts, once it does.
    pub(super) session: Option<Session>,
}

impl Keys {
    /// The key that encrypts.
    pub(super) fn session(&self) -> Result<&Session, SecureError> {
        self.session.as_ref().ok_or(SecureError::KeyMissing)
    }
}

impl Session {
    /// The cipher text of what `plaintext` writes.
    pub(super) fn seal(
        &self,
        length: usize,
        buffers: &mut Buffers,
        supply: &mut Supply,
        plaintext: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Vec<u8>, SecureError> {
        let mut cipher = buffers.take(self.algorithm.ciphertext_length(length) + 32);
        cipher.resize(self.algorithm.iv_length(), 0);
        plaintext(&mut cipher);
        seal_in_place(self.algorithm, &self.key, &mut cipher, 0, supply)?;
        Ok(cipher)
    }
}
