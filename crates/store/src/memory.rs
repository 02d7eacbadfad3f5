//! Replay marks in this process, bounded.
//!
//! Marks are spread over shards by their first octet, each with a lock of its own. A message's marks are checked and remembered while
//! all shards concerned are locked, in the order of their numbers, so two copies of a message cannot both be first.
//!
//! The rule kept here: an unexpired mark is never dropped. When no more fit, messages are refused; and when the clock is set back, so are those
//! that end no later than what was dropped by its former word.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use soapstone::attempts::{Attempts, KeyName, Outcome, Tally};
use soapstone::replay::{ReplayCache, ReplayError};
use soapstone::wss::{FirstSeen, Mark};

use crate::tallies::{Change, Tallies};

const SHARDS: usize = 16;

/// Marks that expire within the same so many seconds are dropped together.
const EPOCH_SECONDS: i64 = 8;

/// Remembers marks in memory until they expire.
#[derive(Debug)]
pub struct MemoryReplay {
    shards: Box<[Mutex<Shard>; SHARDS]>,
    held: AtomicUsize,
    capacity: usize,
    pub(crate) tallies: Tallies,
}

#[derive(Debug, Default)]
struct Shard {
    /// 128 bits of the mark's hash, and the second from which it is expired.
    marks: HashMap<[u8; 16], i64>,
    /// The same by epoch of expiry.
    epochs: BTreeMap<i64, Vec<[u8; 16]>>,
    /// The latest second from which a mark that was dropped is expired.
    forgotten: Option<i64>,
}

impl MemoryReplay {
    /// A cache for at most so many unexpired marks, and as many tallies of openings.
    pub fn new(capacity: usize) -> Self {
        Self {
            shards: Default::default(),
            held: AtomicUsize::new(0),
            capacity,
            tallies: Tallies::new(capacity),
        }
    }

    /// How many marks are held, expired ones that were not yet dropped included.
    pub fn len(&self) -> usize {
        self.held.load(Ordering::Relaxed)
    }

    /// How many marks it may hold.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Whether no marks are held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn lock(&self, shard: usize) -> MutexGuard<'_, Shard> {
        // What a panic could leave behind is a mark too many, which only refuses.
        self.shards[shard]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes room for so many marks, or says that there is none.
    fn reserve(&self, count: usize, now: i64) -> Result<(), ReplayError> {
        let fits = |held: usize| {
            held.checked_add(count)
                .filter(|wanted| *wanted <= self.capacity)
        };
        if self
            .held
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
            .is_ok()
        {
            return Ok(());
        }
        for shard in 0..SHARDS {
            let dropped = self.lock(shard).drop_expired(now);
            self.held.fetch_sub(dropped, Ordering::Relaxed);
        }
        match self
            .held
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits)
        {
            Ok(_) => Ok(()),
            Err(_) => Err(ReplayError::Full {
                capacity: self.capacity,
            }),
        }
    }
}

