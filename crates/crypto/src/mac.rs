//! Message authentication with a shared key: HMAC (RFC 2104, XML-DSig 1.1 section 6.3).
//!
//! The key is always a [`SymmetricKey`], so a public key found in a message can never be taken for
//! one. A code may be cut shorter by `HMACOutputLength`; [`MacTruncation::new`] refuses what is
//! shorter than 80 bits or half of the digest (XML-DSig 1.1 section 6.3.1, CVE-2009-0217).

use aws_lc_rs::{constant_time, hmac as aws};

use crate::algorithms::{DigestAlgorithm, SignatureAlgorithm, SignatureFamily};
use crate::digest::{Digest, Hasher};
use crate::error::CryptoError;
use crate::key::SymmetricKey;

/// Fewest bits of a truncated code, whatever the digest (XML-DSig 1.1 section 6.3.1).
const FLOOR: u32 = 80;

/// How many bits of an HMAC are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MacTruncation {
    octets: usize,
}

impl MacTruncation {
    /// Keeps the first `bits` bits: at least 80 and at least half of the digest, at most all of it,
    /// in whole bytes.
    ///
    /// # Errors
    ///
    /// [`CryptoError::MacLength`] for any other number, [`CryptoError::WrongFamily`] if `algorithm`
    /// is not an HMAC.
    pub fn new(algorithm: SignatureAlgorithm, bits: u32) -> Result<Self, CryptoError> {
        let maximum = output_bits(algorithm)?;
        Self::checked(bits, FLOOR.max(maximum / 2), maximum)
    }

    /// Keeps the first `bits` bits, however few.
    ///
    /// For examining documents by hand: a code of 8 bits is guessed in 256 attempts.
    ///
    /// # Errors
    ///
    /// [`CryptoError::MacLength`] when that is no whole number of bytes, none at all, or more than
    /// there are; [`CryptoError::WrongFamily`] if `algorithm` is not an HMAC.
    pub fn forgeable(algorithm: SignatureAlgorithm, bits: u32) -> Result<Self, CryptoError> {
        Self::checked(bits, 8, output_bits(algorithm)?)
    }

    fn checked(bits: u32, minimum: u32, maximum: u32) -> Result<Self, CryptoError> {
        if !bits.is_multiple_of(8) || bits < minimum || bits > maximum {
            return Err(CryptoError::MacLength {
                bits,
                minimum,
                maximum,
            });
        }
        Ok(Self {
            octets: (bits / 8) as usize,
        })
    }

    /// The number of bits kept.
    #[must_use]
    pub const fn bits(self) -> u32 {
        self.octets as u32 * 8
    }
}

fn output_bits(algorithm: SignatureAlgorithm) -> Result<u32, CryptoError> {
    Ok(digest_of(algorithm)?.output_length() as u32 * 8)
}

fn digest_of(algorithm: SignatureAlgorithm) -> Result<DigestAlgorithm, CryptoError> {
    match (algorithm.family(), algorithm.digest()) {
        (SignatureFamily::Hmac, Some(digest)) => Ok(digest),
        _ => Err(CryptoError::WrongFamily {
            operation: algorithm.short_name(),
            expected: "a key pair, not a shared key",
        }),
    }
}

impl SymmetricKey {
    /// The authentication code of `message`.
    ///
    /// # Errors
    ///
    /// [`CryptoError::WrongFamily`] if `algorithm` is not an HMAC; [`CryptoError::Unsupported`] for
    /// MD5 and RIPEMD-160 when the installed OpenSSL has been built without them.
    pub fn sign(
        &self,
        algorithm: SignatureAlgorithm,
        message: &[u8],
        truncation: Option<MacTruncation>,
    ) -> Result<Digest, CryptoError> {
        let digest = digest_of(algorithm)?;
        let code = match aws_algorithm(digest) {
            Some(known) => self.schedules().mac.with(
                digest,
                || Ok(aws::Key::new(known, self.expose())),
                |key| Ok(Digest::new(aws::sign(key, message).as_ref())),
            )?,
            None => with_any_digest(digest, self.expose(), message)?,
        };
        Ok(truncation.map_or(code, |truncation| code.truncated(truncation.octets)))
    }

    /// Checks the authentication code of `message` in constant time.
    ///
    /// # Errors
    ///
    /// [`CryptoError::BadSignature`] if it does not match in every bit and in length; otherwise as
    /// for [`sign`](Self::sign).
    pub fn verify(
        &self,
        algorithm: SignatureAlgorithm,
        message: &[u8],
        code: &[u8],
        truncation: Option<MacTruncation>,
    ) -> Result<(), CryptoError> {
        let expected = self.sign(algorithm, message, truncation)?;
        constant_time::verify_slices_are_equal(expected.as_ref(), code)
            .map_err(|_| CryptoError::BadSignature)
    }
}

/// HMAC as `aws-lc-rs` has it, if it does.
fn aws_algorithm(digest: DigestAlgorithm) -> Option<aws::Algorithm> {
    Some(match digest {
        DigestAlgorithm::Sha1 => aws::HMAC_SHA1_FOR_LEGACY_USE_ONLY,
        DigestAlgorithm::Sha224 => aws::HMAC_SHA224,
        DigestAlgorithm::Sha256 => aws::HMAC_SHA256,
        DigestAlgorithm::Sha384 => aws::HMAC_SHA384,
        DigestAlgorithm::Sha512 => aws::HMAC_SHA512,
        _ => return None,
    })
}

