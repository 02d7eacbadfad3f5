//! Whether a message is of the subject of its assertion (SAML Token Profile 1.1.1, 3.5).
//!
//! The one rule: an assertion alone proves nobody. Each method asks for something that a thief of
//! the assertion does not have.

use jiff::Timestamp;
use soapstone_crypto::{Certificate, HolderName};

use super::assertion::Assertion;
use super::policy::{AssertionPolicy, AssertionProtection, HolderUse};
use super::subject::{Confirmation, HolderKey, unconfirmed};
use super::version::ConfirmationMethod;
use crate::rejected::Rejected;

/// What is known of how an assertion was presented.
pub(crate) struct Presentation<'a> {
    /// Whether the issuer signed it.
    pub(crate) is_signed: bool,
    /// The signatures that were made with keys which not everybody has.
    pub(crate) signatures: Vec<PresentedSignature<'a>>,
    /// The certificate that the client proved while the connection was made.
    pub(crate) client_certificate: Option<&'a Certificate>,
    pub(crate) now: Timestamp,
}

/// A signature of the message, as far as a confirmation asks for it.
pub(crate) struct PresentedSignature<'a> {
    /// Whose certificate made it, where the trust store knows it.
    pub(crate) certificate: Option<&'a Certificate>,
    /// Whether it was made with the key of this assertion's holder, which it names.
    pub(crate) by_holder: bool,
    /// Whether it covers the Body, or endorses a signature that does.
    pub(crate) covers_body: bool,
    /// Whether it covers the assertion and the Body together.
    pub(crate) covers_both: bool,
    /// Whether nobody but its signer can have made it.
    pub(crate) is_personal: bool,
}

impl Assertion {
    /// The confirmation that confirms the subject: any one of them is enough (SAML Core 2.0,
    /// 2.4.1).
    pub(crate) fn confirm(
        &self,
        policy: &AssertionPolicy,
        presented: &Presentation<'_>,
    ) -> Result<&Confirmation, Rejected> {
        let mut refused = None;
        // One of which a policy ignores something counts where no other one does.
        let of_way = |one: &&Confirmation| one.tells_of_the_way();
        let others = self.confirmations.iter().filter(|one| !of_way(one));
        for confirmation in others.chain(self.confirmations.iter().filter(of_way)) {
            match confirmation.check(policy, presented) {
                Ok(()) => return Ok(confirmation),
                Err(rejected) => refused = refused.or(Some(rejected)),
            }
        }
        Err(refused.unwrap_or_else(|| unconfirmed("it has no confirmation of a known method")))
    }

    /// The one key of the holder, for a signature that names the assertion. None, where no method
    /// that is accepted has a key.
    pub(crate) fn holder_key(&self, policy: &AssertionPolicy) -> Result<&HolderKey, Rejected> {
        let by_key = self
            .confirmations
            .iter()
            .filter(|one| one.method == ConfirmationMethod::HolderOfKey);
        let mut keys = by_key.flat_map(|one| &one.keys);
        let accepted = policy.accepts(ConfirmationMethod::HolderOfKey);
        match (keys.next().filter(|_| accepted), keys.next()) {
            (Some(key), None) => Ok(key),
            (None, _) => Err(Rejected::KeyNotFound {
                reference: format!("the holder of the assertion `{}`", self.id),
            }),
            (Some(_), Some(_)) => Err(Rejected::KeyMisused {
                problem: "expected one holder's key in the assertion that a signature names, found several"
                    .to_owned(),
            }),
        }
    }
}

impl Confirmation {
    fn check(
        &self,
        policy: &AssertionPolicy,
        presented: &Presentation<'_>,
    ) -> Result<(), Rejected> {
        let method = self.method;
        if !policy.accepts(method) {
            let name = method.name();
            return Err(unconfirmed(format!("the method {name} is not accepted")));
        }
        if !presented.is_signed && method != ConfirmationMethod::SenderVouches {
            return Err(Rejected::AssertionUnsigned);
        }
        self.check_data(policy, presented.now)?;
        let by_connection = policy.protection == AssertionProtection::Connection;
        let is_confirmed = match method {
            ConfirmationMethod::Bearer => {
                let mut signatures = presented.signatures.iter();
                by_connection || signatures.any(|one| one.covers_both && one.is_personal)
            }
            ConfirmationMethod::HolderOfKey => self.is_held(policy, presented),
            ConfirmationMethod::SenderVouches => {
                let may_vouch = |certificate: &Certificate| {
                    let mut attesters = policy.attesters.iter();
                    let is = |name: HolderName| name.has(certificate);
                    attesters.any(|text| HolderName::parse(text).is_ok_and(is))
                };
                let vouches = |one: &PresentedSignature<'_>| {
                    one.covers_both && one.certificate.is_some_and(may_vouch)
                };
                presented.signatures.iter().any(vouches)
                    || by_connection && presented.client_certificate.is_some_and(may_vouch)
            }
        };
        match is_confirmed {
            true => Ok(()),
            false => Err(unconfirmed(match method {
                ConfirmationMethod::Bearer => "no signature covers it together with the Body",
                ConfirmationMethod::HolderOfKey => {
                    "its holder's key did not sign the message, and was not shown by the connection"
                }
                ConfirmationMethod::SenderVouches => {
                    "nobody who may vouch for others signed it together with the Body"
                }
            })),
        }
    }

    /// Whether the key of a certificate is one that this confirmation names. Keys of others may be
    /// other holders' (SAML Core 2.0, 2.4.1.3).
    pub(crate) fn is_of(&self, certificate: &Certificate) -> bool {
        let shown = certificate.public_key();
        let mut keys = self.keys.iter();
        keys.any(|key| matches!(key, HolderKey::Public(key, _) if key == shown))
    }

    /// Whether the holder's key made a signature of the message, or the connection.
    fn is_held(&self, policy: &AssertionPolicy, presented: &Presentation<'_>) -> bool {
        let by_connection = policy.protection == AssertionProtection::Connection;
        let is_ours = |certificate: &Certificate| self.is_of(certificate);
        let signs = |one: &PresentedSignature<'_>| {
            (one.covers_body || by_connection)
                && (one.by_holder || one.certificate.is_some_and(is_ours))
        };
        // What the connection is to show, no signature stands for.
        let is_signed = policy.holder != HolderUse::Connects;
        is_signed && presented.signatures.iter().any(signs)
            || by_connection && presented.client_certificate.is_some_and(is_ours)
    }
}
