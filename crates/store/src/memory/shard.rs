//! Some of the marks, in the order in which they expire.
//!
//! The rule kept here: a mark is dropped when its life is over, and its end is noted then.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use soapstone::clock::{Forgotten, Steps};

use crate::room::Place;

/// Marks that expire within the same so many seconds are dropped together.
pub(super) const EPOCH_SECONDS: i64 = 8;

#[derive(Debug, Default)]
pub(super) struct Shard {
    /// 128 bits of the mark's hash.
    pub(super) marks: HashMap<[u8; 16], Held>,
    /// Those that expire by the clock, by epoch of expiry.
    epochs: BTreeMap<i64, Vec<[u8; 16]>>,
    /// Those that are held for a time, by epoch of the time elapsed.
    counted: BTreeMap<i64, Vec<[u8; 16]>>,
    /// The seconds from which marks are expired that were dropped.
    forgotten: Forgotten,
    steps: Steps,
}

#[derive(Debug)]
pub(super) struct Held {
    pub(super) life: Life,
    /// The first configuration in which its message was accepted.
    pub(super) configuration: u32,
    pub(super) _place: Place,
}

/// The second from which a mark is expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Life {
    /// Of the clock.
    Clock(i64),
    /// Of the time elapsed.
    Counted(i64),
}

/// Seconds of both clocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    pub(super) clock: i64,
    pub(super) elapsed: i64,
}

impl Life {
    pub(super) fn is_over(self, now: Moment) -> bool {
        match self {
            Self::Clock(until) => until <= now.clock,
            Self::Counted(until) => until <= now.elapsed,
        }
    }
}

impl Shard {
    pub(super) fn holds(&self, key: &[u8; 16], now: Moment) -> bool {
        self.marks
            .get(key)
            .is_some_and(|held| !held.life.is_over(now))
    }

    /// The first configuration in which a message was accepted that has such a mark.
    pub(super) fn accepted(&self, key: &[u8; 16], now: Moment) -> Option<u32> {
        let held = self.marks.get(key)?;
        (!held.life.is_over(now)).then_some(held.configuration)
    }

    /// Whether a mark of such a life may have been dropped: the last second of those that were.
    pub(super) fn forgot(&self, life: Life) -> Option<i64> {
        match life {
            Life::Clock(until) => self.forgotten.last_beside(until),
            Life::Counted(_) => None,
        }
    }

    pub(super) fn remember(&mut self, key: [u8; 16], mut held: Held, now: Moment) {
        if let Some(before) = self.marks.remove(&key) {
            if before.life.is_over(now) {
                self.note(before.life);
            } else {
                // Another scope's, whose message it is as well.
                held.life = held.life.max(before.life);
                held.configuration = held.configuration.min(before.configuration);
            }
        }
        let (epochs, second) = match held.life {
            Life::Clock(until) => (&mut self.epochs, until),
            Life::Counted(until) => (&mut self.counted, until),
        };
        let epoch = epochs.entry(second.div_euclid(EPOCH_SECONDS));
        epoch.or_default().push(key);
        self.marks.insert(key, held);
    }

    /// Notes that a mark is dropped.
    fn note(&mut self, life: Life) {
        if let Life::Clock(until) = life {
            self.forgotten.note(until, until);
        }
    }

    /// Drops what is expired for good, epoch by epoch.
    pub(super) fn drop_expired(&mut self, now: Moment) {
        let earliest = self.steps.earliest(now.clock, now.elapsed);
        self.drop_ended(earliest);
        while let Some(epoch) = self.counted.first_entry()
            && (*epoch.key() + 1) * EPOCH_SECONDS <= now.elapsed
        {
            let keys = epoch.remove();
            self.drop_all(keys, |life| life.is_over(now));
        }
    }

    /// Drops what ends by the clock until such a second, epoch by epoch.
    pub(super) fn drop_ended(&mut self, last: i64) {
        while let Some(epoch) = self.epochs.first_entry()
            && (*epoch.key() + 1) * EPOCH_SECONDS <= last
        {
            let keys = epoch.remove();
            self.drop_all(
                keys,
                |life| matches!(life, Life::Clock(until) if until <= last),
            );
        }
    }

    /// Drops what ends by the clock after such a second, epoch by epoch.
    pub(super) fn drop_ahead(&mut self, last: i64) {
        while let Some(epoch) = self.epochs.last_entry()
            && *epoch.key() * EPOCH_SECONDS > last
        {
            let keys = epoch.remove();
            self.drop_all(
                keys,
                |life| matches!(life, Life::Clock(until) if until > last),
            );
        }
    }

    /// Drops those of the marks that are to be dropped.
    fn drop_all(&mut self, keys: Vec<[u8; 16]>, is_dropped: impl Fn(Life) -> bool) {
        for key in keys {
            // A mark that was remembered again lives on in another epoch.
            if let Entry::Occupied(mark) = self.marks.entry(key)
                && is_dropped(mark.get().life)
            {
                let life = mark.remove().life;
                self.note(life);
            }
        }
    }
}
