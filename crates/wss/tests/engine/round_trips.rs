//! Whatever is secured opens to the same body: every mechanism, suite, key reference, order and
//! kind of part.

use crate::support::Adjust as _;
use crate::support::*;
use soapstone_wss::{
    ElementPath, EncryptedPart, Extent, KeyBinding, KeyReference, Mechanism, Part, PasswordKind,
    Policy, ProtectionOrder, Recipient, Rejected, SUITE_NAMES, Signer,
};

const BODY: &str = "<e:text kind=\"x\" a:b=\"1\">Grüße &amp; mehr</e:text>";

fn assert_round_trip(policy: &Policy, what: &str) {
    let message = secure(policy, PLAIN);
    let verified =
        open(policy, &message).unwrap_or_else(|error| panic!("{what}: {error}\n{message}"));
    let plain = forwarded(&verified);
    assert!(
        plain.contains("Grüße &amp; mehr") && plain.contains(" a:b=\"1\""),
        "{what}: {plain}"
    );
    if policy.encryption().is_some_and(|encryption| {
        encryption
            .parts
            .iter()
            .any(|wanted| wanted.part == Part::Body)
    }) {
        assert!(!message.contains("Grüße"), "{what}: {message}");
    }
}

#[test]
fn every_mechanism_in_every_suite() {
    for suite in SUITE_NAMES {
        for mechanism in Mechanism::SINGLE {
            assert_round_trip(&policy(mechanism, suite), &format!("{mechanism} {suite}"));
        }
    }
}

#[test]
fn every_mechanism_with_a_shared_key() {
    for mechanism in [
        Mechanism::Sign,
        Mechanism::Encrypt,
        Mechanism::SignEncrypt,
        Mechanism::EncryptSign,
    ] {
        for suite in ["Basic256", "Basic256Sha256", "Basic256GCM"] {
            assert_round_trip(
                &with_shared_key(policy(mechanism, suite)),
                &format!("{mechanism} {suite} shared"),
            );
        }
    }
}

#[test]
fn every_way_to_name_a_certificate() {
    use KeyReference::{Direct, Embedded, IssuerSerial, KeyName, SubjectKeyIdentifier, Thumbprint};
    for reference in [
        Direct,
        SubjectKeyIdentifier,
        Thumbprint,
        IssuerSerial,
        Embedded,
        KeyName,
    ] {
        for mechanism in [Mechanism::SignEncrypt, Mechanism::EncryptSign] {
            let mut policy = policy(mechanism, "Basic256GCM");
            policy.name_signing_key(reference);
            policy.name_encrypting_key(reference);
            assert_round_trip(&policy, &format!("{mechanism} {reference:?}"));
        }
    }
}

#[test]
fn headers_can_be_signed_and_encrypted_in_both_orders() {
    let to = Part::Header {
        namespace: "http://www.w3.org/2005/08/addressing".to_owned(),
        local: "To".to_owned(),
    };
    for order in [
        ProtectionOrder::SignBeforeEncrypting,
        ProtectionOrder::EncryptBeforeSigning,
    ] {
        let mut policy = policy(Mechanism::SignEncrypt, "Basic128GCM");
        policy.set_order(order);
        policy.parts.signed.push(to.clone());
        policy
            .parts
            .encrypted
            .push(EncryptedPart::customary(to.clone()));
        let message = secure(&policy, PLAIN);
        assert!(
            message.contains("EncryptedHeader") && !message.contains("urn:service"),
            "{message}"
        );
        let verified =
            open(&policy, &message).unwrap_or_else(|error| panic!("{order:?}: {error}\n{message}"));
        let plain = forwarded(&verified);
        assert!(plain.contains(">urn:service</a:To>"), "{plain}");
        assert_eq!(
            verified.evidence().dropped,
            ["{http://www.w3.org/2005/08/addressing}Action"]
        );
    }
}

#[test]
fn the_signature_itself_can_be_encrypted_in_both_orders() {
    for mechanism in [Mechanism::SignEncrypt, Mechanism::EncryptSign] {
        let mut policy = policy(mechanism, "Basic128GCM");
        policy
            .parts
            .encrypted
            .push(EncryptedPart::customary(Part::Signature));
        let message = secure(&policy, PLAIN);
        assert!(!message.contains("SignatureValue"), "{message}");
        assert_round_trip(&policy, mechanism.name());
    }
}

