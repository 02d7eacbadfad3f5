//! Endpoint files whose session keys are agreed on: what they may say, and what is wrong with them.

#[path = "support/endpoints.rs"]
mod endpoints;

use std::path::Path;

use endpoints::problems;
use soapstone::config::EndpointConfig;
use soapstone::crypto::{DigestAlgorithm, KeyAgreement, KeyDerivation, KeyKind, KeyWrap};
use soapstone::endpoint::preset_exchange_policy;
use soapstone::wss::{InboundPlan, KeyAgreementMethod, OutboundPlan, Suite};
use soapstone_testkit::Folder;
use soapstone_testkit::keys::{P256, RSA, identity};

/// A folder with a certificate and a key of each kind.
fn folder() -> Folder {
    let folder = Folder::new();
    for (name, kind) in [
        ("p256", P256),
        ("ed25519", KeyKind::Ed25519),
        ("x25519", KeyKind::X25519),
        ("rsa", RSA),
    ] {
        folder.write_identity(name, &identity(&format!("CN={name}"), kind));
    }
    folder
}

/// The suite of an endpoint file that says this of its algorithms.
fn suite(security: &str) -> Suite {
    let text = format!("security = {{ mechanism = \"encrypt\", {security} }}\n");
    let config = EndpointConfig::from_text(&text, Path::new("endpoint.toml"), &|_| None)
        .unwrap_or_else(|problems| panic!("{problems}"));
    let agreement = preset_exchange_policy(&config)
        .unwrap_or_else(|problems| panic!("{problems}"))
        .expect("a preset");
    agreement.request.suite
}

fn problems_of(algorithms: &str) -> String {
    let text =
        format!("[security]\nmechanism = \"encrypt\"\n[security.algorithms]\n{algorithms}\n");
    let config = EndpointConfig::from_text(&text, Path::new("endpoint.toml"), &|_| None)
        .unwrap_or_else(|problems| panic!("{problems}"));
    match preset_exchange_policy(&config) {
        Ok(_) => String::new(),
        Err(problems) => problems.to_string(),
    }
}

#[test]
fn agreements_are_listed_by_short_name_or_uri() {
    let by_name = suite(
        "algorithms = { key_agreement = [\"x25519\"], key_derivation = [\"hkdf\"], key_wrap = [\"kw-aes128\"] }",
    );
    assert_eq!(
        by_name.key_agreement,
        [KeyAgreementMethod::x25519(KeyWrap::Aes128)]
    );
    // One way is named; the other is not, and is not accepted.
    assert_eq!(by_name.key_transport, []);
    let by_uri = suite(
        "algorithms = { key_agreement = [\"http://www.w3.org/2021/04/xmldsig-more#x25519\"], \
         key_derivation = [\"http://www.w3.org/2021/04/xmldsig-more#hkdf\"], \
         key_wrap = [\"http://www.w3.org/2001/04/xmlenc#kw-aes128\"] }",
    );
    assert_eq!(by_uri.key_agreement, by_name.key_agreement);
    let customary = suite("algorithms = { key_agreement = [\"ecdh-es\"] }");
    assert_eq!(
        customary.key_agreement,
        [KeyAgreementMethod::ecdh_es(KeyWrap::Aes256)]
    );
    let lighter = suite("algorithms = { key_agreement = [\"ecdh-es\"], data = [\"aes128-gcm\"] }");
    assert_eq!(
        lighter.key_agreement,
        [KeyAgreementMethod::ecdh_es(KeyWrap::Aes128)]
    );
    let both =
        suite("algorithms = { key_agreement = [\"ecdh-es\"], key_transport = [\"rsa-oaep\"] }");
    assert_eq!((both.key_agreement.len(), both.key_transport.len()), (1, 1));
    let neither = suite("algorithms = { digest = [\"sha512\"] }");
    assert_eq!(
        (neither.key_agreement.len(), neither.key_transport.len()),
        (0, 1)
    );
}

#[test]
fn every_agreement_goes_with_every_derivation_digest_and_wrapping_that_is_listed() {
    let listed = suite(
        "algorithms = { key_agreement = [\"ecdh-es\", \"x25519\"], key_derivation = [\"concat-kdf\", \"hkdf\"], \
         derivation_digest = [\"sha256\", \"sha384\"], key_wrap = [\"kw-aes256\", \"kw-aes128\"] }",
    );
    assert_eq!(listed.key_agreement.len(), 16);
    assert_eq!(
        listed.key_agreement[0],
        KeyAgreementMethod {
            algorithm: KeyAgreement::EcdhEs,
            derivation: KeyDerivation::ConcatKdf,
            digest: DigestAlgorithm::Sha256,
            wrap: KeyWrap::Aes256,
        }
    );
}

