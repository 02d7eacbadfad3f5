//! Keystores and encrypted keys of any origin: what they give can be used, and how much work they
//! ask for.
//!
//! The one rule: a file that asks for more work than a fuzzer has time for is left out, and nothing
//! else is.

use soapstone_crypto::{Certificate, KeyStore, PrivateKey};

/// The password of every seed and of every attempt.
pub const PASSWORD: &str = "1234";

/// Most iterations that a target waits for.
const MOST_ITERATIONS: u64 = 5_000;

/// Whether some DER INTEGER in the bytes is a number of iterations that takes too long. The limit
/// of the readers themselves, some seconds of work for each key, would leave a fuzzer idle.
#[must_use]
pub fn asks_for_long_work(bytes: &[u8]) -> bool {
    (2..=8).any(|length: u8| {
        let headed = bytes.windows(2 + usize::from(length));
        headed
            .filter(|it| it.starts_with(&[2, length]) && it[2] < 0x80)
            .any(|it| {
                let number = it[2..]
                    .iter()
                    .fold(0, |sum, byte| sum << 8 | u64::from(*byte));
                number > MOST_ITERATIONS
            })
    })
}

/// Reads all that a keystore has.
pub fn read(store: &KeyStore) {
    let aliases: Vec<String> = store.key_aliases().map(str::to_owned).collect();
    for alias in &aliases {
        let chain = store.chain(alias).expect("an alias that the store named");
        chain.iter().for_each(certificate);
        if let Ok(identity) = store.identity(Some(alias), PASSWORD) {
            certificate(identity.certificate());
            key(identity.key());
        }
    }
    store.certificates().for_each(|(_, it)| certificate(it));
}

/// A private key writes and reads as itself.
///
/// # Panics
/// It does not.
pub fn key(key: &PrivateKey) {
    if let Ok(written) = key.to_pkcs8_der() {
        let again = PrivateKey::from_der(written.expose()).expect("a key that was written");
        assert_eq!(again.kind(), key.kind());
    }
}

/// Reads all that a certificate says.
///
/// # Panics
/// The certificate contradicts itself.
pub fn certificate(certificate: &Certificate) {
    let again = Certificate::from_der(certificate.der()).expect("it was read before");
    assert_eq!(again.thumbprint_sha256(), certificate.thumbprint_sha256());
    let pem = Certificate::from_pem(certificate.to_pem().as_bytes()).expect("PEM of ours");
    assert_eq!(pem.der(), certificate.der());
    assert!(certificate.matches_ski(certificate.ski()));
    let serial = certificate.serial_decimal();
    let digits = serial.strip_prefix('-').unwrap_or(serial);
    assert!(!digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()));
    let path = Certificate::to_pki_path(std::slice::from_ref(certificate));
    let path = Certificate::from_pki_path(&path).expect("a path of ours");
    assert_eq!(path[0].der(), certificate.der());
    let _ = (
        certificate.version(),
        certificate.subject(),
        certificate.issuer(),
        certificate.not_before(),
        certificate.not_after(),
        certificate.key_usage(),
        certificate.is_authority(),
        certificate.is_self_signed(),
        certificate.public_key(),
    );
}
