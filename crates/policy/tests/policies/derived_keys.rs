//! Derived keys of the tokens of an asymmetric binding (WS-SecurityPolicy 1.3, 5.3 and 7.5): what
//! encrypts is derived, what signs is a private key.

use soapstone_policy::{CompileOptions, Selection, message_in_words};
use soapstone_wss::{ConversationVersion, KeyBinding, Part, Policy, Recipient};

use crate::agreements::encrypted;
use crate::support::*;

fn binding(initiator: &str, recipient: &str) -> String {
    let tokens = nest("InitiatorToken", &x509("AlwaysToRecipient", initiator))
        + &nest("RecipientToken", &x509("Never", recipient));
    nest(
        "AsymmetricBinding",
        &format!("{tokens}{}", suite("Basic256")),
    )
}

fn form(policy: &Policy) -> Option<(soapstone_wss::DerivedKeyForm, bool)> {
    let derived = policy.derived_keys();
    derived.map(|derived| (derived.form, derived.exclusive))
}

/// As WCF has it for bindings that are put together by hand: the private key signs, and each token
/// says of the messages that are encrypted for it.
#[test]
fn what_is_encrypted_for_a_token_is_encrypted_with_the_keys_that_it_demands() {
    for (derived, demanded) in DERIVED_KEYS {
        for (initiator, recipient) in [(derived, derived), (derived, ""), ("", derived)] {
            let binding = binding(initiator, recipient);
            let agreement = agreement(&format!("{binding}{SIGNED_BODY}{ENCRYPTED_BODY}"));
            for (policy, token, receiver) in [
                (&agreement.request, recipient, Recipient::Peer),
                (&agreement.response, initiator, Recipient::Requester),
            ] {
                let expected = (!token.is_empty()).then_some(demanded);
                assert_eq!(form(policy), expected);
                let signature = policy.signature().unwrap();
                let encryption = policy.encryption().unwrap();
                assert_eq!(signature.key, KeyBinding::Certificate);
                assert_eq!(
                    (encryption.key, encryption.recipient),
                    (KeyBinding::Certificate, receiver)
                );
            }
        }
    }
}

#[test]
fn a_token_that_encrypts_alone_may_demand_derived_keys() {
    let tokens = [
        ("InitiatorSignatureToken", ""),
        ("InitiatorEncryptionToken", ""),
        ("RecipientSignatureToken", ""),
        ("RecipientEncryptionToken", "<sp:RequireDerivedKeys/>"),
    ]
    .map(|(role, inner)| nest(role, &x509("Never", inner)));
    let binding = nest(
        "AsymmetricBinding",
        &format!("{}{}", tokens.concat(), suite("Basic256")),
    );
    let agreement = agreement(&format!("{binding}{SIGNED_BODY}{ENCRYPTED_BODY}"));
    assert_eq!(form(&agreement.request), Some(DERIVED_KEYS[0].1));
    assert_eq!(form(&agreement.response), None);
}

#[test]
fn where_nothing_is_encrypted_nothing_is_derived() {
    let both = binding("<sp:RequireDerivedKeys/>", "<sp:RequireDerivedKeys/>");
    let agreement = agreement(&format!("{both}{SIGNED_BODY}"));
    for policy in [&agreement.request, &agreement.response] {
        assert_eq!(form(policy), None);
        assert_eq!(policy.signature().unwrap().key, KeyBinding::Certificate);
    }
}

/// A signature that is to be encrypted where there is none: in answers, which have neither a
/// Timestamp nor the request's user.
#[test]
fn an_answer_without_a_signature_to_encrypt_derives_nothing() {
    let both = binding("<sp:RequireDerivedKeys/>", "<sp:RequireDerivedKeys/>");
    let hidden = both.replace(
        &suite("Basic256"),
        &format!("{}<sp:EncryptSignature/>", suite("Basic256")),
    );
    assert_ne!(hidden, both);
    let users = nest(
        "SignedSupportingTokens",
        &token("UsernameToken", "AlwaysToRecipient", "<sp:HashPassword/>"),
    );
    let agreement = agreement(&format!("{hidden}{users}"));
    assert_eq!(form(&agreement.request), Some(DERIVED_KEYS[0].1));
    assert!(agreement.response.signature().is_none() && agreement.response.encryption().is_none());
    assert_eq!(form(&agreement.response), None);
}

