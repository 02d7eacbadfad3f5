//! What can be wrong with a policy, whatever the keys and the tokens: algorithms that are not
//! there, demands that fit no message.
//!
//! The one rule: what a policy must not demand of one kind of token stands in the module of that
//! kind ([`crate::token`]).

use soapstone_crypto::KeyDerivation;

use super::PlanProblem;
use crate::binding::KeyBinding;
use crate::names::ULTIMATE_RECEIVER;
use crate::policy::Policy;
use crate::supporting::EndorsingToken;
use crate::token::{broken, wrong_demands};

impl Policy {
    /// Everything that is wrong.
    pub(super) fn check(&self, problems: &mut Vec<PlanProblem>) {
        problems.extend(self.missing_algorithms());
        problems.extend(self.wrong_parts());
        problems.extend(self.wrong_attachments());
        let combination = |problem| PlanProblem::Combination { problem };
        let wrong = self.wrong_combinations().chain(wrong_demands(self));
        problems.extend(wrong.map(combination));
    }

    fn missing_algorithms(&self) -> impl Iterator<Item = PlanProblem> {
        let suite = &self.suite;
        let (signature, encryption) = (self.signature(), self.encryption());
        let signs = signature.is_some();
        let by_key = signature.is_some_and(|one| one.key != KeyBinding::Certificate);
        let wraps_none = suite.key_transport.is_empty() && suite.key_agreement.is_empty();
        let unwraps = self.wraps_key() || self.hides_assertion() || self.proves_by_key();
        let public = self.signs_by_certificate() || self.endorses_by_certificate();
        let secret = by_key || self.endorsing_secret().is_some();
        let signs_none =
            public && suite.signature.is_empty() || secret && suite.symmetric_signature.is_empty();
        let missing = [
            (unwraps && wraps_none, "key transport or key agreement"),
            (signs && suite.digest.is_empty(), "digest"),
            (
                signs && suite.canonicalization.is_empty(),
                "canonicalization",
            ),
            (signs_none, "signature"),
            (
                (encryption.is_some() || self.hides_assertion()) && suite.data.is_empty(),
                "data encryption",
            ),
        ];
        let missing = missing.into_iter().filter(|(is_missing, _)| *is_missing);
        missing.map(|(_, purpose)| PlanProblem::NoAlgorithm { purpose })
    }

    /// Demands that fit no message, or not each other, whichever tokens there are.
    fn wrong_combinations(&self) -> impl Iterator<Item = &'static str> {
        let beside = || self.endorsing_beside();
        let hides = |token: &EndorsingToken| token.encrypted && !self.is_by_connection();
        let from_password =
            |one: &crate::suite::KeyAgreementMethod| one.derivation == KeyDerivation::Pbkdf2;
        let no_timestamp = self.has_security() && self.header.timestamp.is_none();
        let passes_on = self.header.intermediary.is_some();
        let actor = self.header.actor.as_deref();
        let is_last = actor.is_none_or(|actor| actor.is_empty() || actor == ULTIMATE_RECEIVER);
        let problems = [
            (
                passes_on && is_last,
                "an intermediary has an actor: a header without one is for the last node",
            ),
            (
                passes_on && self.demands_nothing(),
                "an intermediary that demands nothing proves nothing",
            ),
            (
                self.suite.key_agreement.iter().any(from_password),
                "a key that was agreed on is derived with ConcatKDF or HKDF, not as from a password",
            ),
            (
                self.header.layout.places_timestamp() && no_timestamp,
                "the layout says where the Timestamp stands, and the policy has none",
            ),
            (
                self.signature().is_none() && beside().next().is_some(),
                "an endorsing signature needs a signature to endorse",
            ),
            (
                beside().any(hides) && !self.binding.encrypts(),
                "the token of an endorsing signature is to be encrypted, and nothing says with which key",
            ),
            (
                beside().next().is_some() && beside().count() >= self.limits.signatures,
                "more endorsing signatures are demanded than a message may have",
            ),
        ];
        broken(problems)
    }
}
