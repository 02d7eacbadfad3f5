//! Users and passwords.

use soapstone_crypto::SecretBytes;
use soapstone_wss::{Facts, FaultCode, Mechanism, PasswordKind, Rejected};

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
