//! Who we are: a private key with its certificate.

use crate::certificate::Certificate;
use crate::error::CryptoError;
use crate::key::PrivateKey;

/// A private key, the certificate for it, and the chain that leads to an authority.
#[derive(Clone, Debug)]
pub struct Identity {
    key: PrivateKey,
    certificate: Certificate,
    chain: Vec<Certificate>,
}

impl Identity {
    /// Reads key and certificate (with its chain behind it) from PEM.
    ///
    /// # Errors
    ///
    /// As for [`PrivateKey::from_pem`] and [`Certificate::pem_chain`].
    pub fn from_pem(key: &[u8], certificates: &[u8], password: Option<&str>) -> Result<Self, CryptoError> {
        let key = PrivateKey::from_pem(key, password)?;
        let mut chain = Certificate::pem_chain(certificates)?;
        let certificate = chain.remove(0);
        Ok(Self { key, certificate, chain })
    }

    /// The private key.
    pub fn key(&self) -> &PrivateKey {
        &self.key
    }

    /// The certificate.
    pub fn certificate(&self) -> &Certificate {
        &self.certificate
    }

    /// The certificates between it and its authority.
    pub fn chain(&self) -> &[Certificate] {
        &self.chain
    }
}
