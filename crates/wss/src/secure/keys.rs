//! The symmetric keys of a message: where they come from, and how the elements that use them name
//! them.
//!
//! There is one root: a shared key, the request's session key, a fresh session key, a security
//! context, or a password, from which two keys come. What signs and what encrypts is the root
//! itself or, where the plan wants it, a key derived from it. Beside a private key that signs, the
//! fresh session key is made here only where keys are derived from it.

use std::sync::Arc;

use soapstone_crypto::{DataEncryption, KeyUse, NONCE_OCTETS, PHash, SymmetricKey, base64};
use soapstone_xml::Buffers;

use super::message::{Addressee, numbered};
use super::pieces::Endorsement;
use super::ready_keys::Use;
use super::references::{self, ImpliedDerivation};
use super::root::{Purpose, Reference, Root};
use super::securing::Securing;
use super::text::put;
use crate::binding::KeyReference;
use crate::conversation::{self, DEFAULT_LABEL, DerivedKeyForm, DerivedKeyPolicy};
use crate::kerberos::KerberosForm;
use crate::plan::{Endorser, KeySource};
use crate::proof;
use crate::secure_error::SecureError;
use crate::securing_event::{SecuringEvent, TokenUse, WrittenToken};
use crate::token::{self, PasswordKeyUse};

/// What a token or a reference takes, as a rule.
const PIECE_BYTES: usize = 512;
/// And a `wsc:DerivedKeyToken`.
const DERIVED_KEY_TOKEN_BYTES: usize = 800;

impl<'p> Securing<'p> {
    /// Chooses the symmetric keys that sign and encrypt, and writes the tokens that say which they
    /// are.
    pub(super) fn prepare_keys(&mut self, buffers: &mut Buffers) -> Result<(), SecureError> {
        let protection = self.message.protection();
        let mut root = None;
        let signing = protection.signature.as_ref();
        if let Some(signing) = signing.filter(|one| one.key != KeySource::PrivateKey) {
            let found = self.root(signing.key, signing.reference, Purpose::Signing)?;
            let derived = self.derivation(Purpose::Signing);
            self.keys.signing = Some(self.key_for(&found, Purpose::Signing, derived, buffers)?);
            root = Some((signing.key, found));
        }
        let encrypting = protection.encryption.as_ref();
        if let Some(encrypting) = encrypting.filter(|one| !one.wraps_alone) {
            // The purpose of a key from a password is in its salt.
            let is_of_both = |known: KeySource| match known {
                KeySource::Shared => false,
                KeySource::Password => encrypting.derived_keys.is_some(),
                known => known == encrypting.key,
            };
            let known = root
                .take()
                .filter(|(known, _)| *known == encrypting.key && is_of_both(*known));
            let found = match known {
                Some((_, root)) => root,
                None => self.root(encrypting.key, encrypting.reference, Purpose::Encrypting)?,
            };
            let derived = self.derivation(Purpose::Encrypting);
            let key = self.key_for(&found, Purpose::Encrypting, derived, buffers)?;
            self.keys.encrypting = Some(key);
            self.pieces.derivation_of_data = self.pieces.derived.len();
        }
        let count = protection.endorsing.len();
        self.pieces
            .endorsements
            .resize_with(count, Endorsement::default);
        self.keys.endorsing.resize_with(count, Option::default);
        let endorsing = protection.endorsing.iter().enumerate();
        for (index, endorsing) in endorsing {
            let id = self.message.named(&numbered("endorse", index));
            let (root, token) = match endorsing.endorser {
                Endorser::Certificate(..) => continue,
                Endorser::Context(_) => self.context_root(endorsing.reference, id, false)?,
                Endorser::Kerberos(_) => self.kerberos_root(endorsing.reference, id, false)?,
                Endorser::Holder(_) => (self.proof_root(endorsing.reference)?, Vec::new()),
                Endorser::User(_) => self.password_root(PasswordKeyUse::Mac, id, false)?,
            };
            let others = self.pieces.derived.len();
            let key = self.key_for(&root, Purpose::Endorsing, &endorsing.derived_keys, buffers)?;
            self.keys.endorsing[index] = Some(key);
            let written = &mut self.pieces.endorsements[index];
            written.token = token;
            let hides_assertion = encrypting.is_some_and(|one| one.hides_assertion);
            if endorsing.token_encrypted || endorsing.by_holder && hides_assertion {
                written.derived = self.pieces.derived.split_off(others);
            }
        }
        Ok(())
    }

