//! Users, and what a policy demands of their passwords (UsernameToken Profile 1.1.1).

use std::time::Duration;

use soapstone_crypto::{PasswordKey, SecretBytes};

use crate::freshness::TimestampPolicy;
use crate::suite::Suite;

/// How a user proves to know the password (UsernameToken Profile 1.1.1, 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PasswordKind {
    /// The password itself: only over TLS or encrypted.
    Text,
    /// `Base64(SHA-1(nonce + created + password))`.
    Digest,
    /// None at all: the token names a user, and proves nobody. Whoever signs the token, or makes
    /// the connection, says who it is.
    Absent,
}

/// Whether tokens have an item that the profile leaves to them (UsernameToken Profile 1.1.1, 3.1).
/// One that is there is read in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Presence {
    /// Tokens that we make have none.
    Absent,
    /// Tokens that we make have one.
    Sent,
    /// Tokens that we make have one, and those that arrive must.
    Demanded,
}

/// Forms of tokens that arrive, beside that of the profile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct UsernameDialects {
    /// `Password/@Type` may be a qualified name, as drafts of WS-Security had it:
    /// `wsse:PasswordText`.
    pub qualified_types: bool,
    /// `Password/@Type` and `Nonce/@EncodingType` may be names of the profile with the identifier
    /// of another document in front, or a type with none.
    pub other_identifiers: bool,
    /// The Security header and the token may be those of the draft of July 2002.
    pub draft_2002: bool,
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
    /// `wsse:Nonce`, which a digest needs.
    pub nonce: Presence,
    /// `wsu:Created`, which a digest needs.
    pub created: Presence,
    /// Whether tokens that we make leave out the type of a password as text, which is the default
    /// (UsernameToken Profile 1.1.1, 3.1). That of a digest is always said.
    pub implied_text: bool,
    /// Forms that are accepted beside that of the profile.
    pub dialects: UsernameDialects,
}

impl UsernamePolicy {
    /// Tokens with these kinds of passwords, with a nonce and the time, in the form of the profile.
    pub fn with_passwords(passwords: Vec<PasswordKind>) -> Self {
        let freshness = TimestampPolicy::default();
        Self {
            passwords,
            ttl: freshness.ttl,
            skew: freshness.skew,
            nonce: Presence::Sent,
            created: Presence::Sent,
            implied_text: false,
            dialects: UsernameDialects::default(),
        }
    }
}

/// Keys that are derived from passwords (UsernameToken Profile 1.1.1, 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PasswordKeyPolicy {
    /// Fewest iterations accepted. The profile recommends 1,000.
    pub least: u32,
    /// Most iterations accepted. Whoever can send a message has them done for it, once for each
    /// of at most two keys, before anything is proven. 10,000 take about as long as one signature
    /// with an RSA key of 2048 bits.
    pub most: u32,
    /// Iterations of the keys of messages that we make.
    pub iterations: u32,
}

impl PasswordKeyPolicy {
    /// Bounds of [`most`](Self::most), whatever a policy says: a tenth of a second of work.
    pub const MAXIMUM_ITERATIONS: u32 = 1_000_000;

    /// Whether a key from a password is long enough for all data encryption of a suite.
    pub fn encrypts_by(suite: &Suite) -> bool {
        let mut data = suite.data.iter();
        data.all(|data| data.key_length() <= PasswordKey::LENGTH)
    }
}

impl Default for PasswordKeyPolicy {
    fn default() -> Self {
        Self {
            least: 1_000,
            most: 10_000,
            iterations: 10_000,
        }
    }
}

/// A name and a password: ourselves, in messages that we make.
#[derive(Debug)]
pub struct User {
    /// `wsse:Username`.
    pub name: String,
    /// The password, UTF-8.
    pub password: SecretBytes,
}
