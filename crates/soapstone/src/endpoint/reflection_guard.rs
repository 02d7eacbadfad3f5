//! What an endpoint has sent under keys that its peer holds as well, so that none of it is taken
//! for the peer's when it comes back.
//!
//! A process has one such memory for all its endpoints, so that nothing is forgotten when the
//! endpoint that sent it is renamed, moved or removed.
//!
//! The rule kept here: sending never waits or fails for it. It is bounded, and when it is full,
//! what was sent longest ago is forgotten: that is what ends first anyway. What has ended and was
//! dropped can arrive only if the clock is set back, and is not taken for the peer's then.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use soapstone_wss::{End, ReplayKey};

use crate::clock::{Elapsed, Forgotten, Steps};

const SHARDS: usize = 16;

/// Most marks of sent messages that are held where the configuration of the replay cache does not
/// say: 1,048,576, as many as that holds.
///
/// At five minutes of life that is 3,500 messages a second. Each takes 32 bytes in two lists, and
/// the room that these keep to grow.
const DEFAULT_CAPACITY: usize = 1 << 20;

/// What the endpoints of one role have sent, in one process.
///
/// What a client sent never arrives at a client as an answer, nor what a service sent at a service
/// as a request, whichever of them it was. A request of a client may well arrive at a service of
/// the same process, so that each role has its own.
#[derive(Clone, Debug)]
pub struct ReflectionGuard(Arc<Everybody>);

#[derive(Debug)]
struct Everybody {
    rooms: RwLock<Vec<Arc<Sent>>>,
    /// When what was dropped because it had ended was good.
    forgotten: Mutex<Forgotten>,
    /// Whether there is any, so that nobody asks where there is none.
    has_forgotten: AtomicBool,
    elapsed: Elapsed,
}

/// What one endpoint has sent: its marks, until they could not be accepted any more.
#[derive(Debug)]
pub(super) struct Sent {
    shards: Box<[Mutex<Shard>; SHARDS]>,
    /// How many marks are held, so that nobody asks where there are none.
    held: AtomicUsize,
    /// The second of the time elapsed from which nothing matters that was sent so far.
    last: AtomicU32,
    /// Of each shard.
    capacity: usize,
}

/// What is known of a message that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Origin {
    /// It was not sent, or so long ago that others were sent in its place.
    Foreign,
    /// It was sent.
    Sent,
    /// It ends when something ended that was dropped. The clock was set.
    Forgotten,
}

#[derive(Debug, Default)]
struct Shard {
    /// The end of each mark, by 128 bits of its hash.
    marks: HashMap<[u8; 16], Ending>,
    /// The same in the order in which they were sent, each with the seconds that it was to live.
    order: VecDeque<([u8; 16], Ending, u32)>,
    steps: Steps,
}

/// When a mark is forgotten: from both moments on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ending {
    /// A second of the clock.
    until: i64,
    /// A second of the time elapsed.
    counted: u32,
}

/// The present, in seconds of both clocks.
#[derive(Clone, Copy, Debug)]
struct Present {
    clock: i64,
    elapsed: u32,
}

impl Ending {
    fn is_over(self, now: Present) -> bool {
        self.until <= now.clock && self.counted <= now.elapsed
    }
}

impl Default for ReflectionGuard {
    fn default() -> Self {
        Self::by(Elapsed::since_now())
    }
}

impl ReflectionGuard {
    fn by(elapsed: Elapsed) -> Self {
        Self(Arc::new(Everybody {
            rooms: RwLock::default(),
            forgotten: Mutex::default(),
            has_forgotten: AtomicBool::new(false),
            elapsed,
        }))
    }

    /// Those of one endpoint alone, with its room for so many.
    pub(super) fn alone(capacity: Option<u64>) -> (Arc<Sent>, Self) {
        let (room, alone) = (Arc::new(Sent::new(capacity)), Self::default());
        alone.join(&room);
        (room, alone)
    }

    /// Knows what an endpoint has sent and will send, also when it is gone.
    pub(super) fn join(&self, sent: &Arc<Sent>) {
        let elapsed = self.0.elapsed();
        let mut rooms = self.0.rooms.write().unwrap_or_else(PoisonError::into_inner);
        rooms.retain(|room| {
            let is_in_use = Arc::strong_count(room) > 1;
            let is_kept = is_in_use || elapsed < room.last.load(Ordering::Relaxed);
            if !is_kept {
                self.0.forget(room.spans());
            }
            is_kept
        });
        if !rooms.iter().any(|room| Arc::ptr_eq(room, sent)) {
            rooms.push(Arc::clone(sent));
        }
    }

