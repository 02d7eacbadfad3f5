//! What is wrong with a token or a key is told with module, token and key, and without the PIN.

use soapstone_crypto::SecretBytes;
use soapstone_pkcs11::{KeyLocation, KeyName, Problem, TokenName};

use crate::support::{PIN, location, softhsm, with_token};

#[test]
fn a_place_without_a_key_is_told_with_what_there_is() {
    with_token(
        "refusals::a_place_without_a_key_is_told_with_what_there_is",
        |token| {
            let module = softhsm().display().to_string();
            let all = "`ed25519`, `p256`, `p256-agrees`, `p384`, `p384-agrees`, `p521`, `p521-agrees`, `rsa`";
            for (place, told) in [
                (
                    KeyLocation {
                        key: KeyName::Label("absent".to_owned()),
                        ..location("rsa")
                    },
                    format!(
                        "key `absent` in token `gateway` of `{module}`: the token has no such private key; it has {all}"
                    ),
                ),
                (
                    KeyLocation {
                        key: KeyName::Id(vec![0xab, 0xcd]),
                        ..location("rsa")
                    },
                    format!(
                        "key with the id abcd in token `gateway` of `{module}`: the token has no such private key; it has {all}"
                    ),
                ),
                (
                    KeyLocation {
                        token: TokenName::Label("absent".to_owned()),
                        ..location("rsa")
                    },
                    format!(
                        "key `rsa` in token `absent` of `{module}`: the module has no such token; it has `gateway`"
                    ),
                ),
            ] {
                assert_eq!(token.refusal(place, "rsa").to_string(), told);
            }
        },
    );
}

#[test]
fn a_module_that_is_none_is_refused() {
    with_token("refusals::a_module_that_is_none_is_refused", |token| {
        let file = token.folder.join("rsa.cert.pem");
        let place = KeyLocation {
            module: file.clone(),
            ..location("rsa")
        };
        let refused = token.refusal(place, "rsa");
        assert!(
            matches!(&refused.problem, Problem::Module { .. }),
            "{refused}"
        );
        assert!(refused.location.contains(&file.display().to_string()));
    });
}

#[test]
fn a_refused_pin_is_tried_once_and_never_told() {
    with_token(
        "refusals::a_refused_pin_is_tried_once_and_never_told",
        |token| {
            let wrong = || KeyLocation {
                pin: Some(SecretBytes::copy_of(b"27182818")),
                ..location("rsa")
            };
            for reason in ["C_Login: PinIncorrect", "it was refused before"] {
                let refused = token.refusal(wrong(), "rsa");
                let reason = reason.to_owned();
                assert_eq!(refused.problem, Problem::PinRefused { reason });
                let told = format!("{refused} {refused:?} {:?}", wrong());
                assert!(!told.contains("27182818"), "{told}");
            }
            assert!(!format!("{:?}", location("rsa")).contains(PIN));
            let without = KeyLocation {
                pin: None,
                ..location("rsa")
            };
            assert_eq!(token.refusal(without, "rsa").problem, Problem::PinNeeded);
            // The right one still works.
            token.key("rsa");
        },
    );
}

#[test]
fn the_certificate_of_another_key_is_refused() {
    with_token(
        "refusals::the_certificate_of_another_key_is_refused",
        |token| {
            for (key, certificate) in [
                ("p256", "p384"),
                ("p384", "p256"),
                ("rsa", "p256"),
                ("rsa", "ed25519"),
                ("p256", "ed25519"),
                ("ed25519", "p256"),
            ] {
                let refused = token.refusal(location(key), certificate);
                assert!(
                    matches!(
                        refused.problem,
                        Problem::OtherKey | Problem::Unsupported { .. }
                    ),
                    "{refused}"
                );
            }
        },
    );
}
