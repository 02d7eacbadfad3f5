//! The choice among the members that can take a call.
//!
//! The rule kept here: each selection looks at what is handed to it, and changes nothing but the
//! turns.

use std::time::Duration;

use crate::affinity::Affinity;
use crate::dice::Dice;
use crate::reason::Reason;

/// A member that can take a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<'p> {
    /// Its place in the pool.
    pub(crate) index: usize,
    pub(crate) name: &'p str,
    pub(crate) in_hand: u32,
    /// Its weight, as the operator has it.
    pub(crate) weight: u64,
    /// Thousandths of it that it gets at the moment.
    pub(crate) share: u64,
    /// The time in which it will answer, where that is known.
    pub(crate) time: Option<Duration>,
    /// The same as far as it was seen.
    pub(crate) measured: Option<Duration>,
    /// The strength of its security.
    pub(crate) bits: f64,
}

impl Candidate<'_> {
    /// Its weight at the moment.
    fn current(&self) -> u64 {
        self.weight * self.share
    }

    /// Whether it has less to do for its weight than another one, or as much, with a call more
    /// each.
    fn is_less_loaded(&self, other: &Self) -> bool {
        let load = |one: &Self, by: &Self| u128::from(one.in_hand + 1) * u128::from(by.current());
        load(self, other) <= load(other, self)
    }
}

/// By chance.
pub(crate) fn drawn<'c, 'p>(
    candidates: &'c [Candidate<'p>],
    dice: &Dice,
) -> Option<&'c Candidate<'p>> {
    let all = candidates.iter().map(Candidate::current).sum::<u64>();
    let mut left = match all {
        0 => return candidates.first(),
        all => dice.below(all),
    };
    candidates.iter().find(|candidate| {
        let current = candidate.current();
        let found = left < current;
        left = left.saturating_sub(current);
        found
    })
}

/// The less loaded one of two that chance draws.
pub(crate) fn less_loaded<'c, 'p>(
    candidates: &'c [Candidate<'p>],
    dice: &Dice,
) -> Option<(&'c Candidate<'p>, Reason)> {
    let first = drawn(candidates, dice)?;
    let mut rest: Vec<Candidate<'p>> = candidates.to_vec();
    rest.retain(|candidate| candidate.index != first.index);
    let Some(second) = drawn(&rest, dice) else {
        return Some((first, Reason::Only));
    };
    let second = candidates
        .iter()
        .find(|other| other.index == second.index)?;
    let (chosen, other) = match first.is_less_loaded(second) {
        true => (first, second),
        false => (second, first),
    };
    let reason = Reason::LessLoaded {
        in_hand: chosen.in_hand,
        other: other.in_hand,
    };
    Some((chosen, reason))
}

/// Most members among which chance draws two: enough that nobody herds, and none of the worst.
const BEST: usize = 3;

/// The one that will answer first, of two that chance draws among the best.
pub(crate) fn fastest<'c, 'p>(
    candidates: &'c [Candidate<'p>],
    dice: &Dice,
) -> Option<(&'c Candidate<'p>, Reason)> {
    let chosen = better_of_two(candidates, dice, |one| match one.time {
        Some(time) => 1.0 / time.as_secs_f64().max(f64::MIN_POSITIVE),
        None => 0.0,
    })?;
    Some((chosen, Reason::Fastest { time: chosen.time }))
}

/// The one whose time and strength are worth most, of two that chance draws among the best. `time`
/// is what time counts, in hundredths.
pub(crate) fn balanced<'c, 'p>(
    candidates: &'c [Candidate<'p>],
    time: u8,
    dice: &Dice,
) -> Option<(&'c Candidate<'p>, Reason)> {
    let times = candidates.iter().filter_map(|one| one.time);
    let shortest = times.min().unwrap_or_default().as_secs_f64();
    let strengths = candidates.iter().map(|one| one.bits);
    let strongest = strengths.fold(0.0, f64::max);
    let weight = f64::from(time.min(100)) / 100.0;
    let chosen = better_of_two(candidates, dice, |one| {
        let of_time = one.time.map_or(0.0, |time| match time.as_secs_f64() {
            0.0 => 1.0,
            time => shortest / time,
        });
        let of_strength = match strongest {
            0.0 => 0.0,
            strongest => one.bits / strongest,
        };
        weight * of_time + (1.0 - weight) * of_strength
    })?;
    let time = chosen.time;
    Some((chosen, Reason::Balanced { time }))
}

