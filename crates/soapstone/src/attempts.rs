//! Counts openings by the wrapped keys that they try, so that no key is tried often.
//!
//! The marks of a message tell a copy of it. They do not tell a new message around an
//! `EncryptedKey` that somebody captured, which a partner can sign. Its tries are counted by the
//! key itself.
//!
//! The rule kept here: an opening counts from its beginning, so that tries at the same moment see
//! each other.

use jiff::Timestamp;
use soapstone_wss::{FirstSeen, ReplayKey};

use crate::replay::ReplayError;

/// The SHA-256 that names a wrapped key: of its cipher text, and of whatever else tells it apart.
pub type KeyName = [u8; 32];

/// The openings under one wrapped key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Openings that failed.
    pub failed: u32,
    /// Openings that began and that nobody ended yet.
    pub open: u32,
}

/// How an opening ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The message is refused. The opening stays counted as failed.
    Failed,
    /// The message is good. The opening is counted no longer.
    Succeeded,
}

/// Remembers a [`Tally`] for each [`KeyName`] until it expires.
///
/// A tally lives until the latest `until` that was given for it, and no store drops it earlier. A
/// store that is full, damaged or out of reach gives an error, and the message is to be refused
/// unread.
pub trait Attempts: Send + Sync {
    /// Remembers all marks, if none of them is remembered already, and begins an opening under each
    /// name, all in one step. The tallies are those of before, in the order of `names`.
    ///
    /// # Errors
    /// [`ReplayError::Seen`] if a mark is remembered: no opening has begun then. Otherwise why the
    /// store does not answer; the openings may have begun.
    fn begin(
        &self,
        marks: &[ReplayKey],
        names: &[KeyName],
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(FirstSeen, Vec<Tally>), ReplayError>;

    /// Ends an opening under each name. The tallies are those of before, in the order of `names`.
    ///
    /// # Errors
    /// Why the store does not answer. The openings may still count as open.
    fn end(
        &self,
        names: &[KeyName],
        outcome: Outcome,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<Tally>, ReplayError>;

    /// Remembers the name of an assertion that was cancelled. Tallies leave it its room, and it
    /// leaves them theirs. `by` names who cancelled it, and holds no more than a share of that
    /// room.
    ///
    /// # Errors
    /// Why the store does not answer, or that the share is used. It is not known then whether the
    /// name is remembered, and no node decides alone.
    fn cancel(
        &self,
        name: &KeyName,
        by: &KeyName,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), ReplayError> {
        let _ = (name, by, until, now);
        Err(no_cancellations())
    }

    /// Whether the name of an assertion is [remembered](Self::cancel). The question changes
    /// nothing.
    ///
    /// # Errors
    /// Why the store does not answer. No node decides alone.
    fn is_cancelled(&self, name: &KeyName, now: Timestamp) -> Result<bool, ReplayError> {
        let _ = (name, now);
        Err(no_cancellations())
    }
}

fn no_cancellations() -> ReplayError {
    ReplayError::Unavailable {
        problem: "the store remembers no assertions that were cancelled".to_owned(),
    }
}
