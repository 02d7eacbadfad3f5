//! `admin`: where health, metrics, refused messages and the console are served, and for whom.
//!
//! The rule kept here: of a token the gateway knows its digest alone.

use std::net::SocketAddr;

use http::HeaderValue;
use soapstone::config::Table;
use soapstone::crypto::{Digest, DigestAlgorithm, base64, digest, hexadecimal};

use super::address::read_address;

/// Fewest characters of a token: nobody guesses 128 bits, written in hexadecimal digits.
const SHORTEST: usize = 32;

/// Where and for whom the gateway tells of itself.
#[derive(Clone, Debug)]
pub(crate) struct AdminConfig {
    pub(crate) listen: SocketAddr,
    pub(crate) access: AdminAccess,
}

impl AdminConfig {
    /// For everybody who reaches this address.
    pub(super) fn open(listen: SocketAddr) -> Self {
        let access = AdminAccess {
            token: None,
            console: true,
        };
        Self { listen, access }
    }

    /// What differs where anything of it differs.
    pub(super) fn fingerprint(&self) -> String {
        format!("{} {}", self.listen, self.access.fingerprint())
    }
}

/// Who may ask.
#[derive(Clone, Debug, Default)]
pub struct AdminAccess {
    /// The digest of the token; without one, everybody who reaches the listener.
    token: Option<Digest>,
    /// Whether there is a console.
    pub(crate) console: bool,
}

impl AdminAccess {
    /// Whether the value of an `Authorization` header has the token: as `Bearer`, or as the
    /// password of `Basic`, which browsers send.
    pub fn admits(&self, authorization: Option<&HeaderValue>) -> bool {
        let Some(expected) = &self.token else {
            return true;
        };
        let given = authorization.and_then(|value| presented(value.to_str().ok()?));
        let given = given.and_then(|token| digest(DigestAlgorithm::Sha256, &token).ok());
        given.is_some_and(|given| expected.matches(given.as_ref()))
    }

    /// Whether it takes a token to ask.
    pub fn wants_token(&self) -> bool {
        self.token.is_some()
    }

    /// What differs where the token differs.
    fn fingerprint(&self) -> String {
        let token = self
            .token
            .as_ref()
            .map(|it| hexadecimal::encode(it.as_ref()));
        format!("{token:?} {}", self.console)
    }
}

/// The token in the value of an `Authorization` header (RFC 6750, 2.1; RFC 7617, 2).
fn presented(value: &str) -> Option<Vec<u8>> {
    let (scheme, rest) = value.split_once(' ')?;
    let rest = rest.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(rest.as_bytes().to_vec());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let mut pair = Vec::new();
    base64::decode(rest.as_bytes(), &mut pair).ok()?;
    let colon = pair.iter().position(|byte| *byte == b':')?;
    Some(pair[colon + 1..].to_vec())
}

/// Reads `[admin]`.
pub(super) fn read_admin(mut table: Table<'_>) -> Option<AdminConfig> {
    if !table.has("listen") {
        table.missing("listen", "say where to listen: listen = \"127.0.0.1:9901\"");
    }
    let listen = read_address(&mut table, "listen");
    let console = table.boolean("console").is_none_or(|given| given.value);
    let access = read_access(&mut table, listen);
    table.finish();
    Some(AdminConfig {
        listen: listen?,
        access: AdminAccess { console, ..access? },
    })
}

/// Reads who may ask at an address: whoever shows the token of the table. What is wrong with it has
/// been reported where there is nothing.
pub fn read_access(table: &mut Table<'_>, listen: Option<SocketAddr>) -> Option<AdminAccess> {
    let secret = table.secret("token", "token_env", "token_file");
    let given = secret.is_some();
    let token = secret.and_then(|text| {
        let characters = text.value.expose().trim();
        if characters.len() < SHORTEST {
            table.report_with_hint(
                text.place,
                format!(
                    "a token must have {SHORTEST} characters at least, found {}",
                    characters.len()
                ),
                "make one with `openssl rand -hex 32`",
            );
            return None;
        }
        if let Some(address) = listen {
            let host = address.ip().to_string();
            table
                .document()
                .warn_of_clear_secret(text.place, "token", &host);
        }
        digest(DigestAlgorithm::Sha256, characters.as_bytes()).ok()
    });
    let access = AdminAccess {
        token,
        console: false,
    };
    Some(access).filter(|access| access.wants_token() || !given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_taken_as_bearer_and_as_the_password_of_basic_and_in_no_other_way() {
        let token = "0123456789abcdef0123456789abcdef";
        let access = AdminAccess {
            token: digest(DigestAlgorithm::Sha256, token.as_bytes()).ok(),
            console: true,
        };
        let admits =
            |value: &str| access.admits(Some(&HeaderValue::from_str(value).expect("a value")));
        let basic = |pair: String| format!("Basic {}", base64::encode(pair.as_bytes()));
        assert!(admits(&format!("Bearer {token}")));
        assert!(admits(&format!("bearer {token}")));
        assert!(admits(&basic(format!("anybody:{token}"))));
        assert!(admits(&basic(format!(":{token}"))));
        for refused in [
            format!("Bearer {token}0"),
            format!("Bearer {}", &token[1..]),
            format!("Token {token}"),
            basic(token.to_owned()),
            basic(format!("{token}:")),
            "Basic %%%".to_owned(),
            "Bearer".to_owned(),
            token.to_owned(),
        ] {
            assert!(!admits(&refused), "{refused}");
        }
        assert!(!access.admits(None));
        assert!(AdminAccess::default().admits(None));
    }
}
