//! `P_hash`, the pseudorandom function of TLS (RFC 5246 section 5), by which WS-SecureConversation
//! derives keys and WS-Trust computes them.

use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Sha224, Sha256, Sha384, Sha512};
use zeroize::Zeroize;

use crate::DigestAlgorithm;
use crate::error::CryptoError;
use crate::secret::SecretBytes;

/// The furthest byte of the stream that can be asked for. Keys are cut out of its first hundreds;
/// every further byte costs work that a stranger's message would ask for.
pub const P_HASH_LIMIT: usize = 4096;

/// `P_SHA1` (WS-SecureConversation 1.4, 7; WS-Trust 1.4, 4.4.4) or the same function with SHA-256.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PHash {
    /// The digest below the HMAC: SHA-1 or SHA-2.
    pub digest: DigestAlgorithm,
}

impl PHash {
    /// The function of WS-SecureConversation and the default of WS-Trust.
    pub const SHA1: Self = Self {
        digest: DigestAlgorithm::Sha1,
    };
    /// The function with SHA-256.
    pub const SHA256: Self = Self {
        digest: DigestAlgorithm::Sha256,
    };

    /// Cuts `length` bytes out of the stream, starting with byte `offset`. `seed` is given in
    /// pieces that are put together.
    ///
    /// # Errors
    /// [`CryptoError::KeyLength`] if `offset + length` is beyond [`P_HASH_LIMIT`], or `length` is
    /// 0; [`CryptoError::Unsupported`] for other digests than SHA-1 and SHA-2.
    pub fn derive(
        self,
        secret: &[u8],
        seed: &[&[u8]],
        offset: usize,
        length: usize,
    ) -> Result<SecretBytes, CryptoError> {
        let end = offset
            .checked_add(length)
            .filter(|end| *end <= P_HASH_LIMIT && length > 0)
            .ok_or(CryptoError::KeyLength {
                algorithm: "p_hash",
                expected: P_HASH_LIMIT,
                found: offset.saturating_add(length),
            })?;
        let stream = match self.digest {
            DigestAlgorithm::Sha1 => stream::<Hmac<Sha1>>,
            DigestAlgorithm::Sha224 => stream::<Hmac<Sha224>>,
            DigestAlgorithm::Sha256 => stream::<Hmac<Sha256>>,
            DigestAlgorithm::Sha384 => stream::<Hmac<Sha384>>,
            DigestAlgorithm::Sha512 => stream::<Hmac<Sha512>>,
            _ => {
                return Err(CryptoError::Unsupported {
                    what: format!("P_hash with {}", self.digest),
                });
            }
        };
        stream(secret, seed, offset, end)
    }
}

/// The bytes from `offset` to before `end`. Every block takes two codes over few bytes, so that a
/// key is set up once and copied.
fn stream<M: Mac + KeyInit + Clone>(
    secret: &[u8],
    seed: &[&[u8]],
    offset: usize,
    end: usize,
) -> Result<SecretBytes, CryptoError> {
    // HMAC takes keys of any length.
    let key = M::new_from_slice(secret).map_err(|_| CryptoError::KeyLength {
        algorithm: "p_hash",
        expected: M::output_size(),
        found: secret.len(),
    })?;
    let code = |state: &[u8], seed: &[&[u8]]| {
        let mut code = key.clone();
        code.update(state);
        for piece in seed {
            code.update(piece);
        }
        code.finalize().into_bytes()
    };
    let mut octets = SecretBytes::new(Vec::with_capacity(end - offset));
    let mut state = code(&[], seed);
    let mut position = 0;
    loop {
        // A block before the offset is only counted: the state does not depend on it.
        let block_length = state.len();
        if position + block_length > offset {
            let mut block = code(&state, seed);
            let from = offset.saturating_sub(position);
            let to = block_length.min(end - position);
            octets.expose_mut().extend_from_slice(&block[from..to]);
            block.as_mut_slice().zeroize();
        }
        position += block_length;
        if position >= end {
            return Ok(octets);
        }
        state = code(&state, &[]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;

    /// The example for the SHA-256 function that was posted to the IETF's TLS working group in 2009
    /// with the text of RFC 5246.
    #[test]
    fn p_sha256_gives_the_published_octets() {
        let secret = hex("9bbe436ba940f017b17652849a71db35");
        let seed = hex("a0ba9f936cda311827a6f796ffd5198c");
        let expected = hex(
            "e3f229ba727be17b8d122620557cd453c2aab21d07c3d495329b52d4e61edb5a6b301791e90d35c9c9a46b4e14baf9af",
        );
        let seed: [&[u8]; 2] = [b"test label", &seed];
        let all = PHash::SHA256.derive(&secret, &seed, 0, 48).unwrap();
        assert_eq!(all.expose(), &expected);
        for (offset, length) in [(0, 1), (31, 2), (32, 16), (33, 7), (16, 32)] {
            let cut = PHash::SHA256
                .derive(&secret, &seed, offset, length)
                .unwrap();
            assert_eq!(
                cut.expose(),
                &expected[offset..offset + length],
                "{offset}+{length}"
            );
        }
    }

    #[test]
    fn what_lies_beyond_the_limit_is_refused_before_work_is_done() {
        for (offset, length) in [
            (0, 0),
            (P_HASH_LIMIT, 1),
            (usize::MAX, 16),
            (0, P_HASH_LIMIT + 1),
        ] {
            let refused = PHash::SHA1.derive(b"secret", &[b"seed"], offset, length);
            assert!(
                matches!(refused, Err(CryptoError::KeyLength { .. })),
                "{offset}+{length}"
            );
        }
        assert!(
            PHash::SHA1
                .derive(b"secret", &[b"seed"], P_HASH_LIMIT - 16, 16)
                .is_ok()
        );
    }
}