impl ReplayCache for MemoryReplay {
    fn first_seen(&self, marks: &[Mark], now: Timestamp) -> Result<FirstSeen, ReplayError> {
        let now = now.as_second();
        self.reserve(marks.len(), now)?;
        let mut wanted: Vec<(usize, [u8; 16], i64)> = marks.iter().map(place).collect();
        wanted.sort_unstable();
        let mut guards: Vec<(usize, MutexGuard<'_, Shard>)> = Vec::with_capacity(wanted.len());
        for (shard, ..) in &wanted {
            if guards.last().is_none_or(|(locked, _)| locked != shard) {
                guards.push((*shard, self.lock(*shard)));
            }
        }
        // Expired marks of the shards at hand go now, so that steady traffic never needs a sweep.
        let dropped: usize = guards
            .iter_mut()
            .map(|(_, shard)| shard.drop_expired(now))
            .sum();
        let seen = guards.iter().any(|(number, shard)| {
            wanted
                .iter()
                .any(|(wanted_shard, key, _)| wanted_shard == number && shard.holds(key, now))
        });
        let forgotten = guards.iter().find_map(|(number, shard)| {
            let forgotten = shard.forgotten?;
            let ended =
                |(place, _, until): &(usize, [u8; 16], i64)| place == number && *until <= forgotten;
            wanted.iter().any(ended).then_some(forgotten)
        });
        let mut added = 0;
        if !seen && forgotten.is_none() {
            for (number, shard) in &mut guards {
                for (_, key, until) in wanted
                    .iter()
                    .filter(|(wanted_shard, ..)| wanted_shard == number)
                {
                    added += usize::from(shard.remember(*key, *until));
                }
            }
        }
        drop(guards);
        self.held
            .fetch_sub(dropped + marks.len() - added, Ordering::Relaxed);
        match forgotten {
            _ if seen => Err(ReplayError::Seen),
            Some(forgotten) => Err(crate::set_back(forgotten)),
            None => Ok(FirstSeen::assertion(marks)),
        }
    }
}

impl Attempts for MemoryReplay {
    fn begin(
        &self,
        marks: &[Mark],
        names: &[KeyName],
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(FirstSeen, Vec<Tally>), ReplayError> {
        let tallies = self.tallies.change(names, Change::BEGUN, until, now)?;
        let first_seen = self.first_seen(marks, now).inspect_err(|_| {
            // What was begun has its room, so that it can be withdrawn.
            let withdrawn = Change::BEGUN.reversed();
            self.tallies.change(names, withdrawn, until, now).ok();
        })?;
        Ok((first_seen, tallies))
    }

    fn end(
        &self,
        names: &[KeyName],
        outcome: Outcome,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<Tally>, ReplayError> {
        self.tallies
            .change(names, Change::ended(outcome), until, now)
    }

    fn record_failure(
        &self,
        name: &KeyName,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<u32, ReplayError> {
        let names = std::slice::from_ref(name);
        let before = self.tallies.change(names, Change::FAILURE, until, now)?;
        Ok(crate::failures_after(&before))
    }

    fn failures(&self, name: &KeyName, now: Timestamp) -> Result<u32, ReplayError> {
        Ok(self.tallies.find(name, now).failed)
    }
}

impl Shard {
    fn holds(&self, key: &[u8; 16], now: i64) -> bool {
        self.marks.get(key).is_some_and(|until| *until > now)
    }

    /// Whether the mark takes up a place that none took before.
    fn remember(&mut self, key: [u8; 16], until: i64) -> bool {
        let added = match self.marks.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(until);
                true
            }
            Entry::Occupied(mut entry) => {
                *entry.get_mut() = (*entry.get()).max(until);
                false
            }
        };
        self.epochs
            .entry(until.div_euclid(EPOCH_SECONDS))
            .or_default()
            .push(key);
        added
    }

    /// Drops what is expired for good, epoch by epoch, and says how many marks that were.
    fn drop_expired(&mut self, now: i64) -> usize {
        let mut dropped = 0;
        while let Some(epoch) = self.epochs.first_entry() {
            if (*epoch.key() + 1) * EPOCH_SECONDS > now {
                break;
            }
            for key in epoch.remove() {
                // A mark that was remembered again lives on in a later epoch.
                if let Entry::Occupied(mark) = self.marks.entry(key)
                    && *mark.get() <= now
                {
                    self.forgotten = self.forgotten.max(Some(mark.remove()));
                    dropped += 1;
                }
            }
        }
        dropped
    }
}

/// Shard, 128 bits of the mark's key, and the first second at which it is expired.
fn place(mark: &Mark) -> (usize, [u8; 16], i64) {
    let mut key = [0; 16];
    key.copy_from_slice(&mark.key[16..]);
    let until = crate::tallies::rounded_up(mark.until);
    (usize::from(mark.key[0]) % SHARDS, key, until)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("a moment")
    }

    fn mark(number: u32, until: i64) -> Mark {
        let mut key = [0; 32];
        key[0] = number.to_le_bytes()[0];
        key[28..].copy_from_slice(&number.to_le_bytes());
        Mark {
            key,
            until: at(until),
        }
    }

