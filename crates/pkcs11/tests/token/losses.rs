//! A token that goes away is a refusal, and one that comes back needs no restart.

use std::os::unix::net::UnixListener;
use std::time::Duration;

use soapstone_crypto::{CryptoError, EstablishmentError, KeyEstablishment, SignatureAlgorithm};
use soapstone_crypto::{KeyTransport, OaepParameters};
use soapstone_pkcs11::{KeyLocation, Problem, open};

use crate::support::{client, location, with_token};

const ALGORITHM: SignatureAlgorithm = SignatureAlgorithm::RsaSha256;

#[test]
fn a_token_that_went_away_is_told_apart_from_a_wrong_message_and_used_when_it_is_back() {
    with_token(
        "losses::a_token_that_went_away_is_told_apart_from_a_wrong_message_and_used_when_it_is_back",
        |token| {
            let Some(module) = client() else { return };
            let server = token.serve();
            let place = KeyLocation {
                module,
                ..location("rsa")
            };
            let identity = token.identity("rsa");
            let public = identity.certificate().public_key();
            let key = open(place, public).unwrap_or_else(|error| panic!("{error}"));
            let oaep = OaepParameters::default();
            let wrapped = public.wrap(KeyTransport::RsaOaep, &oaep, &[7; 16]);
            let wrapped = wrapped.expect("it is wrapped");
            let transport = KeyEstablishment::Transport {
                algorithm: KeyTransport::RsaOaep,
                parameters: &oaep,
                ciphertext: &wrapped,
                expected_length: Some(16),
            };
            key.sign(ALGORITHM, b"message").expect("a signature");
            drop(server);
            for _ in 0..3 {
                let refused = key.sign(ALGORITHM, b"message");
                let Err(CryptoError::KeyUnavailable { reason }) = refused else {
                    panic!("{refused:?}");
                };
                assert!(
                    reason.starts_with("key `rsa` in token `gateway` of `"),
                    "{reason}"
                );
                let refused = key.establish(&transport).map(drop);
                assert!(
                    matches!(refused, Err(EstablishmentError::Unavailable { .. })),
                    "{refused:?}"
                );
            }
            let _server = token.serve();
            // A module is started anew once in a second at most.
            let signature = loop {
                match key.sign(ALGORITHM, b"message") {
                    Ok(signature) => break signature,
                    Err(CryptoError::KeyUnavailable { .. }) => {
                        std::thread::sleep(Duration::from_millis(100));
                    }
                    Err(error) => panic!("{error}"),
                }
            };
            assert_eq!(public.verify(ALGORITHM, b"message", &signature), Ok(()));
            let opened = key.establish(&transport).expect("a secret");
            assert_eq!(opened.expose(), &[7; 16]);
        },
    );
}

#[test]
fn a_module_that_hangs_holds_nobody_longer_than_the_timeout() {
    with_token(
        "losses::a_module_that_hangs_holds_nobody_longer_than_the_timeout",
        |token| {
            let Some(module) = client() else { return };
            // It accepts, and says nothing.
            let _silent = UnixListener::bind(token.folder.join("socket")).expect("a socket");
            let timeout = Duration::from_millis(200);
            let place = KeyLocation {
                module,
                timeout,
                ..location("rsa")
            };
            let refused = token.refusal(place, "rsa");
            assert_eq!(refused.problem, Problem::Silent { timeout });
        },
    );
}
