//! What an endpoint has sent under keys that its peer holds as well, so that none of it is taken
//! for the peer's when it comes back.
//!
//! The rule kept here: sending never waits or fails for it. It is bounded, and when it is full,
//! what was sent longest ago is forgotten: that is what ends first anyway. What has ended and was
//! dropped can arrive only if the clock is set back, and is not taken for the peer's then.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use soapstone_wss::Mark;

const SHARDS: usize = 16;

/// Most marks of sent messages that are held where the configuration of the replay cache does not
/// say: 1,048,576, as many as that holds.
///
/// At five minutes of life that is 3,500 messages a second. Each takes 24 octets in two lists, and
/// the room that these keep to grow.
const DEFAULT_CAPACITY: usize = 1 << 20;

/// Remembers marks of messages that were sent until they could not be accepted any more.
#[derive(Debug)]
pub(super) struct Sent {
    shards: Box<[Mutex<Shard>; SHARDS]>,
    /// How many marks are held, so that nobody asks where there are none.
    held: AtomicUsize,
    /// The latest second from which something was to be forgotten that was dropped.
    forgotten: AtomicI64,
    /// Of each shard.
    capacity: usize,
}

/// What is known of a message that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It was not sent, or so long ago that others were sent in its place.
    Foreign,
    /// It was sent.
    Sent,
    /// It ends no later than what was dropped because it had ended. The clock was set back.
    Forgotten,
}

#[derive(Debug, Default)]
struct Shard {
    /// 128 bits of the mark's hash, and the second from which it is forgotten.
    marks: HashMap<[u8; 16], i64>,
    /// The same in the order in which they were sent.
    order: VecDeque<([u8; 16], i64)>,
}

impl Sent {
    pub(super) fn new(capacity: Option<u64>) -> Self {
        let capacity = capacity.map_or(DEFAULT_CAPACITY, |capacity| {
            usize::try_from(capacity).unwrap_or(usize::MAX)
        });
        Self {
            shards: Default::default(),
            held: AtomicUsize::new(0),
            forgotten: AtomicI64::new(i64::MIN),
            capacity: capacity.div_ceil(SHARDS).max(1),
        }
    }

    /// Remembers a message for as long as `marks` say, and for `longer`.
    pub(super) fn remember(&self, marks: &[Mark], longer: Duration, now: Timestamp) {
        for mark in marks {
            let (shard, key) = place(mark);
            let until = SignedDuration::try_from(longer)
                .ok()
                .and_then(|longer| mark.until.checked_add(longer).ok())
                .unwrap_or(Timestamp::MAX);
            // Rounded up.
            let until = until.as_second().saturating_add(1);
            // Before it is there, so that it never counts for less than is there.
            self.held.fetch_add(1, Ordering::Relaxed);
            let mut shard = self.lock(shard);
            let (dropped, ended) = shard.make_room(self.capacity, now.as_second());
            if let Some(ended) = ended {
                // Before it can be looked for in vain.
                self.forgotten.fetch_max(ended, Ordering::Relaxed);
            }
            let added = usize::from(shard.remember(key, until));
            drop(shard);
            self.held.fetch_sub(dropped + 1 - added, Ordering::Relaxed);
        }
    }

