//! Encryption of a key to an RSA public key (XML-Enc 1.1 section 5.5).
//!
//! Unwrapping must not become an oracle. OAEP failures are one value. A wrong PKCS#1 v1.5 padding
//! is no failure at all: a substitute of the expected length takes the place of the key, so that
//! the message fails later, where any wrong key would fail.

mod implicit_rejection;

use aws_lc_rs::rsa as aws;
use openssl::error::ErrorStack;
use openssl::pkey::{Private, Public};
use openssl::pkey_ctx::PkeyCtx;
use openssl::rsa::Padding;

use crate::algorithms::{DigestAlgorithm, KeyTransport};
use crate::context_pool::{ContextPool, Purpose};
use crate::error::{CryptoError, DecryptFailed, EstablishmentError, OrLibrary};
use crate::key::{
    ExternalKey, ExternalKeyError, KeyBackend, KeyKind, PrivateKey, PublicKey, RsaPadding,
    SoftwareKey,
};
use crate::openssl_algorithms;
use crate::secret::SecretBytes;
pub(crate) use implicit_rejection::ImplicitRejection;
use implicit_rejection::key_or_substitute;

/// The parameters of RSA-OAEP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OaepParameters {
    /// Digest of the label (`ds:DigestMethod`).
    pub digest: DigestAlgorithm,
    /// Digest of mask generation function 1 (`xenc11:MGF`).
    pub mgf: DigestAlgorithm,
    /// The label (`xenc:OAEPparams`), usually empty.
    pub label: Vec<u8>,
}

impl Default for OaepParameters {
    /// SHA-1 for both and no label, which is what absent parameters mean (XML-Enc 1.1 section
    /// 5.5.2).
    fn default() -> Self {
        Self::new(DigestAlgorithm::Sha1, DigestAlgorithm::Sha1)
    }
}

impl OaepParameters {
    /// These digests and no label.
    #[must_use]
    pub const fn new(digest: DigestAlgorithm, mgf: DigestAlgorithm) -> Self {
        Self {
            digest,
            mgf,
            label: Vec::new(),
        }
    }

    /// The digest and the mask generation function that `algorithm` really uses: `rsa-oaep-mgf1p`
    /// fixes the latter to SHA-1.
    fn mgf_for(&self, algorithm: KeyTransport) -> DigestAlgorithm {
        match algorithm {
            KeyTransport::RsaOaepMgf1p => DigestAlgorithm::Sha1,
            KeyTransport::RsaOaep | KeyTransport::Rsa15 => self.mgf,
        }
    }

    fn label(&self) -> Option<&[u8]> {
        (!self.label.is_empty()).then_some(self.label.as_slice())
    }
}

/// OAEP as `aws-lc-rs` has it: both digests alike.
fn aws_oaep(digest: DigestAlgorithm, mgf: DigestAlgorithm) -> Option<&'static aws::OaepAlgorithm> {
    if digest != mgf {
        return None;
    }
    Some(match digest {
        DigestAlgorithm::Sha1 => &aws::OAEP_SHA1_MGF1SHA1,
        DigestAlgorithm::Sha256 => &aws::OAEP_SHA256_MGF1SHA256,
        DigestAlgorithm::Sha384 => &aws::OAEP_SHA384_MGF1SHA384,
        DigestAlgorithm::Sha512 => &aws::OAEP_SHA512_MGF1SHA512,
        _ => return None,
    })
}

impl PublicKey {
    /// Encrypts `secret` to this RSA key.
    ///
    /// # Errors
    ///
    /// [`CryptoError::WrongKey`] if this is not an RSA key, [`CryptoError::TooLong`] if the secret
    /// does not fit.
    pub fn wrap(
        &self,
        algorithm: KeyTransport,
        parameters: &OaepParameters,
        secret: &[u8],
    ) -> Result<Vec<u8>, CryptoError> {
        let operation = algorithm.short_name();
        let KeyKind::Rsa { bits } = self.kind() else {
            return Err(CryptoError::WrongKey {
                operation,
                key: self.kind(),
            });
        };
        let size = (bits as usize).div_ceil(8);
        let mgf = parameters.mgf_for(algorithm);
        let overhead = match algorithm {
            KeyTransport::Rsa15 => 11,
            _ => 2 + 2 * parameters.digest.output_length(),
        };
        if secret.len() + overhead > size {
            let maximum = size.saturating_sub(overhead);
            return Err(CryptoError::TooLong {
                operation,
                maximum,
                found: secret.len(),
            });
        }
        let failed = "encrypting a key";
        let mut output = vec![0; size];
        let length = match algorithm {
            KeyTransport::Rsa15 if let Some(key) = self.pkcs1_key() => {
                key.encrypt(secret, &mut output).or_library(failed)?.len()
            }
            KeyTransport::RsaOaep | KeyTransport::RsaOaepMgf1p
                if let Some(known) = aws_oaep(parameters.digest, mgf)
                    && let Some(key) = self.oaep_key() =>
            {
                key.encrypt(known, secret, &mut output, parameters.label())
                    .or_library(failed)?
                    .len()
            }
            _ => {
                let prepare = || {
                    let mut context = PkeyCtx::new(self.openssl()?).or_library(failed)?;
                    context.encrypt_init().or_library(failed)?;
                    prepare(&mut context, algorithm, parameters)?;
                    Ok(context)
                };
                let encrypt = |context: &mut PkeyCtx<Public>| {
                    context
                        .encrypt(secret, Some(&mut output))
                        .or_library(failed)
                };
                run(self.contexts(), algorithm, parameters, prepare, encrypt)?
            }
        };
        output.truncate(length);
        Ok(output)
    }
}