#[test]
fn a_username_token_can_be_signed_and_encrypted() {
    for order in [
        ProtectionOrder::SignBeforeEncrypting,
        ProtectionOrder::EncryptBeforeSigning,
    ] {
        for kind in [PasswordKind::Digest, PasswordKind::Text] {
            let mut policy = policy(Mechanism::SignEncrypt, "Basic128GCM");
            policy.set_order(order);
            policy.set_username(
                Mechanism::Username
                    .policy(suite("Basic128GCM"))
                    .username()
                    .cloned(),
            );
            policy.username_mut().unwrap().passwords = vec![kind];
            policy
                .parts
                .signed
                .extend([Part::UsernameToken, Part::Token]);
            policy
                .parts
                .encrypted
                .push(EncryptedPart::customary(Part::UsernameToken));
            let message = secure(&policy, PLAIN);
            assert!(!message.contains("alice"), "{message}");
            // The host is asked about users before anything is decrypted; it answers for all it
            // knows.
            let verified = open(&policy, &message)
                .unwrap_or_else(|error| panic!("{order:?} {kind:?}: {error}\n{message}"));
            assert_eq!(verified.evidence().user.as_deref(), Some("alice"));
        }
    }
}

#[test]
fn an_element_is_signed_and_encrypted_by_its_id() {
    let plain = PLAIN.replace(
        "<e:text kind",
        r#"<e:text xmlns:u="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd" u:Id="t" kind"#,
    );
    let part = Part::Id("t".to_owned());
    for extent in [Extent::Element, Extent::Content] {
        let mut policy = policy(Mechanism::SignEncrypt, "Basic128GCM");
        policy.parts.signed.push(part.clone());
        policy.parts.encrypted = vec![EncryptedPart {
            part: part.clone(),
            extent,
        }];
        let message = secure(&policy, &plain);
        assert!(!message.contains("Grüße"), "{message}");
        let verified = open(&policy, &message)
            .unwrap_or_else(|error| panic!("{extent:?}: {error}\n{message}"));
        assert!(forwarded(&verified).contains("Grüße"));
    }
}

#[test]
fn an_element_can_be_encrypted_inside_of_an_encrypted_body() {
    let wsu = "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd";
    let plain = PLAIN.replace(
        "<e:text kind",
        &format!("<e:text xmlns:u=\"{wsu}\" u:Id=\"t\" kind"),
    );
    for (mechanism, suite, key) in [
        (Mechanism::Encrypt, "Basic128GCM", KeyBinding::Certificate),
        (Mechanism::Encrypt, "Basic256", KeyBinding::Shared),
        (Mechanism::SignEncrypt, "Basic256", KeyBinding::Certificate),
        (Mechanism::EncryptSign, "Basic256", KeyBinding::Shared),
    ] {
        let mut policy = policy(mechanism, suite);
        if key == KeyBinding::Shared {
            policy = with_shared_key(policy);
        }
        let parts = [Part::Id("t".to_owned()), Part::Body];
        policy.parts.encrypted = parts
            .map(|part| EncryptedPart {
                part,
                extent: Extent::Content,
            })
            .to_vec();
        let secured = secure(&policy, &plain);
        assert_eq!(secured.matches("<xenc:EncryptedData").count(), 1);
        let opened = open(&policy, &secured).unwrap_or_else(|rejected| {
            panic!("{mechanism} {suite}: {rejected}");
        });
        assert_eq!(opened.evidence().encrypted.len(), 2);
        assert!(forwarded(&opened).contains("Grüße"));

        if mechanism != Mechanism::Encrypt {
            continue;
        }
        // Others list what is inside first, when it is not there yet.
        let end = "</xenc:DataReference>";
        let references: Vec<&str> = secured
            .split_inclusive(end)
            .filter_map(|piece| Some(&piece[piece.find("<xenc:DataReference")?..]))
            .filter(|piece| piece.ends_with(end))
            .collect();
        let [outer, inner] = references[..] else {
            panic!("{references:?}");
        };
        let swapped = secured.replace(&[outer, inner].concat(), &[inner, outer].concat());
        assert_ne!(swapped, secured);
        open(&policy, &swapped).unwrap();

        let nowhere = secured.replace(inner, &inner.replace("-data-", "-nowhere-"));
        let refused = open(&policy, &nowhere).unwrap_err();
        assert!(
            matches!(refused, Rejected::CipherTextNotFound { .. }),
            "{refused}"
        );
    }
}

