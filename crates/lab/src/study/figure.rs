//! Studies as data: the paper, its experiments, the figures that show them, and what the paper
//! reported.
//!
//! The rule kept here: what a paper reported is written down with the place in the paper where it
//! stands, or not at all.

use super::conclusion::Conclusion;
use super::line::Quantity;
use super::point::{Point, Scope};
use crate::papers::{Laid, Numbers, Reported, Results, reported};
use crate::{statistics, studies};

/// A study.
pub struct Study {
    /// Its name on the command line.
    pub name: &'static str,
    /// Where it was published; nothing, where the calls are the user's own.
    pub paper: Option<Paper>,
    /// What was measured, in the paper's order.
    pub experiments: &'static [Experiment],
    /// Its headlines.
    pub claims: &'static [Claim],
    /// Its conclusions.
    pub conclusions: &'static [Conclusion],
    /// The numbers that it prints.
    pub numbers: &'static Numbers,
    /// Which of them are results of figures here.
    pub results: &'static [Results],
}

/// Where a study was published.
#[derive(Clone, Copy, Debug)]
pub struct Paper {
    /// Its title.
    pub title: &'static str,
    /// Who wrote it.
    pub authors: &'static str,
    /// Journal, volume, number and page.
    pub published: &'static str,
    /// When.
    pub year: u16,
    /// What it measured.
    pub stack: &'static str,
}

impl Study {
    /// The command that runs the experiment of this number.
    pub fn command(&self, experiment: u8) -> String {
        match self.paper {
            Some(_) => format!("soapstone lab run {}/{experiment}", self.name),
            None if self.name == studies::WSARCH.name => {
                format!("soapstone lab run {}/{experiment}", self.name)
            }
            None if self.name == studies::DESIGN.name => {
                "soapstone lab design --factor NAME=LEVEL,LEVEL".to_owned()
            }
            None => format!("soapstone lab check FILE.toml --experiment {experiment}"),
        }
    }

    /// The experiment of this number.
    pub fn experiment(&self, number: u8) -> Option<&'static Experiment> {
        let mut experiments = self.experiments.iter();
        experiments.find(|experiment| experiment.number == number)
    }

    /// The figure of this name in the experiment of this number.
    pub fn figure(&self, experiment: u8, shown_in: &str) -> Option<&'static Figure> {
        let mut figures = self.experiment(experiment)?.figures.iter();
        figures.find(|figure| figure.shown_in == shown_in)
    }

    /// What its paper reported of a figure, in the figure's unit.
    pub fn reported(&self, figure: &Figure) -> Vec<Reported> {
        reported(self.numbers, figure.reported, &figure.shows)
    }
}

/// An experiment: one question, answered by one or more figures.
pub struct Experiment {
    /// Its number.
    pub number: u8,
    /// What it asks.
    pub question: &'static str,
    /// What shows the answer.
    pub figures: &'static [Figure],
    /// What is measured, in the order of running.
    pub points: fn(&Scope) -> Vec<Point>,
}

/// A figure or table of the paper, and how ours is drawn.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// Which: `figures-5-6`. Points and lines name it.
    pub shown_in: &'static str,
    /// What it shows.
    pub caption: &'static str,
    /// The figure of the same experiment whose lines it shows; `None`, if it has lines of its own.
    pub lines: Option<&'static str>,
    /// The coordinate along its axis: `books`. Points that differ in other coordinates are told
    /// apart by those.
    pub x: &'static str,
    /// The axis is logarithmic.
    pub logarithmic: bool,
    /// What is drawn.
    pub shows: Shows,
    /// What the paper reported in it.
    pub reported: &'static [Laid],
}

