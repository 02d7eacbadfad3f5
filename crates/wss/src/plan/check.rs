//! What can be wrong with a policy, whatever the keys: algorithms that are not there, tokens that
//! fit no message.

use soapstone_crypto::KeyDerivation;

use super::PlanProblem;
use crate::binding::{KeyBinding, KeyReference, ProtectionOrder};
use crate::conversation::{LONGEST_KEY, SHORTEST_KEY};
use crate::names::ULTIMATE_RECEIVER;
use crate::part::Part;
use crate::policy::Policy;
use crate::supporting::{EndorsingToken, SupportingToken};
use crate::token::{AssertionPolicy, AssertionProtection, ConfirmationMethod};
use crate::username::{PasswordKeyPolicy, PasswordKind, Presence, UsernamePolicy};

impl Policy {
    /// Everything that is wrong.
    pub(super) fn check(&self, problems: &mut Vec<PlanProblem>) {
        problems.extend(self.missing_algorithms());
        problems.extend(self.wrong_parts());
        problems.extend(self.wrong_attachments());
        let combination = |problem| PlanProblem::Combination { problem };
        problems.extend(self.wrong_combinations().map(combination));
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

    /// Demands that fit no message, or not each other.
    fn wrong_combinations(&self) -> impl Iterator<Item = &'static str> {
        let general = self.wrong_generally();
        general
            .chain(self.wrong_assertions())
            .chain(self.wrong_sessions())
            .chain(self.wrong_passwords())
    }

