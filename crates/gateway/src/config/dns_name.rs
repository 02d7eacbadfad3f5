//! Names of DNS.
//!
//! The rule kept here: a name has letters, digits, `-` and `_` alone, 63 of them in a label and 253
//! in all (RFC 1035, section 2.3.4). Nothing else gets into logs and metrics.

use std::fmt;

/// Most characters of a name: 255 bytes in a message.
pub(crate) const LONGEST: usize = 253;

/// A name in lower case, without the dot at its end. The root has no characters.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct DnsName(String);

impl DnsName {
    /// Reads a name as people write it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let text = text.strip_suffix('.').unwrap_or(text);
        let is_label =
            |label: &str| (1..=63).contains(&label.len()) && label.bytes().all(is_character);
        let is_name = text.len() <= LONGEST && text.split('.').all(is_label);
        is_name.then(|| Self(text.to_ascii_lowercase()))
    }

    /// The root, which as a target says that there is no service (RFC 2782).
    pub(crate) fn root() -> Self {
        Self(String::new())
    }

    /// Whether it is the root.
    pub(crate) fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// Its labels.
    pub(crate) fn labels(&self) -> impl Iterator<Item = &str> {
        self.0.split('.').filter(|label| !label.is_empty())
    }
}

impl fmt::Display for DnsName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.is_root() {
            true => out.write_str("."),
            false => out.write_str(&self.0),
        }
    }
}

/// Whether a name may have that character.
pub(crate) fn is_character(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_their_bounds() {
        let label = "a".repeat(63);
        let longest = format!("{label}.{label}.{label}.{}", "b".repeat(61));
        assert_eq!(longest.len(), 253);
        assert!(DnsName::parse(&longest).is_some());
        for wrong in [
            "",
            ".",
            "a..b",
            ".a",
            &"a".repeat(64),
            &format!("{longest}c"),
            "a b",
            "a\u{1b}[2J",
            "ä.example",
            "a/b",
        ] {
            assert_eq!(DnsName::parse(wrong), None, "{wrong:?}");
        }
    }
}
