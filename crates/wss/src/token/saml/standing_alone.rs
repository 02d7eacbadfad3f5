//! Assertions that messages are about: one that a token service is to validate, or one that proves
//! the subject of a delegation.
//!
//! The rule kept here: such an assertion proves nothing of the sender of its message. Its issuer's
//! signature and its life are proven as those of a sender's token are.

use jiff::Timestamp;
use soapstone_crypto::{Certificate, PublicKey};
use soapstone_xml::Element;

use super::assertion::Assertion;
use super::issuer::AssertionIssuer;
use super::policy::AssertionPolicy;
use super::subject::HolderKey;
use super::version::ConfirmationMethod;
use crate::envelope::expanded_name;
use crate::rejected::Rejected;

impl Assertion {
    /// Reads an assertion, and proves that one of `issuers` signed it, and that it and one of its
    /// confirmations hold now. For whom it is, [`is_for`](Self::is_for) tells.
    ///
    /// # Errors
    /// It is no assertion, or has a form, an issuer, a signature or a life that `policy` does not
    /// accept.
    pub fn verify(
        element: Element<'_>,
        issuers: &[AssertionIssuer],
        policy: &AssertionPolicy,
        now: Timestamp,
    ) -> Result<Self, Rejected> {
        let mut assertion = Self::read(element)?;
        if !policy.versions.contains(&assertion.version) {
            return Err(Rejected::TokenUnsupported {
                found: expanded_name(element),
            });
        }
        assertion.check_kind(policy)?;
        assertion.check_life(policy, now)?;
        assertion.check_confirmable(policy, now)?;
        let judged = assertion.check_issuer(element.document(), issuers, policy, now)?;
        let (signer, _) = judged.signer.ok_or(Rejected::AssertionUnsigned)?;
        assertion.signer = Some(signer);
        Ok(assertion)
    }

    /// The certificate by which its issuer was proven to have signed it.
    pub const fn signer(&self) -> Option<&Certificate> {
        self.signer.as_ref()
    }

    /// Whether each of its audience restrictions allows one of these, and there is one.
    pub fn is_for(&self, audiences: &[String]) -> bool {
        !audiences.is_empty() && self.conditions.check_audience(audiences).is_ok()
    }

    /// The audiences of all its restrictions.
    pub fn audiences(&self) -> impl Iterator<Item = &str> {
        self.conditions
            .audiences
            .iter()
            .flatten()
            .map(String::as_str)
    }

    /// Whether it is for one use.
    pub fn is_for_one_use(&self) -> bool {
        self.conditions.once
    }

    /// Whether it limits the assertions that others may make from it (SAML Core 2.0, 2.5.1.6).
    pub fn limits_proxies(&self) -> bool {
        self.conditions.limits_proxies
    }

    /// When it ends, as it says or by its age; or when the last of its confirmations ends, if that
    /// is earlier. Nobody is its subject any more then.
    pub fn expires(&self, policy: &AssertionPolicy) -> Timestamp {
        let end = self.end(policy);
        let confirmations = self.confirmations.iter().map(|one| one.life.end);
        let ends: Option<Vec<Timestamp>> = confirmations.collect();
        let last = ends.and_then(|ends| ends.into_iter().max());
        last.map_or(end, |last| last.min(end))
    }

    /// Whether a confirmation holds now, where there are some (SAML Core 2.0, 2.4.1.2).
    fn check_confirmable(&self, policy: &AssertionPolicy, now: Timestamp) -> Result<(), Rejected> {
        let mut refused = Ok(());
        for confirmation in &self.confirmations {
            match confirmation.life.check(policy.skew, now) {
                Ok(()) => return Ok(()),
                Err(rejected) => refused = Err(rejected),
            }
        }
        refused
    }

    /// The methods that confirm its subject.
    pub fn methods(&self) -> impl Iterator<Item = ConfirmationMethod> {
        self.confirmations.iter().map(|one| one.method)
    }

    /// The public keys of its holder.
    pub fn holder_keys(&self) -> impl Iterator<Item = &PublicKey> {
        let keys = self.confirmations.iter().flat_map(|one| &one.keys);
        keys.filter_map(|key| match key {
            HolderKey::Public(key, _) => Some(key),
            HolderKey::Wrapped(_) => None,
        })
    }
}
