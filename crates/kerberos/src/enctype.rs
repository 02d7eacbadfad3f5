//! Encryption types by number (RFC 3961, 8.3; the registry of IANA).
//!
//! The one rule: a type that nobody names is not accepted.

use std::fmt;

/// How something of Kerberos is enciphered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Enctype(pub i32);

/// Those that have names.
const NAMES: [(i32, &str); 10] = [
    (1, "des-cbc-crc"),
    (3, "des-cbc-md5"),
    (16, "des3-cbc-sha1"),
    (17, "aes128-cts-hmac-sha1-96"),
    (18, "aes256-cts-hmac-sha1-96"),
    (19, "aes128-cts-hmac-sha256-128"),
    (20, "aes256-cts-hmac-sha384-192"),
    (23, "arcfour-hmac"),
    (25, "camellia128-cts-cmac"),
    (26, "camellia256-cts-cmac"),
];

impl Enctype {
    /// Those that are accepted unless rules say otherwise (RFC 3962, RFC 8009). DES, Triple DES and
    /// RC4 are broken (RFC 6649, RFC 8429).
    pub const STRONG: [Self; 4] = [Self(20), Self(19), Self(18), Self(17)];

    /// The type with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        let mut names = NAMES.iter();
        names.find(|(_, one)| *one == name).map(|one| Self(one.0))
    }

    /// The names.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(_, name)| *name)
    }
}

impl fmt::Display for Enctype {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(number, _)| *number == self.0) {
            Some((_, name)) => out.write_str(name),
            None => write!(out, "number {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_have_the_names_of_the_library() {
        assert_eq!(Enctype::from_name("arcfour-hmac"), Some(Enctype(23)));
        assert_eq!(Enctype::from_name("aes"), None);
        assert_eq!(Enctype(18).to_string(), "aes256-cts-hmac-sha1-96");
        assert_eq!(Enctype(-128).to_string(), "number -128");
        let weak = [1, 3, 16, 23].map(Enctype);
        assert!(Enctype::STRONG.iter().all(|one| !weak.contains(one)));
    }
}