#[test]
fn a_response_is_encrypted_to_whoever_signed_the_request() {
    let mut policy = policy(Mechanism::SignEncrypt, "Basic128GCM");
    let request = open(&policy, &secure(&policy, PLAIN)).unwrap();
    let (_, receipt) = request.finish(&mut soapstone_xml::Buffers::default());
    policy.set_recipient(Recipient::Requester);
    let mut keys = service_keys();
    keys.peer = None;
    let response = secure_with(&policy, keys, PLAIN, Some(&receipt));
    let response = String::from_utf8(response.bytes).unwrap();
    let opened = open_with(&policy, client_keys(), &facts(), &response, now()).unwrap();
    assert!(
        matches!(&opened.evidence().signatures[0].signer, Signer::Certificate(one) if one.subject() == "CN=service")
    );
}

#[test]
fn a_response_can_use_the_session_key_of_its_request() {
    let request_policy = policy(Mechanism::Encrypt, "Basic128GCM");
    let secured = secure_with(&request_policy, client_keys(), PLAIN, None);
    let message = String::from_utf8(secured.bytes).unwrap();
    let opened = open(&request_policy, &message).unwrap();
    let (_, receipt) = opened.finish(&mut soapstone_xml::Buffers::default());

    let mut response_policy = request_policy;
    response_policy.encrypt_under_request();
    let response = secure_with(&response_policy, service_keys(), PLAIN, Some(&receipt));
    let response = String::from_utf8(response.bytes).unwrap();
    assert!(
        response.contains("EncryptedKeySHA1") && !response.contains("EncryptedKey "),
        "{response}"
    );
    let facts = soapstone_wss::Facts {
        request: Some(secured.receipt),
        ..facts()
    };
    let opened = open_with(&response_policy, client_keys(), &facts, &response, now()).unwrap();
    assert!(forwarded(&opened).contains("Grüße"));
}

#[test]
fn envelopes_of_every_shape_can_be_secured() {
    let shapes = [
        (
            "no header",
            r#"<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"><s:Body><x>Grüße &amp; mehr</x></s:Body></s:Envelope>"#,
        ),
        (
            "empty header",
            r#"<s:Envelope xmlns:s="http://www.w3.org/2003/05/soap-envelope"><s:Header/><s:Body><x>Grüße &amp; mehr</x></s:Body></s:Envelope>"#,
        ),
        (
            "default namespace",
            r#"<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Header /><Body><x xmlns="">Grüße &amp; mehr</x></Body></Envelope>"#,
        ),
        (
            "wsu means something else",
            r#"<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns:wsu="urn:x"><s:Body><wsu:x>Grüße &amp; mehr</wsu:x></s:Body></s:Envelope>"#,
        ),
        (
            "wsu is declared",
            r#"<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/" xmlns:wsu="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"><s:Body xmlns:wsu="http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd"><x wsu:other="">Grüße &amp; mehr</x></s:Body></s:Envelope>"#,
        ),
        (
            "declaration, comments and processing instructions",
            "<?xml version='1.0' encoding=\"UTF-8\"?>\n<!-- c --><s:Envelope xmlns:s='http://schemas.xmlsoap.org/soap/envelope/'>\n <s:Body >\n<x><![CDATA[Grüße & mehr]]><!-- c --><?p i?></x>\r\n</s:Body>\n</s:Envelope >\n",
        ),
    ];
    for (shape, plain) in shapes {
        for mechanism in Mechanism::SINGLE {
            let policy = policy(mechanism, "Basic128GCM");
            let message = secure(&policy, plain);
            let verified = open(&policy, &message)
                .unwrap_or_else(|error| panic!("{shape}, {mechanism}: {error}\n{message}"));
            let plain = forwarded(&verified);
            assert!(
                plain.contains("Grüße &amp; mehr"),
                "{shape}, {mechanism}: {plain}"
            );
        }
    }
}

#[test]
fn an_empty_body_is_signed_and_encrypted() {
    let plain =
        r#"<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body/></s:Envelope>"#;
    for mechanism in Mechanism::SINGLE {
        let policy = policy(mechanism, "Basic128GCM");
        let message = secure(&policy, plain);
        let verified = open(&policy, &message)
            .unwrap_or_else(|error| panic!("{mechanism}: {error}\n{message}"));
        assert!(verified.envelope().body().first_child().is_none());
    }
}

