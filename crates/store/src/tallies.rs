//! Tallies of openings in this process, bounded.
//!
//! They are spread over shards by the first byte of their name, each with a lock of its own. A
//! tally without failures and without open openings is dropped at once.
//!
//! The rule kept here: an unexpired tally is never dropped while it counts something. When no more
//! fit, openings are refused.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use soapstone::attempts::{KeyName, Outcome, Tally};
use soapstone::replay::ReplayError;

use crate::room::{Room, TallyPlace};

const SHARDS: usize = 16;

/// The change of a tally by one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) failed: i32,
    pub(crate) open: i32,
}

impl Change {
    /// An opening begins.
    pub(crate) const BEGUN: Self = Self { failed: 0, open: 1 };
    /// A failure that no opening began.
    pub(crate) const FAILURE: Self = Self { failed: 1, open: 0 };

    /// An opening ends.
    pub(crate) fn ended(outcome: Outcome) -> Self {
        let failed = i32::from(outcome == Outcome::Failed);
        Self { failed, open: -1 }
    }

    /// The change that undoes it.
    pub(crate) fn reversed(self) -> Self {
        Self {
            failed: -self.failed,
            open: -self.open,
        }
    }

    /// The tally after it.
    pub(crate) fn of(self, tally: Tally) -> Tally {
        Tally {
            failed: tally.failed.saturating_add_signed(self.failed),
            open: tally.open.saturating_add_signed(self.open),
        }
    }
}

/// The second from which something that ends at a moment is expired.
pub(crate) fn rounded_up(until: Timestamp) -> i64 {
    until.as_second() + i64::from(until.subsec_nanosecond() > 0)
}

/// Remembers the tallies of a process in memory until they expire.
#[derive(Debug, Default)]
pub(crate) struct Tallies([Mutex<Shard>; SHARDS]);

#[derive(Debug, Default)]
struct Shard {
    /// By 128 bits of their names.
    tallies: HashMap<[u8; 16], Held>,
    /// The same by their end.
    ends: BTreeSet<(i64, [u8; 16])>,
}

#[derive(Debug)]
struct Held {
    tally: Tally,
    /// The second from which it is expired.
    until: i64,
    /// Of the endpoint that counted first.
    place: TallyPlace,
}

impl Tallies {
    /// Changes the tally of each name, in a room for at most so many. The tallies are those of
    /// before; after an error none is changed.
    pub(crate) fn change(
        &self,
        names: &[KeyName],
        change: Change,
        until: Timestamp,
        now: Timestamp,
        room: (&Arc<Room>, usize),
    ) -> Result<Vec<Tally>, ReplayError> {
        let (until, now) = (rounded_up(until), now.as_second());
        // The changes of one message need not be seen together: each limits by itself.
        let mut before = Vec::with_capacity(names.len());
        for (index, name) in names.iter().enumerate() {
            match self.change_one(name, change, until, now, room) {
                Ok(tally) => before.push(tally),
                Err(full) => {
                    for name in &names[..index] {
                        // There is room: it was taken a moment ago.
                        self.change_one(name, change.reversed(), until, now, room)
                            .ok();
                    }
                    return Err(full);
                }
            }
        }
        Ok(before)
    }

    /// The tally of a name.
    pub(crate) fn find(&self, name: &KeyName, now: Timestamp) -> Tally {
        let (shard, key) = place(name);
        let shard = self.lock(shard);
        let held = shard.tallies.get(&key);
        held.filter(|held| held.until > now.as_second())
            .map_or(Tally::default(), |held| held.tally)
    }

    fn change_one(
        &self,
        name: &KeyName,
        change: Change,
        until: i64,
        now: i64,
        (room, most): (&Arc<Room>, usize),
    ) -> Result<Tally, ReplayError> {
        let (number, key) = place(name);
        let mut swept = false;
        loop {
            let mut shard = self.lock(number);
            // Expired ones of the shard at hand go now, so that steady traffic needs no sweep.
            shard.drop_expired(now);
            let (tally, end, place) = match shard.tallies.remove(&key) {
                Some(held) => {
                    shard.ends.remove(&(held.until, key));
                    (held.tally, held.until.max(until), Some(held.place))
                }
                None => (Tally::default(), until, None),
            };
            let after = change.of(tally);
            if after == Tally::default() {
                return Ok(tally);
            }
            if let Some(place) = place.or_else(|| Room::take_tally(room, most)) {
                let held = Held {
                    tally: after,
                    until: end,
                    place,
                };
                shard.tallies.insert(key, held);
                shard.ends.insert((end, key));
                return Ok(tally);
            }
            drop(shard);
            if swept {
                return Err(ReplayError::Full { capacity: most });
            }
            swept = true;
            for number in 0..SHARDS {
                self.lock(number).drop_expired(now);
            }
        }
    }

