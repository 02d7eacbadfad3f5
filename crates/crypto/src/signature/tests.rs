use super::*;

fn keys() -> Vec<PrivateKey> {
    [
        KeyKind::Rsa { bits: 1024 },
        KeyKind::Rsa { bits: 2048 },
        KeyKind::Ec(Curve::P256),
        KeyKind::Ec(Curve::P384),
        KeyKind::Ec(Curve::P521),
        KeyKind::Ec(Curve::Brainpool256),
        KeyKind::Ec(Curve::Brainpool384),
        KeyKind::Ec(Curve::Brainpool512),
        KeyKind::Dsa { bits: 1024 },
        KeyKind::Ed25519,
        KeyKind::Ed448,
    ]
    .into_iter()
    .map(|kind| PrivateKey::generate(kind).unwrap())
    .collect()
}

#[test]
fn every_algorithm_signs_and_verifies_with_every_key_it_fits_and_with_no_other() {
    for key in keys() {
        for &algorithm in SignatureAlgorithm::ALL {
            let kind = key.kind();
            if kind == (KeyKind::Rsa { bits: 1024 })
                && algorithm == SignatureAlgorithm::RsaPssSha512
            {
                continue; // 64 octets of digest and 64 of salt do not fit into 128
            }
            if kind == (KeyKind::Rsa { bits: 1024 })
                && algorithm == SignatureAlgorithm::RsaPssSha3_512
            {
                continue;
            }
            if !algorithm.fits(kind) {
                let expected = if algorithm.is_mac() {
                    CryptoError::WrongFamily {
                        operation: algorithm.short_name(),
                        expected: "a shared key, not a key pair",
                    }
                } else {
                    CryptoError::WrongKey {
                        operation: algorithm.short_name(),
                        key: kind,
                    }
                };
                assert_eq!(key.sign(algorithm, b"m"), Err(expected.clone()));
                assert_eq!(key.public_key().verify(algorithm, b"m", b""), Err(expected));
                continue;
            }
            let mut signature = key.sign(algorithm, b"message").unwrap();
            let public = key.public_key();
            assert_eq!(
                public.verify(algorithm, b"message", &signature),
                Ok(()),
                "{algorithm} {kind}"
            );
            assert_eq!(
                public.verify_with_openssl(algorithm, b"message", &signature),
                Ok(()),
                "{algorithm} {kind}"
            );
            let bad = Err(CryptoError::BadSignature);
            assert_eq!(
                public.verify(algorithm, b"massage", &signature),
                bad,
                "{algorithm} {kind}"
            );
            assert_eq!(public.verify(algorithm, b"message", &signature[1..]), bad);
            assert_eq!(public.verify(algorithm, b"message", b""), bad);
            signature[3] ^= 1;
            assert_eq!(
                public.verify(algorithm, b"message", &signature),
                bad,
                "{algorithm} {kind}"
            );
        }
    }
}

#[test]
fn what_openssl_signs_the_other_library_verifies() {
    for key in keys() {
        for &algorithm in SignatureAlgorithm::ALL {
            if aws_verifier(algorithm, key.kind()).is_some() && algorithm.fits(key.kind()) {
                let signature = key.sign_with_openssl(algorithm, b"message").unwrap();
                assert_eq!(
                    key.public_key().verify(algorithm, b"message", &signature),
                    Ok(())
                );
            }
        }
    }
}

#[test]
fn ecdsa_and_dsa_signatures_are_two_numbers_of_the_length_of_the_order() {
    for (kind, algorithm, length) in [
        (
            KeyKind::Ec(Curve::P256),
            SignatureAlgorithm::EcdsaSha256,
            64,
        ),
        (
            KeyKind::Ec(Curve::P256),
            SignatureAlgorithm::EcdsaSha512,
            64,
        ),
        (
            KeyKind::Ec(Curve::P521),
            SignatureAlgorithm::EcdsaSha256,
            132,
        ),
        (
            KeyKind::Ec(Curve::Brainpool512),
            SignatureAlgorithm::EcdsaSha512,
            128,
        ),
        (KeyKind::Dsa { bits: 1024 }, SignatureAlgorithm::DsaSha1, 40),
    ] {
        let key = PrivateKey::generate(kind).unwrap();
        assert_eq!(
            key.sign(algorithm, b"m").unwrap().len(),
            length,
            "{algorithm} {kind}"
        );
    }
}

#[test]
fn a_signature_by_another_key_is_bad() {
    let (one, two) = (
        PrivateKey::generate(KeyKind::Ec(Curve::P256)).unwrap(),
        PrivateKey::generate(KeyKind::Ec(Curve::P256)).unwrap(),
    );
    let signature = one.sign(SignatureAlgorithm::EcdsaSha256, b"m").unwrap();
    assert_eq!(
        two.public_key()
            .verify(SignatureAlgorithm::EcdsaSha256, b"m", &signature),
        Err(CryptoError::BadSignature)
    );
}
