//! Signatures with key pairs (XML-DSig 1.1 section 6.4, RFC 9231 section 2.3).
//!
//! Values are as XML Signature carries them: for ECDSA and DSA the two numbers side by side, each
//! as long as the group's order, not DER. What `aws-lc-rs` cannot do (RSA-SHA1 signatures, small
//! RSA keys, DSA, Ed448, uncommon digests and curves) OpenSSL does.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{self as aws, RsaEncoding};
use openssl::md_ctx::MdCtx;
use openssl::pkey_ctx::PkeyCtx;
use openssl::rsa::Padding;
use openssl::sign::RsaPssSaltlen;

use crate::algorithms::{DigestAlgorithm, SignatureAlgorithm, SignatureFamily};
use crate::aws_algorithms::aws_verifier;
use crate::context_pool::Purpose;
use crate::der::{self, NotDer, Reader};
use crate::digest::digest;
use crate::error::{CryptoError, OrLibrary};
use crate::key::AwsKeys;
use crate::key::{KeyBackend, KeyKind, PrivateKey, PublicKey, SoftwareKey};
use crate::openssl_algorithms;

/// Fails unless the algorithm works with this kind of key.
fn require_fit(algorithm: SignatureAlgorithm, kind: KeyKind) -> Result<(), CryptoError> {
    let fits = match algorithm.family() {
        SignatureFamily::RsaPkcs1 | SignatureFamily::RsaPss => matches!(kind, KeyKind::Rsa { .. }),
        SignatureFamily::Ecdsa => matches!(kind, KeyKind::Ec(_)),
        SignatureFamily::Dsa => matches!(kind, KeyKind::Dsa { .. }),
        SignatureFamily::EdDsa => matches!(
            (algorithm, kind),
            (SignatureAlgorithm::Ed25519, KeyKind::Ed25519)
                | (SignatureAlgorithm::Ed448, KeyKind::Ed448)
        ),
        SignatureFamily::Hmac => {
            return Err(CryptoError::WrongFamily {
                operation: algorithm.short_name(),
                expected: "a shared key, not a key pair",
            });
        }
    };
    if fits {
        return Ok(());
    }
    Err(CryptoError::WrongKey {
        operation: algorithm.short_name(),
        key: kind,
    })
}

impl SignatureAlgorithm {
    /// Whether this algorithm can be used with a key of this kind.
    #[must_use]
    pub fn fits(self, kind: KeyKind) -> bool {
        require_fit(self, kind).is_ok()
    }
}

impl PublicKey {
    /// Checks the signature of `message`.
    ///
    /// # Errors
    ///
    /// [`CryptoError::BadSignature`] if it does not match; [`CryptoError::WrongKey`] and
    /// [`CryptoError::WrongFamily`] if the algorithm does not work with this key (an HMAC never
    /// does); [`CryptoError::Unsupported`] for a digest that the installed OpenSSL lacks.
    pub fn verify(
        &self,
        algorithm: SignatureAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), CryptoError> {
        let kind = self.kind();
        require_fit(algorithm, kind)?;
        // RFC 8017 sections 8.1.2 and 8.2.2, step 1. OpenSSL would take a PSS signature without its
        // leading zeros.
        if let KeyKind::Rsa { bits } = kind
            && signature.len() != (bits as usize).div_ceil(8)
        {
            return Err(CryptoError::BadSignature);
        }
        if let Some((slot, known)) = aws_verifier(algorithm, kind)
            && let Some(key) = self.verifier(slot, known)
        {
            return key
                .verify_sig(message, signature)
                .map_err(|_| CryptoError::BadSignature);
        }
        self.verify_with_openssl(algorithm, message, signature)
    }

    fn verify_with_openssl(
        &self,
        algorithm: SignatureAlgorithm,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), CryptoError> {
        let failed = "verifying a signature";
        let key = self.openssl()?;
        let Some(hash) = algorithm.digest() else {
            let mut context = MdCtx::new().or_library(failed)?;
            context.digest_verify_init(None, key).or_library(failed)?;
            return accepted(context.digest_verify(message, signature));
        };
        let digest = digest(hash, message)?;
        let mut context = PkeyCtx::new(key).or_library(failed)?;
        context.verify_init().or_library(failed)?;
        prepare(&mut context, algorithm, hash)?;
        let signature = match algorithm.family() {
            SignatureFamily::Ecdsa | SignatureFamily::Dsa => {
                let length = number_length(self);
                if length == 0 || signature.len() != 2 * length {
                    return Err(CryptoError::BadSignature);
                }
                &joined_to_x509(signature)
            }
            _ => signature,
        };
        accepted(context.verify(digest.as_ref(), signature))
    }
}

