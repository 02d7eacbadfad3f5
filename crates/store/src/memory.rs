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
//! An endpoint may have a [`Scope`] of its own: it knows its own messages, and takes what others
//! accepted. It holds marks of its own beside those that the others know.
//!
//! The clock of the host may be set, and set right again. A message that proves its end is
//! remembered by the clock, and longer where the clock was set forth a moment ago. What is dropped
//! is noted by its end, so that a clock which is set back makes no copy new. A message that proves
//! no end is held for as long as it takes, whatever the clock does.
//!
//! The rule kept here: an unexpired mark is never dropped, unless a clock that was set made it end
//! later than any message can that is good now. When no more fit, messages are refused; and so is a
//! message that ends when a mark ended that was dropped.

mod shard;

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use soapstone::attempts::{Attempts, KeyName, Outcome, Tally};
use soapstone::clock::Elapsed;
use soapstone::crypto::random;
use soapstone::replay::{ReplayCache, ReplayError};
use soapstone::wss::{End, FirstSeen, ReplayKey};

use self::shard::{Held, Life, Moment, Shard};
use crate::cancellers::Cancellers;
use crate::doubt::Doubt;
use crate::moments::set_back;
use crate::room::{Place, Room};
use crate::tallies::{Change, Tallies, rounded_up};

const SHARDS: usize = 16;

/// The marks and tallies that one process holds, for all its endpoints.
#[derive(Clone, Debug, Default)]
pub struct ProcessMemory(Arc<Memory>);

#[derive(Debug)]
struct Memory {
    shards: [Mutex<Shard>; SHARDS],
    tallies: Tallies,
    /// Names of assertions that were cancelled, as failures.
    cancelled: Tallies,
    /// How long marks are held whose messages prove no end.
    elapsed: Elapsed,
    /// In seconds, the longest time for which a message was still good when it was accepted.
    longest: AtomicI64,
    /// How many configurations there were.
    configurations: AtomicU32,
    /// What a former store accepted and found no room here.
    doubt: Mutex<Doubt>,
    /// Whether there is any, so that nobody asks where there is none.
    is_doubtful: AtomicBool,
}

impl Memory {
    fn by(elapsed: Elapsed) -> Self {
        Self {
            shards: Default::default(),
            tallies: Tallies::default(),
            cancelled: Tallies::default(),
            elapsed,
            longest: AtomicI64::new(0),
            configurations: AtomicU32::new(0),
            doubt: Mutex::default(),
            is_doubtful: AtomicBool::new(false),
        }
    }
}

impl Default for Memory {
    fn default() -> Self {
        Self::by(Elapsed::since_now())
    }
}

/// Remembers the marks and tallies of one endpoint in memory until they expire.
#[derive(Debug)]
pub struct MemoryReplay {
    memory: ProcessMemory,
    room: Arc<Room>,
    /// The room of cancelled assertions: whoever fills it leaves the keys of messages theirs.
    cancellations: Arc<Room>,
    /// What each requester holds of that room.
    cancellers: Arc<Cancellers>,
    capacity: usize,
    /// Of which configuration it is.
    configuration: u32,
    /// `None` where what any endpoint accepted is a copy.
    scope: Option<Scope>,
}

/// What an endpoint knows that takes what others accepted.
#[derive(Clone, Copy, Debug)]
struct Scope {
    /// Makes marks of its own out of those that all know: no two scopes have the same.
    name: [u8; 16],
    /// The configuration since which it is there as it is. What was accepted before may have been
    /// accepted by the same endpoint under another name.
    since: u32,
}

impl Scope {
    fn own(&self, key: &[u8; 16]) -> [u8; 16] {
        std::array::from_fn(|index| key[index] ^ self.name[index])
    }
}

/// A mark as it is kept: its shard, 128 bits of its key, and its life.
type Kept = (usize, [u8; 16], Life);

impl ProcessMemory {
    /// A memory that is to hold marks for the time that such a clock measures.
    pub fn by(elapsed: Elapsed) -> Self {
        Self(Arc::new(Memory::by(elapsed)))
    }

    /// Notes that another configuration follows, before its endpoints share this memory.
    pub fn reconfigured(&self) {
        self.0.configurations.fetch_add(1, Ordering::SeqCst);
    }

    /// What measures how long marks are held.
    pub(crate) fn elapsed(&self) -> &Elapsed {
        &self.0.elapsed
    }

    /// Notes that messages were accepted and are not remembered.
    pub(crate) fn doubt(&self, doubt: &Doubt) {
        let mut known = self.0.doubt.lock().unwrap_or_else(PoisonError::into_inner);
        known.join(doubt);
        self.0.is_doubtful.store(true, Ordering::SeqCst);
    }

    fn moment(&self, now: Timestamp) -> Moment {
        Moment {
            clock: now.as_second(),
            elapsed: self.0.elapsed.milliseconds().div_euclid(1000),
        }
    }