/// What a figure draws of the lines at its points.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shows {
    /// The quantity itself.
    Itself(Quantity, Estimate),
    /// The quantity as a percentage of the baseline's at the same point and on the same stack: the
    /// impact of McHale et al.
    Impact {
        /// Which quantity.
        of: Quantity,
        /// Of its samples.
        by: Estimate,
        /// The arm that is 100 %.
        baseline: &'static str,
    },
    /// By how many percent the quantity is larger than the baseline's: the increment of Rodrigues
    /// et al.
    Increment {
        /// Which quantity.
        of: Quantity,
        /// Of its samples.
        by: Estimate,
        /// The arm that is 0 %.
        baseline: &'static str,
    },
    /// How much of the quantity is more than the baseline's, as a percentage of itself: 0 % is no
    /// cost at all, 100 % nothing but cost. The overhead of Shopov and Kakanakov.
    Overhead {
        /// Which quantity.
        of: Quantity,
        /// Of its samples.
        by: Estimate,
        /// The arm that is 0 %.
        baseline: &'static str,
    },
    /// By how much the quantity is larger than the baseline's, in its own unit: the overhead of
    /// Novakouski et al.
    Added {
        /// Which quantity.
        of: Quantity,
        /// Of its samples.
        by: Estimate,
        /// The arm that adds nothing.
        baseline: &'static str,
    },
    /// The quantity as a multiple of that on the same arm's baseline: how many times faster, where
    /// it is a time.
    Factor {
        /// Which quantity.
        of: Quantity,
        /// Of its samples.
        by: Estimate,
        /// The arm whose quantity is divided by each arm's.
        baseline: &'static str,
    },
    /// The quantity itself, of arms that are parts of one whole: they are drawn as one bar. Arms
    /// that are none of the parts stand beside it.
    Parts {
        /// Which quantity.
        of: Quantity,
        /// Of its samples.
        by: Estimate,
        /// The arms that are parts, in the order of drawing.
        parts: &'static [&'static str],
    },
    /// The share of the quantity among arms of the point that are one whole, in percent:
    /// breakdowns. They are drawn as one bar.
    Share {
        /// Which quantity.
        of: Quantity,
        /// Of its samples.
        by: Estimate,
        /// The arms that are the whole; others are not shown.
        among: &'static [&'static str],
    },
    /// The quantity in percent of another quantity of the same arm at the same point: how much of a
    /// message its header is.
    Portion {
        /// Which quantity.
        of: Quantity,
        /// Of which.
        whole: Quantity,
        /// Of the samples of both.
        by: Estimate,
    },
    /// The share of the variation of all samples that each factor explains, alone and with others,
    /// in percent: a design of factors with two levels each, which has one arm at one point for
    /// each combination. What the paper reported names factors instead of arms.
    Allocation {
        /// Of which quantity.
        of: Quantity,
        /// The factors; where there are none, those that lines name: their coordinates, and what
        /// their arms are called by.
        factors: &'static [Factor],
    },
    /// What a model says that the quantity is, beside what it is: both as percentages of the
    /// baseline's, as in [`Shows::Impact`].
    Modelled {
        /// Which quantity.
        of: Quantity,
        /// Of its samples.
        by: Estimate,
        /// The arm that is 100 %.
        baseline: &'static str,
        /// The model.
        model: Gamble,
    },
    /// What is made of the lines of another figure of the same experiment; nothing is measured for
    /// it.
    Drawn {
        /// The figure that has the lines.
        from: &'static str,
        /// What is made of them.
        finding: Finding,
    },
}

/// What follows from the lines of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Finding {
    /// Where along the axis two arms change places, for each two arms of which one is less at
    /// first and the other after that: after how many messages for totals, from which size on for
    /// times and bytes. An arm that is made so is named after both, `sign-encrypt →
    /// secure-conversation`, the one that is less at first before the other.
    Crossovers {
        /// Of which quantity, by its mean.
        of: Quantity,
    },
    /// Where along the axis of the other figure an arm has the least of a quantity, by its mean.
    Least {
        /// Of which quantity.
        of: Quantity,
    },
    /// What is left of the mean times of arms when those of others are taken from them. What is
    /// made so is named after all of them: `encrypt + sign − sign-encrypt`.
    Remainder {
        /// Arms whose times are added; names up to their first `/`.
        plus: &'static [&'static str],
        /// Arms whose times are taken away.
        minus: &'static [&'static str],
    },
    /// By how many percent the mean time, or its increment over that of an arm, is more at one
    /// place along the axis of the other figure than at another.
    Change {
        /// The arm over which increments are compared; times themselves, if there is none.
        over: Option<&'static str>,
        /// The place that is 0 %.
        from: &'static str,
        /// The place that is compared with it.
        to: &'static str,
    },
    /// Where along the axis an arm has as much as another: the break-even of a gamble, where its
    /// cost is that of not gambling.
    Even {
        /// Of which quantity.
        of: Quantity,
        /// The arm.
        arm: &'static str,
        /// The other one.
        beside: &'static str,
    },
    /// By how much time grows with each thousand bytes along the axis.
    Rates,
    /// After how many messages their mean time since deployment is no more than so many percent
    /// above that in the steady state, which is the mean time of those after the first at the
    /// largest count.
    Convergence {
        /// So many percent.
        percent: f64,
    },
    /// The number of the first message since deployment whose time is no more than the mean of all
    /// messages of that deployment: the rule of Novakouski et al. It is asked at the largest
    /// count whose samples are kept.
    FirstBelowMean,
    /// By how many percent the mean of the last ten calls at the largest size is above the least
    /// time at any size: the increase of Novakouski et al.
    Increase,
    /// How much the time of messages after the first spreads: its standard deviation.
    Spread,
}

