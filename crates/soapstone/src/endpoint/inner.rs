//! From the `[inner]` table to what signs and verifies elements of the Body by themselves.
//!
//! The rule kept here: what is verified stands in a message that is proven already, and nothing of
//! a message that fails is given out.

use jiff::Timestamp;
use soapstone_crypto::{DigestAlgorithm, SignatureAlgorithm};
use soapstone_wss::{
    AssertionPolicy, InnerEvidence, InnerSigning, InnerVerification, Opened, Rejected, SecureError,
};
use soapstone_xml::{Buffers, Limits};

use super::compiler::Compiler;
use super::dated::DatedUse;
use super::role::Role;
use crate::config::InnerConfig;

/// Signatures inside of the Body, of each direction.
#[derive(Debug, Default)]
pub(super) struct Inner {
    /// Of messages that leave.
    signing: Option<InnerSigning>,
    /// Of messages that arrive.
    verification: Option<InnerVerification>,
}

impl Inner {
    /// A plain message with its inner signature, if it is to have one.
    pub(super) fn signed(
        &self,
        plain: Vec<u8>,
        limits: &Limits,
        buffers: &mut Buffers,
    ) -> Result<Vec<u8>, SecureError> {
        match &self.signing {
            Some(signing) => signing.sign(plain, limits, buffers),
            None => Ok(plain),
        }
    }

    /// What an inner signature proves of a message, if it is to have one.
    pub(super) fn verified(
        &self,
        opened: &Opened,
        now: Timestamp,
    ) -> Result<Option<InnerEvidence>, Rejected> {
        match &self.verification {
            Some(verification) => opened.examine(|envelope| verification.verify(envelope, now)),
            None => Ok(None),
        }
    }

    /// Whether messages of either direction have an inner signature.
    pub(super) fn is_used(&self) -> bool {
        self.signs() || self.verifies()
    }

    /// Whether messages that leave are signed.
    pub(super) fn signs(&self) -> bool {
        self.signing.is_some()
    }

    /// Whether messages that arrive must be signed.
    pub(super) fn verifies(&self) -> bool {
        self.verification.is_some()
    }

    /// Whether the key that signs is held elsewhere.
    pub(super) fn waits_for_keys(&self) -> bool {
        let signing = self.signing.as_ref();
        signing.is_some_and(|signing| signing.identity.key().is_external())
    }
}

impl Compiler<'_> {
    /// The inner signatures that the file has messages carry.
    pub(super) fn inner(&mut self, role: Role, in_conversation: bool) -> Inner {
        let Some(config) = &self.config.inner else {
            return Inner::default();
        };
        if in_conversation {
            self.report_with_hint(
                config.place,
                "inner signatures in conversations are not supported",
                "take a mechanism for single messages",
            );
            return Inner::default();
        }
        let (leaving, arriving) = match role {
            Role::Secure => (&config.requests, &None),
            Role::Open => (&None, &config.requests),
            Role::Service => (&config.answers, &config.requests),
            Role::Client => (&config.requests, &config.answers),
        };
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
            .as_ref()
            .and_then(|element| self.inner_signing(config, &element.value, &signature, &digest));
        let verification = arriving.as_ref().and_then(|element| {
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
            })
        });
        Inner {
            signing,
            verification,
        }
    }

    fn inner_signing(
        &mut self,
        config: &InnerConfig,
        element: &soapstone_wss::InnerElement,
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
        let identity = self.identity(identity, DatedUse::Inner)?;
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
