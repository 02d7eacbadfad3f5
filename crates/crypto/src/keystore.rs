//! Files that keys and certificates are kept in: PEM, PKCS#12 and JKS.
//!
//! A [`KeyStore`] is what Java calls one: private keys with their chains and trusted certificates,
//! each under an alias. Private keys stay encrypted until one is asked for, since in a JKS each may
//! have a password of its own.

mod entries;
mod jks;
pub(crate) mod pbe;
pub(crate) mod pem;
mod pkcs12;

use std::fmt;

use crate::certificate::Certificate;
use crate::error::CryptoError;
use crate::identity::Identity;
use crate::key::PrivateKey;
pub use entries::KeyStore;
use entries::ProtectedKey;

impl ProtectedKey {
    fn open(&self, password: &str) -> Result<PrivateKey, CryptoError> {
        match self {
            Self::Plain(pkcs8) => PrivateKey::from_der(pkcs8.expose()),
            Self::Encrypted(info) => {
                PrivateKey::from_der(pbe::open_private_key(info, password)?.expose())
            }
            Self::Java(protected) => {
                PrivateKey::from_der(jks::open_private_key(protected, password)?.expose())
            }
        }
    }
}

impl KeyStore {
    /// Reads a PKCS#12 file (RFC 7292), as written by OpenSSL, Java and Windows, old and new.
    ///
    /// # Errors
    ///
    /// [`CryptoError::WrongPassword`]; [`CryptoError::Malformed`] if it is not one;
    /// [`CryptoError::Unsupported`] for encryption that is not known here.
    pub fn from_pkcs12(file: &[u8], password: &str) -> Result<Self, CryptoError> {
        pkcs12::read(file, password)
    }

    /// Reads a JKS file, Java's format before version 9.
    ///
    /// # Errors
    ///
    /// [`CryptoError::WrongPassword`]; [`CryptoError::Malformed`] if it is not one;
    /// [`CryptoError::Unsupported`] for JCEKS.
    pub fn from_jks(file: &[u8], password: &str) -> Result<Self, CryptoError> {
        jks::read(file, password)
    }

    /// Reads a file of either format.
    ///
    /// # Errors
    ///
    /// As for [`from_pkcs12`](Self::from_pkcs12) and [`from_jks`](Self::from_jks).
    pub fn from_file_contents(file: &[u8], password: &str) -> Result<Self, CryptoError> {
        if jks::looks_like_jks(file) {
            Self::from_jks(file, password)
        } else {
            Self::from_pkcs12(file, password)
        }
    }

    /// Whether a file seems to be of either format, rather than a key or a certificate.
    #[must_use]
    pub fn recognizes(file: &[u8]) -> bool {
        jks::looks_like_jks(file) || pkcs12::looks_like_pkcs12(file)
    }

    /// The aliases of the private keys.
    pub fn key_aliases(&self) -> impl Iterator<Item = &str> {
        self.keys.iter().map(|entry| entry.alias.as_str())
    }

    /// The trusted certificates with their aliases.
    pub fn certificates(&self) -> impl Iterator<Item = (&str, &Certificate)> {
        self.certificates
            .iter()
            .map(|(alias, certificate)| (alias.as_str(), certificate))
    }

    /// The certificate chain of a private key, without opening the key.
    #[must_use]
    pub fn chain(&self, alias: &str) -> Option<&[Certificate]> {
        self.keys
            .iter()
            .find(|entry| same_alias(&entry.alias, alias))
            .map(|entry| entry.chain.as_slice())
    }

    /// The private key with this alias (in any case, as in Java), or the only one.
    ///
    /// `password` opens the key: in PKCS#12 that of the file, in JKS often the same.
    ///
    /// # Errors
    ///
    /// [`CryptoError::NoSuchEntry`], also when there are several and no alias is given;
    /// [`CryptoError::WrongPassword`]; and as for [`Identity::new`].
    pub fn identity(&self, alias: Option<&str>, password: &str) -> Result<Identity, CryptoError> {
        let entry = match (alias, self.keys.as_slice()) {
            (None, [only]) => Some(only),
            (None, _) => None,
            (Some(alias), keys) => keys.iter().find(|entry| same_alias(&entry.alias, alias)),
        };
        let entry = entry.ok_or_else(|| CryptoError::NoSuchEntry {
            alias: alias.unwrap_or_default().to_owned(),
            available: self.key_aliases().map(str::to_owned).collect(),
        })?;
        Identity::among(entry.key.open(password)?, entry.chain.clone())
    }
}

impl Identity {
    /// Reads the only private key of a PKCS#12 file. For files with several, see [`KeyStore`].
    ///
    /// # Errors
    ///
    /// As for [`KeyStore::from_pkcs12`] and [`KeyStore::identity`].
    pub fn from_pkcs12(file: &[u8], password: &str) -> Result<Self, CryptoError> {
        KeyStore::from_pkcs12(file, password)?.identity(None, password)
    }

    /// Reads the only private key of a JKS file whose key has the password of the file. For others,
    /// see [`KeyStore`].
    ///
    /// # Errors
    ///
    /// As for [`KeyStore::from_jks`] and [`KeyStore::identity`].
    pub fn from_jks(file: &[u8], password: &str) -> Result<Self, CryptoError> {
        KeyStore::from_jks(file, password)?.identity(None, password)
    }

    /// Key, certificate and chain as a PKCS#12 file that Java, OpenSSL and Windows read: AES-256
    /// and SHA-256.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Library`] if OpenSSL cannot write it.
    pub fn to_pkcs12(&self, password: &str, alias: &str) -> Result<Vec<u8>, CryptoError> {
        pkcs12::write(self, password, alias)
    }
}

/// Java keeps aliases in lower case and asks for them in any.
fn same_alias(one: &str, other: &str) -> bool {
    one == other || one.to_lowercase() == other.to_lowercase()
}

impl fmt::Debug for KeyStore {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("KeyStore")
            .field("keys", &self.key_aliases().collect::<Vec<_>>())
            .field(
                "certificates",
                &self
                    .certificates()
                    .map(|(alias, _)| alias)
                    .collect::<Vec<_>>(),
            )
            .finish()
    }
}
