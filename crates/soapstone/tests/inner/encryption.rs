//! Elements of the Body that are encrypted by themselves, for whoever stands behind the service or
//! for the service itself: alone, and with a signature over plaintext or over cipher text.

use std::collections::HashMap;
use std::sync::Mutex;

use jiff::Timestamp;
use soapstone::config::{EndpointConfig, Problems};
use soapstone::crypto::KeyKind;
use soapstone::endpoint::Endpoint;
use soapstone::wss::{Evidence, Extent, FirstSeen, InnerEncryption, Mark, Rejected, SecureError};
use soapstone::{
    Attempts, Client, ForgetfulReplayCache, KeyName, Memory, Opener, Outcome, ReplayCache,
    ReplayError, Securer, Service, Tally,
};
use soapstone_testkit::envelope::{SOAP11, SOAP12, with_body, with_header};
use soapstone_testkit::keys::{P256, RSA, identity};

use super::{BY_CLERK, MECHANISMS, ORDER, Pair, REQUESTS, TRUST_CLERK, received};

const TO_OFFICE: &str = "peer = { certificate = \"office.cert.pem\" }";
const OF_OFFICE: &str =
    "identity = { key = \"office.key.pem\", certificate = \"office.cert.pem\" }";

/// A client, a service, a clerk who signs and an office that decrypts with a key of this kind.
fn pair(office: KeyKind) -> Pair {
    let pair = Pair::new();
    let office = identity("CN=office", office);
    pair.0.write_identity("office", &office);
    pair
}

/// `inner` with an encryption of the order and nothing else.
fn encryption(rest: &str) -> String {
    format!("encryption = {{ {REQUESTS}, {rest} }}")
}

impl Pair {
    /// A plain message with cipher text for the office.
    fn sealed(&self, plain: &str, inner: &str) -> Result<String, SecureError> {
        let securer: Securer = self.endpoint("client", MECHANISMS[0], inner);
        let secured = securer.secure(plain.as_bytes().to_vec())?;
        Ok(String::from_utf8(secured.bytes).expect("text"))
    }

    /// A message whose order, or its content, is enciphered.
    fn order(&self, rest: &str) -> String {
        let inner = encryption(&format!("{TO_OFFICE}{rest}"));
        let sealed = self.sealed(&with_body(ORDER), &inner);
        sealed.expect("it is encrypted")
    }

    /// What the office makes of a plain message.
    fn read(&self, message: &str, rest: &str) -> Result<Evidence, Rejected> {
        self.evidence(message, &encryption(&format!("{OF_OFFICE}{rest}")))
    }

    fn told(&self, message: &str, rest: &str) -> String {
        match self.read(message, rest) {
            Ok(evidence) => panic!("{message}: {:?}", evidence.inner_encryption),
            Err(rejected) => format!("{}: {rejected}", rejected.name()),
        }
    }
}

/// What stands in the Body of a message.
fn body_of(message: &str) -> &str {
    let (_, rest) = message.split_once("<s:Body>").expect("a body");
    rest.split_once("</s:Body>").expect("its end").0
}

/// What stands between the first two such texts.
fn between<'t>(text: &'t str, start: &str, end: &str) -> &'t str {
    let at = text.find(start).expect("the start");
    let length = text[at..].find(end).expect("the end") + end.len();
    &text[at..at + length]
}

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

