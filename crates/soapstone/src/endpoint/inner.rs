//! From the `[inner]` table to what protects elements of the Body by themselves, and opens them.
//!
//! The rule kept here: what is verified or deciphered stands in a message that is proven already,
//! and nothing of a message that fails is given out.

use std::sync::Arc;

use jiff::Timestamp;
use soapstone_crypto::{Certificate, DigestAlgorithm, Identity, SignatureAlgorithm};
use soapstone_wss::{
    AssertionPolicy, DecipheringKey, Extent, InnerCipherEvidence, InnerDecryption, InnerElement,
    InnerEncryption, InnerEvidence, InnerSigning, InnerVerification, Keys, Opened, ProtectionOrder,
    Rejected, SecureError, SecurityLimits, Suite,
};
use soapstone_xml::{Buffers, Limits};

use super::changes::retirements;
use super::compiler::Compiler;
use super::expiring_file::MaterialUse;
use super::role::Role;
use crate::config::{InnerConfig, InnerEncryptionConfig, Located};

/// What is done to elements of the Body, in each direction.
#[derive(Debug, Default)]
pub(super) struct Inner {
    /// Signatures of messages that leave.
    signing: Option<InnerSigning>,
    /// Signatures of messages that arrive.
    verification: Option<InnerVerification>,
    /// Cipher text of messages that leave.
    encryption: Option<InnerEncryption>,
    /// Cipher text of messages that arrive.
    decryption: Option<InnerDecryption>,
    /// Whether signatures are over cipher text.
    encrypts_first: bool,
    /// Whether requests have cipher text in the place of an element.
    hides_requests: bool,
}

/// What was found of elements of the Body.
#[derive(Debug, Default)]
pub(super) struct InnerFound {
    /// What a signature proves.
    pub(super) signature: Option<InnerEvidence>,
    /// What was deciphered.
    pub(super) encryption: Option<InnerCipherEvidence>,
}

impl Inner {
    /// A plain message with its inner protection, if it is to have one. `requester` is who signed
    /// the request that it answers.
    pub(super) fn protected(
        &self,
        plain: Vec<u8>,
        requester: Option<&Certificate>,
        limits: &Limits,
        buffers: &mut Buffers,
    ) -> Result<Vec<u8>, SecureError> {
        let sign = |plain, buffers: &mut Buffers| match &self.signing {
            Some(signing) => signing.sign(plain, limits, buffers),
            None => Ok(plain),
        };
        let encrypt = |plain, buffers: &mut Buffers| match &self.encryption {
            Some(encryption) => encryption.encrypt(plain, requester, limits, buffers),
            None => Ok(plain),
        };
        match self.encrypts_first {
            true => sign(encrypt(plain, buffers)?, buffers),
            false => encrypt(sign(plain, buffers)?, buffers),
        }
    }

    /// The key whose failed openings are counted, if the message is one of which each tells
    /// something.
    pub(super) fn deciphering_key(
        &self,
        opened: &Opened,
        limits: &SecurityLimits,
        now: Timestamp,
    ) -> Option<DecipheringKey> {
        let decryption = self.decryption.as_ref()?;
        decryption.deciphering_key(opened, limits, now)
    }

    /// A message with its elements in the clear, and what was found of them.
    pub(super) fn opened(
        &self,
        opened: Opened,
        now: Timestamp,
        buffers: &mut Buffers,
    ) -> Result<(Opened, InnerFound), Rejected> {
        let Some(decryption) = &self.decryption else {
            let signature = self.verified(&opened, now)?;
            let found = InnerFound {
                signature,
                encryption: None,
            };
            return Ok((opened, found));
        };
        if !self.encrypts_first {
            let (opened, encryption) = decryption.decrypt(opened, now, buffers)?;
            let signature = self.verified(&opened, now)?;
            let found = InnerFound {
                signature,
                encryption,
            };
            return Ok((opened, found));
        }
        let signature = self.verified(&opened, now)?;
        let (opened, encryption) = decryption.decrypt(opened, now, buffers)?;
        if let Some(verification) = &self.verification {
            opened.examine(|envelope| verification.confirm(envelope))?;
        }
        let found = InnerFound {
            signature,
            encryption,
        };
        Ok((opened, found))
    }

    /// What an inner signature proves of a message, if it is to have one.
    fn verified(&self, opened: &Opened, now: Timestamp) -> Result<Option<InnerEvidence>, Rejected> {
        match &self.verification {
            Some(verification) => opened.examine(|envelope| verification.verify(envelope, now)),
            None => Ok(None),
        }
    }

    /// Whether messages of either direction have an inner protection.
    pub(super) fn is_used(&self) -> bool {
        self.signs() || self.verifies() || self.encrypts() || self.deciphers()
    }

