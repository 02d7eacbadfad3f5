//! What is known of one member, and how each call and check changes it.
//!
//! ```text
//!            failures                time is over
//! closed ──────────────▶ ejected ───────────────────▶ half-open ── answered ──▶ closed
//!                           ▲                             │
//!                           └──────── failed: twice the time
//! ```
//!
//! Checks are apart from that: a member that they find down gets no calls, whatever calls say.
//!
//! The rule kept here: a call that began before an ejection ends none.

use std::time::{Duration, Instant};

use crate::claims::Claimed;
use crate::outcome::{Change, Failed};
use crate::performance::{Measured, Operation};
use crate::settings::{Checks, Ejection};
use crate::status::State;

/// Connections in a row that fail, after which a backend is ejected. One is no proof; and while
/// they fail by a timeout, each takes the time of a client.
const UNREACHABLE: u32 = 2;

/// The part of its share that a member gets when it comes back: thousandths. Envoy and HAProxy
/// begin near it, too.
const FIRST_SHARE: u64 = 100;

/// The whole share of a member.
pub(crate) const WHOLE: u64 = 1000;

/// What is known of one member.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) in_hand: u32,
    pub(crate) answered: u64,
    pub(crate) failed: u64,
    pub(crate) ejections: u64,
    pub(crate) measured: Measured,
    pub(crate) claimed: Claimed,
    /// Failures in a row, and how many of the last ones found no connection.
    run: u32,
    unreachable: u32,
    window: Window,
    ejected: Option<Ejected>,
    /// Ejections of late, each of which doubles the next one.
    strikes: u32,
    /// When it came, or came back.
    since: Option<Instant>,
    checked: Checked,
}

/// Calls of the last while.
#[derive(Debug, Default)]
struct Window {
    begun: Option<Instant>,
    calls: u32,
    failures: u32,
}

/// An ejection.
#[derive(Clone, Copy, Debug)]
struct Ejected {
    until: Instant,
    failed: Failed,
    /// A call on trial is in hand.
    trial: bool,
}

/// What checks found.
#[derive(Debug, Default)]
struct Checked {
    down: bool,
    /// Checks in a row that found the opposite.
    run: u32,
}

impl Record {
    /// That of a member which joins others that serve.
    pub(crate) fn joined(now: Instant) -> Self {
        Self {
            since: Some(now),
            ..Self::default()
        }
    }

    /// Whether it gets calls.
    pub(crate) fn state(&self, slow_start: Duration, now: Instant) -> State {
        if self.checked.down {
            return State::Down;
        }
        match self.ejected {
            Some(ejected) if now < ejected.until => State::Ejected {
                left: ejected.until - now,
            },
            Some(_) => State::HalfOpen,
            None => match self.share(slow_start, now) {
                WHOLE => State::Up,
                share => State::Starting {
                    percent: u32::try_from(share * 100 / WHOLE).unwrap_or(100),
                },
            },
        }
    }

    /// Thousandths of its share.
    pub(crate) fn share(&self, slow_start: Duration, now: Instant) -> u64 {
        let Some(since) = self.since else {
            return WHOLE;
        };
        let passed = now.saturating_duration_since(since).as_micros();
        let whole = slow_start.as_micros();
        if passed >= whole {
            return WHOLE;
        }
        let share = u64::try_from(passed * u128::from(WHOLE) / whole).unwrap_or(WHOLE);
        share.max(FIRST_SHARE)
    }

    /// Whether a call on trial is in hand.
    pub(crate) fn is_tried(&self) -> bool {
        self.ejected.is_some_and(|ejected| ejected.trial)
    }

    /// Whether it is ejected for another reason than that it cannot be reached.
    pub(crate) fn is_ejected_though_reachable(&self) -> bool {
        let reachable = |ejected: Ejected| ejected.failed != Failed::Unreachable;
        self.ejected.is_some_and(reachable)
    }

    /// A call goes there.
    pub(crate) fn begin(&mut self, on_trial: bool) {
        self.in_hand = self.in_hand.saturating_add(1);
        if let Some(ejected) = self.ejected.as_mut().filter(|_| on_trial) {
            ejected.trial = true;
        }
    }

    /// A call has come to its end.
    pub(crate) fn end(&mut self, on_trial: bool) {
        self.in_hand = self.in_hand.saturating_sub(1);
        if let Some(ejected) = self.ejected.as_mut().filter(|_| on_trial) {
            ejected.trial = false;
        }
    }