    #[test]
    fn a_mark_is_seen_until_it_expires() {
        let cache = MemoryReplay::new(10);
        cache
            .first_seen(&[mark(1, 60)], at(0))
            .expect("the first time");
        assert_eq!(
            cache.first_seen(&[mark(1, 60)], at(59)).unwrap_err(),
            ReplayError::Seen
        );
        cache
            .first_seen(&[mark(1, 90)], at(60))
            .expect("it is expired");
    }

    #[test]
    fn one_mark_seen_refuses_all_and_remembers_none() {
        let cache = MemoryReplay::new(10);
        cache
            .first_seen(&[mark(1, 60)], at(0))
            .expect("the first time");
        assert_eq!(
            cache
                .first_seen(&[mark(2, 60), mark(1, 60)], at(1))
                .unwrap_err(),
            ReplayError::Seen
        );
        assert_eq!(cache.len(), 1);
        cache
            .first_seen(&[mark(2, 60)], at(2))
            .expect("it was not remembered");
    }

    #[test]
    fn a_full_cache_refuses_until_marks_expire() {
        let cache = MemoryReplay::new(100);
        for number in 0..100 {
            cache
                .first_seen(&[mark(number, 60)], at(0))
                .expect("room is left");
        }
        assert_eq!(
            cache.first_seen(&[mark(100, 60)], at(59)).unwrap_err(),
            ReplayError::Full { capacity: 100 }
        );
        assert_eq!(cache.len(), 100);
        // The epoch in which the marks expire has passed.
        cache
            .first_seen(&[mark(100, 200)], at(60 + EPOCH_SECONDS))
            .expect("the others are expired");
        assert_eq!(cache.len(), 1);
    }

    #[test]
    fn of_many_copies_at_once_one_is_first() {
        let cache = MemoryReplay::new(1000);
        let first = AtomicU32::new(0);
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    for number in 0..50 {
                        let marks = [mark(number, 60), mark(number + 1000, 60)];
                        if cache.first_seen(&marks, at(0)).is_ok() {
                            first.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                });
            }
        });
        assert_eq!(first.load(Ordering::Relaxed), 50);
        assert_eq!(cache.len(), 100);
    }

    /// Whoever can set a clock forth and back (RFC 7384, 3.2) would have marks dropped while their messages are good.
    #[test]
    fn a_clock_that_is_set_forth_and_back_lets_no_copy_in() {
        let cache = MemoryReplay::new(10);
        cache
            .first_seen(&[mark(1, 360)], at(0))
            .expect("the first time");
        // A message that the clock of then takes for fresh, in the same shard.
        cache
            .first_seen(&[mark(17, 660)], at(400))
            .expect("the first time");
        let problem = "marks that ended by 2027-01-15T08:06:00Z are dropped, and the clock was set back since: \
                       whether the message was seen before is not known";
        assert_eq!(
            cache.first_seen(&[mark(1, 360)], at(60)).unwrap_err(),
            ReplayError::Unavailable {
                problem: problem.to_owned()
            }
        );
        cache
            .first_seen(&[mark(33, 361)], at(61))
            .expect("nothing that ends so late was dropped");
        assert_eq!(cache.len(), 2);
    }

    #[test]
    fn a_message_that_was_seen_begins_no_opening() {
        let cache = MemoryReplay::new(10);
        let names = [[1; 32]];
        let begin = || {
            let begun = cache.begin(&[mark(1, 60)], &names, at(60), at(0));
            begun.map(|(_, tallies)| tallies)
        };
        assert_eq!(begin(), Ok(vec![Tally::default()]));
        assert_eq!(begin(), Err(ReplayError::Seen));
        let ended = cache.end(&names, Outcome::Failed, at(60), at(0));
        assert_eq!(ended, Ok(vec![Tally { failed: 0, open: 1 }]));
        assert_eq!(cache.record_failure(&names[0], at(60), at(0)), Ok(2));
        assert_eq!(cache.failures(&names[0], at(59)), Ok(2));
    }

    #[test]
    fn a_message_without_marks_is_always_first() {
        let cache = MemoryReplay::new(0);
        cache
            .first_seen(&[], at(0))
            .expect("there is nothing to remember");
    }
}
