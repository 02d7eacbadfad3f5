//! Private keys: read from files, generated or held elsewhere, and used to sign, unwrap and agree.
//!
//! A key in this process is read through OpenSSL, which knows every container there is, and used
//! through `aws-lc-rs` where it can be. All parsed forms are made once, when the key is read, so
//! that a damaged key is noticed then and signing parses nothing. A key held elsewhere is an
//! [`ExternalKey`], behind the same operations.

use std::fmt;
use std::sync::Arc;

use aws_lc_rs::agreement;
use aws_lc_rs::rsa::{OaepPrivateDecryptingKey, Pkcs1PrivateDecryptingKey, PrivateDecryptingKey};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING,
    ECDSA_P521_SHA512_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, RsaKeyPair,
};
use openssl::dsa::Dsa;
use openssl::pkey::{PKey, PKeyRef, Private};
use openssl::rsa::Rsa;
use openssl::symm::Cipher;
use zeroize::Zeroizing;

use super::{Curve, ExternalKey, KeyKind, PublicKey, RSA_MAXIMUM_BITS, RSA_MINIMUM_BITS};
use crate::algorithms::SignatureAlgorithm;
use crate::aws_algorithms::{aws_agreement, usual_algorithm};
use crate::context_pool::ContextPool;
use crate::error::{CryptoError, OrLibrary};
use crate::keystore::{pbe, pem};
use crate::secret::SecretBytes;
use crate::transport::ImplicitRejection;

/// A private key with its public half. Cheap to clone; wiped with its last clone.
#[derive(Clone)]
pub struct PrivateKey(Arc<Inner>);

struct Inner {
    public: PublicKey,
    backend: KeyBackend,
    implicit_rejection: ImplicitRejection,
}

/// Where a private key is.
pub(crate) enum KeyBackend {
    /// In this process.
    Software(Box<SoftwareKey>),
    /// Elsewhere.
    External(Arc<dyn ExternalKey>),
}

/// A private key in this process.
pub(crate) struct SoftwareKey {
    openssl: PKey<Private>,
    contexts: ContextPool<Private>,
    aws: AwsKeys,
    agreeing: Option<agreement::PrivateKey>,
}

/// The key as `aws-lc-rs` wants it, where it takes it at all.
pub(crate) enum AwsKeys {
    Rsa(RsaKeys),
    Ecdsa(EcdsaKeyPair, SignatureAlgorithm),
    Ed25519(Ed25519KeyPair),
    None,
}

/// The same RSA key for its three uses.
pub(crate) struct RsaKeys {
    pub(crate) signing: RsaKeyPair,
    pub(crate) pkcs1: Pkcs1PrivateDecryptingKey,
    pub(crate) oaep: OaepPrivateDecryptingKey,
}

const EXPECTED: &str = "a private key";

impl PrivateKey {
    /// Reads the first private key of a PEM file: PKCS#8 (encrypted or not), PKCS#1, SEC 1 or DSA;
    /// other blocks are skipped.
    ///
    /// # Errors
    ///
    /// [`CryptoError::PasswordNeeded`], [`CryptoError::WrongPassword`], [`CryptoError::Malformed`],
    /// [`CryptoError::Unsupported`], [`CryptoError::RsaSize`].
    pub fn from_pem(pem: &[u8], password: Option<&str>) -> Result<Self, CryptoError> {
        let mut asked = false;
        let read = PKey::private_key_from_pem_callback(pem, |buffer| {
            asked = true;
            match password {
                Some(password) if password.len() <= buffer.len() => {
                    buffer[..password.len()].copy_from_slice(password.as_bytes());
                    Ok(password.len())
                }
                _ => Ok(0),
            }
        });
        match read {
            Ok(key) => Self::from_openssl(key),
            Err(_) if asked && password.is_none() => Err(CryptoError::PasswordNeeded),
            Err(_) if asked => Err(CryptoError::WrongPassword),
            Err(_) => Err(CryptoError::Malformed {
                expected: "a PEM block with a private key",
                found: "none that can be read".to_owned(),
            }),
        }
    }

    /// Reads a DER private key that is not encrypted: PKCS#8, PKCS#1, SEC 1 or DSA.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Malformed`], [`CryptoError::Unsupported`], [`CryptoError::RsaSize`].
    pub fn from_der(der: &[u8]) -> Result<Self, CryptoError> {
        let key = PKey::private_key_from_der(der).map_err(|_| CryptoError::Malformed {
            expected: EXPECTED,
            found: "bytes that are not its DER".to_owned(),
        })?;
        Self::from_openssl(key)
    }

