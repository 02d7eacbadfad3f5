//! Message digests, as something canonical bytes are streamed into.
//!
//! SHA-1 and SHA-2 and most of SHA-3 come from `aws-lc-rs`; MD5, RIPEMD-160 and SHA3-224 from
//! OpenSSL. A digest is compared with [`Digest::matches`], in constant time.

use std::fmt;

use aws_lc_rs::{constant_time, digest as aws};
use openssl::md_ctx::MdCtx;

use crate::algorithms::DigestAlgorithm;
use crate::error::{CryptoError, OrLibrary};
use crate::hexadecimal::Digits;
use crate::openssl_algorithms;

/// Longest digest, in bytes (SHA-512).
const LONGEST: usize = 64;

/// The result of a digest or of an HMAC: up to 64 bytes, kept inline.
#[derive(Clone, Copy)]
pub struct Digest {
    octets: [u8; LONGEST],
    length: u8,
}

impl Digest {
    pub(crate) fn new(octets: &[u8]) -> Self {
        let length = octets.len().min(LONGEST);
        let mut inline = [0; LONGEST];
        inline[..length].copy_from_slice(&octets[..length]);
        Self {
            octets: inline,
            length: length as u8,
        }
    }

    /// The first `length` bytes.
    pub(crate) fn truncated(self, length: usize) -> Self {
        Self::new(&self.as_ref()[..length.min(self.length as usize)])
    }

    /// A digest that somebody else made; `None` if no algorithm makes digests of so many bytes.
    #[must_use]
    pub fn of_octets(octets: &[u8]) -> Option<Self> {
        (octets.len() <= LONGEST).then(|| Self::new(octets))
    }

    /// Whether `expected` is this digest, compared in constant time.
    #[must_use]
    pub fn matches(&self, expected: &[u8]) -> bool {
        constant_time::verify_slices_are_equal(self.as_ref(), expected).is_ok()
    }
}

/// SHA-256, which is always there.
pub(crate) fn sha256(octets: &[u8]) -> [u8; 32] {
    let mut digest = [0; 32];
    digest.copy_from_slice(aws::digest(&aws::SHA256, octets).as_ref());
    digest
}

impl AsRef<[u8]> for Digest {
    fn as_ref(&self) -> &[u8] {
        &self.octets[..usize::from(self.length)]
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&Digits(self.as_ref()), formatter)
    }
}

/// A running digest.
///
/// ```
/// use soapstone_crypto::{DigestAlgorithm, Hasher, digest};
///
/// let mut hasher = Hasher::new(DigestAlgorithm::Sha256)?;
/// hasher.update(b"<a>");
/// hasher.update(b"</a>");
/// assert!(hasher.finish().matches(digest(DigestAlgorithm::Sha256, b"<a></a>")?.as_ref()));
/// # Ok::<(), soapstone_crypto::CryptoError>(())
/// ```
pub struct Hasher(State);

enum State {
    Aws(aws::Context),
    OpenSsl { context: MdCtx, length: usize },
}

/// The algorithm as `aws-lc-rs` has it, if it does.
pub(crate) fn aws_algorithm(algorithm: DigestAlgorithm) -> Option<&'static aws::Algorithm> {
    Some(match algorithm {
        DigestAlgorithm::Sha1 => &aws::SHA1_FOR_LEGACY_USE_ONLY,
        DigestAlgorithm::Sha224 => &aws::SHA224,
        DigestAlgorithm::Sha256 => &aws::SHA256,
        DigestAlgorithm::Sha384 => &aws::SHA384,
        DigestAlgorithm::Sha512 => &aws::SHA512,
        DigestAlgorithm::Sha3_256 => &aws::SHA3_256,
        DigestAlgorithm::Sha3_384 => &aws::SHA3_384,
        DigestAlgorithm::Sha3_512 => &aws::SHA3_512,
        DigestAlgorithm::Md5 | DigestAlgorithm::Ripemd160 | DigestAlgorithm::Sha3_224 => {
            return None;
        }
    })
}

