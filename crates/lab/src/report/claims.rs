//! What held of the values that the papers reported, and of their headline claims.
//!
//! The rule kept here: a verdict is a comparison of two numbers that stand beside it, and of what
//! is known of both.

use super::shown::{At, Shown, Value, is_arm, is_at};
use crate::papers::Reported;
use crate::study::{Claim, Shows, Stack, Study};

/// A value that the paper reported, and ours.
pub(super) struct Held<'s> {
    /// The paper's.
    pub(super) reported: &'s Reported,
    /// By stack: least and largest of ours, and how they lie.
    pub(super) ours: Vec<(Stack, [f64; 2], Comparison)>,
}

/// How our values lie beside the paper's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Comparison {
    /// All are below the paper's least.
    Below,
    /// All are within what the paper's digits leave open.
    Within,
    /// All are so, or have intervals that reach there.
    WithinInterval,
    /// All are above the paper's largest.
    Above,
    /// Some are here, some there.
    Across,
}

impl Comparison {
    /// Of one value.
    fn of(value: f64, spread: Option<[f64; 2]>, [least, most]: [f64; 2]) -> Self {
        // The last digit of a sum of binary fractions is no difference.
        let slack = value.abs() * 1e-9;
        let [low, high] = spread.unwrap_or([value; 2]);
        if (least - slack..=most + slack).contains(&value) {
            Self::Within
        } else if low <= most && least <= high {
            Self::WithinInterval
        } else if value < least {
            Self::Below
        } else {
            Self::Above
        }
    }

    /// Of all values together.
    fn of_all(all: &[Self]) -> Self {
        let only = |wanted: Self| all.iter().all(|it| *it == wanted);
        let holds = all.iter().all(|it| it.holds());
        match holds {
            true if only(Self::Within) => Self::Within,
            true => Self::WithinInterval,
            false if only(Self::Below) => Self::Below,
            false if only(Self::Above) => Self::Above,
            false => Self::Across,
        }
    }

    /// Whether what the paper reports holds.
    pub(super) const fn holds(self) -> bool {
        matches!(self, Self::Within | Self::WithinInterval)
    }

    /// In a word.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Below => "below",
            Self::Within => "within",
            Self::WithinInterval => "within our interval",
            Self::Above => "above",
            Self::Across => "partly",
        }
    }
}

/// Every value that the paper reported in this figure and that something was measured for.
pub(super) fn held<'s>(shown: &'s Shown<'_>) -> Vec<Held<'s>> {
    let all = shown.reported.iter().filter_map(|reported| {
        let of = |arm: &str, at: &At| reported.is_of(arm, at);
        let ours: Vec<_> = by_stack(shown, of)
            .into_iter()
            .map(|(stack, values)| {
                let lies = values.iter();
                let lies: Vec<Comparison> = lies
                    .map(|it| Comparison::of(it.value, it.known(), reported.range))
                    .collect();
                let values: Vec<f64> = values.iter().map(|it| it.value).collect();
                (stack, ends(&values), Comparison::of_all(&lies))
            })
            .collect();
        (!ours.is_empty()).then_some(Held { reported, ours })
    });
    all.collect()
}

/// A headline, and what is measured of it.
pub(super) struct Headline {
    /// Who says it.
    pub(super) study: &'static Study,
    /// What.
    pub(super) claim: &'static Claim,
    /// Values by stack, ours first.
    pub(super) measured: Vec<(Stack, [f64; 2])>,
    /// The largest floor of ours.
    pub(super) floor: Option<f64>,
}

impl Headline {
    /// Whether our goal is met; `None`, if there is none, or nothing of ours was measured.
    pub(super) fn is_met(&self, shows: &Shows) -> Option<bool> {
        let goal = self.claim.goal?;
        let ours = self.measured.iter().find(|it| it.0 == Stack::Soapstone)?;
        let [least, most] = ours.1;
        Some(match shows {
            Shows::Factor { .. } => least >= goal,
            _ => most <= goal,
        })
    }

    /// The goal is not met, and no implementation with these keys could.
    pub(super) fn is_out_of_reach(&self, shows: &Shows) -> bool {
        let floor_above = self
            .claim
            .goal
            .zip(self.floor)
            .is_some_and(|(goal, floor)| floor > goal);
        self.is_met(shows) == Some(false) && floor_above
    }
}

/// The headline of a claim, if its figure was measured.
pub(super) fn headline(claim: &'static Claim, shown: &Shown<'_>) -> Headline {
    let of = |arm: &str, at: &At| is_arm(claim.arm, arm) && is_at(claim.at, at);
    let found = by_stack(shown, of);
    let floors = found.iter().filter(|it| it.0 == Stack::Soapstone);
    let floors = floors.flat_map(|it| &it.1).filter_map(|it| it.floor);
    Headline {
        study: shown.study,
        claim,
        floor: floors.reduce(f64::max),
        measured: found
            .iter()
            .map(|(stack, values)| {
                let values: Vec<f64> = values.iter().map(|it| it.value).collect();
                (*stack, ends(&values))
            })
            .collect(),
    }
}

fn by_stack<'s>(
    shown: &'s Shown<'_>,
    of: impl Fn(&str, &At) -> bool,
) -> Vec<(Stack, Vec<&'s Value>)> {
    let stacks = shown.stacks().into_iter().map(|stack| {
        let series = shown.series.iter().filter(|it| it.stack == stack);
        let values = series.flat_map(|series| {
            let values = series.values.iter();
            values.filter(|value| of(&series.arm, &value.at))
        });
        (stack, values.collect::<Vec<_>>())
    });
    stacks.filter(|it| !it.1.is_empty()).collect()
}

fn ends(values: &[f64]) -> [f64; 2] {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    [least, most]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_lies_below_within_or_above_and_its_interval_may_reach_there() {
        let lies = |value, spread| Comparison::of(value, spread, [10.0, 20.0]);
        assert_eq!(lies(9.9, None), Comparison::Below);
        assert_eq!(lies(9.9, Some([9.5, 10.5])), Comparison::WithinInterval);
        assert_eq!(lies(10.0, Some([1.0, 90.0])), Comparison::Within);
        assert_eq!(lies(20.1, Some([20.05, 20.2])), Comparison::Above);
    }

    #[test]
    fn values_together_hold_where_each_does() {
        use Comparison::{Above, Across, Below, Within, WithinInterval};
        let of = |all: &[Comparison]| Comparison::of_all(all);
        assert_eq!(of(&[Within, Within]), Within);
        assert_eq!(of(&[Within, WithinInterval]), WithinInterval);
        assert_eq!(of(&[Below, Below]), Below);
        assert_eq!(of(&[Above]), Above);
        assert_eq!(of(&[Below, Within]), Across);
        assert_eq!(of(&[Below, Above]), Across);
    }
}