    /// Reads a private key from a file, whatever it is: PEM or DER, encrypted or not.
    ///
    /// # Errors
    ///
    /// As for [`from_pem`](Self::from_pem) and [`from_der`](Self::from_der).
    pub fn from_file_contents(
        contents: &[u8],
        password: Option<&str>,
    ) -> Result<Self, CryptoError> {
        if pem::looks_like_pem(contents) {
            return Self::from_pem(contents, password);
        }
        match (Self::from_der(contents), password) {
            (Err(CryptoError::Malformed { .. }), Some(password)) => {
                Self::from_der(pbe::open_private_key(contents, password)?.expose())
            }
            (Err(CryptoError::Malformed { .. }), None) if pbe::is_encrypted_key(contents) => {
                Err(CryptoError::PasswordNeeded)
            }
            (outcome, _) => outcome,
        }
    }

    /// Makes a new key.
    ///
    /// # Errors
    ///
    /// [`CryptoError::RsaSize`] for RSA out of bounds.
    pub fn generate(kind: KeyKind) -> Result<Self, CryptoError> {
        let failed = "generating a key";
        let key = match kind {
            KeyKind::Rsa { bits } => {
                let (minimum, maximum) = (RSA_MINIMUM_BITS, RSA_MAXIMUM_BITS);
                if bits < minimum || bits > maximum {
                    return Err(CryptoError::RsaSize {
                        bits,
                        minimum,
                        maximum,
                    });
                }
                Rsa::generate(bits).and_then(PKey::from_rsa)
            }
            KeyKind::Dsa { bits } => Dsa::generate(bits).and_then(PKey::from_dsa),
            KeyKind::Ec(curve) => PKey::ec_gen(curve.name()),
            KeyKind::Ed25519 => PKey::generate_ed25519(),
            KeyKind::Ed448 => PKey::generate_ed448(),
            KeyKind::X25519 => PKey::generate_x25519(),
            KeyKind::X448 => PKey::generate_x448(),
        }
        .or_library(failed)?;
        Self::from_openssl(key)
    }

    pub(crate) fn from_openssl(key: PKey<Private>) -> Result<Self, CryptoError> {
        let unreadable = || CryptoError::Malformed {
            expected: EXPECTED,
            found: "one whose parts do not fit together".to_owned(),
        };
        let spki = key.public_key_to_der().map_err(|_| unreadable())?;
        let public = PublicKey::from_spki_der(&spki)?;
        let pkcs8 = Zeroizing::new(key.private_key_to_pkcs8().map_err(|_| unreadable())?);
        let aws = match public.kind() {
            KeyKind::Rsa { bits: 2048..=8192 } => rsa_keys(&pkcs8).ok_or_else(unreadable)?,
            KeyKind::Rsa { .. } => {
                let consistent = key.rsa().and_then(|rsa| rsa.check_key());
                if !consistent.is_ok_and(|consistent| consistent) {
                    return Err(unreadable());
                }
                AwsKeys::None
            }
            KeyKind::Ec(curve) => ecdsa_key(curve, &pkcs8).map_err(|()| unreadable())?,
            KeyKind::Ed25519 => AwsKeys::Ed25519(
                Ed25519KeyPair::from_pkcs8_maybe_unchecked(&pkcs8).map_err(|_| unreadable())?,
            ),
            _ => AwsKeys::None,
        };
        let agreeing = match aws_agreement(public.kind()) {
            Some(algorithm) => Some(agreeing_key(algorithm, &key, &pkcs8).ok_or_else(unreadable)?),
            None => None,
        };
        let implicit_rejection =
            ImplicitRejection::of(&key, &pkcs8).or_library("digesting a private key")?;
        let software = SoftwareKey {
            openssl: key,
            contexts: ContextPool::new(),
            aws,
            agreeing,
        };
        Ok(Self(Arc::new(Inner {
            public,
            implicit_rejection,
            backend: KeyBackend::Software(Box::new(software)),
        })))
    }

    /// A key that is held elsewhere, with its public half. The caller has found that they belong
    /// together.
    ///
    /// The holder is asked once here, for the secret that substitutes are derived from (see
    /// [`substitute`](Self::substitute)).
    #[must_use]
    pub fn external(public: PublicKey, key: Arc<dyn ExternalKey>) -> Self {
        Self(Arc::new(Inner {
            implicit_rejection: ImplicitRejection::of_external(&public, key.as_ref()),
            public,
            backend: KeyBackend::External(key),
        }))
    }

    /// The public half.
    #[must_use]
    pub fn public_key(&self) -> &PublicKey {
        &self.0.public
    }

    /// What the key is, and how big.
    #[must_use]
    pub fn kind(&self) -> KeyKind {
        self.0.public.kind()
    }

