//! Encryption of a key to an RSA public key (XML-Enc 1.1 section 5.5).
//!
//! Unwrapping must not become an oracle. OAEP failures are one value; a wrong PKCS#1 v1.5 padding is no failure at all: a random
//! key of the expected length takes its place, so that the message fails later, where any wrong key would fail.

use aws_lc_rs::rsa as aws;
use openssl::pkey_ctx::PkeyCtx;
use openssl::rsa::Padding;

use crate::algorithms::{DigestAlgorithm, KeyTransport};
use crate::error::{CryptoError, DecryptFailed, OrLibrary};
use crate::fetched;
use crate::key::{KeyKind, PrivateKey, PublicKey};
use crate::secret::SecretBytes;

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
    /// SHA-1 for both and no label, which is what absent parameters mean (XML-Enc 1.1 section 5.5.2).
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

    /// The digest and the mask generation function that `algorithm` really uses: `rsa-oaep-mgf1p` fixes the latter to SHA-1.
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
    /// [`CryptoError::WrongKey`] if this is not an RSA key, [`CryptoError::TooLong`] if the secret does not fit.
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
                let mut context = PkeyCtx::new(self.openssl()?).or_library(failed)?;
                context.encrypt_init().or_library(failed)?;
                prepare(&mut context, algorithm, parameters)?;
                context
                    .encrypt(secret, Some(&mut output))
                    .or_library(failed)?
            }
        };
        output.truncate(length);
        Ok(output)
    }
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
        .set_rsa_oaep_md(fetched::md(parameters.digest)?)
        .or_library(failed)?;
    context
        .set_rsa_mgf1_md(fetched::md(parameters.mgf_for(algorithm))?)
        .or_library(failed)?;
    if let Some(label) = parameters.label() {
        context.set_rsa_oaep_label(label).or_library(failed)?;
    }
    Ok(())
}

impl PrivateKey {
    /// Decrypts a key that was encrypted to this RSA key.
    ///
    /// `expected_length` is the length of the key that the message's data encryption algorithm needs. With it, a PKCS#1 v1.5
    /// ciphertext always yields a key of that length: a random one if the padding or the length is wrong. Without it a wrong
    /// padding shows, so leave it out only where no stranger can try many ciphertexts.
    ///
    /// # Errors
    ///
    /// [`DecryptFailed`], whatever the reason: another kind of key included.
    pub fn unwrap(
        &self,
        algorithm: KeyTransport,
        parameters: &OaepParameters,
        ciphertext: &[u8],
        expected_length: Option<usize>,
    ) -> Result<SecretBytes, DecryptFailed> {
        let KeyKind::Rsa { bits } = self.kind() else {
            return Err(DecryptFailed);
        };
        if ciphertext.len() != (bits as usize).div_ceil(8) {
            return Err(DecryptFailed);
        }
        match (algorithm, expected_length) {
            (KeyTransport::Rsa15, Some(length)) => {
                let substitute = SecretBytes::random(length);
                Ok(self
                    .decrypt_rsa(algorithm, parameters, ciphertext)
                    .ok()
                    .filter(|secret| secret.len() == length)
                    .unwrap_or(substitute))
            }
            _ => {
                let secret = self.decrypt_rsa(algorithm, parameters, ciphertext)?;
                match expected_length {
                    Some(length) if length != secret.len() => Err(DecryptFailed),
                    _ => Ok(secret),
                }
            }
        }
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
                let mut context = PkeyCtx::new(self.openssl()).map_err(|_| DecryptFailed)?;
                context.decrypt_init().map_err(|_| DecryptFailed)?;
                prepare(&mut context, algorithm, parameters).map_err(|_| DecryptFailed)?;
                context
                    .decrypt(ciphertext, Some(secret.expose_mut()))
                    .map_err(|_| DecryptFailed)?
            }
        };
        secret.expose_mut().truncate(length);
        Ok(secret)
    }
}