fn better_of_two<'c, 'p>(
    candidates: &'c [Candidate<'p>],
    dice: &Dice,
    worth: impl Fn(&Candidate<'p>) -> f64,
) -> Option<&'c Candidate<'p>> {
    let mut ranked: Vec<(&Candidate<'p>, f64)> =
        candidates.iter().map(|one| (one, worth(one))).collect();
    ranked.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    ranked.truncate(BEST);
    let first = dice.below(ranked.len() as u64) as usize;
    let (first, of_first) = *ranked.get(first)?;
    ranked.retain(|(other, _)| other.index != first.index);
    if ranked.is_empty() {
        return Some(first);
    }
    let second = dice.below(ranked.len() as u64) as usize;
    let (second, of_second) = *ranked.get(second)?;
    Some(match of_first >= of_second {
        true => first,
        false => second,
    })
}

/// One whose time is not known and that has nothing in hand, now and then: otherwise it would never
/// be known. Always where no time is known.
pub(crate) fn to_be_measured<'c, 'p>(
    candidates: &'c [Candidate<'p>],
    dice: &Dice,
) -> Option<&'c Candidate<'p>> {
    let unknown = candidates.iter().filter(|one| one.time.is_none());
    let none_is_known = candidates.iter().all(|one| one.time.is_none());
    let idle: Vec<&Candidate<'p>> = unknown
        .filter(|one| one.in_hand == 0 || none_is_known)
        .collect();
    let count = idle.len() as u64;
    if count == 0 || !none_is_known && dice.below(MEASURED) > 0 {
        return None;
    }
    idle.get(dice.below(count) as usize).copied()
}

/// One of so many calls measures a member whose time is not known.
const MEASURED: u64 = 8;

/// The one whose turn it is: turns come evenly spread, as the weights say. `turns` has a number for
/// each member of the pool.
pub(crate) fn next_in_turn<'c, 'p>(
    candidates: &'c [Candidate<'p>],
    turns: &mut [i64],
) -> Option<&'c Candidate<'p>> {
    let weight = |candidate: &Candidate<'_>| i64::try_from(candidate.current()).unwrap_or(0);
    let all = candidates.iter().map(weight).sum::<i64>();
    for candidate in candidates {
        if let Some(turn) = turns.get_mut(candidate.index) {
            *turn += weight(candidate);
        }
    }
    let turn = |candidate: &&Candidate<'_>| turns.get(candidate.index).copied();
    // The first one of those that have waited for as long.
    let next = candidates.iter().rev().max_by_key(turn)?;
    if let Some(turn) = turns.get_mut(next.index) {
        *turn -= all;
    }
    Some(next)
}

