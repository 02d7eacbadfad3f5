//! Whether the papers' conclusions hold: on each stack that was measured, and in the numbers that
//! the paper itself prints.
//!
//! The rule kept here: nothing is told apart where intervals overlap, and one sample of a time is
//! told apart from nothing.

mod data;
mod judge;

use super::Run;
use super::number::{Unit, number};
use crate::papers;
use crate::study::{Asks, Conclusion, Measure, Quantity, Record, Stack, Study};

/// A conclusion, and what became of it.
pub(super) struct Judged {
    /// Whose it is.
    pub(super) study: &'static Study,
    /// What it says.
    pub(super) conclusion: &'static Conclusion,
    /// In the paper's own numbers.
    pub(super) paper: Verdict,
    /// On each stack that has values of its figure, ours first.
    pub(super) stacks: Vec<(Stack, Verdict)>,
}

/// What became of a conclusion.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Verdict {
    /// In a word.
    pub(super) kind: Kind,
    /// In numbers.
    pub(super) told: String,
}

/// What became of a conclusion, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// It holds wherever values can be told apart.
    Holds,
    /// The opposite holds.
    Reversed,
    /// The value is below the paper's.
    Less,
    /// The value is above the paper's.
    More,
    /// It holds at some points and not at others.
    Partly,
    /// Intervals overlap.
    NotToldApart,
    /// There are no values.
    NotMeasured,
}

impl Kind {
    /// All of them.
    pub(super) const ALL: [Self; 7] = [
        Self::Holds,
        Self::Reversed,
        Self::Less,
        Self::More,
        Self::Partly,
        Self::NotToldApart,
        Self::NotMeasured,
    ];

    /// In words.
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Reversed => "reversed",
            Self::Less => "less",
            Self::More => "more",
            Self::Partly => "partly",
            Self::NotToldApart => "not told apart",
            Self::NotMeasured => "not measured",
        }
    }

    /// Whether the conclusion does not hold.
    pub(super) const fn fails(self) -> bool {
        matches!(self, Self::Reversed | Self::Less | Self::More)
    }
}

/// The answer at one place, with the number that it is of.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Answer {
    /// One of [`Kind::Holds`], [`Kind::Reversed`], [`Kind::Less`], [`Kind::More`],
    /// [`Kind::NotToldApart`].
    kind: Kind,
    /// A ratio, a share, a place along an axis.
    number: f64,
}

/// What became of each conclusion of a study.
pub(super) fn judged(study: &'static Study, runs: &[Run]) -> Vec<Judged> {
    let paper = [Run {
        name: study.name.to_owned(),
        records: papers::lines(study),
        manifest: None,
    }];
    let all = study.conclusions.iter().map(|conclusion| Judged {
        study,
        conclusion,
        paper: own(study, conclusion, &paper),
        stacks: stacks(study, conclusion, runs),
    });
    all.collect()
}

/// In the paper's own numbers.
fn own(study: &'static Study, conclusion: &'static Conclusion, paper: &[Run]) -> Verdict {
    let answers = judge::printed(study, conclusion);
    if !answers.is_empty() {
        return verdict(&answers, &conclusion.asks, quantity(conclusion));
    }
    let mut data = data::of(study, conclusion, paper);
    if data.iter().all(Vec::is_empty) {
        data = data::reported(study, conclusion);
    }
    verdict(
        &judge::answers(conclusion, &data),
        &conclusion.asks,
        quantity(conclusion),
    )
}

fn stacks(
    study: &'static Study,
    conclusion: &'static Conclusion,
    runs: &[Run],
) -> Vec<(Stack, Verdict)> {
    let data = data::of(study, conclusion, runs);
    let mut stacks: Vec<Stack> = data.iter().flatten().map(|it| it.stack).collect();
    stacks.sort_unstable();
    stacks.dedup();
    let of = |stack: Stack| {
        let of_stack = data.each_ref().map(|all| {
            let of = all.iter().filter(|it| it.stack == stack);
            of.cloned().collect::<Vec<_>>()
        });
        let answers = judge::answers(conclusion, &of_stack);
        (
            stack,
            verdict(&answers, &conclusion.asks, quantity(conclusion)),
        )
    };
    stacks.into_iter().map(of).collect()
}

/// The quantity whose values, as they are, answer a conclusion.
fn quantity(conclusion: &Conclusion) -> Option<Quantity> {
    match (conclusion.measure, conclusion.asks) {
        (Measure::Itself(quantity, _), Asks::Share { among: [], .. }) => Some(quantity),
        _ => None,
    }
}

