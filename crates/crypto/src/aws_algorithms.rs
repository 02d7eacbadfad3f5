//! What `aws-lc-rs` calls the algorithms that it has for a kind of key.
//!
//! The one rule: an algorithm that is not here is OpenSSL's work.

use aws_lc_rs::agreement;
use aws_lc_rs::signature::{self as aws, VerificationAlgorithm};

use crate::algorithms::SignatureAlgorithm;
use crate::key::{Curve, KeyKind};

/// Number of parsed forms a public key may need; see [`aws_verifier`].
pub(crate) const VERIFIERS: usize = 8;

/// The algorithm as `aws-lc-rs` verifies it with this kind of key, and the place of its parsed form
/// in the key.
pub(crate) fn aws_verifier(
    algorithm: SignatureAlgorithm,
    kind: KeyKind,
) -> Option<(usize, &'static dyn VerificationAlgorithm)> {
    Some(match (kind, algorithm) {
        (KeyKind::Rsa { bits: 1024..=8192 }, SignatureAlgorithm::RsaSha1) => {
            (0, &aws::RSA_PKCS1_1024_8192_SHA1_FOR_LEGACY_USE_ONLY)
        }
        (KeyKind::Rsa { bits: 1024..=8192 }, SignatureAlgorithm::RsaSha256) => {
            (1, &aws::RSA_PKCS1_1024_8192_SHA256_FOR_LEGACY_USE_ONLY)
        }
        (KeyKind::Rsa { bits: 2048..=8192 }, SignatureAlgorithm::RsaSha384) => {
            (2, &aws::RSA_PKCS1_2048_8192_SHA384)
        }
        (KeyKind::Rsa { bits: 1024..=8192 }, SignatureAlgorithm::RsaSha512) => {
            (3, &aws::RSA_PKCS1_1024_8192_SHA512_FOR_LEGACY_USE_ONLY)
        }
        (KeyKind::Rsa { bits: 2048..=8192 }, SignatureAlgorithm::RsaPssSha256) => {
            (4, &aws::RSA_PSS_2048_8192_SHA256)
        }
        (KeyKind::Rsa { bits: 2048..=8192 }, SignatureAlgorithm::RsaPssSha384) => {
            (5, &aws::RSA_PSS_2048_8192_SHA384)
        }
        (KeyKind::Rsa { bits: 2048..=8192 }, SignatureAlgorithm::RsaPssSha512) => {
            (6, &aws::RSA_PSS_2048_8192_SHA512)
        }
        (KeyKind::Ec(Curve::P256), SignatureAlgorithm::EcdsaSha256) => {
            (0, &aws::ECDSA_P256_SHA256_FIXED)
        }
        (KeyKind::Ec(Curve::P384), SignatureAlgorithm::EcdsaSha384) => {
            (0, &aws::ECDSA_P384_SHA384_FIXED)
        }
        (KeyKind::Ec(Curve::P521), SignatureAlgorithm::EcdsaSha1) => {
            (0, &aws::ECDSA_P521_SHA1_FIXED)
        }
        (KeyKind::Ec(Curve::P521), SignatureAlgorithm::EcdsaSha256) => {
            (1, &aws::ECDSA_P521_SHA256_FIXED)
        }
        (KeyKind::Ec(Curve::P521), SignatureAlgorithm::EcdsaSha384) => {
            (2, &aws::ECDSA_P521_SHA384_FIXED)
        }
        (KeyKind::Ec(Curve::P521), SignatureAlgorithm::EcdsaSha512) => {
            (3, &aws::ECDSA_P521_SHA512_FIXED)
        }
        (KeyKind::Ed25519, SignatureAlgorithm::Ed25519) => (0, &aws::ED25519),
        _ => return None,
    })
}

/// The algorithm that an ECDSA key pair of `aws-lc-rs` is bound to: the digest as long as the
/// curve.
pub(crate) const fn usual_algorithm(curve: Curve) -> Option<SignatureAlgorithm> {
    match curve {
        Curve::P256 => Some(SignatureAlgorithm::EcdsaSha256),
        Curve::P384 => Some(SignatureAlgorithm::EcdsaSha384),
        Curve::P521 => Some(SignatureAlgorithm::EcdsaSha512),
        Curve::Brainpool256 | Curve::Brainpool384 | Curve::Brainpool512 => None,
    }
}

/// What keys of this kind agree by in `aws-lc-rs`, if it has that.
pub(crate) const fn aws_agreement(kind: KeyKind) -> Option<&'static agreement::Algorithm> {
    match kind {
        KeyKind::Ec(Curve::P256) => Some(&agreement::ECDH_P256),
        KeyKind::Ec(Curve::P384) => Some(&agreement::ECDH_P384),
        KeyKind::Ec(Curve::P521) => Some(&agreement::ECDH_P521),
        KeyKind::X25519 => Some(&agreement::X25519),
        _ => None,
    }
}
