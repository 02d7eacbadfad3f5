//! Tables that are wrong or weak, and messages that cannot be encrypted.

use soapstone::config::{EndpointConfig, Problems};
use soapstone::endpoint::Endpoint;
use soapstone::{Opener, Securer, Service};
use soapstone_testkit::envelope::with_body;
use soapstone_testkit::keys::{P256, RSA};

use super::{OF_OFFICE, TO_OFFICE, body_of, encryption, pair};
use crate::{BY_CLERK, MECHANISMS, ORDER, REQUESTS, TRUST_CLERK};

#[test]
fn a_message_that_cannot_be_encrypted_is_an_error() {
    let pair = pair(RSA);
    let start = "`{urn:tax}Order` is to be encrypted by itself: ";
    let sealed = pair.order("");
    let content = pair.order(", content = true");
    for (body, form, expected) in [
        (
            "<a/>".to_owned(),
            "",
            "expected one such element in the Body, found none",
        ),
        (
            format!("{ORDER}{ORDER}"),
            "",
            "expected one such element in the Body, found 2",
        ),
        (
            format!("{ORDER}{}", body_of(&sealed)),
            "",
            "the Body has cipher text already, which is not in it",
        ),
        (
            body_of(&content).to_owned(),
            ", content = true",
            "its content is cipher text already",
        ),
    ] {
        let inner = encryption(&format!("{TO_OFFICE}{form}"));
        let failed = pair.sealed(&with_body(&body), &inner);
        let told = failed.expect_err("it cannot be encrypted").to_string();
        assert_eq!(told, format!("{start}{expected}"), "{body}");
    }
}

#[test]
fn mistakes_of_the_table_are_told_with_their_places() {
    let pair = pair(P256);
    let both = format!("{REQUESTS}, {BY_CLERK}, {TRUST_CLERK}");
    let order = "order = \"encrypt-sign\"";
    let with = |rest: &str| {
        encryption(&format!(
            "{OF_OFFICE}, suite = \"Basic256GCMEcdhEs\", {rest}"
        ))
    };
    for (inner, expected) in [
        (
            format!("encryption = {{ {OF_OFFICE} }}"),
            "`requests` is missing in [inner.encryption]",
        ),
        (
            encryption(OF_OFFICE),
            "suite `Basic256GCM` has no way to encrypt to the certificate that the element is encrypted to, whose key is",
        ),
        (
            with("key_reference = \"direct\""),
            "`key_reference` must be",
        ),
        (with(order), "`order` is given, and no element is signed"),
        (
            format!("{both}, {}", with(order)),
            "the element is cipher text when it is to be signed",
        ),
        (
            format!(
                "{both}, base64 = true, {}",
                with(&format!("{order}, content = true"))
            ),
            "the element is cipher text when it is to be signed",
        ),
        (
            format!("base64 = true, {}", with("content = true")),
            "`base64` is of inner signatures, and no element is signed",
        ),
        (
            with("algorithms = { data = [\"aes256-gcm\"] }"),
            "both `suite` and `algorithms` are given",
        ),
    ] {
        let made: Result<Service, Problems> = pair
            .config("service", MECHANISMS[1], &inner)
            .and_then(|config| Endpoint::from_config(&config));
        let found = made.err().map(|problems| problems.to_string());
        let found = found.unwrap_or_default();
        assert!(found.contains(expected), "{inner}: {found}");
        assert!(found.contains("endpoint.toml:"), "{found}");
    }
    let text = format!(
        "security = {{ mechanism = \"none\" }}\ninner = {{ encryption = {{ {REQUESTS} }} }}\n"
    );
    let config = EndpointConfig::from_text(&text, &pair.0.path("endpoint.toml"), &|_| None);
    let config = config.expect("its shape is right");
    let opener = Opener::from_config(&config).expect_err("no key decrypts");
    let expected = "`identity` is needed to decrypt an element by itself";
    assert!(opener.to_string().contains(expected), "{opener}");
    let securer = Securer::from_config(&config).expect_err("nobody to encrypt to");
    let expected = "`peer` is needed to encrypt an element by itself";
    assert!(securer.to_string().contains(expected), "{securer}");
}

/// Weak algorithms and CBC are warned of where they are chosen.
#[test]
fn weak_inner_cipher_text_is_warned_of() {
    let pair = pair(RSA);
    for (suite, expected) in [
        ("Basic256GCM", &[][..]),
        ("Basic256", &["cbc"][..]),
        ("TripleDesRsa15", &["cbc", "weak-algorithm"][..]),
    ] {
        let inner = encryption(&format!("{OF_OFFICE}, suite = \"{suite}\""));
        let config = pair.config("service", MECHANISMS[1], &inner);
        let config = config.expect("it is read");
        let opener = Opener::from_config(&config).expect("it is compiled");
        let mut found: Vec<_> = opener
            .risks(&config, true)
            .iter()
            .map(|risk| risk.name)
            .collect();
        found.sort_unstable();
        assert_eq!(found, expected, "{suite}");
    }
}
