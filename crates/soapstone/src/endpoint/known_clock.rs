//! By how much a peer's clock is off, as far as it is known.
//!
//! The rule kept here: what is learnt is bounded, and no copy of a message is forgotten while a
//! clock that is learnt anew could make it fresh.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use soapstone_wss::PeerClock;

use crate::config::ClockSource;

/// Stands for an offset that nobody has learnt yet.
const UNKNOWN: i64 = i64::MIN;

/// By how much the peer's clock is off.
#[derive(Debug)]
pub(super) enum KnownClock {
    /// As the file says.
    Fixed(SignedDuration),
    /// As the peer's answers show it.
    Learnt {
        from: ClockSource,
        /// Most that is believed.
        limit: Duration,
        /// Milliseconds, or [`UNKNOWN`].
        ahead: AtomicI64,
    },
}

impl Default for KnownClock {
    fn default() -> Self {
        Self::Fixed(SignedDuration::ZERO)
    }
}

/// A clock that is off by more than is believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockTooFarOff {
    /// How far it is ahead of ours.
    pub ahead: SignedDuration,
    /// Most that is believed.
    pub limit: Duration,
}

impl KnownClock {
    /// One that answers have to show first.
    pub(super) fn unknown(from: ClockSource, limit: Duration) -> Self {
        Self::Learnt {
            from,
            limit,
            ahead: AtomicI64::new(UNKNOWN),
        }
    }

    fn ahead(&self) -> Option<SignedDuration> {
        match self {
            Self::Fixed(ahead) => Some(*ahead),
            Self::Learnt { ahead, .. } => match ahead.load(Ordering::Relaxed) {
                UNKNOWN => None,
                milliseconds => Some(SignedDuration::from_millis(milliseconds)),
            },
        }
    }

    pub(super) fn current(&self) -> PeerClock {
        let ahead = self.ahead().unwrap_or_default();
        let drift = match self {
            Self::Fixed(_) => Duration::ZERO,
            // It may be learnt to be as far behind as is believed.
            Self::Learnt { limit, .. } => {
                let lowest = SignedDuration::try_from(*limit).unwrap_or(SignedDuration::MAX);
                let drift = ahead.saturating_add(lowest);
                drift.try_into().unwrap_or_default()
            }
        };
        PeerClock { ahead, drift }
    }

    /// Believes a moment of the peer's clock, seen at this moment of ours.
    pub(super) fn learn(&self, theirs: Timestamp, ours: Timestamp) -> Result<(), ClockTooFarOff> {
        let Self::Learnt { limit, ahead, .. } = self else {
            return Ok(());
        };
        let found = theirs.duration_since(ours);
        if found.unsigned_abs() > *limit {
            return Err(ClockTooFarOff {
                ahead: found,
                limit: *limit,
            });
        }
        let milliseconds = i64::try_from(found.as_millis()).unwrap_or_default();
        ahead.store(milliseconds, Ordering::Relaxed);
        Ok(())
    }

    /// Goes on with what another one has learnt, as far as this one believes it.
    pub(super) fn follow(&self, former: &Self) {
        if let (Self::Learnt { .. }, Self::Learnt { .. }, Some(known)) =
            (self, former, former.ahead())
        {
            let epoch = Timestamp::UNIX_EPOCH;
            if let Ok(theirs) = epoch.checked_add(known) {
                self.learn(theirs, epoch).ok();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learnt(limit: u64) -> KnownClock {
        KnownClock::unknown(ClockSource::Date, Duration::from_secs(limit))
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    #[test]
    fn a_clock_is_believed_within_its_bound() {
        let clock = learnt(60);
        assert_eq!(clock.ahead(), None);
        for (theirs, known) in [(1_030, 30), (970, -30), (1_060, 60), (940, -60)] {
            assert_eq!(clock.learn(at(theirs), at(1_000)), Ok(()));
            assert_eq!(clock.ahead(), Some(SignedDuration::from_secs(known)));
        }
        for (theirs, ahead) in [(1_061, 61), (939, -61)] {
            let refused = ClockTooFarOff {
                ahead: SignedDuration::from_secs(ahead),
                limit: Duration::from_secs(60),
            };
            assert_eq!(clock.learn(at(theirs), at(1_000)), Err(refused));
            assert_eq!(clock.ahead(), Some(SignedDuration::from_secs(-60)));
        }
    }

    /// A copy that ended by one clock is fresh by one that is further behind.
    #[test]
    fn a_copy_is_remembered_for_the_furthest_clock_that_could_be_learnt() {
        let clock = learnt(60);
        for theirs in [1_000, 1_030, 1_060, 940] {
            clock.learn(at(theirs), at(1_000)).expect("it is believed");
            let PeerClock { ahead, drift } = clock.current();
            let furthest = SignedDuration::try_from(drift).expect("seconds") - ahead;
            assert_eq!(furthest, SignedDuration::from_secs(60));
        }
        let fixed = KnownClock::Fixed(SignedDuration::from_secs(-37)).current();
        assert_eq!(fixed.drift, Duration::ZERO);
    }

    #[test]
    fn what_was_learnt_outlives_a_reload_within_the_new_bound() {
        let former = learnt(60);
        former.learn(at(1_050), at(1_000)).expect("it is believed");
        for (limit, known) in [(60, Some(50)), (50, Some(50)), (49, None)] {
            let clock = learnt(limit);
            clock.follow(&former);
            assert_eq!(
                clock.ahead(),
                known.map(SignedDuration::from_secs),
                "{limit}"
            );
        }
        let fixed = KnownClock::default();
        fixed.follow(&former);
        assert_eq!(fixed.ahead(), Some(SignedDuration::ZERO));
    }
}
