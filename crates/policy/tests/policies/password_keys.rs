//! Keys from the passwords of users (WS-SecurityPolicy 1.3, 5.4.1; UsernameToken Profile 1.1.1, 4):
//! as the token of a symmetric binding, and as one that endorses.

use soapstone_wss::{
    DerivedKeyForm, EndorsingKey, KeyBinding, Part, PasswordKeyPolicy, Policy, SupportingToken,
};

use crate::refusals::not_supported;
use crate::support::*;

const CUSTOM: &str = "<c:Basic128GCM xmlns:c='http://cxf.apache.org/custom/security-policy'/>";

fn user(inner: &str) -> String {
    token("UsernameToken", "AlwaysToRecipient", inner)
}

fn bound(inner: &str, options: &str) -> String {
    let suite = nest("AlgorithmSuite", CUSTOM);
    symmetric(&user(inner), &format!("{suite}{options}"))
}

fn endorsing(policy: &Policy) -> Option<EndorsingKey> {
    policy.endorsing().next().map(|token| token.key)
}

#[test]
fn the_key_of_a_user_protects_both_directions() {
    for (inner, derived) in [
        ("<sp:NoPassword/>", None),
        ("", None),
        (
            "<sp:RequireDerivedKeys/>",
            Some((DerivedKeyForm::Explicit, false)),
        ),
        (
            "<sp:NoPassword/><sp:RequireExplicitDerivedKeys/>",
            Some((DerivedKeyForm::Explicit, true)),
        ),
        (
            "<sp:NoPassword/><sp:RequireImpliedDerivedKeys/>",
            Some((DerivedKeyForm::Implied, true)),
        ),
    ] {
        let binding = bound(inner, "<sp:IncludeTimestamp/><sp:ProtectTokens/>");
        let agreement = agreement(&format!("{binding}{SIGNED_BODY}{ENCRYPTED_BODY}"));
        for policy in [&agreement.request, &agreement.response] {
            let signature = policy.signature().unwrap();
            assert_eq!(signature.key, KeyBinding::Password, "{inner}");
            assert!(signature.parts.contains(&Part::Token), "{inner}");
            let encryption = policy.encryption().unwrap();
            assert_eq!(encryption.key, KeyBinding::Password, "{inner}");
            let found = policy.derived_keys();
            let found = found.map(|derived| (derived.form, derived.exclusive));
            assert_eq!(found, derived, "{inner}");
            assert_eq!(policy.password_keys(), Some(PasswordKeyPolicy::default()));
            assert_eq!(policy.username(), None, "{inner}");
        }
    }
}

#[test]
fn the_key_of_a_user_endorses_in_every_kind_of_endorsing_tokens() {
    for kind in [
        "EndorsingSupportingTokens",
        "SignedEndorsingSupportingTokens",
        "EndorsingEncryptedSupportingTokens",
        "SignedEndorsingEncryptedSupportingTokens",
    ] {
        for inner in ["<sp:NoPassword/>", "<sp:RequireDerivedKeys/>"] {
            let token = nest(kind, &user(inner));
            let protection = x509("Never", "<sp:RequireThumbprintReference/>");
            let messages = symmetric(&protection, &suite("Basic256"));
            for binding in [
                format!("{messages}{SIGNED_BODY}{ENCRYPTED_BODY}"),
                transport("<sp:IncludeTimestamp/>"),
            ] {
                let agreement = agreement(&format!("{binding}{token}"));
                let Some(EndorsingKey::Password { derived_keys, .. }) =
                    endorsing(&agreement.request)
                else {
                    panic!("{kind}: {:?}", agreement.request.supporting);
                };
                assert_eq!(derived_keys.is_some(), inner.contains("Derived"), "{kind}");
                assert_eq!(agreement.response.supporting, Vec::<SupportingToken>::new());
            }
        }
    }
}

#[test]
fn what_no_key_from_a_password_can_do_is_refused_by_name() {
    let refused = |binding: &str| not_supported(binding);
    let name = "UsernameToken".to_owned();
    for (binding, reason) in [
        (
            bound("<sp:NoPassword/>", "") + ENCRYPTED_BODY,
            "a key from a password encrypts for a user whom a signature proves: sign the Body, or include a Timestamp",
        ),
        (
            symmetric(&user("<sp:NoPassword/>"), &suite("Basic256")) + SIGNED_BODY + ENCRYPTED_BODY,
            "a key from a password has 20 bytes, and the suite's encryption wants more: demand derived keys, or a suite of AES-128",
        ),
        (
            bound("<sp:HashPassword/>", "") + SIGNED_BODY,
            "a token that keys are derived from holds no password",
        ),
        (
            symmetric(&token("UsernameToken", "Never", ""), &suite("Basic128")) + SIGNED_BODY,
            "a key from a password needs the token that says how it is derived: let messages carry it",
        ),
        (
            bound("", "")
                + SIGNED_BODY
                + &nest("SignedSupportingTokens", &user("<sp:HashPassword/>")),
            "a message has one user",
        ),
        (
            bound("", "") + SIGNED_BODY + &nest("EndorsingSupportingTokens", &user("")),
            "a message has one user",
        ),
    ] {
        assert_eq!(refused(&binding), (name.clone(), reason));
    }
}

#[test]
fn a_binding_with_the_key_of_a_user_is_written_and_read_again() {
    for derived in [
        "",
        "<sp:RequireDerivedKeys/>",
        "<sp:RequireImpliedDerivedKeys/>",
    ] {
        let inner = format!("<sp:NoPassword/>{derived}");
        let binding = bound(&inner, "<sp:IncludeTimestamp/><sp:ProtectTokens/>");
        crate::written::read_again(&format!("{binding}{SIGNED_BODY}{ENCRYPTED_BODY}"));
    }
}
