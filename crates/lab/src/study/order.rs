//! Orders drawn by chance that is the same everywhere: SplitMix64 and the shuffle of Fisher and
//! Yates.
//!
//! The rule kept here: a seed gives the same orders on every machine.

/// Draws orders, and whatever else has to be left to chance.
#[derive(Clone, Debug)]
pub struct Order(pub(super) u64);

impl Order {
    /// As this seed decides.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A number from 0 up to 1, without it.
    pub fn share(&mut self) -> f64 {
        // As many bits as the fraction of an f64 has.
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which is not 0. Of the few that are asked for, the remainder favours
    /// none by more than one in 2^40.
    pub(super) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    /// Puts the items in a new order.
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }
}
