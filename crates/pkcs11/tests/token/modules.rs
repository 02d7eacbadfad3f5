//! Modules that hang, or blame a session for what a peer sent.

use std::thread;
use std::time::Duration;

use soapstone_crypto::{
    CryptoError, EstablishmentError, KeyEstablishment, KeyTransport, OaepParameters, PrivateKey,
    PublicKey, SecretBytes, SignatureAlgorithm,
};
use soapstone_pkcs11::{KeyLocation, Problem, open};

use crate::support::{Observed, Token, location, with_token};

const ALGORITHM: SignatureAlgorithm = SignatureAlgorithm::RsaSha256;
/// `CKR_SESSION_HANDLE_INVALID`.
const SESSION_HANDLE_INVALID: u64 = 0xb3;

/// A key of the token through the observed module, with one session.
fn key(token: &Token, observed: &Observed<'_>, timeout: Duration) -> (PrivateKey, PublicKey) {
    let place = KeyLocation {
        module: observed.module.clone(),
        sessions: 1,
        timeout,
        ..location("rsa")
    };
    let identity = token.identity("rsa");
    let public = identity.certificate().public_key().clone();
    let key = open(place, &public).unwrap_or_else(|error| panic!("{error}"));
    (key, public)
}

fn reason(refused: Result<Vec<u8>, CryptoError>) -> String {
    match refused {
        Err(CryptoError::KeyUnavailable { reason }) => reason,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_token_that_holds_all_its_sessions_makes_one_caller_wait() {
    with_token(
        "modules::a_token_that_holds_all_its_sessions_makes_one_caller_wait",
        |token| {
            let observed = token.observed();
            let (key, public) = key(token, &observed, Duration::from_secs(1));
            let before = observed.calls("C_SignInit");
            observed.hold("C_Sign");
            let first = reason(key.sign(ALGORITHM, b"message"));
            assert!(first.ends_with("gave no answer within 1s"), "{first}");
            let held = format!(": {}", Problem::Held);
            for _ in 0..100 {
                let next = reason(key.sign(ALGORITHM, b"message"));
                assert!(next.ends_with(&held), "{next}");
            }
            observed.go_on("C_Sign");
            let signature = loop {
                match key.sign(ALGORITHM, b"message") {
                    Ok(signature) => break signature,
                    Err(_) => thread::sleep(Duration::from_millis(10)),
                }
            };
            assert_eq!(public.verify(ALGORITHM, b"message", &signature), Ok(()));
            // That of the first caller, and that of the last.
            assert_eq!(observed.calls("C_SignInit"), before + 2);
        },
    );
}

/// What a peer sends may make a module say that the session is gone. All other keys of the module
/// would lose their sessions, as often as the peer likes.
#[test]
fn a_ciphertext_over_which_a_session_is_lost_is_refused_and_starts_nothing_anew() {
    with_token(
        "modules::a_ciphertext_over_which_a_session_is_lost_is_refused_and_starts_nothing_anew",
        |token| {
            let observed = token.observed();
            let (key, public) = key(token, &observed, Duration::from_secs(30));
            let oaep = OaepParameters::default();
            let wrapped = public.wrap(KeyTransport::RsaOaep, &oaep, &[7; 16]);
            let wrapped = wrapped.expect("it is wrapped");
            let transport = KeyEstablishment::Transport {
                algorithm: KeyTransport::RsaOaep,
                parameters: &oaep,
                ciphertext: &wrapped,
                expected_length: Some(16),
            };
            let begun = observed.calls("C_DecryptInit");
            observed.answer("C_Decrypt", SESSION_HANDLE_INVALID);
            let refused = key.establish(&transport).map(drop);
            assert_eq!(refused, Err(EstablishmentError::Failed));
            assert_eq!(observed.calls("C_Finalize"), 0);
            // Once in the session that was open, and once in a new one.
            assert_eq!(observed.calls("C_DecryptInit"), begun + 2);
            observed.answer_again("C_Decrypt");
            let opened = key.establish(&transport).expect("a secret");
            assert_eq!(opened.expose(), &[7; 16]);
        },
    );
}

#[test]
fn two_that_log_in_at_once_try_a_wrong_pin_once() {
    with_token(
        "modules::two_that_log_in_at_once_try_a_wrong_pin_once",
        |token| {
            let observed = token.observed();
            observed.hold("C_Login");
            let refusal = || {
                let place = KeyLocation {
                    module: observed.module.clone(),
                    pin: Some(SecretBytes::copy_of(b"99999")),
                    ..location("rsa")
                };
                token.refusal(place, "rsa").problem
            };
            thread::scope(|scope| {
                let both = [scope.spawn(refusal), scope.spawn(refusal)];
                while observed.calls("C_OpenSession") < 2 {
                    thread::sleep(Duration::from_millis(10));
                }
                // Both are about to log in.
                thread::sleep(Duration::from_millis(300));
                observed.go_on("C_Login");
                for one in both {
                    let problem = one.join().expect("no panic");
                    assert!(matches!(problem, Problem::PinRefused { .. }), "{problem:?}");
                }
            });
            assert_eq!(observed.calls("C_Login"), 1);
        },
    );
}

/// After a restart the handle of a lost session may be that of somebody else's.
#[test]
fn a_session_of_a_former_start_is_neither_used_nor_closed() {
    with_token(
        "modules::a_session_of_a_former_start_is_neither_used_nor_closed",
        |token| {
            let observed = token.observed();
            let timeout = Duration::from_secs(30);
            let (idle, public) = key(token, &observed, timeout);
            let (other, _) = key(token, &observed, timeout);
            observed.answer("C_SignInit", SESSION_HANDLE_INVALID);
            let lost = reason(other.sign(ALGORITHM, b"message"));
            assert!(lost.ends_with("C_SignInit: SessionHandleInvalid"), "{lost}");
            assert_eq!(observed.calls("C_Finalize"), 1);
            observed.answer_again("C_SignInit");
            let (closed, begun) = (
                observed.calls("C_CloseSession"),
                observed.calls("C_SignInit"),
            );
            let signature = idle.sign(ALGORITHM, b"message").expect("a signature");
            assert_eq!(public.verify(ALGORITHM, b"message", &signature), Ok(()));
            assert_eq!(observed.calls("C_CloseSession"), closed);
            assert_eq!(observed.calls("C_SignInit"), begun + 1);
        },
    );
}