/// OpenSSL reports a malformed signature as an error and a wrong one as `false`; here both are a
/// bad signature.
fn accepted(outcome: Result<bool, openssl::error::ErrorStack>) -> Result<(), CryptoError> {
    match outcome {
        Ok(true) => Ok(()),
        _ => Err(CryptoError::BadSignature),
    }
}

fn prepare<T>(
    context: &mut PkeyCtx<T>,
    algorithm: SignatureAlgorithm,
    digest: DigestAlgorithm,
) -> Result<(), CryptoError> {
    let failed = "setting the parameters of a signature";
    let md = openssl_algorithms::md(digest)?;
    match algorithm.family() {
        SignatureFamily::RsaPkcs1 => context.set_rsa_padding(Padding::PKCS1).or_library(failed)?,
        SignatureFamily::RsaPss => {
            context
                .set_rsa_padding(Padding::PKCS1_PSS)
                .or_library(failed)?;
            context
                .set_rsa_pss_saltlen(RsaPssSaltlen::DIGEST_LENGTH)
                .or_library(failed)?;
            context.set_rsa_mgf1_md(md).or_library(failed)?;
        }
        _ => {}
    }
    context.set_signature_md(md).or_library(failed)
}

/// Bytes of each of the two numbers in an ECDSA or DSA signature: as long as the group's order.
fn number_length(key: &PublicKey) -> usize {
    match key.kind() {
        KeyKind::Ec(curve) => curve.coordinate_length(),
        _ => key.dsa_components().map_or(0, |[_, q, _, _]| q.len()),
    }
}

/// What is told of a signature that fails.
const SIGNING: &str = "signing";

impl PublicKey {
    /// A signature of ECDSA or DSA in DER as XML Signature has it: both numbers side by side, each
    /// as long as the order. For tools that look into a signature that does not verify.
    #[must_use]
    pub fn joined_signature(&self, der: &[u8]) -> Option<Vec<u8>> {
        let length = number_length(self);
        let joined = (length > 0).then(|| der_to_joined(der, length));
        joined?.ok()
    }
}

impl PrivateKey {
    /// Signs `message`.
    ///
    /// # Errors
    ///
    /// [`CryptoError::WrongKey`] and [`CryptoError::WrongFamily`] if the algorithm does not work
    /// with this key; [`CryptoError::Unsupported`] for a digest that the installed OpenSSL
    /// lacks; [`CryptoError::KeyUnavailable`] if a key held elsewhere cannot be used.
    pub fn sign(
        &self,
        algorithm: SignatureAlgorithm,
        message: &[u8],
    ) -> Result<Vec<u8>, CryptoError> {
        require_fit(algorithm, self.kind())?;
        match self.backend() {
            KeyBackend::Software(key) => key.sign(algorithm, message, self.public_key()),
            KeyBackend::External(key) => {
                let hash = algorithm.digest();
                let digest = hash.map(|hash| digest(hash, message)).transpose()?;
                let input = digest.as_ref().map_or(message, AsRef::as_ref);
                key.sign(algorithm, input)
                    .map_err(|error| error.of(SIGNING))
            }
        }
    }
}

impl PrivateKey {
    /// Signs `message` in the form of X.509 and TLS: of ECDSA and DSA the two numbers are in DER
    /// (RFC 3279 section 2.2; RFC 8446 section 4.2.3). Others are as [`sign`](Self::sign) has them.
    ///
    /// # Errors
    ///
    /// As [`sign`](Self::sign).
    pub fn sign_for_x509(
        &self,
        algorithm: SignatureAlgorithm,
        message: &[u8],
    ) -> Result<Vec<u8>, CryptoError> {
        let signature = self.sign(algorithm, message)?;
        Ok(match algorithm.family() {
            SignatureFamily::Ecdsa | SignatureFamily::Dsa => joined_to_x509(&signature),
            _ => signature,
        })
    }
}

