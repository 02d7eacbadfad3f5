//! The key of a signature: which one its `ds:KeyInfo` means, whether it is believed, and what a
//! signature with it is there for.
//!
//! The one rule: the plan and the trust store decide which key a signature may be made with, and
//! its algorithm which kind of key.

use soapstone_crypto::{Certificate, KeyKind, SignatureFamily};
use soapstone_xml::NodeId;
use soapstone_xmlsec::dsig::Signature;

use super::assertion::holder_misused;
use super::authentic::{Found, Key};
use super::keyring::Keyring;
use super::message::Message;
use super::symmetric_keys::{Purpose, Wanted};
use crate::event::Event;
use crate::evidence::{SignatureRole, Signer};
use crate::key_locator::KeyLocator;
use crate::names::DS;
use crate::operation::Observer;
use crate::plan::CertificateRole;
use crate::rejected::Rejected;

impl Keyring {
    /// The key that the plan and the trust store accept for a signature; `item` is the signature.
    pub(super) fn signing_key(
        &mut self,
        message: &Message<'_>,
        signature: &Signature,
        by_secret: bool,
        observer: &mut Observer<'_>,
    ) -> Result<Found, Rejected> {
        let item = signature.node;
        if signature.method.family() == SignatureFamily::Hmac {
            let purpose = match by_secret {
                true => Purpose::Endorsing,
                false => Purpose::Verifying,
            };
            let wanted = Wanted { purpose, item };
            let resolved = self.symmetric_key(message, signature.key_info, wanted, observer)?;
            return Ok(Found {
                key: Key::Secret(resolved.key),
                signer: resolved.holder,
                root: None,
                token: resolved.token,
                by_name: false,
                info: None,
            });
        }
        let info = signature
            .key_info
            .ok_or_else(|| no_key("a signature without `ds:KeyInfo`"))?;
        let locator = KeyLocator::read(message.element(info))?;
        let chain = message.certificate(&locator)?;
        let mut found = Found {
            key: Key::Public(chain.certificate.public_key().clone()),
            signer: Signer::Certificate(chain.certificate.clone()),
            root: None,
            token: chain.token,
            by_name: chain.by_name,
            info: chain.inside.then_some(info),
        };
        observer.found(&message.envelope, || Event::KeyFound {
            user: item,
            named: Some(&locator),
            holder: &found.signer,
            token: found.token,
        });
        if message.demands().refuses_own_signatures && message.is_only_ours(&chain.certificate) {
            return Err(Rejected::Reflected);
        }
        let trust = message
            .plan
            .keys
            .trust
            .as_ref()
            .ok_or_else(|| no_key("a trust anchor"))?;
        let trusted = trust.root_of(&chain.certificate, &chain.intermediates, message.now);
        observer.found(&message.envelope, || Event::Trust {
            certificate: &chain.certificate,
            refused: trusted.as_ref().err(),
        });
        found.root = Some(trusted?);
        if let Some(token) = chain.token {
            self.note_use(token, item);
        }
        Ok(found)
    }
}

impl Message<'_> {
    /// Whether a signature is the one with which a symmetric key endorses. The message's own is
    /// made with a key of another kind there.
    pub(super) fn endorses_by_secret(&self, signature: &Signature) -> Result<bool, Rejected> {
        let is_hmac = signature.method.family() == SignatureFamily::Hmac;
        match &self.demands().endorsements.secret {
            Some(demand) if is_hmac => self.leads_to(demand.source, signature.key_info),
            _ => Ok(false),
        }
    }

    /// Refuses a private key that no demand of the plan takes, whatever its signature covers. Which
    /// demand takes it is for the comparison to say.
    pub(super) fn check_signer(&self, found: &Found) -> Result<(), Rejected> {
        let demands = self.demands();
        match (&found.key, &found.signer) {
            (Key::Public(_), Signer::Certificate(certificate)) => {
                let kind = certificate.public_key().kind();
                match demands.takes_signer_of(kind) {
                    true => Ok(()),
                    false => Err(no_rsa(kind)),
                }
            }
            (Key::Public(_), Signer::Holder { .. }) if !demands.takes_holder() => {
                Err(holder_misused())
            }
            _ => Ok(()),
        }
    }

    /// What a signature is there for. Where the message's own signature is made with a symmetric
    /// key, one by certificate endorses it, or by another symmetric key; where both are made with
    /// certificates, the one that covers a signature does.
    pub(super) fn role_of(&self, key: &Key, by_secret: bool, nodes: &[NodeId]) -> SignatureRole {
        let covers_signature = || {
            let is_signature = |node: &NodeId| self.element(*node).is(DS, "Signature");
            nodes.iter().any(is_signature)
        };
        let signature = self.demands().signature.as_ref();
        let by_certificate = signature.map(|signature| signature.by_certificate);
        let endorses = match (key, by_certificate) {
            (Key::Secret(_), _) => by_secret,
            (Key::Public(_), Some(CertificateRole::Message)) => false,
            (Key::Public(_), Some(CertificateRole::ByCoverage)) => covers_signature(),
            (Key::Public(_), Some(CertificateRole::Endorsing) | None) => true,
        };
        if endorses {
            SignatureRole::Endorsing
        } else {
            SignatureRole::Message
        }
    }

    /// Whether a certificate is for a key of ours, and neither the peer's nor pinned. Another one
    /// of ours for the same key may be known to the trust store: what our key signed is ours
    /// under any name.
    pub(super) fn is_only_ours(&self, certificate: &Certificate) -> bool {
        let keys = &self.plan.keys;
        let key = certificate.public_key().key_bits();
        let is_it = |other: &Certificate| other.der() == certificate.der();
        let pinned = keys.trust.iter().flat_map(|trust| &trust.rules().pinned);
        let mut own = keys.own().map(|identity| identity.certificate());
        own.any(|own| own.public_key().key_bits() == key)
            && !keys.peer.iter().chain(pinned).any(is_it)
    }
}

/// That a policy wants a private key of RSA, and found one of this kind.
pub(super) fn no_rsa(kind: KeyKind) -> Rejected {
    Rejected::TokenUnsupported {
        found: format!("a key of kind {kind}, where the policy wants one of RSA"),
    }
}

fn no_key(reference: &str) -> Rejected {
    Rejected::KeyNotFound {
        reference: reference.to_owned(),
    }
}
