//! How a session key came, and which private key of ours it is for.
//!
//! The one rule: what the plan's suite does not list is refused before a key is touched.

use std::sync::Arc;

use soapstone_crypto::{Certificate, Identity, KeyKind};
use soapstone_xmlsec::enc::{EncryptedKey, KeyEncryption};

use super::algorithms::not_allowed;
use super::key_agreement::Agreement;
use super::message::Message;
use crate::evidence::{Evidence, KeyEvidence};
use crate::key_locator::KeyLocator;
use crate::rejected::{AlgorithmUse, Rejected};
use crate::suite::KeyTransportMethod;

impl Message<'_> {
    /// How the key is encrypted, if the suite lists it; with the agreement, where there is one.
    pub(super) fn key_method(
        &self,
        wrapped: &EncryptedKey,
        evidence: &mut Evidence,
    ) -> Result<(KeyEvidence, Option<Agreement>), Rejected> {
        let suite = &self.demands().suite;
        let transports = || {
            let transports = suite.key_transport.iter();
            let agreements = suite.key_agreement.iter();
            let wraps = agreements.map(|one| one.wrap.short_name());
            transports
                .map(|one| one.algorithm.short_name())
                .chain(wraps)
        };
        let refused = |found: &str| not_allowed(AlgorithmUse::KeyTransport, found, transports());
        match &wrapped.method {
            KeyEncryption::Wrap(wrap) if !suite.key_agreement.is_empty() => {
                let agreement = self.agreement(wrapped, *wrap)?;
                self.note_weak(evidence, wrap.is_weak(), wrap.short_name())?;
                Ok((KeyEvidence::Agreement(agreement.listed), Some(agreement)))
            }
            KeyEncryption::Transport { algorithm, oaep } => {
                let found = KeyTransportMethod {
                    algorithm: *algorithm,
                    digest: oaep.digest,
                    mask: oaep.mgf,
                };
                if !suite.key_transport.iter().any(|one| one.accepts(&found)) {
                    return Err(refused(&format!(
                        "{} with digest {} and mask {}",
                        algorithm.uri(),
                        oaep.digest,
                        oaep.mgf
                    )));
                }
                self.note_weak(evidence, algorithm.is_weak(), algorithm.short_name())?;
                Ok((KeyEvidence::Transport(found), None))
            }
            other => Err(refused(other.uri())),
        }
    }

    /// The key pair of ours that a session key is for: the one that is named, where one is, and
    /// that can do what was done.
    pub(super) fn decrypting(
        &self,
        locator: Option<&KeyLocator>,
        method: KeyEvidence,
    ) -> Result<Arc<Identity>, Rejected> {
        let token = match locator {
            Some(KeyLocator::Certificate(_)) => None,
            Some(locator) if locator.is_carried() => Some(self.certificate(locator)?.certificate),
            _ => None,
        };
        let is_meant = |own: &Certificate| match (&token, locator) {
            (Some(token), _) => token.der() == own.der(),
            (None, Some(locator)) => locator.names(own),
            (None, None) => true,
        };
        let fits = |kind| match method {
            KeyEvidence::Transport(_) => matches!(kind, KeyKind::Rsa { .. }),
            KeyEvidence::Agreement(agreement) => agreement.algorithm.fits(kind),
        };
        let found = self
            .plan
            .keys
            .decrypting()
            .find(|one| is_meant(one.certificate()) && fits(one.key().kind()));
        found.cloned().ok_or_else(|| Rejected::KeyNotFound {
            reference: match locator {
                Some(locator) => locator.to_string(),
                None => match method {
                    KeyEvidence::Transport(transport) => {
                        format!("a private key of ours for {}", transport.algorithm)
                    }
                    KeyEvidence::Agreement(agreement) => {
                        format!("a private key of ours for {}", agreement.algorithm)
                    }
                },
            },
        })
    }
}
