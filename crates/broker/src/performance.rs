//! The performance index: the time in which a backend will answer, predicted from its last answers.
//!
//! The mean of the last answers of the operation, times the calls in hand. It is measured where the
//! calls are: it holds the network, what securing and opening cost under the policy of this
//! backend, and the service itself (Souza et al., PLOS ONE 8(7) e68819, 2013: the mean service time
//! tells it, load and memory of the host do not).
//!
//! The rule kept here: what was not measured, or not of late, is unknown. Unknown is never good.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::affinity::Affinity;

/// What the last answer counts in a mean: one part of so many.
const MEAN_OF: u32 = 8;

/// Most operations whose means are kept for one backend.
const OPERATIONS: usize = 64;

/// Names an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Operation(Affinity);

impl Operation {
    /// The operation of that name.
    pub fn of(name: &[u8]) -> Self {
        Self(Affinity::of(name))
    }
}

/// A mean time and when it was last measured.
#[derive(Clone, Copy, Debug)]
struct Mean {
    time: Duration,
    at: Instant,
}

impl Mean {
    fn measure(known: Option<Self>, took: Duration, at: Instant) -> Self {
        let time = known.map_or(took, |known| (known.time * (MEAN_OF - 1) + took) / MEAN_OF);
        Self { time, at }
    }

    fn within(self, fresh: Duration, now: Instant) -> Option<Duration> {
        let age = now.saturating_duration_since(self.at);
        (age <= fresh).then_some(self.time)
    }
}

/// What was measured of one backend.
#[derive(Debug, Default)]
pub(crate) struct Measured {
    all: Option<Mean>,
    of: BTreeMap<Operation, Mean>,
    /// The share of calls that were answered, in millionths.
    answered: Option<u32>,
    calls: u32,
}

/// The time of a call behind those in hand, by the mean time of one.
pub(crate) fn behind(mean: Duration, in_hand: u32, weight: u32) -> Duration {
    mean.saturating_add(mean.saturating_mul(in_hand) / weight.max(1))
}

/// What one call counts in the share of answers: one part of so many.
const SHARE_OF: u32 = 64;

/// Calls before which a share of answers is unknown.
const SHARE_FROM: u32 = 10;

/// All calls, in the units of their share.
const ALL: u32 = 1_000_000;

impl Measured {
    /// A call was answered.
    pub(crate) fn answer(&mut self, took: Duration, operation: Option<Operation>, now: Instant) {
        self.all = Some(Mean::measure(self.all, took, now));
        if let Some(operation) = operation {
            let known = self.of.get(&operation).copied();
            if known.is_some() || self.of.len() < OPERATIONS {
                self.of.insert(operation, Mean::measure(known, took, now));
            }
        }
        self.count(ALL);
    }

    /// A call failed.
    pub(crate) fn fail(&mut self) {
        self.count(0);
    }

    fn count(&mut self, answered: u32) {
        self.calls = self.calls.saturating_add(1);
        let share = self.answered.map_or(answered, |share| {
            // In the first calls each counts alike.
            let of = self.calls.min(SHARE_OF);
            (share * (of - 1) + answered) / of
        });
        self.answered = Some(share);
    }

    /// The mean time of its last answers, however old.
    pub(crate) fn mean(&self) -> Option<Duration> {
        self.all.map(|mean| mean.time)
    }

    /// The mean time of its last answers to calls of that operation, or to all where it had none.
    /// `None`: it is not known.
    pub(crate) fn mean_of(
        &self,
        operation: Option<Operation>,
        fresh: Duration,
        now: Instant,
    ) -> Option<Duration> {
        let of_operation = operation.and_then(|operation| self.of.get(&operation));
        of_operation
            .and_then(|mean| mean.within(fresh, now))
            .or_else(|| self.all?.within(fresh, now))
    }

    /// The share of calls that were answered, in hundredths. `None`: it is not known.
    pub(crate) fn availability(&self) -> Option<u8> {
        let share = self.answered.filter(|_| self.calls >= SHARE_FROM)?;
        u8::try_from(share / (ALL / 100)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRESH: Duration = Duration::from_secs(6);

    fn ms(time: u64) -> Duration {
        Duration::from_millis(time)
    }

    #[test]
    fn the_prediction_is_of_the_operation_and_grows_with_the_calls_in_hand() {
        let (mut measured, now) = (Measured::default(), Instant::now());
        let (quick, slow) = (Operation::of(b"quick"), Operation::of(b"slow"));
        assert_eq!(measured.mean_of(Some(quick), FRESH, now), None);
        measured.answer(ms(8), Some(quick), now);
        measured.answer(ms(80), Some(slow), now);
        let predict = |operation, in_hand, weight| {
            let mean = measured.mean_of(Some(operation), FRESH, now);
            mean.map(|mean| behind(mean, in_hand, weight))
        };
        assert_eq!(predict(quick, 0, 1), Some(ms(8)));
        assert_eq!(predict(quick, 2, 1), Some(ms(24)));
        assert_eq!(predict(quick, 2, 2), Some(ms(16)));
        assert_eq!(predict(slow, 1, 1), Some(ms(160)));
        // Of another operation the mean of all is the best that is known.
        assert_eq!(predict(Operation::of(b"other"), 0, 1), Some(ms(17)));
    }

    #[test]
    fn what_is_old_is_unknown() {
        let (mut measured, now) = (Measured::default(), Instant::now());
        measured.answer(ms(8), None, now);
        assert_eq!(measured.mean_of(None, FRESH, now + FRESH), Some(ms(8)));
        let later = now + FRESH + ms(1);
        assert_eq!(measured.mean_of(None, FRESH, later), None);
        assert_eq!(measured.mean(), Some(ms(8)));
    }

    #[test]
    fn availability_is_unknown_at_first_and_then_the_share_of_answers() {
        let (mut measured, now) = (Measured::default(), Instant::now());
        for _ in 0..9 {
            measured.answer(ms(1), None, now);
            assert_eq!(measured.availability(), None);
        }
        measured.fail();
        assert_eq!(measured.availability(), Some(90));
        for _ in 0..600 {
            measured.answer(ms(1), None, now);
        }
        assert_eq!(measured.availability(), Some(99));
    }

    #[test]
    fn names_of_operations_take_no_memory_without_bound() {
        let (mut measured, now) = (Measured::default(), Instant::now());
        for name in 0_u32..1000 {
            measured.answer(ms(1), Some(Operation::of(&name.to_be_bytes())), now);
        }
        assert_eq!(measured.of.len(), OPERATIONS);
    }
}
