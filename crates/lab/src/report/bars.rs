//! Our own goals beside what was measured: each bar with its figure, and whether it is met.
//!
//! The rule kept here: a bar is missed, met, or not told apart, and one without values is neither.

use super::conclusions::{Judged, Kind};
use super::number::{Unit, number};
use crate::study::{Asks, Conclusion, Measure};

/// A goal of ours, and what became of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bar {
    /// `wsarch/2`.
    pub experiment: String,
    /// What is to hold.
    pub says: &'static str,
    /// On which stack it was measured.
    pub stack: String,
    /// The bar: `at most 0.500 ×`.
    pub bar: String,
    /// What was measured, in the same unit.
    pub measured: String,
    /// What became of it.
    pub reached: Reached,
}

/// Whether a goal is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// It is.
    Met,
    /// It is not.
    Missed,
    /// Intervals overlap.
    NotToldApart,
    /// There are no values.
    NotMeasured,
}

impl Reached {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "missed",
            Self::NotToldApart => "not told apart",
            Self::NotMeasured => "not measured",
        }
    }

    pub(super) const fn of(kind: Kind) -> Self {
        match kind {
            Kind::Holds => Self::Met,
            Kind::Reversed | Kind::Less | Kind::More | Kind::Partly => Self::Missed,
            Kind::NotToldApart => Self::NotToldApart,
            Kind::NotMeasured => Self::NotMeasured,
        }
    }
}

/// The goals among conclusions.
pub(super) fn bars<'j>(judged: impl Iterator<Item = &'j Judged>) -> Vec<Bar> {
    let goals = judged.filter(|it| it.conclusion.is_goal());
    let bars = goals.flat_map(|it| {
        let Conclusion {
            says, experiment, ..
        } = *it.conclusion;
        let of = move |stack: String, measured: &str, kind| Bar {
            experiment: format!("{}/{experiment}", it.study.name),
            says,
            stack,
            bar: bar(it.conclusion),
            measured: measured.to_owned(),
            reached: Reached::of(kind),
        };
        let nothing = it
            .stacks
            .is_empty()
            .then(|| of(String::new(), "", Kind::NotMeasured));
        let measured = it.stacks.iter();
        let measured =
            measured.map(move |(stack, found)| of(stack.to_string(), &found.told, found.kind));
        measured.chain(nothing).collect::<Vec<_>>()
    });
    bars.collect()
}

/// The bar of a goal, in words.
pub(super) fn bar(goal: &Conclusion) -> String {
    match (goal.asks, goal.measure) {
        (Asks::Ratio { within, .. }, _) => {
            let [least, most] = within;
            limits(
                within,
                format!("{} ×", number(least)),
                format!("{} ×", number(most)),
            )
        }
        (
            Asks::Share {
                among: [], within, ..
            },
            Measure::Itself(quantity, _),
        ) => {
            let [least, most] = within;
            let unit = Unit::of_quantity(quantity, most);
            limits(within, unit.range([least; 2]), unit.range([most; 2]))
        }
        (asks, _) => asks.kind().to_owned(),
    }
}

/// A range. No value is below nothing, and no share above all.
fn limits([least, most]: [f64; 2], low: String, high: String) -> String {
    if least == most {
        high
    } else if least <= 0.0 {
        format!("at most {high}")
    } else if most >= 100.0 {
        format!("at least {low}")
    } else {
        format!("{low} to {high}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studies;

    #[test]
    fn each_goal_of_the_architecture_has_its_bar_in_the_unit_of_its_figure() {
        let wsarch = studies::WITH_OWN.iter().find(|it| it.name == "wsarch");
        let goals = wsarch.expect("the study").conclusions.iter();
        let bars: Vec<String> = goals.map(bar).collect();
        for expected in [
            "at most 1.15 ×",
            "at most 0.500 ×",
            "0 calls",
            "at most 1,000 ms",
            "at least 95.0 %",
            "0 violations",
        ] {
            assert!(
                bars.iter().any(|it| it == expected),
                "{expected} in {bars:?}"
            );
        }
    }
}
