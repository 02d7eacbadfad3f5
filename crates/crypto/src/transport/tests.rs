//! Session keys are wrapped and unwrapped. Every failure to unwrap is the same one.

use super::*;

fn key(bits: u32) -> PrivateKey {
    crate::testing::key(KeyKind::Rsa { bits })
}

const DIGESTS: [DigestAlgorithm; 5] = [
    DigestAlgorithm::Sha1,
    DigestAlgorithm::Sha224,
    DigestAlgorithm::Sha256,
    DigestAlgorithm::Sha384,
    DigestAlgorithm::Sha512,
];

#[test]
fn what_is_wrapped_unwraps_with_any_parameters() {
    let (large, small) = (key(2048), key(1024));
    for digest in DIGESTS {
        for mgf in DIGESTS {
            for label in [&b""[..], b"label"] {
                let parameters = OaepParameters {
                    digest,
                    mgf,
                    label: label.to_vec(),
                };
                for &algorithm in KeyTransport::ALL {
                    for key in [&large, &small] {
                        let secret = &[7; 16][..];
                        if key.kind().bits() == 1024 && digest == DigestAlgorithm::Sha512 {
                            continue;
                        }
                        let wrapped = key
                            .public_key()
                            .wrap(algorithm, &parameters, secret)
                            .unwrap();
                        let unwrapped = key
                            .unwrap(algorithm, &parameters, &wrapped, Some(16))
                            .unwrap();
                        assert_eq!(unwrapped.expose(), secret, "{algorithm} {digest} {mgf}");
                    }
                }
            }
        }
    }
}

#[test]
fn oaep_with_other_parameters_fails() {
    let key = key(2048);
    let (sha1, sha256) = (DigestAlgorithm::Sha1, DigestAlgorithm::Sha256);
    let right = OaepParameters::new(sha256, sha1);
    let wrapped = key
        .public_key()
        .wrap(KeyTransport::RsaOaep, &right, &[7; 16])
        .unwrap();
    for wrong in [
        OaepParameters::new(sha1, sha1),
        OaepParameters::new(sha256, sha256),
        OaepParameters {
            label: b"x".to_vec(),
            ..right.clone()
        },
    ] {
        let outcome = key.unwrap(KeyTransport::RsaOaep, &wrong, &wrapped, Some(16));
        assert_eq!(outcome.map(drop), Err(DecryptFailed));
    }
    // A failure spoils nothing: the same key goes on working.
    let outcome = key.unwrap(KeyTransport::RsaOaep, &right, &wrapped, Some(16));
    assert_eq!(outcome.unwrap().expose(), &[7; 16]);
    let outcome = key.unwrap(KeyTransport::RsaOaep, &right, &wrapped, Some(32));
    assert_eq!(outcome.map(drop), Err(DecryptFailed));
}

#[test]
fn mgf1p_always_uses_sha1_for_its_mask() {
    let key = key(2048);
    let (sha1, sha256) = (DigestAlgorithm::Sha1, DigestAlgorithm::Sha256);
    let asked = OaepParameters::new(sha256, sha256);
    let wrapped = key
        .public_key()
        .wrap(KeyTransport::RsaOaepMgf1p, &asked, &[7; 16])
        .unwrap();
    let really = OaepParameters::new(sha256, sha1);
    let outcome = key.unwrap(KeyTransport::RsaOaep, &really, &wrapped, None);
    assert_eq!(outcome.unwrap().expose(), &[7; 16]);
}

/// What `ciphertext` yields as a key of `length` bytes.
fn unwrap_pkcs1(key: &PrivateKey, ciphertext: &[u8], length: usize) -> Vec<u8> {
    key.unwrap(
        KeyTransport::Rsa15,
        &OaepParameters::default(),
        ciphertext,
        Some(length),
    )
    .unwrap()
    .expose()
    .clone()
}

fn wrap_pkcs1(key: &PrivateKey, secret: &[u8]) -> Vec<u8> {
    key.public_key()
        .wrap(KeyTransport::Rsa15, &OaepParameters::default(), secret)
        .unwrap()
}

