//! What comes back of attachments, and what is said of each.

use soapstone_crypto::DataEncryption;
use soapstone_wss::names::{SOAP11, SOAP12};
use soapstone_wss::{ElementPath, EncryptedPart, Part, SoapVersion};

use super::*;

/// What is handed out of [`parts`] where they are signed.
fn canonical() -> [(&'static str, &'static [u8]); 3] {
    [
        ("invoice@sender", CANONICAL_INVOICE.as_bytes()),
        ("note@sender", b"one\r\ntwo\r\n"),
        ("a+b/c@sender", b"\x1f\x8b\x08 bytes \r\n"),
    ]
}

fn found(verified: &Verified<Envelope>) -> Vec<(&str, &[u8])> {
    let parts = verified.attachments().iter();
    parts.map(|one| (one.id(), one.content())).collect()
}

#[test]
fn attachments_come_back_in_canonical_form_under_every_mechanism() {
    use Coverage::{Complete, Content};
    let plain = |version: SoapVersion| PLAIN.replace(SOAP11, version.namespace());
    for (mechanism, coverage) in [
        (Mechanism::Sign, Content),
        (Mechanism::Sign, Complete),
        (Mechanism::SignEncrypt, Content),
        (Mechanism::SignEncrypt, Complete),
    ] {
        for version in [SoapVersion::V11, SoapVersion::V12] {
            let policy = protecting(mechanism, coverage);
            let sent = sending(&policy, &plain(version), parts()).expect("it can be secured");
            let verified = receive(&policy, &sent).expect("it is good");
            assert_eq!(found(&verified), canonical(), "{mechanism:?} {coverage:?}");
            let encrypts = mechanism == Mechanism::SignEncrypt;
            let encrypted = encrypts.then_some((coverage, DataEncryption::Aes128Gcm));
            for one in &verified.evidence().attachments {
                assert_eq!((one.signed, one.encrypted), (Some(coverage), encrypted));
            }
            let first = &verified.attachments()[0];
            let described = first.field("Content-Description");
            assert_eq!(described.is_some(), coverage == Complete);
            assert_eq!(first.field("Content-Type"), Some("text/xml"));
        }
    }
    assert_ne!(plain(SoapVersion::V12).find(SOAP12), None);
}

/// SwA Profile 1.1.1, 5.2: the URI is the escaped Content-ID. Others read a plus sign as a space.
#[test]
fn references_and_cipher_text_are_as_the_profile_has_them() {
    let sent = send(&sign_and_encrypt());
    for piece in [
        "<ds:Reference URI=\"cid:a%2Bb%2Fc@sender\"><ds:Transforms><ds:Transform Algorithm=\"http://docs.oasis-open.org/wss/oasis-wss-SwAProfile-1.1#Attachment-Content-Signature-Transform\"></ds:Transform></ds:Transforms>",
        "MimeType=\"application/gzip\" Type=\"http://docs.oasis-open.org/wss/oasis-wss-SwAProfile-1.1#Attachment-Content-Only\"",
        "<xenc:CipherReference URI=\"cid:a%2Bb%2Fc@sender\"><xenc:Transforms><ds:Transform xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\" Algorithm=\"http://docs.oasis-open.org/wss/oasis-wss-SwAProfile-1.1#Attachment-Ciphertext-Transform\"></ds:Transform></xenc:Transforms></xenc:CipherReference>",
    ] {
        assert!(sent.text.contains(piece), "{piece} in {}", sent.text);
    }
    let lengths = sent.parts.iter().map(|one| one.content().len());
    // IV, cipher text and tag of AES-GCM.
    let expected = parts().into_iter().map(|one| one.content().len() + 12 + 16);
    assert!(lengths.eq(expected));
    for one in &sent.parts {
        assert_eq!(one.field("Content-Type"), Some("application/octet-stream"));
    }
}

