//! Names that nobody else gives: of contexts, instances, messages and elements.
//!
//! The one rule: they come from 128 random bits of this process, never from a message, so that
//! nobody can fix a name beforehand.

use std::fmt::Write as _;

use soapstone_crypto::hexadecimal::Digits;
use soapstone_crypto::random;

/// A random UUID (RFC 9562, version 4).
pub(crate) fn uuid() -> String {
    let mut octets = random::bytes::<16>();
    octets[6] = octets[6] & 0x0f | 0x40;
    octets[8] = octets[8] & 0x3f | 0x80;
    let mut text = String::with_capacity(36);
    for (at, octet) in octets.iter().enumerate() {
        if matches!(at, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        // Writing into a string does not fail.
        let _ = write!(text, "{}", Digits(&[*octet]));
    }
    text
}

/// A random UUID as a URN.
pub(crate) fn uuid_urn() -> String {
    format!("urn:uuid:{}", uuid())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_random_uuids() {
        let (one, two) = (uuid(), uuid());
        assert_ne!(one, two);
        assert_eq!(one.len(), 36);
        assert_eq!(one.as_bytes()[14], b'4');
        assert!(matches!(one.as_bytes()[19], b'8' | b'9' | b'a' | b'b'));
        assert!(uuid_urn().starts_with("urn:uuid:"));
    }
}
