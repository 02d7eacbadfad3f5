//! Why a store of what was seen gives no answer.

use std::fmt;

use soapstone_wss::Rejected;

/// Why a replay cache gives no [`FirstSeen`](soapstone_wss::FirstSeen).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReplayError {
    /// One of the marks is remembered: the message was seen before.
    Seen,
    /// The cache holds as many unexpired marks as it may. Forgetting one would let its message in
    /// again.
    Full {
        /// How many it may hold.
        capacity: usize,
    },
    /// Who cancels an assertion has cancelled as many as one may that have not ended.
    ShareUsed {
        /// How many that are.
        share: usize,
    },
    /// The cache cannot be reached or read.
    Unavailable {
        /// Why.
        problem: String,
    },
}

impl fmt::Display for ReplayError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seen => out.write_str("seen before"),
            Self::Full { capacity } => {
                write!(out, "{capacity} unexpired marks are held, and no more fit")
            }
            Self::ShareUsed { share } => Rejected::CancellationsUsed { share: *share }.fmt(out),
            Self::Unavailable { problem } => out.write_str(problem),
        }
    }
}

impl std::error::Error for ReplayError {}