/// Runs an operation in one of the key's contexts. With a label, which is rare, the context is made
/// for this once.
fn run<T, R, E>(
    contexts: &ContextPool<T>,
    algorithm: KeyTransport,
    parameters: &OaepParameters,
    prepare: impl FnOnce() -> Result<PkeyCtx<T>, E>,
    operation: impl FnOnce(&mut PkeyCtx<T>) -> Result<R, E>,
) -> Result<R, E> {
    if parameters.label().is_some() {
        return operation(&mut prepare()?);
    }
    let (digest, mgf) = (parameters.digest, parameters.mgf_for(algorithm));
    contexts.run(
        Purpose::Transport {
            algorithm,
            digest,
            mgf,
        },
        prepare,
        operation,
    )
}

fn prepare<T>(
    context: &mut PkeyCtx<T>,
    algorithm: KeyTransport,
    parameters: &OaepParameters,
) -> Result<(), CryptoError> {
    let failed = "setting the parameters of key transport";
    if algorithm == KeyTransport::Rsa15 {
        return context.set_rsa_padding(Padding::PKCS1).or_library(failed);
    }
    context
        .set_rsa_padding(Padding::PKCS1_OAEP)
        .or_library(failed)?;
    context
        .set_rsa_oaep_md(openssl_algorithms::md(parameters.digest)?)
        .or_library(failed)?;
    context
        .set_rsa_mgf1_md(openssl_algorithms::md(parameters.mgf_for(algorithm))?)
        .or_library(failed)?;
    if let Some(label) = parameters.label() {
        context.set_rsa_oaep_label(label).or_library(failed)?;
    }
    Ok(())
}

impl PrivateKey {
    /// Decrypts a key that was encrypted to this RSA key.
    ///
    /// `expected_length` is the length of the key that the message's data encryption algorithm
    /// needs. With it, a PKCS#1 v1.5 ciphertext always yields a key of that length: its
    /// [`substitute`](Self::substitute) if the padding or the length is wrong. Without it a
    /// wrong padding shows, so leave it out only where no stranger can try many ciphertexts. A key
    /// held elsewhere does not decrypt PKCS#1 v1.5 without it.
    ///
    /// # Errors
    ///
    /// [`DecryptFailed`], whatever the reason: another kind of key included, or a key held
    /// elsewhere that is unavailable, which [`establish`](Self::establish) tells apart.
    pub fn unwrap(
        &self,
        algorithm: KeyTransport,
        parameters: &OaepParameters,
        ciphertext: &[u8],
        expected_length: Option<usize>,
    ) -> Result<SecretBytes, DecryptFailed> {
        self.transported(algorithm, parameters, ciphertext, expected_length)
            .map_err(|_| DecryptFailed)
    }

    /// [`unwrap`](Self::unwrap), which tells a key that is unavailable apart.
    pub(crate) fn transported(
        &self,
        algorithm: KeyTransport,
        parameters: &OaepParameters,
        ciphertext: &[u8],
        expected_length: Option<usize>,
    ) -> Result<SecretBytes, EstablishmentError> {
        let KeyKind::Rsa { bits } = self.kind() else {
            return Err(EstablishmentError::Failed);
        };
        if ciphertext.len() != (bits as usize).div_ceil(8) {
            return Err(EstablishmentError::Failed);
        }
        match (algorithm, expected_length) {
            (KeyTransport::Rsa15, Some(length)) => {
                let substitute = self.substitute(ciphertext, length);
                let encoded = self.decrypt_without_padding(ciphertext)?;
                Ok(key_or_substitute(encoded.expose(), substitute))
            }
            _ => {
                let secret = match self.backend() {
                    KeyBackend::Software(key) => {
                        key.decrypt_rsa(algorithm, parameters, ciphertext)?
                    }
                    KeyBackend::External(key) => {
                        decrypt_externally(key.as_ref(), algorithm, parameters, ciphertext)?
                    }
                };
                match expected_length {
                    Some(length) if length != secret.len() => Err(EstablishmentError::Failed),
                    _ => Ok(secret),
                }
            }
        }
    }

