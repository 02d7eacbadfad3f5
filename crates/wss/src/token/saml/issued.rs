//! An assertion that a token service made for us, judged before it is sent anywhere.
//!
//! The one rule: it is what was asked for, or it is not used. Its receiver judges it again; a token
//! for somebody else would only tell that receiver of a user that is not meant.

use std::fmt;

use jiff::Timestamp;
use soapstone_crypto::PublicKey;
use soapstone_xml::Element;

use super::assertion::Assertion;
use super::issuer::AssertionIssuer;
use super::outgoing::AssertionToken;
use super::policy::AssertionPolicy;
use super::said::NameIdentifier;
use super::subject::{HolderKey, unconfirmed};
use super::version::{ConfirmationMethod, SamlVersion};
use crate::rejected::Rejected;

/// The key of an assertion that was asked for.
#[derive(Clone, Copy, Debug)]
pub enum WantedHolder<'w> {
    /// None: whoever has the assertion is to be the subject.
    Bearer,
    /// This one, of which we hold the private half.
    Public(&'w PublicKey),
    /// A symmetric one, which is enciphered for the receiver.
    Wrapped,
}

/// The assertion that was asked for.
#[derive(Clone, Copy, Debug)]
pub struct WantedAssertion<'w> {
    /// The version.
    pub version: SamlVersion,
    /// Its key.
    pub holder: WantedHolder<'w>,
    /// Who may issue it. Empty, where the security of the answer is all that proves it.
    pub issuers: &'w [AssertionIssuer],
    /// Audiences, clocks and algorithms.
    pub policy: &'w AssertionPolicy,
}

/// An assertion that a token service made for us.
#[derive(Clone)]
#[non_exhaustive]
pub struct IssuedAssertion {
    /// The assertion.
    pub token: AssertionToken,
    /// Who says that he made it.
    pub issuer: String,
    /// All that names whom it is about: beside the name itself, its format and what qualifies it.
    pub name: NameIdentifier,
    /// When it ends.
    pub ends: Timestamp,
    /// Whether it is for one use (SAML Core 2.0, 2.5.1.5; SAML Core 1.1, 2.3.2.1.4).
    pub once: bool,
    /// Short names of the weak algorithms that its issuer signed with.
    pub weak: Vec<&'static str>,
}

impl fmt::Debug for IssuedAssertion {
    /// Without the assertion, which is a secret where its bearer is the subject.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("IssuedAssertion")
            .field("token", &self.token)
            .field("issuer", &self.issuer)
            .field("ends", &self.ends)
            .field("once", &self.once)
            .finish_non_exhaustive()
    }
}

impl IssuedAssertion {
    /// Judges the assertion that stands in an answer.
    ///
    /// # Errors
    /// It is another one than the one that was asked for.
    pub fn judge(
        element: Element<'_>,
        wanted: WantedAssertion<'_>,
        now: Timestamp,
    ) -> Result<Self, Rejected> {
        let assertion = Assertion::read(element)?;
        if assertion.version != wanted.version {
            return Err(Rejected::TokenUnsupported {
                found: format!("an assertion of SAML {}", assertion.version.name()),
            });
        }
        assertion.check_kind(wanted.policy)?;
        assertion.check_conditions(wanted.policy, now)?;
        let ends = assertion.check_holder(wanted.holder, wanted.policy)?;
        if ends <= now {
            return Err(Rejected::AssertionExpired {
                expired: ends,
                now,
                skew: 0,
            });
        }
        let document = element.document();
        let weak = match wanted.issuers {
            [] => Vec::new(),
            issuers => {
                let judged = assertion.check_issuer(document, issuers, wanted.policy, now)?;
                if judged.signer.is_none() {
                    return Err(Rejected::AssertionUnsigned);
                }
                judged.weak
            }
        };
        Ok(Self {
            token: AssertionToken::of(document, element.id())?,
            issuer: assertion.issuer,
            name: assertion.subject,
            ends,
            once: assertion.conditions.once,
            weak,
        })
    }
}

impl Assertion {
    /// When the assertion ends for the one that it is to confirm: whoever has it, or whoever holds
    /// that key and no other.
    fn check_holder(
        &self,
        holder: WantedHolder<'_>,
        policy: &AssertionPolicy,
    ) -> Result<Timestamp, Rejected> {
        let (method, other) = match holder {
            WantedHolder::Bearer => (ConfirmationMethod::Bearer, ""),
            WantedHolder::Public(_) => (
                ConfirmationMethod::HolderOfKey,
                "it names another key than the one that was shown",
            ),
            WantedHolder::Wrapped => (
                ConfirmationMethod::HolderOfKey,
                "it has another key than one that is enciphered for its receiver",
            ),
        };
        let mut ends = self.end(policy);
        for confirmation in &self.confirmations {
            if confirmation.method != method {
                let name = confirmation.method.name();
                return Err(unconfirmed(format!("the method {name} was not asked for")));
            }
            let is_wanted = match (holder, &confirmation.keys[..]) {
                (WantedHolder::Bearer, _) => true,
                (WantedHolder::Public(wanted), [HolderKey::Public(key, _)]) => key == wanted,
                (WantedHolder::Wrapped, [HolderKey::Wrapped(_)]) => true,
                _ => false,
            };
            if !is_wanted {
                return Err(unconfirmed(other));
            }
            ends = confirmation.life.end.map_or(ends, |end| end.min(ends));
        }
        match self.confirmations.is_empty() {
            true => Err(unconfirmed("it has no confirmation of a known method")),
            false => Ok(ends),
        }
    }
}
