//! The model of a gamble, beside what was measured of it.
//!
//! The rule kept here: what the model is given was measured in the same run as what it is compared
//! with.

use super::Run;
use super::counted;
use super::number::number;
use super::shown::{Series, Value};
use crate::statistics::Figures;
use crate::study::{Experiment, Gamble, Line, Study};

/// What the series of the model are called.
const ARM: &str = "model";

/// The series of the model beside each series of the arm that gambles, and how they compare, in
/// words. `lines` are those that count of the figure that shows `x` along its axis.
pub(super) fn beside(
    model: &Gamble,
    x: &str,
    series: &[Series],
    lines: &[&Line],
    (study, experiment): (&Study, &Experiment),
    runs: &[Run],
) -> (Vec<Series>, Vec<String>) {
    let parts = counted::latest(study, experiment, model.parts, runs);
    let (mut models, mut notes) = (Vec::new(), Vec::new());
    for gamble in series.iter().filter(|it| it.arm == model.arm) {
        let is_its = |line: &&&Line| {
            line.stack == gamble.stack
                && line.arm == gamble.arm
                && counted::besides(line, x) == gamble.besides
        };
        let run = lines.iter().find(is_its);
        let run = run.and_then(|line| counted::run_of(runs, line));
        let beside = |line: &&&Line| {
            let at = gamble.besides.iter();
            let mut at = at.map(|(axis, value)| (axis.as_str(), value.as_str()));
            line.stack == gamble.stack
                && counted::run_of(runs, line) == run
                && line.at.get(model.at.0).is_some_and(|it| it == model.at.1)
                && at.all(|(axis, value)| line.at.get(axis).is_some_and(|it| it == value))
        };
        let of = |arm: &str| {
            let mut found = parts.iter().filter(beside).filter(|line| line.arm == arm);
            found.next().map(|line| line.figures)
        };
        let name = gamble.full_name();
        let Some((part, rest)) = of(model.canonicalization).zip(of(model.rest)) else {
            notes.push(format!(
                "The model is not drawn for {name}: its run has no lines of {} at {} {}.",
                super::words::places(model.parts),
                model.at.0,
                model.at.1
            ));
            continue;
        };
        let share = Share::of(&part, &rest);
        let values: Vec<Value> = gamble
            .values
            .iter()
            .filter_map(|value| share.cost(value))
            .collect();
        notes.push(told(&name, &share, &gamble.values, &values));
        models.push(Series {
            stack: gamble.stack,
            arm: ARM.to_owned(),
            besides: gamble.besides.clone(),
            baseline: false,
            values,
            blanks: Vec::new(),
        });
    }
    (models, notes)
}

/// The share of canonicalization in the cost of a message: `c`.
struct Share {
    value: f64,
    interval: [f64; 2],
    n: usize,
}

impl Share {
    /// Of medians; from the smallest part beside the largest rest to the largest beside the
    /// smallest.
    fn of(part: &Figures, rest: &Figures) -> Self {
        let share = |part: f64, rest: f64| part / (part + rest);
        let (parts, rests) = (part.median_interval, rest.median_interval);
        Self {
            value: share(part.median, rest.median),
            interval: [share(parts[0], rests[1]), share(parts[1], rests[0])],
            n: part.n,
        }
    }

    /// What the model says beside a value, whose place along the axis is the percentage of
    /// canonical messages.
    fn cost(&self, beside: &Value) -> Option<Value> {
        let canonical = beside.x.parse::<f64>().ok()? / 100.0;
        let cost = |c: f64| 100.0 * (canonical * (1.0 - c) + (1.0 - canonical) * (2.0 - c));
        let [least, most] = self.interval;
        Some(Value {
            at: beside.at.clone(),
            x: beside.x.clone(),
            value: cost(self.value),
            spread: Some([cost(most), cost(least)]),
            floor: None,
            n: self.n,
        })
    }
}

/// Whether the model holds: where the intervals of both overlap.
fn told(name: &str, share: &Share, measured: &[Value], model: &[Value]) -> String {
    let percent = |value: f64| number(100.0 * value);
    let ends = |value: &Value| value.spread.unwrap_or([value.value; 2]);
    let mut places: [Vec<String>; 3] = Default::default();
    for (measured, model) in measured.iter().zip(model) {
        let ([least, most], [low, high]) = (ends(measured), ends(model));
        let place = if most < low {
            0
        } else if least > high {
            2
        } else {
            1
        };
        places[place].push(format!("{} %", measured.x));
    }
    let [below, within, above] = places;
    let mut text = format!(
        "{name}: canonicalization is {} % of a message ({} to {} %): c in the model. By the model the gamble pays from α = 1 − c = {} % \
         canonical messages on ({} to {} %). ",
        percent(share.value),
        percent(share.interval[0]),
        percent(share.interval[1]),
        percent(1.0 - share.value),
        percent(1.0 - share.interval[1]),
        percent(1.0 - share.interval[0])
    );
    text.push_str(&match within.as_slice() {
        [] => "The model holds at no share of canonical messages".to_owned(),
        within => format!(
            "The model holds at {} canonical messages",
            within.join(", ")
        ),
    });
    for (places, what) in [(below, "less"), (above, "more")] {
        if !places.is_empty() {
            text.push_str(&format!(
                "; measured is {what} than it says at {}",
                places.join(", ")
            ));
        }
    }
    text + "."
}
