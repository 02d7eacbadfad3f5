//! Users and passwords.

use soapstone_crypto::{SecretBytes, base64};
use soapstone_wss::{
    ContextOwner, ConversationVersion, EncryptedPart, Facts, FaultCode, InboundPlan, KeyBinding,
    KeyReference, Keys, Mechanism, OutboundPlan, Outgoing, Part, PasswordKind, Policy,
    ProtectionOrder, Rejected, SecurityContext,
};
use soapstone_xml::Buffers;

use super::{cut, name_of, refuse};
use crate::conversations::{context, text};
use crate::support::*;

#[test]
fn unknown_users_and_wrong_passwords_are_not_told_apart() {
    for kind in [PasswordKind::Digest, PasswordKind::Text] {
        let mut policy = policy(Mechanism::Username, "Basic128GCM");
        policy.username_mut().unwrap().passwords = vec![kind];
        let message = secure(&policy, PLAIN);
        let with = |passwords| {
            open_with(
                &policy,
                service_keys(),
                &Facts {
                    passwords,
                    ..Facts::default()
                },
                &message,
                now(),
            )
        };
        let wrong = with(vec![("alice".to_owned(), SecretBytes::copy_of(b"guess"))]).unwrap_err();
        let unknown = with(Vec::new()).unwrap_err();
        assert_eq!(
            wrong,
            Rejected::AuthenticationFailed {
                user: "alice".to_owned()
            }
        );
        assert_eq!(wrong, unknown);
        assert_eq!(wrong.fault(), FaultCode::FailedAuthentication);
    }
}

#[test]
fn a_password_in_the_clear_is_refused_where_a_digest_is_wanted() {
    let digest = policy(Mechanism::Username, "Basic128GCM");
    let mut text = digest.clone();
    text.username_mut().unwrap().passwords = vec![PasswordKind::Text];
    let refused = refuse(&digest, &secure(&text, PLAIN));
    assert_eq!(
        refused,
        Rejected::PasswordKindNotAllowed {
            found: soapstone_wss::names::PASSWORD_TEXT.to_owned()
        }
    );
}

#[test]
fn a_digest_needs_a_nonce_and_a_time() {
    let policy = policy(Mechanism::Username, "Basic128GCM");
    let message = secure(&policy, PLAIN);
    for element in ["wsse:Nonce", "wsu:Created"] {
        let token = cut(&message, "wsse:UsernameToken");
        let without = token.replace(cut(token, element), "");
        assert_eq!(
            name_of(&refuse(&policy, &message.replace(token, &without))),
            "malformed",
            "{element}"
        );
    }
}

/// UsernameToken Profile 1.1.1, 3.1: `SHA-1(nonce + created + password)` does not say where the one
/// ends and the other begins.
#[test]
fn a_copy_whose_nonce_ends_elsewhere_has_the_same_mark() {
    let policy = policy(Mechanism::Username, "Basic128GCM");
    let plan = InboundPlan::compile(policy.clone(), service_keys()).unwrap();
    let marks = |message: &str| {
        let opened =
            plan.open_unmarked(envelope(message), &facts(), now(), &mut Buffers::default());
        let opened = opened.unwrap();
        opened
            .marks()
            .iter()
            .map(|mark| mark.key)
            .collect::<Vec<_>>()
    };
    // One nonce of 85 ends with white space, which may stand before a time.
    let found = (0..10_000).find_map(|_| {
        let message = secure(&policy, PLAIN);
        let text = cut(&message, "wsse:Nonce").trim_end_matches("</wsse:Nonce>");
        let coded = text[text.find('>').unwrap() + 1..].to_owned();
        let mut nonce = Vec::new();
        base64::decode(coded.as_bytes(), &mut nonce).unwrap();
        let last = nonce.pop().filter(|last| b" \t\n".contains(last))?;
        Some((message, coded, nonce, char::from(last)))
    });
    let (message, coded, shorter, last) = found.unwrap();
    let token = cut(&message, "wsse:UsernameToken");
    let shifted = token
        .replace(&coded, &base64::encode(&shorter))
        .replace("<wsu:Created>", &format!("<wsu:Created>{last}"));
    assert_eq!(
        marks(&message.replace(token, &shifted)),
        marks(&message),
        "{shifted}"
    );
}