    /// Where a mark is kept, and how long.
    fn place(&self, mark: &ReplayKey, now: Timestamp) -> Kept {
        let mut key = [0; 16];
        key.copy_from_slice(&mark.key[16..]);
        let life = match mark.end {
            End::Proven => Life::Clock(rounded_up(mark.until)),
            End::Counted => {
                let end = crate::doubt::counted_end(mark, now, &self.0.elapsed);
                Life::Counted(end.div_euclid(1000).saturating_add(1))
            }
        };
        (usize::from(mark.key[0]) % SHARDS, key, life)
    }

    fn lock(&self, shard: usize) -> MutexGuard<'_, Shard> {
        // What a panic could leave behind is a mark too many, which only refuses.
        self.0.shards[shard]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn drop_expired(&self, now: Moment) {
        for shard in 0..SHARDS {
            self.lock(shard).drop_expired(now);
        }
    }

    /// Drops what is expired by the clock, though it was set forth a moment ago.
    fn drop_doubted(&self, now: Moment) {
        for shard in 0..SHARDS {
            self.lock(shard).drop_ended(now.clock);
        }
    }

    /// Drops what ends later than any message that is good now: it was accepted before the clock
    /// was set back.
    fn drop_ahead(&self, now: Moment) {
        let last = now
            .clock
            .saturating_add(self.0.longest.load(Ordering::Relaxed));
        for shard in 0..SHARDS {
            self.lock(shard).drop_ahead(last);
        }
    }
}

impl MemoryReplay {
    /// A cache for at most so many unexpired marks, as many tallies of openings, and as many
    /// cancelled assertions.
    pub fn new(capacity: usize) -> Self {
        Self {
            memory: ProcessMemory::default(),
            room: Arc::default(),
            cancellations: Arc::default(),
            cancellers: Arc::default(),
            capacity,
            configuration: 0,
            scope: None,
        }
    }

    /// Takes messages that other endpoints of the process accepted.
    #[must_use]
    pub fn apart(self) -> Self {
        let scope = Scope {
            name: random::bytes(),
            since: self.configuration,
        };
        Self {
            scope: Some(scope),
            ..self
        }
    }

    /// Shares what all endpoints of a process remember.
    #[must_use]
    pub fn within(mut self, memory: &ProcessMemory) -> Self {
        self.share(memory);
        self
    }

    /// Goes on in the scope of a predecessor that was the same endpoint.
    pub(crate) fn in_the_scope_of(&mut self, predecessor: &Self) {
        if let (Some(scope), Some(before)) = (&mut self.scope, predecessor.scope) {
            *scope = before;
        }
    }

    /// Shares the room of a predecessor.
    pub(crate) fn in_the_room_of(&mut self, predecessor: &Self) {
        self.room = Arc::clone(&predecessor.room);
        self.cancellations = Arc::clone(&predecessor.cancellations);
        self.cancellers = Arc::clone(&predecessor.cancellers);
    }

    /// Remembers a cancelled assertion from now until its end, once `remember` has put it into a
    /// store of this `capacity`. Requesters share that capacity.
    pub(crate) fn cancel_after(
        &self,
        name: &KeyName,
        by: &KeyName,
        (until, now): (Timestamp, Timestamp),
        capacity: usize,
        remember: impl FnOnce() -> Result<(), ReplayError>,
    ) -> Result<(), ReplayError> {
        let cancelled = &self.memory.0.cancelled;
        let room = (&self.cancellations, self.capacity);
        let ends = (until, now);
        self.cancellers.counted(by, name, ends, capacity, || {
            remember()?;
            let changed = cancelled.change(&[*name], Change::FAILURE, until, now, room);
            changed.map(drop)
        })
    }

