//! Paths from a certificate to an anchor (RFC 5280 section 6), by `rustls-webpki`.
//!
//! The validator is strict and written in safe Rust. It takes certificates of version 3 only,
//! leaves extended key usages to [`TrustStore::check_purpose`], and verifies signatures with this
//! crate's own keys, so that the algorithms accepted are exactly those of [`ALGORITHMS`].

use jiff::Timestamp;
use rustls_pki_types::{
    AlgorithmIdentifier, CertificateDer, InvalidSignature, SignatureVerificationAlgorithm,
    TrustAnchor, UnixTime, alg_id,
};
use webpki::{EndEntityCert, Error, ExtendedKeyUsageValidator, KeyPurposeIdIter};

use super::error::TrustError;
use super::store::TrustStore;
use crate::certificate::Certificate;
use crate::der;
use crate::error::CryptoError;
use crate::key::PublicKey;
use crate::signature::SignedWith;

/// A certificate signature: which kind of key with which algorithm.
#[derive(Debug)]
struct Algorithm {
    key: AlgorithmIdentifier,
    signature: AlgorithmIdentifier,
}

/// Builds the table: each kind of key with the signatures it makes.
macro_rules! table {
    ($($key:expr => [$($signature:expr),* $(,)?]),* $(,)?) => {
        &[$($(&Algorithm { key: $key, signature: $signature },)*)*]
    };
}

const fn identifier(der: &'static [u8]) -> AlgorithmIdentifier {
    AlgorithmIdentifier::from_slice(der)
}

/// The contents of an `AlgorithmIdentifier` of PKCS#1, with its NULL.
macro_rules! pkcs1 {
    ($last:literal) => {
        identifier(&[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, $last, 5, 0])
    };
}

/// The same without the NULL, as some authorities write it (RFC 4055 section 5 asks for the NULL).
macro_rules! pkcs1_without_null {
    ($last:literal) => {
        identifier(&[6, 9, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, $last])
    };
}

macro_rules! brainpool {
    ($last:literal) => {
        identifier(&[
            6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 2, 1, 6, 9, 0x2b, 0x24, 3, 3, 2, 8, 1, 1, $last,
        ])
    };
}

const ECDSA_SHA1: AlgorithmIdentifier = identifier(&[6, 7, 0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 1]);

/// What certificates may be signed with.
const ALGORITHMS: &[&dyn SignatureVerificationAlgorithm] = table![
    alg_id::RSA_ENCRYPTION => [
        pkcs1!(11), pkcs1!(12), pkcs1!(13),
        pkcs1_without_null!(11), pkcs1_without_null!(12), pkcs1_without_null!(13),
        alg_id::RSA_PSS_SHA256, alg_id::RSA_PSS_SHA384, alg_id::RSA_PSS_SHA512,
    ],
    alg_id::ECDSA_P256 => [alg_id::ECDSA_SHA256, alg_id::ECDSA_SHA384, alg_id::ECDSA_SHA512],
    alg_id::ECDSA_P384 => [alg_id::ECDSA_SHA256, alg_id::ECDSA_SHA384, alg_id::ECDSA_SHA512],
    alg_id::ECDSA_P521 => [alg_id::ECDSA_SHA256, alg_id::ECDSA_SHA384, alg_id::ECDSA_SHA512],
    brainpool!(7) => [alg_id::ECDSA_SHA256, alg_id::ECDSA_SHA384, alg_id::ECDSA_SHA512],
    brainpool!(11) => [alg_id::ECDSA_SHA256, alg_id::ECDSA_SHA384, alg_id::ECDSA_SHA512],
    brainpool!(13) => [alg_id::ECDSA_SHA256, alg_id::ECDSA_SHA384, alg_id::ECDSA_SHA512],
    alg_id::ED25519 => [alg_id::ED25519],
    alg_id::ED448 => [alg_id::ED448],
];

/// What is accepted beside them when the rules allow SHA-1.
const WITH_SHA1: &[&dyn SignatureVerificationAlgorithm] = table![
    alg_id::RSA_ENCRYPTION => [pkcs1!(5), pkcs1_without_null!(5)],
    alg_id::ECDSA_P256 => [ECDSA_SHA1],
    alg_id::ECDSA_P384 => [ECDSA_SHA1],
    alg_id::ECDSA_P521 => [ECDSA_SHA1],
];

impl SignatureVerificationAlgorithm for Algorithm {
    fn verify_signature(
        &self,
        public_key: &[u8],
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), InvalidSignature> {
        let identifier = der::element(der::SEQUENCE, &[self.key.as_ref()]);
        let spki = der::element(der::SEQUENCE, &[&identifier, &der::bit_string(public_key)]);
        let key = PublicKey::from_spki_der(&spki).map_err(|_| InvalidSignature)?;
        SignedWith::read(self.signature.as_ref())
            .verify(&key, message, signature)
            .map_err(|_| InvalidSignature)
    }