    /// A call was answered. `proves` says that it began while the member was ejected.
    pub(crate) fn answer(
        &mut self,
        took: Duration,
        operation: Option<Operation>,
        proves: bool,
        ejection: &Ejection,
        now: Instant,
    ) -> Option<Change> {
        self.answered += 1;
        self.measured.answer(took, operation, now);
        self.claimed.see(took, operation);
        if self.ejected.is_some() {
            if !proves {
                return None;
            }
            self.ejected = None;
            self.since = Some(now);
            self.run = 0;
            self.unreachable = 0;
            self.window = Window::default();
            return Some(Change::Returned);
        }
        self.run = 0;
        self.unreachable = 0;
        self.count(false, ejection, now);
        None
    }

    /// A call failed. Returns whether the member is to be ejected for it.
    pub(crate) fn fail(
        &mut self,
        failed: Failed,
        on_trial: bool,
        ejection: &Ejection,
        now: Instant,
    ) -> bool {
        self.failed += 1;
        self.measured.fail();
        if self.ejected.is_some() {
            return on_trial;
        }
        self.run = self.run.saturating_add(1);
        self.unreachable = match failed {
            Failed::Unreachable => self.unreachable.saturating_add(1),
            _ => 0,
        };
        let too_large_a_share = self.count(true, ejection, now);
        // Where nothing ejects, nothing does.
        let is_watched = ejection.failures.is_some() || ejection.share.is_some();
        is_watched
            && (ejection.failures.is_some_and(|most| self.run >= most)
                || self.unreachable >= UNREACHABLE
                || too_large_a_share)
    }

    /// Counts a call in the window, and says whether the share of failures is too large.
    fn count(&mut self, failed: bool, ejection: &Ejection, now: Instant) -> bool {
        let Some(share) = ejection.share else {
            return false;
        };
        let is_over = |begun| now.saturating_duration_since(begun) >= share.within;
        if self.window.begun.is_none_or(is_over) {
            self.window = Window {
                begun: Some(now),
                ..Window::default()
            };
        }
        let window = &mut self.window;
        window.calls = window.calls.saturating_add(1);
        window.failures = window.failures.saturating_add(u32::from(failed));
        let (failures, calls) = (u64::from(window.failures), u64::from(window.calls));
        window.calls >= share.of && failures * 100 >= calls * u64::from(share.percent)
    }

    /// Ejects it.
    pub(crate) fn eject(&mut self, failed: Failed, ejection: &Ejection, now: Instant) -> Change {
        if let Some(since) = self.since {
            // Each time that it served for as long as an ejection takes off one.
            let served = now.saturating_duration_since(since).as_nanos();
            let off = served / ejection.time.as_nanos().max(1);
            self.strikes = self
                .strikes
                .saturating_sub(u32::try_from(off).unwrap_or(u32::MAX));
        }
        let doubled = 2_u32.saturating_pow(self.strikes.min(16));
        let time = ejection.time.saturating_mul(doubled).min(ejection.longest);
        self.strikes = self.strikes.saturating_add(1);
        self.ejections += 1;
        self.run = 0;
        self.unreachable = 0;
        self.window = Window::default();
        // What it serves from now on counts from its return.
        self.since = None;
        self.ejected = Some(Ejected {
            until: now + time,
            failed,
            trial: false,
        });
        Change::Ejected { failed, time }
    }

