//! How many cancelled assertions each requester holds, so that no one of them takes the room of all
//! the others.
//!
//! The rule kept here: an assertion counts for each requester who cancelled it, until it ends.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use soapstone::attempts::KeyName;
use soapstone::replay::ReplayError;

use crate::tallies::rounded_up;

/// Of a room one requester holds no more than its eighth part: seven others have room.
const REQUESTERS: usize = 8;

/// The fewest requesters after which those are dropped that hold nothing.
const FEWEST: usize = 64;

/// The requesters of an endpoint, and what each of them holds.
#[derive(Debug, Default)]
pub(crate) struct Cancellers(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    by_requester: HashMap<KeyName, Held>,
    /// How many names all requesters hold.
    total: usize,
    /// How many requesters there may be before those that hold nothing are dropped.
    bound: usize,
    /// No name of anybody ends before that second.
    earliest: i64,
}

/// What one requester holds.
#[derive(Debug, Default)]
struct Held {
    /// Names of assertions, each with the second from which it is expired.
    ends: HashMap<KeyName, i64>,
    /// None of them ends before that second.
    earliest: i64,
}

impl Held {
    /// Drops what has ended, if anything may have.
    fn drop_ended(&mut self, now: i64) {
        if self.earliest <= now {
            self.ends.retain(|_, end| *end > now);
            self.earliest = self.ends.values().copied().min().unwrap_or(i64::MAX);
        }
    }
}

impl Known {
    /// Drops what has ended, and the requesters that hold nothing.
    fn drop_ended(&mut self, now: i64) {
        self.by_requester.retain(|_, held| {
            held.drop_ended(now);
            !held.ends.is_empty()
        });
        let shares = self.by_requester.values();
        self.total = shares.clone().map(|held| held.ends.len()).sum();
        self.earliest = shares.map(|held| held.earliest).min().unwrap_or(i64::MAX);
    }
}

/// How a place was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taken {
    /// There was none for this assertion, or its assertion had ended.
    New,
    /// The requester had cancelled the assertion before, and it has not ended.
    Before,
}

impl Cancellers {
    /// Takes the place of an assertion in the share of its requester, and remembers the assertion.
    /// It is remembered `until` a time, from `now` on; `capacity` is the room of all.
    pub(crate) fn counted(
        &self,
        by: &KeyName,
        name: &KeyName,
        (until, now): (Timestamp, Timestamp),
        capacity: usize,
        remember: impl FnOnce() -> Result<(), ReplayError>,
    ) -> Result<(), ReplayError> {
        let taken = self.take(by, name, until, now, capacity)?;
        let remembered = remember();
        match (taken, &remembered) {
            (Taken::New, Err(_)) => self.leave(by, name),
            // Another call had the place, and has left it if it remembered nothing.
            (Taken::Before, Ok(())) => {
                self.take(by, name, until, now, capacity)?;
            }
            _ => {}
        }
        remembered
    }

    /// Takes the place of an assertion in the share of its requester. `capacity` is the room of
    /// all.
    fn take(
        &self,
        by: &KeyName,
        name: &KeyName,
        until: Timestamp,
        now: Timestamp,
        capacity: usize,
    ) -> Result<Taken, ReplayError> {
        let (until, now) = (rounded_up(until), now.as_second());
        let share = (capacity / REQUESTERS).max(1);
        let mut guard = self.lock();
        let known = &mut *guard;
        if known.by_requester.len() >= known.bound.max(FEWEST) {
            known.drop_ended(now);
            known.bound = 2 * known.by_requester.len();
        }
        if known.total >= capacity && known.earliest <= now {
            known.drop_ended(now);
        }
        let held = known.by_requester.entry(*by).or_default();
        if let Some(end) = held.ends.get_mut(name).filter(|end| **end > now) {
            *end = until.max(*end);
            return Ok(Taken::Before);
        }
        let before = held.ends.len();
        if before >= share {
            held.drop_ended(now);
        }
        let is_full = held.ends.len() >= share && !held.ends.contains_key(name);
        if !is_full {
            held.earliest = match held.ends.is_empty() {
                true => until,
                false => held.earliest.min(until),
            };
            known.earliest = known.earliest.min(until);
            held.ends.insert(*name, until);
        }
        known.total = known.total - before + held.ends.len();
        match is_full {
            true => Err(ReplayError::ShareUsed { share }),
            false => Ok(Taken::New),
        }
    }

