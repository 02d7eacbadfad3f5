//! Chance for choices.
//!
//! The rule kept here: the numbers come from a seed alone, so that a test repeats them. They
//! protect nothing; keys never come from here.

use std::sync::atomic::{AtomicU64, Ordering};

/// The golden ratio as a fraction of 2^64: the step of `SplitMix64` (Steele, Lea, Flood: Fast
/// Splittable Pseudorandom Number Generators, 2014).
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A source of numbers, which several threads may share.
#[derive(Debug)]
pub struct Dice(AtomicU64);

impl Dice {
    /// A source with that seed.
    pub fn new(seed: u64) -> Self {
        Self(AtomicU64::new(seed))
    }

    /// The next number.
    pub(crate) fn roll(&self) -> u64 {
        mixed(self.0.fetch_add(STEP, Ordering::Relaxed).wrapping_add(STEP))
    }

    /// The next number below `bound`, which is at least 1.
    pub(crate) fn below(&self, bound: u64) -> u64 {
        // The upper half of the product: a bias of less than bound / 2^64.
        let product = u128::from(self.roll()) * u128::from(bound);
        (product >> 64) as u64
    }
}

/// Spreads a number over all 64 bits.
pub(crate) fn mixed(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_numbers_of_the_paper() {
        let dice = Dice::new(1_234_567);
        let first = [dice.roll(), dice.roll(), dice.roll()];
        // Those of the reference implementation (splitmix64.c of Sebastiano Vigna).
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn numbers_below_a_bound_reach_all_of_them() {
        let dice = Dice::new(1);
        let mut found = [0_u32; 3];
        for _ in 0..300 {
            found[usize::try_from(dice.below(3)).expect("below 3")] += 1;
        }
        assert!(
            found.iter().all(|count| (70..130).contains(count)),
            "{found:?}"
        );
    }
}
