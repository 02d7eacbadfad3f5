//! `sp:SamlToken` (WS-SecurityPolicy 1.3, 5.4.8) in the places where it may stand, and refused in
//! the others.

use soapstone_wss::{
    AssertionPolicy, AssertionProtection, ConfirmationMethod, DerivedKeyForm, EncryptedPart,
    HolderUse, KeyBinding, KeyReference, MessageSignature, Part, Policy, Recipient, SamlVersion,
};

use crate::refusals::not_supported;
use crate::support::*;

fn saml(inner: &str) -> String {
    token("SamlToken", "AlwaysToRecipient", inner)
}

fn wanted(policy: &Policy) -> &AssertionPolicy {
    policy.assertion().expect("an assertion")
}

#[test]
fn a_supporting_assertion_is_confirmed_without_its_key() {
    let kinds = [
        ("SupportingTokens", false, false),
        ("SignedSupportingTokens", true, false),
        ("EncryptedSupportingTokens", false, true),
        ("SignedEncryptedSupportingTokens", true, true),
    ];
    for (kind, signed, encrypted) in kinds {
        let binding = asymmetric(&suite("Basic256"));
        let supporting = nest(kind, &saml("<sp:WssSamlV20Token11/>"));
        let found = agreement(&format!("{binding}{SIGNED_BODY}{supporting}"));
        let accepted = wanted(&found.request);
        assert_eq!(accepted.versions, [SamlVersion::V20]);
        assert_eq!(accepted.holder, HolderUse::Beside);
        assert_eq!(accepted.protection, AssertionProtection::Signature);
        assert_eq!(found.request.signs(&Part::Assertion), signed, "{kind}");
        let hidden = EncryptedPart::customary(Part::Assertion);
        assert_eq!(found.request.encrypted_parts().contains(&hidden), encrypted);
        assert_eq!(found.response.assertion(), None);
        assert!(!found.response.signs(&Part::Assertion));
    }
}

#[test]
fn an_assertion_over_tls_is_protected_by_the_connection() {
    let binding = transport("<sp:IncludeTimestamp/>");
    let supporting = nest("SignedSupportingTokens", &saml("<sp:WssSamlV11Token10/>"));
    let found = agreement(&format!("{binding}{supporting}")).request;
    let accepted = wanted(&found);
    assert_eq!(accepted.versions, [SamlVersion::V11]);
    assert_eq!(accepted.protection, AssertionProtection::Connection);
    assert_eq!(found.signature(), None);
    // Any version, where none is named.
    let supporting = nest("SupportingTokens", &saml(""));
    let found = agreement(&format!("{binding}{supporting}")).request;
    assert_eq!(wanted(&found).versions, SamlVersion::ALL);
}

#[test]
fn the_holder_of_an_assertion_signs_as_the_initiator() {
    let initiator = nest("InitiatorToken", &saml("<sp:WssSamlV11Token10/>"));
    let recipient = nest("RecipientToken", &x509("Never", ""));
    let binding = nest(
        "AsymmetricBinding",
        &format!(
            "{initiator}{recipient}{}<sp:ProtectTokens/>",
            suite("Basic256")
        ),
    );
    let found = agreement(&format!("{binding}{SIGNED_BODY}{ENCRYPTED_BODY}"));
    let accepted = wanted(&found.request);
    assert_eq!(accepted.methods, [ConfirmationMethod::HolderOfKey]);
    assert_eq!(accepted.holder, HolderUse::Signs);
    let signature = found.request.signature();
    let MessageSignature { parts, .. } = signature.expect("a signature");
    assert!(parts.contains(&Part::Token));
    // The answer is encrypted to the holder, by a name of the assertion that the request had.
    let encryption = found.response.encryption().expect("an encryption");
    assert_eq!(
        (encryption.reference, encryption.recipient),
        (KeyReference::IssuerSerial, Recipient::Holder)
    );
    assert_eq!(found.response.assertion(), None);
}

#[test]
fn the_holder_of_an_assertion_endorses() {
    let endorsing = nest("EndorsingSupportingTokens", &saml(""));
    for (binding, protection) in [
        (
            asymmetric(&suite("Basic256")) + SIGNED_BODY,
            AssertionProtection::Signature,
        ),
        (
            transport("<sp:IncludeTimestamp/>"),
            AssertionProtection::Connection,
        ),
    ] {
        let found = agreement(&format!("{binding}{endorsing}")).request;
        let accepted = wanted(&found);
        assert_eq!(accepted.methods, [ConfirmationMethod::HolderOfKey]);
        assert_eq!(accepted.holder, HolderUse::Endorses);
        assert_eq!(accepted.protection, protection);
        assert_eq!(found.endorsing().count(), 1);
    }
}

