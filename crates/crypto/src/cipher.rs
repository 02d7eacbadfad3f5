//! Encryption of data with a shared key (XML-Enc 1.1 section 5.2), in place.
//!
//! The ciphertext of XML Encryption is initialization vector, ciphertext and, in GCM, tag, one
//! after the other. Both directions work inside the caller's buffer, so a message is copied by
//! nobody. Whatever goes wrong while opening is [`DecryptFailed`].

use std::ops::Range;

use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use aws_lc_rs::cipher::{
    self as aws, DecryptingKey, DecryptionContext, EncryptingKey, EncryptionContext,
    UnboundCipherKey,
};
use aws_lc_rs::iv::FixedLength;

use crate::algorithms::DataEncryption;
use crate::error::{CryptoError, DecryptFailed, OrLibrary};
use crate::key::SymmetricKey;
use crate::random::Supply;

/// Encrypts the end of `buffer` in place.
///
/// The plaintext is `buffer[start + algorithm.iv_length()..]`. The bytes between `start` and it
/// are overwritten with a fresh random initialization vector, the plaintext is enciphered where it
/// stands, and padding or tag are appended. Afterwards `buffer[start..]` is what goes into
/// `xenc:CipherValue`. To spare a reallocation, reserve
/// [`ciphertext_length`](DataEncryption::ciphertext_length) beforehand.
///
/// CBC padding repeats its length in every byte, which satisfies receivers that check only the
/// last (as XML Encryption demands) and those that check all of them.
///
/// # Errors
///
/// [`CryptoError::KeyLength`] if the key does not fit the algorithm; [`CryptoError::KeyUsedUp`] if
/// it has enciphered as much as it may; [`CryptoError::Library`] if `buffer` has no room for the
/// initialization vector after `start`.
///
/// ```
/// use soapstone_crypto::random::Supply;
/// use soapstone_crypto::{DataEncryption, SymmetricKey, open_in_place, seal_in_place};
///
/// let (algorithm, key) = (DataEncryption::Aes128Gcm, SymmetricKey::generate(16)?);
/// let mut buffer = b"head".to_vec();
/// buffer.resize(4 + algorithm.iv_length(), 0);
/// buffer.extend_from_slice(b"plain");
/// seal_in_place(algorithm, &key, &mut buffer, 4, &mut Supply::default())?;
/// let sealed = &mut buffer[4..];
/// let plain = open_in_place(algorithm, &key, sealed).unwrap();
/// assert_eq!(&sealed[plain], b"plain");
/// # Ok::<(), soapstone_crypto::CryptoError>(())
/// ```
pub fn seal_in_place(
    algorithm: DataEncryption,
    key: &SymmetricKey,
    buffer: &mut Vec<u8>,
    start: usize,
    supply: &mut Supply,
) -> Result<(), CryptoError> {
    let plain = start + algorithm.iv_length();
    if buffer.len() < plain {
        return Err(CryptoError::Library {
            operation: "encrypting without room for the vector",
        });
    }
    let sealed = seal_apart(algorithm, key, &mut buffer[plain..], supply)?;
    buffer[start..plain].copy_from_slice(sealed.before());
    buffer.truncate(plain + sealed.length());
    buffer.extend_from_slice(sealed.after());
    Ok(())
}

/// What [`seal_apart`] has to say beside what it enciphered where it stood.
#[derive(Debug)]
pub struct SealedApart {
    vector: Short,
    length: usize,
    after: Short,
}

/// Bytes of the longest block, and of the longest initialization vector and tag.
const LONGEST_BLOCK: usize = 16;

/// A few bytes.
#[derive(Debug)]
struct Short {
    octets: [u8; LONGEST_BLOCK],
    length: usize,
}

impl Short {
    fn zeros(length: usize) -> Self {
        Self {
            octets: [0; LONGEST_BLOCK],
            length: length.min(LONGEST_BLOCK),
        }
    }

    fn get(&self) -> &[u8] {
        &self.octets[..self.length]
    }

    fn get_mut(&mut self) -> &mut [u8] {
        &mut self.octets[..self.length]
    }
}

impl SealedApart {
    /// What stands before the enciphered bytes in `xenc:CipherValue`: the initialization vector.
    #[must_use]
    pub fn before(&self) -> &[u8] {
        self.vector.get()
    }

    /// How many of the bytes were enciphered; what is left behind them, less than a block, is in
    /// [`after`](Self::after) instead.
    #[must_use]
    pub fn length(&self) -> usize {
        self.length
    }

    /// What stands after them: the tag, or the last block with its padding.
    #[must_use]
    pub fn after(&self) -> &[u8] {
        self.after.get()
    }
}