    /// Leaves the place of an assertion that is not remembered after all.
    fn leave(&self, by: &KeyName, name: &KeyName) {
        let mut guard = self.lock();
        let known = &mut *guard;
        if let Some(held) = known.by_requester.get_mut(by)
            && held.ends.remove(name).is_some()
        {
            known.total -= 1;
        }
    }

    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    const fn name(number: u8) -> KeyName {
        [number; 32]
    }

    #[test]
    fn one_requester_leaves_the_others_their_room_until_what_it_cancelled_ends() {
        let cancellers = Cancellers::default();
        let take = |by: u8, number: u8, now: i64| {
            cancellers.take(&name(by), &name(number), at(60), at(now), 16)
        };
        assert_eq!(take(1, 1, 0), Ok(Taken::New));
        assert_eq!(take(1, 2, 0), Ok(Taken::New));
        assert_eq!(take(1, 3, 59), Err(ReplayError::ShareUsed { share: 2 }));
        // What it cancelled already takes no other place.
        assert_eq!(take(1, 2, 59), Ok(Taken::Before));
        assert_eq!(take(2, 3, 59), Ok(Taken::New));
        assert_eq!(take(1, 4, 60), Ok(Taken::New));
    }

    #[test]
    fn an_assertion_that_has_ended_takes_its_place_anew() {
        let cancellers = Cancellers::default();
        let take =
            |until: i64, now: i64| cancellers.take(&name(1), &name(1), at(until), at(now), 8);
        assert_eq!(take(60, 0), Ok(Taken::New));
        assert_eq!(take(60, 59), Ok(Taken::Before));
        assert_eq!(take(120, 60), Ok(Taken::New));
        cancellers.leave(&name(1), &name(1));
        assert_eq!(cancellers.lock().total, 0);
    }

    /// Two calls for the same assertion: the first one takes the place, and cannot remember it.
    #[test]
    fn an_assertion_is_counted_though_the_call_that_took_its_place_fails() {
        let cancellers = Cancellers::default();
        let ends = (at(60), at(0));
        assert_eq!(
            cancellers.take(&name(1), &name(1), at(60), at(0), 8),
            Ok(Taken::New)
        );
        let second = cancellers.counted(&name(1), &name(1), ends, 8, || {
            cancellers.leave(&name(1), &name(1));
            Ok(())
        });
        assert_eq!((second, cancellers.lock().total), (Ok(()), 1));
        let full = || Err(ReplayError::Full { capacity: 8 });
        let known = cancellers.counted(&name(1), &name(1), ends, 8, full);
        assert_eq!((known, cancellers.lock().total), (full(), 1));
        let other = cancellers.counted(&name(2), &name(2), ends, 8, full);
        assert_eq!((other, cancellers.lock().total), (full(), 1));
    }

    #[test]
    fn what_has_ended_is_dropped_when_the_names_of_all_fill_the_room() {
        let cancellers = Cancellers::default();
        let take = |by: u8, number: u8, until: i64, now: i64| {
            cancellers.take(&name(by), &name(number), at(until), at(now), 16)
        };
        for by in 0..8 {
            for number in 0..2 {
                assert_eq!(take(by, number, 60 + i64::from(by), 0), Ok(Taken::New));
            }
        }
        assert_eq!(cancellers.lock().total, 16);
        // Nothing has ended.
        assert_eq!(take(8, 1, 90, 59), Ok(Taken::New));
        assert_eq!(cancellers.lock().total, 17);
        // Six of them have ended: three requesters held two each.
        assert_eq!(take(8, 2, 90, 62), Ok(Taken::New));
        let known = cancellers.lock();
        assert_eq!((known.total, known.by_requester.len()), (12, 6));
        assert_eq!(known.earliest, 63);
    }

    #[test]
    fn requesters_that_hold_nothing_any_more_are_dropped() {
        let cancellers = Cancellers::default();
        for number in 0..=255 {
            let by = name(number);
            let now = at(i64::from(number) * 100);
            let taken = cancellers.take(
                &by,
                &name(1),
                now + std::time::Duration::from_secs(1),
                now,
                16,
            );
            assert_eq!(taken, Ok(Taken::New));
        }
        assert!(cancellers.lock().by_requester.len() <= FEWEST);
    }
}
