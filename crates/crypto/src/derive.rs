//! Keys derived from an agreed secret or a password (XML-Enc 1.1 section 5.4, RFC 9231 section
//! 2.5).
//!
//! Each function is a struct of its parameters, so that a message's parameters are read once,
//! checked, and then used.

use std::num::NonZeroU32;

use aws_lc_rs::{hkdf, hmac, pbkdf2};
use openssl::hash::MessageDigest;

use crate::algorithms::{DigestAlgorithm, SignatureAlgorithm, SignatureFamily};
use crate::digest::Hasher;
use crate::error::{CryptoError, OrLibrary};
use crate::secret::SecretBytes;

/// Longest key derived, in bytes: the longest any algorithm here uses is 64.
const LONGEST: usize = 1024;

/// Most iterations of PBKDF2: some seconds of work. A message could otherwise ask for hours.
pub const PBKDF2_MAXIMUM_ITERATIONS: u32 = 10_000_000;

fn check_length(algorithm: &'static str, length: usize) -> Result<(), CryptoError> {
    if (1..=LONGEST).contains(&length) {
        return Ok(());
    }
    Err(CryptoError::KeyLength {
        algorithm,
        expected: LONGEST,
        found: length,
    })
}

/// The concatenation key derivation function of NIST SP 800-56A (`xenc11:ConcatKDF`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConcatKdf {
    /// The digest (`ds:DigestMethod`).
    pub digest: DigestAlgorithm,
    /// What is digested after the secret: `AlgorithmID`, `PartyUInfo`, `PartyVInfo`, `SuppPubInfo`
    /// and `SuppPrivInfo` one after the other, each without the leading byte that counts its
    /// padding bits.
    pub other_info: Vec<u8>,
}

impl ConcatKdf {
    /// Derives a key of `length` bytes.
    ///
    /// # Errors
    ///
    /// [`CryptoError::KeyLength`] for 0 and for more than 1024.
    pub fn derive(&self, secret: &SecretBytes, length: usize) -> Result<SecretBytes, CryptoError> {
        check_length("concat-kdf", length)?;
        let mut key = SecretBytes::new(Vec::with_capacity(length + 64));
        let mut counter = 1_u32;
        while key.len() < length {
            let mut hasher = Hasher::new(self.digest)?;
            hasher.update(&counter.to_be_bytes());
            hasher.update(secret.expose());
            hasher.update(&self.other_info);
            key.expose_mut().extend_from_slice(hasher.finish().as_ref());
            counter += 1;
        }
        key.expose_mut().truncate(length);
        Ok(key)
    }
}

/// Password-based key derivation function 2 (RFC 8018, `xenc11:pbkdf2`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Pbkdf2 {
    /// The pseudorandom function: an HMAC (`xenc11:PRF`).
    pub prf: SignatureAlgorithm,
    /// The salt.
    pub salt: Vec<u8>,
    /// How often the function is applied, at most [`PBKDF2_MAXIMUM_ITERATIONS`].
    pub iterations: u32,
}

impl Pbkdf2 {
    /// Derives a key of `length` bytes.
    ///
    /// # Errors
    ///
    /// [`CryptoError::KeyLength`] for 0 and for more than 1024 bytes; [`CryptoError::Unsupported`]
    /// for iterations out of bounds and for a function that is not an HMAC with SHA-1 or SHA-2.
    pub fn derive(
        &self,
        password: &SecretBytes,
        length: usize,
    ) -> Result<SecretBytes, CryptoError> {
        check_length("pbkdf2", length)?;
        let unsupported = |what| CryptoError::Unsupported { what };
        let digest = hmac_digest(self.prf)?;
        let iterations = NonZeroU32::new(self.iterations)
            .filter(|iterations| iterations.get() <= PBKDF2_MAXIMUM_ITERATIONS)
            .ok_or_else(|| unsupported(format!("PBKDF2 with {} iterations", self.iterations)))?;
        let mut key = SecretBytes::new(vec![0; length]);
        let known = match digest {
            DigestAlgorithm::Sha1 => pbkdf2::PBKDF2_HMAC_SHA1,
            DigestAlgorithm::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
            DigestAlgorithm::Sha384 => pbkdf2::PBKDF2_HMAC_SHA384,
            DigestAlgorithm::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
            DigestAlgorithm::Sha224 => {
                openssl::pkcs5::pbkdf2_hmac(
                    password.expose(),
                    &self.salt,
                    iterations.get() as usize,
                    MessageDigest::sha224(),
                    key.expose_mut(),
                )
                .or_library("deriving a key from a password")?;
                return Ok(key);
            }
            _ => return Err(unsupported(format!("PBKDF2 with {}", self.prf))),
        };
        pbkdf2::derive(
            known,
            iterations,
            &self.salt,
            password.expose(),
            key.expose_mut(),
        );
        Ok(key)
    }
}

