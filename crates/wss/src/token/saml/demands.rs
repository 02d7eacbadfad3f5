//! What a policy must not demand of assertions (SAML Token Profile 1.1.1).
//!
//! The one rule: a rule here names what else the policy has beside the assertion, or an assertion
//! that accepts nothing. Which assertions are believed, [`AssertionPolicy`] says.

use super::super::kind::broken;
use super::policy::{AssertionPolicy, AssertionProtection};
use super::version::ConfirmationMethod;
use crate::binding::{KeyBinding, ProtectionOrder};
use crate::part::Part;
use crate::policy::Policy;
use crate::supporting::SupportingToken;

/// Demands that fit no message, or not each other.
pub(super) fn wrong_demands(policy: &Policy) -> Vec<&'static str> {
    let assertion = policy.assertion();
    let is_assertion = |token: &&SupportingToken| matches!(token, SupportingToken::Assertion(_));
    let accepts_nothing = |one: &AssertionPolicy| one.methods.is_empty() || one.versions.is_empty();
    let needs_signature = |one: &AssertionPolicy| one.protection == AssertionProtection::Signature;
    let hides = policy.hides_assertion();
    let by_proof = policy.uses(KeyBinding::Assertion);
    let accepts_holder = |one: &AssertionPolicy| one.accepts(ConfirmationMethod::HolderOfKey);
    let is_named = assertion.is_some_and(|one| one.authority.is_some());
    let covers_token = policy.is_signed_by_holder() && policy.signs(&Part::Token)
        || policy.is_endorsed_by_holder() && policy.endorsing().any(|one| one.covers_token);
    let is_tied = assertion.is_some_and(|one| {
        needs_signature(one) && one.methods != [ConfirmationMethod::HolderOfKey]
    });
    let encrypts_first = policy.order() == ProtectionOrder::EncryptBeforeSigning;
    let rules = [
        (
            hides && (policy.encrypts(&Part::Assertion) || policy.header.intermediary.is_some()),
            "an assertion has one cipher text: its own, for the last node, or that of the message",
        ),
        (
            by_proof && policy.signature().is_none(),
            "the symmetric key of an assertion's holder encrypts for somebody whom a signature with it proves",
        ),
        (
            policy.proves_by_key() && !assertion.is_some_and(accepts_holder),
            "messages are protected with the key of an assertion's holder, and holder-of-key is not accepted",
        ),
        (
            policy.is_endorsed_by_holder() && encrypts_first && policy.encrypts(&Part::Assertion),
            "an assertion whose holder endorses is deciphered before his signature is verified: it is signed before it is encrypted",
        ),
        (
            policy.is_endorsed_by_proof_key() && !policy.is_endorsed_by_holder(),
            "the symmetric key of an assertion's holder endorses, and no assertion is demanded whose holder does",
        ),
        (
            by_proof && policy.encrypts(&Part::Assertion)
                || policy.proves_by_key() && hides && policy.encryption().is_some(),
            "the key inside of an assertion that is encrypted deciphers nothing: its signature could not be verified before",
        ),
        (
            hides
                && policy.encryption().is_some()
                && policy
                    .suite
                    .data
                    .first()
                    .is_some_and(|it| !it.is_authenticated()),
            "without authentication one key deciphers a message: beside an assertion with cipher text of its own the message needs AES-GCM",
        ),
        (
            hides && encrypts_first && policy.signs(&Part::Assertion),
            "an assertion with cipher text of its own is signed before it is enciphered",
        ),
        (
            policy.supporting.iter().filter(is_assertion).count() > 1,
            "a message has one assertion",
        ),
        (
            assertion.is_some_and(accepts_nothing),
            "an assertion needs a version and a confirmation that are accepted",
        ),
        (
            assertion
                .is_some_and(|one| one.id_cards && one.methods != [ConfirmationMethod::Bearer]),
            "the subject of an ID card of DGWS is whoever has the card: a bearer",
        ),
        (
            assertion.is_some_and(|one| {
                one.id_cards && (one.once || one.by_reference || one.authority.is_some())
            }),
            "all ID cards of DGWS have one id: none is known again, or named, by it",
        ),
        (
            assertion.is_some_and(|one| one.by_reference && one.encrypted),
            "an assertion that a message only names is fetched in the clear, and one in cipher text of its own is demanded",
        ),
        (
            is_named && (hides || policy.encrypts(&Part::Assertion) || policy.uses_proof_key()),
            "an assertion that messages name is not in them: nothing enciphers it, and its holder has a public key",
        ),
        (
            is_named && (is_tied || covers_token || policy.signs(&Part::Assertion)),
            "a signature over the name of an assertion covers nothing that the assertion says: its holder signs, or a connection protects the message",
        ),
        (
            policy.is_endorsed_by_holder() && policy.endorsing().count() != 1,
            "the holder of an assertion endorses alone",
        ),
        (
            assertion.is_some_and(needs_signature) && policy.signature().is_none(),
            "an assertion is tied to its message by a signature, or by a connection that protects both",
        ),
    ];
    broken(rules).collect()
}
