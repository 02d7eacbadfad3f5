//! The clock of a peer that does not keep time: an endpoint allows for it, as the file says or as
//! answers show it.

use jiff::{SignedDuration, Timestamp};
use soapstone_wss::names::WSU;
use soapstone_wss::{Envelope, PeerClock};
use soapstone_xml::{Buffers, Limits};

use super::compiled::Endpoint;
use super::compiler::Compiler;
use super::exchange_policy::Exchange;
use super::known_clock::{ClockTooFarOff, KnownClock};
use super::plans::Directions;
use super::role::Role;
use crate::config::{ClockOffset, ClockSource};

impl<P: Directions> Endpoint<P> {
    /// The peer's clock, as far as it is known now.
    pub fn peer_clock(&self) -> PeerClock {
        self.peer_clock.current()
    }

    /// From what the peer's clock is learnt, if it is learnt.
    pub fn learns_clock_from(&self) -> Option<&ClockSource> {
        match &self.peer_clock {
            KnownClock::Fixed(_) => None,
            KnownClock::Learnt { from, .. } => Some(from),
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
        match &clock.offset {
            ClockOffset::Fixed(ahead) => KnownClock::Fixed(*ahead),
            ClockOffset::Learnt { from, limit } => {
                if role != Role::Client {
                    self.report_with_hint(
                        clock.place,
                        "a clock is learnt from answers, and this endpoint gets none",
                        "say how far it is off: clock = { offset = \"-37s\" }",
                    );
                }
                KnownClock::unknown(from.clone(), *limit)
            }
        }
    }
}
