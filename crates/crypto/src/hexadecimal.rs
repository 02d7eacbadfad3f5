//! Hexadecimal digits, two for each byte.
//!
//! Names, thumbprints, identifiers and keys are written so. The rule: writing gives lower case, and
//! reading takes pairs of digits of either case and nothing else.

use std::fmt::{self, Write as _};

/// Bytes that are shown as hexadecimal digits.
///
/// ```
/// use soapstone_crypto::hexadecimal::Digits;
///
/// assert_eq!(format!("serial {}", Digits(&[0x0a, 0xff])), "serial 0aff");
/// ```
#[derive(Clone, Copy)]
pub struct Digits<'a>(pub &'a [u8]);

impl fmt::Display for Digits<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

/// The digits of `bytes`, in lower case.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(2 * bytes.len());
    // Writing into a string does not fail.
    let _ = write!(text, "{}", Digits(bytes));
    text
}

/// The bytes that pairs of digits stand for. `None` for half a pair, and for anything that is not a
/// digit.
///
/// The digits may be those of a key: the vector is made as long as it gets, so that no part of it
/// stays behind in freed memory.
#[must_use]
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let (pairs, []) = text.as_bytes().as_chunks::<2>() else {
        return None;
    };
    let value = |digit: u8| char::from(digit).to_digit(16);
    let mut bytes = Vec::with_capacity(pairs.len());
    for &[high, low] in pairs {
        bytes.push(u8::try_from(value(high)? << 4 | value(low)?).ok()?);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_two_digits_of_lower_case_and_reads_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        let text = encode(&bytes);
        assert!(
            text.starts_with("000102") && text.ends_with("fdfeff"),
            "{text}"
        );
        assert_eq!(text.len(), 512);
        assert_eq!(decode(&text), Some(bytes.clone()));
        assert_eq!(decode(&text.to_uppercase()), Some(bytes));
        assert_eq!(decode(""), Some(Vec::new()));
    }

    #[test]
    fn half_a_pair_and_other_characters_are_refused() {
        for text in [
            "0", "000", "0g", "g0", "+1", " 1", "0x00", "00 ", "é", "0é0",
        ] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