    /// Remembers a message that leaves from a room for as long as `marks` say, and for `longer`.
    pub(super) fn remember(
        &self,
        room: &Sent,
        marks: &[ReplayKey],
        longer: Duration,
        now: Timestamp,
    ) {
        let present = self.0.present(now);
        for mark in marks {
            let until = SignedDuration::try_from(longer)
                .ok()
                .and_then(|longer| mark.until.checked_add(longer).ok())
                .unwrap_or(Timestamp::MAX);
            // Rounded up.
            let until = until.as_second().saturating_add(1);
            let life = u32::try_from(until.saturating_sub(present.clock)).unwrap_or(0);
            // Rounded up, too.
            let counted = present.elapsed.saturating_add(life).saturating_add(1);
            let ending = Ending { until, counted };
            room.remember(mark, (ending, life), present, |ended| {
                self.0.forget([ended])
            });
        }
    }

    /// What is known of a message with these marks.
    pub(super) fn known(&self, marks: &[ReplayKey], now: Timestamp) -> Origin {
        let present = self.0.present(now);
        let rooms = self.0.rooms.read().unwrap_or_else(PoisonError::into_inner);
        if rooms.iter().any(|room| room.has_any_of(marks, present)) {
            return Origin::Sent;
        }
        drop(rooms);
        if !self.0.has_forgotten.load(Ordering::SeqCst) {
            return Origin::Foreign;
        }
        let forgotten = self.0.forgotten();
        let is_forgotten = |mark: &ReplayKey| {
            let fraction = i64::from(mark.until.subsec_nanosecond() > 0);
            let until = mark.until.as_second() + fraction;
            mark.end == End::Proven && forgotten.last_beside(until).is_some()
        };
        match marks.iter().any(is_forgotten) {
            true => Origin::Forgotten,
            false => Origin::Foreign,
        }
    }
}

impl Everybody {
    /// Notes from when to when something was good that is dropped.
    fn forget(&self, spans: impl IntoIterator<Item = (i64, i64)>) {
        let mut forgotten = self.forgotten();
        for (first, last) in spans {
            forgotten.note(first, last);
            self.has_forgotten.store(true, Ordering::SeqCst);
        }
    }

    fn forgotten(&self) -> MutexGuard<'_, Forgotten> {
        // What a panic could leave behind is a span too many, which only refuses.
        self.forgotten
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn present(&self, now: Timestamp) -> Present {
        Present {
            clock: now.as_second(),
            elapsed: self.elapsed(),
        }
    }

    fn elapsed(&self) -> u32 {
        let seconds = self.elapsed.milliseconds().div_euclid(1000);
        u32::try_from(seconds).unwrap_or(u32::MAX)
    }
}

impl Sent {
    fn new(capacity: Option<u64>) -> Self {
        let capacity = capacity.map_or(DEFAULT_CAPACITY, |capacity| {
            usize::try_from(capacity).unwrap_or(usize::MAX)
        });
        Self {
            shards: Default::default(),
            held: AtomicUsize::new(0),
            last: AtomicU32::new(0),
            capacity: capacity.div_ceil(SHARDS).max(1),
        }
    }

    /// Remembers a mark; `forget` is told from when to when something was good that is dropped
    /// because it has ended.
    fn remember(
        &self,
        mark: &ReplayKey,
        (ending, life): (Ending, u32),
        now: Present,
        forget: impl FnOnce((i64, i64)),
    ) {
        let (shard, key) = place(mark);
        // Before it is there, so that it never counts for less than is there.
        self.held.fetch_add(1, Ordering::Relaxed);
        self.last.fetch_max(ending.counted, Ordering::Relaxed);
        let mut shard = self.lock(shard);
        let (dropped, ended) = shard.make_room(self.capacity, now);
        // Before it can be looked for in vain.
        if let Some(ended) = ended {
            forget(ended);
        }
        let added = usize::from(shard.remember(key, ending, life));
        drop(shard);
        self.held.fetch_sub(dropped + 1 - added, Ordering::Relaxed);
    }

    fn has_any_of(&self, marks: &[ReplayKey], now: Present) -> bool {
        let was_sent = |mark: &ReplayKey| {
            let (shard, key) = place(mark);
            let ending = self.lock(shard).marks.get(&key).copied();
            ending.is_some_and(|ending| !ending.is_over(now))
        };
        self.held.load(Ordering::Relaxed) > 0 && marks.iter().any(was_sent)
    }

    /// From when to when each message was good.
    fn spans(&self) -> Vec<(i64, i64)> {
        let mut spans = Vec::new();
        for shard in 0..SHARDS {
            let shard = self.lock(shard);
            spans.extend(
                shard
                    .order
                    .iter()
                    .map(|(_, ending, life)| good(*ending, *life)),
            );
        }
        spans
    }

