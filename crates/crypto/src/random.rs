//! Unpredictable bytes, for keys, nonces and initialization vectors.
//!
//! They come from the library's own generator, which the operating system seeds. Nothing else in
//! the project asks for randomness in another way.

use aws_lc_rs::rand;

/// Fills `destination` with random bytes.
///
/// # Panics
///
/// When the operating system cannot supply randomness. There is no safe way to go on then.
pub fn fill(destination: &mut [u8]) {
    rand::fill(destination).expect("the operating system supplies randomness");
}

/// An array of random bytes.
#[must_use]
pub fn bytes<const LENGTH: usize>() -> [u8; LENGTH] {
    let mut octets = [0; LENGTH];
    fill(&mut octets);
    octets
}

/// Most bytes that a [`Supply`] draws at once.
const AT_ONCE: usize = 128;

/// Random bytes of one message that everybody may see: nonces, initialization vectors, parts of
/// ids.
///
/// A draw of eight bytes takes as long as one of a hundred (about half a microsecond: locks, the
/// processor's own generator, a step of the library's), and a message needs several. What was drawn
/// for one message is never used for the next one, so that a copy of this process or its machine
/// repeats no more than it would without. Secrets are not taken from here:
/// [`SymmetricKey`](crate::SymmetricKey) draws its own, which are wiped.
///
/// ```
/// use soapstone_crypto::random::Supply;
///
/// let mut supply = Supply::of(28);
/// let nonce: [u8; 16] = supply.bytes();
/// let vector: [u8; 12] = supply.bytes();
/// assert_ne!(nonce[..12], vector);
/// ```
pub struct Supply {
    octets: [u8; AT_ONCE],
    /// Those in `octets` that were not yet given.
    left: std::ops::Range<usize>,
    /// How many are drawn at once.
    expected: usize,
}

impl Default for Supply {
    /// Each request draws its own.
    fn default() -> Self {
        Self::of(0)
    }
}

impl Supply {
    /// A supply for somebody who will ask for about so many bytes, at most 128 of which are drawn
    /// at once, when the first are needed.
    #[must_use]
    pub fn of(expected: usize) -> Self {
        Self {
            octets: [0; AT_ONCE],
            left: 0..0,
            expected: expected.min(AT_ONCE),
        }
    }

    /// Fills `destination` with bytes that nobody got before.
    ///
    /// # Panics
    ///
    /// As [`fill`].
    pub fn fill(&mut self, destination: &mut [u8]) {
        if self.left.len() < destination.len() {
            if self.expected < destination.len() {
                return fill(destination);
            }
            self.left = 0..self.expected;
            fill(&mut self.octets[self.left.clone()]);
        }
        let taken = self.left.start..self.left.start + destination.len();
        self.left.start = taken.end;
        destination.copy_from_slice(&self.octets[taken]);
    }

    /// An array of bytes that nobody got before.
    #[must_use]
    pub fn bytes<const LENGTH: usize>(&mut self) -> [u8; LENGTH] {
        let mut octets = [0; LENGTH];
        self.fill(&mut octets);
        octets
    }
}

#[cfg(test)]
mod tests {
    use super::{AT_ONCE, Supply};

    #[test]
    fn a_supply_gives_nothing_twice() {
        for expected in [0, 1, 8, 24, 40, AT_ONCE, 2 * AT_ONCE] {
            let mut supply = Supply::of(expected);
            let mut given: Vec<[u8; 8]> = Vec::new();
            for _ in 0..20 {
                given.push(supply.bytes());
                let pair: [u8; 16] = supply.bytes();
                given.extend(pair.as_chunks().0);
                let many: [u8; AT_ONCE + 8] = supply.bytes();
                given.extend(many.as_chunks().0);
            }
            let all = given.len();
            given.sort_unstable();
            given.dedup();
            assert_eq!(given.len(), all, "expected {expected}");
        }
    }

    #[test]
    fn two_draws_differ() {
        assert_ne!(super::bytes::<32>(), super::bytes::<32>());
    }
}
