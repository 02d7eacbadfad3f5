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
    /// Names of assertions, each with the second from which it is expired.
    by_requester: HashMap<KeyName, HashMap<KeyName, i64>>,
    /// How many requesters there may be before those that hold nothing are dropped.
    bound: usize,
}

/// How a place was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Taken {
    /// There was none for this assertion.
    New,
    /// The requester had cancelled the assertion before.
    Before,
}

impl Cancellers {
    /// Takes the place of an assertion in the share of its requester. `capacity` is the room of
    /// all.
    pub(crate) fn take(
        &self,
        by: &KeyName,
        name: &KeyName,
        until: Timestamp,
        now: Timestamp,
        capacity: usize,
    ) -> Result<Taken, ReplayError> {
        let (until, now) = (rounded_up(until), now.as_second());
        let share = (capacity / REQUESTERS).max(1);
        let mut known = self.lock();
        if known.by_requester.len() >= known.bound.max(FEWEST) {
            known.by_requester.retain(|_, held| {
                held.retain(|_, end| *end > now);
                !held.is_empty()
            });
            known.bound = 2 * known.by_requester.len();
        }
        let held = known.by_requester.entry(*by).or_default();
        if let Some(end) = held.get_mut(name) {
            *end = until.max(*end);
            return Ok(Taken::Before);
        }
        if held.len() >= share {
            held.retain(|_, end| *end > now);
        }
        if held.len() >= share {
            return Err(ReplayError::ShareUsed { share });
        }
        held.insert(*name, until);
        Ok(Taken::New)
    }

    /// Leaves the place of an assertion that is not remembered after all.
    pub(crate) fn leave(&self, by: &KeyName, name: &KeyName) {
        if let Some(held) = self.lock().by_requester.get_mut(by) {
            held.remove(name);
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
