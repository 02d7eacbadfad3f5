//! The choice among the members that can take a call.
//!
//! The rule kept here: each selection looks at what is handed to it, and changes nothing but the
//! turns.

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
}
