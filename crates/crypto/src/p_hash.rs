//! `P_hash`, the pseudorandom function of TLS (RFC 5246 section 5), by which WS-SecureConversation derives keys and WS-Trust
//! computes them.

use aws_lc_rs::hmac;

use crate::DigestAlgorithm;
use crate::error::CryptoError;
use crate::mac::aws_algorithm;
use crate::secret::SecretBytes;

/// The furthest octet of the stream that can be asked for. Keys are cut out of its first hundreds; every further octet costs work
/// that a stranger's message would ask for.
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

    /// Cuts `length` octets out of the stream, starting with octet `offset`. `seed` is given in pieces that are put together.
    ///
    /// # Errors
    /// [`CryptoError::KeyLength`] if `offset + length` is beyond [`P_HASH_LIMIT`], or `length` is 0; [`CryptoError::Unsupported`] for
    /// other digests than SHA-1 and SHA-2.
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
        let algorithm = aws_algorithm(self.digest).ok_or_else(|| CryptoError::Unsupported {
            what: format!("P_hash with {}", self.digest),
        })?;
        let key = hmac::Key::new(algorithm, secret);
        let code = |state: Option<&hmac::Tag>, seed: &[&[u8]]| {
            let mut context = hmac::Context::with_key(&key);
            if let Some(state) = state {
                context.update(state.as_ref());
            }
            for piece in seed {
                context.update(piece);
            }
            context.sign()
        };
        let mut octets = SecretBytes::new(Vec::with_capacity(length));
        let mut state = code(None, seed);
        let mut position = 0;
        loop {
            // A block before the offset is only counted: the state does not depend on it.
            let block_length = state.as_ref().len();
            if position + block_length > offset {
                let block = code(Some(&state), seed);
                let from = offset.saturating_sub(position);
                let to = block_length.min(end - position);
                octets
                    .expose_mut()
                    .extend_from_slice(&block.as_ref()[from..to]);
            }
            position += block_length;
            if position >= end {
                return Ok(octets);
            }
            state = code(Some(&state), &[]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hex;

    /// The example for the SHA-256 function that was posted to the IETF's TLS working group in 2009 with the text of RFC 5246.
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