impl Shows {
    /// The arm that others are compared with.
    pub const fn baseline(&self) -> Option<&'static str> {
        match *self {
            Self::Impact { baseline, .. }
            | Self::Increment { baseline, .. }
            | Self::Overhead { baseline, .. }
            | Self::Added { baseline, .. }
            | Self::Factor { baseline, .. }
            | Self::Modelled { baseline, .. } => Some(baseline),
            _ => None,
        }
    }

    /// The value of an arm beside that of the baseline, by the formula of the figure; `None`, where
    /// there is no baseline.
    pub fn beside(&self, own: f64, baseline: f64) -> Option<f64> {
        Some(match self {
            Self::Impact { .. } | Self::Modelled { .. } => {
                statistics::impact_percent(own, baseline)
            }
            Self::Increment { .. } => statistics::increment_percent(own, baseline),
            Self::Overhead { .. } => 100.0 - 100.0 * baseline / own,
            Self::Added { .. } => own - baseline,
            Self::Factor { .. } => baseline / own,
            _ => return None,
        })
    }
}

/// The model of van Engelen and Zhang for a receiver who gambles that a message came in canonical
/// form, and who canonicalizes it only when its digest is wrong: `cost = α(1 − c) + (1 − α)(2 − c)`
/// of what it costs to canonicalize each message, where α is the share of canonical messages and c
/// the share of canonicalization in the cost of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gamble {
    /// The arm that gambles.
    pub arm: &'static str,
    /// The figure whose lines say what canonicalization costs.
    pub parts: &'static str,
    /// Its coordinate that messages of this size have; the others are those of the point, but for
    /// its axis.
    pub at: (&'static str, &'static str),
    /// Its arm for canonicalization.
    pub canonicalization: &'static str,
    /// Its arm for everything else.
    pub rest: &'static str,
}

impl Figure {
    /// The figure whose lines it shows: itself, or the one that it is drawn from.
    pub const fn lines_of(&self) -> &'static str {
        match (self.shows, self.lines) {
            (Shows::Drawn { from, .. }, _) | (_, Some(from)) => from,
            _ => self.shown_in,
        }
    }

    /// Whether it stands in the paper: it is named after a figure or a table there, or it is the
    /// paper's cost model.
    pub fn is_of_the_paper(&self) -> bool {
        let paper = ["figure", "table", "cost-model"];
        paper.iter().any(|it| self.shown_in.starts_with(it))
    }
}

/// A factor of a design.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Factor {
    /// Its name.
    pub name: &'static str,
    /// Where it is at its high level; everywhere else it is at its low one.
    pub high: Level,
}

/// Where a factor is at a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// In these arms.
    Arms(&'static [&'static str]),
    /// At points with this coordinate.
    At(&'static str, &'static str),
}

/// Which figure of the samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Estimate {
    /// The best, as McHale et al. did.
    Best,
    /// The median.
    Median,
    /// The mean.
    Mean,
    /// The standard deviation.
    Deviation,
}

/// A headline of the paper, and the figure that says whether it holds today.
#[derive(Clone, Copy, Debug)]
pub struct Claim {
    /// What the paper says.
    pub says: &'static str,
    /// The experiment.
    pub experiment: u8,
    /// The figure.
    pub shown_in: &'static str,
    /// The arm.
    pub arm: &'static str,
    /// The points: those that have all of these coordinates.
    pub at: &'static [(&'static str, &'static str)],
    /// The values of the paper, in the unit of the figure.
    pub paper: [f64; 2],
    /// What we want of our own at most (at least, for factors), in the unit of the figure.
    pub goal: Option<f64>,
}
