//! What a figure shows of the lines: values by series and point, with their spread, beside what the
//! paper reported.
//!
//! Which lines [count](super::counted) and what [values](super::values) they make is said
//! elsewhere. The rule kept here: whatever the report writes of a figure, as HTML, Markdown, CSV or
//! SVG, it takes from here.

use std::collections::BTreeMap;

use super::Run;
use super::counted::{self, CouldNot, Order};
use super::number::Unit;
use super::{findings, model, values};
use crate::papers::Reported;
use crate::study::{Experiment, Figure, Line, Shows, Stack, Study};

/// Coordinates of a point.
pub(super) type At = BTreeMap<String, String>;

/// A figure with what lines say of it.
pub(super) struct Shown<'r> {
    /// The study.
    pub(super) study: &'static Study,
    /// The experiment.
    pub(super) experiment: &'static Experiment,
    /// The figure.
    pub(super) figure: &'static Figure,
    /// What the paper reported of it, in the unit of its values.
    pub(super) reported: Vec<Reported>,
    /// Values along its axis, in order.
    pub(super) xs: Vec<String>,
    /// What is drawn.
    pub(super) series: Vec<Series>,
    /// Every line of it that counts, in order.
    pub(super) lines: Vec<&'r Line>,
    /// Arms that a stack could not do.
    pub(super) left_out: Vec<CouldNot<'r>>,
    /// What is said of it in words.
    pub(super) notes: Vec<String>,
    /// Of its values.
    pub(super) unit: Unit,
}

/// Values of one arm on one stack, along the axis.
pub(super) struct Series {
    /// Who answered.
    pub(super) stack: Stack,
    /// What was compared.
    pub(super) arm: String,
    /// Coordinates besides the one along the axis.
    pub(super) besides: Vec<(String, String)>,
    /// What all others are compared with: it is 100 %, or 0 %, or 1 everywhere.
    pub(super) baseline: bool,
    /// Values, in the order of the axis.
    pub(super) values: Vec<Value>,
    /// Places along the axis that have no value, and why.
    pub(super) blanks: Vec<(String, String)>,
}

/// One value of a figure.
pub(super) struct Value {
    /// Coordinates.
    pub(super) at: At,
    /// Where it stands along the axis.
    pub(super) x: String,
    /// The value, in the unit that lines have, or percent, or times.
    pub(super) value: f64,
    /// Its 95 % confidence interval; of a best time, up to where the median would be.
    pub(super) spread: Option<[f64; 2]>,
    /// The floor: the value if only the cryptographic operations took time.
    pub(super) floor: Option<f64>,
    /// How many samples it is made of.
    pub(super) n: usize,
}

impl Series {
    /// `sign-encrypt/Basic256, sqlite`: without the stack.
    pub(super) fn name(&self) -> String {
        let besides = self.besides.iter().map(|(_, value)| value.as_str());
        let mut name = vec![self.arm.as_str()];
        name.extend(besides);
        name.join(", ")
    }

    /// With the stack.
    pub(super) fn full_name(&self) -> String {
        format!("{} · {}", self.name(), self.stack)
    }
}

impl Value {
    /// `books 2500, source memory`.
    pub(super) fn place(&self) -> String {
        place(&self.at)
    }

    /// Its interval, where one is known: one sample has none.
    pub(super) fn known(&self) -> Option<[f64; 2]> {
        self.spread.filter(|_| self.n > 1)
    }
}

/// `books 2500, source memory`.
pub(super) fn place(at: &At) -> String {
    let parts: Vec<String> = at
        .iter()
        .map(|(axis, value)| format!("{axis} {value}"))
        .collect();
    parts.join(", ")
}

/// Whether something that the paper says of `named` is said of this arm: of the arm itself, of what
/// stands before its first `/`, or of any.
pub(super) fn is_arm(named: &str, arm: &str) -> bool {
    named == "*" || named == arm || arm.split('/').next() == Some(named)
}

/// Whether a point has all of these coordinates: `!value` is any other than that value, `<number`
/// and `>number` are less and more.
pub(super) fn is_at(wanted: &[(&str, &str)], at: &At) -> bool {
    wanted
        .iter()
        .all(|(axis, value)| at.get(*axis).is_some_and(|it| is_value(value, it)))
}

