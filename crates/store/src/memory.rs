//! Replay marks in this process, bounded.
//!
//! A process has one memory of marks for all its endpoints. Marks name what was signed and by whom,
//! so that a message is known wherever it arrives, and whichever endpoint took it: one whose route
//! was renamed, moved or removed meanwhile, too. Each endpoint takes up room of its own, so that no
//! partner fills the memory of the others.
//!
//! Marks are spread over shards by their first byte, each with a lock of its own. A message's marks
//! are checked and remembered while all shards concerned are locked, in the order of their numbers,
//! so two copies of a message cannot both be first.
//!
//! The rule kept here: an unexpired mark is never dropped. When no more fit, messages are refused;
//! and when the clock is set back, so are those that end no later than what was dropped by its
//! former word.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use soapstone::attempts::{Attempts, KeyName, Outcome, Tally};
use soapstone::replay::{ReplayCache, ReplayError};
use soapstone::wss::{FirstSeen, Mark};

use crate::room::{Place, Room};
use crate::tallies::{Change, Tallies};

const SHARDS: usize = 16;

/// Marks that expire within the same so many seconds are dropped together.
const EPOCH_SECONDS: i64 = 8;

/// The marks and tallies that one process holds, for all its endpoints.
#[derive(Clone, Debug, Default)]
pub struct ProcessMemory(Arc<Memory>);

#[derive(Debug)]
struct Memory {
    shards: [Mutex<Shard>; SHARDS],
    tallies: Tallies,
    /// The millisecond from which all messages are expired that a former store accepted and that
    /// found no room here.
    in_doubt: AtomicI64,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            shards: Default::default(),
            tallies: Tallies::default(),
            in_doubt: AtomicI64::new(i64::MIN),
        }
    }
}

/// Remembers the marks and tallies of one endpoint in memory until they expire.
#[derive(Debug)]
pub struct MemoryReplay {
    memory: ProcessMemory,
    room: Arc<Room>,
    capacity: usize,
}

#[derive(Debug, Default)]
struct Shard {
    /// 128 bits of the mark's hash.
    marks: HashMap<[u8; 16], Held>,
    /// The same by epoch of expiry.
    epochs: BTreeMap<i64, Vec<[u8; 16]>>,
    /// The latest second from which a mark that was dropped is expired.
    forgotten: Option<i64>,
}

#[derive(Debug)]
struct Held {
    /// The second from which the mark is expired.
    until: i64,
    _place: Place,
}

impl ProcessMemory {
    /// Notes that messages which expire by a millisecond were accepted and are not remembered.
    pub(crate) fn doubt(&self, until: i64) {
        self.0.in_doubt.fetch_max(until, Ordering::Relaxed);
    }

    fn lock(&self, shard: usize) -> MutexGuard<'_, Shard> {
        // What a panic could leave behind is a mark too many, which only refuses.
        self.0.shards[shard]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn drop_expired(&self, now: i64) {
        for shard in 0..SHARDS {
            self.lock(shard).drop_expired(now);
        }
    }
}

impl MemoryReplay {
    /// A cache for at most so many unexpired marks, and as many tallies of openings.
    pub fn new(capacity: usize) -> Self {
        Self {
            memory: ProcessMemory::default(),
            room: Arc::default(),
            capacity,
        }
    }

    /// Shares what all endpoints of a process remember.
    #[must_use]
    pub fn within(self, memory: &ProcessMemory) -> Self {
        Self {
            memory: memory.clone(),
            ..self
        }
    }

    /// Shares the room of a predecessor.
    pub(crate) fn in_the_room_of(&mut self, predecessor: &Self) {
        self.room = Arc::clone(&predecessor.room);
    }

    pub(crate) fn share(&mut self, memory: &ProcessMemory) {
        self.memory = memory.clone();
    }

    pub(crate) fn memory(&self) -> &ProcessMemory {
        &self.memory
    }

    /// How many marks the endpoint holds, expired ones that were not yet dropped included.
    pub fn len(&self) -> usize {
        self.room.marks.taken()
    }

    /// How many marks it may hold.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Whether no marks are held.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether one of the marks is remembered, whichever endpoint took it.
    pub(crate) fn holds(&self, marks: &[Mark], now: Timestamp) -> bool {
        let now = now.as_second();
        marks.iter().map(place).any(|(shard, key, _)| {
            let shard = self.memory.lock(shard);
            shard.holds(&key, now)
        })
    }

