//! The name of a principal: components and a realm (RFC 4120, 6.2).
//!
//! The one rule: a name has its realm. The library fills in none from files or from DNS.

use std::fmt;

use crate::error::KerberosError;

/// A principal, such as `HTTP/books.example@EXAMPLE.COM`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Principal {
    name: String,
    realm: String,
}

/// Longest name, bytes: room for a host of 255 bytes and a realm as long.
const LONGEST: usize = 1024;

impl Principal {
    /// Reads a name as MIT's programs write one.
    ///
    /// # Errors
    /// [`KerberosError::Name`]: it has no realm, an empty component, or characters that would have
    /// to be escaped.
    pub fn parse(text: &str) -> Result<Self, KerberosError> {
        let wrong = |problem| Err(KerberosError::Name { problem });
        if text.len() > LONGEST {
            return wrong("expected at most 1024 bytes");
        }
        if text.contains(['\\', '\0']) || text.chars().any(char::is_whitespace) {
            return wrong("expected no backslash, blank or NUL");
        }
        match text.split_once('@') {
            Some((name, realm)) if !realm.contains(['@', '/']) && !realm.is_empty() => {
                match name.split('/').any(str::is_empty) {
                    true => wrong("expected no empty component"),
                    false => Ok(Self {
                        name: name.to_owned(),
                        realm: realm.to_owned(),
                    }),
                }
            }
            _ => wrong("expected a name with a realm, for example HTTP/books.example@EXAMPLE.COM"),
        }
    }

    /// The components, with `/` between them.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The realm.
    pub fn realm(&self) -> &str {
        &self.realm
    }
}

impl fmt::Display for Principal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}@{}", self.name, self.realm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_components_and_a_realm() {
        let service = Principal::parse("HTTP/books.example@EXAMPLE.COM");
        let service = service.expect("a name");
        assert_eq!(service.name(), "HTTP/books.example");
        assert_eq!(service.realm(), "EXAMPLE.COM");
        for wrong in [
            "HTTP/books.example",
            "@R",
            "a@",
            "a@b@c",
            "a//b@R",
            "a b@R",
            "a\\@b@R",
        ] {
            let refused = Principal::parse(wrong);
            assert!(
                matches!(refused, Err(KerberosError::Name { .. })),
                "{wrong}"
            );
        }
    }
}