    /// Whether messages that leave are signed.
    pub(super) fn signs(&self) -> bool {
        self.signing.is_some()
    }

    /// Whether messages that arrive must be signed.
    pub(super) fn verifies(&self) -> bool {
        self.verification.is_some()
    }

    /// Whether messages that leave are encrypted.
    pub(super) fn encrypts(&self) -> bool {
        self.encryption.is_some()
    }

    /// Whether messages that arrive must be encrypted.
    pub(super) fn deciphers(&self) -> bool {
        self.decryption.is_some()
    }

    /// Whether requests have cipher text in the place of an element, which may be what says the
    /// operation.
    pub(super) fn hides_requests(&self) -> bool {
        self.hides_requests
    }

    /// The algorithms of cipher text, in either direction.
    pub(super) fn suites(&self) -> impl Iterator<Item = &Suite> {
        let arriving = self.decryption.iter().map(InnerDecryption::suite);
        arriving.chain(self.encryption.iter().map(InnerEncryption::suite))
    }

    /// Whether a key that signs or decrypts is held elsewhere.
    pub(super) fn waits_for_keys(&self) -> bool {
        let signing = self.signing.as_ref();
        signing.is_some_and(|signing| signing.identity.key().is_external())
            || self
                .decryption
                .as_ref()
                .is_some_and(InnerDecryption::waits_for_keys)
    }
}

/// The elements of messages that leave, and of those that arrive.
fn directions<'c>(
    role: Role,
    requests: &'c Option<Located<InnerElement>>,
    answers: &'c Option<Located<InnerElement>>,
) -> (
    Option<&'c Located<InnerElement>>,
    Option<&'c Located<InnerElement>>,
) {
    let (requests, answers) = (requests.as_ref(), answers.as_ref());
    match role {
        Role::Secure => (requests, None),
        Role::Open => (None, requests),
        Role::Service => (answers, requests),
        Role::Client => (requests, answers),
    }
}

