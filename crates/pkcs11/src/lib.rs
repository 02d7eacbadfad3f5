//! Private keys in tokens: security modules, smart cards and software tokens, through PKCS#11.
//!
//! [`open`] gives a [`PrivateKey`] whose operations run in the token. All that an application sees
//! is the key:
//!
//! ```text
//! PrivateKey ─ ExternalKey ─▶ Holder ─ job ─▶ worker thread ─ session ─▶ module (.so) ─▶ token
//!                                    ◀─ answer, or the deadline ─
//! ```
//!
//! * A caller waits for a worker up to [`KeyLocation::timeout`], whatever the module does.
//! * A session that is lost is opened anew by the next operation, and a module that lost its token
//!   is started anew. A token that comes back needs no restart of the application.
//! * A refused PIN is not tried again in the same process: tokens lock themselves after a few.
//!
//! The rule kept here: what a token says of a ciphertext is one refusal, whatever the code. A
//! [problem](Problem) that is told depends on the token, the key and the algorithm alone.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::too_many_lines))]

mod error;
mod holder;
mod mechanism;
mod module;
mod proof;
mod session;
mod worker;

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use soapstone_crypto::{PrivateKey, PublicKey, SecretBytes, hexadecimal};

pub use error::{Problem, TokenError};

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

/// The private key at this place, if it is the one of `public`: the token proves that by one
/// operation.
///
/// # Errors
///
/// [`TokenError`] with the module, the token and the key.
pub fn open(location: KeyLocation, public: &PublicKey) -> Result<PrivateKey, TokenError> {
    let holder = Arc::new(holder::Holder::start(location, public)?);
    proof::prove(&holder, public)?;
    Ok(PrivateKey::external(public.clone(), holder))
}
