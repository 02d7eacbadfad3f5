//! The values that a conclusion is asked of.
//!
//! The rule kept here: a value without an interval is told apart from nothing, unless it was
//! counted.

use super::super::counted::{self, Order};
use super::super::shown::{At, Series, Shown, Value};
use super::super::{Run, values};
use crate::statistics::NORMAL;
use crate::study::{Conclusion, Estimate, Experiment, Figure, Measure, Shows, Stack, Study};

/// A value of an arm at a point.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Datum {
    /// Who answered.
    pub(super) stack: Stack,
    /// Which arm.
    pub(super) arm: String,
    /// The point's coordinates.
    pub(super) at: At,
    /// The value.
    pub(super) value: f64,
    /// Where it lies with 95 % confidence.
    pub(super) interval: [f64; 2],
}

/// The values that these runs have: of the first arms of the question, and of the second ones.
pub(super) fn of(
    study: &'static Study,
    conclusion: &'static Conclusion,
    runs: &[Run],
) -> [Vec<Datum>; 2] {
    let Some((experiment, figure)) = place(study, conclusion, conclusion.shown_in) else {
        return [Vec::new(), Vec::new()];
    };
    let itself = |figure: &'static Figure, quantity, estimate| {
        let lines = counted::latest(study, experiment, figure.lines_of(), runs);
        let order = Order::of(experiment, figure, &lines);
        let shows = Shows::Itself(quantity, estimate);
        let series = values::series(&Figure { shows, ..*figure }, &lines, &order);
        data(&series, &shows)
    };
    match conclusion.measure {
        Measure::Shown => {
            let shown = Shown::of(study, experiment, figure, runs);
            let all = shown.map(|it| data(&it.series, &figure.shows));
            let all = all.unwrap_or_default();
            [all.clone(), all]
        }
        Measure::Itself(quantity, estimate) => {
            let all = itself(figure, quantity, estimate);
            [all.clone(), all]
        }
        Measure::Beside(quantity, other, beside) => {
            let second = place(study, conclusion, other);
            let second = second.map(|(_, figure)| itself(figure, beside, Estimate::Mean));
            [
                itself(figure, quantity, Estimate::Mean),
                second.unwrap_or_default(),
            ]
        }
    }
}

/// The values that the paper prints in the unit of the figure.
pub(super) fn reported(study: &'static Study, conclusion: &'static Conclusion) -> [Vec<Datum>; 2] {
    let figure = place(study, conclusion, conclusion.shown_in).map(|it| it.1);
    let figure = figure.filter(|figure| match (conclusion.measure, figure.shows) {
        (Measure::Shown, _) => true,
        (Measure::Itself(quantity, estimate), Shows::Itself(of, by)) => {
            (quantity, estimate) == (of, by)
        }
        _ => false,
    });
    let reported = figure.map(|figure| study.reported(figure));
    let reported = reported.unwrap_or_default().into_iter();
    // What is said of many points at once is a value of none of them.
    let of_a_point = reported.filter(|it| it.at.iter().all(|at| !at.1.starts_with('!')));
    let all: Vec<Datum> = of_a_point
        .map(|it| Datum {
            stack: Stack::Soapstone,
            arm: it.arm.to_owned(),
            at: it
                .at
                .iter()
                .map(|(axis, value)| ((*axis).to_owned(), (*value).to_owned()))
                .collect(),
            value: f64::midpoint(it.least, it.most),
            interval: it.range,
        })
        .collect();
    [all.clone(), all]
}

fn place(
    study: &'static Study,
    conclusion: &Conclusion,
    shown_in: &str,
) -> Option<(&'static Experiment, &'static Figure)> {
    let experiment = study.experiment(conclusion.experiment)?;
    Some((experiment, study.figure(conclusion.experiment, shown_in)?))
}

fn data(series: &[Series], shows: &Shows) -> Vec<Datum> {
    let of = series.iter().flat_map(|series| {
        let values = series.values.iter();
        values.map(|value| Datum {
            stack: series.stack,
            arm: series.arm.clone(),
            at: value.at.clone(),
            value: value.value,
            interval: interval(value, series.baseline, shows),
        })
    });
    of.collect()
}

fn interval(value: &Value, is_baseline: bool, shows: &Shows) -> [f64; 2] {
    let (quantity, by, _) = values::shows(shows);
    if quantity.is_counted() || is_baseline {
        return [value.value; 2];
    }
    if by == Estimate::Deviation && value.n > 1 {
        // A deviation of n normal samples deviates by about one part in √(2(n − 1)).
        let apart = NORMAL / (2.0 * (value.n - 1) as f64).sqrt();
        return [-apart, apart].map(|it| value.value * it.exp());
    }
    value.known().unwrap_or([f64::NEG_INFINITY, f64::INFINITY])
}