/// HMAC-based extract-and-expand key derivation function (RFC 5869, RFC 9231 section 2.5.3).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hkdf {
    /// The HMAC it is based on.
    pub prf: SignatureAlgorithm,
    /// The salt; empty means as many zeros as the digest is long.
    pub salt: Vec<u8>,
    /// What the key is for.
    pub info: Vec<u8>,
}

/// A length that `aws-lc-rs` accepts as one of a key.
struct Length(usize);

impl hkdf::KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

impl Hkdf {
    /// Derives a key of `length` bytes.
    ///
    /// # Errors
    ///
    /// [`CryptoError::KeyLength`] for 0 and for more than 1024 bytes; [`CryptoError::Unsupported`]
    /// for a function that is not an HMAC with SHA-1 or SHA-2.
    pub fn derive(&self, secret: &SecretBytes, length: usize) -> Result<SecretBytes, CryptoError> {
        check_length("hkdf", length)?;
        let algorithm = match hmac_digest(self.prf)? {
            DigestAlgorithm::Sha224 => return Ok(self.derive_with_sha224(secret, length)),
            DigestAlgorithm::Sha1 => hkdf::HKDF_SHA1_FOR_LEGACY_USE_ONLY,
            DigestAlgorithm::Sha256 => hkdf::HKDF_SHA256,
            DigestAlgorithm::Sha384 => hkdf::HKDF_SHA384,
            DigestAlgorithm::Sha512 => hkdf::HKDF_SHA512,
            _ => {
                return Err(CryptoError::Unsupported {
                    what: format!("HKDF with {}", self.prf),
                });
            }
        };
        let mut key = SecretBytes::new(vec![0; length]);
        hkdf::Salt::new(algorithm, &self.salt)
            .extract(secret.expose())
            .expand(&[&self.info], Length(length))
            .and_then(|output| output.fill(key.expose_mut()))
            .or_library("deriving a key")?;
        Ok(key)
    }

    /// RFC 5869 sections 2.2 and 2.3 to the letter: `aws-lc-rs` has no HKDF with SHA-224.
    fn derive_with_sha224(&self, secret: &SecretBytes, length: usize) -> SecretBytes {
        let salt = hmac::Key::new(hmac::HMAC_SHA224, &self.salt);
        let extracted = hmac::sign(&salt, secret.expose());
        let expanding = hmac::Key::new(hmac::HMAC_SHA224, extracted.as_ref());
        let mut key = SecretBytes::new(Vec::with_capacity(length + 28));
        let mut block: Option<hmac::Tag> = None;
        let mut counter = 1_u8;
        while key.len() < length {
            let mut context = hmac::Context::with_key(&expanding);
            context.update(block.as_ref().map_or(&[], |block| block.as_ref()));
            context.update(&self.info);
            context.update(&[counter]);
            let made = context.sign();
            key.expose_mut().extend_from_slice(made.as_ref());
            block = Some(made);
            // 1024 bytes are 37 blocks.
            counter += 1;
        }
        key.expose_mut().truncate(length);
        key
    }
}