    /// The key of `length` bytes that takes the place of the one in `ciphertext` if that cannot be
    /// unwrapped.
    ///
    /// It is the same each time, for this private key and this ciphertext, so that a stranger who
    /// sends a ciphertext twice learns nothing from a second outcome. Without the private key
    /// it looks random.
    #[must_use]
    pub fn substitute(&self, ciphertext: &[u8], length: usize) -> SecretBytes {
        self.implicit_rejection().substitute(ciphertext, length)
    }

    /// The encoded message in `ciphertext`, as long as the modulus.
    ///
    /// It is all zeros, and so not an encoded message, where the operation fails. That depends on
    /// the ciphertext alone, which a stranger knows as well: whether it is a number below the
    /// modulus.
    ///
    /// # Errors
    ///
    /// [`EstablishmentError::Unavailable`] alone.
    fn decrypt_without_padding(
        &self,
        ciphertext: &[u8],
    ) -> Result<SecretBytes, EstablishmentError> {
        match self.backend() {
            KeyBackend::Software(key) => Ok(key.decrypt_without_padding(ciphertext)),
            KeyBackend::External(key) => {
                let zeros = || SecretBytes::new(vec![0; ciphertext.len()]);
                match key.decrypt(RsaPadding::None, ciphertext) {
                    Ok(encoded) if encoded.len() == ciphertext.len() => Ok(encoded),
                    Ok(_) | Err(ExternalKeyError::Refused) => Ok(zeros()),
                    Err(ExternalKeyError::Unavailable { reason }) => {
                        Err(EstablishmentError::Unavailable { reason })
                    }
                }
            }
        }
    }
}

/// Decrypts OAEP with a key held elsewhere. RSA 1.5 without a length to expect would show its
/// padding, and is not done.
fn decrypt_externally(
    key: &dyn ExternalKey,
    algorithm: KeyTransport,
    parameters: &OaepParameters,
    ciphertext: &[u8],
) -> Result<SecretBytes, EstablishmentError> {
    if algorithm == KeyTransport::Rsa15 {
        return Err(EstablishmentError::Failed);
    }
    let padding = RsaPadding::Oaep {
        digest: parameters.digest,
        mgf: parameters.mgf_for(algorithm),
        label: &parameters.label,
    };
    key.decrypt(padding, ciphertext)
        .map_err(|error| match error {
            ExternalKeyError::Unavailable { reason } => EstablishmentError::Unavailable { reason },
            ExternalKeyError::Refused => EstablishmentError::Failed,
        })
}

impl SoftwareKey {
    fn decrypt_without_padding(&self, ciphertext: &[u8]) -> SecretBytes {
        let mut encoded = SecretBytes::new(vec![0; ciphertext.len()]);
        let prepare = || {
            let mut context = PkeyCtx::new(self.openssl())?;
            context.decrypt_init()?;
            context.set_rsa_padding(Padding::NONE)?;
            Ok::<_, ErrorStack>(context)
        };
        let decrypt = |context: &mut PkeyCtx<Private>| {
            context.decrypt(ciphertext, Some(encoded.expose_mut()))
        };
        let decrypted = self
            .contexts()
            .run(Purpose::DecryptionWithoutPadding, prepare, decrypt);
        if decrypted.is_err() {
            encoded.expose_mut().fill(0);
        }
        encoded
    }

    fn decrypt_rsa(
        &self,
        algorithm: KeyTransport,
        parameters: &OaepParameters,
        ciphertext: &[u8],
    ) -> Result<SecretBytes, DecryptFailed> {
        let mut secret = SecretBytes::new(vec![0; ciphertext.len()]);
        let length = match (self.rsa_decryption(), algorithm) {
            (Some(keys), KeyTransport::Rsa15) => keys
                .pkcs1
                .decrypt(ciphertext, secret.expose_mut())
                .map_err(|_| DecryptFailed)?
                .len(),
            (Some(keys), _)
                if let Some(known) = aws_oaep(parameters.digest, parameters.mgf_for(algorithm)) =>
            {
                keys.oaep
                    .decrypt(known, ciphertext, secret.expose_mut(), parameters.label())
                    .map_err(|_| DecryptFailed)?
                    .len()
            }
            _ => {
                let prepare = || {
                    let mut context = PkeyCtx::new(self.openssl()).map_err(|_| DecryptFailed)?;
                    context.decrypt_init().map_err(|_| DecryptFailed)?;
                    prepare(&mut context, algorithm, parameters).map_err(|_| DecryptFailed)?;
                    Ok(context)
                };
                let decrypt = |context: &mut PkeyCtx<Private>| {
                    context
                        .decrypt(ciphertext, Some(secret.expose_mut()))
                        .map_err(|_| DecryptFailed)
                };
                run(self.contexts(), algorithm, parameters, prepare, decrypt)?
            }
        };
        secret.expose_mut().truncate(length);
        Ok(secret)
    }
}

#[cfg(test)]
mod tests {
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
}
