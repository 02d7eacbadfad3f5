//! Certificates are read, and their extensions and validity are judged.

use super::*;
use crate::der;
use crate::issue::{self, Template, Validity};
use crate::key::KeyKind;
use crate::testing::{self, hex};

fn validity() -> Validity {
    Validity::days("2026-11-21T12:00:00Z".parse().unwrap(), 30)
}

fn self_signed(template: &Template) -> Certificate {
    let key = testing::key(KeyKind::Rsa { bits: 2048 });
    issue::self_signed(key, template)
        .unwrap()
        .certificate()
        .clone()
}

#[test]
fn integers_are_written_in_decimal() {
    for (octets, expected) in [
        ("00", "0"),
        ("01", "1"),
        ("7f", "127"),
        ("0080", "128"),
        ("ff", "-1"),
        ("80", "-128"),
        ("ff7f", "-129"),
        ("3b9aca00", "1000000000"),
        (
            "00ffffffffffffffffffffffffffffffff",
            "340282366920938463463374607431768211455",
        ),
        ("0de0b6b3a7640000", "1000000000000000000"),
    ] {
        assert_eq!(decimal(&hex(octets)), expected, "{octets}");
    }
}

#[test]
fn the_key_identifier_is_the_extension_or_computed() {
    let template = Template::new("CN=a", validity()).unwrap();
    let with = self_signed(&template);
    assert_eq!(with.ski_extension(), Some(with.ski()));
    assert!(with.matches_ski(with.ski()));

    let without = self_signed(&template.without_key_identifier());
    assert_eq!(without.ski_extension(), None);
    assert_eq!(without.ski(), sha1(without.public_key().key_bits()));
    assert!(without.matches_ski(without.ski()));
    assert!(without.matches_ski(&sha1(&without.public_key().spki_der()[22..])));
    assert!(!without.matches_ski(&[7; 20]));
    assert!(!without.matches_ski(&[]));
}

#[test]
fn issuer_and_serial_match_in_any_spelling_of_the_same_name() {
    let certificate =
        self_signed(&Template::new("CN=Max Muster,O=Acme\\, Inc.,C=CH", validity()).unwrap());
    let serial = certificate.serial_decimal();
    assert!(certificate.matches_issuer_serial("C=CH, O=\"Acme, Inc.\", CN=max muster", serial));
    assert!(certificate.matches_issuer_serial(certificate.issuer(), &format!("\n {serial} ")));
    assert!(certificate.matches_issuer_serial(certificate.issuer(), &format!("00{serial}")));
    assert!(!certificate.matches_issuer_serial(certificate.issuer(), &format!("{serial}0")));
    assert!(!certificate.matches_issuer_serial("CN=Max Muster", serial));
    assert!(!certificate.matches_issuer_serial("not a name", serial));
    assert!(certificate.subject_matches("cn=MAX MUSTER"));
    assert!(certificate.subject_matches("C=CH,CN=Max Muster"));
    assert!(!certificate.subject_matches("CN=Max"));
    assert!(!certificate.subject_matches(""));
}

#[test]
fn thumbprints_are_those_of_openssl() {
    let certificate = self_signed(&Template::new("CN=a", validity()).unwrap());
    let other = openssl::x509::X509::from_der(certificate.der()).unwrap();
    let digest = |md| other.digest(md).unwrap().to_vec();
    assert_eq!(
        certificate.thumbprint_sha1(),
        digest(openssl::hash::MessageDigest::sha1())[..]
    );
    assert_eq!(
        certificate.thumbprint_sha256(),
        digest(openssl::hash::MessageDigest::sha256())[..]
    );
    assert_eq!(
        certificate.serial_decimal(),
        other.serial_number().to_bn().unwrap().to_string()
    );
}

#[test]
fn pem_files_hold_any_number_of_certificates_among_other_things() {
    let (one, two) = (
        self_signed(&Template::new("CN=one", validity()).unwrap()),
        self_signed(&Template::new("CN=two", validity()).unwrap()),
    );
    let file = format!(
        "a comment\n{}-----BEGIN EC PARAMETERS-----\r\nBggq\r\nhkjO\r\n-----END EC PARAMETERS-----\n{}",
        one.to_pem(),
        two.to_pem().replace('\n', "\r\n")
    );
    assert_eq!(
        Certificate::pem_chain(file.as_bytes()).unwrap(),
        [one.clone(), two]
    );
    assert_eq!(Certificate::from_pem(file.as_bytes()).unwrap(), one);
    assert_eq!(Certificate::from_file_contents(one.der()).unwrap(), [one]);
    assert_eq!(
        Certificate::from_pem(b"nothing here"),
        Err(CryptoError::Malformed {
            expected: "a PEM block `CERTIFICATE`",
            found: "none".to_owned()
        })
    );
}

#[test]
fn certificates_cut_short_or_followed_by_more_are_refused() {
    let certificate = self_signed(&Template::new("CN=a", validity()).unwrap());
    let malformed = |der: &[u8]| {
        matches!(
            Certificate::from_der(der),
            Err(CryptoError::Malformed { .. })
        )
    };
    let der = certificate.der();
    for length in 0..der.len() {
        assert!(malformed(&der[..length]), "{length}");
    }
    assert!(malformed(&[der, &[0]].concat()));
    assert!(malformed(&vec![0x30; LONGEST + 1]));
}

#[test]
fn any_altered_octet_is_read_or_refused_without_panic() {
    let certificate = self_signed(&Template::new("CN=a,O=b", validity()).unwrap());
    for index in 0..certificate.der().len() {
        for flip in [1, 0x20, 0x80, 0xff] {
            let mut altered = certificate.der().to_vec();
            altered[index] ^= flip;
            if let Ok(read) = Certificate::from_der(&altered) {
                let _ = (
                    read.subject(),
                    read.ski(),
                    read.serial_decimal(),
                    read.is_self_signed(),
                );
            }
        }
    }
}

#[test]
fn bundles_are_read_with_the_subject_first() {
    let authority = issue::authority("CN=ca", KeyKind::Ed25519, validity()).unwrap();
    let template = Template::new("CN=leaf", validity()).unwrap();
    let leaf = issue::identity(&authority, KeyKind::Ed25519, &template).unwrap();
    let chain = [leaf.certificate().clone(), authority.certificate().clone()];
    let path = Certificate::to_pki_path(&chain);
    assert_eq!(Certificate::from_pki_path(&path).unwrap(), chain);
    assert!(matches!(
        Certificate::from_pki_path(&der::element(der::SEQUENCE, &[])),
        Err(CryptoError::Malformed { .. })
    ));

    let signed_data = der::element(
        der::SEQUENCE,
        &[
            &der::positive(&[1]),
            &der::element(der::SET, &[]),
            &der::element(
                der::SEQUENCE,
                &[&der::element(
                    der::OID,
                    &[&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 7, 1]],
                )],
            ),
            &der::element(der::context(0), &[chain[0].der(), chain[1].der()]),
            &der::element(der::SET, &[]),
        ],
    );
    let pkcs7 = der::element(
        der::SEQUENCE,
        &[
            &der::element(der::OID, &[&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 7, 2]]),
            &der::element(der::context(0), &[&signed_data]),
        ],
    );
    assert_eq!(Certificate::from_pkcs7(&pkcs7).unwrap(), chain);
}

#[test]
fn debug_shows_the_subject_only() {
    let certificate = self_signed(&Template::new("CN=Zoë", validity()).unwrap());
    assert_eq!(format!("{certificate:?}"), "Certificate(CN=Zoë)");
}
