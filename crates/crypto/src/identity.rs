//! Who we are: a private key with the certificate that says so.

use std::fmt;

use crate::certificate::Certificate;
use crate::error::CryptoError;
use crate::key::PrivateKey;
use crate::secret::SecretBytes;

/// A private key, its certificate, and the certificates between that and an authority. Cheap to
/// clone.
#[derive(Clone)]
pub struct Identity {
    key: PrivateKey,
    certificate: Certificate,
    chain: Vec<Certificate>,
}

impl Identity {
    /// Puts key and certificate together. `chain` holds what comes between the certificate and an
    /// authority, nearest first; it may be empty.
    ///
    /// # Errors
    ///
    /// [`CryptoError::KeyCertificateMismatch`] if the certificate is about another key.
    pub fn new(
        key: PrivateKey,
        certificate: Certificate,
        chain: Vec<Certificate>,
    ) -> Result<Self, CryptoError> {
        if key.public_key() != certificate.public_key() {
            return Err(CryptoError::KeyCertificateMismatch {
                subject: certificate.subject_name().to_string(),
            });
        }
        Ok(Self {
            key,
            certificate,
            chain,
        })
    }

    /// Reads key and certificates from the contents of two files, or twice of the same one: PEM or
    /// DER, the key encrypted or not. The certificate is the one that is about the key; the
    /// others become the chain.
    ///
    /// # Errors
    ///
    /// As for [`PrivateKey::from_file_contents`] and [`Certificate::from_file_contents`];
    /// [`CryptoError::KeyCertificateMismatch`] if no certificate is about the key.
    pub fn from_file_contents(
        key: &[u8],
        certificates: &[u8],
        password: Option<&str>,
    ) -> Result<Self, CryptoError> {
        let key = PrivateKey::from_file_contents(key, password)?;
        Self::among(key, Certificate::from_file_contents(certificates)?)
    }

    /// Picks the certificate that is about the key; the others become the chain.
    pub(crate) fn among(
        key: PrivateKey,
        mut certificates: Vec<Certificate>,
    ) -> Result<Self, CryptoError> {
        let own = certificates
            .iter()
            .position(|one| one.public_key() == key.public_key());
        match own {
            Some(own) => {
                let certificate = certificates.remove(own);
                Self::new(key, certificate, certificates)
            }
            None => Err(CryptoError::KeyCertificateMismatch {
                subject: certificates
                    .first()
                    .map_or_else(String::new, |first| first.subject_name().to_string()),
            }),
        }
    }

    /// The private key.
    #[must_use]
    pub fn key(&self) -> &PrivateKey {
        &self.key
    }

    /// The certificate about the key.
    #[must_use]
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// What comes between the certificate and an authority, nearest first.
    #[must_use]
    pub fn chain(&self) -> &[Certificate] {
        &self.chain
    }

    /// The certificate and its chain as PEM blocks.
    #[must_use]
    pub fn certificates_to_pem(&self) -> String {
        std::iter::once(&self.certificate)
            .chain(&self.chain)
            .map(Certificate::to_pem)
            .collect()
    }

    /// The private key as a PEM block: PKCS#8, encrypted with AES-256 when there is a password.
    ///
    /// # Errors
    ///
    /// As for [`PrivateKey::to_pem`].
    pub fn key_to_pem(&self, password: Option<&str>) -> Result<SecretBytes, CryptoError> {
        self.key.to_pem(password)
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "Identity({}, {})",
            self.certificate.subject_name(),
            self.key.kind()
        )
    }
}