    fn public_key_alg_id(&self) -> AlgorithmIdentifier {
        self.key
    }

    fn signature_alg_id(&self) -> AlgorithmIdentifier {
        self.signature
    }
}

/// Purposes are judged on the whole path afterwards, whichever validator built it.
struct AnyPurpose;

impl ExtendedKeyUsageValidator for AnyPurpose {
    fn validate(&self, mut purposes: KeyPurposeIdIter<'_, '_>) -> Result<(), Error> {
        purposes.try_for_each(|purpose| purpose.map(drop))
    }
}

/// An anchor as the validator wants it. Only its name, key and name constraints count.
pub(super) fn anchor(certificate: &Certificate) -> Result<TrustAnchor<'static>, CryptoError> {
    webpki::anchor_from_trusted_cert(&CertificateDer::from(certificate.der()))
        .map(|anchor| anchor.to_owned())
        .map_err(|error| CryptoError::Malformed {
            expected: "a certificate that can be an anchor",
            found: format!("that of `{}` ({error})", certificate.subject_name()),
        })
}

impl TrustStore {
    /// The path from `certificate` to an anchor, both included.
    pub(super) fn path(
        &self,
        certificate: &Certificate,
        intermediates: &[Certificate],
        now: Timestamp,
    ) -> Result<Vec<Certificate>, TrustError> {
        let subject = || certificate.subject_name().to_string();
        if certificate.version() != 3 {
            let what = "not of version 3";
            return Err(TrustError::LegacyCertificate {
                subject: subject(),
                what,
            });
        }
        let candidates: Vec<&Certificate> = intermediates
            .iter()
            .chain(&self.rules.intermediates)
            .collect();
        let candidates_der: Vec<CertificateDer<'_>> = candidates
            .iter()
            .map(|candidate| CertificateDer::from(candidate.der()))
            .collect();
        // With times ignored, the moment of the certificate itself is as good as any.
        let moment = if self.rules.ignore_validity {
            certificate.not_before()
        } else {
            now
        };
        let moment = UnixTime::since_unix_epoch(std::time::Duration::from_secs(
            u64::try_from(moment.as_second()).unwrap_or(0),
        ));
        let algorithms = if self.rules.allow_sha1_certificates {
            &[ALGORITHMS, WITH_SHA1].concat()
        } else {
            ALGORITHMS
        };
        let der = CertificateDer::from(certificate.der());
        let explained = |error| self.explain(error, certificate, &candidates, now);
        let end_entity = EndEntityCert::try_from(&der).map_err(explained)?;
        let verified = end_entity
            .verify_for_usage(
                algorithms,
                &self.anchors,
                &candidates_der,
                moment,
                AnyPurpose,
                None,
                None,
            )
            .map_err(explained)?;
        let known = |der: &[u8]| candidates.iter().find(|candidate| candidate.der() == der);
        let mut path = vec![certificate.clone()];
        for step in verified.intermediate_certificates() {
            path.extend(known(&step.der()).map(|&candidate| candidate.clone()));
        }
        let used = verified.anchor();
        let position = self.anchors.iter().position(|anchor| anchor == used);
        path.extend(position.map(|position| self.rules.anchors[position].clone()));
        Ok(path)
    }

    /// The validator's error in this crate's words. It reports the most telling failure of all
    /// paths it tried.
    fn explain(
        &self,
        error: Error,
        certificate: &Certificate,
        candidates: &[&Certificate],
        now: Timestamp,
    ) -> TrustError {
        let subject = || certificate.subject_name().to_string();
        match error {
            Error::UnknownIssuer => TrustError::Untrusted { subject: subject() },
            // The signer's own dates have been checked before: these are about an authority.
            Error::CertExpired { .. } | Error::CertNotValidYet { .. } => candidates
                .iter()
                .find_map(|candidate| self.check_time(candidate, now).err())
                .unwrap_or_else(|| TrustError::Untrusted { subject: subject() }),
            Error::UnsupportedSignatureAlgorithmContext(_)
            | Error::UnsupportedSignatureAlgorithmForPublicKeyContext(_) => {
                let weak = |candidate: &&Certificate| {
                    candidate
                        .signed_with()
                        .algorithm()
                        .is_none_or(|algorithm| algorithm.is_weak())
                };
                let culprit = [certificate]
                    .into_iter()
                    .chain(candidates.iter().copied())
                    .find(weak)
                    .unwrap_or(certificate);
                TrustError::WeakSignature {
                    subject: culprit.subject_name().to_string(),
                    algorithm: culprit.signed_with().name().to_owned(),
                }
            }
            Error::CaUsedAsEndEntity => TrustError::LegacyCertificate {
                subject: subject(),
                what: "that of an authority, used to sign messages",
            },
            other => TrustError::InvalidPath {
                subject: subject(),
                reason: other.to_string(),
            },
        }
    }
}