/// Wrapping of cipher text (Somorovsky et al., On Breaking SAML, 2012, for signatures; here the
/// place decides what is deciphered), and everything that is not one cipher text with its own key.
#[test]
fn what_is_not_one_cipher_text_with_its_own_key_is_refused() {
    let pair = pair(RSA);
    let sealed = pair.order("");
    let data = body_of(&sealed);
    assert!(pair.read(&with_body(data), "").is_ok());
    let key = between(data, "<xenc:EncryptedKey", "</xenc:EncryptedKey>");
    let form = "inner-encryption: the inner encryption of `{urn:tax}Order`: ";
    let without_key = |other: &str| data.replace(key, other);
    for (body, expected) in [
        (
            ORDER.to_owned(),
            "expected cipher text in its place, found the element",
        ),
        (
            format!("{data}{ORDER}"),
            "expected cipher text in its place, found the element",
        ),
        (
            "<a/>".to_owned(),
            "expected one `xenc:EncryptedData` in the Body, found 0",
        ),
        (
            format!("{data}<a>{data}</a>"),
            "expected one `xenc:EncryptedData` in the Body, found 2",
        ),
        // A key of the header, by its id, or none: the outer layer's key opens nothing here.
        (
            without_key("<ds:RetrievalMethod URI=\"#key\"/>"),
            "expected one `EncryptedKey`",
        ),
        (
            without_key(
                "<w:SecurityTokenReference xmlns:w=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\"><w:Reference URI=\"#key\"/></w:SecurityTokenReference>",
            ),
            "expected an `EncryptedKey` in its `KeyInfo`",
        ),
        (without_key(""), "expected one `EncryptedKey`"),
        (
            without_key(&format!("{key}{key}")),
            "expected one `EncryptedKey`",
        ),
        // A key that says that it opens something else as well.
        (
            data.replace(
                "</xenc:EncryptedKey>",
                "<xenc:ReferenceList><xenc:DataReference URI=\"#other\"/></xenc:ReferenceList></xenc:EncryptedKey>",
            ),
            "expected its key and its cipher text to name each other",
        ),
        (
            data.replace("xmlenc#Element", "xmlenc#Content"),
            "expected `Type` to say that it is an element",
        ),
    ] {
        let told = pair.told(&with_body(&body), "");
        assert_eq!(told, format!("{form}{expected}"), "{body}");
    }
    let content = pair.order(", content = true");
    let element = body_of(&content);
    let data = between(element, "<xenc:EncryptedData", "</xenc:EncryptedData>");
    let alone = "expected one `xenc:EncryptedData` and nothing else in it";
    for (body, expected) in [
        (ORDER.to_owned(), alone),
        (element.replace(data, &format!("{data}{data}")), alone),
        (
            element.replace(data, &format!("{data}<t:total>9</t:total>")),
            alone,
        ),
        (element.replace(data, &format!("9{data}")), alone),
        // A signature in the clear is one more element, where none is over cipher text.
        (
            element.replace(
                data,
                &format!("{data}<ds:Signature xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\"/>"),
            ),
            alone,
        ),
        (
            format!("{element}{element}"),
            "expected one such element in the Body, found 2",
        ),
        (
            data.to_owned(),
            "expected one such element in the Body, found none",
        ),
    ] {
        let told = pair.told(&with_body(&body), ", content = true");
        assert_eq!(told, format!("{form}{expected}"), "{body}");
    }
}

/// Whom it is for, and by which algorithms, is told before a key is used.
#[test]
fn cipher_text_for_somebody_else_or_by_another_algorithm_is_refused() {
    let pair = pair(RSA);
    let inner = encryption("peer = { certificate = \"clerk.cert.pem\" }");
    let of_clerk = pair.sealed(&with_body(ORDER), &inner);
    let of_clerk = of_clerk.expect("it is encrypted");
    let told = pair.told(&of_clerk, "");
    assert!(told.starts_with("key-not-found: "), "{told}");
    // The key of the service opens what is around the element, and not the element.
    let inner = encryption("peer = { certificate = \"service.cert.pem\" }");
    let of_service = pair.sealed(&with_body(ORDER), &inner);
    let of_service = of_service.expect("it is encrypted");
    let told = pair.told(&of_service, "");
    assert!(told.starts_with("key-not-found: "), "{told}");
    // Without a key of its own the service opens it.
    let inner = format!("encryption = {{ {REQUESTS} }}");
    assert!(pair.evidence(&of_service, &inner).is_ok());
    // Jager, Paterson and Somorovsky, One Bad Apple, 2013: a key of GCM is no key of CBC.
    for (suite, accepted) in [
        ("Basic256", "Basic256GCM"),
        ("Basic256GCM", "Basic256"),
        ("Basic256Rsa15", "Basic256"),
        ("Basic128GCM", "Basic256GCM"),
    ] {
        let sealed = pair.order(&format!(", suite = \"{suite}\""));
        let told = pair.told(&sealed, &format!(", suite = \"{accepted}\""));
        assert!(told.starts_with("algorithm-not-allowed: "), "{told}");
    }
}

