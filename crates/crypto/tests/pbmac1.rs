//! PKCS#12 files whose integrity PBMAC1 protects: the examples of RFC 9579 appendix A, password
//! `1234`.
//!
//! The valid examples A.1 to A.3 lie in `rfc9579/` as base64. The invalid examples A.4 to A.6 are
//! A.1 with one field of its `MacData` changed, so they are made here.

use soapstone_crypto::{CryptoError, KeyStore, base64};

const PASSWORD: &str = "1234";

/// Of the certificate in all of them.
const SUBJECT: &str = "CN=tt,OU=rr,O=ee,L=ww,ST=qq,C=XX";

fn file(text: &str) -> Vec<u8> {
    base64::decode_xml_to_vec(text.as_bytes()).unwrap()
}

fn sha256() -> Vec<u8> {
    file(include_str!("rfc9579/a1-sha256.p12.txt"))
}

fn opening(file: &[u8], password: &str) -> Result<(), CryptoError> {
    KeyStore::from_pkcs12(file, password).map(drop)
}

/// Where the parameters of the last PBKDF2 in a file begin: those of the `MacData`.
fn parameters(file: &[u8]) -> usize {
    const PBKDF2: [u8; 11] = [6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 5, 12];
    let at = file.windows(PBKDF2.len()).rposition(|it| it == PBKDF2);
    at.unwrap() + PBKDF2.len()
}

/// The offsets in the parameters: a SEQUENCE with a salt of 8 bytes, an iteration count of 2 and a
/// key length of 1.
const SALT: usize = 4;
const ITERATIONS: usize = 14;
const KEY_LENGTH: usize = 16;

#[test]
fn the_valid_examples_of_rfc_9579_open_with_their_password_alone() {
    for (name, text) in [
        ("A.1", include_str!("rfc9579/a1-sha256.p12.txt")),
        ("A.2", include_str!("rfc9579/a2-sha256-prf-sha512.p12.txt")),
        ("A.3", include_str!("rfc9579/a3-sha512.p12.txt")),
    ] {
        let file = file(text);
        let store = KeyStore::from_pkcs12(&file, PASSWORD).unwrap();
        let identity = store.identity(None, PASSWORD).unwrap();
        assert_eq!(identity.certificate().subject(), SUBJECT, "{name}");
        assert_eq!(
            opening(&file, "1235"),
            Err(CryptoError::WrongPassword),
            "{name}"
        );
    }
}

#[test]
fn a_file_with_another_iteration_count_is_refused() {
    let mut file = sha256();
    let at = parameters(&file) + ITERATIONS;
    assert_eq!(file[at..at + 2], [8, 0]);
    file[at + 1] = 1;
    assert_eq!(opening(&file, PASSWORD), Err(CryptoError::WrongPassword));
}

#[test]
fn a_file_with_another_salt_is_refused() {
    let mut file = sha256();
    let at = parameters(&file) + SALT;
    file[at] ^= 1;
    assert_eq!(opening(&file, PASSWORD), Err(CryptoError::WrongPassword));
}

#[test]
fn a_file_without_a_key_length_is_refused() {
    let mut file = sha256();
    let parameters = parameters(&file);
    let at = parameters + KEY_LENGTH;
    assert_eq!(file[at..at + 3], [2, 1, 32]);
    file.drain(at..at + 3);
    // The lengths of everything that holds the key length, from the inside to the outside.
    let lengths = [
        (parameters + 1, 0x1f),
        (parameters - 12, 0x2c),
        (parameters - 14, 0x3c),
        (parameters - 27, 0x49),
        (parameters - 29, 0x6d),
        (parameters - 31, 0x7c),
        (3, 0x8a),
    ];
    for (at, length) in lengths {
        assert_eq!(file[at], length, "{at}");
        file[at] -= 3;
    }
    assert_eq!(
        opening(&file, PASSWORD),
        Err(CryptoError::Malformed {
            expected: "the parameters of PBMAC1",
            found: "bytes that are not its DER".to_owned()
        })
    );
}

/// A key of one byte is found by 256 attempts, without the password.
#[test]
fn a_file_with_a_key_that_can_be_guessed_is_refused() {
    for length in [0, 1, 19] {
        let mut file = sha256();
        let at = parameters(&file) + KEY_LENGTH;
        file[at + 2] = length;
        let what = format!("a PKCS#12 file whose PBMAC1 key has {length} bytes");
        assert_eq!(
            opening(&file, PASSWORD),
            Err(CryptoError::Unsupported { what })
        );
    }
}