#[test]
fn an_encrypted_attachment_hides_its_header_where_it_is_to() {
    let policy = protecting(Mechanism::Encrypt, Coverage::Complete);
    let sent = send(&policy);
    assert_eq!(sent.parts[0].field("Content-Description"), None);
    let verified = receive(&policy, &sent).expect("it is good");
    let first = &verified.attachments()[0];
    assert_eq!(first.field("Content-Description"), Some("An invoice"));
    // Nothing is signed, and nothing canonicalized.
    assert_eq!(first.content(), INVOICE.as_bytes());
    assert_eq!(verified.evidence().attachments[0].signed, None);
}

/// RFC 2045, 5.2: it is text, and is signed as such.
#[test]
fn an_attachment_without_a_media_type_comes_back_as_text() {
    use Coverage::{Complete, Content};
    let package = b"Content-Type: multipart/related; type=\"text/xml\"; boundary=b\r\n\r\n\
        --b\r\nContent-Type: text/xml\r\n\r\n<root/>\r\n\
        --b\r\nContent-ID: <note@sender>\r\n\r\none\ntwo\r\n--b--\r\n";
    let untyped = || {
        let package = Package::read(package).expect("a package");
        let message = package.expect("a package").into_message();
        message.expect("a message").parts
    };
    assert_eq!(untyped()[0].field("Content-Type"), None);
    for (signed, encrypted) in [
        (Content, Content),
        (Complete, Content),
        (Content, Complete),
        (Complete, Complete),
    ] {
        let mut policy = protecting(Mechanism::SignEncrypt, signed);
        policy.parts.attachments.encrypted = AttachmentProtection::Of(encrypted);
        let sent = sending(&policy, PLAIN, untyped()).expect("it can be secured");
        let verified = receive(&policy, &sent).unwrap_or_else(|refused| {
            panic!("signed {signed:?}, encrypted {encrypted:?}: {refused:?}")
        });
        let one = &verified.attachments()[0];
        assert_eq!(one.content(), b"one\r\ntwo", "{signed:?} {encrypted:?}");
        let found = one.field("Content-Type").unwrap_or("text/plain");
        assert!(found.starts_with("text/plain"), "{found}");
    }
}

/// The parameters of a media type may name what is attached.
#[test]
fn an_encrypted_header_leaves_no_parameters_in_the_clear() {
    let named = part("plan@sender", "application/pdf; name=\"plan.pdf\"", b"%PDF");
    let policy = protecting(Mechanism::SignEncrypt, Coverage::Complete);
    let sent = sending(&policy, PLAIN, vec![named]).expect("it can be secured");
    assert!(!sent.text.contains("plan.pdf"), "{}", sent.text);
    assert!(sent.text.contains("MimeType=\"application/pdf\""));
    let verified = receive(&policy, &sent).expect("it is good");
    let found = verified.attachments()[0].field("Content-Type");
    assert!(found.is_some_and(|found| found.contains("plan.pdf")));
}

#[test]
fn symmetric_keys_protect_attachments() {
    for mechanism in [Mechanism::SignEncrypt, Mechanism::Encrypt, Mechanism::Sign] {
        let policy = with_shared_key(policy(mechanism, "Basic256GCM"));
        let verified = receive(&policy, &send(&policy)).expect("it is good");
        let proven = &verified.evidence().attachments[2];
        assert_eq!(proven.signed.is_some(), mechanism != Mechanism::Encrypt);
        assert_eq!(proven.encrypted.is_some(), mechanism != Mechanism::Sign);
    }
}

/// Where the message is protected by nothing, its attachments are.
#[test]
fn attachments_of_an_unprotected_message_come_as_they_are() {
    let policy = policy(Mechanism::Username, "Basic128GCM");
    let sent = send(&policy);
    let verified = receive(&policy, &sent).expect("it is good");
    assert_eq!(found(&verified)[0].1, INVOICE.as_bytes());
    assert_eq!(verified.evidence().attachments[0].signed, None);
}

#[test]
fn unsigned_attachments_are_taken_where_the_policy_says_so() {
    let mut lax = sign();
    lax.parts.attachments.signed = AttachmentProtection::Absent;
    let mut sent = send(&lax);
    assert!(!sent.text.contains("cid:"));
    let verified = receive(&lax, &sent).expect("it is good");
    assert_eq!(verified.evidence().attachments[0].signed, None);
    // What is signed all the same has to be right.
    sent = send(&sign());
    assert!(receive(&lax, &sent).is_ok());
    sent.parts[1].set_content(b"three".to_vec());
    assert_eq!(refused(&lax, &sent).name(), "digest-mismatch");
}