impl Compiler<'_> {
    /// The inner protection that the file has messages carry.
    pub(super) fn inner(&mut self, role: Role, in_conversation: bool, keys: &Keys) -> Inner {
        let Some(config) = &self.config.inner else {
            return Inner::default();
        };
        let mut inner = self.inner_signatures(config, role);
        if let Some(encryption) = &config.encryption {
            let (leaving, arriving) = directions(role, &encryption.requests, &encryption.answers);
            // A message within a context is of no certificate.
            let has_requester = role == Role::Service && !in_conversation;
            inner.encrypts_first = encryption.order == ProtectionOrder::EncryptBeforeSigning;
            inner.hides_requests = encryption.requests.is_some();
            if let Some(suite) = self.inner_suite(encryption) {
                inner.encryption = leaving.and_then(|element| {
                    self.inner_encryption(encryption, element, suite.clone(), keys, has_requester)
                });
                let (_, signed) = directions(role, &config.requests, &config.answers);
                inner.decryption = arriving.and_then(|element| {
                    self.inner_decryption(encryption, element, signed, suite, keys)
                });
            }
        }
        inner
    }

    /// The algorithms of inner cipher text.
    fn inner_suite(&mut self, encryption: &InnerEncryptionConfig) -> Option<Suite> {
        let mut config = self.config.clone();
        config.security = encryption.instead_of(&self.config.security);
        let naming = config.security.encryption.clone();
        let suite = self.instead_with(&config, |compiler| compiler.suite())?;
        Some(Suite {
            derivation_info: naming.derivation_info.map(|info| info.value),
            implied_oaep_digest: naming.implied_digest.is_some_and(|implied| implied.value),
            ..suite
        })
    }

    fn inner_encryption(
        &mut self,
        config: &InnerEncryptionConfig,
        element: &Located<InnerElement>,
        suite: Suite,
        keys: &Keys,
        has_requester: bool,
    ) -> Option<InnerEncryption> {
        let peer = match &config.peer {
            Some(peer) => Some(self.peer(&peer.certificate)?),
            None => keys.peer.clone(),
        };
        if peer.is_none() && !has_requester {
            self.report_with_hint(
                element.place,
                "`peer` is needed to encrypt an element by itself",
                "say whom to encrypt to: encryption = { …, peer = { certificate = \"….cert.pem\" } }",
            );
            return None;
        }
        let kind = peer.as_ref().map(|peer| peer.public_key().kind());
        let made = InnerEncryption::new(
            element.value.clone(),
            config.extent,
            suite,
            peer,
            config.key_reference,
        );
        if let (Err(SecureError::RecipientUnfit { suite, .. }), Some(kind)) = (&made, kind) {
            self.unfit_for_inner(element, suite, &kind.to_string());
        }
        made.ok()
    }

    fn inner_decryption(
        &mut self,
        config: &InnerEncryptionConfig,
        element: &Located<InnerElement>,
        signed: Option<&Located<InnerElement>>,
        suite: Suite,
        keys: &Keys,
    ) -> Option<InnerDecryption> {
        let identities: Vec<Arc<Identity>> = match &config.identity {
            Some(identity) => vec![self.identity(identity, MaterialUse::InnerDecryption)?],
            None => keys.decrypting().cloned().collect(),
        };
        let Some(first) = identities.first() else {
            self.report_with_hint(
                element.place,
                "`identity` is needed to decrypt an element by itself",
                "say whose key decrypts: encryption = { …, identity = { key = \"….key.pem\", certificate = \"….cert.pem\" } }",
            );
            return None;
        };
        let kind = first.key().kind().to_string();
        let is_same = |signed: &Located<InnerElement>| {
            let (signed, own) = (&signed.value, &element.value);
            (&signed.namespace, &signed.local) == (&own.namespace, &own.local)
        };
        let signed_as_cipher_text = config.order == ProtectionOrder::EncryptBeforeSigning
            && config.extent == Extent::Content
            && signed.is_some_and(is_same);
        let made = InnerDecryption::new(
            element.value.clone(),
            config.extent,
            suite,
            identities,
            signed_as_cipher_text,
        );
        if let Err(SecureError::RecipientUnfit { suite, .. }) = &made {
            self.unfit_for_inner(element, suite, &kind);
        }
        let retirements = retirements(&self.config.security);
        made.ok().map(|made| made.retiring(retirements))
    }

    fn unfit_for_inner(&mut self, element: &Located<InnerElement>, suite: &str, kind: &str) {
        self.report_with_hint(
            element.place,
            format!(
                "suite `{suite}` has no way to encrypt to the certificate that the element is encrypted to, whose key is {kind}"
            ),
            "name a suite that fits the key: Basic256GCM for RSA, Basic256GCMEcdhEs for P-256, Basic256GCMX25519 for X25519",
        );
    }

    /// The inner signatures that the file has messages carry.
    fn inner_signatures(&mut self, config: &InnerConfig, role: Role) -> Inner {
        let (leaving, arriving) = directions(role, &config.requests, &config.answers);
        let usual = AssertionPolicy::default();
        let signature = self
            .algorithms(
                &config.signature_algorithms,
                SignatureAlgorithm::from_name,
                "signature",
            )
            .unwrap_or(usual.signature);
        let digest = self
            .algorithms(
                &config.digest_algorithms,
                DigestAlgorithm::from_name,
                "digest",
            )
            .unwrap_or(usual.digest);
        let signing = leaving
            .and_then(|element| self.inner_signing(config, &element.value, &signature, &digest));
        let verification = arriving.and_then(|element| {
            let trust = config.trust.as_ref().or(self.config.trust.as_ref());
            let Some(trust) = trust else {
                self.report_with_hint(
                    element.place,
                    "`trust` is needed to verify an inner signature",
                    "say whom to trust: inner = { …, trust = { pinned = [\"….cert.pem\"] } }",
                );
                return None;
            };
            Some(InnerVerification {
                element: element.value.clone(),
                trust: self.trust_store(trust)?,
                signature: signature.clone(),
                digest: digest.clone(),
                retirements: retirements(&self.config.security),
            })
        });
        Inner {
            signing,
            verification,
            ..Inner::default()
        }
    }

    fn inner_signing(
        &mut self,
        config: &InnerConfig,
        element: &InnerElement,
        signature: &[SignatureAlgorithm],
        digest: &[DigestAlgorithm],
    ) -> Option<InnerSigning> {
        let identity = config.identity.as_ref().or(self.config.identity.as_ref());
        let Some(identity) = identity else {
            self.report_with_hint(
                config.place,
                "`identity` is needed to sign an element by itself",
                "say whose key signs: inner = { …, identity = { key = \"….key.pem\", certificate = \"….cert.pem\" } }",
            );
            return None;
        };
        let identity = self.identity(identity, MaterialUse::Inner)?;
        let kind = identity.key().kind();
        let Some(signature) = signature.iter().find(|algorithm| algorithm.fits(kind)) else {
            self.report_with_hint(
                config.place,
                format!("the key that signs is {kind}, and no algorithm of `signature_algorithms` works with it"),
                "for example signature_algorithms = [\"rsa-sha256\", \"ecdsa-sha256\"]",
            );
            return None;
        };
        Some(InnerSigning {
            element: element.clone(),
            identity,
            signature: *signature,
            digest: digest.first().copied().unwrap_or(DigestAlgorithm::Sha256),
            id: config.id,
            key_info: config.key_info,
        })
    }
}