/// Encrypts bytes in place, with nothing before and behind them: for plaintext that stands in the
/// middle of something else.
///
/// # Errors
///
/// [`CryptoError::KeyLength`] if the key does not fit the algorithm, [`CryptoError::KeyUsedUp`] if
/// it has enciphered as much as it may. The bytes must then not be used any more.
///
/// ```
/// use soapstone_crypto::{DataEncryption, SymmetricKey, cipher, open_in_place, random::Supply};
///
/// let (algorithm, key) = (DataEncryption::Aes128Cbc, SymmetricKey::generate(16)?);
/// let mut message = b"<a>some words and more</a>".to_vec();
/// let sealed = cipher::seal_apart(algorithm, &key, &mut message[3..22], &mut Supply::default())?;
/// let mut value = [sealed.before(), &message[3..][..sealed.length()], sealed.after()].concat();
/// let plain = open_in_place(algorithm, &key, &mut value).unwrap();
/// assert_eq!(&value[plain], b"some words and more");
/// # Ok::<(), soapstone_crypto::CryptoError>(())
/// ```
pub fn seal_apart(
    algorithm: DataEncryption,
    key: &SymmetricKey,
    octets: &mut [u8],
    supply: &mut Supply,
) -> Result<SealedApart, CryptoError> {
    key.require_length(algorithm.short_name(), algorithm.key_length())?;
    key.usage_counter().take(algorithm, octets.len())?;
    let mut vector = Short::zeros(algorithm.iv_length());
    supply.fill(vector.get_mut());
    if algorithm.is_authenticated() {
        let nonce = nonce(vector.get()).ok_or(FAILED)?;
        let tag = key.schedules().gcm.with(
            algorithm,
            || gcm(algorithm, key),
            |key| {
                key.seal_in_place_separate_tag(nonce, Aad::empty(), octets)
                    .or_library("encrypting data")
            },
        )?;
        let mut after = Short::zeros(algorithm.tag_length());
        after.get_mut().copy_from_slice(tag.as_ref());
        return Ok(SealedApart {
            vector,
            length: octets.len(),
            after,
        });
    }
    let block = algorithm.block_length();
    let length = octets.len() / block * block;
    let (whole, rest) = octets.split_at_mut(length);
    let mut after = Short::zeros(block);
    after.get_mut()[..rest.len()].copy_from_slice(rest);
    after.get_mut()[rest.len()..].fill((block - rest.len()) as u8);
    if !whole.is_empty() {
        encrypt_blocks(algorithm, key, vector.get(), whole)?;
    }
    // The block before it is the vector of the last one.
    let previous = whole.rchunks(block).next().unwrap_or(vector.get());
    encrypt_blocks(algorithm, key, previous, after.get_mut())?;
    Ok(SealedApart {
        vector,
        length,
        after,
    })
}

const FAILED: CryptoError = CryptoError::Library {
    operation: "encrypting data",
};

/// Encrypts a copy of `plaintext`: initialization vector, ciphertext and tag in a new vector.
///
/// # Errors
///
/// As for [`seal_apart`].
pub fn seal(
    algorithm: DataEncryption,
    key: &SymmetricKey,
    plaintext: &[u8],
) -> Result<Vec<u8>, CryptoError> {
    let mut buffer = Vec::with_capacity(algorithm.ciphertext_length(plaintext.len()));
    buffer.resize(algorithm.iv_length(), 0);
    buffer.extend_from_slice(plaintext);
    seal_in_place(algorithm, key, &mut buffer, 0, &mut Supply::default())?;
    Ok(buffer)
}

/// Decrypts `buffer`, which holds initialization vector, ciphertext and tag, in place, and says
/// where the plaintext lies in it.
///
/// Of CBC padding only the last byte counts (XML-Enc 1.1 section 5.2): it must be from 1 to the
/// block's length.
///
/// # Errors
///
/// [`DecryptFailed`] for a wrong key, length, padding or tag alike. `buffer` must then not be used
/// any more; in GCM its contents have been wiped.
pub fn open_in_place(
    algorithm: DataEncryption,
    key: &SymmetricKey,
    buffer: &mut [u8],
) -> Result<Range<usize>, DecryptFailed> {
    let start = algorithm.iv_length();
    let (vector, body) = buffer.split_at_mut_checked(start).ok_or(DecryptFailed)?;
    let length = open_with_vector(algorithm, key, vector, body)?;
    Ok(start..start + length)
}

/// Decrypts `body`, which holds ciphertext and tag, in place under an initialization vector that
/// lies elsewhere; the plaintext are its first bytes, as many as returned. For readers that want
/// the plaintext at the beginning of a buffer of its own.
///
/// # Errors
///
/// As for [`open_in_place`].
pub fn open_with_vector(
    algorithm: DataEncryption,
    key: &SymmetricKey,
    vector: &[u8],
    body: &mut [u8],
) -> Result<usize, DecryptFailed> {
    if key.len() != algorithm.key_length() || vector.len() != algorithm.iv_length() {
        return Err(DecryptFailed);
    }
    if algorithm.is_authenticated() {
        let nonce = nonce(vector).ok_or(DecryptFailed)?;
        return key
            .schedules()
            .gcm
            .with(
                algorithm,
                || gcm(algorithm, key),
                |key| {
                    key.open_in_place(nonce, Aad::empty(), body)
                        .map(|plain| plain.len())
                        .or_library("decrypting data")
                },
            )
            .map_err(|_| DecryptFailed);
    }
    let block = algorithm.block_length();
    if body.is_empty() || !body.len().is_multiple_of(block) {
        return Err(DecryptFailed);
    }
    decrypt_blocks(algorithm, key, vector, body).map_err(|_| DecryptFailed)?;
    // One comparison, after all of the work: 0 wraps around and is too long like any other wrong
    // value.
    let padding = usize::from(body[body.len() - 1]);
    if padding.wrapping_sub(1) >= block {
        return Err(DecryptFailed);
    }
    Ok(body.len() - padding)
}

