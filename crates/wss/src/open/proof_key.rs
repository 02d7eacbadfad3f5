//! The proof key of the accepted assertion: read with it, and unwrapped where something uses it.
//!
//! The one rule: it is the key of this message's one assertion, which its issuer signed, and is
//! named by that assertion. Whether unwrapping it succeeds shows nowhere.

use soapstone_crypto::{KeyTransport, SymmetricKey};
use soapstone_xml::NodeId;
use soapstone_xmlsec::enc::{EncryptedKey, EncryptionError, KeyEncryption, OpeningKey};

use super::algorithms::not_allowed;
use super::keyring::{Keyring, Proof};
use super::message::Message;
use super::opening::Opening;
use super::symmetric_keys::Resolved;
use crate::evidence::Signer;
use crate::key_locator::KeyLocator;
use crate::proof::ProofKey;
use crate::rejected::{AlgorithmUse, Rejected};
use crate::token::HolderKey;

impl Opening<'_> {
    /// Reads the proof key of the assertion that was just accepted. Nothing is unwrapped.
    pub(super) fn read_proof_key(&mut self) -> Result<(), Rejected> {
        let demands = self.message.demands();
        let accepted = self.evidence.assertion.as_ref();
        let accepted = accepted.filter(|accepted| accepted.signed_by.is_some());
        let (true, Some(policy), Some(accepted)) =
            (demands.proves_by_key, demands.assertion(), accepted)
        else {
            return Ok(());
        };
        let assertion = &accepted.assertion;
        let HolderKey::Wrapped(key) = assertion.holder_key(policy)? else {
            // A certificate in the assertion is known to everybody: nothing is proven by it here.
            return Err(Rejected::KeyMisused {
                problem:
                    "expected a symmetric key of the holder in the assertion, found a public one"
                        .to_owned(),
            });
        };
        let key = *key;
        let (node, version) = (accepted.node, assertion.version);
        let id = assertion.id.clone();
        let issuer = assertion.issuer.clone();
        let subject = assertion.subject.value.clone();
        self.budget.encrypted_key()?;
        let wrapped = EncryptedKey::parse(self.message.document(), key, 1)?;
        if !wrapped.data_references.is_empty() || !wrapped.key_references.is_empty() {
            return Err(Rejected::KeyMisused {
                problem: "expected no list of cipher text in the key of an assertion's holder"
                    .to_owned(),
            });
        }
        let transports = ProofKey::TRANSPORTS;
        match wrapped.method {
            KeyEncryption::Transport { algorithm, .. } if transports.contains(&algorithm) => {}
            ref other => {
                let allowed = transports.into_iter().map(KeyTransport::short_name);
                return Err(not_allowed(
                    AlgorithmUse::KeyTransport,
                    other.uri(),
                    allowed,
                ));
            }
        }
        let plan = self.message.plan;
        let wrapped = self.wrapped_key(wrapped, &plan.unwrapping.proof_keys)?;
        self.keyring.proof = Some(Proof {
            assertion: node,
            version,
            id,
            issuer,
            subject,
            wrapped,
            key: None,
        });
        Ok(())
    }
}

impl Proof {
    /// What an answer needs of it, if something used it.
    pub(super) fn of_answers(self) -> Option<ProofKey> {
        Some(ProofKey {
            version: self.version,
            id: self.id,
            issuer: self.issuer,
            subject: self.subject,
            key: self.key?,
        })
    }

    /// The key. What nobody knows takes the place of a key that cannot be unwrapped.
    fn key(&mut self) -> Result<SymmetricKey, Rejected> {
        if let Some(key) = &self.key {
            return Ok(key.clone());
        }
        let (private, wrapped) = (self.wrapped.identity.key(), &self.wrapped.wrapped);
        let substitute = private.substitute(&wrapped.cipher_value, *ProofKey::LENGTHS.end());
        let key = match wrapped.open(OpeningKey::Private(private), None) {
            Ok(key) if ProofKey::LENGTHS.contains(&key.len()) => key,
            Ok(_) | Err(EncryptionError::Failed) => SymmetricKey::from_secret(substitute)
                .map_err(|_| Rejected::from(EncryptionError::Failed))?,
            Err(error) => return Err(error.into()),
        };
        Ok(self.key.insert(key).clone())
    }
}

impl Keyring {
    /// The proof key that a locator means: that of the request, in an answer, or that of the
    /// message's own assertion.
    pub(super) fn proof_key(
        &mut self,
        message: &Message<'_>,
        locator: &KeyLocator,
        user: NodeId,
    ) -> Result<Resolved, Rejected> {
        let not_found = || Rejected::KeyNotFound {
            reference: locator.to_string(),
        };
        if let Some(request) = &message.facts.request {
            let known = request.proof.as_ref().filter(|known| {
                matches!(locator, KeyLocator::Assertion { version, id } if *version == known.version && *id == known.id)
            });
            let known = known.ok_or_else(not_found)?;
            return Ok(Resolved {
                key: known.key.clone(),
                holder: holder(&known.issuer, &known.subject),
                token: None,
            });
        }
        let named = match locator {
            KeyLocator::Assertion { version, id } => message.assertion_named(*version, id),
            KeyLocator::Token(id) => message.named(id),
            _ => None,
        };
        let proof = self.proof.as_mut();
        let proof = proof.filter(|proof| named == Some(proof.assertion));
        let proof = proof.ok_or_else(not_found)?;
        let token = proof.assertion;
        let resolved = Resolved {
            key: proof.key()?,
            holder: holder(&proof.issuer, &proof.subject),
            token: Some(token),
        };
        self.note_use(token, user);
        Ok(resolved)
    }
}

fn holder(issuer: &str, subject: &str) -> Signer {
    Signer::Holder {
        issuer: issuer.to_owned(),
        subject: subject.to_owned(),
        certificate: None,
    }
}
