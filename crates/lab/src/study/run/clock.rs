//! The time that points and their arms may take, and what warms a way up.
//!
//! The rule kept here: time decides how often something is repeated, and never below what a spread
//! can be told of.

use std::time::{Duration, Instant};

use super::super::call::Stack;
use super::super::point::Scale;
use super::Gathered;

/// A point is repeated so often at least, however little time there is.
pub(super) const LEAST: u32 = 3;
/// An arm that has used its time up is repeated so often at least: one sample has no spread.
pub(super) const LEAST_OF_ARM: u32 = 2;

/// Calls that warm a way of ours up.
pub const WARM_UP_CALLS: u32 = 20;

/// The time that a point may take, and each of its arms.
pub(super) struct Clock {
    begun: Instant,
    allowance: Option<Duration>,
    arm: Option<Duration>,
}

impl Clock {
    /// One that begins now.
    pub(super) fn begun(allowance: Option<Duration>, arm: Option<Duration>) -> Self {
        Self {
            begun: Instant::now(),
            allowance,
            arm,
        }
    }

    /// Which arms are repeated once more, after so many repetitions of the point.
    pub(super) fn goes_on(&self, arms: &[Gathered<'_>], repetitions: u32) -> Vec<bool> {
        let over = self.is_over(repetitions);
        let goes_on = |arm: &Gathered<'_>| {
            let used_up = self.arm.is_some_and(|most| arm.spent > most);
            !over && arm.left_out.is_none() && (repetitions < LEAST_OF_ARM || !used_up)
        };
        arms.iter().map(goes_on).collect()
    }

    /// How many repetitions of so many an arm may make next, of which so many are done; 0 where it
    /// is to make none.
    pub(super) fn row(&self, arm: &Gathered<'_>, done: u32, repetitions: u32) -> u32 {
        let left = repetitions.saturating_sub(done);
        if arm.left_out.is_some() || self.is_over(done) {
            return 0;
        }
        let Some(most) = self.arm else { return left };
        if done < LEAST_OF_ARM {
            return left.min(LEAST_OF_ARM - done);
        }
        let each = arm.spent.as_secs_f64() / f64::from(done);
        let affordable = most.saturating_sub(arm.spent).as_secs_f64() / each.max(1e-9);
        left.min(affordable as u32)
    }

    /// Whether, after so many repetitions, there is no time for another.
    fn is_over(&self, repetitions: u32) -> bool {
        let over = |allowance| self.begun.elapsed() > allowance;
        repetitions >= LEAST && self.allowance.is_some_and(over)
    }
}

/// Calls before those that count: ours are compiled and need next to none, a virtual machine
/// compiles what was called often.
pub(super) struct WarmUp {
    begun: Instant,
    left: u32,
    /// What is enough, once [`WarmUp::LEAST`] were made.
    most: Duration,
    made: u32,
}

impl WarmUp {
    /// Calls that connections, caches and branch predictors take.
    const LEAST: u32 = WARM_UP_CALLS;

    /// For a way of a stack. Programs with virtual machines have made calls for some time before
    /// their first that is asked for, and so at a glance a second more is enough.
    pub(super) fn of(stack: Stack, scale: Scale) -> Self {
        let (left, most) = match (stack.is_compiled_late(), scale) {
            (true, Scale::Full) => (2_000, Duration::MAX),
            (true, Scale::Quick) => (200, Duration::from_secs(1)),
            (false, _) => (Self::LEAST, Duration::MAX),
        };
        Self {
            begun: Instant::now(),
            left,
            most,
            made: 0,
        }
    }

    /// Whether another call is to be made.
    pub(super) fn goes_on(&mut self) -> bool {
        let enough = self.made >= Self::LEAST && self.begun.elapsed() > self.most;
        if self.left == 0 || enough {
            return false;
        }
        self.left -= 1;
        self.made += 1;
        true
    }
}
