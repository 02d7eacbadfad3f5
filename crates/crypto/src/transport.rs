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
mod tests;
