//! Messages that are made to cost much, to reach out, or to be computed with before anything is
//! proven.

use soapstone_crypto::base64;
use soapstone_wss::names::{WSSE11, XENC};
use soapstone_wss::{FaultCode, Mechanism, Rejected};
use soapstone_xmlsec::dsig::SignatureError;
use soapstone_xmlsec::namespaces::DSIG;

use super::{cut, name_of, refuse, sign};
use crate::support::*;

#[test]
fn dtds_depth_size_and_encoding_are_checked_before_anything_else() {
    let policy = sign();
    let dtd = format!("<!DOCTYPE x [<!ENTITY a 'a'>]>{PLAIN}");
    assert_eq!(name_of(&refuse(&policy, &dtd)), "dtd");
    let deep = PLAIN.replace("<e:empty/>", &("<d>".repeat(300) + &"</d>".repeat(300)));
    assert_eq!(name_of(&refuse(&policy, &deep)), "too-deep");
    let large = PLAIN.replace("mehr", &"x".repeat(9 << 20));
    assert_eq!(name_of(&refuse(&policy, &large)), "too-large");
    let mut malformed = PLAIN.as_bytes().to_vec();
    let at = malformed.iter().position(|octet| *octet >= 0x80).unwrap();
    malformed[at] = 0xff;
    let refused = soapstone_wss::Envelope::parse(
        malformed,
        &soapstone_xml::Limits::default(),
        &mut soapstone_xml::Buffers::default(),
    );
    assert_eq!(
        name_of(&Rejected::from(refused.unwrap_err())),
        "malformed-encoding"
    );
}

#[test]
fn what_is_no_xml_is_told_as_what_it_is() {
    let policy = sign();
    for (message, found) in [
        ("", "nothing: the message is empty"),
        ("{\"echo\": \"text\"}", "JSON"),
        ("<!DOCTYPE html><html><body></body></html>", "an HTML page"),
        (
            "--boundary\r\nContent-Type: text/xml\r\n\r\n<a/>",
            "a MIME message of several parts (attachments)",
        ),
        ("<\0s\0o\0a\0p\0", "UTF-16 without a byte order mark"),
    ] {
        let refused = refuse(&policy, message);
        assert_eq!(
            refused.to_string(),
            format!("expected a SOAP envelope, found {found}")
        );
        assert_eq!(name_of(&refused), "not-an-envelope");
        assert_eq!(refused.fault(), FaultCode::Sender);
    }
}

#[test]
fn references_that_leave_the_message_are_refused() {
    let message = secure(&sign(), PLAIN);
    let info = cut(&message, "ds:SignedInfo");
    let uri = info
        .split("URI=\"")
        .nth(1)
        .unwrap()
        .split('"')
        .next()
        .unwrap();
    // Signed anew, so that nothing is wrong but where it leads.
    let referring_to = |other: &str| {
        let changed = info.replacen(&format!("URI=\"{uri}\""), &format!("URI=\"{other}\""), 1);
        let canonical = changed.replacen(
            "<ds:SignedInfo",
            &format!("<ds:SignedInfo xmlns:ds=\"{DSIG}\""),
            1,
        );
        let identity = client_keys().identity.unwrap();
        let value = identity
            .key()
            .sign(sign().suite.signature[0], canonical.as_bytes())
            .unwrap();
        let value = format!(
            "<ds:SignatureValue>{}</ds:SignatureValue>",
            base64::encode(&value)
        );
        message
            .replacen(info, &changed, 1)
            .replacen(cut(&message, "ds:SignatureValue"), &value, 1)
    };
    open(&sign(), &referring_to(uri)).unwrap();
    for outside in [
        "http://127.0.0.1/x",
        "file:///etc/passwd",
        "cid:attachment",
        "body.xml#x",
    ] {
        let refused = refuse(&sign(), &referring_to(outside));
        assert_eq!(name_of(&refused), "external-reference", "{outside}");
    }
}

/// CVE-2021-... class: transforms that execute code or select other nodes than the reference names.
#[test]
fn transforms_other_than_canonicalization_are_refused() {
    let message = secure(&sign(), PLAIN);
    for transform in [
        "http://www.w3.org/TR/1999/REC-xslt-19991116",
        "http://www.w3.org/TR/1999/REC-xpath-19991116",
        "http://www.w3.org/2002/06/xmldsig-filter2",
        "http://www.w3.org/2000/09/xmldsig#base64",
    ] {
        let changed = message.replacen(
            "<ds:Transform Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\">",
            &format!("<ds:Transform Algorithm=\"{transform}\">"),
            1,
        );
        let refused = refuse(&sign(), &changed);
        assert_eq!(
            refused,
            Rejected::Signature(SignatureError::TransformRefused {
                uri: transform.to_owned()
            })
        );
        assert_eq!(refused.fault(), FaultCode::UnsupportedAlgorithm);
    }
}

#[test]
fn more_references_than_allowed_are_refused_before_they_are_digested() {
    let message = secure(&sign(), PLAIN);
    let reference = cut(&message, "ds:Reference");
    let many = message.replacen(reference, &reference.repeat(70), 1);
    assert_eq!(name_of(&refuse(&sign(), &many)), "too-many");
}