impl Hasher {
    /// Starts a digest.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Unsupported`] for MD5, RIPEMD-160 or SHA3-224 when the installed OpenSSL was
    /// built without them; never for the others.
    pub fn new(algorithm: DigestAlgorithm) -> Result<Self, CryptoError> {
        if let Some(known) = aws_algorithm(algorithm) {
            return Ok(Self(State::Aws(aws::Context::new(known))));
        }
        let md = openssl_algorithms::md(algorithm)?;
        let mut context = MdCtx::new().or_library("starting a digest")?;
        context.digest_init(md).or_library("starting a digest")?;
        Ok(Self(State::OpenSsl {
            context,
            length: algorithm.output_length(),
        }))
    }

    /// Adds bytes.
    pub fn update(&mut self, octets: &[u8]) {
        match &mut self.0 {
            State::Aws(context) => context.update(octets),
            State::OpenSsl { context, .. } => {
                context
                    .digest_update(octets)
                    .expect("a digest that has started takes any bytes");
            }
        }
    }

    /// The digest of everything added.
    #[must_use]
    pub fn finish(self) -> Digest {
        match self.0 {
            State::Aws(context) => Digest::new(context.finish().as_ref()),
            State::OpenSsl {
                mut context,
                length,
            } => {
                let mut octets = [0; LONGEST];
                context
                    .digest_final(&mut octets)
                    .expect("a digest that has started can be finished");
                Digest::new(&octets[..length])
            }
        }
    }
}

/// The digest of bytes that lie in one place.
///
/// # Errors
///
/// As for [`Hasher::new`].
pub fn digest(algorithm: DigestAlgorithm, octets: &[u8]) -> Result<Digest, CryptoError> {
    if let Some(known) = aws_algorithm(algorithm) {
        return Ok(Digest::new(aws::digest(known, octets).as_ref()));
    }
    let mut hasher = Hasher::new(algorithm)?;
    hasher.update(octets);
    Ok(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `abc`: FIPS 180-4 and FIPS 202 example values, RFC 1321 A.5, the RIPEMD-160 paper.
    const ABC: &[(DigestAlgorithm, &str)] = &[
        (DigestAlgorithm::Md5, "900150983cd24fb0d6963f7d28e17f72"),
        (
            DigestAlgorithm::Sha1,
            "a9993e364706816aba3e25717850c26c9cd0d89d",
        ),
        (
            DigestAlgorithm::Sha224,
            "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7",
        ),
        (
            DigestAlgorithm::Sha256,
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        ),
        (
            DigestAlgorithm::Sha384,
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
        ),
        (
            DigestAlgorithm::Sha512,
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        ),
        (
            DigestAlgorithm::Ripemd160,
            "8eb208f7e05d987a9b044a8e98c6b087f15a0bfc",
        ),
        (
            DigestAlgorithm::Sha3_224,
            "e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf",
        ),
        (
            DigestAlgorithm::Sha3_256,
            "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532",
        ),
        (
            DigestAlgorithm::Sha3_384,
            "ec01498288516fc926459f58e2c6ad8df9b473cb0fc08c2596da7cf0e49be4b298d88cea927ac7f539f1edf228376d25",
        ),
        (
            DigestAlgorithm::Sha3_512,
            "b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e10e116e9192af3c91a7ec57647e3934057340b4cf408d5a56592f8274eec53f0",
        ),
    ];

    #[test]
    fn abc_has_the_published_digests_in_one_piece_and_in_three() {
        assert_eq!(ABC.len(), DigestAlgorithm::ALL.len());
        for &(algorithm, expected) in ABC {
            let whole = digest(algorithm, b"abc").unwrap();
            assert_eq!(format!("{whole:?}"), expected, "{algorithm}");
            assert_eq!(whole.as_ref().len(), algorithm.output_length());
            let mut hasher = Hasher::new(algorithm).unwrap();
            for piece in [b"a", b"b", b"c"] {
                hasher.update(piece);
            }
            assert!(hasher.finish().matches(whole.as_ref()), "{algorithm}");
        }
    }

    #[test]
    fn a_prefix_of_a_digest_does_not_match_it() {
        let whole = digest(DigestAlgorithm::Sha256, b"abc").unwrap();
        assert!(!whole.matches(&whole.as_ref()[..31]));
        assert!(!whole.matches(&[]));
    }
}
