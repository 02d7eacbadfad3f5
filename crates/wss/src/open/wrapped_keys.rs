//! How a session key came, and which private key of ours it is for.
//!
//! The one rule: what the plan's suite does not list is refused before a key is touched.

use std::sync::Arc;

use soapstone_crypto::{Certificate, Identity, KeyKind};
use soapstone_xml::Document;
use soapstone_xmlsec::enc::{EncryptedKey, KeyEncryption};

use super::algorithms::not_allowed;
use super::key_agreement::{Agreement, agreement};
use super::message::Message;
use crate::evidence::{Evidence, KeyEvidence};
use crate::key_locator::KeyLocator;
use crate::rejected::{AlgorithmUse, Rejected};
use crate::suite::{KeyTransportMethod, Suite};
use crate::token::SamlVersion;

/// How a key is encrypted, if the suite lists it; with the agreement, where there is one.
pub(super) fn listed_method(
    document: &Document,
    suite: &Suite,
    wrapped: &EncryptedKey,
) -> Result<(KeyEvidence, Option<Agreement>), Rejected> {
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
            let agreement = agreement(document, suite, wrapped, *wrap)?;
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
            Ok((KeyEvidence::Transport(found), None))
        }
        other => Err(refused(other.uri())),
    }
}

/// What names the private key that an `EncryptedKey` is for, where something does.
pub(super) fn recipient_of(
    document: &Document,
    wrapped: &EncryptedKey,
    agreement: Option<&Agreement>,
) -> Result<Option<KeyLocator>, Rejected> {
    let info = match agreement {
        Some(agreement) => agreement.method.recipient,
        None => wrapped.key_info,
    };
    info.map(|info| KeyLocator::read(document.element(info)))
        .transpose()
}

impl KeyEvidence {
    /// Whether a key that came so can be opened with a private key of this kind.
    pub(super) fn fits(self, kind: KeyKind) -> bool {
        match self {
            Self::Transport(_) => matches!(kind, KeyKind::Rsa { .. }),
            Self::Agreement(agreement) => agreement.algorithm.fits(kind),
        }
    }

    /// Whether the algorithm that encrypts the key is weak, and its short name.
    pub(super) fn weakness(self) -> (bool, &'static str) {
        match self {
            Self::Transport(method) => (method.algorithm.is_weak(), method.algorithm.short_name()),
            Self::Agreement(method) => (method.wrap.is_weak(), method.wrap.short_name()),
        }
    }

    /// What is looked for where a key comes so and names no certificate.
    pub(super) fn unnamed(self) -> String {
        match self {
            Self::Transport(transport) => {
                format!("a private key of ours for {}", transport.algorithm)
            }
            Self::Agreement(agreement) => {
                format!("a private key of ours for {}", agreement.algorithm)
            }
        }
    }
}

impl Message<'_> {
    /// How the key is encrypted, if the suite lists it; with the agreement, where there is one.
    pub(super) fn key_method(
        &self,
        wrapped: &EncryptedKey,
        evidence: &mut Evidence,
    ) -> Result<(KeyEvidence, Option<Agreement>), Rejected> {
        let suite = &self.demands().suite;
        let (method, agreement) = listed_method(self.document(), suite, wrapped)?;
        let (weak, name) = method.weakness();
        self.note_weak(evidence, weak, name)?;
        Ok((method, agreement))
    }

    /// The key pair among `ours` that a wrapped key is for: the one that is named, where one is,
    /// and that can do what was done.
    pub(super) fn decrypting(
        &self,
        ours: &[Arc<Identity>],
        locator: Option<&KeyLocator>,
        method: KeyEvidence,
    ) -> Result<Arc<Identity>, Rejected> {
        let token = match locator {
            Some(KeyLocator::Certificate(_)) => None,
            Some(KeyLocator::Assertion { version, id }) => self.holder_of(*version, id),
            Some(locator) if locator.is_carried() => Some(self.certificate(locator)?.certificate),
            _ => None,
        };
        let is_meant = |own: &Certificate| match (&token, locator) {
            (Some(token), _) => token.der() == own.der(),
            (None, Some(locator)) => locator.names(own),
            (None, None) => true,
        };
        let mut ours = ours.iter();
        let found = ours.find(|one| is_meant(one.certificate()) && method.fits(one.key().kind()));
        found.cloned().ok_or_else(|| Rejected::KeyNotFound {
            reference: locator.map_or_else(|| method.unnamed(), ToString::to_string),
        })
    }

    /// The certificate that an answer means by the assertion of its request (SAML Token Profile
    /// 1.1.1, 3.4). The answer itself has no such assertion.
    fn holder_of(&self, version: SamlVersion, id: &str) -> Option<Certificate> {
        let request = self.facts.request.as_ref();
        let held = request.and_then(|request| request.held.as_ref());
        let held = held.filter(|held| held.version == version && held.id == id);
        held.map(|held| held.certificate.clone())
    }
}
