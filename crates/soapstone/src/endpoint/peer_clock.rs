//! The clock of a peer that does not keep time: by how much it is off, as the file says or as
//! answers show it.
//!
//! The rule kept here: what is learnt is bounded, and no copy of a message is forgotten while a
//! clock that is learnt anew could make it fresh.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use soapstone_wss::names::WSU;
use soapstone_wss::{Envelope, PeerClock};
use soapstone_xml::{Buffers, Limits};

use super::agreed::Exchange;
use super::compiled::Endpoint;
use super::compiler::Compiler;
use super::plans::Directions;
use super::role::Role;
use crate::config::{ClockOffset, ClockSource};

/// Stands for an offset that nobody has learnt yet.
const UNKNOWN: i64 = i64::MIN;

/// By how much the peer's clock is off.
#[derive(Debug)]
pub(super) enum KnownClock {
    /// As the file says.
    Fixed(SignedDuration),
    /// As answers show it.
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
    fn ahead(&self) -> Option<SignedDuration> {
        match self {
            Self::Fixed(ahead) => Some(*ahead),
            Self::Learnt { ahead, .. } => match ahead.load(Ordering::Relaxed) {
                UNKNOWN => None,
                milliseconds => Some(SignedDuration::from_millis(milliseconds)),
            },
        }
    }

    fn current(&self) -> PeerClock {
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
    fn learn(&self, theirs: Timestamp, ours: Timestamp) -> Result<(), ClockTooFarOff> {
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
    fn follow(&self, former: &Self) {
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

impl<P: Directions> Endpoint<P> {
    /// The peer's clock, as far as it is known now.
    pub fn peer_clock(&self) -> PeerClock {
        self.peer_clock.current()
    }

    /// From what the peer's clock is learnt, if it is learnt.
    pub fn learns_clock_from(&self) -> Option<ClockSource> {
        match &self.peer_clock {
            KnownClock::Fixed(_) => None,
            KnownClock::Learnt { from, .. } => Some(*from),
        }
    }

    /// Whether the peer's clock is off by as much as the file says, or is learnt.
    pub fn allows_for_clock(&self) -> bool {
        !matches!(self.peer_clock, KnownClock::Fixed(SignedDuration::ZERO))
    }

    /// Learns the peer's clock from a moment that it shows, seen at this moment of ours.
    ///
    /// # Errors
    /// It is off by more than is believed: what was known stays.
    pub fn learn_clock(&self, theirs: Timestamp, ours: Timestamp) -> Result<(), ClockTooFarOff> {
        self.peer_clock.learn(theirs, ours)
    }

    pub(super) fn follow_clock(&self, former: &Self) {
        self.peer_clock.follow(&former.peer_clock);
    }
}

/// When a message says that it was made: `wsu:Created` of its first `wsu:Timestamp`. Nothing proves
/// it.
pub fn said_to_be_made(bytes: &[u8]) -> Option<Timestamp> {
    let mut buffers = Buffers::default();
    let envelope = Envelope::parse(bytes.to_vec(), &Limits::default(), &mut buffers).ok()?;
    let header = envelope.header()?;
    let mut timestamps = header
        .children()
        .flat_map(|block| block.children())
        .filter(|item| item.is(WSU, "Timestamp"));
    let created = timestamps.next()?.child(WSU, "Created")?;
    soapstone_wss::parse_date_time(created.text().trim())
}

impl Compiler<'_> {
    /// How the peer's clock is known. What makes no sense of it is reported.
    pub(super) fn peer_clock(&mut self, role: Role, exchanges: &[Exchange]) -> KnownClock {
        let config = self.config;
        let Some(clock) = &config.security.clock else {
            return KnownClock::default();
        };
        let has_security = |exchange: &Exchange| {
            exchange.request.has_security() || exchange.response.has_security()
        };
        if !exchanges.iter().any(has_security) {
            self.report_with_hint(
                clock.place,
                "`clock` is given, and messages have no time",
                "leave it out, or name a mechanism",
            );
        }
        match clock.offset {
            ClockOffset::Fixed(ahead) => KnownClock::Fixed(ahead),
            ClockOffset::Learnt { from, limit } => {
                if role != Role::Client {
                    self.report_with_hint(
                        clock.place,
                        "a clock is learnt from answers, and this endpoint gets none",
                        "say how far it is off: clock = { offset = \"-37s\" }",
                    );
                }
                KnownClock::Learnt {
                    from,
                    limit,
                    ahead: AtomicI64::new(UNKNOWN),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn learnt(limit: u64) -> KnownClock {
        KnownClock::Learnt {
            from: ClockSource::Date,
            limit: Duration::from_secs(limit),
            ahead: AtomicI64::new(UNKNOWN),
        }
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
