//! XML-Encryption: the strict, fast path.
//!
//! [`EncryptedKey::parse`] and [`EncryptedData::parse`] read the elements; [`EncryptedKey::open`] gives the key inside;
//! [`EncryptedData::decrypt`] puts the plaintext in the place of the ciphertext: base64 into one reused buffer, decrypted there,
//! scanned there.
//!
//! The one rule: decryption has one error, [`EncryptionError::Failed`].

mod decrypt;
mod encrypted;
mod error;
mod method;

#[cfg(test)]
mod tests;

pub use decrypt::{OpeningKey, encrypted_data_below};
pub use encrypted::{CipherData, ContentType, EncryptedData, EncryptedKey, ReferenceList};
pub use error::EncryptionError;
pub use method::KeyEncryption;