impl SoftwareKey {
    fn sign(
        &self,
        algorithm: SignatureAlgorithm,
        message: &[u8],
        public: &PublicKey,
    ) -> Result<Vec<u8>, CryptoError> {
        match (self.aws(), algorithm) {
            (AwsKeys::Rsa(keys), _) if let Some(encoding) = aws_encoding(algorithm) => {
                let mut signature = vec![0; keys.signing.public_modulus_len()];
                keys.signing
                    .sign(encoding, &SystemRandom::new(), message, &mut signature)
                    .or_library(SIGNING)?;
                Ok(signature)
            }
            (AwsKeys::Ecdsa(pair, usual), _) if *usual == algorithm => pair
                .sign(&SystemRandom::new(), message)
                .map(|signature| signature.as_ref().to_vec())
                .or_library(SIGNING),
            (AwsKeys::Ed25519(pair), _) => pair
                .try_sign(message)
                .map(|signature| signature.as_ref().to_vec())
                .or_library(SIGNING),
            _ => self.sign_with_openssl(algorithm, message, public),
        }
    }

    fn sign_with_openssl(
        &self,
        algorithm: SignatureAlgorithm,
        message: &[u8],
        public: &PublicKey,
    ) -> Result<Vec<u8>, CryptoError> {
        let mut signature = Vec::new();
        let Some(hash) = algorithm.digest() else {
            let mut context = MdCtx::new().or_library(SIGNING)?;
            context
                .digest_sign_init(None, self.openssl())
                .or_library(SIGNING)?;
            context
                .digest_sign_to_vec(message, &mut signature)
                .or_library(SIGNING)?;
            return Ok(signature);
        };
        let digest = digest(hash, message)?;
        let prepare = || {
            let mut context = PkeyCtx::new(self.openssl()).or_library(SIGNING)?;
            context.sign_init().or_library(SIGNING)?;
            prepare(&mut context, algorithm, hash)?;
            Ok(context)
        };
        self.contexts()
            .run(Purpose::Signature(algorithm), prepare, |context| {
                context
                    .sign_to_vec(digest.as_ref(), &mut signature)
                    .or_library(SIGNING)
            })?;
        match algorithm.family() {
            SignatureFamily::Ecdsa | SignatureFamily::Dsa => {
                der_to_joined(&signature, number_length(public)).or_library(SIGNING)
            }
            _ => Ok(signature),
        }
    }
}

/// RSA as `aws-lc-rs` signs it.
fn aws_encoding(algorithm: SignatureAlgorithm) -> Option<&'static dyn RsaEncoding> {
    Some(match algorithm {
        SignatureAlgorithm::RsaSha256 => &aws::RSA_PKCS1_SHA256,
        SignatureAlgorithm::RsaSha384 => &aws::RSA_PKCS1_SHA384,
        SignatureAlgorithm::RsaSha512 => &aws::RSA_PKCS1_SHA512,
        SignatureAlgorithm::RsaPssSha256 => &aws::RSA_PSS_SHA256,
        SignatureAlgorithm::RsaPssSha384 => &aws::RSA_PSS_SHA384,
        SignatureAlgorithm::RsaPssSha512 => &aws::RSA_PSS_SHA512,
        _ => return None,
    })
}

/// How a certificate or a revocation list is signed: the algorithm of its `AlgorithmIdentifier`.
pub(crate) struct SignedWith {
    algorithm: Option<SignatureAlgorithm>,
    /// The identifier in decimals, for messages.
    oid: String,
}

impl SignedWith {
    /// Reads the contents of an `AlgorithmIdentifier`. What is not known verifies nothing.
    pub(crate) fn read(identifier: &[u8]) -> Self {
        let mut reader = Reader::new(identifier);
        let oid = reader.expect(der::OID).unwrap_or_default();
        Self {
            algorithm: x509_algorithm(oid, reader),
            oid: der::dotted(oid),
        }
    }

    /// The algorithm, if it is known.
    pub(crate) fn algorithm(&self) -> Option<SignatureAlgorithm> {
        self.algorithm
    }

    /// A name for messages.
    pub(crate) fn name(&self) -> &str {
        match self.algorithm {
            Some(algorithm) => algorithm.short_name(),
            None => &self.oid,
        }
    }

    /// Checks a signature in X.509's form, which for ECDSA and DSA is DER.
    pub(crate) fn verify(
        &self,
        key: &PublicKey,
        message: &[u8],
        signature: &[u8],
    ) -> Result<(), CryptoError> {
        let algorithm = self.algorithm.ok_or_else(|| CryptoError::Unsupported {
            what: format!("the signature algorithm {}", self.oid),
        })?;
        match algorithm.family() {
            SignatureFamily::Ecdsa | SignatureFamily::Dsa => {
                let joined = der_to_joined(signature, number_length(key))
                    .map_err(|_| CryptoError::BadSignature)?;
                key.verify(algorithm, message, &joined)
            }
            _ => key.verify(algorithm, message, signature),
        }
    }
}