/// The one that a key leads to. What a member gets at the moment does not matter: a key that moved
/// with it would lose its conversation twice.
pub(crate) fn stuck_to<'c, 'p>(
    candidates: &'c [Candidate<'p>],
    affinity: Affinity,
) -> Option<&'c Candidate<'p>> {
    let score = |candidate: &Candidate<'_>| affinity.score(candidate.name, candidate.weight);
    candidates
        .iter()
        .max_by(|one, other| score(one).total_cmp(&score(other)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::WHOLE;

    fn candidate(
        index: usize,
        name: &'static str,
        weight: u64,
        in_hand: u32,
    ) -> Candidate<'static> {
        Candidate {
            index,
            name,
            in_hand,
            weight,
            share: WHOLE,
            time: None,
            measured: None,
            bits: 0.0,
        }
    }

    fn candidates() -> [Candidate<'static>; 3] {
        [
            candidate(0, "a", 5, 0),
            candidate(1, "b", 1, 0),
            candidate(2, "c", 1, 0),
        ]
    }

    #[test]
    fn turns_are_evenly_spread() {
        let (candidates, mut turns) = (candidates(), [0; 3]);
        let mut order = String::new();
        for _ in 0..14 {
            let next = next_in_turn(&candidates, &mut turns).expect("there are some");
            order.push_str(next.name);
        }
        assert_eq!(order, "aabacaaaabacaa");
    }

    #[test]
    fn chance_draws_as_the_weights_say() {
        let dice = Dice::new(3);
        let candidates = candidates();
        let mut found = [0_u32; 3];
        for _ in 0..7000 {
            found[drawn(&candidates, &dice).expect("there are some").index] += 1;
        }
        assert!((4800..5200).contains(&found[0]), "{found:?}");
        assert!((900..1100).contains(&found[1]), "{found:?}");
    }

    #[test]
    fn of_two_the_one_with_less_for_its_weight_is_taken() {
        let dice = Dice::new(3);
        for (loads, expected) in [([9, 3], 0), ([3, 1], 0), ([6, 0], 1), ([9, 0], 1)] {
            let two = [
                candidate(0, "a", 5, loads[0]),
                candidate(1, "b", 1, loads[1]),
            ];
            for _ in 0..20 {
                let (chosen, reason) = less_loaded(&two, &dice).expect("there are some");
                assert_eq!(chosen.index, expected, "{loads:?}");
                let [in_hand, other] = [loads[expected], loads[1 - expected]];
                assert_eq!(reason, Reason::LessLoaded { in_hand, other });
            }
        }
    }

    fn timed(index: usize, name: &'static str, ms: u64, bits: f64) -> Candidate<'static> {
        Candidate {
            time: (ms > 0).then(|| Duration::from_millis(ms)),
            bits,
            ..candidate(index, name, 1, 0)
        }
    }

    #[test]
    fn the_fastest_of_the_best_is_taken_and_the_worst_and_the_unknown_never() {
        let dice = Dice::new(5);
        let all = [
            timed(0, "a", 30, 0.0),
            timed(1, "b", 10, 0.0),
            timed(2, "c", 20, 0.0),
            timed(3, "d", 900, 0.0),
            timed(4, "e", 0, 0.0),
        ];
        let mut found = [0_u32; 5];
        for _ in 0..300 {
            found[fastest(&all, &dice).expect("there are some").0.index] += 1;
        }
        // Two of three are drawn: the best one is among them in two of three cases.
        assert!((170..230).contains(&found[1]), "{found:?}");
        assert!((70..130).contains(&found[2]), "{found:?}");
        assert_eq!((found[0], found[3], found[4]), (0, 0, 0));
    }

    #[test]
    fn time_and_strength_are_weighed_against_each_other() {
        let dice = Dice::new(5);
        let two = [timed(0, "quick", 10, 112.0), timed(1, "strong", 40, 256.0)];
        for (time, expected) in [(100, 0), (80, 0), (20, 1), (0, 1)] {
            for _ in 0..10 {
                let (chosen, _) = balanced(&two, time, &dice).expect("there are some");
                assert_eq!(chosen.index, expected, "{time}");
            }
        }
        let unknown = [timed(0, "unknown", 0, 128.0), timed(1, "known", 900, 128.0)];
        assert_eq!(
            balanced(&unknown, 50, &dice)
                .expect("there are some")
                .0
                .index,
            1
        );
    }

    #[test]
    fn what_is_unknown_is_measured_now_and_then() {
        let dice = Dice::new(5);
        let known = [timed(0, "a", 10, 0.0), timed(1, "b", 0, 0.0)];
        let measured = (0..800).filter(|_| to_be_measured(&known, &dice).is_some());
        let measured = measured.count();
        assert!((70..130).contains(&measured), "{measured}");
        let none = [timed(0, "a", 0, 0.0), timed(1, "b", 0, 0.0)];
        assert!(to_be_measured(&none, &dice).is_some());
        assert!(to_be_measured(&known[..1], &dice).is_none());
    }
}