fn is_value(wanted: &str, found: &str) -> bool {
    let numbers = || Some((found.parse::<f64>().ok()?, wanted[1..].parse::<f64>().ok()?));
    match wanted.as_bytes().first() {
        Some(b'!') => found != &wanted[1..],
        Some(b'<') => numbers().is_some_and(|(found, most)| found < most),
        Some(b'>') => numbers().is_some_and(|(found, least)| found > least),
        _ => found == wanted,
    }
}

impl Reported {
    /// Whether it is about this arm at this point.
    pub(super) fn is_of(&self, arm: &str, at: &At) -> bool {
        is_arm(self.arm, arm) && is_at(&self.at, at)
    }
}

impl<'r> Shown<'r> {
    /// The figure with the lines of these runs; `None`, if they have none of it.
    pub(super) fn of(
        study: &'static Study,
        experiment: &'static Experiment,
        figure: &'static Figure,
        runs: &'r [Run],
    ) -> Option<Self> {
        let lines = counted::latest(study, experiment, figure.lines_of(), runs);
        let left_out = counted::left_out(study, experiment, figure.shown_in, runs);
        if lines.is_empty() && left_out.is_empty() {
            return None;
        }
        let from = study.figure(experiment.number, figure.lines_of())?;
        let order = Order::of(experiment, from, &lines);
        let mut shown = Self {
            study,
            experiment,
            figure,
            reported: study.reported(figure),
            xs: order.xs.clone(),
            series: Vec::new(),
            lines,
            left_out,
            notes: Vec::new(),
            unit: Unit::of(&figure.shows, 0.0),
        };
        if let Shows::Drawn { finding, .. } = figure.shows {
            let found = findings::found(finding, figure.x, from, &shown.lines, &order);
            (shown.series, shown.notes) = (found.series, found.notes);
            shown.xs = shown.along();
            // They stand below the figure that has them.
            shown.lines.clear();
        } else {
            shown.series = values::series(figure, &shown.lines, &order);
        }
        if let Shows::Modelled { model, .. } = &figure.shows {
            let of = (study, experiment);
            let (series, notes) =
                model::beside(model, figure.x, &shown.series, &shown.lines, of, runs);
            shown.series.extend(series);
            shown.notes = notes;
        }
        shown.lines.sort_by_cached_key(|line| order.line(line));
        shown.unit = Unit::of(&figure.shows, shown.most());
        Some(shown)
    }

    /// Where series have values or say why they have none: numbers ascending, names in the order of
    /// the series.
    fn along(&self) -> Vec<String> {
        let mut xs = Vec::new();
        for series in &self.series {
            let values = series.values.iter().map(|it| &it.x);
            for x in values.chain(series.blanks.iter().map(|it| &it.0)) {
                if !x.is_empty() && !xs.contains(x) {
                    xs.push(x.clone());
                }
            }
        }
        if xs.iter().all(|x| x.parse::<f64>().is_ok()) {
            xs.sort_by(|one, other| {
                let number = |x: &String| x.parse().unwrap_or(0.0);
                f64::total_cmp(&number(one), &number(other))
            });
        }
        xs
    }

    /// The largest value, or that of the paper, if there is no other: times of other machines would
    /// leave ours without digits.
    fn most(&self) -> f64 {
        let values = self.series.iter().flat_map(|it| &it.values);
        let own = values.map(|it| it.value).fold(0.0, f64::max);
        let paper = self.reported.iter().map(|it| it.most);
        if own > 0.0 {
            own
        } else {
            paper.fold(0.0, f64::max)
        }
    }

    /// `mchale2012-1-figures-5-6`.
    pub(super) fn file_name(&self) -> String {
        format!(
            "{}-{}-{}",
            self.study.name, self.experiment.number, self.figure.shown_in
        )
    }

    /// Stacks that it has values of, ours first.
    pub(super) fn stacks(&self) -> Vec<Stack> {
        let mut stacks: Vec<Stack> = self.series.iter().map(|it| it.stack).collect();
        stacks.sort_unstable();
        stacks.dedup();
        stacks
    }

    /// What the paper reported of this arm at this point.
    pub(super) fn reported(&self, arm: &str, at: &At) -> Option<&Reported> {
        let mut reported = self.reported.iter();
        reported.find(|it| it.is_of(arm, at))
    }
}
