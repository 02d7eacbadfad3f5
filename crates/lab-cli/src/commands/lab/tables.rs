//! What a run measured, as tables for people: one for each figure, with the times of each arm at
//! each point.
//!
//! The rule kept here: every number is one of a line; what is computed from several is the
//! report's.

use std::fmt::Write as _;

use soapstone_lab::studies;
use soapstone_lab::study::{Experiment, Figure, Figures, LeftOut, Line, Quantity, Record, Study};

use crate::table::{Align, Table};

/// Tables of all figures that the records have lines of.
pub(super) fn all(records: &[Record], emphasis: bool) -> String {
    let mut text = String::new();
    for study in studies::WITH_OWN {
        for experiment in study.experiments {
            for figure in experiment.figures {
                text.push_str(&one(study, experiment, figure, records, emphasis));
            }
        }
    }
    if !text.is_empty() {
        text.push_str(
            "Times are of one call, measured at the client; each answer was checked. `direct` is without gateways, `none` the same way through both\n\
             gateways without security.\n",
        );
    }
    text
}

fn one(
    study: &Study,
    experiment: &Experiment,
    figure: &Figure,
    records: &[Record],
    emphasis: bool,
) -> String {
    let lines = records.iter().filter_map(|record| match record {
        Record::Line(line) => Some(line),
        _ => None,
    });
    let lines: Vec<&Line> = lines
        .filter(|line| {
            line.study == study.name
                && line.experiment == experiment.number
                && line.shown_in == figure.shown_in
        })
        .collect();
    let left_out = records.iter().filter_map(|record| match record {
        Record::LeftOut(it) => Some(it),
        _ => None,
    });
    let left_out: Vec<&LeftOut> = left_out
        .filter(|it| {
            it.study == study.name
                && it.experiment == experiment.number
                && it.shown_in == figure.shown_in
        })
        .collect();
    let mut text = String::new();
    if lines.is_empty() && left_out.is_empty() {
        return text;
    }
    // Writing to a String does not fail.
    let _ = writeln!(
        text,
        "{}/{}, {}: {}\n",
        study.name, experiment.number, figure.shown_in, figure.caption
    );
    let mut table = Table::new([
        ("at", Align::Left),
        ("stack", Align::Left),
        ("arm", Align::Left),
        ("quantity", Align::Left),
        ("n", Align::Right),
        ("best ms", Align::Right),
        ("median ms", Align::Right),
        ("mean ms", Align::Right),
        ("deviation", Align::Right),
    ]);
    let counts = lines.iter().filter(|line| is_of_round(line.quantity));
    let counts: Vec<&Line> = counts.copied().collect();
    for line in lines {
        let is_no_time = matches!(
            line.quantity,
            Quantity::Rate | Quantity::Memory | Quantity::Floor | Quantity::FloorTogether
        );
        if is_no_time || is_of_round(line.quantity) || line.quantity.is_counted() {
            continue;
        }
        let figures = &line.figures;
        let milliseconds = |time: f64| format!("{:.3}", time / 1e3);
        table.row([
            place(line),
            line.stack.to_string(),
            line.arm.clone(),
            line.quantity.name().to_owned(),
            figures.n.to_string(),
            milliseconds(figures.best),
            milliseconds(figures.median),
            milliseconds(figures.mean),
            format!("{:.0} %", figures.stdev / figures.mean * 100.0),
        ]);
    }
    let _ = writeln!(text, "{}", table.emphasized(emphasis));
    for line in counts {
        let (arm, quantity) = (&line.arm, line.quantity.name());
        let Figures { mean, worst, n, .. } = line.figures;
        let _ = writeln!(
            text,
            "{}, {arm}: {quantity} {mean:.2} on average of {n} rounds, {worst:.2} at most",
            place(line)
        );
    }
    for it in left_out {
        let _ = writeln!(
            text,
            "{} {} was left out: {}",
            it.stack, it.arm, it.left_out
        );
    }
    text
}

/// Whether it is a number that a round of calls has, and no time.
fn is_of_round(quantity: Quantity) -> bool {
    matches!(
        quantity,
        Quantity::Lost
            | Quantity::Below
            | Quantity::Met
            | Quantity::Violations
            | Quantity::Unrecorded
    )
}

/// `clients 10, load even`.
fn place(line: &Line) -> String {
    let at = line.at.iter();
    let at: Vec<String> = at.map(|(axis, value)| format!("{axis} {value}")).collect();
    at.join(", ")
}