#[test]
fn what_is_wrong_with_a_list_is_told_with_what_would_be_right() {
    assert_eq!(
        problems_of("key_agreement = [\"x25518\"]"),
        "endpoint.toml:4:18: expected the name of a key agreement algorithm, found another text\n    \
         hint: name it by its URI or by its short name, for example \"rsa-sha256\", \"sha256\", \"aes256-gcm\", \"exc-c14n\", \"x25519\", \
         \"hkdf\", \"kw-aes128\""
    );
    assert_eq!(
        problems_of("key_wrap = [\"kw-aes128\"]"),
        "endpoint.toml:4:13: `key_wrap` says how an agreed key is used, and `key_agreement` names no agreement\n    \
         hint: name one: key_agreement = [\"x25519\"] or [\"ecdh-es\"]"
    );
    assert_eq!(
        problems_of(
            "key_agreement = [\"x25519\"]\nkey_derivation = [\"pbkdf2\"]\nderivation_digest = [\"sha1\"]"
        ),
        "endpoint.toml:5:19: `pbkdf2` derives keys from passwords, not from what two key pairs agree on\n    \
         hint: name \"hkdf\" or \"concat-kdf\"\n\
         endpoint.toml:6:22: no key is derived with \"sha1\"\n    \
         hint: name \"sha256\", \"sha384\" or \"sha512\""
    );
}

const SIGNS: &str = "identity = { key = \"ed25519.key.pem\", certificate = \"ed25519.cert.pem\"";

#[test]
fn a_key_that_only_signs_needs_another_one_that_decrypts() {
    let folder = folder();
    let security = "security = { mechanism = \"encrypt\", suite = \"Basic128GCMX25519\" }\n";
    assert_eq!(
        problems::<InboundPlan>(&folder, &format!("{SIGNS} }}\n{security}")),
        "endpoint.toml:2:26: suite `Basic128GCMX25519` names no key transport and no key agreement for our certificate, whose key is Ed25519\n    \
         hint: where another key decrypts than the one that signs, name it: identity = { …, decryption = { key = \"….key.pem\", \
         certificate = \"….cert.pem\" } }"
    );
    let x25519 = "{ key = \"x25519.key.pem\", certificate = \"x25519.cert.pem\" }";
    for decryption in [
        x25519.to_owned(),
        format!("[{x25519}]"),
        format!("[{x25519}, {x25519}]"),
    ] {
        let text = format!("{SIGNS}, decryption = {decryption} }}\n{security}");
        assert_eq!(problems::<InboundPlan>(&folder, &text), "");
        EndpointConfig::from_text(&text, &folder.path("endpoint.toml"), &|_| None)
            .unwrap_or_else(|problems| panic!("{problems}"));
    }
}

#[test]
fn what_is_wrong_with_a_decryption_key_is_told_where_it_stands() {
    let folder = folder();
    let security = "security = { mechanism = \"encrypt\", suite = \"Basic128GCMX25519\" }\n";
    for (decryption, expected) in [
        (
            "{ key = \"x25519.key.pem\" }",
            "endpoint.toml:1:86: `certificate` is missing in [identity.decryption]\n    \
             hint: name a PEM file with the certificate, or a keystore = \"….p12\"",
        ),
        (
            "[]",
            "endpoint.toml:1:86: `decryption` names no key\n    \
             hint: leave it out where the key that signs decrypts as well",
        ),
        (
            "{ key = \"x25519.key.pem\", certificate = \"p256.cert.pem\" }",
            "endpoint.toml:1:94: `x25519.key.pem`: the private key does not belong to the certificate of `CN=p256`",
        ),
    ] {
        let text = format!("{SIGNS}, decryption = {decryption} }}\n{security}");
        assert_eq!(problems::<InboundPlan>(&folder, &text), expected);
    }
}

#[test]
fn a_peer_whose_key_does_not_fit_the_suite_is_told_before_any_message() {
    let folder = folder();
    for (peer, suite, kind) in [
        ("rsa", "Basic128GCMEcdhEs", "RSA of 2048 bits"),
        ("ed25519", "Basic128GCMX25519", "Ed25519"),
        ("x25519", "Basic256GCM", "X25519"),
    ] {
        let text = format!(
            "peer = {{ certificate = \"{peer}.cert.pem\" }}\nsecurity = {{ mechanism = \"encrypt\", suite = \"{suite}\" }}\n"
        );
        assert_eq!(
            problems::<OutboundPlan>(&folder, &text),
            format!(
                "endpoint.toml:2:26: suite `{suite}` names no key transport and no key agreement for the peer's certificate, whose key is {kind}\n    \
                 hint: name the peer's certificate for encryption, or a suite that fits its key: Basic256GCM for RSA, Basic256GCMEcdhEs for \
                 P-256, Basic256GCMX25519 for X25519"
            )
        );
    }
}