/// The same under a symmetric binding, whose policy of answers has a derivation and nothing that it
/// could be of.
#[test]
fn of_an_answer_without_protection_no_derivation_is_told() {
    let binding = symmetric(
        &x509("Never", "<sp:RequireDerivedKeys/>"),
        &suite("Basic256"),
    );
    let users = nest(
        "SignedSupportingTokens",
        &token("UsernameToken", "AlwaysToRecipient", "<sp:HashPassword/>"),
    );
    let agreement = agreement(&format!("{binding}{users}"));
    let tells = |policy: &Policy| message_in_words(policy).concat().contains("derived");
    assert!(tells(&agreement.request));
    assert!(!tells(&agreement.response));
}

/// A user who is encrypted where no parts are (8.5) is so with a key that the policy wants.
#[test]
fn a_user_alone_is_encrypted_with_a_derived_key() {
    let users = nest(
        "SignedEncryptedSupportingTokens",
        &token("UsernameToken", "AlwaysToRecipient", ""),
    );
    let binding = binding("", "<sp:RequireDerivedKeys/>");
    let request = agreement(&format!("{binding}{SIGNED_BODY}{users}")).request;
    assert_eq!(encrypted(&request)[0].part, Part::UsernameToken);
    assert_eq!(form(&request), Some(DERIVED_KEYS[0].1));
}

#[test]
fn derived_keys_are_of_the_time_of_the_policy() {
    let assertions = format!(
        "{}{SIGNED_BODY}{ENCRYPTED_BODY}",
        binding("<sp:RequireDerivedKeys/>", "<sp:RequireDerivedKeys/>")
    );
    let of_2005 =
        policy(&assertions).replace(SP, "http://schemas.xmlsoap.org/ws/2005/07/securitypolicy");
    for (source, version) in [
        (policy(&assertions), ConversationVersion::V13),
        (of_2005, ConversationVersion::February2005),
    ] {
        let agreement = document(&source)
            .agreement(&Selection::default(), &CompileOptions::default())
            .unwrap();
        assert_eq!(agreement.request.derived_keys().unwrap().version, version);
        assert_eq!(agreement.response.derived_keys().unwrap().version, version);
    }
}

#[test]
fn the_words_say_what_is_derived_and_what_is_not() {
    let binding = binding(
        "<sp:RequireExplicitDerivedKeys/>",
        "<sp:RequireDerivedKeys/>",
    );
    let told = |assertions: &str| {
        let agreement = agreement(&format!("{binding}{assertions}"));
        [agreement.request, agreement.response].map(|policy| {
            let words = message_in_words(&policy);
            let mut derived = words.into_iter().filter(|words| words.contains("derived"));
            derived.next()
        })
    };
    assert_eq!(
        told(&format!("{SIGNED_BODY}{ENCRYPTED_BODY}")),
        [
            Some("What encrypts is derived from that key (WS-SecureConversation 1.3), and described in tokens of their own; nothing is derived from the private key that signs.".to_owned()),
            Some("What encrypts is derived from that key (WS-SecureConversation 1.3), and described in tokens of their own and nowhere else; nothing is derived from the private key that signs.".to_owned()),
        ]
    );
    assert_eq!(
        told(ENCRYPTED_BODY)[0].as_deref(),
        Some(
            "What encrypts is derived from that key (WS-SecureConversation 1.3), and described in tokens of their own."
        )
    );
    assert_eq!(told(SIGNED_BODY), [None, None]);
}