fn hmac_digest(prf: SignatureAlgorithm) -> Result<DigestAlgorithm, CryptoError> {
    match (prf.family(), prf.digest()) {
        (SignatureFamily::Hmac, Some(digest)) => Ok(digest),
        _ => Err(CryptoError::Unsupported {
            what: format!("{prf} as a pseudorandom function: it is not an HMAC"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;

    /// RFC 6070 and RFC 7914 section 11.
    #[test]
    fn pbkdf2_gives_the_published_keys() {
        for (prf, password, salt, iterations, expected) in [
            (
                SignatureAlgorithm::HmacSha1,
                "password",
                "salt",
                4096,
                "4b007901b765489abead49d926f721d065a429c1",
            ),
            (
                SignatureAlgorithm::HmacSha256,
                "passwd",
                "salt",
                1,
                "55ac046e56e3089fec1691c22544b605f94185216dde0465e68b9d57c20dacbc",
            ),
        ] {
            let parameters = Pbkdf2 {
                prf,
                salt: salt.into(),
                iterations,
            };
            let password = SecretBytes::copy_of(password.as_bytes());
            let key = parameters.derive(&password, expected.len() / 2).unwrap();
            assert_eq!(key.expose(), &hex(expected), "{prf}");
        }
    }

    #[test]
    fn pbkdf2_with_sha224_is_the_same_function() {
        // No published example; OpenSSL's SHA-256 must equal the other library's for the bridge to
        // be trusted.
        let mut through_openssl = [0; 32];
        openssl::pkcs5::pbkdf2_hmac(
            b"passwd",
            b"salt",
            1,
            MessageDigest::sha256(),
            &mut through_openssl,
        )
        .unwrap();
        let parameters = Pbkdf2 {
            prf: SignatureAlgorithm::HmacSha256,
            salt: b"salt".to_vec(),
            iterations: 1,
        };
        let password = SecretBytes::copy_of(b"passwd");
        assert_eq!(
            parameters.derive(&password, 32).unwrap().expose(),
            &through_openssl
        );
        let parameters = Pbkdf2 {
            prf: SignatureAlgorithm::HmacSha224,
            ..parameters
        };
        assert_eq!(parameters.derive(&password, 28).unwrap().len(), 28);
    }

    #[test]
    fn pbkdf2_out_of_bounds_is_refused() {
        let password = SecretBytes::copy_of(b"p");
        let with = |iterations, prf| Pbkdf2 {
            prf,
            salt: Vec::new(),
            iterations,
        };
        let refused = |what: &str| {
            Err(CryptoError::Unsupported {
                what: what.to_owned(),
            })
        };
        for iterations in [0, PBKDF2_MAXIMUM_ITERATIONS + 1] {
            assert_eq!(
                with(iterations, SignatureAlgorithm::HmacSha1)
                    .derive(&password, 16)
                    .map(drop),
                refused(&format!("PBKDF2 with {iterations} iterations"))
            );
        }
        assert_eq!(
            with(1, SignatureAlgorithm::RsaSha1)
                .derive(&password, 16)
                .map(drop),
            refused("rsa-sha1 as a pseudorandom function: it is not an HMAC")
        );
        assert_eq!(
            with(1, SignatureAlgorithm::HmacSha1)
                .derive(&password, 1025)
                .map(drop),
            Err(CryptoError::KeyLength {
                algorithm: "pbkdf2",
                expected: 1024,
                found: 1025
            })
        );
    }

    /// RFC 5869 appendix A.1 and A.3.
    #[test]
    fn hkdf_with_sha224_gives_the_keys_of_another_implementation() {
        let secret = SecretBytes::new(vec![0x0b; 22]);
        let prf = SignatureAlgorithm::HmacSha224;
        for (salt, info, expected) in [
            (
                "000102030405060708090a0b0c",
                "f0f1f2f3f4f5f6f7f8f9",
                "2f21cd7cbc818ca5c561b933728e2e08e154a87e1432399a820dee13aa222d0cee6152fa539ab70f8e80",
            ),
            (
                "",
                "",
                "2a268083ea787e06604a5845f1a53544dd7847bd6fb74adfcc1178baac5a0fe74076f8935971c00c2b19",
            ),
        ] {
            let (salt, info) = (hex(salt), hex(info));
            let key = Hkdf { prf, salt, info }.derive(&secret, 42).unwrap();
            assert_eq!(key.expose(), &hex(expected));
        }
    }

    #[test]
    fn hkdf_gives_the_published_keys() {
        let secret = SecretBytes::new(vec![0x0b; 22]);
        let prf = SignatureAlgorithm::HmacSha256;
        let one = Hkdf {
            prf,
            salt: hex("000102030405060708090a0b0c"),
            info: hex("f0f1f2f3f4f5f6f7f8f9"),
        };
        assert_eq!(
            one.derive(&secret, 42).unwrap().expose(),
            &hex(
                "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
            )
        );
        let three = Hkdf {
            prf,
            salt: Vec::new(),
            info: Vec::new(),
        };
        assert_eq!(
            three.derive(&secret, 42).unwrap().expose(),
            &hex(
                "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8"
            )
        );
    }

    /// RFC 7518 appendix C: `A128GCM`, Alice and Bob.
    #[test]
    fn concat_kdf_gives_the_published_key() {
        let secret = SecretBytes::new(hex(
            "9e56d91d817135d372834283bf84269cfb316ea3da806a48f6daa7798cfe90c4",
        ));
        let other_info = [
            &[0, 0, 0, 7][..],
            b"A128GCM",
            &[0, 0, 0, 5],
            b"Alice",
            &[0, 0, 0, 3],
            b"Bob",
            &[0, 0, 0, 128],
        ]
        .concat();
        let kdf = ConcatKdf {
            digest: DigestAlgorithm::Sha256,
            other_info,
        };
        assert_eq!(
            kdf.derive(&secret, 16).unwrap().expose(),
            &hex("56aa8deaf8236d205c2228cd71a7101a")
        );
        // A longer key begins with the shorter one, and goes on with the next counter.
        let longer = kdf.derive(&secret, 70).unwrap();
        assert_eq!(
            longer.expose()[..16],
            hex("56aa8deaf8236d205c2228cd71a7101a")
        );
        assert_eq!(longer.len(), 70);
    }
}
