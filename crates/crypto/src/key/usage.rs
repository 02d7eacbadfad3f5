//! How much a key has enciphered, and how much it may (limits on key usage).
//!
//! Two limits are published. Under AES-GCM with random initialization vectors of 96 bits, a key
//! enciphers at most 2^32 messages: one vector that occurs twice gives away the plaintexts of both
//! and the authentication key (NIST SP 800-38D section 8.3). Under Triple DES, a key enciphers at
//! most 2^20 blocks of 64 bits (NIST SP 800-67 Rev. 2 section 3.3): blocks that are equal give away
//! their plaintexts (CVE-2016-2183). The rule: what is taken from the limit is taken before the
//! first block is enciphered, and counts also if nothing comes of it.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::algorithms::DataEncryption;
use crate::error::CryptoError;

/// Most messages under AES-GCM (NIST SP 800-38D section 8.3).
pub const GCM_MESSAGES: u64 = 1 << 32;

/// Most blocks under Triple DES (NIST SP 800-67 Rev. 2 section 3.3).
pub const TRIPLE_DES_BLOCKS: u64 = 1 << 20;

/// Bytes of a block of Triple DES.
const TRIPLE_DES_BLOCK: u64 = 8;

/// How much a key has enciphered under the algorithms that have a limit.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CipherUsage {
    /// Messages under AES-GCM.
    pub gcm_messages: u64,
    /// Blocks under Triple DES.
    pub triple_des_blocks: u64,
}

impl CipherUsage {
    /// The part of its limit that is used, from 0 to 1: of the algorithm that has come nearer to
    /// it.
    #[must_use]
    pub fn ratio(self) -> f64 {
        let gcm = self.gcm_messages as f64 / GCM_MESSAGES as f64;
        let triple_des = self.triple_des_blocks as f64 / TRIPLE_DES_BLOCKS as f64;
        gcm.max(triple_des)
    }
}

/// Counts what one key enciphers.
#[derive(Default)]
pub(crate) struct UsageCounter {
    gcm_messages: AtomicU64,
    triple_des_blocks: AtomicU64,
}

impl UsageCounter {
    /// Takes one message of `length` bytes from the limit.
    pub(crate) fn take(&self, algorithm: DataEncryption, length: usize) -> Result<(), CryptoError> {
        let (counter, amount, limit, unit) = if algorithm.is_authenticated() {
            (&self.gcm_messages, 1, GCM_MESSAGES, "messages")
        } else if algorithm == DataEncryption::TripleDesCbc {
            // The padding is a byte at least.
            let blocks = length as u64 / TRIPLE_DES_BLOCK + 1;
            (&self.triple_des_blocks, blocks, TRIPLE_DES_BLOCKS, "blocks")
        } else {
            return Ok(());
        };
        let within = |used: u64| used.checked_add(amount).filter(|used| *used <= limit);
        counter
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, within)
            .map(drop)
            .map_err(|_| CryptoError::KeyUsedUp {
                algorithm: algorithm.short_name(),
                limit,
                unit,
            })
    }

    pub(crate) fn add(&self, usage: CipherUsage) {
        for (counter, amount) in [
            (&self.gcm_messages, usage.gcm_messages),
            (&self.triple_des_blocks, usage.triple_des_blocks),
        ] {
            counter.fetch_add(amount, Ordering::Relaxed);
        }
    }

    pub(crate) fn so_far(&self) -> CipherUsage {
        CipherUsage {
            gcm_messages: self.gcm_messages.load(Ordering::Relaxed),
            triple_des_blocks: self.triple_des_blocks.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cipher;
    use crate::key::SymmetricKey;

    fn used_up(algorithm: &'static str, limit: u64, unit: &'static str) -> CryptoError {
        CryptoError::KeyUsedUp {
            algorithm,
            limit,
            unit,
        }
    }

    #[test]
    fn a_key_enciphers_so_many_messages_with_gcm_and_no_more() {
        for (algorithm, name) in [
            (DataEncryption::Aes128Gcm, "aes128-gcm"),
            (DataEncryption::Aes256Gcm, "aes256-gcm"),
        ] {
            let key = SymmetricKey::generate(algorithm.key_length()).unwrap();
            key.count_as_used(CipherUsage {
                gcm_messages: GCM_MESSAGES - 2,
                ..CipherUsage::default()
            });
            let same = key.clone();
            let first = cipher::seal(algorithm, &key, b"plain").unwrap();
            cipher::seal(algorithm, &same, b"plain").unwrap();
            let refused = cipher::seal(algorithm, &key, b"plain");
            assert_eq!(refused, Err(used_up(name, GCM_MESSAGES, "messages")));
            assert_eq!(key.usage().gcm_messages, GCM_MESSAGES);
            assert_eq!(key.usage().ratio(), 1.0);
            // What was enciphered is deciphered all the same.
            assert_eq!(cipher::open(algorithm, &key, &first), Ok(b"plain".to_vec()));
        }
    }

    #[test]
    fn a_key_enciphers_so_many_blocks_with_triple_des_and_no_more() {
        let algorithm = DataEncryption::TripleDesCbc;
        let key = SymmetricKey::generate(algorithm.key_length()).unwrap();
        cipher::seal(algorithm, &key, &[7; 16]).unwrap();
        assert_eq!(key.usage().triple_des_blocks, 3);
        key.count_as_used(CipherUsage {
            triple_des_blocks: TRIPLE_DES_BLOCKS - 5,
            ..CipherUsage::default()
        });
        let refused = cipher::seal(algorithm, &key, &[7; 16]);
        assert_eq!(
            refused,
            Err(used_up("tripledes-cbc", TRIPLE_DES_BLOCKS, "blocks"))
        );
        cipher::seal(algorithm, &key, &[7; 15]).unwrap();
        assert_eq!(key.usage().triple_des_blocks, TRIPLE_DES_BLOCKS);
    }

    #[test]
    fn a_single_message_is_not_longer_than_the_limit_either() {
        let algorithm = DataEncryption::TripleDesCbc;
        let key = SymmetricKey::generate(algorithm.key_length()).unwrap();
        let refused = cipher::seal(algorithm, &key, &vec![0; 8 << 20]);
        assert_eq!(
            refused,
            Err(used_up("tripledes-cbc", TRIPLE_DES_BLOCKS, "blocks"))
        );
        assert_eq!(key.usage(), CipherUsage::default());
    }

    #[test]
    fn aes_in_cbc_has_no_limit() {
        let algorithm = DataEncryption::Aes128Cbc;
        let key = SymmetricKey::generate(algorithm.key_length()).unwrap();
        cipher::seal(algorithm, &key, b"plain").unwrap();
        assert_eq!(key.usage(), CipherUsage::default());
    }

    #[test]
    fn the_part_that_is_used_is_that_of_the_nearer_limit() {
        let usage = CipherUsage {
            gcm_messages: GCM_MESSAGES / 4,
            triple_des_blocks: TRIPLE_DES_BLOCKS / 2,
        };
        assert_eq!(usage.ratio(), 0.5);
    }
}