/// Decrypts a copy of `ciphertext`.
///
/// # Errors
///
/// [`DecryptFailed`], whatever the reason.
pub fn open(
    algorithm: DataEncryption,
    key: &SymmetricKey,
    ciphertext: &[u8],
) -> Result<Vec<u8>, DecryptFailed> {
    let mut buffer = ciphertext.to_vec();
    let plain = open_in_place(algorithm, key, &mut buffer)?;
    buffer.truncate(plain.end);
    buffer.drain(..plain.start);
    Ok(buffer)
}

fn nonce(vector: &[u8]) -> Option<Nonce> {
    Nonce::try_assume_unique_for_key(vector).ok()
}

fn gcm(algorithm: DataEncryption, key: &SymmetricKey) -> Result<LessSafeKey, CryptoError> {
    let known = match algorithm {
        DataEncryption::Aes128Gcm => &aead::AES_128_GCM,
        DataEncryption::Aes192Gcm => &aead::AES_192_GCM,
        _ => &aead::AES_256_GCM,
    };
    UnboundKey::new(known, key.expose())
        .map(LessSafeKey::new)
        .or_library("scheduling an AES key")
}

/// The key of a block cipher. Triple DES refuses keys in which two of the three parts are equal or
/// one is weak (SP 800-67 section 2): they are no stronger than two keys, or one.
#[expect(
    deprecated,
    reason = "Triple DES is deprecated everywhere, and runs only where a plan names it"
)]
pub(crate) fn block_cipher(
    algorithm: DataEncryption,
    key: &[u8],
) -> Result<UnboundCipherKey, CryptoError> {
    let known = match algorithm.key_length() {
        _ if algorithm == DataEncryption::TripleDesCbc => &aws::DES_EDE3_FOR_LEGACY_USE_ONLY,
        16 => &aws::AES_128,
        24 => &aws::AES_192,
        _ => &aws::AES_256,
    };
    UnboundCipherKey::new(known, key).map_err(|_| unusable(algorithm))
}

/// Why a key of the right length is refused.
fn unusable(algorithm: DataEncryption) -> CryptoError {
    if algorithm == DataEncryption::TripleDesCbc {
        CryptoError::Unsupported {
            what: "a Triple DES key with equal or weak parts".to_owned(),
        }
    } else {
        CryptoError::Library {
            operation: "scheduling an AES key",
        }
    }
}

/// CBC over whole blocks, without padding.
pub(crate) fn encrypt_blocks(
    algorithm: DataEncryption,
    key: &SymmetricKey,
    vector: &[u8],
    body: &mut [u8],
) -> Result<(), CryptoError> {
    let failed = "encrypting data";
    let context = if algorithm == DataEncryption::TripleDesCbc {
        FixedLength::try_from(vector).map(EncryptionContext::Iv64)
    } else {
        FixedLength::try_from(vector).map(EncryptionContext::Iv128)
    }
    .or_library(failed)?;
    let make = || {
        EncryptingKey::cbc(block_cipher(algorithm, key.expose())?).map_err(|_| unusable(algorithm))
    };
    key.schedules().encrypting.with(algorithm, make, |key| {
        key.less_safe_encrypt(body, context)
            .map(drop)
            .or_library(failed)
    })
}

/// The same, backwards.
pub(crate) fn decrypt_blocks(
    algorithm: DataEncryption,
    key: &SymmetricKey,
    vector: &[u8],
    body: &mut [u8],
) -> Result<(), CryptoError> {
    let failed = "decrypting data";
    let context = decryption_context(algorithm, vector)?;
    let make = || {
        DecryptingKey::cbc(block_cipher(algorithm, key.expose())?).map_err(|_| unusable(algorithm))
    };
    key.schedules().decrypting.with(algorithm, make, |key| {
        key.decrypt(body, context).map(drop).or_library(failed)
    })
}

pub(crate) fn decryption_context(
    algorithm: DataEncryption,
    vector: &[u8],
) -> Result<DecryptionContext, CryptoError> {
    if algorithm == DataEncryption::TripleDesCbc {
        FixedLength::try_from(vector).map(DecryptionContext::Iv64)
    } else {
        FixedLength::try_from(vector).map(DecryptionContext::Iv128)
    }
    .or_library("decrypting data")
}

#[cfg(test)]
mod tests;