/// Bleichenbacher (1998), Vaudenay (2002), Jager and Somorovsky (2011): from the use of a key on
/// there is one failure, alone and inside of outer cipher text.
#[test]
fn whatever_fails_behind_the_key_is_one_failure() {
    for suite in ["Basic256GCM", "Basic256", "Basic256Rsa15"] {
        let pair = pair(RSA);
        let with = format!(", suite = \"{suite}\"");
        let sealed = pair.order(&with);
        let value = |message: &str, at: usize| {
            let mut values = message.split("<xenc:CipherValue>").skip(1);
            let rest = values.nth(at).expect("a value");
            rest.split_once('<').expect("its end").0.to_owned()
        };
        // The wrapped key, then the data.
        let (wrapped, data) = (value(&sealed, 0), value(&sealed, 1));
        let other_key = value(&pair.order(&with), 0);
        let changed = |text: &str, at: usize| {
            let other = if text.as_bytes()[at] == b'A' {
                "B"
            } else {
                "A"
            };
            format!("{}{other}{}", &text[..at], &text[at + 1..])
        };
        let of_element = |name: &str, body: &str| {
            let inner = format!("encryption = {{ requests = \"{name}\", {TO_OFFICE}{with} }}");
            let sealed = pair.sealed(&with_body(body), &inner);
            sealed.expect("it is encrypted")
        };
        let twice = {
            let content = pair.order(&format!("{with}, content = true"));
            of_element("{urn:tax}Order", body_of(&content))
        };
        let failures = [
            sealed.replace(&data, &changed(&data, 0)),
            sealed.replace(&data, &changed(&data, data.len() / 2)),
            sealed.replace(&data, &data[..data.len() - 24]),
            sealed.replace(&wrapped, &other_key),
            sealed.replace(&wrapped, &changed(&wrapped, wrapped.len() / 2)),
            // A plaintext that is another element, holds the element, or is cipher text once more.
            of_element("{urn:tax}Other", "<t:Other xmlns:t=\"urn:tax\"/>"),
            of_element(
                "{urn:tax}Box",
                &format!("<t:Box xmlns:t=\"urn:tax\">{ORDER}</t:Box>"),
            ),
            twice,
        ];
        for message in failures {
            let refused = pair.read(&message, &with).expect_err("it fails");
            let failed = Rejected::AfterDecryption(Box::new(Rejected::SignatureMissing));
            assert_eq!(refused.name(), "decryption-failed", "{suite}: {refused}");
            assert_eq!(refused.fault(), failed.fault(), "{suite}: {refused}");
            // Below an outer layer the same is told of the same, and of a form that would be named.
            for body in [body_of(&message), "<a/>"] {
                let outer = "mechanism = \"encrypt\"";
                let client: Client = pair.endpoint(
                    "client",
                    outer,
                    "encryption = { answers = \"{urn:tax}Receipt\" }",
                );
                let inner = encryption(&format!("{OF_OFFICE}{with}"));
                let service: Service = pair.endpoint("service", outer, &inner);
                let secured = client.secure(with_body(body).into_bytes());
                let secured = secured.expect("it is secured");
                let refused = received(&service, secured.bytes).expect_err("it fails");
                assert_eq!(refused.name(), "decryption-failed", "{suite}: {refused}");
                assert_eq!(refused.fault(), failed.fault(), "{suite}: {refused}");
            }
        }
    }
}

