//! Memory of messages under a clock that may be set.
//!
//! The life of a message is told by the clock of the host, which somebody may set: by an hour, or
//! to another year, and back. [`Forgotten`] knows of what is remembered no more, so that a clock
//! which is set back makes no copy new. [`Elapsed`] measures how long something was held, and
//! [`Steps`] tells how far a clock that was set forth may be set back.
//!
//! The rule kept here: a moment that was set wrong counts against the messages that ended by it,
//! and against no others.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Most spans of what is forgotten. One goes on while the clock does; each step of the clock takes
/// another, and each pause of the traffic that is longer than [`JOINED`].
const MOST_SPANS: usize = 16;

/// Seconds between two ends that are told as one span. What ends between two dropped marks so near
/// to each other ends, as these, within the life of one message.
const JOINED: i64 = 60;

/// A clock that nobody sets: how much time has passed since some beginning.
#[derive(Clone)]
pub struct Elapsed(Arc<dyn Fn() -> Duration + Send + Sync>);

impl Elapsed {
    /// That of the system, since now.
    pub fn since_now() -> Self {
        let start = Instant::now();
        Self::read_by(move || start.elapsed())
    }

    /// One that is read by a function, whose values do not fall.
    pub fn read_by(read: impl Fn() -> Duration + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    /// What has passed, in whole milliseconds.
    pub fn milliseconds(&self) -> i64 {
        i64::try_from((self.0)().as_millis()).unwrap_or(i64::MAX)
    }
}

impl fmt::Debug for Elapsed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{:?} elapsed", (self.0)())
    }
}

/// Seconds for which a clock that was set forth is not believed to be right: 1 h. What ends later
/// by its former word is remembered as long, so that nothing is forgotten where it is set right
/// within that time. After it, what has ended is dropped: memory is bounded.
const DOUBTED: i64 = 3600;

/// The steps of a clock, as far as they are noticed: how it differs from the time elapsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// The second of the time elapsed at which the present hour began.
    pub begin: i64,
    /// The least difference in the hour before.
    pub before: i64,
    /// The least difference since.
    pub since: i64,
}

impl Default for Steps {
    fn default() -> Self {
        Self {
            begin: 0,
            before: i64::MAX,
            since: i64::MAX,
        }
    }
}

impl Steps {
    /// The earliest second that it may be: by what the clock says at a second of the time elapsed,
    /// or by what it said within the last hour.
    pub fn earliest(&mut self, clock: i64, elapsed: i64) -> i64 {
        let age = elapsed.saturating_sub(self.begin);
        if age >= DOUBTED {
            let is_recent = age < 2 * DOUBTED;
            self.before = if is_recent { self.since } else { i64::MAX };
            self.since = i64::MAX;
            self.begin = elapsed;
        }
        self.since = self.since.min(clock.saturating_sub(elapsed));
        elapsed.saturating_add(self.since.min(self.before))
    }
}

/// The ends of messages that were accepted and are remembered no more, as spans of seconds.
///
/// It never says of an end that it is not forgotten when it is. It may say the opposite: spans near
/// to each other become one, and so do the two that are furthest in the past where there would be
/// too many.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forgotten {
    /// First and last second of each, in ascending order, and apart from each other.
    spans: Vec<(i64, i64)>,
}

impl Forgotten {
    /// Notes that something is remembered no more which ended in a second of these.
    pub fn note(&mut self, first: i64, last: i64) {
        let near = |span: &(i64, i64)| {
            span.0 <= last.saturating_add(JOINED) && first <= span.1.saturating_add(JOINED)
        };
        let from = self
            .spans
            .partition_point(|span| span.1.saturating_add(JOINED) < first);
        let joined = self.spans[from..]
            .iter()
            .take_while(|span| near(span))
            .count();
        let whole = self.spans[from..from + joined]
            .iter()
            .fold((first, last), |whole, span| {
                (whole.0.min(span.0), whole.1.max(span.1))
            });
        self.spans.splice(from..from + joined, [whole]);
        if self.spans.len() > MOST_SPANS {
            let lowest = self.spans.remove(0);
            self.spans[0].0 = lowest.0;
        }
    }

    /// The last second of the span in which a second is.
    pub fn last_beside(&self, second: i64) -> Option<i64> {
        let at = self.spans.partition_point(|span| span.1 < second);
        let span = self.spans.get(at)?;
        (span.0 <= second).then_some(span.1)
    }

    /// First and last second of each span.
    pub fn spans(&self) -> impl Iterator<Item = (i64, i64)> {
        self.spans.iter().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(notes: &[(i64, i64)]) -> Vec<(i64, i64)> {
        let mut forgotten = Forgotten::default();
        for (first, last) in notes {
            forgotten.note(*first, *last);
        }
        forgotten.spans().collect()
    }

    #[test]
    fn what_is_near_is_one_span_and_a_step_of_the_clock_begins_another() {
        assert_eq!(spans(&[(0, 0), (60, 60), (30, 90)]), [(0, 90)]);
        assert_eq!(
            spans(&[(0, 10), (86_400, 86_500), (20, 20), (86_501, 86_501)]),
            [(0, 20), (86_400, 86_501)]
        );
        assert_eq!(
            spans(&[(200, 200), (0, 0), (100, 100)]),
            [(0, 0), (100, 100), (200, 200)]
        );
        assert_eq!(
            spans(&[(0, 0), (100, 100), (200, 200), (61, 150)]),
            [(0, 0), (61, 200)]
        );
        assert_eq!(
            spans(&[(i64::MAX, i64::MAX), (i64::MIN, i64::MIN)]).len(),
            2
        );
    }

    #[test]
    fn a_clock_that_was_set_forth_is_doubted_for_an_hour_or_two() {
        let mut steps = Steps::default();
        assert_eq!(steps.earliest(1_000_000, 10), 1_000_000);
        assert_eq!(steps.earliest(1_086_400, 10), 1_000_000);
        assert_eq!(steps.earliest(1_090_000, 3610), 1_003_600);
        assert_eq!(steps.earliest(1_093_588, 7198), 1_007_188);
        assert_eq!(steps.earliest(1_093_600, 7210), 1_093_600);
        // A clock that is set back says the earliest itself.
        assert_eq!(steps.earliest(0, 7211), 0);
        assert_eq!(steps.earliest(1_100_000, 20_000), 1_100_000);
    }

    #[test]
    fn no_end_that_was_noted_is_lost_and_the_past_becomes_one_before_the_present() {
        let mut forgotten = Forgotten::default();
        forgotten.note(1_000_000, 1_000_000);
        let ends: Vec<i64> = (0..100).map(|number| number * 1000).collect();
        for end in &ends {
            forgotten.note(*end, *end);
        }
        for end in &ends {
            assert!(forgotten.last_beside(*end).is_some(), "{end}");
        }
        assert_eq!(forgotten.spans().count(), MOST_SPANS);
        assert_eq!(forgotten.last_beside(99_001), None);
        assert_eq!(forgotten.last_beside(98_500), None);
        assert_eq!(forgotten.last_beside(1_000_000), Some(1_000_000));
        assert_eq!(forgotten.last_beside(500), Some(85_000));
    }
}
