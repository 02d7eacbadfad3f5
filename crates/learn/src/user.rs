//! What a `wsse:UsernameToken` has.
//!
//! The rule kept here: what a token leaves out is told apart from what it says.

use soapstone::wss::names::{PASSWORD_TEXT, WSSE, WSU};
use soapstone::xml::Element;

/// How the password of a `wsse:UsernameToken` travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Password {
    Digest,
    Text,
    None,
}

pub(crate) fn password(token: Element<'_>) -> Password {
    match token.child(WSSE, "Password") {
        None => Password::None,
        Some(password) => match password.attribute("", "Type") {
            Some(kind) if kind.rsplit('#').next() == Some("PasswordDigest") => Password::Digest,
            Some(kind) if kind == PASSWORD_TEXT => Password::Text,
            _ => Password::Text,
        },
    }
}

/// What a `wsse:UsernameToken` has beside user and password.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TokenForm {
    pub(crate) nonce: bool,
    /// The time of its making.
    pub(crate) created: bool,
    /// Whether the password has no `Type`.
    pub(crate) implied_text: bool,
}

impl TokenForm {
    pub(crate) fn of(token: Element<'_>) -> Self {
        let password = token.child(WSSE, "Password");
        Self {
            nonce: token.child(WSSE, "Nonce").is_some(),
            created: token.child(WSU, "Created").is_some(),
            implied_text: password.is_some_and(|it| it.attribute("", "Type").is_none()),
        }
    }
}
