//! What is wrong with a token or a key in it.
//!
//! The rule kept here: a message names the module, the token and the key, and never the PIN.

use std::fmt;
use std::time::Duration;

use crate::location::KeyLocation;

/// A key in a token that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TokenError {
    /// The key, its token and its module.
    pub location: String,
    /// What is wrong.
    pub problem: Problem,
}

impl TokenError {
    pub(crate) fn new(location: &KeyLocation, problem: Problem) -> Self {
        Self {
            location: location.to_string(),
            problem,
        }
    }
}

impl fmt::Display for TokenError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.location, self.problem)
    }
}

impl std::error::Error for TokenError {}

/// What is wrong with a token or a key in it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The module cannot be loaded or started.
    Module {
        /// What the system or the module says.
        reason: String,
    },
    /// No slot has this token.
    NoToken {
        /// The tokens that there are.
        available: Vec<String>,
    },
    /// The token wants a PIN, and none is given.
    PinNeeded,
    /// The token refuses the PIN.
    PinRefused {
        /// What the module says.
        reason: String,
    },
    /// The token has no private key of this name.
    NoKey {
        /// The labels of the private keys that there are.
        available: Vec<String>,
    },
    /// Several private keys have this name.
    SeveralKeys {
        /// How many.
        found: usize,
    },
    /// The key wants the PIN again for each operation (`CKA_ALWAYS_AUTHENTICATE`).
    PinForEachUse,
    /// The key neither signs nor decrypts nor agrees.
    NoUse,
    /// The private key belongs to another certificate.
    OtherKey,
    /// The key may not be used for this.
    NotPermitted {
        /// What it may not be used for.
        what: String,
    },
    /// The token cannot do this.
    Unsupported {
        /// What it cannot do.
        what: String,
    },
    /// The module reports a failure.
    Failed {
        /// What it says.
        reason: String,
    },
    /// The module gave no answer in time.
    Silent {
        /// How long a caller waits.
        timeout: Duration,
    },
    /// Too many operations wait for the token.
    Busy,
    /// The token gave no answer in time, and none of its sessions has come back since.
    Held,
}

impl fmt::Display for Problem {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Module { reason } => write!(formatter, "the module does not start: {reason}"),
            Self::NoToken { available } => {
                write!(formatter, "the module has no such token; ")?;
                list(formatter, "it has", available)
            }
            Self::PinNeeded => formatter.write_str("the token wants a PIN, and none is given"),
            Self::PinRefused { reason } => write!(
                formatter,
                "the token refuses the PIN, which is not tried again before a restart: {reason}"
            ),
            Self::NoKey { available } => {
                write!(formatter, "the token has no such private key; ")?;
                list(formatter, "it has", available)
            }
            Self::SeveralKeys { found } => {
                write!(
                    formatter,
                    "{found} private keys of the token have this name"
                )
            }
            Self::PinForEachUse => formatter
                .write_str("the key wants the PIN again for each use, which is not supported"),
            Self::NoUse => formatter.write_str("the key may neither sign nor decrypt nor agree"),
            Self::OtherKey => {
                formatter.write_str("the private key does not belong to the certificate")
            }
            Self::NotPermitted { what } => {
                write!(
                    formatter,
                    "the token does not permit the key to be used for {what}"
                )
            }
            Self::Unsupported { what } => write!(formatter, "the token cannot do {what}"),
            Self::Failed { reason } => formatter.write_str(reason),
            Self::Silent { timeout } => {
                write!(formatter, "the token gave no answer within {timeout:?}")
            }
            Self::Busy => formatter.write_str("too many operations wait for the token"),
            Self::Held => formatter
                .write_str("the token gave no answer in time, and holds all of its sessions"),
        }
    }
}

fn list(formatter: &mut fmt::Formatter<'_>, verb: &str, names: &[String]) -> fmt::Result {
    if names.is_empty() {
        return write!(formatter, "{verb} none");
    }
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    write!(formatter, "{verb} {}", quoted.join(", "))
}
