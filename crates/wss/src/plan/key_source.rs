//! Where the keys of messages come from.
//!
//! The one rule: a source says nothing of tokens. Which token carries or names a key is for the
//! kinds of tokens to say ([`token`](crate::token)).

use crate::binding::KeyBinding;

/// The source of a key that signs or encrypts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum KeySource {
    /// A private key, whose public key a certificate has.
    PrivateKey,
    /// The key that both sides have by configuration.
    Shared,
    /// The session key that the request carried.
    Request,
    /// A fresh session key that is wrapped to a certificate.
    Wrapped,
    /// A key of both parties that a token names.
    Token,
    /// The session key of a Kerberos token.
    Kerberos,
    /// The proof key of an assertion.
    Assertion,
    /// A key that is derived from a password, as a token says.
    Password,
}

impl KeySource {
    /// The source of the key that signs.
    pub(super) const fn of_signature(key: KeyBinding) -> Self {
        match key {
            KeyBinding::Certificate => Self::PrivateKey,
            KeyBinding::Shared => Self::Shared,
            KeyBinding::RequestKey => Self::Request,
            KeyBinding::SessionKey => Self::Wrapped,
            KeyBinding::Context => Self::Token,
            KeyBinding::Kerberos => Self::Kerberos,
            KeyBinding::Assertion => Self::Assertion,
            KeyBinding::Password => Self::Password,
        }
    }

    /// The source of the key that encrypts.
    pub(super) const fn of_encryption(key: KeyBinding) -> Self {
        match key {
            KeyBinding::Certificate => Self::Wrapped,
            key => Self::of_signature(key),
        }
    }
}
