//! Assertions that messages are about: one that a token service is to validate, or one that proves
//! the subject of a delegation.
//!
//! The rule kept here: such an assertion proves nothing of the sender of its message. Its issuer's
//! signature and its life are proven as those of a sender's token are.

use jiff::Timestamp;
use soapstone_crypto::PublicKey;
use soapstone_xml::Element;

use super::assertion::Assertion;
use super::issuer::AssertionIssuer;
use super::policy::AssertionPolicy;
use super::subject::HolderKey;
use super::version::ConfirmationMethod;
use crate::envelope::expanded_name;
use crate::rejected::Rejected;

impl Assertion {
    /// Reads an assertion, and proves that one of `issuers` signed it and that it holds now. For
    /// whom it is, [`is_for`](Self::is_for) tells.
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
        let assertion = Self::read(element)?;
        if !policy.versions.contains(&assertion.version) {
            return Err(Rejected::TokenUnsupported {
                found: expanded_name(element),
            });
        }
        assertion.check_life(policy, now)?;
        let judged = assertion.check_issuer(element.document(), issuers, policy, now)?;
        match judged.signed {
            true => Ok(assertion),
            false => Err(Rejected::AssertionUnsigned),
        }
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

    /// When it ends: as it says, or by its age.
    pub fn expires(&self, policy: &AssertionPolicy) -> Timestamp {
        self.end(policy)
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
