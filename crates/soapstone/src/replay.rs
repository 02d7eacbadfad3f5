//! What remembers messages, so that none is accepted twice.

mod error;

use jiff::Timestamp;
use soapstone_wss::{FirstSeen, ReplayKey};

use crate::attempts::{Attempts, KeyName, Outcome, Tally};
pub use error::ReplayError;

/// Remembers [`ReplayKey`]s until they expire, and counts the openings under the keys of messages.
pub trait ReplayCache: Attempts {
    /// Remembers all marks, in one atomic step, if none of them is remembered already.
    ///
    /// # Errors
    /// [`ReplayError::Seen`] if one is remembered; nothing is remembered then. When in doubt a
    /// cache refuses.
    fn first_seen(&self, marks: &[ReplayKey], now: Timestamp) -> Result<FirstSeen, ReplayError>;
}

/// A replay cache that remembers nothing: for measurements and tests. In front of a service it
/// would accept every copy.
#[derive(Clone, Copy, Debug, Default)]
pub struct ForgetfulReplayCache;

impl ReplayCache for ForgetfulReplayCache {
    fn first_seen(&self, marks: &[ReplayKey], _: Timestamp) -> Result<FirstSeen, ReplayError> {
        Ok(FirstSeen::assertion(marks))
    }
}

impl Attempts for ForgetfulReplayCache {
    fn begin(
        &self,
        marks: &[ReplayKey],
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

    fn cancel(
        &self,
        _: &KeyName,
        _: &KeyName,
        _: Timestamp,
        _: Timestamp,
    ) -> Result<(), ReplayError> {
        Ok(())
    }

    fn is_cancelled(&self, _: &KeyName, _: Timestamp) -> Result<bool, ReplayError> {
        Ok(false)
    }
}
