//! Opening: the key inside an `xenc:EncryptedKey`, and data in the place of its
//! `xenc:EncryptedData`.
//!
//! The ciphertext is decoded from the message into one reused buffer, decrypted in that buffer and
//! scanned in that buffer: the plaintext is never copied.
//! The one rule: from the moment a key is used there is one error.

use std::ops::Range;

use soapstone_crypto::base64::Base64Error;
use soapstone_crypto::{
    KeyEstablishment, KeyKind, KeyTransport, PrivateKey, SecretBytes, SymmetricKey, base64, cipher,
    open_in_place,
};
use soapstone_xml::{Buffers, Document, Graft, Grafted, NodeId, ParseOptions};

use super::encrypted::{CipherData, ContentType, EncryptedData, EncryptedKey};
use super::error::EncryptionError;
use super::method::KeyEncryption;
use crate::namespaces::XENC;
use crate::structure::simple_content;

/// The key that opens an `xenc:EncryptedKey`.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum OpeningKey<'k> {
    /// An RSA private key, for key transport.
    Private(&'k PrivateKey),
    /// A shared key, for key wrap.
    Secret(&'k SymmetricKey),
}

impl EncryptedKey {
    /// The key inside.
    ///
    /// `length` is the key length in bytes that the data's algorithm needs. With RSA 1.5 a padding
    /// failure yields a substitute of that length instead of an error, the same each time, so
    /// that it shows only later, as any wrong key does (XML-Enc 5.5.1, Bleichenbacher).
    ///
    /// # Errors
    /// [`EncryptionError::WrongKey`] when `key` is of another kind or size than the algorithm
    /// takes, [`EncryptionError::KeyUnavailable`] when it is held elsewhere and cannot be used,
    /// [`EncryptionError::Failed`] otherwise.
    pub fn open(
        &self,
        key: OpeningKey<'_>,
        length: Option<usize>,
    ) -> Result<SymmetricKey, EncryptionError> {
        let wrong_key = EncryptionError::WrongKey {
            algorithm: self.method.short_name(),
        };
        let opened = match (&self.method, key) {
            (KeyEncryption::Transport { algorithm, oaep }, OpeningKey::Private(private)) => {
                if !matches!(private.kind(), KeyKind::Rsa { .. }) {
                    return Err(wrong_key);
                }
                // `rsa-oaep-mgf1p` with another mask function is what XML-Enc 1.1 calls `rsa-oaep`.
                let algorithm = match algorithm {
                    KeyTransport::RsaOaepMgf1p => KeyTransport::RsaOaep,
                    other => *other,
                };
                private.establish(&KeyEstablishment::Transport {
                    algorithm,
                    parameters: oaep,
                    ciphertext: &self.cipher_value,
                    expected_length: length,
                })?
            }
            (KeyEncryption::Wrap(algorithm), OpeningKey::Secret(secret)) => {
                if secret.len() != algorithm.key_length() {
                    return Err(wrong_key);
                }
                let unwrapped = secret.unwrap(*algorithm, &self.cipher_value);
                unwrapped.map_err(|_| EncryptionError::Failed)?
            }
            (KeyEncryption::Data(algorithm), OpeningKey::Secret(secret)) => {
                if secret.len() != algorithm.key_length() {
                    return Err(wrong_key);
                }
                let opened = cipher::open(*algorithm, secret, &self.cipher_value);
                SecretBytes::new(opened.map_err(|_| EncryptionError::Failed)?)
            }
            _ => return Err(wrong_key),
        };
        match length {
            Some(length) if opened.len() != length => Err(EncryptionError::Failed),
            _ => SymmetricKey::from_secret(opened).map_err(|_| EncryptionError::Failed),
        }
    }
}

impl EncryptedData {
    /// Decrypts and puts the plaintext in the place of this element.
    ///
    /// # Errors
    /// [`EncryptionError::NotXml`] when the plaintext is neither an element nor content,
    /// [`CipherReference`](EncryptionError::CipherReference) when the ciphertext is elsewhere,
    /// [`WrongKey`](EncryptionError::WrongKey) when the key has another length than the algorithm
    /// takes; [`Failed`](EncryptionError::Failed) for everything after that, a plaintext that
    /// is not well-formed included.
    pub fn decrypt(
        &self,
        document: &mut Document,
        key: &SymmetricKey,
        options: &ParseOptions,
        buffers: &mut Buffers,
    ) -> Result<Grafted, EncryptionError> {
        let graft = match &self.content_type {
            ContentType::Element => Graft::Element,
            ContentType::Content => Graft::Content,
            ContentType::Other(kind) => {
                return Err(EncryptionError::NotXml {
                    kind: Some(kind.clone()),
                });
            }
            ContentType::Unspecified => return Err(EncryptionError::NotXml { kind: None }),
        };
        self.check_key(key)?;
        let mut buffer = buffers.take(self.ciphertext_bound(document));
        let length = self.with_text(document, |text| {
            // The initialization vector is decoded apart, so that the plaintext begins where the
            // buffer does.
            let mut vector = [0; LONGEST_VECTOR];
            let vector = &mut vector[..self.method.iv_length()];
            decode_behind_vector(text, vector, &mut buffer)
                .map(|()| cipher::open_with_vector(self.method, key, vector, &mut buffer))
        })?;
        buffer.truncate(length.map_err(|_| EncryptionError::Failed)?);
        document
            .graft(self.node, buffer, graft, options)
            .map_err(|_| EncryptionError::Failed)
    }

    /// Decrypts into `buffer` and says where in it the plaintext lies: for bytes that are not XML.
    ///
    /// # Errors
    /// As [`decrypt`](Self::decrypt), without [`EncryptionError::NotXml`].
    pub fn decrypt_octets(
        &self,
        document: &Document,
        key: &SymmetricKey,
        buffer: &mut Vec<u8>,
    ) -> Result<Range<usize>, EncryptionError> {
        self.ciphertext(document, buffer)?;
        self.open(key, buffer)
    }

    /// Decrypts ciphertext that came from elsewhere (an attachment), in place.
    ///
    /// # Errors
    /// [`EncryptionError::WrongKey`], [`EncryptionError::Failed`].
    pub fn open(
        &self,
        key: &SymmetricKey,
        ciphertext: &mut [u8],
    ) -> Result<Range<usize>, EncryptionError> {
        self.check_key(key)?;
        open_in_place(self.method, key, ciphertext).map_err(|_| EncryptionError::Failed)
    }

    /// Appends the decoded `xenc:CipherValue` to `buffer`.
    ///
    /// # Errors
    /// [`EncryptionError::CipherReference`], and [`EncryptionError::Malformed`] when it is not
    /// base64.
    pub fn ciphertext(
        &self,
        document: &Document,
        buffer: &mut Vec<u8>,
    ) -> Result<(), EncryptionError> {
        self.with_text(document, |text| base64::decode_xml(text, buffer))
    }

    /// Whether the `xenc:CipherValue` holds at least so many bytes of ciphertext. Nothing is
    /// decoded, and no more is read than that takes.
    ///
    /// # Errors
    /// [`EncryptionError::CipherReference`], and [`EncryptionError::Malformed`] when it is not
    /// base64 as far as it is read.
    pub fn has_ciphertext_of(
        &self,
        document: &Document,
        bytes: usize,
    ) -> Result<bool, EncryptionError> {
        let value = self.value()?;
        // As with what is decoded: comments and references stand in the source alone.
        let source = document.content_source(value);
        if let Some(found) = source.and_then(|source| holds(source, bytes)) {
            return Ok(found);
        }
        let text = simple_content(document.element(value))?;
        holds(text.as_bytes(), bytes).ok_or(NOT_BASE64)
    }

    /// The `xenc:CipherValue`.
    fn value(&self) -> Result<NodeId, EncryptionError> {
        match &self.cipher {
            CipherData::Value(value) => Ok(*value),
            CipherData::Reference { uri, .. } => {
                Err(EncryptionError::CipherReference { uri: uri.clone() })
            }
        }
    }

    fn check_key(&self, key: &SymmetricKey) -> Result<(), EncryptionError> {
        if key.len() == self.method.key_length() {
            return Ok(());
        }
        Err(EncryptionError::WrongKey {
            algorithm: self.method.short_name(),
        })
    }

    /// Lets `decode` read the base64 of the `xenc:CipherValue`.
    fn with_text<T>(
        &self,
        document: &Document,
        mut decode: impl FnMut(&[u8]) -> Result<T, Base64Error>,
    ) -> Result<T, EncryptionError> {
        let value = self.value()?;
        // The source of a plain CipherValue is base64 as it stands; markup or references in it take
        // the slow path.
        if let Some(source) = document.content_source(value)
            && let Ok(decoded) = decode(source)
        {
            return Ok(decoded);
        }
        let text = simple_content(document.element(value))?;
        decode(text.as_bytes()).map_err(|_| NOT_BASE64)
    }

    /// An upper bound for the length of the decoded ciphertext.
    fn ciphertext_bound(&self, document: &Document) -> usize {
        match &self.cipher {
            CipherData::Value(value) => document
                .content_source(*value)
                .map_or(0, |source| source.len() / 4 * 3 + 3),
            CipherData::Reference { .. } => 0,
        }
    }
}

/// Bytes of the longest initialization vector, that of AES in CBC mode.
const LONGEST_VECTOR: usize = 16;

/// Decodes base64 with white space: its first bytes fill `vector`, the others go to `rest`, which
/// is emptied first. Text that is too short leaves `rest` empty, which no ciphertext is.
fn decode_behind_vector(
    text: &[u8],
    vector: &mut [u8],
    rest: &mut Vec<u8>,
) -> Result<(), Base64Error> {
    rest.clear();
    // Whole groups of four characters, at least as many as the vector needs.
    let mut head = [0; LONGEST_VECTOR.div_ceil(3) * 4];
    let head = &mut head[..vector.len().div_ceil(3) * 4];
    let mut taken = 0;
    let mut behind = 0;
    for (at, &character) in text.iter().enumerate() {
        if !character.is_ascii_whitespace() {
            head[taken] = character;
            taken += 1;
            if taken == head.len() {
                behind = at + 1;
                break;
            }
        }
    }
    base64::decode(&head[..taken], rest)?;
    if rest.len() < vector.len() {
        rest.clear();
        return Ok(());
    }
    vector.copy_from_slice(&rest[..vector.len()]);
    rest.drain(..vector.len());
    base64::decode_xml(&text[behind..], rest)
}

/// What an `xenc:CipherValue` without base64 is.
const NOT_BASE64: EncryptionError = EncryptionError::Malformed {
    element: "xenc:CipherValue",
    reason: "not base64",
};

/// Whether base64 holds at least so many bytes; `None` where something else comes before that is
/// known.
fn holds(text: &[u8], bytes: usize) -> Option<bool> {
    let wanted = (bytes * 8).div_ceil(6);
    let mut digits = 0;
    for byte in text {
        match byte {
            _ if digits == wanted => break,
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => digits += 1,
            b'=' => {}
            space if space.is_ascii_whitespace() => {}
            _ => return None,
        }
    }
    Some(digits == wanted)
}

/// Every `xenc:EncryptedData` below (and including) `at`, in document order.
#[must_use]
pub fn encrypted_data_below(
    document: &Document,
    at: soapstone_xml::NodeId,
) -> Vec<soapstone_xml::NodeId> {
    document
        .element(at)
        .descendants()
        .filter(|element| element.is(XENC, "EncryptedData"))
        .map(|element| element.id())
        .collect()
}