/// Exclusive canonicalization repeats a declaration on every sibling that uses it: a long name and
/// many short elements make much of little.
#[test]
fn a_message_whose_canonical_form_explodes_is_refused() {
    let long = format!("urn:{}", "x".repeat(60_000));
    let many = "<p:a/>".repeat(60_000);
    let plain = PLAIN
        .replace("<soap:Body>", &format!("<soap:Body xmlns:p=\"{long}\">"))
        .replace("<e:empty/>", &many);
    let plan = soapstone_wss::OutboundPlan::compile(sign(), client_keys()).unwrap();
    let refused = plan
        .secure(
            envelope(&plain),
            soapstone_wss::Outgoing::default(),
            now(),
            &mut soapstone_xml::Buffers::default(),
        )
        .unwrap_err();
    assert!(
        matches!(refused, soapstone_wss::SecureError::Canonicalization(_)),
        "{refused}"
    );
}

/// What is passed on repeats, on each header block, the namespaces around it.
#[test]
fn a_message_that_would_explode_when_it_is_passed_on_is_refused() {
    let long = format!("urn:{}", "x".repeat(20_000));
    let plain = PLAIN
        .replace(" xmlns:a=", &format!(" xmlns:long=\"{long}\" xmlns:a="))
        .replace(
            "<soap:Header>",
            &format!("<soap:Header>{}", "<b/>".repeat(3_000)),
        );
    for mechanism in [Mechanism::None, Mechanism::Username, Mechanism::Encrypt] {
        let policy = policy(mechanism, "Basic128GCM");
        let opened = open(&policy, &secure(&policy, &plain)).unwrap();
        let mut out = Vec::new();
        let refused = opened.forward(&mut out, &mut soapstone_xml::Buffers::default());
        assert_eq!(name_of(&refused.unwrap_err()), "too-large", "{mechanism}");
        assert!(out.len() < 20 * plain.len(), "{} bytes", out.len());
    }
}

/// The one is looked for in the other: encrypted header blocks are taken for what they held.
#[test]
fn many_encrypted_headers_and_much_that_was_deciphered_cost_in_proportion() {
    let mut policy = policy(Mechanism::Encrypt, "Basic128GCM");
    policy.limits.header = usize::MAX / 2;
    // The shortest of some times, since others use the machine, too.
    let time_of = |many: usize| {
        let headers = "<w:EncryptedHeader><x:EncryptedData/></w:EncryptedHeader>".repeat(many);
        let header = format!("<soap:Header xmlns:w=\"{WSSE11}\" xmlns:x=\"{XENC}\">{headers}");
        let body = format!("<soap:Body>{}", "<b/>".repeat(many));
        let plain = PLAIN
            .replace("<soap:Header>", &header)
            .replace("<soap:Body>", &body);
        let message = secure(&policy, &plain);
        let times = (0..5).map(|_| {
            let start = std::time::Instant::now();
            open(&policy, &message).unwrap();
            start.elapsed()
        });
        times.min().unwrap()
    };
    let (few, many) = (time_of(6_000), time_of(48_000));
    // Eight times as many; each with each would be 64 times as much.
    assert!(many < 24 * few, "{few:?} and {many:?}");
}

/// Whether a certificate has a name is asked before anything is proven, and of each certificate
/// that is known.
#[test]
fn names_of_keys_that_nobody_has_are_refused_before_they_are_compared() {
    let message = secure(&sign(), PLAIN);
    let key_info = cut(&message, "ds:KeyInfo");
    let opening = &key_info[..=key_info.find('>').unwrap()];
    let long = "C=AU,".repeat(1 << 20) + "CN=client";
    for name in [
        format!("<ds:KeyName>{long}</ds:KeyName>"),
        format!("<ds:X509Data><ds:X509SubjectName>{long}</ds:X509SubjectName></ds:X509Data>"),
        format!(
            "<ds:X509Data><ds:X509IssuerSerial><ds:X509IssuerName>{long}</ds:X509IssuerName>\
             <ds:X509SerialNumber>1</ds:X509SerialNumber></ds:X509IssuerSerial></ds:X509Data>"
        ),
        format!(
            "<ds:X509Data><ds:X509IssuerSerial><ds:X509IssuerName>CN=client</ds:X509IssuerName>\
             <ds:X509SerialNumber>{}</ds:X509SerialNumber></ds:X509IssuerSerial></ds:X509Data>",
            "7".repeat(1 << 20)
        ),
    ] {
        let named = message.replace(key_info, &format!("{opening}{name}</ds:KeyInfo>"));
        let mut policy = sign();
        policy.limits.header = usize::MAX / 2;
        let refused = refuse(&policy, &named);
        assert_eq!(name_of(&refused), "malformed");
        assert!(refused.to_string().len() < 1_000);
    }
}

/// Anybody can put header blocks into a signed message that nobody signed.
#[test]
fn of_thousands_of_header_blocks_that_are_dropped_few_are_told() {
    let long = format!("urn:{}", "x".repeat(100_000));
    let message = secure(&sign(), PLAIN)
        .replacen(" xmlns:a=", &format!(" xmlns:long=\"{long}\" xmlns:a="), 1)
        .replacen(
            "<soap:Header>",
            &format!("<soap:Header>{}", "<long:b/>".repeat(3_000)),
            1,
        );
    let opened = open(&sign(), &message).unwrap();
    let told: usize = opened.evidence().dropped.iter().map(String::len).sum();
    assert!((1_000..100_000).contains(&told), "{told} bytes");
}