/// Two numbers side by side as X.509 has them: in DER.
fn joined_to_x509(signature: &[u8]) -> Vec<u8> {
    let (r, s) = signature.split_at(signature.len() / 2);
    der::element(der::SEQUENCE, &[&der::positive(r), &der::positive(s)])
}

/// Two numbers in DER as XML Signature has them: side by side, padded to the length of the order.
fn der_to_joined(signature: &[u8], length: usize) -> Result<Vec<u8>, NotDer> {
    let mut outer = Reader::new(signature);
    let mut numbers = outer.enter(der::SEQUENCE)?;
    outer.end()?;
    let mut joined = vec![0; 2 * length];
    for half in joined.chunks_mut(length.max(1)) {
        let number = numbers.positive()?;
        let start = length.checked_sub(number.len()).ok_or(NotDer)?;
        half[start..].copy_from_slice(number);
    }
    numbers.end()?;
    Ok(joined)
}

/// The signature algorithm of RFC 3279, 4055, 5758, 8410 and NIST's register.
fn x509_algorithm(oid: &[u8], mut parameters: Reader<'_>) -> Option<SignatureAlgorithm> {
    use SignatureAlgorithm as Algorithm;
    const PKCS1: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1];
    const X962_SHA2: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 3];
    if let Some([last]) = oid.strip_prefix(PKCS1) {
        return Some(match last {
            4 => Algorithm::RsaMd5,
            5 => Algorithm::RsaSha1,
            11 => Algorithm::RsaSha256,
            12 => Algorithm::RsaSha384,
            13 => Algorithm::RsaSha512,
            14 => Algorithm::RsaSha224,
            10 => return pss_algorithm(parameters.any().ok()?.whole),
            _ => return None,
        });
    }
    if let Some([last]) = oid.strip_prefix(X962_SHA2) {
        return Some(match last {
            1 => Algorithm::EcdsaSha224,
            2 => Algorithm::EcdsaSha256,
            3 => Algorithm::EcdsaSha384,
            4 => Algorithm::EcdsaSha512,
            _ => return None,
        });
    }
    Some(match oid {
        [0x2a, 0x86, 0x48, 0xce, 0x3d, 4, 1] => Algorithm::EcdsaSha1,
        [0x2a, 0x86, 0x48, 0xce, 0x38, 4, 3] => Algorithm::DsaSha1,
        [0x60, 0x86, 0x48, 1, 0x65, 3, 4, 3, 2] => Algorithm::DsaSha256,
        [0x2b, 0x65, 0x70] => Algorithm::Ed25519,
        [0x2b, 0x65, 0x71] => Algorithm::Ed448,
        _ => return None,
    })
}

/// RSASSA-PSS parameters (RFC 4055 section 3.1), for the usual choice: one SHA-2 throughout, salt
/// as long as the digest.
fn pss_algorithm(parameters: &[u8]) -> Option<SignatureAlgorithm> {
    const MGF1: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 8];
    const SHA2: &[u8] = &[0x60, 0x86, 0x48, 1, 0x65, 3, 4, 2];
    let mut sequence = Reader::new(parameters).enter(der::SEQUENCE).ok()?;
    let mut hash = sequence
        .enter(der::context(0))
        .ok()?
        .enter(der::SEQUENCE)
        .ok()?;
    let hash = hash.expect(der::OID).ok()?;
    let mut mgf = sequence
        .enter(der::context(1))
        .ok()?
        .enter(der::SEQUENCE)
        .ok()?;
    if mgf.expect(der::OID).ok()? != MGF1
        || mgf.enter(der::SEQUENCE).ok()?.expect(der::OID).ok()? != hash
    {
        return None;
    }
    let salt = Reader::new(sequence.expect(der::context(2)).ok()?)
        .small()
        .ok()?;
    match (hash.strip_prefix(SHA2)?, salt) {
        ([1], 32) => Some(SignatureAlgorithm::RsaPssSha256),
        ([2], 48) => Some(SignatureAlgorithm::RsaPssSha384),
        ([3], 64) => Some(SignatureAlgorithm::RsaPssSha512),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
