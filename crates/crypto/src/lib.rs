//! Keys, certificates and the algorithms of XML security, behind one interface.
//!
//! This is the only crate of the project that names a cryptographic primitive. What `aws-lc-rs`
//! offers comes from there; what it lacks (RSA-SHA1 signatures, OAEP with different digests, DSA,
//! uncommon curves and digests) comes from OpenSSL. Callers see neither: they see [algorithms]
//! keyed by their URI, [keys](key) that know what they may be used for, [certificates](certificate)
//! and the [trust] put in them.
//!
//! Three rules hold everywhere:
//! * an algorithm is a value of a closed enum, so one that was not named in a plan cannot be
//!   reached by a message;
//! * every failure to decrypt is the one value [`DecryptFailed`], whatever its cause in the
//!   message;
//! * secrets are wiped when dropped, and can neither be printed nor compared with `==`.
//!
//! The last rule holds for [`Secret`] and for keys:
//!
//! ```
//! # fn main() -> Result<(), soapstone_crypto::CryptoError> {
//! let shared = soapstone_crypto::SymmetricKey::generate(32)?;
//! let own = soapstone_crypto::PrivateKey::generate(soapstone_crypto::KeyKind::Ed25519)?;
//! # Ok(()) }
//! ```
//!
//! ```compile_fail,E0369
//! # fn main() -> Result<(), soapstone_crypto::CryptoError> {
//! let shared = soapstone_crypto::SymmetricKey::generate(32)?;
//! assert!(shared == shared);
//! # Ok(()) }
//! ```
//!
//! ```compile_fail,E0277
//! # fn main() -> Result<(), soapstone_crypto::CryptoError> {
//! let shared = soapstone_crypto::SymmetricKey::generate(32)?;
//! format!("{shared}");
//! # Ok(()) }
//! ```
//!
//! ```compile_fail,E0369
//! # fn main() -> Result<(), soapstone_crypto::CryptoError> {
//! let own = soapstone_crypto::PrivateKey::generate(soapstone_crypto::KeyKind::Ed25519)?;
//! assert!(own == own);
//! # Ok(()) }
//! ```
//!
//! ```compile_fail,E0277
//! # fn main() -> Result<(), soapstone_crypto::CryptoError> {
//! let own = soapstone_crypto::PrivateKey::generate(soapstone_crypto::KeyKind::Ed25519)?;
//! format!("{own}");
//! # Ok(()) }
//! ```
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
// Nothing here asks the system: clippy.toml lists the calls.
#![cfg_attr(not(test), warn(clippy::disallowed_methods, clippy::disallowed_types))]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::too_many_lines))]

mod agreement;
pub mod algorithms;
mod aws_algorithms;
pub mod base64;
pub mod certificate;
pub mod cipher;
mod context_pool;
mod der;
pub mod derive;
mod derived_keys;
pub mod digest;
mod error;
mod establishment;
pub mod expanded_key;
pub mod hexadecimal;
mod identity;
pub mod issue;
pub mod key;
pub mod keystore;
pub mod mac;
pub mod name;
mod openssl_algorithms;
mod p_hash;
mod password_key;
pub mod random;
mod recover;
pub mod sealed_storage;
mod secret;
mod signature;
mod strength;
#[cfg(test)]
mod testing;
pub mod transport;
pub mod trust;
mod wrap;

pub use agreement::EphemeralAgreement;
pub use algorithms::{
    DataEncryption, DigestAlgorithm, KeyAgreement, KeyDerivation, KeyTransport, KeyWrap,
    SignatureAlgorithm, SignatureFamily, UnknownAlgorithm,
};
pub use certificate::{Certificate, ExtendedKeyUsage, KeyPurpose, KeyUsage};
pub use cipher::{open_in_place, seal_in_place};
pub use derive::{ConcatKdf, Hkdf, Pbkdf2};
pub use derived_keys::{DerivedKeys, KeyUse, NONCE_OCTETS};
pub use digest::{Digest, Hasher, digest};
pub use error::{CryptoError, DecryptFailed, EstablishmentError};
pub use establishment::KeyEstablishment;
pub use identity::Identity;
pub use key::{
    Curve, ExternalKey, ExternalKeyError, KeyKind, PrivateKey, PublicKey, RsaPadding, SymmetricKey,
    WeakSymmetricKey,
};
pub use keystore::KeyStore;
pub use mac::MacTruncation;
pub use name::{DistinguishedName, HolderName, NameStyle};
pub use p_hash::{P_HASH_LIMIT, PHash};
pub use password_key::PasswordKey;
pub use recover::SignedBlock;
pub use secret::{Secret, SecretBytes};
pub use transport::OaepParameters;
pub use trust::{SubjectMatch, TrustError, TrustRules, TrustStore};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_certificates_and_stores_are_shared_between_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<PrivateKey>();
        shared::<PublicKey>();
        shared::<SymmetricKey>();
        shared::<Certificate>();
        shared::<Identity>();
        shared::<KeyStore>();
        shared::<TrustStore>();
        shared::<Hasher>();
    }
}
