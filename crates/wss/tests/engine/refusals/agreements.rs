//! Agreements on keys that must be refused, and failures of them that must look like every other
//! failure to decrypt.

use soapstone_crypto::{
    Curve, DigestAlgorithm, KeyDerivation, KeyKind, KeyWrap, PublicKey, base64,
};
use soapstone_wss::{
    AlgorithmUse, FaultCode, KeyAgreementMethod, KeyBinding, KeyReference, Mechanism, Policy,
    Rejected,
};
use soapstone_xmlsec::enc::EncryptionError;
use soapstone_xmlsec::write;

use super::{cut, other_first_octet, refuse};
use crate::conversations::bound;
use crate::support::Adjust as _;
use crate::support::*;

const ECDH: &str = "Basic128GCMEcdhEs";
const X25519: &str = "Basic128GCMX25519";

fn encrypt(suite: &str) -> Policy {
    policy(Mechanism::Encrypt, suite)
}

/// The message with another originator key, in base64 where the right one stood.
fn with_originator(message: &str, name: &str, octets: &[u8]) -> String {
    let mut coded = Vec::new();
    base64::encode_into(octets, &mut coded);
    let element = cut(message, name);
    let start = element.find('>').unwrap() + 1;
    let end = element.rfind("</").unwrap();
    let coded = String::from_utf8(coded).unwrap();
    message.replacen(
        element,
        &format!("{}{coded}{}", &element[..start], &element[end..]),
        1,
    )
}

/// The bytes of an X25519 key in its `SubjectPublicKeyInfo`.
fn x25519_info(octets: &[u8; 32]) -> Vec<u8> {
    [
        &[
            0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x6e, 0x03, 0x21, 0x00,
        ][..],
        octets,
    ]
    .concat()
}

#[track_caller]
fn assert_failed_as_any_other(policy: &Policy, message: &str) {
    let refused = refuse(policy, message);
    assert_eq!(
        refused.cause(),
        &Rejected::Encryption(EncryptionError::Failed)
    );
    assert_eq!(refused.fault(), FaultCode::FailedCheck);
}

/// CVE-2016-9121 and its kind in other libraries of JWE (2017); Jager, Schwenk and Somorovsky,
/// Practical Invalid Curve Attacks on TLS-ECDH, 2015 (CVE-2015-7940): points of weaker curves, sent
/// as if they were of ours, give away the private key, if anything shows whether the guess of an
/// agreed secret was right.
#[test]
fn a_point_that_is_not_on_the_curve_fails_as_a_wrong_key_does() {
    let message = secure(&encrypt(ECDH), PLAIN);
    let mut off_curve = vec![4];
    off_curve.extend([7; 64]);
    assert_failed_as_any_other(
        &encrypt(ECDH),
        &with_originator(&message, "dsig11:PublicKey", &off_curve),
    );
    // x and y of zero; the point at infinity; no point at all.
    for point in [&[&[4][..], &[0; 64]].concat()[..], &[0], &[]] {
        assert_failed_as_any_other(
            &encrypt(ECDH),
            &with_originator(&message, "dsig11:PublicKey", point),
        );
    }
}

/// RFC 7748 section 6.1: the secret with a point of low order is known to everybody.
#[test]
fn a_point_of_low_order_fails_as_a_wrong_key_does() {
    let message = secure(&encrypt(X25519), PLAIN);
    let mut one = [0; 32];
    one[0] = 1;
    let order_8 = *b"\xe0\xeb\x7a\x7c\x3b\x41\xb8\xae\x16\x56\xe3\xfa\xf1\x9f\xc4\x6a\xda\x09\x8d\xeb\x9c\x32\xb1\xfd\x86\x62\x05\x16\x5f\x49\xb8\x00";
    for point in [[0; 32], one, order_8] {
        let name = "dsig11:DEREncodedKeyValue";
        assert_failed_as_any_other(
            &encrypt(X25519),
            &with_originator(&message, name, &x25519_info(&point)),
        );
    }
}

