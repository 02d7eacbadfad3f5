//! Messages that were accepted and that nobody remembers.
//!
//! The rule kept here: a message that is none of them by its end is in no doubt.

use jiff::{SignedDuration, Timestamp};
use soapstone::clock::{Elapsed, Forgotten};
use soapstone::wss::{End, ReplayKey};

use crate::tallies::rounded_up;

/// What ends the doubt about a message.
#[derive(Clone, Debug, Default)]
pub(crate) struct Doubt {
    /// The ends of messages that prove theirs.
    proven: Forgotten,
    /// The millisecond of the time elapsed until which any message that proves no end may be one
    /// of them.
    counted: Option<i64>,
}

/// The millisecond of the time elapsed until which a mark is held whose message proves no end.
pub(crate) fn counted_end(mark: &ReplayKey, now: Timestamp, elapsed: &Elapsed) -> i64 {
    let life = mark.until.as_millisecond() - now.as_millisecond();
    elapsed
        .milliseconds()
        .saturating_add(life.max(0))
        .saturating_add(1)
}

impl Doubt {
    /// Notes marks of a message.
    pub(crate) fn note(&mut self, marks: &[ReplayKey], now: Timestamp, elapsed: &Elapsed) {
        for mark in marks {
            match mark.end {
                End::Proven => {
                    let until = rounded_up(mark.until);
                    self.proven.note(until, until);
                }
                End::Counted => {
                    let end = counted_end(mark, now, elapsed);
                    self.counted = self.counted.max(Some(end));
                }
            }
        }
    }

    /// Notes all that is in another doubt.
    pub(crate) fn join(&mut self, other: &Self) {
        for (first, last) in other.proven.spans() {
            self.proven.note(first, last);
        }
        self.counted = self.counted.max(other.counted);
    }

    /// Whether a message with these marks may be one of them: until when that is so of messages
    /// like it.
    pub(crate) fn about(
        &self,
        marks: &[ReplayKey],
        now: Timestamp,
        elapsed: &Elapsed,
    ) -> Option<Timestamp> {
        marks.iter().find_map(|mark| match mark.end {
            End::Proven => {
                let last = self.proven.last_beside(rounded_up(mark.until))?;
                Some(Timestamp::from_second(last).unwrap_or(Timestamp::MAX))
            }
            End::Counted => {
                let left = self.counted? - elapsed.milliseconds();
                let end = now.checked_add(SignedDuration::from_millis(left));
                (left > 0).then(|| end.unwrap_or(Timestamp::MAX))
            }
        })
    }
}