/// The plaintext brings another element of the signed one's name: which of them was signed would be
/// open to whoever reads the message (signature wrapping, McIntosh and Austel, 2005).
#[test]
fn a_plaintext_does_not_bring_a_second_signed_element() {
    let pair = pair(RSA);
    let signed = format!("{REQUESTS}, {BY_CLERK}, {TRUST_CLERK}");
    let box_of = |order: &str, keys: &str| {
        format!("encryption = {{ requests = \"{{urn:tax}}Box\", content = true, {order}{keys} }}")
    };
    let order = "order = \"encrypt-sign\", ";
    let boxed = |content: &str| {
        with_body(&format!(
            "{ORDER}<t:Box xmlns:t=\"urn:tax\">{content}</t:Box>"
        ))
    };
    let reader = format!("{signed}, {}", box_of(order, OF_OFFICE));
    // What the client makes beside a signature of the clerk's.
    let only_signed = pair.signed(&with_body(ORDER), REQUESTS);
    let only_signed = only_signed.expect("it is signed");
    let order_of_clerk = body_of(&only_signed);
    let writer = box_of("", TO_OFFICE);
    for (content, accepted) in [("1", true), (ORDER, false)] {
        let sealed = pair.sealed(&boxed(content), &writer);
        let sealed = sealed.expect("it is encrypted");
        let message = sealed.replace(ORDER, order_of_clerk);
        match pair.evidence(&message, &reader) {
            Ok(evidence) => assert!(accepted && evidence.inner.is_some()),
            Err(rejected) => {
                assert_eq!((rejected.name(), accepted), ("decryption-failed", false));
                let cause = "expected one such element in the Body, found 2";
                assert!(rejected.to_string().ends_with(cause), "{rejected}");
            }
        }
    }
}

/// Cipher text of the outer layer is none of the inner one.
#[test]
fn outer_cipher_text_does_not_count_as_inner() {
    let pair = pair(RSA);
    let outer = "mechanism = \"encrypt\"";
    let answers = "encryption = { answers = \"{urn:tax}Receipt\" }";
    let client: Client = pair.endpoint("client", outer, answers);
    // The key of both layers is the same here, which makes it hardest.
    let inner = format!("encryption = {{ {REQUESTS} }}");
    let service: Service = pair.endpoint("service", outer, &inner);
    let secured = client.secure(with_body(ORDER).into_bytes());
    let secured = secured.expect("it is secured").bytes;
    let refused = received(&service, secured.clone()).expect_err("it is not encrypted by itself");
    assert_eq!(refused.name(), "decryption-failed");
    let expected = "expected cipher text in its place, found the element";
    assert!(refused.to_string().ends_with(expected), "{refused}");
    // The outer cipher text without the list that the outer layer opens it by.
    let text = String::from_utf8(secured).expect("text");
    let list = between(&text, "<xenc:ReferenceList", "</xenc:ReferenceList>");
    let unlisted = text.replace(list, "");
    received(&service, unlisted.into_bytes()).expect_err("its key is in the header");
}

/// How often each key failed.
#[derive(Default)]
struct Counting(Mutex<HashMap<KeyName, u32>>);

impl ReplayCache for Counting {
    fn first_seen(&self, marks: &[Mark], _: Timestamp) -> Result<FirstSeen, ReplayError> {
        Ok(FirstSeen::assertion(marks))
    }
}

impl Attempts for Counting {
    fn begin(
        &self,
        marks: &[Mark],
        names: &[KeyName],
        _: Timestamp,
        _: Timestamp,
    ) -> Result<(FirstSeen, Vec<Tally>), ReplayError> {
        let known = self.0.lock().expect("the lock");
        let tally = |name| Tally {
            failed: known.get(name).copied().unwrap_or_default(),
            open: 0,
        };
        Ok((
            FirstSeen::assertion(marks),
            names.iter().map(tally).collect(),
        ))
    }

    fn end(
        &self,
        names: &[KeyName],
        outcome: Outcome,
        _: Timestamp,
        _: Timestamp,
    ) -> Result<Vec<Tally>, ReplayError> {
        let mut known = self.0.lock().expect("the lock");
        if outcome == Outcome::Failed {
            names
                .iter()
                .for_each(|name| *known.entry(*name).or_default() += 1);
        }
        Ok(vec![Tally::default(); names.len()])
    }
}

