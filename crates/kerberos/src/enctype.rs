//! Encryption types by number (RFC 3961, 8.3; the registry of IANA).
//!
//! The one rule: a type is weak unless it is known not to be.

use std::fmt;

/// How something of Kerberos is enciphered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Enctype(pub i32);

/// Those that have names, with whether they are strong.
const NAMES: [(i32, &str, bool); 10] = [
    (1, "des-cbc-crc", false),
    (3, "des-cbc-md5", false),
    (16, "des3-cbc-sha1", false),
    (17, "aes128-cts-hmac-sha1-96", true),
    (18, "aes256-cts-hmac-sha1-96", true),
    (19, "aes128-cts-hmac-sha256-128", true),
    (20, "aes256-cts-hmac-sha384-192", true),
    (23, "arcfour-hmac", false),
    (25, "camellia128-cts-cmac", true),
    (26, "camellia256-cts-cmac", true),
];

impl Enctype {
    /// Those that are accepted unless rules say otherwise (RFC 3962, RFC 8009).
    pub const STRONG: [Self; 4] = [Self(20), Self(19), Self(18), Self(17)];

    /// The type with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut names = NAMES.iter();
        names
            .find(|(_, one, _)| *one == name)
            .map(|one| Self(one.0))
    }

    /// The names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(_, name, _)| *name)
    }

    /// Whether it is known to be broken (RFC 6649, RFC 8429), or not known at all.
    pub fn is_weak(self) -> bool {
        let mut names = NAMES.iter();
        !names.any(|(number, _, strong)| *number == self.0 && *strong)
    }
}

impl fmt::Display for Enctype {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(number, ..)| *number == self.0) {
            Some((_, name, _)) => out.write_str(name),
            None => write!(out, "number {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_broken_or_unknown_is_weak_and_what_is_accepted_is_not() {
        assert!(Enctype(23).is_weak());
        assert!(Enctype(16).is_weak());
        assert!(Enctype(-128).is_weak());
        assert!(Enctype::STRONG.into_iter().all(|one| !one.is_weak()));
        assert_eq!(Enctype::from_name("arcfour-hmac"), Some(Enctype(23)));
        assert_eq!(Enctype(18).to_string(), "aes256-cts-hmac-sha1-96");
    }
}
