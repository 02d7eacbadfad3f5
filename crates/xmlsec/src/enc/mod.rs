//! XML-Encryption: the strict, fast path.
//!
//! [`EncryptedKey::parse`] and [`EncryptedData::parse`] read the elements; [`EncryptedKey::open`]
//! gives the key inside; [`EncryptedData::decrypt`] puts the plaintext in the place of the
//! ciphertext: base64 into one reused buffer, decrypted there, scanned there.
//!
//! ```
//! use soapstone_crypto::{DataEncryption, SymmetricKey, base64, cipher};
//! use soapstone_xml::{Buffers, Document, ParseOptions};
//! use soapstone_xmlsec::enc::{ContentType, EncryptedData};
//! use soapstone_xmlsec::write::{self, EncryptedDataStart};
//!
//! // Encrypt the content of an element.
//! let (key, method) = (SymmetricKey::generate(16)?, DataEncryption::Aes128Gcm);
//! let mut message = b"<body>".to_vec();
//! let start = EncryptedDataStart {
//!     id: None,
//!     mime_type: None,
//!     content_type: &ContentType::Content,
//!     method,
//!     raw_key_info: None,
//! };
//! write::begin_encrypted_data(&start, &mut message);
//! base64::encode_into(&cipher::seal(method, &key, b"<text>secret</text>")?, &mut message);
//! write::end_encrypted_data(&mut message);
//! message.extend_from_slice(b"</body>");
//!
//! // Decrypt it where it stands.
//! let (mut buffers, options) = (Buffers::new(), ParseOptions::default());
//! let mut document = Document::parse(message, &options, &mut buffers)?;
//! let node = document.root().first_child().expect("the encrypted data").id();
//! EncryptedData::parse(&document, node)?.decrypt(&mut document, &key, &options, &mut buffers)?;
//! assert_eq!(document.root().first_child().expect("the text").text(), "secret");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The one rule: decryption has one error, [`EncryptionError::Failed`].

mod decrypt;
mod encrypted;
mod error;
mod key_agreement;
mod method;

#[cfg(test)]
mod tests;

pub use decrypt::{OpeningKey, encrypted_data_below};
pub use encrypted::{CipherData, ContentType, EncryptedData, EncryptedKey, ReferenceList};
pub use error::EncryptionError;
pub use method::KeyEncryption;