    /// A health check has come to its end.
    pub(crate) fn check(&mut self, healthy: bool, checks: &Checks, now: Instant) -> Option<Change> {
        if let Some(ejected) = self.ejected.as_mut().filter(|ejected| {
            healthy && ejected.failed == Failed::Unreachable && now < ejected.until
        }) {
            // It can be reached: a call on trial shows the rest.
            ejected.until = now;
        }
        if self.checked.down != healthy {
            self.checked.run = 0;
            return None;
        }
        self.checked.run += 1;
        let enough = match healthy {
            true => checks.rise,
            false => checks.fall,
        };
        if self.checked.run < enough {
            return None;
        }
        self.checked = Checked {
            down: !healthy,
            run: 0,
        };
        if !healthy {
            return Some(Change::Down);
        }
        self.since = Some(now);
        Some(Change::Up)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::FailureShare;

    const TIME: Duration = Duration::from_secs(5);

    fn ejection() -> Ejection {
        Ejection {
            failures: Some(3),
            share: None,
            time: TIME,
            longest: Duration::from_secs(15),
            most: 50,
        }
    }

    #[test]
    fn failures_in_a_row_eject_and_an_answer_ends_the_row() {
        let (mut record, now) = (Record::default(), Instant::now());
        for _ in 0..2 {
            assert!(!record.fail(Failed::Broken, false, &ejection(), now));
        }
        record.answer(TIME, None, false, &ejection(), now);
        for last in [false, false, true] {
            assert_eq!(record.fail(Failed::Broken, false, &ejection(), now), last);
        }
    }

    #[test]
    fn two_connections_that_fail_are_enough() {
        let (mut record, now) = (Record::default(), Instant::now());
        assert!(!record.fail(Failed::Unreachable, false, &ejection(), now));
        assert!(record.fail(Failed::Unreachable, false, &ejection(), now));
        let never = Ejection {
            failures: None,
            ..ejection()
        };
        let mut record = Record::default();
        for _ in 0..9 {
            assert!(!record.fail(Failed::Unreachable, false, &never, now));
        }
    }

    #[test]
    fn a_share_of_failures_ejects_within_its_time_alone() {
        let share = Some(FailureShare {
            percent: 50,
            of: 4,
            within: Duration::from_secs(1),
        });
        let ejection = Ejection {
            failures: None,
            share,
            ..ejection()
        };
        let (mut record, now) = (Record::default(), Instant::now());
        record.answer(TIME, None, false, &ejection, now);
        assert!(!record.fail(Failed::Broken, false, &ejection, now));
        record.answer(TIME, None, false, &ejection, now);
        // The same failure a second later is the first of its window.
        let later = now + Duration::from_secs(1);
        assert!(!record.fail(Failed::Broken, false, &ejection, later));
        record.answer(TIME, None, false, &ejection, later);
        record.answer(TIME, None, false, &ejection, later);
        assert!(record.fail(Failed::Broken, false, &ejection, later));
    }

    #[test]
    fn each_ejection_takes_twice_as_long_up_to_a_bound_and_service_makes_up_for_it() {
        let (mut record, mut now) = (Record::default(), Instant::now());
        for seconds in [5, 10, 15, 15] {
            let change = record.eject(Failed::Broken, &ejection(), now);
            let time = Duration::from_secs(seconds);
            let failed = Failed::Broken;
            assert_eq!(change, Change::Ejected { failed, time });
            now += time - Duration::from_millis(1);
            assert!(!record.state(TIME, now).is_usable());
            now += Duration::from_millis(1);
            assert_eq!(record.state(TIME, now), State::HalfOpen);
        }
        record.begin(true);
        record.end(true);
        assert_eq!(
            record.answer(TIME, None, true, &ejection(), now),
            Some(Change::Returned)
        );
        now += 3 * TIME;
        // Four strikes less three.
        let time = Duration::from_secs(10);
        let failed = Failed::Broken;
        let change = record.eject(failed, &ejection(), now);
        assert_eq!(change, Change::Ejected { failed, time });
    }

    #[test]
    fn a_call_from_before_an_ejection_ends_none() {
        let (mut record, now) = (Record::default(), Instant::now());
        record.begin(false);
        record.eject(Failed::Late, &ejection(), now);
        record.end(false);
        assert_eq!(record.answer(TIME, None, false, &ejection(), now), None);
        assert_eq!(record.state(TIME, now), State::Ejected { left: TIME });
        record.begin(false);
        assert!(!record.fail(Failed::Late, false, &ejection(), now));
    }

    #[test]
    fn a_member_that_comes_back_starts_slowly() {
        let (mut record, now) = (Record::default(), Instant::now());
        let slow = Duration::from_secs(10);
        assert_eq!(record.share(slow, now), WHOLE);
        record.eject(Failed::Late, &ejection(), now);
        let back = now + TIME;
        record.answer(TIME, None, true, &ejection(), back);
        for (seconds, share) in [(0, 100), (1, 100), (5, 500), (9, 900), (10, WHOLE)] {
            let later = back + Duration::from_secs(seconds);
            assert_eq!(record.share(slow, later), share, "after {seconds} s");
        }
        assert_eq!(record.state(slow, back), State::Starting { percent: 10 });
        assert_eq!(record.share(Duration::ZERO, back), WHOLE);
    }

    #[test]
    fn checks_count_in_a_row() {
        let (mut record, now) = (Record::default(), Instant::now());
        let checks = Checks { fall: 2, rise: 2 };
        let mut check = |healthy| record.check(healthy, &checks, now);
        assert_eq!(check(false), None);
        assert_eq!(check(true), None);
        assert_eq!(check(false), None);
        assert_eq!(check(false), Some(Change::Down));
        assert_eq!(check(false), None);
        assert_eq!(check(true), None);
        assert_eq!(check(true), Some(Change::Up));
    }

    #[test]
    fn a_check_that_reaches_an_unreachable_member_lets_a_call_on_trial_through() {
        for (failed, state) in [
            (Failed::Unreachable, State::HalfOpen),
            (Failed::Unproven, State::Ejected { left: TIME }),
        ] {
            let (mut record, now) = (Record::default(), Instant::now());
            record.eject(failed, &ejection(), now);
            record.check(true, &Checks::default(), now);
            assert_eq!(record.state(TIME, now), state, "{failed:?}");
        }
    }
}
