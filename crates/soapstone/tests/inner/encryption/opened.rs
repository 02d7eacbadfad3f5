//! What is encrypted by itself, and opened at the other end.

use soapstone::config::EndpointConfig;
use soapstone::crypto::KeyKind;
use soapstone::wss::{Extent, InnerEncryption, SecureError};
use soapstone::{Client, ForgetfulReplayCache, Memory, Service};
use soapstone_testkit::envelope::{SOAP11, SOAP12, with_body, with_header};
use soapstone_testkit::keys::{P256, RSA};

use super::{OF_OFFICE, TO_OFFICE, body_of, encryption, pair};
use crate::{BY_CLERK, MECHANISMS, ORDER, REQUESTS, TRUST_CLERK, received};

#[test]
fn an_element_is_encrypted_and_deciphered_below_every_mechanism() {
    let pair = pair(RSA);
    let signed =
        format!("{REQUESTS}, answers = \"{{urn:tax}}Receipt\", {BY_CLERK}, {TRUST_CLERK}, ");
    let forms = [
        ("", "", Extent::Element),
        ("", ", content = true", Extent::Content),
        (signed.as_str(), "", Extent::Element),
        (signed.as_str(), ", content = true", Extent::Content),
        (
            signed.as_str(),
            ", content = true, order = \"encrypt-sign\"",
            Extent::Content,
        ),
    ];
    for mechanism in MECHANISMS {
        for soap in [SOAP11, SOAP12] {
            for (signed, form, extent) in forms {
                let both = format!("{REQUESTS}, answers = \"{{urn:tax}}Receipt\"{form}");
                let inner = format!("{signed}encryption = {{ {both}, {TO_OFFICE} }}");
                let client: Client = pair.endpoint("client", mechanism, &inner);
                let inner = format!("{signed}encryption = {{ {both}, {OF_OFFICE} }}");
                let service: Service = pair.endpoint("service", mechanism, &inner);
                let case = format!("{mechanism} {inner}");
                let plain = with_header(soap, "", ORDER).into_bytes();
                let secured = client.secure(plain).expect("it is secured");
                let wire = String::from_utf8_lossy(&secured.bytes);
                assert!(!wire.contains("<t:total>12"), "{case}: {wire}");
                let opened = received(&service, secured.bytes);
                let opened = opened.unwrap_or_else(|error| panic!("{case}: {error}"));
                let evidence = opened.evidence.inner_encryption.expect("inner encryption");
                assert_eq!(evidence.element, "{urn:tax}Order");
                assert_eq!(evidence.recipient, "CN=office");
                assert_eq!((evidence.extent, evidence.key), (extent, "rsa-oaep"));
                assert_eq!(opened.evidence.inner.is_some(), !signed.is_empty());
                let passed_on = String::from_utf8(opened.bytes).expect("text");
                assert!(passed_on.contains("<t:total>12</t:total>"), "{passed_on}");
                assert!(!passed_on.contains("EncryptedData"), "{passed_on}");
                let answer = "<r:Receipt xmlns:r=\"urn:tax\">13</r:Receipt>";
                let answer = with_header(soap, "", answer).into_bytes();
                let answered = service.answer(answer, &opened.receipt);
                let answered = answered.unwrap_or_else(|error| panic!("{case}: {error}"));
                let memory = Memory::without_conversations(&ForgetfulReplayCache);
                let read = client.open(answered.bytes, secured.receipt, memory);
                let read = read.unwrap_or_else(|error| panic!("{case}: {error}"));
                let evidence = read.evidence.inner_encryption.expect("inner encryption");
                assert_eq!(evidence.recipient, "CN=client");
                let passed_on = String::from_utf8(read.bytes).expect("text");
                assert!(passed_on.contains(">13"), "{passed_on}");
            }
        }
    }
}

#[test]
fn every_key_transport_and_every_agreement_opens_the_element() {
    for (suite, kind, key, weak) in [
        ("Basic256", RSA, "rsa-oaep-mgf1p", &[][..]),
        (
            "TripleDesRsa15",
            RSA,
            "rsa-1_5",
            &["rsa-1_5", "tripledes-cbc"][..],
        ),
        ("Basic128Sha256Rsa15", RSA, "rsa-1_5", &["rsa-1_5"][..]),
        ("Basic128GCM", RSA, "rsa-oaep", &[][..]),
        ("Basic256GCMEcdhEs", P256, "kw-aes256", &[][..]),
        ("Basic128GCMX25519", KeyKind::X25519, "kw-aes128", &[][..]),
    ] {
        let pair = pair(kind);
        for reference in InnerEncryption::REFERENCES {
            for form in ["", ", content = true"] {
                let suite = format!(", suite = \"{suite}\"{form}");
                let naming = format!(", key_reference = \"{}\"", reference.name());
                let sealed = pair.order(&format!("{suite}{naming}"));
                assert!(!body_of(&sealed).contains("total"), "{sealed}");
                let read = pair.read(&sealed, &suite);
                let read = read.unwrap_or_else(|error| panic!("{suite}{naming}: {error}"));
                let evidence = read.inner_encryption.expect("inner encryption");
                assert_eq!(evidence.key, key, "{suite}{naming}");
                let mut found = evidence.weak;
                found.sort_unstable();
                assert_eq!(found, weak, "{suite}{naming}");
                for name in weak {
                    assert!(read.weak.contains(name), "{suite}{naming}");
                }
            }
        }
    }
}