/// WS-SecurityPolicy 1.3, 5.4.8: messages name the assertion by its id where a policy says so.
#[test]
fn the_holder_of_an_assertion_is_named_by_its_id_on_demand() {
    for (demand, expected) in [
        ("", KeyReference::Direct),
        ("<sp:RequireInternalReference/>", KeyReference::Direct),
        (
            "<sp:RequireKeyIdentifierReference/>",
            KeyReference::SubjectKeyIdentifier,
        ),
    ] {
        let endorsing = nest("EndorsingSupportingTokens", &saml(demand));
        let found = agreement(&format!(
            "{}{endorsing}",
            transport("<sp:IncludeTimestamp/>")
        ));
        let mut endorsed = found.request.endorsing();
        let reference = endorsed.next().map(|one| one.key.reference());
        assert_eq!(reference, Some(expected), "{demand}");
    }
}

/// WS-SecurityPolicy 1.3, 7.4: the symmetric key of its holder protects both messages.
#[test]
fn an_assertion_protects_messages_in_a_symmetric_binding() {
    for (inner, form) in [
        ("<sp:WssSamlV20Token11/>", None),
        (
            "<sp:RequireDerivedKeys/><sp:WssSamlV20Token11/>",
            Some(DerivedKeyForm::Explicit),
        ),
    ] {
        let binding = symmetric(&saml(inner), &suite("Basic256"));
        let found = agreement(&format!("{binding}{SIGNED_BODY}{ENCRYPTED_BODY}"));
        let accepted = wanted(&found.request);
        assert_eq!(accepted.methods, [ConfirmationMethod::HolderOfKey]);
        assert_eq!(accepted.holder, HolderUse::Signs);
        assert_eq!(found.response.assertion(), None);
        for policy in [&found.request, &found.response] {
            assert_eq!(policy.signs_with(), Some(KeyBinding::Assertion));
            let encryption = policy.encryption().expect("an encryption");
            assert_eq!(encryption.key, KeyBinding::Assertion);
            let derived = policy.derived_keys().map(|derived| derived.form);
            assert_eq!(derived, form);
        }
        let reference = |policy: &Policy| policy.signature().map(|it| it.reference);
        assert_eq!(reference(&found.request), Some(KeyReference::Direct));
    }
}

#[test]
fn an_assertion_in_another_place_is_refused_by_name() {
    let binding = asymmetric(&suite("Basic256"));
    let supporting = |inner: &str| format!("{binding}{SIGNED_BODY}{inner}");
    let initiator = nest("InitiatorToken", &x509("AlwaysToRecipient", ""));
    let recipient = nest("RecipientToken", &saml(""));
    let answering = format!("{initiator}{recipient}{}", suite("Basic256"));
    let answering = nest("AsymmetricBinding", &answering) + SIGNED_BODY;
    let issued_by = saml("").replace(
        "<wsp:Policy>",
        "<sp:IssuerName>urn:idp</sp:IssuerName><wsp:Policy>",
    );
    let two = nest("SupportingTokens", &saml("")) + &nest("SignedSupportingTokens", &saml(""));
    let never = token("SamlToken", "Never", "");
    let endorsed = nest("EndorsingSupportingTokens", &x509("AlwaysToRecipient", ""));
    let by_two = endorsed + &nest("EndorsingSupportingTokens", &saml(""));
    for (assertions, reason) in [
        (
            answering,
            "an assertion is the initiator's token, protects messages in a symmetric binding, or is a supporting token",
        ),
        (supporting(&two), "a message has one assertion"),
        (
            supporting(&nest("SupportingTokens", &never)),
            "an assertion that is not in requests says nothing of their senders",
        ),
        (
            supporting(&nest("SupportingTokens", &issued_by)),
            "issuers and claims of assertions are a matter of the endpoint, not of policies",
        ),
        (
            supporting(&nest("SupportingTokens", &saml("<sp:RequireDerivedKeys/>"))),
            "keys are derived from a symmetric key alone: that of an assertion which protects messages in a symmetric binding, or endorses them",
        ),
        (
            supporting(&by_two),
            "the holder of an assertion endorses alone",
        ),
    ] {
        let (name, found) = not_supported(&assertions);
        assert_eq!((name.as_str(), found), ("SamlToken", reason));
    }
}
