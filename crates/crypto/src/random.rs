//! Unpredictable octets, for keys, nonces and initialization vectors.
//!
//! They come from the library's own generator, which the operating system seeds. Nothing else in the project asks for
//! randomness in another way.

use aws_lc_rs::rand;

/// Fills `destination` with random octets.
///
/// # Panics
///
/// When the operating system cannot supply randomness. There is no safe way to go on then.
pub fn fill(destination: &mut [u8]) {
    rand::fill(destination).expect("the operating system supplies randomness");
}

/// An array of random octets.
#[must_use]
pub fn bytes<const LENGTH: usize>() -> [u8; LENGTH] {
    let mut octets = [0; LENGTH];
    fill(&mut octets);
    octets
}

#[cfg(test)]
mod tests {
    #[test]
    fn two_draws_differ() {
        assert_ne!(super::bytes::<32>(), super::bytes::<32>());
    }
}
