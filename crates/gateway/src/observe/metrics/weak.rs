//! Uses of weak algorithms: how many, when, and by whom.
//!
//! The rule kept here: what is not used any more can be told from what is, so that an exception of
//! a partner ends. Whose messages are counted apart was verified before, and the table is bounded.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use jiff::Timestamp;

use crate::config::direction::Direction;

/// Uses by side and algorithm, since the process began.
#[derive(Debug, Default)]
pub(super) struct WeakUses(Mutex<BTreeMap<(Direction, &'static str), Uses>>);

/// Uses of one algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Uses {
    pub(crate) count: u64,
    /// The first one, in seconds since 1970.
    pub(crate) first: u64,
    /// The last one, in seconds since 1970.
    pub(crate) last: u64,
}

impl Uses {
    /// None, before the first one at that second.
    fn none(now: u64) -> Self {
        Self {
            count: 0,
            first: now,
            last: now,
        }
    }

    fn add(&mut self, now: u64) {
        self.count += 1;
        // A clock that was set back changes no moment that is known.
        self.last = self.last.max(now);
    }
}

impl WeakUses {
    pub(super) fn add(&self, side: Direction, algorithm: &'static str, now: Timestamp) {
        let now = seconds(now);
        let mut uses = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let uses = uses.entry((side, algorithm));
        uses.or_insert(Uses::none(now)).add(now);
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

/// Most rows of one route: sides, algorithms and partners. Some 700 bytes each where names are as
/// long as they may be.
const MOST_ROWS: usize = 512;

/// Most bytes of a name. The subjects of real certificates have some 100.
const LONGEST_NAME: usize = 512;

/// From whom messages with weak algorithms come.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WeakPartner {
    /// How it was proven, and its name.
    Proven(&'static str, String),
    /// The messages prove nobody, as those that are only encrypted.
    Nobody,
    /// Those who came when the table was full.
    Others,
}

impl WeakPartner {
    /// Somebody who proved that name in that way. Of a long name the beginning counts.
    pub(crate) fn proven(by: &'static str, name: &str) -> Self {
        let end = name.floor_char_boundary(LONGEST_NAME);
        Self::Proven(by, name[..end].to_owned())
    }
}

/// What is known of the uses of one algorithm by one partner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WeakUse {
    pub(crate) side: Direction,
    pub(crate) algorithm: &'static str,
    pub(crate) partner: WeakPartner,
    pub(crate) uses: Uses,
}

/// Uses by side, algorithm and partner, since the process began.
///
/// Who came first keeps its row: nobody pushes another partner out of the table.
#[derive(Debug)]
pub(super) struct PartnerUses {
    most: usize,
    rows: Mutex<BTreeMap<Row, Uses>>,
}

type Row = (Direction, &'static str, WeakPartner);

impl Default for PartnerUses {
    fn default() -> Self {
        Self {
            most: MOST_ROWS,
            rows: Mutex::default(),
        }
    }
}

impl PartnerUses {
    pub(super) fn add(
        &self,
        side: Direction,
        algorithm: &'static str,
        partner: WeakPartner,
        now: Timestamp,
    ) {
        let now = seconds(now);
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let mut row = (side, algorithm, partner);
        if rows.len() >= self.most && !rows.contains_key(&row) {
            row.2 = WeakPartner::Others;
        }
        rows.entry(row).or_insert(Uses::none(now)).add(now);
    }

    pub(super) fn all(&self) -> Vec<WeakUse> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let all = rows
            .iter()
            .map(|((side, algorithm, partner), uses)| WeakUse {
                side: *side,
                algorithm,
                partner: partner.clone(),
                uses: *uses,
            });
        all.collect()
    }

    /// How many partners have a row of their own, by side and algorithm.
    pub(super) fn partners(&self) -> Vec<((Direction, &'static str), u64)> {
        let rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        let mut counts = BTreeMap::new();
        for (side, algorithm, partner) in rows.keys() {
            let is_one = matches!(partner, WeakPartner::Proven(..));
            *counts.entry((*side, *algorithm)).or_insert(0) += u64::from(is_one);
        }
        counts.into_iter().collect()
    }
}

fn seconds(moment: Timestamp) -> u64 {
    u64::try_from(moment.as_second()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a moment")
    }

    /// A certificate for each message, all of them trusted, fills no memory, and hides nobody who
    /// was there before.
    #[test]
    fn a_full_table_of_partners_keeps_its_rows_and_counts_the_rest_together() {
        let uses = PartnerUses {
            most: 2,
            ..PartnerUses::default()
        };
        for second in 1..=100 {
            let partner = WeakPartner::proven("certificate", &format!("CN={second}"));
            uses.add(Direction::Inbound, "rsa-sha1", partner, moment(second));
        }
        let first = WeakPartner::proven("certificate", "CN=1");
        uses.add(Direction::Inbound, "rsa-sha1", first.clone(), moment(200));
        let all = uses.all();
        let rows = all.iter().map(|it| {
            let Uses { count, first, last } = it.uses;
            (it.partner.clone(), (count, first, last))
        });
        let second = WeakPartner::proven("certificate", "CN=2");
        let expected = [
            (first, (2, 1, 200)),
            (second, (1, 2, 2)),
            (WeakPartner::Others, (98, 3, 100)),
        ];
        assert_eq!(rows.collect::<Vec<_>>(), expected);
        let key = (Direction::Inbound, "rsa-sha1");
        assert_eq!(uses.partners(), [(key, 2)]);
    }

    #[test]
    fn a_long_name_is_cut_at_a_character() {
        let partner = WeakPartner::proven("certificate", &"ü".repeat(1000));
        assert_eq!(
            partner,
            WeakPartner::proven("certificate", &"ü".repeat(256))
        );
        let odd = format!("a{}", "ü".repeat(1000));
        let WeakPartner::Proven(_, name) = WeakPartner::proven("user", &odd) else {
            panic!("it is proven");
        };
        assert_eq!(name.len(), 511);
    }

    #[test]
    fn the_first_and_the_last_use_are_known_for_each_side() {
        let uses = WeakUses::default();
        for (side, second) in [
            (Direction::Inbound, 10),
            (Direction::Inbound, 30),
            (Direction::Inbound, 20),
            (Direction::Outbound, 40),
        ] {
            uses.add(side, "rsa-sha1", moment(second));
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