/// HMAC as RFC 2104 writes it down, for MD5 and RIPEMD-160 (both have blocks of 64 bytes).
fn with_any_digest(
    digest: DigestAlgorithm,
    key: &[u8],
    message: &[u8],
) -> Result<Digest, CryptoError> {
    const BLOCK: usize = 64;
    let mut block = zeroize::Zeroizing::new([0_u8; BLOCK]);
    if key.len() > BLOCK {
        let short = crate::digest::digest(digest, key)?;
        block[..short.as_ref().len()].copy_from_slice(short.as_ref());
    } else {
        block[..key.len()].copy_from_slice(key);
    }
    let pass = |pad: u8, message: &[u8]| {
        let mut hasher = Hasher::new(digest)?;
        hasher.update(&zeroize::Zeroizing::new(block.map(|octet| octet ^ pad))[..]);
        hasher.update(message);
        Ok(hasher.finish())
    };
    pass(0x5c, pass(0x36, message)?.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(octets: &[u8]) -> SymmetricKey {
        SymmetricKey::new(octets.to_vec()).unwrap()
    }

    /// RFC 2202 (MD5, SHA-1), RFC 2286 (RIPEMD-160), RFC 4231: key `Jefe`.
    const JEFE: &[(SignatureAlgorithm, &str)] = &[
        (
            SignatureAlgorithm::HmacMd5,
            "750c783e6ab0b503eaa86e310a5db738",
        ),
        (
            SignatureAlgorithm::HmacRipemd160,
            "dda6c0213a485a9e24f4742064a7f033b43c4069",
        ),
        (
            SignatureAlgorithm::HmacSha1,
            "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79",
        ),
        (
            SignatureAlgorithm::HmacSha224,
            "a30e01098bc6dbbf45690f3a7e9e6d0f8bbea2a39e6148008fd05e44",
        ),
        (
            SignatureAlgorithm::HmacSha256,
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
        ),
        (
            SignatureAlgorithm::HmacSha384,
            "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649",
        ),
        (
            SignatureAlgorithm::HmacSha512,
            "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
        ),
    ];

    #[test]
    fn the_examples_of_the_rfcs_hold() {
        let message = b"what do ya want for nothing?";
        for &(algorithm, expected) in JEFE {
            let code = key(b"Jefe").sign(algorithm, message, None).unwrap();
            assert_eq!(format!("{code:?}"), expected, "{algorithm}");
            assert_eq!(
                key(b"Jefe").verify(algorithm, message, code.as_ref(), None),
                Ok(())
            );
        }
    }

    #[test]
    fn a_key_longer_than_the_block_is_digested_first() {
        let message = b"Test Using Larger Than Block-Size Key - Hash Key First";
        let code = key(&[0xaa; 80])
            .sign(SignatureAlgorithm::HmacMd5, message, None)
            .unwrap();
        assert_eq!(format!("{code:?}"), "6b1ab7fe4bd7bf8f0b62e6ce61b9d0cd");
    }

    #[test]
    fn a_code_cut_below_half_of_the_digest_or_eighty_bits_is_refused() {
        for (algorithm, minimum, maximum) in [
            (SignatureAlgorithm::HmacSha1, 80, 160),
            (SignatureAlgorithm::HmacSha256, 128, 256),
            (SignatureAlgorithm::HmacSha512, 256, 512),
        ] {
            for bits in [0, 8, minimum - 8, minimum + 1, maximum + 8, u32::MAX] {
                assert_eq!(
                    MacTruncation::new(algorithm, bits),
                    Err(CryptoError::MacLength {
                        bits,
                        minimum,
                        maximum
                    })
                );
            }
            assert_eq!(
                MacTruncation::new(algorithm, minimum).unwrap().bits(),
                minimum
            );
            assert_eq!(
                MacTruncation::new(algorithm, maximum).unwrap().bits(),
                maximum
            );
        }
        assert_eq!(
            MacTruncation::forgeable(SignatureAlgorithm::HmacSha1, 40)
                .unwrap()
                .bits(),
            40
        );
        assert_eq!(
            MacTruncation::forgeable(SignatureAlgorithm::HmacSha1, 0),
            Err(CryptoError::MacLength {
                bits: 0,
                minimum: 8,
                maximum: 160
            })
        );
    }

    #[test]
    fn a_code_must_have_exactly_the_agreed_length() {
        let algorithm = SignatureAlgorithm::HmacSha256;
        let shared = key(b"shared");
        let full = shared.sign(algorithm, b"m", None).unwrap();
        let cut = Some(MacTruncation::new(algorithm, 128).unwrap());
        assert_eq!(
            shared.verify(algorithm, b"m", &full.as_ref()[..16], cut),
            Ok(())
        );
        let bad = Err(CryptoError::BadSignature);
        assert_eq!(
            shared.verify(algorithm, b"m", &full.as_ref()[..16], None),
            bad
        );
        assert_eq!(shared.verify(algorithm, b"m", full.as_ref(), cut), bad);
        assert_eq!(shared.verify(algorithm, b"m", &[], cut), bad);
        assert_eq!(shared.verify(algorithm, b"n", full.as_ref(), None), bad);
    }

    #[test]
    fn a_shared_key_does_not_make_rsa_signatures() {
        assert_eq!(
            key(b"shared").verify(SignatureAlgorithm::RsaSha256, b"m", b"", None),
            Err(CryptoError::WrongFamily {
                operation: "rsa-sha256",
                expected: "a key pair, not a shared key"
            })
        );
    }
}
