//! What remembers messages, so that none is accepted twice.

use std::fmt;

use jiff::Timestamp;
use soapstone_wss::{FirstSeen, Mark};

use crate::attempts::{Attempts, KeyName, Outcome, Tally};

/// Why a replay cache gives no [`FirstSeen`].
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
            Self::Unavailable { problem } => out.write_str(problem),
        }
    }
}

impl std::error::Error for ReplayError {}

/// Remembers [`Mark`]s until they expire, and counts the openings under the keys of messages.
pub trait ReplayCache: Attempts {
    /// Remembers all marks, in one atomic step, if none of them is remembered already.
    ///
    /// # Errors
    /// [`ReplayError::Seen`] if one is remembered; nothing is remembered then. When in doubt a
    /// cache refuses.
    fn first_seen(&self, marks: &[Mark], now: Timestamp) -> Result<FirstSeen, ReplayError>;
}

/// A replay cache that remembers nothing: for measurements and tests. In front of a service it
/// would accept every copy.
#[derive(Clone, Copy, Debug, Default)]
pub struct ForgetfulReplayCache;

impl ReplayCache for ForgetfulReplayCache {
    fn first_seen(&self, marks: &[Mark], _: Timestamp) -> Result<FirstSeen, ReplayError> {
        Ok(FirstSeen::assertion(marks))
    }
}

impl Attempts for ForgetfulReplayCache {
    fn begin(
        &self,
        marks: &[Mark],
        names: &[KeyName],
        _: Timestamp,
        _: Timestamp,
    ) -> Result<(FirstSeen, Vec<Tally>), ReplayError> {
        let tallies = vec![Tally::default(); names.len()];
        Ok((FirstSeen::assertion(marks), tallies))
    }

    fn end(
        &self,
        names: &[KeyName],
        _: Outcome,
        _: Timestamp,
        _: Timestamp,
    ) -> Result<Vec<Tally>, ReplayError> {
        Ok(vec![Tally::default(); names.len()])
    }
}
