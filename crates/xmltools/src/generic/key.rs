//! Keys with names, and what an operation needs of a key.
//!
//! The one rule: a key is used only for what its kind is for; a secret loaded for AES never
//! verifies an HMAC.

use soapstone_crypto::{
    Certificate, DataEncryption, KeyAgreement, KeyDerivation, KeyKind, KeyWrap, PrivateKey,
    PublicKey, SignatureAlgorithm, SymmetricKey,
};

/// What a secret was loaded for (`--hmackey`, `--aeskey` …).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SecretKind {
    /// HMAC.
    Hmac,
    /// AES, encryption of data and of keys.
    Aes,
    /// Triple DES, encryption of data and of keys.
    TripleDes,
    /// Input of ConcatKDF.
    ConcatKdf,
    /// Input of PBKDF2: a password.
    Pbkdf2,
    /// Input of HKDF.
    Hkdf,
}

/// The key itself.
#[derive(Clone)]
#[non_exhaustive]
pub enum Material {
    /// A public key.
    Public(PublicKey),
    /// A key pair.
    Private(PrivateKey),
    /// A secret.
    Secret(SecretKind, SymmetricKey),
}

/// A key with its name and its certificates.
#[derive(Clone)]
#[non_exhaustive]
pub struct Key {
    /// What `ds:KeyName` calls it.
    pub name: Option<String>,
    /// The key itself.
    pub material: Material,
    /// Its certificate first, then the path from it.
    pub certificates: Vec<Certificate>,
}

impl Key {
    /// A key without certificates.
    #[must_use]
    pub fn new(name: Option<String>, material: Material) -> Self {
        Self {
            name,
            material,
            certificates: Vec::new(),
        }
    }

    /// The public key of a certificate.
    #[must_use]
    pub fn from_certificate(name: Option<String>, certificate: Certificate) -> Self {
        Self {
            name,
            material: Material::Public(certificate.public_key().clone()),
            certificates: vec![certificate],
        }
    }

    /// The public half, for keys that have one.
    #[must_use]
    pub fn public_key(&self) -> Option<&PublicKey> {
        match &self.material {
            Material::Public(key) => Some(key),
            Material::Private(key) => Some(key.public_key()),
            Material::Secret(..) => None,
        }
    }

    pub(crate) fn private_key(&self) -> Option<&PrivateKey> {
        match &self.material {
            Material::Private(key) => Some(key),
            _ => None,
        }
    }

    pub(crate) fn secret(&self) -> Option<&SymmetricKey> {
        match &self.material {
            Material::Secret(_, key) => Some(key),
            _ => None,
        }
    }
}

/// What an operation needs of its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Verify a signature or an HMAC.
    Verify(SignatureAlgorithm),
    /// Make one.
    Sign(SignatureAlgorithm),
    /// Encrypt or decrypt data.
    Data(DataEncryption),
    /// Encrypt or decrypt a key with a secret.
    Wrap(KeyWrap),
    /// Encrypt a key to somebody.
    TransportTo,
    /// Decrypt a key that somebody sent us.
    TransportFrom,
    /// Derive a key.
    Derive(KeyDerivation),
    /// Our half of an agreement.
    AgreeOurs(KeyAgreement),
    /// Their half of an agreement.
    AgreeTheirs(KeyAgreement),
}

impl Need {
    /// Whether `key` will do.
    pub(crate) fn fits(self, key: &Key) -> bool {
        match (self, &key.material) {
            (Self::Verify(algorithm) | Self::Sign(algorithm), Material::Secret(kind, _)) => {
                algorithm.is_mac() && *kind == SecretKind::Hmac
            }
            (Self::Verify(algorithm), _) => key
                .public_key()
                .is_some_and(|key| algorithm.fits(key.kind())),
            (Self::Sign(algorithm), Material::Private(key)) => algorithm.fits(key.kind()),
            (Self::Data(_) | Self::Wrap(_) | Self::Derive(_), Material::Secret(kind, secret)) => {
                self.secret_kind() == Some(*kind)
                    && self.length().is_none_or(|length| secret.len() == length)
            }
            (Self::TransportTo, _) => key
                .public_key()
                .is_some_and(|key| matches!(key.kind(), KeyKind::Rsa { .. })),
            (Self::TransportFrom, Material::Private(key)) => {
                matches!(key.kind(), KeyKind::Rsa { .. })
            }
            (Self::AgreeOurs(agreement), Material::Private(key)) => agrees(agreement, key.kind()),
            (Self::AgreeTheirs(agreement), _) => key
                .public_key()
                .is_some_and(|key| agrees(agreement, key.kind())),
            _ => false,
        }
    }

    /// The kind of secret that is needed, where a secret is.
    pub(crate) fn secret_kind(self) -> Option<SecretKind> {
        Some(match self {
            Self::Verify(algorithm) | Self::Sign(algorithm) if algorithm.is_mac() => {
                SecretKind::Hmac
            }
            Self::Data(DataEncryption::TripleDesCbc) | Self::Wrap(KeyWrap::TripleDes) => {
                SecretKind::TripleDes
            }
            Self::Data(_) | Self::Wrap(_) => SecretKind::Aes,
            Self::Derive(KeyDerivation::ConcatKdf) => SecretKind::ConcatKdf,
            Self::Derive(KeyDerivation::Pbkdf2) => SecretKind::Pbkdf2,
            Self::Derive(KeyDerivation::Hkdf) => SecretKind::Hkdf,
            _ => return None,
        })
    }

    /// The length in bytes that the secret must have; `None` where any will do.
    pub(crate) fn length(self) -> Option<usize> {
        match self {
            Self::Data(algorithm) => Some(algorithm.key_length()),
            Self::Wrap(algorithm) => Some(algorithm.key_length()),
            _ => None,
        }
    }
}

fn agrees(agreement: KeyAgreement, kind: KeyKind) -> bool {
    matches!(
        (agreement, kind),
        (KeyAgreement::EcdhEs, KeyKind::Ec(_))
            | (KeyAgreement::X25519, KeyKind::X25519)
            | (KeyAgreement::X448, KeyKind::X448)
    )
}
