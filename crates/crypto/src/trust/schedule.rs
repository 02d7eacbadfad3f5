//! When a question about revocation is asked again.
//!
//! The one rule: who does not answer is asked ever more rarely, and nobody is asked what no check
//! wants to know any more.

use jiff::{SignedDuration, Timestamp};

/// The wait after a first failure. Each further failure doubles it.
const FIRST_WAIT: SignedDuration = SignedDuration::from_secs(10);
/// How often it is doubled: to some ten minutes.
const DOUBLINGS: u32 = 6;
/// The shortest wait after an answer.
const LEAST_WAIT: SignedDuration = SignedDuration::from_mins(1);
/// How long a question is asked on that no check wants any more. Some partners are silent over a
/// weekend, or send once a week: their first message must find an answer.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(7 * 24);

/// How long a check goes by what it has learnt before it looks again.
pub(super) const HOLDS_AT_MOST: SignedDuration = SignedDuration::from_hours(1);

pub(super) struct Schedule {
    due: Timestamp,
    failures: u32,
    wanted: Timestamp,
    is_under_way: bool,
}

fn later(moment: Timestamp, by: SignedDuration) -> Timestamp {
    moment.checked_add(by).unwrap_or(Timestamp::MAX)
}

impl Schedule {
    /// Of a question that is due at once.
    pub(super) fn new(now: Timestamp) -> Self {
        Self {
            due: Timestamp::MIN,
            failures: 0,
            wanted: now,
            is_under_way: false,
        }
    }

    /// Notes that a check wants the answer.
    pub(super) fn want(&mut self, now: Timestamp) {
        self.wanted = self.wanted.max(now);
    }

    pub(super) fn wanted(&self) -> Timestamp {
        self.wanted
    }

    /// How often in a row nobody answered.
    pub(super) fn failures(&self) -> u32 {
        self.failures
    }

    /// Whether no check has wanted the answer for long.
    pub(super) fn is_forgotten(&self, now: Timestamp) -> bool {
        later(self.wanted, REMEMBERED) < now && !self.is_under_way
    }

    /// Whether it was asked, and has neither been answered nor failed.
    pub(super) fn is_under_way(&self) -> bool {
        self.is_under_way
    }

    /// Whether it is to be asked now; then it is under way.
    pub(super) fn begin(&mut self, now: Timestamp) -> bool {
        let begins = !self.is_under_way && self.due <= now;
        self.is_under_way |= begins;
        begins
    }

    /// Notes a failure.
    pub(super) fn fail(&mut self, now: Timestamp) {
        let doubled = 1_i32 << self.failures.min(DOUBLINGS);
        self.due = later(now, FIRST_WAIT * doubled);
        self.failures = self.failures.saturating_add(1);
        self.is_under_way = false;
    }

    /// Notes an answer that holds until then. It is asked for again halfway, at the latest after
    /// `every`.
    pub(super) fn succeed(
        &mut self,
        now: Timestamp,
        holds_until: Option<Timestamp>,
        every: SignedDuration,
    ) {
        let half = holds_until.map_or(every, |until| until.duration_since(now) / 2);
        self.due = later(now, half.min(every).max(LEAST_WAIT));
        self.failures = 0;
        self.is_under_way = false;
    }
}