    /// Whether the key is held elsewhere, so that its operations may wait.
    #[must_use]
    pub fn is_external(&self) -> bool {
        matches!(self.0.backend, KeyBackend::External(_))
    }

    /// The key as unencrypted PKCS#8.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Unsupported`] if the key is held elsewhere; [`CryptoError::Library`] if there
    /// is no memory for it.
    pub fn to_pkcs8_der(&self) -> Result<SecretBytes, CryptoError> {
        self.software()?
            .openssl
            .private_key_to_pkcs8()
            .map(SecretBytes::new)
            .or_library("writing a private key")
    }

    /// The key as a PEM block: PKCS#8, encrypted with AES-256 when there is a password.
    ///
    /// # Errors
    ///
    /// As for [`to_pkcs8_der`](Self::to_pkcs8_der).
    pub fn to_pem(&self, password: Option<&str>) -> Result<SecretBytes, CryptoError> {
        match password {
            None => {
                let block = pem::block("PRIVATE KEY", self.to_pkcs8_der()?.expose());
                Ok(SecretBytes::new(block.into_bytes()))
            }
            Some(password) => self
                .software()?
                .openssl()
                .private_key_to_pem_pkcs8_passphrase(Cipher::aes_256_cbc(), password.as_bytes())
                .map(SecretBytes::new)
                .or_library("writing a private key"),
        }
    }

    pub(crate) fn backend(&self) -> &KeyBackend {
        &self.0.backend
    }

    /// The key in this process.
    pub(crate) fn software(&self) -> Result<&SoftwareKey, CryptoError> {
        match &self.0.backend {
            KeyBackend::Software(key) => Ok(key),
            KeyBackend::External(_) => Err(CryptoError::Unsupported {
                what: "writing a private key that is held elsewhere".to_owned(),
            }),
        }
    }

    /// What stands in for keys that cannot be unwrapped.
    pub(crate) fn implicit_rejection(&self) -> &ImplicitRejection {
        &self.0.implicit_rejection
    }
}

impl SoftwareKey {
    pub(crate) fn openssl(&self) -> &PKeyRef<Private> {
        &self.openssl
    }

    pub(crate) fn contexts(&self) -> &ContextPool<Private> {
        &self.contexts
    }

    pub(crate) fn aws(&self) -> &AwsKeys {
        &self.aws
    }

    /// The key for agreement, if `aws-lc-rs` takes it (the curves of NIST, and X25519).
    pub(crate) fn agreeing(&self) -> Option<&agreement::PrivateKey> {
        self.agreeing.as_ref()
    }

    /// The key for decryption, if `aws-lc-rs` takes it (RSA from 2048 to 8192 bits).
    pub(crate) fn rsa_decryption(&self) -> Option<&RsaKeys> {
        match &self.aws {
            AwsKeys::Rsa(keys) => Some(keys),
            _ => None,
        }
    }
}

fn rsa_keys(pkcs8: &[u8]) -> Option<AwsKeys> {
    let decrypting = || PrivateDecryptingKey::from_pkcs8(pkcs8).ok();
    Some(AwsKeys::Rsa(RsaKeys {
        signing: RsaKeyPair::from_pkcs8(pkcs8).ok()?,
        pkcs1: Pkcs1PrivateDecryptingKey::new(decrypting()?).ok()?,
        oaep: OaepPrivateDecryptingKey::new(decrypting()?).ok()?,
    }))
}

fn agreeing_key(
    algorithm: &'static agreement::Algorithm,
    key: &PKeyRef<Private>,
    pkcs8: &[u8],
) -> Option<agreement::PrivateKey> {
    if *algorithm == agreement::X25519 {
        let octets = Zeroizing::new(key.raw_private_key().ok()?);
        return agreement::PrivateKey::from_private_key(algorithm, &octets).ok();
    }
    agreement::PrivateKey::from_private_key_der(algorithm, pkcs8).ok()
}

fn ecdsa_key(curve: Curve, pkcs8: &[u8]) -> Result<AwsKeys, ()> {
    let Some(usual) = usual_algorithm(curve) else {
        return Ok(AwsKeys::None);
    };
    let algorithm = match curve {
        Curve::P256 => &ECDSA_P256_SHA256_FIXED_SIGNING,
        Curve::P384 => &ECDSA_P384_SHA384_FIXED_SIGNING,
        _ => &ECDSA_P521_SHA512_FIXED_SIGNING,
    };
    let pair = EcdsaKeyPair::from_pkcs8(algorithm, pkcs8).map_err(|_| ())?;
    Ok(AwsKeys::Ecdsa(pair, usual))
}

impl fmt::Debug for PrivateKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "PrivateKey({})", self.kind())
    }
}
