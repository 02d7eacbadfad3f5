//! Secrets at rest, sealed so that they open in their own place only.
//!
//! AES-256-GCM with a random vector; what a sealed value belongs to is authenticated beside it and
//! not stored, so that a value copied to another place does not open there. A random vector of 96
//! bits allows 2^32 values under one key (NIST SP 800-38D, 8.3), which the key counts; whoever may
//! seal more changes keys before.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

use crate::algorithms::DataEncryption;
use crate::error::{CryptoError, DecryptFailed};
use crate::key::SymmetricKey;
use crate::random;
use crate::secret::SecretBytes;

/// Bytes of the key.
pub const KEY_LENGTH: usize = 32;

/// Seals `secret` for the place that `belongs_to` describes: vector, ciphertext and tag.
///
/// # Errors
///
/// [`CryptoError::KeyLength`] unless the key has [`KEY_LENGTH`] bytes; [`CryptoError::KeyUsedUp`]
/// if it has sealed as much as it may.
///
/// ```
/// use soapstone_crypto::{SymmetricKey, sealed_storage};
///
/// let key = SymmetricKey::generate(sealed_storage::KEY_LENGTH)?;
/// let sealed = sealed_storage::seal(&key, b"shelf 3", b"open sesame")?;
/// assert_eq!(sealed_storage::open(&key, b"shelf 3", &sealed).unwrap().expose(), b"open sesame");
/// assert!(sealed_storage::open(&key, b"shelf 4", &sealed).is_err());
/// # Ok::<(), soapstone_crypto::CryptoError>(())
/// ```
pub fn seal(key: &SymmetricKey, belongs_to: &[u8], secret: &[u8]) -> Result<Vec<u8>, CryptoError> {
    key.require_length("aes256-gcm", KEY_LENGTH)?;
    let algorithm = DataEncryption::Aes256Gcm;
    key.usage_counter().take(algorithm, secret.len())?;
    let failed = CryptoError::Library {
        operation: "sealing a secret",
    };
    let mut sealed = Vec::with_capacity(NONCE_LEN + secret.len() + AES_256_GCM.tag_len());
    sealed.extend_from_slice(&random::bytes::<NONCE_LEN>());
    sealed.extend_from_slice(secret);
    let (vector, plain) = sealed.split_at_mut(NONCE_LEN);
    let tag = sealer(key)
        .zip(Nonce::try_assume_unique_for_key(vector).ok())
        .and_then(|(sealer, nonce)| {
            sealer
                .seal_in_place_separate_tag(nonce, Aad::from(belongs_to), plain)
                .ok()
        })
        .ok_or(failed)?;
    sealed.extend_from_slice(tag.as_ref());
    Ok(sealed)
}

/// Opens what [`seal`] has sealed with the same key for the same place.
///
/// # Errors
///
/// [`DecryptFailed`] for another key, another place or a changed value alike.
pub fn open(
    key: &SymmetricKey,
    belongs_to: &[u8],
    sealed: &[u8],
) -> Result<SecretBytes, DecryptFailed> {
    let (vector, rest) = sealed
        .split_at_checked(NONCE_LEN)
        .filter(|_| key.len() == KEY_LENGTH)
        .ok_or(DecryptFailed)?;
    let nonce = Nonce::try_assume_unique_for_key(vector).map_err(|_| DecryptFailed)?;
    let mut secret = SecretBytes::copy_of(rest);
    let length = sealer(key)
        .and_then(|sealer| {
            sealer
                .open_in_place(nonce, Aad::from(belongs_to), secret.expose_mut())
                .ok()
        })
        .map(|plain| plain.len())
        .ok_or(DecryptFailed)?;
    secret.expose_mut().truncate(length);
    Ok(secret)
}

fn sealer(key: &SymmetricKey) -> Option<LessSafeKey> {
    UnboundKey::new(&AES_256_GCM, key.expose())
        .ok()
        .map(LessSafeKey::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(octet: u8) -> SymmetricKey {
        SymmetricKey::new(vec![octet; KEY_LENGTH]).expect("octets")
    }

    #[test]
    fn a_key_seals_so_many_secrets_and_no_more() {
        use crate::key::{CipherUsage, GCM_MESSAGES};
        let key = key(1);
        key.count_as_used(CipherUsage {
            gcm_messages: GCM_MESSAGES - 1,
            ..CipherUsage::default()
        });
        let last = seal(&key, b"place", b"secret").unwrap();
        assert_eq!(
            seal(&key, b"place", b"secret"),
            Err(CryptoError::KeyUsedUp {
                algorithm: "aes256-gcm",
                limit: GCM_MESSAGES,
                unit: "messages"
            })
        );
        assert_eq!(open(&key, b"place", &last).unwrap().expose(), b"secret");
    }

    #[test]
    fn a_sealed_secret_opens_with_its_key_in_its_place_and_nowhere_else() {
        let sealed = seal(&key(1), b"here", b"secret").expect("the key fits");
        let opened = open(&key(1), b"here", &sealed).map(|secret| secret.expose().clone());
        assert_eq!(opened, Ok(b"secret".to_vec()));
        for (key, place) in [(key(1), b"herf"), (key(2), b"here")] {
            assert_eq!(open(&key, place, &sealed).map(drop), Err(DecryptFailed));
        }
    }

    #[test]
    fn no_octet_of_a_sealed_secret_can_be_changed_or_left_out() {
        let sealed = seal(&key(1), b"here", b"secret").expect("the key fits");
        for position in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[position] ^= 1;
            let opened = open(&key(1), b"here", &changed).map(drop);
            assert_eq!(opened, Err(DecryptFailed), "byte {position}");
            let opened = open(&key(1), b"here", &sealed[..position]).map(drop);
            assert_eq!(opened, Err(DecryptFailed), "{position} bytes");
        }
    }

    #[test]
    fn the_same_secret_is_never_sealed_the_same_way() {
        let sealed = || seal(&key(1), b"here", b"secret").expect("the key fits");
        assert_ne!(sealed(), sealed());
    }

    #[test]
    fn a_key_of_another_length_is_refused() {
        let short = SymmetricKey::new(vec![1; 16]).expect("octets");
        let expected = CryptoError::KeyLength {
            algorithm: "aes256-gcm",
            expected: 32,
            found: 16,
        };
        assert_eq!(seal(&short, b"", b"").map(drop), Err(expected));
        assert_eq!(open(&short, b"", &[0; 28]).map(drop), Err(DecryptFailed));
    }
}