#[test]
fn what_is_forwarded_holds_no_security_header_and_no_unsigned_comment() {
    let plain = PLAIN.replace("Grüße", "Grü<!-- not signed -->ße");
    let policy = policy(Mechanism::Sign, "Basic128GCM");
    let plain = forwarded(&open(&policy, &secure(&policy, &plain)).unwrap());
    assert!(
        plain.contains(BODY.trim_start_matches("<e:text kind=\"x\""))
            || plain.contains("Grüße &amp; mehr"),
        "{plain}"
    );
    assert!(
        !plain.contains("Security")
            && !plain.contains("not signed")
            && !plain.contains("urn:service"),
        "{plain}"
    );
}

#[test]
fn elliptic_curve_keys_sign_in_suites_that_name_their_algorithms() {
    use soapstone_crypto::{Curve, KeyKind, SignatureAlgorithm};
    let kinds = [
        (KeyKind::Ec(Curve::P256), SignatureAlgorithm::EcdsaSha256),
        (KeyKind::Ec(Curve::P384), SignatureAlgorithm::EcdsaSha384),
        (KeyKind::Ec(Curve::P521), SignatureAlgorithm::EcdsaSha512),
        (KeyKind::Ed25519, SignatureAlgorithm::Ed25519),
    ];
    for (kind, algorithm) in kinds {
        let mut policy = policy(Mechanism::SignEncrypt, "Basic128GCM");
        policy.suite.signature = vec![algorithm];
        let mut keys = client_keys();
        keys.identity = Some(identity("CN=client", kind));
        let message = secure_with(&policy, keys, PLAIN, None).bytes;
        let verified = open(&policy, std::str::from_utf8(&message).unwrap())
            .unwrap_or_else(|error| panic!("{algorithm}: {error}"));
        assert_eq!(verified.evidence().signatures[0].algorithm, algorithm);
    }
}

#[test]
fn thousands_of_elements_can_be_signed_one_by_one() {
    let wsu = soapstone_wss::names::WSU;
    let items: String = (0..2_000)
        .map(|number| format!("<i u:Id=\"i{number}\">{number}</i>"))
        .collect();
    let plain = PLAIN.replace(
        "<e:empty/>",
        &format!("<e:items xmlns:u=\"{wsu}\">{items}</e:items>"),
    );
    let mut policy = policy(Mechanism::Sign, "Basic128GCM");
    policy.limits.references = 3_000;
    let parts = &mut policy.parts.signed;
    parts.extend((0..2_000).map(|number| Part::Id(format!("i{number}"))));
    let message = secure(&policy, &plain);
    let verified = open(&policy, &message).unwrap();
    assert_eq!(verified.evidence().signatures[0].nodes.len(), 2_002);
    let altered = message.replace(">1999</i>", ">2000</i>");
    assert_eq!(
        open(&policy, &altered).unwrap_err().name(),
        "digest-mismatch"
    );
}

/// WS-SecurityPolicy 1.3, 5.1.1: `AlwaysToRecipient`.
#[test]
fn a_certificate_is_sent_along_although_nothing_is_signed_with_it() {
    let mut encrypt = policy(Mechanism::Encrypt, "Basic256GCM");
    assert!(!secure(&encrypt, PLAIN).contains("BinarySecurityToken"));
    encrypt.name_signing_key(KeyReference::Direct);
    let message = secure(&encrypt, PLAIN);
    assert_eq!(message.matches("<wsse:BinarySecurityToken").count(), 1);
    open(&encrypt, &message).unwrap();
}

/// What holds many elements, and cipher text among them, is digested when that is deciphered.
#[test]
fn an_element_of_a_large_body_is_encrypted_alone() {
    let resolve = |prefix: &str| (prefix == "e").then(|| "urn:echo".to_owned());
    let part = Part::Path(ElementPath::parse("//e:text", resolve).unwrap());
    let large = PLAIN.replace("<e:empty/>", &"<e:empty/>".repeat(100));
    for mechanism in [Mechanism::SignEncrypt, Mechanism::EncryptSign] {
        let encrypting = with(&policy(mechanism, "Basic128GCM"), |policy| {
            policy.parts.encrypted = vec![EncryptedPart::customary(part.clone())];
        });
        let message = secure(&encrypting, &large);
        assert!(!message.contains("mehr"));
        let opened = open(&encrypting, &message).unwrap();
        assert!(forwarded(&opened).contains("mehr"));
    }
}
