//! Uses of weak algorithms: how many, and when.
//!
//! The rule kept here: what is not used any more can be told from what is, so that an exception of
//! a partner ends.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;

use crate::config::direction::Direction;

/// Uses by side and algorithm, since the process began.
#[derive(Debug, Default)]
pub(super) struct WeakUses(Mutex<BTreeMap<(Direction, &'static str), Uses>>);

/// Uses of one algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Uses {
    pub(super) count: u64,
    /// The first one, in seconds since 1970.
    pub(super) first: u64,
    /// The last one, in seconds since 1970.
    pub(super) last: u64,
}

impl WeakUses {
    pub(super) fn add(&self, side: Direction, algorithm: &'static str, now: Timestamp) {
        let now = u64::try_from(now.as_second()).unwrap_or_default();
        let mut uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let uses = uses.entry((side, algorithm)).or_insert(Uses {
            count: 0,
            first: now,
            last: now,
        });
        uses.count += 1;
        // A clock that was set back changes no moment that is known.
        uses.last = uses.last.max(now);
    }

    /// One figure of each algorithm.
    pub(super) fn entries(
        &self,
        figure: impl Fn(Uses) -> u64,
    ) -> Vec<((Direction, &'static str), u64)> {
        let uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = uses.iter().map(|(key, uses)| (*key, figure(*uses)));
        entries.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_and_the_last_use_are_known_for_each_side() {
        let uses = WeakUses::default();
        for (side, second) in [
            (Direction::Inbound, 10),
            (Direction::Inbound, 30),
            (Direction::Inbound, 20),
            (Direction::Outbound, 40),
        ] {
            let now = Timestamp::from_second(second).expect("a moment");
            uses.add(side, "rsa-sha1", now);
        }
        let of = |figure: fn(Uses) -> u64| {
            let entries = uses.entries(figure).into_iter();
            entries.map(|(_, figure)| figure).collect::<Vec<_>>()
        };
        assert_eq!(of(|uses| uses.count), [3, 1]);
        assert_eq!(of(|uses| uses.first), [10, 40]);
        assert_eq!(of(|uses| uses.last), [30, 40]);
    }
}