    fn lock(&self, shard: usize) -> MutexGuard<'_, Shard> {
        // What a panic could leave behind is a mark too many, which only refuses.
        self.shards[shard]
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Shard {
    /// Drops what has ended, and of what has not the first where there would be too many; says how
    /// many marks that were, and from when to when those that have ended were good.
    fn make_room(&mut self, capacity: usize, now: Present) -> (usize, Option<(i64, i64)>) {
        let (mut dropped, mut ended) = (0, None);
        let now = Present {
            clock: self.steps.earliest(now.clock, i64::from(now.elapsed)),
            ..now
        };
        while let Some((key, ending, life)) = self.order.front()
            && (ending.is_over(now) || self.order.len() >= capacity)
        {
            if ending.is_over(now) {
                let (first, last) = good(*ending, *life);
                let (from, to) = ended.unwrap_or((first, last));
                ended = Some((first.min(from), last.max(to)));
            }
            // One that was sent again stands behind once more.
            if self.marks.get(key) == Some(ending) {
                self.marks.remove(key);
                dropped += 1;
            }
            self.order.pop_front();
        }
        (dropped, ended)
    }

    /// Whether the mark takes up a place that none took before.
    fn remember(&mut self, key: [u8; 16], ending: Ending, life: u32) -> bool {
        self.order.push_back((key, ending, life));
        let mut added = false;
        let known = self.marks.entry(key).or_insert_with(|| {
            added = true;
            ending
        });
        *known = Ending {
            until: known.until.max(ending.until),
            counted: known.counted.max(ending.counted),
        };
        added
    }
}

/// From when to when a message was good: first and last second.
fn good(ending: Ending, life: u32) -> (i64, i64) {
    (ending.until - i64::from(life), ending.until)
}

/// Shard, and 128 bits of the mark's key.
fn place(mark: &ReplayKey) -> (usize, [u8; 16]) {
    let mut key = [0; 16];
    key.copy_from_slice(&mark.key[16..]);
    (usize::from(mark.key[0]) % SHARDS, key)
}

#[cfg(test)]
mod tests {
    use soapstone_testkit::{Elapsed as Passed, at};

    use super::*;

    const NOTHING: Duration = Duration::ZERO;

    /// An endpoint whose clock and whose time are set apart.
    struct Alone {
        room: Arc<Sent>,
        everybody: ReflectionGuard,
        elapsed: Passed,
    }

    impl Alone {
        fn new(capacity: Option<u64>) -> Self {
            let elapsed = Passed::default();
            let read = elapsed.clone();
            let everybody = ReflectionGuard::by(Elapsed::read_by(move || read.get()));
            let room = Arc::new(Sent::new(capacity));
            everybody.join(&room);
            Self {
                room,
                everybody,
                elapsed,
            }
        }

        fn remember(&self, marks: &[ReplayKey], longer: Duration, now: i64) {
            self.everybody.remember(&self.room, marks, longer, at(now));
        }

        fn known(&self, marks: &[ReplayKey], now: i64) -> Origin {
            self.everybody.known(marks, at(now))
        }

        fn held(&self) -> usize {
            self.room.held.load(Ordering::Relaxed)
        }

        /// So many seconds have passed.
        fn wait(&self, seconds: u64) {
            self.elapsed.pass(seconds);
        }
    }

    fn mark(number: u32, until: i64) -> ReplayKey {
        let mut key = [0; 32];
        key[28..].copy_from_slice(&number.to_le_bytes());
        ReplayKey {
            key,
            until: at(until),
            end: End::Proven,
        }
    }

    #[test]
    fn what_was_sent_is_known_until_it_could_not_be_accepted_any_more() {
        let sent = Alone::new(None);
        assert_eq!(sent.known(&[mark(1, 60)], 0), Origin::Foreign);
        sent.remember(&[mark(1, 60)], Duration::from_secs(30), 0);
        sent.wait(92);
        assert_eq!(sent.known(&[mark(2, 60), mark(1, 60)], 90), Origin::Sent);
        assert_eq!(sent.known(&[mark(2, 60)], 90), Origin::Foreign);
        assert_eq!(sent.known(&[mark(1, 60)], 91), Origin::Foreign);
        sent.remember(&[mark(3, 200)], NOTHING, 100);
        assert_eq!(sent.held(), 1);
    }

