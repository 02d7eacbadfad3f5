//! Every signature algorithm with every kind of key: accepted, changed, and refused.

use super::*;
use crate::key::Curve;
use crate::testing::{self, hex};

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
    .map(testing::key)
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
                continue; // 64 bytes of digest and 64 of salt do not fit into 128
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
                let software = key.software().unwrap();
                let signature = software.sign_with_openssl(algorithm, b"message", key.public_key());
                let signature = signature.unwrap();
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
        let key = testing::key(kind);
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

/// RFC 6979 appendix A.2.5 and A.2.1 (message `sample`), RFC 8032 section 7.1 (test 2).
#[test]
fn published_signatures_verify() {
    let point = hex(concat!(
        "04",
        "60fed4ba255a9d31c961eb74c6356d68c049b8923b61fa6ce669622e60f29fb6",
        "7903fe1008b8bc99a41ae9e95628bc64f2f1b20c2d7e9f5177a3c294d4462299"
    ));
    let ec = PublicKey::ec(Curve::P256, &point).unwrap();
    let dsa = PublicKey::dsa(
        &hex(concat!(
            "86f5ca03dcfeb225063ff830a0c769b9dd9d6153ad91d7ce27f787c43278b447e6533b86b18bed6e8a48b784a14c252c",
            "5be0dbf60b86d6385bd2f12fb763ed8873abfd3f5ba2e0a8c0a59082eac056935e529daf7c610467899c77adedfc846c8",
            "81870b7b19b2b58f9be0521a17002e3bdd6b86685ee90b3d9a1b02b782b1779"
        )),
        &hex("996f967f6c8e388d9e28d01e205fba957a5698b1"),
        &hex(concat!(
            "07b0f92546150b62514bb771e2a0c0ce387f03bda6c56b505209ff25fd3c133d89bbcd97e904e09114d9a7defdeadfc9",
            "078ea544d2e401aeecc40bb9fbbf78fd87995a10a1c27cb7789b594ba7efb5c4326a9fe59a070e136db77175464adca4",
            "17be5dce2f40d10a46a3a3943f26ab7fd9c0398ff8c76ee0a56826a8a88f1dbd"
        )),
        &hex(concat!(
            "5df5e01ded31d0297e274e1691c192fe5868fef9e19a84776454b100cf16f65392195a38b90523e2542ee61871c0440c",
            "b87c322fc4b4d2ec5e1e7ec766e1be8d4ce935437dc11c3c8fd426338933ebfe739cb3465f4d3668c5e473508253b1e6",
            "82f65cbdc4fae93c2ea212390e54905a86e2223170b44eaa7da5dd9ffcfb7f3b"
        )),
    )
    .unwrap();
    let ed25519 = PublicKey::ed25519(&hex(
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    ))
    .unwrap();
    for (key, algorithm, message, signature) in [
        (
            &ec,
            SignatureAlgorithm::EcdsaSha256,
            &b"sample"[..],
            concat!(
                "efd48b2aacb6a8fd1140dd9cd45e81d69d2c877b56aaf991c34d0ea84eaf3716",
                "f7cb1c942d657c41d436c7a1b6e29f65f3e900dbb9aff4064dc4ab2f843acda8"
            ),
        ),
        (
            &ec,
            SignatureAlgorithm::EcdsaSha1,
            b"sample",
            concat!(
                "61340c88c3aaebeb4f6d667f672ca9759a6ccaa9fa8811313039ee4a35471d32",
                "6d7f147dac089441bb2e2fe8f7a3fa264b9c475098fdcf6e00d7c996e1b8b7eb"
            ),
        ),
        (
            &dsa,
            SignatureAlgorithm::DsaSha1,
            b"sample",
            "2e1a0c2562b2912caaf89186fb0f42001585da5529efb6b0aff2d7a68eb70ca313022253b9a88df5",
        ),
        (
            &ed25519,
            SignatureAlgorithm::Ed25519,
            &[0x72],
            concat!(
                "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da",
                "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"
            ),
        ),
    ] {
        assert_eq!(
            key.verify(algorithm, message, &hex(signature)),
            Ok(()),
            "{algorithm}"
        );
    }
}

#[test]
fn signatures_of_zeros_are_bad() {
    for (kind, algorithm, length) in [
        (
            KeyKind::Ec(Curve::P256),
            SignatureAlgorithm::EcdsaSha256,
            64,
        ),
        (
            KeyKind::Ec(Curve::P256),
            SignatureAlgorithm::EcdsaSha384,
            64,
        ),
        (KeyKind::Dsa { bits: 1024 }, SignatureAlgorithm::DsaSha1, 40),
        (
            KeyKind::Rsa { bits: 2048 },
            SignatureAlgorithm::RsaSha1,
            256,
        ),
        (KeyKind::Ed25519, SignatureAlgorithm::Ed25519, 64),
    ] {
        let key = testing::key(kind);
        assert_eq!(
            key.public_key().verify(algorithm, b"m", &vec![0; length]),
            Err(CryptoError::BadSignature),
            "{kind}"
        );
    }
}

/// RFC 8032 section 5.1.7: the second half is below the order of the curve. With the order added it
/// would be another signature of the same message.
#[test]
fn a_signature_of_ed25519_has_one_form() {
    let order = hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010");
    let key = testing::key(KeyKind::Ed25519);
    let public = key.public_key();
    let signature = key.sign(SignatureAlgorithm::Ed25519, b"m").unwrap();
    let mut other = signature.clone();
    let mut carried = 0;
    for (octet, added) in other[32..].iter_mut().zip(order) {
        let sum = u16::from(*octet) + u16::from(added) + carried;
        [*octet, _] = sum.to_le_bytes();
        carried = sum >> 8;
    }
    assert_eq!((carried, other == signature), (0, false));
    for (signature, expected) in [
        (&signature, Ok(())),
        (&other, Err(CryptoError::BadSignature)),
    ] {
        let algorithm = SignatureAlgorithm::Ed25519;
        assert_eq!(public.verify(algorithm, b"m", signature), expected);
        assert_eq!(
            public.verify_with_openssl(algorithm, b"m", signature),
            expected
        );
    }
}

#[test]
fn signatures_for_x509_have_their_two_numbers_in_der() {
    for key in keys() {
        let kind = key.kind();
        let fits = |algorithm: &&SignatureAlgorithm| algorithm.fits(kind);
        let algorithm = *SignatureAlgorithm::ALL.iter().find(fits).unwrap();
        let signature = key.sign_for_x509(algorithm, b"m").unwrap();
        let joined = match algorithm.family() {
            SignatureFamily::Ecdsa | SignatureFamily::Dsa => {
                key.public_key().joined_signature(&signature).unwrap()
            }
            _ => signature,
        };
        let verified = key.public_key().verify(algorithm, b"m", &joined);
        assert_eq!(verified, Ok(()), "{kind}");
    }
}

#[test]
fn an_rsa_signature_without_its_leading_zero_is_bad() {
    let key = testing::key(KeyKind::Rsa { bits: 1024 });
    // One in 256 begins with a zero.
    let (message, signature) = (0_u32..)
        .map(|number| number.to_be_bytes())
        .map(|message| {
            (
                message,
                key.sign(SignatureAlgorithm::RsaPssSha1, &message).unwrap(),
            )
        })
        .find(|(_, signature)| signature[0] == 0)
        .unwrap();
    let verify = |signature| {
        key.public_key()
            .verify(SignatureAlgorithm::RsaPssSha1, &message, signature)
    };
    assert_eq!(verify(&signature), Ok(()));
    assert_eq!(verify(&signature[1..]), Err(CryptoError::BadSignature));
}
