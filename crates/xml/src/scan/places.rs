//! Places by hash for start tags: what was met, and which tags are kept.
//!
//! A place has room for several: with room for one, two tags of every message that fall into the
//! same place would push each other out for ever, and neither would become known.

use crate::numbers::NONE;

/// Places, of which a tag's hash says one.
const PLACES: usize = 128;
/// Tags of one place.
const WAYS: usize = 4;

/// What was met, and indexes of what is kept.
#[derive(Debug, Default)]
pub(super) struct Places(Vec<Place>);

#[derive(Clone, Copy, Debug)]
struct Place {
    /// Halves of the hashes of the tags that were met last and were not known, the newest first.
    met: [u32; WAYS],
    /// Indexes of tags, the one that was kept last first.
    kept: [u16; WAYS],
}

impl Place {
    const VACANT: Self = Self {
        met: [0; WAYS],
        kept: [NONE; WAYS],
    };
}

impl Places {
    /// Indexes of the tags that are kept where a tag of this hash is.
    #[inline]
    pub(super) fn kept(&self, hash: u64) -> impl Iterator<Item = u16> + '_ {
        let place = self.0.get(hash as usize % PLACES);
        let kept = place.into_iter().flat_map(|place| place.kept);
        kept.take_while(|&tag| tag != NONE)
    }

    /// Whether a tag of this hash was met before, which it is from now on.
    pub(super) fn meet(&mut self, hash: u64) -> bool {
        let met = &mut self.of(hash).met;
        let half = (hash >> 32) as u32;
        let was_met = met.contains(&half);
        if !was_met {
            met.rotate_right(1);
            met[0] = half;
        }
        was_met
    }

    /// Keeps a tag, for the one that was kept first if there is no more room.
    pub(super) fn keep(&mut self, hash: u64, tag: u16) {
        let kept = &mut self.of(hash).kept;
        kept.rotate_right(1);
        kept[0] = tag;
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }

    fn of(&mut self, hash: u64) -> &mut Place {
        if self.0.is_empty() {
            self.0.resize(PLACES, Place::VACANT);
        }
        &mut self.0[hash as usize % PLACES]
    }
}

#[cfg(test)]
mod tests {
    use super::{PLACES, Places, WAYS};

    /// Hashes of one place.
    fn hashes(count: usize) -> impl Iterator<Item = u64> {
        (1..=count as u64).map(|number| (number << 32) | (PLACES as u64 - 1))
    }

    #[test]
    fn tags_of_one_place_are_all_met_and_kept() {
        let mut places = Places::default();
        assert_eq!(places.kept(1).count(), 0);
        for hash in hashes(WAYS) {
            assert!(!places.meet(hash));
        }
        for (hash, tag) in hashes(WAYS).zip(0..) {
            assert!(places.meet(hash));
            places.keep(hash, tag);
        }
        let hash = hashes(1).next().unwrap();
        assert_eq!(places.kept(hash).collect::<Vec<_>>(), [3, 2, 1, 0]);
        assert_eq!(places.kept(hash + 1).count(), 0);
    }

    #[test]
    fn the_oldest_makes_room() {
        let mut places = Places::default();
        for (hash, tag) in hashes(WAYS + 1).zip(0..) {
            places.meet(hash);
            places.keep(hash, tag);
        }
        let last = hashes(WAYS + 1).last().unwrap();
        assert_eq!(places.kept(last).collect::<Vec<_>>(), [4, 3, 2, 1]);
        assert!(places.meet(last));
        assert!(!places.meet(hashes(1).next().unwrap()));
    }
}
