//! The `xenc:EncryptedKey` that carries a session key to the holder of a certificate: encrypted to
//! an RSA key (XML-Enc 1.1 section 5.5), or wrapped with a key that was agreed on with any other
//! (section 5.6).
//!
//! The one rule: the suite says how, and the kind of the recipient's key says which of the suite's
//! two ways it is.

use soapstone_crypto::{
    Certificate, ConcatKdf, CryptoError, Hkdf, KeyDerivation, OaepParameters, PublicKey,
    SecretBytes, SymmetricKey, random,
};
use soapstone_xmlsec::enc::KeyEncryption;
use soapstone_xmlsec::write::{self, AgreementParts, DerivationParts, EncryptedKeyParts};

use super::message::Addressee;
use super::references::{self, Holder, Ids};
use super::scope::Scope;
use super::securing::Securing;
use crate::binding::KeyReference;
use crate::digest;
use crate::secure_error::SecureError;
use crate::securing_event::{TokenUse, WrittenToken};
use crate::suite::{KeyAgreementMethod, Suite, Wrapping};

/// Bytes of the salt that a message's HKDF has: as many as its HMAC gives with SHA-256.
const SALT: usize = 32;

impl Securing<'_> {
    /// Writes an `EncryptedKey` with this id and `key` for `recipient`; returns the SHA-1 of what
    /// it carries.
    pub(super) fn wrap(
        &mut self,
        id: &str,
        key: &SymmetricKey,
        recipient: Addressee<'_>,
        reference: KeyReference,
        data_references: &[&str],
        out: &mut Vec<u8>,
    ) -> Result<[u8; 20], SecureError> {
        let suite = &self.message.protection().suite;
        let certificate = recipient.certificate;
        let wrapping = wrapping_for(suite, certificate)?;
        self.message.check_retirement(wrapping.short_name())?;
        let named = self.recipient_named(recipient, reference);
        let listens = self.observer.listens;
        let shown = listens.then(|| self.named_by(&named)).flatten();
        let wrapped = wrapped(suite, wrapping, certificate, key, named)?;
        write::encrypted_key(
            &EncryptedKeyParts {
                id: Some(id),
                recipient: None,
                method: &wrapped.method,
                implied_oaep_digest: suite.implied_oaep_digest,
                raw_key_info: Some(&wrapped.key_info),
                cipher_value: &wrapped.cipher_value,
                data_references,
                carried_key_name: None,
            },
            out,
        );
        let sha1 = digest::sha1([wrapped.cipher_value.as_slice()]);
        if listens && recipient.held.is_none() && reference.has_token() {
            let token = WrittenToken::Certificate(certificate);
            self.tell_of_token("peer", token, TokenUse::Recipient, false);
        }
        self.tell_of_wrapping((id, &sha1), wrapping, certificate, shown.as_ref());
        Ok(sha1)
    }

    /// What names whom a session key is for: the assertion of the request, or the certificate,
    /// whose token is written where the reference needs one.
    fn recipient_named(&mut self, recipient: Addressee<'_>, reference: KeyReference) -> Vec<u8> {
        let mut named = Vec::new();
        let token = self.message.named("peer");
        let holder = Holder::alone(recipient.certificate);
        if recipient.held.is_none() && reference.has_token() {
            let mut scope = self.pieces.declarations.scope(true);
            references::write_token(
                reference,
                holder,
                &token,
                &mut scope,
                &mut self.pieces.tokens_of_keys,
            );
        }
        let mut scope = self
            .pieces
            .declarations
            .scope(self.message.protection().leaves_keys());
        match recipient.held {
            Some(held) => {
                references::write_assertion_name(held.version, &held.id, &mut scope, &mut named);
            }
            None => {
                let ids = Ids {
                    token: &token,
                    reference: None,
                };
                references::write_certificate(reference, holder, ids, &mut scope, &mut named);
            }
        }
        named
    }
}