/// XML-Enc 1.1 section 5.6.4: both keys are of one curve.
#[test]
fn an_originator_key_of_another_curve_or_kind_fails_as_a_wrong_key_does() {
    let message = secure(&encrypt(ECDH), PLAIN);
    let written = |key: &PublicKey| {
        let mut out = Vec::new();
        match key.ec_components() {
            Some(_) => write::key_value(key, &mut out),
            None => write::der_encoded_key_value(key, &mut out),
        }
        String::from_utf8(out).unwrap()
    };
    for kind in [
        KeyKind::Ec(Curve::P384),
        KeyKind::X25519,
        KeyKind::Ed25519,
        KeyKind::Rsa { bits: 2048 },
    ] {
        let other = identity("CN=other", kind);
        let altered = message.replacen(
            cut(&message, "ds:KeyValue"),
            &written(other.key().public_key()),
            1,
        );
        assert_failed_as_any_other(&encrypt(ECDH), &altered);
    }
    let unknown_curve = message.replacen("urn:oid:1.2.840.10045.3.1.7", "urn:oid:1.3.132.0.10", 1);
    assert_failed_as_any_other(&encrypt(ECDH), &unknown_curve);
    let explicit = message
        .replacen("<dsig11:NamedCurve", "<dsig11:ECParameters", 1)
        .replacen("</dsig11:NamedCurve>", "</dsig11:ECParameters>", 1);
    assert_eq!(refuse(&encrypt(ECDH), &explicit).name(), "malformed");
}

/// RFC 3394: what was wrapped, and what it was wrapped with.
#[test]
fn a_changed_wrapped_key_salt_or_originator_fails_as_a_wrong_key_does() {
    for suite in [ECDH, X25519] {
        let message = secure(&encrypt(suite), PLAIN);
        let key = cut(&message, "xenc:EncryptedKey");
        let value = cut(key, "xenc:CipherValue");
        let other = other_first_octet(value);
        assert_failed_as_any_other(&encrypt(suite), &message.replacen(value, &other, 1));
        // Too short for what is wrapped; of another length than the data's key.
        for length in [8, 16, 40] {
            let mut coded = Vec::new();
            base64::encode_into(&vec![7; length], &mut coded);
            let coded = String::from_utf8(coded).unwrap();
            let short = format!("<xenc:CipherValue>{coded}</xenc:CipherValue>");
            assert_failed_as_any_other(&encrypt(suite), &message.replacen(value, &short, 1));
        }
    }
    let message = secure(&encrypt(X25519), PLAIN);
    let salt = cut(&message, "dsig-more:Salt");
    assert_failed_as_any_other(
        &encrypt(X25519),
        &message.replacen(salt, &other_first_octet(salt), 1),
    );
    let message = secure(&encrypt(ECDH), PLAIN);
    let other_purpose = message.replacen("AlgorithmID=\"00", "AlgorithmID=\"0000", 1);
    assert_failed_as_any_other(&encrypt(ECDH), &other_purpose);
}

/// Where nothing is enciphered with the key, a failure to agree shows where a wrong key does: in
/// what is signed with it.
#[test]
fn a_failed_agreement_on_a_key_that_only_signs_looks_like_a_wrong_signature() {
    let signed = bound(
        Mechanism::Sign,
        ECDH,
        KeyBinding::SessionKey,
        KeyReference::Thumbprint,
    );
    let message = secure(&signed, PLAIN);
    open(&signed, &message).unwrap();
    let value = cut(&message, "xenc:CipherValue");
    let changed = message.replacen(value, &other_first_octet(value), 1);
    let refused = refuse(&signed, &changed);
    assert_eq!(
        (refused.name(), refused.fault()),
        ("signature-mismatch", FaultCode::FailedCheck)
    );
    let off_curve = with_originator(&message, "dsig11:PublicKey", &[&[4][..], &[7; 64]].concat());
    let refused = refuse(&signed, &off_curve);
    assert_eq!(
        (refused.name(), refused.fault()),
        ("signature-mismatch", FaultCode::FailedCheck)
    );
}

