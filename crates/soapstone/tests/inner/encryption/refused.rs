//! Cipher text that is not the one to decipher: elsewhere, twice, for others, changed, or of the
//! outer layer.

use soapstone::wss::Rejected;
use soapstone::{Client, Service};
use soapstone_testkit::envelope::with_body;
use soapstone_testkit::keys::RSA;

use super::{OF_OFFICE, TO_OFFICE, body_of, encryption, pair};
use crate::{BY_CLERK, ORDER, REQUESTS, TRUST_CLERK, received};

/// What stands between the first two such texts.
fn between<'t>(text: &'t str, start: &str, end: &str) -> &'t str {
    let at = text.find(start).expect("the start");
    let length = text[at..].find(end).expect("the end") + end.len();
    &text[at..at + length]
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