/// Writes an `EncryptedKey` with `key` for `recipient`, for the `ds:KeyInfo` of the one cipher text
/// that is enciphered with it. `reference` is one that needs no token beside it.
pub(crate) fn write_own_key(
    suite: &Suite,
    key: &SymmetricKey,
    recipient: &Certificate,
    reference: KeyReference,
    out: &mut Vec<u8>,
) -> Result<(), SecureError> {
    let wrapping = wrapping_for(suite, recipient)?;
    let mut named = Vec::new();
    let ids = Ids {
        token: "",
        reference: None,
    };
    let holder = Holder::alone(recipient);
    references::write_certificate(reference, holder, ids, &mut Scope::alone(), &mut named);
    let wrapped = wrapped(suite, wrapping, recipient, key, named)?;
    write::encrypted_key(
        &EncryptedKeyParts {
            id: None,
            recipient: None,
            method: &wrapped.method,
            implied_oaep_digest: suite.implied_oaep_digest,
            raw_key_info: Some(&wrapped.key_info),
            cipher_value: &wrapped.cipher_value,
            data_references: &[],
            carried_key_name: None,
        },
        out,
    );
    Ok(())
}

/// The suite's way to get a key to the holder of a certificate.
pub(crate) fn wrapping_for<'s>(
    suite: &'s Suite,
    recipient: &Certificate,
) -> Result<Wrapping<'s>, SecureError> {
    let kind = recipient.public_key().kind();
    let wrapping = suite.wrapping(kind);
    wrapping.ok_or_else(|| SecureError::RecipientUnfit {
        key: kind,
        suite: suite.name.clone(),
    })
}

/// A key, encrypted.
struct Wrapped {
    method: KeyEncryption,
    key_info: Vec<u8>,
    cipher_value: Vec<u8>,
}

/// A key for the holder of a certificate, whom `named` names.
fn wrapped(
    suite: &Suite,
    wrapping: Wrapping<'_>,
    recipient: &Certificate,
    key: &SymmetricKey,
    named: Vec<u8>,
) -> Result<Wrapped, CryptoError> {
    let public = recipient.public_key();
    Ok(match wrapping {
        Wrapping::Transport(transport) => {
            let oaep = OaepParameters::new(transport.digest, transport.mask);
            Wrapped {
                cipher_value: public.wrap(transport.algorithm, &oaep, key.expose())?,
                method: KeyEncryption::Transport {
                    algorithm: transport.algorithm,
                    oaep,
                },
                key_info: named,
            }
        }
        Wrapping::Agreement(agreement) => {
            let (key_info, cipher_value) = agree(suite, agreement, public, key, &named)?;
            Wrapped {
                method: KeyEncryption::Wrap(agreement.wrap),
                key_info,
                cipher_value,
            }
        }
    })
}

/// The `xenc:AgreementMethod` of a fresh agreement with `recipient`, whom `named` names, and `key`
/// wrapped with what comes of it.
fn agree(
    suite: &Suite,
    method: &KeyAgreementMethod,
    recipient: &PublicKey,
    key: &SymmetricKey,
    named: &[u8],
) -> Result<(Vec<u8>, Vec<u8>), CryptoError> {
    let agreed = recipient.agree_ephemeral(method.algorithm)?;
    let length = method.wrap.key_length();
    let mut key_info = Vec::new();
    let mut write = |derivation| {
        write::agreement_method(
            &AgreementParts {
                algorithm: method.algorithm,
                derivation,
                originator: &agreed.originator,
                raw_recipient: named,
            },
            &mut key_info,
        );
    };
    let derived: SecretBytes = match method.derivation {
        KeyDerivation::ConcatKdf => {
            // What the key is for (NIST SP 800-56A, 5.8.2.1.1: `AlgorithmID`).
            let purpose = || method.wrap.uri().as_bytes().to_vec();
            let parameters = ConcatKdf {
                digest: method.digest,
                other_info: suite.derivation_info.clone().unwrap_or_else(purpose),
            };
            write(DerivationParts::ConcatKdf(&parameters));
            parameters.derive(&agreed.secret, length)?
        }
        KeyDerivation::Hkdf => {
            let parameters = Hkdf {
                prf: method.prf().ok_or_else(|| CryptoError::Unsupported {
                    what: format!("HKDF with {}", method.digest),
                })?,
                salt: random::bytes::<SALT>().to_vec(),
                info: Vec::new(),
            };
            write(DerivationParts::Hkdf(&parameters, length));
            parameters.derive(&agreed.secret, length)?
        }
        KeyDerivation::Pbkdf2 => {
            return Err(CryptoError::Unsupported {
                what: "PBKDF2 of an agreed secret".to_owned(),
            });
        }
    };
    let wrapped = SymmetricKey::from_secret(derived)?.wrap(method.wrap, key.expose())?;
    Ok((key_info, wrapped))
}