#[track_caller]
fn assert_not_allowed(policy: &Policy, message: &str, wanted: AlgorithmUse) {
    let refused = refuse(policy, message);
    let Rejected::AlgorithmNotAllowed { purpose, .. } = &refused else {
        panic!("{refused}");
    };
    assert_eq!(*purpose, wanted, "{refused}");
    assert_eq!(refused.fault(), FaultCode::UnsupportedAlgorithm);
}

/// A downgrade from what was agreed (Jager, Paterson and Somorovsky, One Bad Apple, 2013): the
/// suite is all that is accepted.
#[test]
fn an_agreement_derivation_or_wrapping_outside_the_suite_is_refused_before_a_key_is_touched() {
    // Our key is RSA: had it been touched, the refusal would be another.
    let rsa = policy(Mechanism::Encrypt, "Basic128GCM");
    assert_not_allowed(
        &rsa,
        &secure(&encrypt(ECDH), PLAIN),
        AlgorithmUse::KeyTransport,
    );
    assert_not_allowed(
        &encrypt(ECDH),
        &secure(&rsa, PLAIN),
        AlgorithmUse::KeyTransport,
    );
    let message = secure(&encrypt(X25519), PLAIN);
    assert_not_allowed(&encrypt(ECDH), &message, AlgorithmUse::KeyAgreement);
    let ecdh = secure(&encrypt(ECDH), PLAIN);
    let with = |change: fn(&mut KeyAgreementMethod)| {
        let mut policy = encrypt(ECDH);
        change(&mut policy.suite.key_agreement[0]);
        policy
    };
    for (change, purpose) in [
        (
            (|method| method.derivation = KeyDerivation::Hkdf) as fn(&mut KeyAgreementMethod),
            AlgorithmUse::KeyDerivation,
        ),
        (
            |method| method.digest = DigestAlgorithm::Sha512,
            AlgorithmUse::KeyDerivation,
        ),
        (
            |method| method.wrap = KeyWrap::Aes256,
            AlgorithmUse::KeyWrap,
        ),
    ] {
        assert_not_allowed(&with(change), &ecdh, purpose);
    }
    let unknown = ecdh.replacen("http://www.w3.org/2009/xmlenc11#ECDH-ES", "urn:other", 1);
    assert_not_allowed(&encrypt(ECDH), &unknown, AlgorithmUse::KeyAgreement);
    let sha3 = ecdh.replacen(
        "<ds:DigestMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#sha256\"",
        "<ds:DigestMethod Algorithm=\"urn:other\"",
        1,
    );
    assert_not_allowed(&encrypt(ECDH), &sha3, AlgorithmUse::KeyDerivation);
}

/// XML-Enc 1.1 section 5.6.1.
#[test]
fn an_agreement_without_one_originator_key_is_refused() {
    for (suite, value) in [(ECDH, "ds:KeyValue"), (X25519, "dsig11:DEREncodedKeyValue")] {
        let message = secure(&encrypt(suite), PLAIN);
        let originator = cut(&message, "xenc:OriginatorKeyInfo");
        let key = cut(&message, value);
        let named = "<ds:KeyName>CN=client</ds:KeyName>";
        for altered in [
            message.replacen(originator, "", 1),
            message.replacen(key, "", 1),
            message.replacen(key, &format!("{key}{key}"), 1),
            message.replacen(key, named, 1),
            message.replacen(key, &format!("{key}{named}"), 1),
            message.replacen(originator, &format!("{originator}{originator}"), 1),
        ] {
            assert_eq!(
                refuse(&encrypt(suite), &altered).name(),
                "malformed",
                "{altered}"
            );
        }
    }
}