    pub(crate) fn share(&mut self, memory: &ProcessMemory) {
        self.memory = memory.clone();
        self.configuration = memory.0.configurations.load(Ordering::SeqCst);
        if let Some(scope) = &mut self.scope {
            scope.since = self.configuration;
        }
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

    /// Whether one of the marks is remembered, whichever endpoint took it, or as far as the scope
    /// goes.
    pub(crate) fn holds(&self, marks: &[ReplayKey], now: Timestamp) -> bool {
        let moment = self.memory.moment(now);
        marks.iter().any(|mark| {
            let (shard, key, _) = self.memory.place(mark, now);
            let shard = self.memory.lock(shard);
            self.is_copy(&shard, &key, moment)
        })
    }

    fn is_copy(&self, shard: &Shard, key: &[u8; 16], now: Moment) -> bool {
        match &self.scope {
            None => shard.holds(key, now),
            Some(scope) => {
                let accepted = shard.accepted(key, now);
                let was_before = accepted.is_some_and(|accepted| accepted < scope.since);
                was_before || shard.holds(&scope.own(key), now)
            }
        }
    }

    /// Refuses a message that ends when marks ended that were dropped.
    pub(crate) fn recalls(&self, marks: &[ReplayKey], now: Timestamp) -> Result<(), ReplayError> {
        let forgotten = marks.iter().find_map(|mark| {
            let (shard, _, life) = self.memory.place(mark, now);
            self.memory.lock(shard).forgot(life)
        });
        match forgotten {
            Some(forgotten) => Err(set_back(forgotten)),
            None => Ok(()),
        }
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
    fn reserve(&self, count: usize, now: Moment) -> Result<Vec<Place>, ReplayError> {
        let take = || Room::take_marks(&self.room, count, self.capacity);
        let expired = || {
            self.memory.drop_expired(now);
            take()
        };
        let doubted = || {
            self.memory.drop_doubted(now);
            take()
        };
        let ahead = || {
            self.memory.drop_ahead(now);
            take()
        };
        let places = take().or_else(expired).or_else(doubted).or_else(ahead);
        places.ok_or(ReplayError::Full {
            capacity: self.capacity,
        })
    }

    /// Forgets marks whose message was not admitted after all.
    pub(crate) fn forget(&self, marks: &[ReplayKey]) {
        for mark in marks {
            // Only its place matters.
            let (shard, key, _) = self.memory.place(mark, mark.until);
            self.memory.lock(shard).marks.remove(&key);
        }
    }

    /// Refuses what a former store may have accepted and nobody remembers.
    pub(crate) fn certain(&self, marks: &[ReplayKey], now: Timestamp) -> Result<(), ReplayError> {
        let memory = &self.memory.0;
        if !memory.is_doubtful.load(Ordering::SeqCst) {
            return Ok(());
        }
        let doubt = memory.doubt.lock().unwrap_or_else(PoisonError::into_inner);
        match doubt.about(marks, now, &memory.elapsed) {
            Some(until) => Err(doubtful(until)),
            None => Ok(()),
        }
    }

    /// Remembers marks that are not remembered yet, whatever a former store has accepted.
    pub(crate) fn remember(
        &self,
        marks: &[ReplayKey],
        now: Timestamp,
    ) -> Result<FirstSeen, ReplayError> {
        let moment = self.memory.moment(now);
        let each = if self.scope.is_some() { 2 } else { 1 };
        let mut places = match self.reserve(each * marks.len(), moment) {
            // A copy takes no room.
            Err(_) if self.holds(marks, now) => return Err(ReplayError::Seen),
            reserved => reserved?,
        };
        let kept = |mark| self.memory.place(mark, now);
        let mut wanted: Vec<Kept> = marks.iter().map(kept).collect();
        let now = moment;
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
                .any(|(place, key, _)| place == number && self.is_copy(shard, key, now))
        });
        if seen {
            return Err(ReplayError::Seen);
        }
        let forgotten = guards.iter().find_map(|(number, shard)| {
            let mut wanted = wanted.iter().filter(|(shard, ..)| shard == number);
            wanted.find_map(|(.., life)| shard.forgot(*life))
        });
        if let Some(forgotten) = forgotten {
            return Err(set_back(forgotten));
        }
        for (number, shard) in &mut guards {
            let wanted = wanted.iter().filter(|(shard, ..)| shard == number);
            for (_, key, life) in wanted {
                if let Life::Clock(until) = life {
                    let left = until.saturating_sub(now.clock);
                    self.memory.0.longest.fetch_max(left, Ordering::Relaxed);
                }
                let mut remember = |key, place| {
                    let held = Held {
                        life: *life,
                        configuration: self.configuration,
                        _place: place,
                    };
                    shard.remember(key, held, now);
                };
                let own = self.scope.map(|scope| scope.own(key));
                for key in std::iter::once(*key).chain(own) {
                    if let Some(place) = places.pop() {
                        remember(key, place);
                    }
                }
            }
        }
        Ok(FirstSeen::assertion(marks))
    }
}

impl ReplayCache for MemoryReplay {
    fn first_seen(&self, marks: &[ReplayKey], now: Timestamp) -> Result<FirstSeen, ReplayError> {
        self.certain(marks, now)?;
        self.remember(marks, now)
    }
}

impl Attempts for MemoryReplay {
    fn begin(
        &self,
        marks: &[ReplayKey],
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

    fn cancel(
        &self,
        name: &KeyName,
        by: &KeyName,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), ReplayError> {
        self.cancel_after(name, by, (until, now), self.capacity, || Ok(()))
    }

    /// Whichever endpoint cancelled it, and whatever its store was.
    fn is_cancelled(&self, name: &KeyName, now: Timestamp) -> Result<bool, ReplayError> {
        Ok(self.memory.0.cancelled.find(name, now).failed > 0)
    }
}

/// Why a message is refused that a former store may have accepted.
fn doubtful(until: Timestamp) -> ReplayError {
    ReplayError::Unavailable {
        problem: format!(
            "the store that was used before has accepted more messages than this process remembers: \
             until {until} it is not known whether the message was one of them"
        ),
    }
}

#[cfg(test)]
mod tests;