/// Cipher text in CBC that can be tried 258 times gives 16 bytes away (Jager and Somorovsky, 2011).
/// Its key is tried three times a day, in whatever messages it comes.
#[test]
fn failed_openings_are_counted_by_the_inner_key() {
    let pair = pair(RSA);
    for (suite, last) in [
        ("Basic256", "key-tried-too-often"),
        ("Basic256GCM", "decryption-failed"),
    ] {
        let with = format!(", suite = \"{suite}\"");
        let sealed = pair.order(&with);
        let end = sealed.rfind("</xenc:CipherValue>").expect("the data");
        let (before, behind) = sealed.split_at(end - 40);
        let changed = format!("{before}AAAA{}", &behind[4..]);
        let inner = encryption(&format!("{OF_OFFICE}{with}"));
        let opener: Opener = pair.endpoint("service", MECHANISMS[0], &inner);
        let cache = Counting::default();
        let tried = |message: &str| {
            let memory = Memory::without_conversations(&cache);
            opener.open(message.as_bytes().to_vec(), memory)
        };
        for _ in 0..3 {
            let refused = tried(&changed).expect_err("it was changed");
            assert_eq!(refused.name(), "decryption-failed");
        }
        let refused = tried(&changed).expect_err("it was changed");
        assert_eq!(refused.name(), last, "{suite}");
        assert_eq!(tried(&sealed).is_ok(), suite == "Basic256GCM", "{suite}");
        // Another key is not counted with it.
        assert!(tried(&pair.order(&with)).is_ok(), "{suite}");
    }
}

/// Openings that no end was told of, by their keys.
#[derive(Default)]
struct Unended(Mutex<HashMap<KeyName, u32>>);

impl ReplayCache for Unended {
    fn first_seen(&self, marks: &[Mark], _: Timestamp) -> Result<FirstSeen, ReplayError> {
        Ok(FirstSeen::assertion(marks))
    }
}

impl Attempts for Unended {
    fn begin(
        &self,
        marks: &[Mark],
        names: &[KeyName],
        _: Timestamp,
        _: Timestamp,
    ) -> Result<(FirstSeen, Vec<Tally>), ReplayError> {
        let mut known = self.0.lock().expect("the lock");
        names
            .iter()
            .for_each(|name| *known.entry(*name).or_default() += 1);
        let before = vec![Tally::default(); names.len()];
        Ok((FirstSeen::assertion(marks), before))
    }

    fn end(
        &self,
        names: &[KeyName],
        _: Outcome,
        _: Timestamp,
        _: Timestamp,
    ) -> Result<Vec<Tally>, ReplayError> {
        let mut known = self.0.lock().expect("the lock");
        for name in names {
            let open = known.get_mut(name).expect("it was begun");
            *open -= 1;
        }
        known.retain(|_, open| *open > 0);
        Ok(vec![Tally::default(); names.len()])
    }
}

/// Each message has a fresh key: a good one leaves nothing in the store for a day.
#[test]
fn good_messages_leave_no_openings_of_inner_keys() {
    let pair = pair(RSA);
    let with = ", suite = \"Basic256\"";
    let inner = encryption(&format!("{OF_OFFICE}{with}"));
    let opener: Opener = pair.endpoint("service", MECHANISMS[0], &inner);
    let cache = Unended::default();
    for _ in 0..3 {
        let memory = Memory::without_conversations(&cache);
        let message = pair.order(with).into_bytes();
        opener.open(message, memory).expect("it is good");
        assert_eq!(cache.0.lock().expect("the lock").len(), 0);
    }
}

/// `allow_weak_until` ends weak algorithms of inner cipher text as well, before a key is used.
#[test]
fn a_retired_algorithm_ends_inner_cipher_text() {
    let pair = pair(RSA);
    let with = ", suite = \"TripleDesRsa15\"";
    let sealed = pair.order(with);
    let inner = encryption(&format!("{OF_OFFICE}{with}"));
    for (algorithm, until, refused) in [
        ("tripledes-cbc", "2020-01-01", true),
        ("rsa-1_5", "2020-01-01", true),
        ("rsa-1_5", "2999-01-01", false),
        ("rsa-sha1", "2020-01-01", false),
    ] {
        let mechanism = format!(
            "{}, allow_weak_until = {{ {algorithm} = \"{until}\" }}",
            MECHANISMS[0]
        );
        let opener: Opener = pair.endpoint("service", &mechanism, &inner);
        let cache = Counting::default();
        let memory = Memory::without_conversations(&cache);
        let opened = opener.open(sealed.clone().into_bytes(), memory);
        let name = opened.err().map(|rejected| rejected.name());
        let expected = refused.then_some("algorithm-retired");
        assert_eq!(name, expected, "{algorithm} {until}");
    }
}

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