/// XML 1.0 namespaces, and what a rebuilding node drops: the plaintext says what its prefixes mean.
#[test]
fn a_plaintext_declares_the_namespaces_around_it() {
    let pair = pair(RSA);
    let plain = format!(
        "<s:Envelope xmlns:s=\"{SOAP11}\" xmlns:t=\"urn:tax\" xmlns=\"urn:other\"><s:Body><t:Order t:kind=\"t:new\"/></s:Body></s:Envelope>"
    );
    let inner = encryption(TO_OFFICE);
    let sealed = pair.sealed(&plain, &inner).expect("it is encrypted");
    // A node in between that keeps what it sees used.
    let rebuilt = sealed
        .replace(" xmlns:t=\"urn:tax\"", "")
        .replace(" xmlns=\"urn:other\"", "");
    pair.read(&rebuilt, "").expect("it is read");
}

#[test]
fn a_fault_has_no_inner_cipher_text() {
    let pair = pair(RSA);
    let answers = "encryption = { answers = \"{urn:tax}Receipt\" }";
    let client: Client = pair.endpoint("client", MECHANISMS[1], answers);
    let service: Service = pair.endpoint("service", MECHANISMS[1], answers);
    let fault = "<s:Fault><faultcode>s:Server</faultcode><faultstring>no</faultstring></s:Fault>";
    for (body, accepted) in [
        (fault.to_owned(), true),
        (format!("{fault}<r:Receipt xmlns:r=\"urn:tax\"/>"), false),
    ] {
        let secured = client.secure(with_body(ORDER).into_bytes());
        let secured = secured.expect("it is secured");
        let opened = received(&service, secured.bytes).expect("it is opened");
        // One that encrypts nothing: ours would refuse to send the second one.
        let plain: Service = pair.endpoint("service", MECHANISMS[1], &encryption(OF_OFFICE));
        let answered = plain.answer(with_body(&body).into_bytes(), &opened.receipt);
        let answered = answered.expect("it is secured");
        let memory = Memory::without_conversations(&ForgetfulReplayCache);
        let read = client.open(answered.bytes, secured.receipt, memory);
        match read {
            Ok(read) => assert!(accepted && read.evidence.inner_encryption.is_none()),
            Err(rejected) => assert_eq!((rejected.name(), accepted), ("inner-encryption", false)),
        }
    }
    let fault = with_body(fault).into_bytes();
    let secured = client.secure(with_body(ORDER).into_bytes());
    let secured = secured.expect("it is secured");
    let opened = received(&service, secured.bytes).expect("it is opened");
    let answered = service.answer(fault, &opened.receipt);
    answered.expect("a fault stays as it is");
}

/// Without a peer in its file, a service encrypts to whoever signed the request.
#[test]
fn an_answer_is_encrypted_to_the_signer_of_its_request() {
    let pair = pair(RSA);
    let answers = "encryption = { answers = \"{urn:tax}Receipt\" }";
    let client: Client = pair.endpoint("client", MECHANISMS[1], answers);
    let text = format!(
        "identity = {{ key = \"service.key.pem\", certificate = \"service.cert.pem\" }}\n\
         trust = {{ anchors = [\"ca.cert.pem\"], subjects = [\"CN=client\"] }}\n\
         security = {{ {} }}\ninner = {{ {answers} }}\n",
        MECHANISMS[1]
    );
    let config = EndpointConfig::from_text(&text, &pair.0.path("endpoint.toml"), &|_| None);
    let service = Service::from_config(&config.expect("it is read")).expect("it is compiled");
    let secured = client.secure(with_body(ORDER).into_bytes());
    let secured = secured.expect("it is secured");
    let opened = received(&service, secured.bytes).expect("it is opened");
    let answer = with_body("<r:Receipt xmlns:r=\"urn:tax\"/>").into_bytes();
    let answered = service.answer(answer.clone(), &opened.receipt);
    let answered = answered.expect("it is secured");
    let memory = Memory::without_conversations(&ForgetfulReplayCache);
    let read = client.open(answered.bytes, secured.receipt, memory);
    let evidence = read.expect("it is read").evidence.inner_encryption;
    assert_eq!(evidence.expect("evidence").recipient, "CN=client");
    // Of a request that nobody signed there is no such certificate.
    let text = text.replace("\"sign\"", "\"none\"");
    let config = EndpointConfig::from_text(&text, &pair.0.path("endpoint.toml"), &|_| None);
    let service = Service::from_config(&config.expect("it is read")).expect("it is compiled");
    let opened = received(&service, with_body(ORDER).into_bytes()).expect("it is opened");
    let failed = service.answer(answer, &opened.receipt);
    assert_eq!(
        failed.expect_err("nobody is known"),
        SecureError::RequestKeyMissing
    );
}