/// A policy that encrypts the token of a user, in a message that is signed, with keys of this kind.
fn hiding(key: KeyBinding, covered: bool) -> Policy {
    let mut policy = policy(Mechanism::SignEncrypt, "Basic256GCM");
    policy.set_username(
        self::policy(Mechanism::Username, "Basic256GCM")
            .username()
            .cloned(),
    );
    if covered {
        policy.parts.signed.push(Part::UsernameToken);
    }
    policy.parts.encrypted = vec![EncryptedPart::customary(Part::UsernameToken)];
    if key != KeyBinding::Certificate {
        policy.bind(key, KeyReference::Direct);
    }
    policy
}

/// Cipher text is at home in each message that its key is for: whoever has two of them exchanges
/// their users, and needs no key for it. That a token was encrypted does not show that its user
/// sent what it came with.
#[test]
fn a_hidden_token_out_of_another_message_makes_nobody_the_sender() {
    let contexts = ["alice", "mallory"].map(|owner| SecurityContext {
        identifier: format!("urn:uuid:{owner}"),
        owner: ContextOwner::User(owner.to_owned()),
        ..context(ConversationVersion::V13)
    });
    let passwords = ["alice", "mallory"].map(|name| (name.to_owned(), PASSWORD));
    let facts = Facts {
        passwords: Vec::from(
            passwords.map(|(name, password)| (name, SecretBytes::copy_of(password))),
        ),
        contexts: contexts.to_vec(),
        ..Facts::default()
    };
    let message = |policy: &Policy, sender: usize| {
        let keys = Keys {
            user: Some(user(["alice", "mallory"][sender])),
            ..client_keys()
        };
        let plan = OutboundPlan::compile(policy.clone(), keys).unwrap();
        let outgoing = Outgoing::within(&contexts[sender]);
        let secured = plan.secure(envelope(PLAIN), outgoing, now(), &mut Buffers::default());
        text(&secured.unwrap())
    };
    let told = |policy: &Policy, message: &str| {
        let opened = open_with(policy, service_keys(), &facts, message, now())?;
        let evidence = opened.evidence();
        Ok::<_, Rejected>((evidence.user.clone().unwrap(), evidence.user_is_sender()))
    };
    let told_of = |name: &str, is_sender: bool| Ok((name.to_owned(), is_sender));
    // Cipher text of alice's in mallory's message, in the place of his own.
    let moved = |policy: &Policy, elements: &[&str]| {
        let [theirs, own] = [0, 1].map(|sender| message(policy, sender));
        let cipher = |message: &str, element: &str| {
            cut(cut(message, element), "xenc:CipherValue").to_owned()
        };
        let exchanged = elements.iter().fold(own.clone(), |message, element| {
            message.replace(&cipher(&own, element), &cipher(&theirs, element))
        });
        assert_ne!(exchanged, own);
        (own, exchanged)
    };

    // Under a key that all messages share, nothing but the token has to be moved; under one of its
    // own, that key as well.
    let of_key = ["xenc:EncryptedKey", "xenc:EncryptedData"];
    for (encrypting, elements) in [
        (KeyBinding::Shared, &of_key[1..]),
        (KeyBinding::Certificate, &of_key),
    ] {
        let policy = hiding(encrypting, false);
        let (own, exchanged) = moved(&policy, elements);
        assert_eq!(told(&policy, &own), told_of("mallory", false));
        let exchanged = told(&policy, &exchanged);
        assert_eq!(exchanged, told_of("alice", false), "{encrypting:?}");
    }

    // What shows it: one session key for both; one context for both; a signature by a key that
    // strangers do not have.
    let policy = hiding(KeyBinding::SessionKey, false);
    assert_eq!(told(&policy, &message(&policy, 0)), told_of("alice", true));
    use KeyBinding::{Context, Shared};
    use ProtectionOrder::{EncryptBeforeSigning, SignBeforeEncrypting};
    for (key, order) in [
        (Context, SignBeforeEncrypting),
        (Context, EncryptBeforeSigning),
        (Shared, SignBeforeEncrypting),
        (Shared, EncryptBeforeSigning),
    ] {
        let policy = with(&hiding(key, true), |policy| policy.set_order(order));
        let (own, exchanged) = moved(&policy, &of_key[1..]);
        let own = told(&policy, &own);
        assert_eq!(own, told_of("mallory", true), "{key:?} {order:?}");
        assert!(told(&policy, &exchanged).is_err());
    }
}

/// A plan that reads the draft of 2002 as well takes its Security header out, and nothing else.
#[test]
fn header_blocks_are_passed_on_where_the_draft_is_read() {
    let mut policy = policy(Mechanism::Username, "Basic128GCM");
    policy.username_mut().unwrap().dialects.draft_2002 = true;
    let opened = open(&policy, &secure(&policy, PLAIN)).unwrap();
    assert!(forwarded(&opened).contains(">urn:service</a:To>"));
}