    /// What is known of a message with these marks.
    pub(super) fn known(&self, marks: &[Mark], now: Timestamp) -> Known {
        let now = now.as_second();
        let was_sent = |mark: &Mark| {
            let (shard, key) = place(mark);
            let until = self.lock(shard).marks.get(&key).copied();
            until.is_some_and(|until| now < until)
        };
        if self.held.load(Ordering::Relaxed) > 0 && marks.iter().any(was_sent) {
            return Known::Sent;
        }
        let forgotten = self.forgotten.load(Ordering::Relaxed);
        let ends_by_then = |mark: &Mark| {
            let fraction = i64::from(mark.until.subsec_nanosecond() > 0);
            mark.until.as_second() + fraction <= forgotten
        };
        match marks.iter().any(ends_by_then) {
            true => Known::Forgotten,
            false => Known::Foreign,
        }
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
    /// many marks that were, and by when the latest of those that have ended was to be
    /// forgotten.
    fn make_room(&mut self, capacity: usize, now: i64) -> (usize, Option<i64>) {
        let (mut dropped, mut ended) = (0, None);
        while let Some((key, until)) = self.order.front()
            && (*until <= now || self.order.len() >= capacity)
        {
            if *until <= now {
                ended = ended.max(Some(*until));
            }
            // One that was sent again stands behind once more.
            if self.marks.get(key) == Some(until) {
                self.marks.remove(key);
                dropped += 1;
            }
            self.order.pop_front();
        }
        (dropped, ended)
    }

    /// Whether the mark takes up a place that none took before.
    fn remember(&mut self, key: [u8; 16], until: i64) -> bool {
        self.order.push_back((key, until));
        match self.marks.entry(key) {
            Entry::Vacant(entry) => {
                entry.insert(until);
                true
            }
            Entry::Occupied(mut entry) => {
                *entry.get_mut() = (*entry.get()).max(until);
                false
            }
        }
    }
}

/// Shard, and 128 bits of the mark's key.
fn place(mark: &Mark) -> (usize, [u8; 16]) {
    let mut key = [0; 16];
    key.copy_from_slice(&mark.key[16..]);
    (usize::from(mark.key[0]) % SHARDS, key)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: Duration = Duration::ZERO;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).expect("a moment")
    }

    fn mark(number: u32, until: i64) -> Mark {
        let mut key = [0; 32];
        key[28..].copy_from_slice(&number.to_le_bytes());
        Mark {
            key,
            until: at(until),
        }
    }

    #[test]
    fn what_was_sent_is_known_until_it_could_not_be_accepted_any_more() {
        let sent = Sent::new(None);
        assert_eq!(sent.known(&[mark(1, 60)], at(0)), Known::Foreign);
        sent.remember(&[mark(1, 60)], Duration::from_secs(30), at(0));
        assert_eq!(sent.known(&[mark(2, 60), mark(1, 60)], at(90)), Known::Sent);
        assert_eq!(sent.known(&[mark(2, 60)], at(90)), Known::Foreign);
        assert_eq!(sent.known(&[mark(1, 60)], at(91)), Known::Foreign);
        sent.remember(&[mark(3, 200)], NOTHING, at(100));
        assert_eq!(sent.held.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn what_was_sent_does_not_come_back_when_the_clock_is_set_forth_and_back() {
        let sent = Sent::new(None);
        sent.remember(&[mark(1, 360)], NOTHING, at(0));
        sent.remember(&[mark(2, 760)], NOTHING, at(400));
        assert_eq!(sent.known(&[mark(1, 360)], at(60)), Known::Forgotten);
        assert_eq!(sent.known(&[mark(3, 362)], at(62)), Known::Foreign);
    }

    #[test]
    fn a_full_memory_forgets_what_was_sent_longest_ago() {
        // All of these marks are in one shard.
        let sent = Sent::new(Some(10 * SHARDS as u64));
        for number in 0..15 {
            sent.remember(&[mark(number, 60)], NOTHING, at(0));
        }
        let known = |number| sent.known(&[mark(number, 60)], at(1));
        assert!((0..5).all(|number| known(number) == Known::Foreign));
        assert!((5..15).all(|number| known(number) == Known::Sent));
        assert_eq!(sent.held.load(Ordering::Relaxed), 10);
    }

    #[test]
    fn what_was_sent_again_is_known_for_the_longer_time() {
        let sent = Sent::new(Some(2 * SHARDS as u64));
        for until in [60, 90, 80] {
            sent.remember(&[mark(1, until)], NOTHING, at(0));
        }
        assert_eq!(sent.known(&[mark(1, 0)], at(89)), Known::Sent);
        sent.remember(&[mark(2, 300)], NOTHING, at(100));
        sent.remember(&[mark(3, 300)], NOTHING, at(100));
        assert_eq!(sent.held.load(Ordering::Relaxed), 2);
    }
}
