//! The `xenc:EncryptedKey` that carries a session key to the holder of a certificate.

use soapstone_crypto::{OaepParameters, SymmetricKey};
use soapstone_xmlsec::enc::KeyEncryption;
use soapstone_xmlsec::write::{self, EncryptedKeyParts};

use super::{SecureError, Securing};
use crate::digest;
use crate::key_reference;
use crate::policy::KeyReference;

impl Securing<'_> {
    /// Writes an `EncryptedKey` with `key` for `recipient`; returns the SHA-1 of what it carries.
    pub(super) fn wrap(
        &mut self,
        key: &SymmetricKey,
        recipient: &soapstone_crypto::Certificate,
        reference: KeyReference,
        data_references: &[&str],
        out: &mut Vec<u8>,
    ) -> Result<[u8; 20], SecureError> {
        let transport = self.plan.policy.suite.key_transport[0];
        let oaep = OaepParameters::new(transport.digest, transport.mask);
        let cipher_value = recipient
            .public_key()
            .wrap(transport.algorithm, &oaep, key.expose())?;
        let mut key_info = Vec::new();
        let token = self.named("peer");
        if reference == KeyReference::Direct {
            key_reference::write_token(recipient, &token, &mut self.tokens_of_keys);
        }
        key_reference::write_certificate(reference, recipient, &token, &mut key_info);
        write::encrypted_key(
            &EncryptedKeyParts {
                id: Some(&self.named("key")),
                recipient: None,
                method: &KeyEncryption::Transport {
                    algorithm: transport.algorithm,
                    oaep,
                },
                raw_key_info: Some(&key_info),
                cipher_value: &cipher_value,
                data_references,
                carried_key_name: None,
            },
            out,
        );
        Ok(digest::sha1([cipher_value.as_slice()]))
    }
}