/// Whoever encrypts something of the Body has something to hide: attachments are encrypted with it,
/// and demanded to be.
#[test]
fn attachments_are_encrypted_where_something_of_the_body_is() {
    let path = |expression: &str| {
        let namespace = |prefix: &str| match prefix {
            "s" => Some("http://schemas.xmlsoap.org/soap/envelope/".to_owned()),
            "a" => Some("http://www.w3.org/2005/08/addressing".to_owned()),
            "e" => Some("urn:echo".to_owned()),
            _ => None,
        };
        Part::Path(ElementPath::parse(expression, namespace).expect("a path"))
    };
    let wsu = format!(
        " xmlns:wsu=\"{}\" wsu:Id=\"inner\"",
        soapstone_wss::names::WSU
    );
    let plain = PLAIN.replace("<e:empty/>", &format!("<e:empty{wsu}/>"));
    let to = "{http://www.w3.org/2005/08/addressing}To";
    for (part, is_of_body) in [
        (path("//e:text"), true),
        (path("/s:Envelope/s:Body/e:echo/e:text"), true),
        // Nothing of this message, and maybe of another one's Body.
        (path("//e:other"), true),
        (Part::Id("inner".to_owned()), true),
        (path("/s:Envelope/s:Header/a:To"), false),
        (to.parse().expect("a part"), false),
        (Part::Signature, false),
    ] {
        let mut policy = sign_and_encrypt();
        policy.parts.encrypted = vec![EncryptedPart::customary(part.clone())];
        assert_eq!(policy.encrypts_of_body(), is_of_body, "{part}");
        let sent = sending(&policy, &plain, parts()).expect("it can be secured");
        let verified = receive(&policy, &sent).expect("it is good");
        for one in &verified.evidence().attachments {
            let coverage = one.encrypted.map(|(coverage, _)| coverage);
            assert_eq!(coverage, is_of_body.then_some(Coverage::Content), "{part}");
        }
        let mut readable = policy.clone();
        readable.parts.attachments.encrypted = AttachmentProtection::Absent;
        let sent = sending(&readable, &plain, parts()).expect("it can be secured");
        assert!(receive(&readable, &sent).is_ok(), "{part}");
        if is_of_body {
            let expected = problem("invoice@sender", AttachmentProblem::Unencrypted);
            assert_eq!(refused(&policy, &sent), expected, "{part}");
        }
    }
}

#[test]
fn packages_are_refused_where_the_order_is_the_other_one() {
    let policy = policy(Mechanism::EncryptSign, "Basic128GCM");
    let refused_to_send = sending(&policy, PLAIN, parts()).expect_err("no such order");
    assert!(
        matches!(refused_to_send, SecureError::AttachmentsUnexpected { .. }),
        "{refused_to_send}"
    );
    let sent = Sent {
        text: secure(&policy, PLAIN),
        parts: parts(),
    };
    assert_eq!(refused(&policy, &sent).name(), "attachment-unexpected");
    let mut readable = policy;
    readable.parts.attachments.encrypted = AttachmentProtection::Absent;
    let verified = receive(&readable, &send(&readable)).expect("it is good");
    assert_eq!(
        verified.evidence().attachments[0].signed,
        Some(Coverage::Content)
    );
}

#[test]
fn protection_without_a_key_is_a_problem_of_the_policy() {
    for (mechanism, of_signature) in [
        (Mechanism::Encrypt, true),
        (Mechanism::Sign, false),
        (Mechanism::EncryptSign, false),
    ] {
        let mut policy = policy(mechanism, "Basic128GCM");
        let wanted = AttachmentProtection::Of(Coverage::Content);
        match of_signature {
            true => policy.parts.attachments.signed = wanted,
            false => policy.parts.attachments.encrypted = wanted,
        }
        let problems = OutboundPlan::compile(policy, client_keys()).expect_err("no key");
        assert!(
            problems[0].to_string().starts_with("attachments: "),
            "{problems:?}"
        );
    }
}