    fn lock(&self, shard: usize) -> MutexGuard<'_, Shard> {
        // A panic could leave an end without its tally or the reverse: a tally too many.
        self.0[shard].lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shard {
    fn drop_expired(&mut self, now: i64) {
        while let Some((until, key)) = self.ends.first().copied() {
            if until > now {
                break;
            }
            self.ends.pop_first();
            self.tallies.remove(&key);
        }
    }
}

/// The shard, and 128 bits of the name.
fn place(name: &KeyName) -> (usize, [u8; 16]) {
    let mut key = [0; 16];
    key.copy_from_slice(&name[16..]);
    (usize::from(name[0]) % SHARDS, key)
}

#[cfg(test)]
mod tests {
    use soapstone_testkit::at;

    use super::*;

    fn name(number: u8) -> KeyName {
        let mut name = [0; 32];
        (name[0], name[31]) = (number, number);
        name
    }

    /// Tallies of one endpoint.
    struct Alone {
        tallies: Tallies,
        room: Arc<Room>,
        most: usize,
    }

    impl Alone {
        fn new(most: usize) -> Self {
            Self {
                tallies: Tallies::default(),
                room: Arc::default(),
                most,
            }
        }

        fn change(
            &self,
            names: &[KeyName],
            change: Change,
            until: Timestamp,
            now: Timestamp,
        ) -> Result<Vec<Tally>, ReplayError> {
            let room = (&self.room, self.most);
            self.tallies.change(names, change, until, now, room)
        }

        fn find(&self, name: &KeyName, now: Timestamp) -> Tally {
            self.tallies.find(name, now)
        }
    }

    fn change(tallies: &Alone, number: u8, change: Change) -> Result<Tally, ReplayError> {
        let before = tallies.change(&[name(number)], change, at(60), at(0))?;
        Ok(before[0])
    }

    #[test]
    fn an_opening_counts_until_it_succeeds_and_a_failure_until_it_expires() {
        let tallies = Alone::new(10);
        let tally = |failed, open| Ok(Tally { failed, open });
        assert_eq!(change(&tallies, 1, Change::BEGUN), tally(0, 0));
        assert_eq!(change(&tallies, 1, Change::BEGUN), tally(0, 1));
        let (failed, succeeded) = (Outcome::Failed, Outcome::Succeeded);
        assert_eq!(change(&tallies, 1, Change::ended(failed)), tally(0, 2));
        assert_eq!(change(&tallies, 1, Change::ended(succeeded)), tally(1, 1));
        assert_eq!(change(&tallies, 1, Change::FAILURE), tally(1, 0));
        assert_eq!(tallies.find(&name(1), at(59)).failed, 2);
        assert_eq!(tallies.find(&name(1), at(60)), Tally::default());
        assert_eq!(tallies.find(&name(2), at(0)), Tally::default());
    }

    #[test]
    fn a_tally_that_counts_nothing_takes_no_room() {
        let tallies = Alone::new(1);
        for number in 0..100 {
            change(&tallies, number, Change::BEGUN).expect("there is room");
            change(&tallies, number, Change::BEGUN.reversed()).expect("it is there");
        }
        assert_eq!(tallies.room.tallies.taken(), 0);
    }

    #[test]
    fn a_full_store_refuses_new_names_and_begins_none_of_them() {
        let tallies = Alone::new(2);
        change(&tallies, 1, Change::FAILURE).expect("there is room");
        let full = ReplayError::Full { capacity: 2 };
        let refused = tallies.change(&[name(2), name(3)], Change::BEGUN, at(60), at(0));
        assert_eq!(refused, Err(full));
        assert_eq!(tallies.find(&name(2), at(0)), Tally::default());
        change(&tallies, 1, Change::FAILURE).expect("it has its room");
        change(&tallies, 2, Change::FAILURE).expect("there is room for one");
        // Expired tallies make room, wherever they are.
        let later = tallies.change(&[name(3), name(4)], Change::BEGUN, at(90), at(60));
        assert_eq!(later, Ok(vec![Tally::default(); 2]));
    }

    #[test]
    fn a_tally_lives_until_the_latest_end_that_it_was_given() {
        let tallies = Alone::new(2);
        for until in [90, 30] {
            let change = tallies.change(&[name(1)], Change::FAILURE, at(until), at(0));
            change.expect("there is room");
        }
        assert_eq!(tallies.find(&name(1), at(89)).failed, 2);
    }

    #[test]
    fn openings_at_the_same_moment_see_each_other() {
        let tallies = Alone::new(2);
        let mut before: Vec<u32> = std::thread::scope(|scope| {
            let begin = || change(&tallies, 1, Change::BEGUN).expect("there is room");
            let threads: Vec<_> = (0..16).map(|_| scope.spawn(begin)).collect();
            let joined = threads.into_iter().map(|thread| thread.join());
            joined.map(|it| it.expect("no panic").open).collect()
        });
        before.sort_unstable();
        assert_eq!(before, (0..16).collect::<Vec<u32>>());
    }
}
