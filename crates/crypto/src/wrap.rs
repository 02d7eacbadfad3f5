//! Encryption of a key with a shared key (XML-Enc 1.1 section 5.7).
//!
//! AES key wrap is RFC 3394; Triple DES key wrap is RFC 3217, written here over Triple DES in CBC
//! mode. Both notice a wrong key or an altered ciphertext, and both say only [`DecryptFailed`].

use aws_lc_rs::constant_time;
use aws_lc_rs::key_wrap::{AES_128, AES_256, AesBlockCipher, AesKek, KeyWrap as _};
use openssl::aes::{self, AesKey};

use crate::algorithms::{DataEncryption, DigestAlgorithm, KeyWrap};
use crate::cipher::{decrypt_blocks, encrypt_blocks};
use crate::digest::digest;
use crate::error::{CryptoError, DecryptFailed, OrLibrary};
use crate::key::SymmetricKey;
use crate::random;
use crate::secret::SecretBytes;

/// Both algorithms work on blocks of 8 bytes.
const BLOCK: usize = 8;

/// What RFC 3217 wraps with.
const TRIPLE_DES: DataEncryption = DataEncryption::TripleDesCbc;

/// The fixed vector of RFC 3217 section 3.1, step 8.
const SECOND_VECTOR: [u8; BLOCK] = [0x4a, 0xdd, 0xa2, 0x2c, 0x79, 0xe8, 0x21, 0x05];

fn aws_cipher(algorithm: KeyWrap) -> Option<&'static AesBlockCipher> {
    match algorithm {
        KeyWrap::Aes128 => Some(&AES_128),
        KeyWrap::Aes256 => Some(&AES_256),
        KeyWrap::Aes192 | KeyWrap::TripleDes => None,
    }
}

impl SymmetricKey {
    /// Encrypts `secret` with this key.
    ///
    /// # Errors
    ///
    /// [`CryptoError::KeyLength`] if this key does not fit the algorithm, or if the secret is not a
    /// multiple of 8 bytes, at least 16 for AES and 8 for Triple DES.
    pub fn wrap(&self, algorithm: KeyWrap, secret: &[u8]) -> Result<Vec<u8>, CryptoError> {
        let failed = "wrapping a key";
        self.require_length(algorithm.short_name(), algorithm.key_length())?;
        let shortest = if algorithm == KeyWrap::TripleDes {
            BLOCK
        } else {
            2 * BLOCK
        };
        if secret.len() < shortest || !secret.len().is_multiple_of(BLOCK) {
            return Err(CryptoError::KeyLength {
                algorithm: algorithm.short_name(),
                expected: secret.len().next_multiple_of(BLOCK).max(shortest),
                found: secret.len(),
            });
        }
        if algorithm == KeyWrap::TripleDes {
            return triple_des_wrap(self, secret);
        }
        let mut output = vec![0; secret.len() + BLOCK];
        match aws_cipher(algorithm) {
            Some(cipher) => {
                let key = AesKek::new(cipher, self.expose()).or_library(failed)?;
                key.wrap(secret, &mut output).or_library(failed)?;
            }
            None => {
                let key = AesKey::new_encrypt(self.expose()).or_library(failed)?;
                aes::wrap_key(&key, None, &mut output, secret).or_library(failed)?;
            }
        }
        Ok(output)
    }

    /// Decrypts a key that was encrypted with this key.
    ///
    /// # Errors
    ///
    /// [`DecryptFailed`], whatever the reason.
    pub fn unwrap(&self, algorithm: KeyWrap, wrapped: &[u8]) -> Result<SecretBytes, DecryptFailed> {
        if self.len() != algorithm.key_length()
            || wrapped.len() < 3 * BLOCK
            || !wrapped.len().is_multiple_of(BLOCK)
        {
            return Err(DecryptFailed);
        }
        if algorithm == KeyWrap::TripleDes {
            return triple_des_unwrap(self, wrapped);
        }
        let mut secret = SecretBytes::new(vec![0; wrapped.len() - BLOCK]);
        match aws_cipher(algorithm) {
            Some(cipher) => {
                let key = AesKek::new(cipher, self.expose()).map_err(|_| DecryptFailed)?;
                key.unwrap(wrapped, secret.expose_mut())
                    .map_err(|_| DecryptFailed)?;
            }
            None => {
                let key = AesKey::new_decrypt(self.expose()).map_err(|_| DecryptFailed)?;
                aes::unwrap_key(&key, None, secret.expose_mut(), wrapped)
                    .map_err(|_| DecryptFailed)?;
            }
        }
        Ok(secret)
    }
}

/// The first 8 bytes of SHA-1 (RFC 3217 section 2).
fn checksum(secret: &[u8]) -> Result<[u8; BLOCK], CryptoError> {
    let digest = digest(DigestAlgorithm::Sha1, secret)?;
    let mut checksum = [0; BLOCK];
    checksum.copy_from_slice(&digest.as_ref()[..BLOCK]);
    Ok(checksum)
}

fn triple_des_wrap(key: &SymmetricKey, secret: &[u8]) -> Result<Vec<u8>, CryptoError> {
    let vector: [u8; BLOCK] = random::bytes();
    triple_des_wrap_with(key, secret, &vector)
}

fn triple_des_wrap_with(
    key: &SymmetricKey,
    secret: &[u8],
    vector: &[u8; BLOCK],
) -> Result<Vec<u8>, CryptoError> {
    let mut output = [&vector[..], secret, &checksum(secret)?].concat();
    encrypt_blocks(TRIPLE_DES, key, vector, &mut output[BLOCK..])?;
    output.reverse();
    encrypt_blocks(TRIPLE_DES, key, &SECOND_VECTOR, &mut output)?;
    Ok(output)
}

