//! Messages that Ed25519 signs and X25519 encrypts (RFC 9231, 2.3.12 and 2.7.1; the common profile
//! of eDelivery AS4 2.0): moved, doubled and weakened.

use soapstone_wss::{AlgorithmUse, Mechanism, Part, Policy, Rejected};

use super::{cut, name_of, refuse};
use crate::support::*;

const SUITE: &str = "Basic128GCMX25519";

fn sign() -> Policy {
    policy(Mechanism::Sign, SUITE)
}

/// What a receiver says of an algorithm that is not his.
#[track_caller]
fn assert_not_allowed(receiver: &Policy, message: &str, wanted: AlgorithmUse) {
    match refuse(receiver, message) {
        Rejected::AlgorithmNotAllowed { purpose, .. } => assert_eq!(purpose, wanted),
        refused => panic!("{refused}"),
    }
}

/// McIntosh and Austel, XML Signature Element Wrapping Attacks (2005).
#[test]
fn a_body_that_ed25519_signed_is_not_the_body_in_another_place_nor_twice() {
    let message = secure(&sign(), PLAIN);
    open(&sign(), &message).unwrap();
    let body = cut(&message, "soap:Body");
    let forged =
        "<soap:Body><e:echo xmlns:e=\"urn:echo\"><e:text>forged</e:text></e:echo></soap:Body>";
    let end = "</wsse:Security>";
    let moved = message
        .replace(body, forged)
        .replace(end, &format!("{end}<w>{body}</w>"));
    let refused = refuse(&sign(), &moved);
    assert_eq!(refused, Rejected::Unsigned { part: Part::Body });
    let doubled = message.replace(end, &format!("{end}<w>{body}</w>"));
    assert_eq!(name_of(&refuse(&sign(), &doubled)), "duplicate-id");
    let changed = message.replacen("mehr", "weniger", 1);
    assert_eq!(name_of(&refuse(&sign(), &changed)), "digest-mismatch");
}

/// The suite is all that is accepted, in either direction: neither do other suites take Ed25519
/// from whoever has such a certificate.
#[test]
fn signatures_of_other_kinds_are_no_substitute_and_ed25519_is_none_where_it_is_not_named() {
    let message = secure(&sign(), PLAIN);
    for other in ["Basic128GCM", "Basic128GCMEcdhEs", "Basic256Sha256"] {
        let other = policy(Mechanism::Sign, other);
        assert_not_allowed(&other, &message, AlgorithmUse::Signature);
        assert_not_allowed(&sign(), &secure(&other, PLAIN), AlgorithmUse::Signature);
    }
    let mac = with_shared_key(sign());
    let hmac = secure(&mac, PLAIN);
    assert_not_allowed(&sign(), &hmac, AlgorithmUse::Signature);
    // Signatures of digests, and with a context: other messages have the same value there.
    for variant in ["eddsa-ed25519ph", "eddsa-ed25519ctx", "eddsa-ed448"] {
        let named = format!("xmldsig-more#{variant}\"");
        let changed = message.replacen("xmldsig-more#eddsa-ed25519\"", &named, 1);
        assert_ne!(changed, message);
        assert_eq!(name_of(&refuse(&sign(), &changed)), "algorithm-not-allowed");
    }
}

/// Jager, Paterson and Somorovsky, One Bad Apple (2013).
#[test]
fn session_keys_of_other_kinds_are_no_substitute_for_those_that_x25519_agreed_on() {
    let encrypt = |suite: &str| policy(Mechanism::SignEncrypt, suite);
    let message = secure(&encrypt(SUITE), PLAIN);
    open(&encrypt(SUITE), &message).unwrap();
    for (other, purpose) in [
        ("Basic128GCM", AlgorithmUse::KeyTransport),
        ("Basic128GCMEcdhEs", AlgorithmUse::KeyAgreement),
    ] {
        assert_not_allowed(&encrypt(other), &message, purpose);
    }
    let changed = message.replacen("xmldsig-more#x25519\"", "xmldsig-more#x448\"", 1);
    assert_ne!(changed, message);
    assert_not_allowed(&encrypt(SUITE), &changed, AlgorithmUse::KeyAgreement);
}
