//! Where a private key is: its module, its token and its name in it.
//!
//! The rule kept here: what is shown of a place is never its PIN.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use soapstone_crypto::{SecretBytes, hexadecimal};

/// Which token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenName {
    /// The token with this label.
    Label(String),
    /// The token in this slot.
    Slot(u64),
}

impl fmt::Display for TokenName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Label(label) => write!(formatter, "token `{label}`"),
            Self::Slot(slot) => write!(formatter, "the token in slot {slot}"),
        }
    }
}

/// Which private key of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeyName {
    /// The key with this `CKA_LABEL`.
    Label(String),
    /// The key with this `CKA_ID`.
    Id(Vec<u8>),
}

impl fmt::Display for KeyName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Label(label) => write!(formatter, "key `{label}`"),
            Self::Id(id) => write!(formatter, "key with the id {}", hexadecimal::encode(id)),
        }
    }
}

/// Where a private key is, and how it is reached.
pub struct KeyLocation {
    /// The module: a shared library of the token's maker.
    pub module: PathBuf,
    /// The token.
    pub token: TokenName,
    /// The key.
    pub key: KeyName,
    /// The PIN of the token's user, where the token wants one.
    pub pin: Option<SecretBytes>,
    /// Operations that the token does at the same time.
    pub sessions: usize,
    /// The longest that a caller waits for an operation.
    pub timeout: Duration,
}

impl KeyLocation {
    /// Sessions of a key, unless said otherwise: as many operations as a small network module does
    /// at once, and few enough for a card.
    pub const SESSIONS: usize = 4;

    /// The wait for an operation, unless said otherwise: beyond what a client of a service waits.
    pub const TIMEOUT: Duration = Duration::from_secs(5);
}

impl fmt::Display for KeyLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let module = self.module.display();
        write!(formatter, "{} in {} of `{module}`", self.key, self.token)
    }
}

impl fmt::Debug for KeyLocation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "KeyLocation({self})")
    }
}