fn triple_des_unwrap(key: &SymmetricKey, wrapped: &[u8]) -> Result<SecretBytes, DecryptFailed> {
    let mut work = SecretBytes::copy_of(wrapped);
    let octets = work.expose_mut();
    decrypt_blocks(TRIPLE_DES, key, &SECOND_VECTOR, octets).map_err(|_| DecryptFailed)?;
    octets.reverse();
    let (vector, body) = octets.split_at_mut(BLOCK);
    decrypt_blocks(TRIPLE_DES, key, vector, body).map_err(|_| DecryptFailed)?;
    let (secret, found) = body.split_at(body.len() - BLOCK);
    let expected = checksum(secret).map_err(|_| DecryptFailed)?;
    constant_time::verify_slices_are_equal(&expected, found).map_err(|_| DecryptFailed)?;
    Ok(SecretBytes::copy_of(secret))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;

    fn key(text: &str) -> SymmetricKey {
        SymmetricKey::new(hex(text)).unwrap()
    }

    /// RFC 3394 sections 4.1, 4.2, 4.3 and 4.6.
    #[test]
    fn the_examples_of_rfc_3394_hold() {
        for (algorithm, kek, secret, wrapped) in [
            (
                KeyWrap::Aes128,
                "000102030405060708090a0b0c0d0e0f",
                "00112233445566778899aabbccddeeff",
                "1fa68b0a8112b447aef34bd8fb5a7b829d3e862371d2cfe5",
            ),
            (
                KeyWrap::Aes192,
                "000102030405060708090a0b0c0d0e0f1011121314151617",
                "00112233445566778899aabbccddeeff",
                "96778b25ae6ca435f92b5b97c050aed2468ab8a17ad84e5d",
            ),
            (
                KeyWrap::Aes256,
                "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
                "00112233445566778899aabbccddeeff",
                "64e8c3f9ce0f5ba263e9777905818a2a93c8191e7d6e8ae7",
            ),
            (
                KeyWrap::Aes256,
                "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f",
                "00112233445566778899aabbccddeeff000102030405060708090a0b0c0d0e0f",
                "28c9f404c4b810f4cbccb35cfb87f8263f5786e2d80ed326cbc7f0e71a99f43bfb988b9b7a02dd21",
            ),
        ] {
            assert_eq!(
                key(kek).wrap(algorithm, &hex(secret)).unwrap(),
                hex(wrapped),
                "{algorithm}"
            );
            let unwrapped = key(kek).unwrap(algorithm, &hex(wrapped)).unwrap();
            assert_eq!(unwrapped.expose(), &hex(secret), "{algorithm}");
        }
    }

    /// RFC 3217 section 3.4.
    #[test]
    fn the_example_of_rfc_3217_holds() {
        let kek = key("255e0d1c07b646dfb3134cc843ba8aa71f025b7c0838251f");
        let secret = hex("2923bf85e06dd6ae529149f1f1bae9eab3a7da3d860d3e98");
        let vector = [0x5d, 0xd4, 0xcb, 0xfc, 0x96, 0xf5, 0x45, 0x3b];
        let wrapped = triple_des_wrap_with(&kek, &secret, &vector).unwrap();
        assert_eq!(
            wrapped,
            hex("690107618ef092b3b48ca1796b234ae9fa33ebb4159604037db5d6a84eb3aac2768c632775a467d4")
        );
        assert_eq!(triple_des_unwrap(&kek, &wrapped).unwrap().expose(), &secret);
    }

    #[test]
    fn every_altered_octet_is_noticed() {
        for &algorithm in KeyWrap::ALL {
            let kek = SymmetricKey::generate(algorithm.key_length()).unwrap();
            let wrapped = kek.wrap(algorithm, &[7; 24]).unwrap();
            assert_eq!(
                kek.unwrap(algorithm, &wrapped).unwrap().expose(),
                &vec![7; 24]
            );
            for index in 0..wrapped.len() {
                let mut altered = wrapped.clone();
                altered[index] ^= 0x10;
                assert_eq!(
                    kek.unwrap(algorithm, &altered).map(drop),
                    Err(DecryptFailed)
                );
                assert_eq!(
                    kek.unwrap(algorithm, &wrapped[..index]).map(drop),
                    Err(DecryptFailed)
                );
            }
            let other = SymmetricKey::generate(algorithm.key_length()).unwrap();
            assert_eq!(
                other.unwrap(algorithm, &wrapped).map(drop),
                Err(DecryptFailed)
            );
            let short = SymmetricKey::generate(8).unwrap();
            assert_eq!(
                short.unwrap(algorithm, &wrapped).map(drop),
                Err(DecryptFailed)
            );
        }
    }

    #[test]
    fn secrets_that_are_not_whole_blocks_are_refused() {
        let kek = SymmetricKey::generate(16).unwrap();
        assert_eq!(
            kek.wrap(KeyWrap::Aes128, &[0; 20]),
            Err(CryptoError::KeyLength {
                algorithm: "kw-aes128",
                expected: 24,
                found: 20
            })
        );
        assert_eq!(
            kek.wrap(KeyWrap::Aes256, &[0; 16]),
            Err(CryptoError::KeyLength {
                algorithm: "kw-aes256",
                expected: 32,
                found: 16
            })
        );
    }
}
