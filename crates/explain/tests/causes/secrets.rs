//! Cipher text and passwords that differ.

use soapstone::crypto::{DigestAlgorithm, base64, digest, hexadecimal};
use soapstone::xml::Canonicalization;
use soapstone_explain::Known;

use crate::cases::Cases;
use crate::support::{PLAIN, Signer, as_it_is, form, known, secured, signed_anew, told_with};

pub(crate) fn encrypted(cases: &mut Cases) {
    let of = |mechanism: &str| {
        secured(
            "client",
            &format!(
                "[security]\nmechanism = \"{mechanism}\"\nalgorithms = {{ signature = [\"rsa-sha256\"], digest = [\"sha256\"], canonicalization = [\"exc-c14n\"], key_transport = [\"rsa-oaep-mgf1p\"], data = [\"aes128-gcm\"] }}"
            ),
            PLAIN,
        )
    };
    let message = of("encrypt-sign");
    let body = signed_anew(
        &message,
        &Signer::client(),
        &[("Body", &|document, node, _| {
            form(document, node, Canonicalization::Inclusive10, &[], &[])
        })],
        &as_it_is,
    );
    cases.add("encrypt-sign: inclusive", "canonicalization", body.clone());
    cases.add_known(
        "encrypt-sign: inclusive, with our key",
        "canonicalization",
        body,
        known(),
    );
    let message = of("sign-encrypt");
    let timestamp = signed_anew(
        &message,
        &Signer::client(),
        &[("Timestamp", &|_, _, form: &str| {
            format!("{form}\n").into_bytes()
        })],
        &as_it_is,
    );
    cases.add_known(
        "sign-encrypt: the Timestamp",
        "white-space",
        timestamp,
        known(),
    );
    // The Body is digested before it is encrypted: its plain form is that of the message signed
    // alone, but for its id.
    let plain_body = |read: &soapstone::xml::Document, node: soapstone::xml::NodeId| {
        let id = read.element(node).attribute("http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd", "Id").expect("an id").into_owned();
        let start = PLAIN.find("<q:order").expect("an order");
        let content = &PLAIN[start..PLAIN.find("</soap:Body>").expect("an end")];
        let content = content.replace("<!-- a remark -->", "");
        let content = content.replace(
            "q:kind=\"a&quot;b\" number=\"1\" b=\"2\"",
            "b=\"2\" number=\"1\" q:kind=\"a&quot;b\"",
        );
        format!(
            "<soap:Body xmlns:soap=\"http://schemas.xmlsoap.org/soap/envelope/\" xmlns:wsu=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd\" wsu:Id=\"{id}\">{content}</soap:Body>"
        )
    };
    let signer = Signer::client();
    let body = signed_anew(
        &message,
        &signer,
        &[("Body", &|read, node, _| {
            plain_body(read, node).replace("&gt;", ">").into_bytes()
        })],
        &as_it_is,
    );
    cases.add_known("sign-encrypt: the Body", "escaping", body, known());
    let old = secured(
        "client",
        "[security]\nmechanism = \"encrypt\"\nalgorithms = { key_transport = [\"rsa-1_5\"], data = [\"aes128-gcm\"] }",
        PLAIN,
    );
    let renamed = old.replace(
        "http://www.w3.org/2001/04/xmlenc#rsa-1_5",
        "http://www.w3.org/2001/04/xmlenc#rsa-oaep-mgf1p",
    );
    assert_ne!(old, renamed);
    cases.add_known(
        "PKCS#1 v1.5 under the name of OAEP",
        "key-transport",
        renamed,
        known(),
    );
}

pub(crate) fn users(cases: &mut Cases) {
    const NONCE: &str = "AAECAwQFBgcICQoLDA0ODw==";
    const CREATED: &str = "2026-11-21T16:02:00Z";
    let nonce: Vec<u8> = (0..16).collect();
    let sha1 = |pieces: &[&[u8]]| {
        digest(DigestAlgorithm::Sha1, &pieces.concat())
            .expect("a digest")
            .as_ref()
            .to_vec()
    };
    let message = |password: &str| {
        format!(
            "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Header><wsse:Security \
        xmlns:wsse=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\" \
        xmlns:wsu=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd\"><wsse:UsernameToken>\
        <wsse:Username>alice</wsse:Username><wsse:Password Type=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#PasswordDigest\">{password}</wsse:Password>\
        <wsse:Nonce>{NONCE}</wsse:Nonce><wsu:Created>{CREATED}</wsu:Created></wsse:UsernameToken></wsse:Security></s:Header><s:Body/></s:Envelope>"
        )
    };
    let known = || Known {
        passwords: vec![(
            "alice".to_owned(),
            soapstone::crypto::SecretBytes::new(b"secret".to_vec()),
        )],
        ..Known::default()
    };
    let mut add = |name, kind, octets: Vec<u8>| {
        cases.add_known(name, kind, message(&base64::encode(&octets)), known())
    };
    add(
        "a digest of the text of the nonce",
        "username-digest",
        sha1(&[NONCE.as_bytes(), CREATED.as_bytes(), b"secret"]),
    );
    add(
        "a digest of the hashed password",
        "username-digest",
        sha1(&[&nonce, CREATED.as_bytes(), &sha1(&[b"secret"])]),
    );
    add(
        "a digest without Created",
        "username-digest",
        sha1(&[&nonce, b"secret"]),
    );
    add(
        "a digest by SHA-256",
        "username-digest",
        digest(
            DigestAlgorithm::Sha256,
            &[&nonce[..], CREATED.as_bytes(), b"secret"].concat(),
        )
        .expect("a digest")
        .as_ref()
        .to_vec(),
    );
    let right = sha1(&[&nonce, CREATED.as_bytes(), b"secret"]);
    add(
        "another password",
        "password",
        sha1(&[&nonce, CREATED.as_bytes(), b"other"]),
    );
    cases.add_known(
        "a digest in hexadecimal (user)",
        "digest-encoding",
        message(&hexadecimal::encode(&right)),
        known(),
    );
    let told = told_with(message(&base64::encode(&right)).as_bytes(), known());
    assert!(!told.is_refused(), "{:?}", told.findings);
}