    /// Changes tallies, which are those of before.
    pub(crate) fn change(
        &self,
        names: &[KeyName],
        change: Change,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<Tally>, ReplayError> {
        let tallies = &self.memory.0.tallies;
        let room = (&self.room, self.capacity);
        tallies.change(names, change, until, now, room)
    }

    /// The tally of a name, whichever endpoint counted.
    pub(crate) fn tally(&self, name: &KeyName, now: Timestamp) -> Tally {
        self.memory.0.tallies.find(name, now)
    }

    /// Makes room for so many marks, or says that there is none.
    fn reserve(&self, count: usize, now: i64) -> Result<Vec<Place>, ReplayError> {
        let take = || Room::take_marks(&self.room, count, self.capacity);
        if let Some(places) = take() {
            return Ok(places);
        }
        self.memory.drop_expired(now);
        take().ok_or(ReplayError::Full {
            capacity: self.capacity,
        })
    }

    /// Forgets marks whose message was not admitted after all.
    pub(crate) fn forget(&self, marks: &[Mark]) {
        for (shard, key, _) in marks.iter().map(place) {
            self.memory.lock(shard).marks.remove(&key);
        }
    }

    /// Refuses while a former store may have accepted what nobody remembers.
    pub(crate) fn certain(&self, now: Timestamp) -> Result<(), ReplayError> {
        let in_doubt = self.memory.0.in_doubt.load(Ordering::Relaxed);
        match now.as_millisecond() < in_doubt {
            true => Err(doubtful(in_doubt)),
            false => Ok(()),
        }
    }

    /// Remembers marks that are not remembered yet, whatever a former store has accepted.
    pub(crate) fn remember(
        &self,
        marks: &[Mark],
        now: Timestamp,
    ) -> Result<FirstSeen, ReplayError> {
        let mut places = match self.reserve(marks.len(), now.as_second()) {
            // A copy takes no room.
            Err(_) if self.holds(marks, now) => return Err(ReplayError::Seen),
            reserved => reserved?,
        };
        let now = now.as_second();
        let mut wanted: Vec<(usize, [u8; 16], i64)> = marks.iter().map(place).collect();
        wanted.sort_unstable();
        let mut guards: Vec<(usize, MutexGuard<'_, Shard>)> = Vec::with_capacity(wanted.len());
        for (shard, ..) in &wanted {
            if guards.last().is_none_or(|(locked, _)| locked != shard) {
                guards.push((*shard, self.memory.lock(*shard)));
            }
        }
        // Expired marks of the shards at hand go now, so that steady traffic never needs a sweep.
        for (_, shard) in &mut guards {
            shard.drop_expired(now);
        }
        let seen = guards.iter().any(|(number, shard)| {
            wanted
                .iter()
                .any(|(wanted_shard, key, _)| wanted_shard == number && shard.holds(key, now))
        });
        if seen {
            return Err(ReplayError::Seen);
        }
        let forgotten = guards.iter().find_map(|(number, shard)| {
            let forgotten = shard.forgotten?;
            let ended =
                |(place, _, until): &(usize, [u8; 16], i64)| place == number && *until <= forgotten;
            wanted.iter().any(ended).then_some(forgotten)
        });
        if let Some(forgotten) = forgotten {
            return Err(crate::set_back(forgotten));
        }
        for (number, shard) in &mut guards {
            let wanted = wanted.iter().filter(|(shard, ..)| shard == number);
            for ((_, key, until), place) in wanted.zip(std::iter::from_fn(|| places.pop())) {
                shard.remember(*key, *until, place);
            }
        }
        Ok(FirstSeen::assertion(marks))
    }
}

impl ReplayCache for MemoryReplay {
    fn first_seen(&self, marks: &[Mark], now: Timestamp) -> Result<FirstSeen, ReplayError> {
        if !marks.is_empty() {
            self.certain(now)?;
        }
        self.remember(marks, now)
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
        let tallies = self.change(names, Change::BEGUN, until, now)?;
        let first_seen = self.first_seen(marks, now).inspect_err(|_| {
            // What was begun has its room, so that it can be withdrawn.
            self.change(names, Change::BEGUN.reversed(), until, now)
                .ok();
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
        self.change(names, Change::ended(outcome), until, now)
    }

    fn record_failure(
        &self,
        name: &KeyName,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<u32, ReplayError> {
        let before = self.change(std::slice::from_ref(name), Change::FAILURE, until, now)?;
        Ok(crate::failures_after(&before))
    }

    fn failures(&self, name: &KeyName, now: Timestamp) -> Result<u32, ReplayError> {
        Ok(self.tally(name, now).failed)
    }
}

impl Shard {
    fn holds(&self, key: &[u8; 16], now: i64) -> bool {
        self.marks.get(key).is_some_and(|held| held.until > now)
    }

    fn remember(&mut self, key: [u8; 16], until: i64, place: Place) {
        // One that is expired and still there gives up its place.
        let before = self.marks.get(&key).map_or(until, |held| held.until);
        let held = Held {
            until: until.max(before),
            _place: place,
        };
        self.marks.insert(key, held);
        self.epochs
            .entry(until.div_euclid(EPOCH_SECONDS))
            .or_default()
            .push(key);
    }

    /// Drops what is expired for good, epoch by epoch.
    fn drop_expired(&mut self, now: i64) {
        while let Some(epoch) = self.epochs.first_entry() {
            if (*epoch.key() + 1) * EPOCH_SECONDS > now {
                break;
            }
            for key in epoch.remove() {
                // A mark that was remembered again lives on in a later epoch.
                if let Entry::Occupied(mark) = self.marks.entry(key)
                    && mark.get().until <= now
                {
                    self.forgotten = self.forgotten.max(Some(mark.remove().until));
                }
            }
        }
    }
}

/// Shard, 128 bits of the mark's key, and the first second at which it is expired.
fn place(mark: &Mark) -> (usize, [u8; 16], i64) {
    let mut key = [0; 16];
    key.copy_from_slice(&mark.key[16..]);
    let until = crate::tallies::rounded_up(mark.until);
    (usize::from(mark.key[0]) % SHARDS, key, until)
}

/// Why a message is refused that a former store may have accepted.
fn doubtful(until: i64) -> ReplayError {
    let until = Timestamp::from_millisecond(until).unwrap_or(Timestamp::MAX);
    ReplayError::Unavailable {
        problem: format!(
            "the store that was used before has accepted more messages than this process remembers: \
             until {until} it is not known whether the message was one of them"
        ),
    }
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

    /// Whoever can set a clock forth and back (RFC 7384, 3.2) would have marks dropped while their
    /// messages are good.
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

    /// Two endpoints of one process.
    fn endpoints(capacities: [usize; 2]) -> [MemoryReplay; 2] {
        let process = ProcessMemory::default();
        capacities.map(|capacity| MemoryReplay::new(capacity).within(&process))
    }

    #[test]
    fn what_one_endpoint_of_a_process_took_is_a_copy_for_the_others() {
        let [one, other] = endpoints([10, 10]);
        one.first_seen(&[mark(1, 60)], at(0))
            .expect("the first time");
        let copy = other.first_seen(&[mark(1, 60)], at(1)).unwrap_err();
        assert_eq!(copy, ReplayError::Seen);
        // It outlives who took it.
        drop(one);
        let copy = other.first_seen(&[mark(1, 60)], at(59)).unwrap_err();
        assert_eq!(copy, ReplayError::Seen);
        other
            .first_seen(&[mark(1, 90)], at(60))
            .expect("it is expired");
    }

    #[test]
    fn each_endpoint_fills_its_own_room() {
        let [small, large] = endpoints([1, 2]);
        small
            .first_seen(&[mark(1, 60)], at(0))
            .expect("room is left");
        let full = ReplayError::Full { capacity: 1 };
        let refused = small.first_seen(&[mark(2, 60)], at(0)).unwrap_err();
        assert_eq!(refused, full);
        for number in [2, 3] {
            large
                .first_seen(&[mark(number, 60)], at(0))
                .expect("room is left");
        }
        assert_eq!((small.len(), large.len()), (1, 2));
        // A copy is told as one, though there is no room for it.
        let copy = small.first_seen(&[mark(1, 60)], at(1)).unwrap_err();
        assert_eq!(copy, ReplayError::Seen);
        let tally = |replay: &MemoryReplay, name| {
            let begun = replay.begin(&[], &[[name; 32]], at(60), at(0));
            begun.map(|(_, tallies)| tallies[0].open)
        };
        assert_eq!(tally(&small, 1), Ok(0));
        assert_eq!(tally(&large, 1), Ok(1));
        assert_eq!(tally(&small, 2), Err(full));
    }

    #[test]
    fn a_mark_that_another_endpoint_takes_again_leaves_the_room_of_the_first() {
        let [one, other] = endpoints([10, 10]);
        one.first_seen(&[mark(1, 60)], at(0))
            .expect("the first time");
        other
            .first_seen(&[mark(1, 90)], at(60))
            .expect("it is expired");
        assert_eq!((one.len(), other.len()), (0, 1));
    }

    #[test]
    fn what_a_former_store_accepted_and_nobody_remembers_is_refused_until_it_is_expired() {
        let [one, other] = endpoints([10, 10]);
        let end = at(60).as_millisecond();
        one.memory().doubt(end);
        let problem = "the store that was used before has accepted more messages than this process remembers: \
                       until 2027-01-15T08:01:00Z it is not known whether the message was one of them";
        assert_eq!(
            other.first_seen(&[mark(1, 90)], at(59)).unwrap_err(),
            ReplayError::Unavailable {
                problem: problem.to_owned()
            }
        );
        other
            .first_seen(&[mark(1, 90)], at(60))
            .expect("all of it is expired");
    }

    #[test]
    fn a_message_without_marks_is_always_first() {
        let cache = MemoryReplay::new(0);
        cache
            .first_seen(&[], at(0))
            .expect("there is nothing to remember");
    }
}