#[test]
fn a_wrapped_key_without_one_agreement_is_refused() {
    let message = secure(&encrypt(ECDH), PLAIN);
    let agreement = cut(&message, "xenc:AgreementMethod");
    let key_info = format!(
        "<ds:KeyInfo xmlns:ds=\"{}\">{agreement}</ds:KeyInfo>",
        soapstone_wss::names::DS
    );
    assert!(message.contains(&key_info));
    for altered in [
        message.replacen(&key_info, "", 1),
        message.replacen(agreement, "<ds:KeyName>CN=service</ds:KeyName>", 1),
        message.replacen(agreement, &format!("{agreement}{agreement}"), 1),
        message.replacen(cut(&message, "xenc11:KeyDerivationMethod"), "", 1),
    ] {
        assert_eq!(
            refuse(&encrypt(ECDH), &altered).name(),
            "malformed",
            "{altered}"
        );
    }
}

#[test]
fn an_agreement_for_another_recipient_is_refused() {
    for reference in [
        KeyReference::IssuerSerial,
        KeyReference::Thumbprint,
        KeyReference::Direct,
    ] {
        let mut policy = encrypt(ECDH);
        policy.name_encrypting_key(reference);
        let other = Agreeing::new(KeyKind::Ec(Curve::P256), None);
        let secured = secure_with(&policy, other.client_keys(), PLAIN, None);
        let message = String::from_utf8(secured.bytes).unwrap();
        assert_eq!(
            refuse(&policy, &message).name(),
            "key-not-found",
            "{reference:?}"
        );
    }
}

/// XML-Enc 1.1 section 5.4, RFC 9231 section 2.5: what a derivation costs is bounded before it
/// begins.
#[test]
fn absurd_parameters_of_a_derivation_are_refused() {
    let message = secure(&encrypt(X25519), PLAIN);
    let salt = cut(&message, "dsig-more:Salt");
    let long = "QUFB".repeat(2_000);
    let length = cut(&message, "dsig-more:KeyLength");
    for altered in [
        message.replacen(salt, &format!("<dsig-more:Salt>{long}</dsig-more:Salt>"), 1),
        message.replacen(
            salt,
            &format!("{salt}<dsig-more:Info>{long}</dsig-more:Info>"),
            1,
        ),
        message.replacen(salt, "<dsig-more:Salt>%</dsig-more:Salt>", 1),
        message.replacen(length, "<dsig-more:KeyLength>32</dsig-more:KeyLength>", 1),
        message.replacen(
            length,
            "<dsig-more:KeyLength>4294967296</dsig-more:KeyLength>",
            1,
        ),
        message.replacen(length, "<dsig-more:KeyLength>-1</dsig-more:KeyLength>", 1),
    ] {
        assert_eq!(
            refuse(&encrypt(X25519), &altered).name(),
            "malformed",
            "{altered}"
        );
    }
    let message = secure(&encrypt(ECDH), PLAIN);
    for party in [
        "00".repeat(2_000),
        "0".to_owned(),
        "0g".to_owned(),
        "01ff".to_owned(),
    ] {
        let altered = message.replacen("PartyUInfo=\"\"", &format!("PartyUInfo=\"{party}\""), 1);
        assert_eq!(
            refuse(&encrypt(ECDH), &altered).name(),
            "malformed",
            "{altered}"
        );
    }
    // A derivation from passwords, with days of iterations: its name alone is enough.
    let derivation = cut(&message, "xenc11:KeyDerivationMethod");
    let pbkdf2 = "<xenc11:KeyDerivationMethod xmlns:xenc11=\"http://www.w3.org/2009/xmlenc11#\" \
                  Algorithm=\"http://www.w3.org/2009/xmlenc11#pbkdf2\"><xenc11:PBKDF2-params><xenc11:Salt><xenc11:Specified>AAAA\
                  </xenc11:Specified></xenc11:Salt><xenc11:IterationCount>4000000000</xenc11:IterationCount><xenc11:KeyLength>16\
                  </xenc11:KeyLength><xenc11:PRF Algorithm=\"http://www.w3.org/2001/04/xmldsig-more#hmac-sha256\"/></xenc11:PBKDF2-params>\
                  </xenc11:KeyDerivationMethod>";
    let altered = message.replacen(derivation, pbkdf2, 1);
    assert_not_allowed(&encrypt(ECDH), &altered, AlgorithmUse::KeyDerivation);
}