/// All answers together. Their numbers are values of a quantity, or have the unit of the question.
fn verdict(answers: &[Answer], asks: &Asks, of: Option<Quantity>) -> Verdict {
    let count = |wanted: Kind| answers.iter().filter(|it| it.kind == wanted).count();
    let holds = count(Kind::Holds);
    let failing = [Kind::Reversed, Kind::Less, Kind::More].map(|kind| (kind, count(kind)));
    let fails: usize = failing.iter().map(|it| it.1).sum();
    let only = failing.iter().find(|it| it.1 == fails && fails > 0);
    let kind = match (answers.len(), holds, fails, only) {
        (0, ..) => Kind::NotMeasured,
        (_, 0, 0, _) => Kind::NotToldApart,
        (_, _, 0, _) => Kind::Holds,
        (_, 0, _, Some((kind, _))) => *kind,
        _ => Kind::Partly,
    };
    let mut told = Vec::new();
    let numbers = answers
        .iter()
        .map(|it| it.number)
        .filter(|it| it.is_finite());
    let least = numbers.clone().fold(f64::INFINITY, f64::min);
    let most = numbers.fold(f64::NEG_INFINITY, f64::max);
    if least.is_finite() {
        let (low, high) = (number(least), number(most));
        let unit = judge::unit(asks);
        told.push(match (of, low == high) {
            (Some(of), _) => Unit::of_quantity(of, most).range([least, most]),
            (None, true) => format!("{low}{unit}"),
            (None, false) => format!("{low} to {high}{unit}"),
        });
    }
    if answers.len() > 1 && holds > 0 && holds < answers.len() {
        told.push(format!("at {holds} of {}", answers.len()));
    }
    Verdict {
        kind,
        told: told.join(", "),
    }
}

/// Whether any run has lines of the study.
pub(super) fn is_asked(study: &Study, runs: &[Run]) -> bool {
    let records = runs.iter().flat_map(|it| &it.records);
    records
        .into_iter()
        .any(|it| matches!(it, Record::Line(line) if line.study == study.name))
}

/// How many conclusions became what on a stack: `31 hold, 4 are reversed, …`.
pub(super) fn counted(judged: &[&Judged], stack: Stack) -> String {
    let kinds = judged.iter().map(|it| {
        let mut found = it.stacks.iter().filter(|it| it.0 == stack);
        found.next().map_or(Kind::NotMeasured, |it| it.1.kind)
    });
    let kinds: Vec<Kind> = kinds.collect();
    let parts = Kind::ALL.iter().filter_map(|kind| {
        let count = kinds.iter().filter(|it| *it == kind).count();
        (count > 0).then(|| format!("{count} {}", kind.words()))
    });
    parts.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::study::Of;

    const NOBODY: Of = Of { arms: &[], at: &[] };
    const ORDER: Asks = Asks::Order {
        less: NOBODY,
        more: NOBODY,
    };

    #[test]
    fn answers_together_are_what_they_are_where_values_can_be_told_apart() {
        use Kind::{Holds, Less, More, NotMeasured, NotToldApart, Partly, Reversed};
        let of = |kinds: &[Kind]| {
            let answers = kinds.iter().map(|kind| Answer {
                kind: *kind,
                number: 2.0,
            });
            verdict(&answers.collect::<Vec<_>>(), &ORDER, None).kind
        };
        assert_eq!(of(&[]), NotMeasured);
        assert_eq!(of(&[NotToldApart, NotToldApart]), NotToldApart);
        assert_eq!(of(&[Holds, NotToldApart]), Holds);
        assert_eq!(of(&[Reversed, NotToldApart]), Reversed);
        assert_eq!(of(&[Holds, Reversed]), Partly);
        assert_eq!(of(&[Less, Less]), Less);
        assert_eq!(of(&[Less, More]), Partly);
    }

    #[test]
    fn a_verdict_says_at_how_many_points_and_by_which_numbers() {
        let answers = [(Kind::Holds, 1.5), (Kind::NotToldApart, 1.25)];
        let answers = answers.map(|(kind, number)| Answer { kind, number });
        assert_eq!(
            verdict(&answers, &ORDER, None).told,
            "1.25 to 1.50 ×, at 1 of 2"
        );
    }

    #[test]
    fn a_value_as_it_is_has_the_unit_of_its_quantity() {
        const VALUE: Asks = Asks::value(NOBODY, [0.0, 1e6]);
        let answers = [Answer {
            kind: Kind::Holds,
            number: 12_004.0,
        }];
        let told = |of| verdict(&answers, &VALUE, of).told;
        assert_eq!(told(Some(Quantity::Ended)), "12.0 ms");
        assert_eq!(told(Some(Quantity::Met)), "12,004 %");
        assert_eq!(told(None), "12,004");
    }
}