    fn wrong_generally(&self) -> impl Iterator<Item = &'static str> {
        let beside = || self.endorsing_beside();
        let hides = |token: &EndorsingToken| token.encrypted && !self.is_by_connection();
        let from_password =
            |one: &crate::suite::KeyAgreementMethod| one.derivation == KeyDerivation::Pbkdf2;
        let own = self
            .endorsing()
            .filter_map(|token| token.key.derived_keys());
        let mut derived = self.derived_keys().into_iter().chain(own);
        let fits = |length| (SHORTEST_KEY..=LONGEST_KEY).contains(&length);
        let is_user = |token: &&SupportingToken| matches!(token, SupportingToken::Username(_));
        let no_timestamp = self.has_security() && self.header.timestamp.is_none();
        let digests_alone = |username: &UsernamePolicy| {
            let lacks = [username.nonce, username.created].contains(&Presence::Absent);
            username.passwords.contains(&PasswordKind::Digest) && lacks
        };
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
                self.username().is_some_and(digests_alone),
                "a password digest has a nonce and the time of its making: without them it can be repeated",
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
                !derived.all(|derived| fits(derived.signature_length)),
                "a derived signature key has 16 to 64 bytes",
            ),
            (
                self.supporting.iter().filter(is_user).count() > 1,
                "a message has one user",
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
        let problems = problems.into_iter().filter(|(is_wrong, _)| *is_wrong);
        problems.map(|(_, problem)| problem)
    }

    /// Of assertions.
    fn wrong_assertions(&self) -> impl Iterator<Item = &'static str> {
        let assertion = self.assertion();
        let is_assertion =
            |token: &&SupportingToken| matches!(token, SupportingToken::Assertion(_));
        let accepts_nothing =
            |one: &AssertionPolicy| one.methods.is_empty() || one.versions.is_empty();
        let needs_signature =
            |one: &AssertionPolicy| one.protection == AssertionProtection::Signature;
        let hides = self.hides_assertion();
        let by_proof = self.uses(KeyBinding::Assertion);
        let accepts_holder = |one: &AssertionPolicy| one.accepts(ConfirmationMethod::HolderOfKey);
        let encrypts_first = self.order() == ProtectionOrder::EncryptBeforeSigning;
        let problems = [
            (
                hides && (self.encrypts(&Part::Assertion) || self.header.intermediary.is_some()),
                "an assertion has one cipher text: its own, for the last node, or that of the message",
            ),
            (
                by_proof && self.signature().is_none(),
                "the symmetric key of an assertion's holder encrypts for somebody whom a signature with it proves",
            ),
            (
                self.proves_by_key() && !assertion.is_some_and(accepts_holder),
                "messages are protected with the key of an assertion's holder, and holder-of-key is not accepted",
            ),
            (
                self.is_endorsed_by_holder() && encrypts_first && self.encrypts(&Part::Assertion),
                "an assertion whose holder endorses is deciphered before his signature is verified: it is signed before it is encrypted",
            ),
            (
                self.is_endorsed_by_proof_key() && !self.is_endorsed_by_holder(),
                "the symmetric key of an assertion's holder endorses, and no assertion is demanded whose holder does",
            ),
            (
                by_proof && self.encrypts(&Part::Assertion)
                    || self.proves_by_key() && hides && self.encryption().is_some(),
                "the key inside of an assertion that is encrypted deciphers nothing: its signature could not be verified before",
            ),
            (
                hides
                    && self.encryption().is_some()
                    && self
                        .suite
                        .data
                        .first()
                        .is_some_and(|it| !it.is_authenticated()),
                "without authentication one key deciphers a message: beside an assertion with cipher text of its own the message needs AES-GCM",
            ),
            (
                hides && encrypts_first && self.signs(&Part::Assertion),
                "an assertion with cipher text of its own is signed before it is enciphered",
            ),
            (
                self.supporting.iter().filter(is_assertion).count() > 1,
                "a message has one assertion",
            ),
            (
                assertion.is_some_and(accepts_nothing),
                "an assertion needs a version and a confirmation that are accepted",
            ),
            (
                assertion.is_some_and(|one| one.by_reference && one.encrypted),
                "an assertion that a message only names is fetched in the clear, and one in cipher text of its own is demanded",
            ),
            (
                self.is_endorsed_by_holder() && self.endorsing().count() != 1,
                "the holder of an assertion endorses alone",
            ),
            (
                assertion.is_some_and(needs_signature) && self.signature().is_none(),
                "an assertion is tied to its message by a signature, or by a connection that protects both",
            ),
        ];
        let problems = problems.into_iter().filter(|(is_wrong, _)| *is_wrong);
        problems.map(|(_, problem)| problem)
    }

    /// Of contexts and of Kerberos tokens, which hold a session's key.
    fn wrong_sessions(&self) -> impl Iterator<Item = &'static str> {
        let beside = || self.endorsing_beside();
        let count = |kind| beside().filter(|token| token.key.kind() == kind).count();
        let contexts = count(KeyBinding::Context) + count(KeyBinding::Kerberos);
        let of_context = self.uses(KeyBinding::Context) || self.uses(KeyBinding::Kerberos);
        let kerberos = self.supporting.iter();
        let kerberos = kerberos.filter(|token| matches!(token, SupportingToken::Kerberos(_)));
        let kerberos = kerberos.count();
        let is_looked_up = |token: &&EndorsingToken| {
            matches!(token.key.kind(), KeyBinding::Context | KeyBinding::Kerberos)
        };
        let hides = |token: &EndorsingToken| token.encrypted && !self.is_by_connection();
        let is_hidden = |token: &EndorsingToken| {
            let is_named = token.key.reference() != KeyReference::Direct;
            hides(token) || is_named && self.encrypts(&Part::Signature)
        };
        let problems = [
            (
                contexts > 0 && contexts + usize::from(of_context) > 1,
                "a message belongs to one conversation, or to the session of one Kerberos token",
            ),
            (
                kerberos > 1 || kerberos == 1 && (of_context || contexts > 0),
                "a message has one Kerberos token",
            ),
            (
                kerberos == 1 && !self.is_by_connection(),
                "a Kerberos token whose key does nothing is tied to no message: a connection has to protect both, or its key endorse",
            ),
            (
                beside().find(is_looked_up).is_some_and(is_hidden),
                "a security context or a Kerberos token is looked up before anything is deciphered: what names it must stay readable",
            ),
        ];
        let problems = problems.into_iter().filter(|(is_wrong, _)| *is_wrong);
        problems.map(|(_, problem)| problem)
    }

    /// Of keys from passwords.
    fn wrong_passwords(&self) -> impl Iterator<Item = &'static str> {
        let count = |kind| {
            let beside = self.endorsing_beside();
            beside.filter(|token| token.key.kind() == kind).count()
        };
        let contexts = count(KeyBinding::Context) + count(KeyBinding::Kerberos);
        let passwords = count(KeyBinding::Password);
        let by_password = self.password_keys();
        let out_of_bounds = |keys: PasswordKeyPolicy| {
            let is_ordered = keys.least > 0 && keys.least <= keys.most;
            let made = 1..=PasswordKeyPolicy::MAXIMUM_ITERATIONS;
            !is_ordered
                || keys.most > PasswordKeyPolicy::MAXIMUM_ITERATIONS
                || !made.contains(&keys.iterations)
        };
        let encrypts_with_password = self
            .encryption()
            .is_some_and(|one| one.key == KeyBinding::Password && one.derived_keys.is_none());
        let problems = [
            (
                by_password.is_some_and(out_of_bounds),
                "the iterations of a key from a password are at least 1, at most 1000000, and the fewest are not more than the most",
            ),
            (
                by_password.is_some() && self.username().is_some(),
                "a message has one user: its token holds a password, or keys are derived from it",
            ),
            (
                self.uses(KeyBinding::Password) && self.signature().is_none(),
                "a key from a password encrypts for a user whom a signature proves",
            ),
            (
                encrypts_with_password && !PasswordKeyPolicy::encrypts_by(&self.suite),
                "a key from a password has 20 bytes, and the suite's data encryption wants more: take a suite of AES-128, or derive keys from it",
            ),
            (
                passwords > 0 && (contexts + passwords > 1 || self.uses(KeyBinding::Password)),
                "one symmetric key endorses, and the key of a user endorses nothing that it signs itself",
            ),
        ];
        let problems = problems.into_iter().filter(|(is_wrong, _)| *is_wrong);
        problems.map(|(_, problem)| problem)
    }
}
