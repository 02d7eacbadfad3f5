//! Users, and what a policy demands of their passwords (UsernameToken Profile 1.1.1).

use std::time::Duration;

use soapstone_crypto::SecretBytes;

/// How a user proves to know the password (UsernameToken Profile 1.1.1, 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PasswordKind {
    /// The password itself: only over TLS or encrypted.
    Text,
    /// `Base64(SHA-1(nonce + created + password))`.
    Digest,
}

/// A `wsse:UsernameToken`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct UsernamePolicy {
    /// Kinds accepted; the first is the one used in messages that we make.
    pub passwords: Vec<PasswordKind>,
    /// Longest age of `wsu:Created`.
    pub ttl: Duration,
    /// Difference of clocks that is forgiven.
    pub skew: Duration,
}

/// A name and a password: ourselves, in messages that we make.
#[derive(Debug)]
pub struct User {
    /// `wsse:Username`.
    pub name: String,
    /// The password, UTF-8.
    pub password: SecretBytes,
}
