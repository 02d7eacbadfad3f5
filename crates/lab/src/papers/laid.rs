//! What of a paper is laid beside a figure of the lab, in the figure's unit.
//!
//! The rule kept here: a value that is computed from printed numbers keeps what their digits leave
//! open.

use super::{Numbers, Tags, Value};
use crate::study::Shows;

/// Numbers of a paper that belong beside a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Laid {
    /// The source they stand in.
    pub source: &'static str,
    /// Tags that they have.
    pub with: Tags,
    /// Coordinates that differ from the paper's, or that it does not name; `!value` is any other
    /// than that value.
    pub at: Tags,
    /// How they become values of the figure.
    pub made: Made,
}

/// How printed numbers become values of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// As they are, in the figure's unit.
    Printed,
    /// By the figure's formula, from those of each arm and those of its baseline.
    Computed,
    /// Added up over all values of this tag.
    Summed(&'static str),
}

impl Laid {
    /// Numbers as they are printed.
    pub(crate) const fn printed(source: &'static str, with: Tags) -> Self {
        Self {
            source,
            with,
            at: &[],
            made: Made::Printed,
        }
    }

    /// The same at other coordinates.
    pub(crate) const fn at(self, at: Tags) -> Self {
        Self { at, ..self }
    }

    /// The same by the figure's formula.
    pub(crate) const fn computed(self) -> Self {
        Self {
            made: Made::Computed,
            ..self
        }
    }

    /// The same, added up over a tag.
    pub(crate) const fn summed(self, over: &'static str) -> Self {
        Self {
            made: Made::Summed(over),
            ..self
        }
    }
}

/// A value that a paper reported, in the unit of a figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Reported {
    /// Of which arm; the names of the figure's arms up to their first `/` match, too. `*` is any
    /// arm.
    pub arm: &'static str,
    /// At which points: those that have all of these coordinates. `!value` is any other than that
    /// value.
    pub at: Vec<(&'static str, &'static str)>,
    /// The value; of a range, its lower end.
    pub least: f64,
    /// The value; of a range, its upper end.
    pub most: f64,
    /// From where to where it may lie by the digits of the paper.
    pub range: [f64; 2],
    /// Where it stands in the paper.
    pub place: String,
}

impl Reported {
    /// The place along an axis that it is of; `None`, if it is of all places, or of all but some.
    pub fn along(&self, axis: &str) -> Option<&'static str> {
        let mut at = self.at.iter().filter(|it| it.0 == axis);
        let found = at.next().map(|it| it.1);
        found.filter(|it| !it.starts_with(['!', '<', '>']))
    }
}

/// What a paper reported of a figure.
pub(crate) fn reported(numbers: &Numbers, laid: &[Laid], shows: &Shows) -> Vec<Reported> {
    laid.iter().flat_map(|it| of(numbers, it, shows)).collect()
}

fn of(numbers: &Numbers, laid: &Laid, shows: &Shows) -> Vec<Reported> {
    let Some(source) = numbers.source(laid.source) else {
        return Vec::new();
    };
    let values: Vec<Value> = source.values().filter(|it| it.has(laid.with)).collect();
    match laid.made {
        Made::Printed => values.iter().map(|it| printed(it, laid, shows)).collect(),
        Made::Computed => values
            .iter()
            .filter_map(|it| computed(it, &values, laid, shows))
            .collect(),
        Made::Summed(over) => summed(&values, over, laid, shows),
    }
}

/// Coordinates of a value beside a figure.
fn at(value: &Value, laid: &Laid) -> Vec<(&'static str, &'static str)> {
    let own = value.at().into_iter();
    let own = own.filter(|it| laid.at.iter().all(|other| other.0 != it.0));
    own.chain(laid.at.iter().copied()).collect()
}

fn printed(value: &Value, laid: &Laid, shows: &Shows) -> Reported {
    let unit = value.tag("unit").unwrap_or_default();
    let shown = |number: f64| in_unit(number, unit, shows);
    Reported {
        arm: value.tag("arm").unwrap_or("*"),
        at: at(value, laid),
        least: shown(value.printed.least),
        most: shown(value.printed.most),
        range: value.printed.range().map(shown),
        place: value.place(),
    }
}

/// A value beside its baseline, by the figure's formula.
fn computed(value: &Value, all: &[Value], laid: &Laid, shows: &Shows) -> Option<Reported> {
    let baseline = shows.baseline()?;
    let arm = value.tag("arm")?;
    let mut same = all.iter().filter(|it| it.at() == value.at());
    let base = same.find(|it| it.tag("arm") == Some(baseline))?;
    if arm == baseline {
        return None;
    }
    let [low, high] = value.printed.range();
    let [base_low, base_high] = base.printed.range();
    let of = |own: f64, base: f64| shows.beside(own, base);
    let (exact, one, other) = (
        of(value.printed.least, base.printed.least)?,
        of(low, base_high)?,
        of(high, base_low)?,
    );
    Some(Reported {
        arm,
        at: at(value, laid),
        least: exact,
        most: exact,
        range: [one.min(other), one.max(other)],
        place: format!("from {}", value.place()),
    })
}

/// Sums of values that differ in one tag only.
fn summed(values: &[Value], over: &str, laid: &Laid, shows: &Shows) -> Vec<Reported> {
    let mut all: Vec<Reported> = Vec::new();
    for value in values {
        let mut one = printed(value, laid, shows);
        one.at.retain(|it| it.0 != over);
        one.place = format!("from {}", value.source.place());
        match all
            .iter_mut()
            .find(|it| (it.arm, &it.at) == (one.arm, &one.at))
        {
            Some(sum) => {
                sum.least += one.least;
                sum.most += one.most;
                sum.range = [sum.range[0] + one.range[0], sum.range[1] + one.range[1]];
            }
            None => all.push(one),
        }
    }
    all
}

/// A printed number as a value of the figure: times are microseconds there, sizes bytes, impacts
/// percent, and by how many percent something is more how many times as much it is.
fn in_unit(number: f64, unit: &str, shows: &Shows) -> f64 {
    match unit {
        "s" => number * 1e6,
        "ms" | "kB" => number * 1e3,
        "MB" => number * 1e6,
        "times" if matches!(shows, Shows::Impact { .. }) => number * 100.0,
        "% more" if matches!(shows, Shows::Factor { .. }) => 1.0 + number / 100.0,
        _ => number,
    }
}
