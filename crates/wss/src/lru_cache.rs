//! A memory that is bounded by values and by bytes.
//!
//! Every operation takes the same time however much is kept. The rule: what is kept is never more
//! than agreed, not even for a moment.

use std::hash::BuildHasher;
use std::sync::{Mutex, MutexGuard, PoisonError};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::tuning::CacheBounds;

/// Values by key, no more and no larger than agreed; what was not used for longest makes room.
pub(crate) struct LruCache<V> {
    bounds: CacheBounds,
    kept: Mutex<Kept<V>>,
}

impl<V> std::fmt::Debug for LruCache<V> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("LruCache")
            .field("bounds", &self.bounds)
            .finish_non_exhaustive()
    }
}

/// The values, as a list in the order of their last use, linked by places in `slots`.
struct Kept<V> {
    hasher: RandomState,
    /// Places by the keys that are in the slots.
    places: HashTable<usize>,
    slots: Vec<Slot<V>>,
    free: Vec<usize>,
    newest: usize,
    oldest: usize,
    octets: usize,
}

struct Slot<V> {
    key: Box<[u8]>,
    /// `None` in a slot that is free.
    value: Option<V>,
    octets: usize,
    newer: usize,
    older: usize,
}

const NONE: usize = usize::MAX;

/// Bytes that an entry takes beside its key and its value, about.
const ENTRY: usize = 192;

impl<V: Clone> LruCache<V> {
    pub(crate) fn new(bounds: CacheBounds) -> Self {
        Self {
            bounds,
            kept: Mutex::new(Kept {
                hasher: RandomState::default(),
                places: HashTable::new(),
                slots: Vec::new(),
                free: Vec::new(),
                newest: NONE,
                oldest: NONE,
                octets: 0,
            }),
        }
    }

    /// What a thread that panicked left behind is as good as before: a value is linked or it is not
    /// there.
    fn lock(&self) -> MutexGuard<'_, Kept<V>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value of a key, which was used now.
    pub(crate) fn find(&self, key: &[u8]) -> Option<V> {
        let mut kept = self.lock();
        let place = kept.place(key)?;
        if place != kept.newest {
            kept.unlink(place);
            kept.link_newest(place);
        }
        kept.slots[place].value.clone()
    }

    /// Keeps a value of so many bytes, unless it is larger than all may be together.
    pub(crate) fn keep(&self, key: &[u8], octets: usize, value: impl FnOnce() -> V) {
        let octets = octets + key.len() + ENTRY;
        if octets > self.bounds.octets || self.bounds.entries == 0 {
            return;
        }
        let value = value();
        let mut kept = self.lock();
        if let Some(place) = kept.place(key) {
            kept.remove(place);
        }
        while kept.places.len() >= self.bounds.entries || kept.octets + octets > self.bounds.octets
        {
            let oldest = kept.oldest;
            kept.remove(oldest);
        }
        kept.insert(key.into(), octets, value);
    }

    /// How many values there are, and their bytes.
    #[cfg(test)]
    fn size(&self) -> (usize, usize) {
        let kept = self.lock();
        (kept.places.len(), kept.octets)
    }
}

impl<V> Kept<V> {
    /// The slot with a key.
    fn place(&self, key: &[u8]) -> Option<usize> {
        let hash = self.hasher.hash_one(key);
        let is_it = |place: &usize| *self.slots[*place].key == *key;
        self.places.find(hash, is_it).copied()
    }

    fn insert(&mut self, key: Box<[u8]>, octets: usize, value: V) {
        let hash = self.hasher.hash_one(&*key);
        let slot = Slot {
            key,
            value: Some(value),
            octets,
            newer: NONE,
            older: NONE,
        };
        let place = match self.free.pop() {
            Some(place) => {
                self.slots[place] = slot;
                place
            }
            None => {
                self.slots.push(slot);
                self.slots.len() - 1
            }
        };
        let Self {
            places,
            slots,
            hasher,
            ..
        } = self;
        places.insert_unique(hash, place, |&place| hasher.hash_one(&*slots[place].key));
        self.octets += octets;
        self.link_newest(place);
    }

    fn remove(&mut self, place: usize) {
        self.unlink(place);
        let slot = &mut self.slots[place];
        slot.value = None;
        self.octets -= slot.octets;
        let key = std::mem::take(&mut slot.key);
        let hash = self.hasher.hash_one(&*key);
        if let Ok(found) = self.places.find_entry(hash, |&other| other == place) {
            found.remove();
        }
        self.free.push(place);
    }

    fn unlink(&mut self, place: usize) {
        let Slot { newer, older, .. } = self.slots[place];
        match newer {
            NONE => self.newest = older,
            newer => self.slots[newer].older = older,
        }
        match older {
            NONE => self.oldest = newer,
            older => self.slots[older].newer = newer,
        }
    }

    fn link_newest(&mut self, place: usize) {
        let before = std::mem::replace(&mut self.newest, place);
        let slot = &mut self.slots[place];
        slot.newer = NONE;
        slot.older = before;
        match before {
            NONE => self.oldest = place,
            before => self.slots[before].newer = place,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounded(entries: usize, octets: usize) -> LruCache<u32> {
        LruCache::new(CacheBounds { entries, octets })
    }

    #[test]
    fn what_was_not_used_for_longest_makes_room() {
        let cache = bounded(3, 1 << 20);
        for (value, key) in (0..).zip([b"a", b"b", b"c"]) {
            cache.keep(key, 1, || value);
        }
        assert_eq!(cache.find(b"a"), Some(0));
        cache.keep(b"d", 1, || 3);
        assert_eq!(cache.find(b"b"), None);
        assert_eq!(cache.find(b"c"), Some(2));
        cache.keep(b"e", 1, || 4);
        assert_eq!(
            [
                cache.find(b"a"),
                cache.find(b"c"),
                cache.find(b"d"),
                cache.find(b"e")
            ],
            [None, Some(2), Some(3), Some(4)]
        );
        assert_eq!(cache.size().0, 3);
    }

    #[test]
    fn neither_bound_is_passed_whatever_is_kept() {
        let cache = bounded(50, 20_000);
        for round in 0..5_000_u32 {
            let key = (round % 97).to_be_bytes();
            cache.keep(&key, (round as usize * 37) % 3_000, || round);
            let (entries, octets) = cache.size();
            assert!(entries <= 50 && octets <= 20_000, "{entries} {octets}");
            if entries > 0 {
                assert!(octets >= entries * ENTRY);
            }
        }
        assert!(cache.size().0 > 3);
    }

    #[test]
    fn what_is_larger_than_everything_may_be_is_not_kept_and_pushes_nothing_out() {
        let cache = bounded(10, 1_000);
        cache.keep(b"small", 10, || 1);
        cache.keep(b"large", 1_000, || 2);
        assert_eq!(
            (cache.find(b"small"), cache.find(b"large")),
            (Some(1), None)
        );
    }

    #[test]
    fn a_key_that_is_kept_again_has_its_last_value_and_is_counted_once() {
        let cache = bounded(10, 10_000);
        cache.keep(b"key", 5, || 1);
        let size = cache.size();
        cache.keep(b"key", 5, || 2);
        assert_eq!(cache.find(b"key"), Some(2));
        assert_eq!(cache.size(), size);
    }
}
