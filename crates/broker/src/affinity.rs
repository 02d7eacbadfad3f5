//! Calls that belong together go to the same backend.
//!
//! The backend of a key is found by rendezvous hashing with weights (Thaler, Ravishankar: Using
//! Name-Based Mappings to Increase Hit Rates, 1998): each backend has a score for the key, and the
//! highest score wins. A backend that leaves takes away its own keys alone. There is no table, so
//! that all nodes of a cluster choose alike, and a restart changes nothing.
//!
//! The rule kept here: the score depends on the key and the backend's name, and on nothing of the
//! process.

use crate::dice::mixed;

/// Names the calls that belong together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Affinity(u64);

impl Affinity {
    /// The key of calls with those bytes in common: an address, a name, a conversation.
    pub fn of(bytes: &[u8]) -> Self {
        Self(hash(bytes))
    }

    /// The score of the backend with that name.
    pub(crate) fn score(self, name: &str, weight: u64) -> f64 {
        let drawn = mixed(self.0 ^ hash(name.as_bytes()));
        // In the middle of its interval, so that the logarithm is finite and below zero.
        let drawn = ((drawn >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
        -(weight as f64) / drawn.ln()
    }
}

/// FNV-1a of 64 bits, mixed: the last bytes of FNV hardly reach its upper bits.
fn hash(bytes: &[u8]) -> u64 {
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    mixed(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 3] = ["10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"];

    fn best(key: u32, names: &[(&'static str, u64)]) -> &'static str {
        let affinity = Affinity::of(&key.to_be_bytes());
        let scored = names.iter().max_by(|(one, of_one), (other, of_other)| {
            let scores = (
                affinity.score(one, *of_one),
                affinity.score(other, *of_other),
            );
            scores.0.total_cmp(&scores.1)
        });
        scored.expect("there are names").0
    }

    #[test]
    fn a_backend_that_leaves_takes_its_own_keys_alone() {
        let all = NAMES.map(|name| (name, 1));
        let rest = &all[1..];
        for key in 0..1000 {
            let before = best(key, &all);
            if before != NAMES[0] {
                assert_eq!(best(key, rest), before, "key {key}");
            }
        }
    }

    #[test]
    fn keys_are_shared_by_weight() {
        let weights = [(NAMES[0], 1), (NAMES[1], 1), (NAMES[2], 2)];
        let heavy = (0..4000).filter(|key| best(*key, &weights) == NAMES[2]);
        let heavy = heavy.count();
        assert!((1850..2150).contains(&heavy), "{heavy} of 4000");
    }
}
