//! Conclusions of a paper as questions that lines of a run answer.
//!
//! The rule kept here: a conclusion names everything that its answer depends on: figure, quantity,
//! arms, coordinates and bounds.

use super::figure::Estimate;
use super::line::Quantity;
use crate::papers::Tags;

/// A conclusion of a paper.
#[derive(Clone, Copy, Debug)]
pub struct Conclusion {
    /// What the paper concludes, in our words.
    pub says: &'static str,
    /// Where: `section 4.1.1, page 11`.
    pub place: &'static str,
    /// The experiment that asks it.
    pub experiment: u8,
    /// The figure whose lines answer it.
    pub shown_in: &'static str,
    /// Which values of them.
    pub measure: Measure,
    /// The question.
    pub asks: Asks,
    /// The source of the paper, and the tags there, of the number that the conclusion is about;
    /// nothing, where the paper's answer follows from other numbers of it.
    pub printed: Option<(&'static str, Tags)>,
    /// What in the paper itself speaks against it; empty, if nothing does.
    pub but: &'static str,
}

/// Where a conclusion stands that is no paper's: a bar of ours, that figures are held against.
pub(crate) const GOAL: &str = "a goal of ours";

impl Conclusion {
    /// Those of several lists as one list.
    ///
    /// # Panics
    /// If they are not `N`, while the program is compiled.
    pub const fn joined<const N: usize>(lists: &[&[Self]]) -> [Self; N] {
        let mut all = [lists[0][0]; N];
        let (mut list, mut at) = (0, 0);
        while list < lists.len() {
            let mut index = 0;
            while index < lists[list].len() {
                all[at] = lists[list][index];
                (at, index) = (at + 1, index + 1);
            }
            list += 1;
        }
        assert!(at == N, "as many conclusions as the lists have together");
        all
    }

    /// Whether it is a goal of ours.
    pub(crate) fn is_goal(&self) -> bool {
        self.place == GOAL
    }

    /// What a paper says in a place, and the figure of an experiment that is asked.
    pub const fn of(
        says: &'static str,
        place: &'static str,
        (experiment, shown_in): (u8, &'static str),
        measure: Measure,
        asks: Asks,
    ) -> Self {
        Self {
            says,
            place,
            experiment,
            shown_in,
            measure,
            asks,
            printed: None,
            but: "",
        }
    }

    /// The same, whose number the paper prints itself.
    pub(crate) const fn printed(self, source: &'static str, with: Tags) -> Self {
        Self {
            printed: Some((source, with)),
            ..self
        }
    }

    /// The same, against which something in the paper speaks.
    pub const fn but(self, but: &'static str) -> Self {
        Self { but, ..self }
    }
}

/// Which values answer a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Those that the figure shows.
    Shown,
    /// A quantity of its lines.
    Itself(Quantity, Estimate),
    /// A quantity of its lines, and beside it another quantity of the lines of another figure: of
    /// the second arms of the question.
    Beside(Quantity, &'static str, Quantity),
}

/// Arms at points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Of {
    /// The arms; names up to the first `/` match, too.
    pub arms: &'static [&'static str],
    /// Coordinates of the points. `!value` is any other than that value, `<number` and `>number`
    /// are less and more.
    pub at: &'static [(&'static str, &'static str)],
}

impl Of {
    /// These arms at all points.
    pub const fn arms(arms: &'static [&'static str]) -> Self {
        Self { arms, at: &[] }
    }

    /// The same at points with these coordinates.
    pub const fn at(self, at: &'static [(&'static str, &'static str)]) -> Self {
        Self { at, ..self }
    }
}

/// A question.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Asks {
    /// Each of the first is less than each of the second, at every point of both. Coordinates that
    /// neither names are the same.
    Order {
        /// The first.
        less: Of,
        /// The second.
        more: Of,
    },
    /// The first by the second is within a range, at every point of both.
    Ratio {
        /// The first.
        of: Of,
        /// The second.
        over: Of,
        /// From where to where.
        within: [f64; 2],
    },
    /// The sum of the first arms in percent of the sum of the second ones is within a range.
    /// Without second arms, the value itself is.
    Share {
        /// The first.
        of: Of,
        /// The second.
        among: &'static [&'static str],
        /// From where to where, in the unit of the value.
        within: [f64; 2],
    },
    /// The first is less before a place along the axis, the second after it.
    Crossover {
        /// The first.
        first: Of,
        /// The second.
        second: Of,
        /// The coordinate along the axis.
        along: &'static str,
        /// From where to where they change places.
        within: [f64; 2],
    },
    /// What each arm is more than a baseline, or each arm itself, grows along the axis in this way.
    Growth {
        /// The arms.
        of: Of,
        /// The baseline.
        over: Option<&'static str>,
        /// The coordinate along the axis.
        along: &'static str,
        /// How.
        grows: Grows,
    },
    /// The first is less than the second from this place along the axis on, and more before it.
    Threshold {
        /// The first.
        of: Of,
        /// The second.
        over: Of,
        /// The coordinate along the axis.
        along: &'static str,
        /// The place.
        from: f64,
    },
}

/// How something grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grows {
    /// Not at all.
    Constant,
    /// Along a straight line.
    Linear,
}

impl Asks {
    /// The first are less than the second.
    pub const fn order(less: Of, more: Of) -> Self {
        Self::Order { less, more }
    }

    /// The first by the second is within a range.
    pub const fn ratio(of: Of, over: Of, within: [f64; 2]) -> Self {
        Self::Ratio { of, over, within }
    }

    /// The value itself is within a range.
    pub const fn value(of: Of, within: [f64; 2]) -> Self {
        Self::Share {
            of,
            among: &[],
            within,
        }
    }

    /// From where to where a number has to lie; nothing, where no number is asked for.
    pub const fn within(&self) -> Option<[f64; 2]> {
        match *self {
            Self::Ratio { within, .. }
            | Self::Share { within, .. }
            | Self::Crossover { within, .. } => Some(within),
            Self::Order { .. } | Self::Growth { .. } | Self::Threshold { .. } => None,
        }
    }

    /// What kind of question it is, in a word.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Order { .. } => "order",
            Self::Ratio { .. } => "ratio",
            Self::Share { .. } => "share",
            Self::Crossover { .. } => "crossover",
            Self::Growth { .. } => "growth",
            Self::Threshold { .. } => "threshold",
        }
    }

    /// The arms that it asks about, with the coordinates that it is asked at.
    pub fn names(&self) -> Vec<Of> {
        match *self {
            Self::Order { less, more } => vec![less, more],
            Self::Ratio { of, over, .. } | Self::Threshold { of, over, .. } => vec![of, over],
            Self::Share { of, among, .. } => vec![
                of,
                Of {
                    arms: among,
                    at: of.at,
                },
            ],
            Self::Crossover { first, second, .. } => vec![first, second],
            Self::Growth { of, .. } => vec![of],
        }
    }
}