    #[test]
    fn what_was_sent_does_not_come_back_when_the_clock_is_set_forth_and_back() {
        let sent = Alone::new(None);
        sent.remember(&[mark(1, 360)], NOTHING, 0);
        // Dropped in its time, and met by a clock that is set back.
        sent.wait(400);
        sent.remember(&[mark(2, 760)], NOTHING, 400);
        assert_eq!(sent.held(), 1);
        assert_eq!(sent.known(&[mark(1, 360)], 60), Origin::Forgotten);
        assert_eq!(sent.known(&[mark(3, 362)], 62), Origin::Foreign);
    }

    #[test]
    fn what_was_sent_is_known_for_its_time_wherever_the_clock_is_set() {
        let sent = Alone::new(None);
        let unproven = ReplayKey {
            end: End::Counted,
            ..mark(1, 360)
        };
        sent.remember(&[unproven], NOTHING, 0);
        sent.wait(361);
        let day = 86_400;
        sent.remember(&[mark(2, day + 360)], NOTHING, day);
        assert_eq!(sent.known(&[unproven], day), Origin::Sent);
        assert_eq!(sent.known(&[mark(1, 360)], 0), Origin::Sent);
    }

    #[test]
    fn after_an_excursion_of_the_clock_answers_are_accepted_at_once() {
        let (sent, day) = (Alone::new(None), 86_400);
        sent.remember(&[mark(1, 360)], NOTHING, 0);
        // Ten minutes a day ahead, and back.
        for minute in 0..10 {
            sent.wait(60);
            let now = day + 60 * i64::from(minute);
            sent.remember(&[mark(minute + 2, now + 360)], NOTHING, now);
        }
        assert_eq!(sent.known(&[mark(100, 960)], 600), Origin::Foreign);
        // What was sent meanwhile is not taken for an answer when the clock gets there.
        assert_eq!(sent.known(&[mark(2, day + 360)], day), Origin::Sent);
        assert_eq!(sent.known(&[mark(100, day + 360)], day), Origin::Foreign);
    }

    #[test]
    fn what_was_sent_in_an_excursion_of_hours_does_not_come_back_when_the_clock_gets_there() {
        let (sent, day) = (Alone::new(None), 86_400);
        for hour in 0..10 {
            let now = day + 3600 * i64::from(hour);
            sent.remember(&[mark(hour, now + 360)], NOTHING, now);
            sent.wait(3600);
        }
        assert_eq!(sent.known(&[mark(100, 36_360)], 36_000), Origin::Foreign);
        assert_eq!(sent.known(&[mark(0, day + 360)], day), Origin::Forgotten);
        let last = [mark(9, day + 32_760)];
        assert_eq!(sent.known(&last, day + 32_400), Origin::Sent);
    }

    #[test]
    fn a_full_memory_forgets_what_was_sent_longest_ago() {
        // All of these marks are in one shard.
        let sent = Alone::new(Some(10 * SHARDS as u64));
        for number in 0..15 {
            sent.remember(&[mark(number, 60)], NOTHING, 0);
        }
        let known = |number| sent.known(&[mark(number, 60)], 1);
        assert!((0..5).all(|number| known(number) == Origin::Foreign));
        assert!((5..15).all(|number| known(number) == Origin::Sent));
        assert_eq!(sent.held(), 10);
    }

    #[test]
    fn what_was_sent_again_is_known_for_the_longer_time() {
        let sent = Alone::new(Some(2 * SHARDS as u64));
        for until in [60, 90, 80] {
            sent.remember(&[mark(1, until)], NOTHING, 0);
        }
        assert_eq!(sent.known(&[mark(1, 0)], 89), Origin::Sent);
        sent.wait(100);
        sent.remember(&[mark(2, 300)], NOTHING, 100);
        sent.remember(&[mark(3, 300)], NOTHING, 100);
        assert_eq!(sent.held(), 2);
    }

    #[test]
    fn what_an_endpoint_sent_that_is_gone_is_known_until_it_has_ended_and_takes_no_room_then() {
        let sent = Alone::new(None);
        let gone = Arc::new(Sent::new(None));
        sent.everybody.join(&gone);
        let marks = [mark(1, 60)];
        sent.everybody.remember(&gone, &marks, NOTHING, at(0));
        drop(gone);
        let rooms = |sent: &Alone| {
            sent.everybody.join(&sent.room);
            sent.everybody.0.rooms.read().expect("no panic").len()
        };
        sent.wait(60);
        assert_eq!(rooms(&sent), 2);
        assert_eq!(sent.known(&marks, 59), Origin::Sent);
        sent.wait(2);
        assert_eq!(rooms(&sent), 1);
        // The clock was set back.
        assert_eq!(sent.known(&marks, 59), Origin::Forgotten);
    }
}
