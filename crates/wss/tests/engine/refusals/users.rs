//! Users and passwords.

use soapstone_crypto::{SecretBytes, base64};
use soapstone_wss::{Facts, FaultCode, InboundPlan, Mechanism, PasswordKind, Rejected};
use soapstone_xml::Buffers;

use super::{cut, name_of, refuse};
use crate::support::*;

#[test]
fn unknown_users_and_wrong_passwords_are_not_told_apart() {
    for kind in [PasswordKind::Digest, PasswordKind::Text] {
        let mut policy = policy(Mechanism::Username, "Basic128GCM");
        policy.username.as_mut().unwrap().passwords = vec![kind];
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
    text.username.as_mut().unwrap().passwords = vec![PasswordKind::Text];
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

/// UsernameToken Profile 1.1.1, 3.1: `SHA-1(nonce + created + password)` does not say where the one ends and the other begins.
#[test]
fn a_copy_whose_nonce_ends_elsewhere_has_the_same_mark() {
    let policy = policy(Mechanism::Username, "Basic128GCM");
    let plan = InboundPlan::compile(policy.clone(), service_keys()).unwrap();
    let marks = |message: &str| {
        let opened = plan.open(envelope(message), &facts(), now(), &mut Buffers::default());
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