/// Ciphertexts that hold no key of 16 bytes: any number, one more than the modulus allows, a
/// key of another length.
fn ciphertexts_without_a_key(key: &PrivateKey) -> Vec<Vec<u8>> {
    let size = key.kind().bits() as usize / 8;
    let mut changed = wrap_pkcs1(key, &[7; 16]);
    changed[40] ^= 1;
    vec![
        changed,
        vec![1; size],
        vec![0; size],
        vec![0xff; size],
        wrap_pkcs1(key, &[7; 15]),
        wrap_pkcs1(key, &[7; 32]),
        wrap_pkcs1(key, &[]),
    ]
}

#[test]
fn a_wrong_pkcs1_padding_yields_the_same_substitute_each_time_and_no_error() {
    for key in [key(2048), key(1024)] {
        let wrapped = wrap_pkcs1(&key, &[7; 16]);
        assert_eq!(unwrap_pkcs1(&key, &wrapped, 16), [7; 16]);
        for ciphertext in ciphertexts_without_a_key(&key) {
            let first = unwrap_pkcs1(&key, &ciphertext, 16);
            assert_eq!(first, *key.substitute(&ciphertext, 16).expose());
            assert_eq!(first, unwrap_pkcs1(&key, &ciphertext, 16));
        }
        let parameters = OaepParameters::default();
        let alone = key.unwrap(KeyTransport::Rsa15, &parameters, &[1; 256], None);
        assert_eq!(alone.map(drop), Err(DecryptFailed));
    }
}

#[test]
fn substitutes_differ_by_ciphertext_by_key_and_by_length() {
    let (one, other) = (key(2048), PrivateKey::generate(key(2048).kind()).unwrap());
    let mut seen = std::collections::HashSet::new();
    for ciphertext in ciphertexts_without_a_key(&one) {
        for length in [16, 24, 32, 64, 100] {
            for key in [&one, &other] {
                let substitute = key.substitute(&ciphertext, length);
                assert_eq!(substitute.len(), length);
                assert!(seen.insert(substitute.expose()[..16].to_vec()));
            }
        }
    }
    let again = PrivateKey::from_der(one.to_pkcs8_der().unwrap().expose()).unwrap();
    let (first, second) = (
        one.substitute(&[1; 256], 32),
        again.substitute(&[1; 256], 32),
    );
    assert_eq!(first.expose(), second.expose());
}

#[test]
fn a_pkcs1_key_as_long_as_the_modulus_allows_is_unwrapped() {
    let key = key(1024);
    let longest = vec![7; 128 - 11];
    let wrapped = wrap_pkcs1(&key, &longest);
    assert_eq!(unwrap_pkcs1(&key, &wrapped, longest.len()), longest);
    assert_eq!(unwrap_pkcs1(&key, &wrapped, 118).len(), 118);
    assert_eq!(unwrap_pkcs1(&key, &wrapped, 500).len(), 500);
}

#[test]
fn a_ciphertext_of_another_length_than_the_modulus_fails() {
    let key = key(2048);
    let parameters = OaepParameters::default();
    for &algorithm in KeyTransport::ALL {
        for length in [0, 128, 255, 257] {
            let outcome = key.unwrap(algorithm, &parameters, &vec![1; length], Some(16));
            assert_eq!(outcome.map(drop), Err(DecryptFailed));
        }
    }
}

#[test]
fn a_secret_that_does_not_fit_is_refused() {
    let key = key(1024);
    let sha512 = OaepParameters::new(DigestAlgorithm::Sha512, DigestAlgorithm::Sha512);
    assert_eq!(
        key.public_key()
            .wrap(KeyTransport::RsaOaep, &sha512, &[7; 16]),
        Err(CryptoError::TooLong {
            operation: "rsa-oaep",
            maximum: 0,
            found: 16
        })
    );
    assert_eq!(
        key.public_key()
            .wrap(KeyTransport::Rsa15, &sha512, &[7; 118]),
        Err(CryptoError::TooLong {
            operation: "rsa-1_5",
            maximum: 117,
            found: 118
        })
    );
}

#[test]
fn keys_that_are_not_rsa_transport_nothing() {
    let key = PrivateKey::generate(KeyKind::Ed25519).unwrap();
    let parameters = OaepParameters::default();
    assert_eq!(
        key.public_key()
            .wrap(KeyTransport::RsaOaep, &parameters, &[7; 16]),
        Err(CryptoError::WrongKey {
            operation: "rsa-oaep",
            key: KeyKind::Ed25519
        })
    );
    let outcome = key.unwrap(KeyTransport::RsaOaep, &parameters, &[7; 256], None);
    assert_eq!(outcome.map(drop), Err(DecryptFailed));
}