    /// How keys for a purpose are derived, if they are.
    fn derivation(&self, purpose: Purpose) -> &'p Option<DerivedKeyPolicy> {
        let protection = self.message.protection();
        let signature = protection.signature.as_ref().map(|one| &one.derived_keys);
        let encryption = protection.encryption.as_ref().map(|one| &one.derived_keys);
        match purpose {
            Purpose::Encrypting => encryption,
            Purpose::Signing | Purpose::Endorsing => signature,
        }
        .unwrap_or(&None)
    }

    fn root(
        &mut self,
        source: KeySource,
        reference: KeyReference,
        purpose: Purpose,
    ) -> Result<Root<'p>, SecureError> {
        match source {
            KeySource::Shared => {
                let shared = self
                    .message
                    .plan
                    .keys
                    .shared
                    .as_deref()
                    .ok_or(SecureError::KeyMissing)?;
                let derived = self.derivation(purpose).is_some();
                let key = match purpose {
                    Purpose::Encrypting if !derived => &shared.encrypting,
                    _ => &shared.signing,
                };
                let reference = match derived {
                    true => KeyReference::EncryptedKeySha1,
                    false => reference,
                };
                Ok(Root {
                    key: key.clone(),
                    reference: Reference::Shared(reference, shared),
                })
            }
            KeySource::Request => {
                let (sha1, key) = self.message.request_key()?;
                Ok(Root {
                    key: key.clone(),
                    reference: Reference::EncryptedKeySha1(*sha1),
                })
            }
            KeySource::Token => {
                let (id, stays) = (
                    self.message.named("sct"),
                    !self.message.protection().signs_tokens(),
                );
                let (root, token) = self.context_root(reference, id, stays)?;
                self.pieces.context_token = token;
                Ok(root)
            }
            KeySource::Kerberos => {
                let (id, stays) = (
                    self.message.named("sct"),
                    !self.message.protection().signs_tokens(),
                );
                let (root, token) = self.kerberos_root(reference, id, stays)?;
                self.pieces.context_token = token;
                Ok(root)
            }
            KeySource::Assertion => self.proof_root(reference),
            KeySource::Password => {
                let derived = self.derivation(purpose).is_some();
                if purpose == Purpose::Encrypting && !derived {
                    let id = self.message.named("ut-enc");
                    let (root, token) = self.password_root(PasswordKeyUse::Encryption, id, true)?;
                    self.pieces.derived.extend_from_slice(&token);
                    return Ok(root);
                }
                let stays = !self.message.protection().signs_tokens();
                let id = self.message.named("ut");
                let (root, token) = self.password_root(PasswordKeyUse::Mac, id, stays)?;
                self.pieces.password_token = token;
                Ok(root)
            }
            KeySource::Wrapped => self.session_root(self.message.recipient()?, reference),
            KeySource::PrivateKey => Err(SecureError::KeyMissing),
        }
    }

    /// The context of the conversation, and its token, with this id, if messages are to carry it,
    /// which `stays` in the header as it is written, or does not.
    fn context_root(
        &mut self,
        reference: KeyReference,
        id: String,
        stays: bool,
    ) -> Result<(Root<'p>, Vec<u8>), SecureError> {
        let context = self.message.context()?;
        if context.expires <= self.message.now {
            return Err(SecureError::ContextExpired {
                expired: context.expires,
            });
        }
        let key = context.secret.clone();
        let mut token = Vec::new();
        let reference = if reference == KeyReference::Direct {
            token.reserve(PIECE_BYTES);
            let mut scope = self.pieces.declarations.scope(stays);
            references::write_context_token(context, &id, &mut scope, &mut token);
            self.observer.made(|| SecuringEvent::Token {
                id: Some(&id),
                token: WrittenToken::Context(&context.identifier),
                usage: TokenUse::Key,
                is_secret: false,
            });
            Reference::Token(id, context)
        } else {
            Reference::Context(context)
        };
        self.receipt.context = Some(context.clone());
        Ok((Root { key, reference }, token))
    }

    /// The session of a Kerberos token, and the token, with this id, if there is one to carry.
    fn kerberos_root(
        &mut self,
        reference: KeyReference,
        id: String,
        stays: bool,
    ) -> Result<(Root<'p>, Vec<u8>), SecureError> {
        let session = self.message.kerberos()?;
        let form = self.message.protection().kerberos_form;
        let value_type = form.unwrap_or(KerberosForm::Gss).token_type();
        let mut token = Vec::new();
        let carried = session.token.as_deref();
        let carried = carried.filter(|_| reference == KeyReference::Direct);
        let reference = match carried {
            Some(bytes) => {
                let mut scope = self.pieces.declarations.scope(stays);
                references::write_binary_token(value_type, bytes, &id, &mut scope, &mut token);
                let stands_beside = self.message.protection().kerberos.is_some();
                self.observer.made(|| SecuringEvent::Token {
                    id: Some(&id),
                    token: WrittenToken::Kerberos,
                    usage: match stands_beside {
                        true => TokenUse::Authentication,
                        false => TokenUse::Key,
                    },
                    is_secret: false,
                });
                match self.message.protection().kerberos_by_identifier {
                    true => Reference::KerberosSha1(session.sha1, value_type),
                    false => Reference::KerberosToken(id, value_type),
                }
            }
            None => Reference::KerberosSha1(session.sha1, value_type),
        };
        self.receipt.kerberos = Some(session.clone().of_answers());
        let key = session.key.clone();
        Ok((Root { key, reference }, token))
    }

    /// The proof key of the assertion that the message, or the request, carries.
    fn proof_root(&mut self, reference: KeyReference) -> Result<Root<'p>, SecureError> {
        let proof = self.message.proof_key()?;
        // An answer has no assertion.
        let reference = match self.message.outgoing.answers {
            Some(_) => KeyReference::KeyName,
            None => reference,
        };
        let root = Root {
            key: proof.key.clone(),
            reference: Reference::Assertion(proof.version, proof.id.clone(), reference),
        };
        self.receipt.proof = Some(proof);
        Ok(root)
    }

    /// Writes the Kerberos token whose key does nothing.
    pub(super) fn write_kerberos_token(&mut self) -> Result<(), SecureError> {
        if self.message.protection().kerberos.is_some() {
            let id = self.message.named("kerberos");
            let (_, token) = self.kerberos_root(KeyReference::Direct, id, true)?;
            if token.is_empty() {
                return Err(SecureError::KerberosMissing);
            }
            self.pieces.tokens_of_keys = token;
        }
        Ok(())
    }

    /// A key from the password of the user, and the token with this id that says how it is derived,
    /// which `stays` in the header as it is written, or does not.
    fn password_root(
        &mut self,
        usage: PasswordKeyUse,
        id: String,
        stays: bool,
    ) -> Result<(Root<'p>, Vec<u8>), SecureError> {
        let user = self.message.user()?;
        let policy = self.message.protection().password_keys;
        let policy = policy.ok_or(SecureError::KeyMissing)?;
        let derivation = token::password_derivation(&policy, usage, &mut self.supply);
        let key = derivation.derive(&user.password)?;
        let mut token = Vec::with_capacity(PIECE_BYTES);
        let mut scope = self.pieces.declarations.scope(stays);
        references::write_password_token(&user.name, &derivation, &id, &mut scope, &mut token);
        self.observer.made(|| SecuringEvent::Token {
            id: Some(&id),
            token: WrittenToken::PasswordKey {
                user: &user.name,
                key: &derivation,
            },
            usage: TokenUse::Key,
            is_secret: false,
        });
        self.receipt.user = Some(Arc::clone(user));
        let reference = Reference::Password(id);
        Ok((Root { key, reference }, token))
    }

    /// A fresh key, wrapped to `recipient`.
    fn session_root(
        &mut self,
        recipient: Addressee<'_>,
        reference: KeyReference,
    ) -> Result<Root<'p>, SecureError> {
        let suite = &self.message.protection().suite;
        let length = suite.data.first().map_or(32, |method| method.key_length());
        let key = SymmetricKey::generate(length)?;
        let id = self.message.named("key");
        let mut written = Vec::new();
        let sha1 = self.wrap(&id, &key, recipient, reference, &[], &mut written)?;
        self.pieces.session_key = written;
        self.receipt.session_keys.push((sha1, key.clone()));
        Ok(Root {
            key,
            reference: Reference::Here(id),
        })
    }

    /// The root itself, or a key derived from it.
    fn key_for(
        &mut self,
        root: &Root<'_>,
        purpose: Purpose,
        derived: &Option<DerivedKeyPolicy>,
        buffers: &mut Buffers,
    ) -> Result<Use, SecureError> {
        let plan = self.message.plan;
        // Cipher text is somewhere in the message, and an endorsement may be enciphered.
        let stays = purpose == Purpose::Signing && plan.protection.leaves_signature();
        let mut key_info = Vec::with_capacity(PIECE_BYTES);
        let Some(derived) = derived else {
            let mut scope = self.pieces.declarations.scope(stays);
            root.reference.write(None, &mut scope, &mut key_info);
            let key = match (&root.reference, purpose) {
                (
                    Reference::Token(..)
                    | Reference::Context(_)
                    | Reference::KerberosToken(..)
                    | Reference::KerberosSha1(..),
                    Purpose::Encrypting,
                ) => conversation::encryption_key(&root.key, plan.protection.suite.data[0])?,
                (Reference::Assertion(..), Purpose::Encrypting) => {
                    proof::encryption_key(&root.key, plan.protection.suite.data[0])?
                }
                (Reference::Password(_), Purpose::Encrypting) => {
                    token::password_encryption_key(&root.key, plan.protection.suite.data[0])?
                }
                _ => root.key.clone(),
            };
            self.tell_of_key(root, purpose, &key_info, None);
            return Ok(Use { key, key_info });
        };
        let length = match purpose {
            Purpose::Signing | Purpose::Endorsing => derived.signature_length,
            Purpose::Encrypting => plan.protection.suite.data[0].key_length(),
        };
        let (nonce, key) = self.derived_key(root, purpose, length)?;
        match derived.form {
            DerivedKeyForm::Implied => {
                let implied = ImpliedDerivation {
                    version: derived.version,
                    nonce: &nonce,
                    length,
                };
                let mut scope = self.pieces.declarations.scope(stays);
                root.reference
                    .write(Some(&implied), &mut scope, &mut key_info);
            }
            DerivedKeyForm::Explicit => {
                let name = match purpose {
                    Purpose::Signing => "dk-sig",
                    Purpose::Endorsing => "dk-end",
                    Purpose::Encrypting => "dk-enc",
                };
                let id = self.message.named(name);
                if self.pieces.derived.capacity() == 0 {
                    // Two are usual, for signing and for encrypting.
                    self.pieces.derived = buffers.take(2 * DERIVED_KEY_TOKEN_BYTES);
                }
                self.write_derived_key_token(root, derived, &id, &nonce, length);
                let mut scope = self.pieces.declarations.scope(stays);
                references::write_derived_key(derived.version, &id, &mut scope, &mut key_info);
            }
        }
        self.tell_of_key(
            root,
            purpose,
            &key_info,
            Some((derived.form, &nonce, length)),
        );
        Ok(Use { key, key_info })
    }

    /// A key derived from the root, with its nonce: a new one, or in a conversation that of the
    /// message before.
    fn derived_key(
        &mut self,
        root: &Root<'_>,
        purpose: Purpose,
        length: usize,
    ) -> Result<([u8; NONCE_OCTETS], SymmetricKey), SecureError> {
        let of_context = matches!(root.reference, Reference::Token(..) | Reference::Context(_));
        let keeps = of_context && !self.wears_out(purpose);
        let holders = self.message.plan.key_holders.as_ref().filter(|_| keeps);
        let usage = self.usage(purpose, length);
        let kept = holders.and_then(|it| it.chosen(&root.key, usage));
        if let Some(kept) = kept {
            return Ok(kept);
        }
        let nonce = self.supply.bytes::<NONCE_OCTETS>();
        let seed = [DEFAULT_LABEL.as_bytes(), &nonce];
        let key = PHash::SHA1.derive(root.key.expose(), &seed, 0, length)?;
        let key = SymmetricKey::from_secret(key)?;
        if let Some(holders) = holders {
            holders.choose(&root.key, usage, nonce, &key);
        }
        Ok((nonce, key))
    }

    /// Whether many messages are too much for one key. With blocks of 64 bits, some that are equal
    /// are to be expected after 2^32 of them, and show what was enciphered (CVE-2016-2183);
    /// NIST SP 800-67 Rev. 2 allows 2^20, which is one message of 8 MiB.
    fn wears_out(&self, purpose: Purpose) -> bool {
        let data = self.message.protection().suite.data.first();
        purpose == Purpose::Encrypting && data == Some(&DataEncryption::TripleDesCbc)
    }

    fn usage(&self, purpose: Purpose, length: usize) -> KeyUse {
        let suite = &self.message.protection().suite;
        let algorithm = match purpose {
            Purpose::Signing => {
                let signature = self.message.protection().signature.as_ref();
                signature.map(|one| one.algorithm.short_name())
            }
            Purpose::Endorsing => suite
                .symmetric_signature
                .first()
                .map(|one| one.short_name()),
            Purpose::Encrypting => suite.data.first().map(|one| one.short_name()),
        };
        KeyUse {
            purpose: purpose as u8,
            algorithm: algorithm.unwrap_or_default(),
            length,
        }
    }

    /// Appends a `wsc:DerivedKeyToken` (WS-SecureConversation 1.4, 7.1).
    fn write_derived_key_token(
        &mut self,
        root: &Root<'_>,
        derived: &DerivedKeyPolicy,
        id: &str,
        nonce: &[u8],
        length: usize,
    ) {
        let out = &mut self.pieces.derived;
        out.reserve(DERIVED_KEY_TOKEN_BYTES);
        // None of them is enciphered, nor signed but beside short cipher text.
        let stays = !self.message.protection().binds_keys;
        let mut scope = self.pieces.declarations.scope(stays);
        put(&["<wsc:DerivedKeyToken"], out);
        scope.wsc(derived.version, out);
        scope.wsu(out);
        put(&[" wsu:Id=\"", id, "\">"], out);
        root.reference.write(None, &mut scope, out);
        let length = length.to_string();
        let content = [
            "<wsc:Offset>0</wsc:Offset><wsc:Length>",
            &length,
            "</wsc:Length><wsc:Nonce>",
        ];
        put(&content, out);
        base64::encode_into(nonce, out);
        put(&["</wsc:Nonce></wsc:DerivedKeyToken>"], out);
    }
}
