//! Stacks that were asked for and were not there.
//!
//! The rule kept here: a stack is missing in a figure only if a run that has the figure asked for
//! it, and no run measured it.

use super::shown::Shown;
use super::{Report, Run};
use crate::study::{Absent, Design, OwnCalls, Record, Scale, Scope, Stack};

/// Stacks that were not there when this run was made, each once.
pub(super) fn of(run: &Run) -> Vec<&Absent> {
    let mut all: Vec<&Absent> = Vec::new();
    for record in &run.records {
        if let Record::Absent(it) = record
            && !all.iter().any(|other| other.stack == it.stack)
        {
            all.push(it);
        }
    }
    all
}

/// Stacks that would have taken part in a figure, had they been there.
pub(super) fn in_figure(shown: &Shown<'_>, runs: &[Run]) -> Vec<Stack> {
    let has_figure = |run: &&Run| {
        run.records.iter().any(|record| {
            matches!(record, Record::Line(it) if it.study == shown.study.name
                && it.experiment == shown.experiment.number
                && it.shown_in == shown.figure.lines_of())
        })
    };
    let runs = runs.iter().filter(has_figure);
    let mut stacks: Vec<Stack> = runs.flat_map(of).map(|it| it.stack).collect();
    stacks.sort_unstable();
    stacks.dedup();
    let measured = shown.stacks();
    stacks.retain(|stack| !measured.contains(stack) && takes_part(*stack, shown));
    stacks
}

/// The stacks that are missing in figures of the report, in one sentence; `None`, if none is.
pub(super) fn told(report: &Report<'_>) -> Option<String> {
    let missing = report.shown.iter().map(|it| in_figure(it, report.runs));
    let mut missing: Vec<Stack> = missing.flatten().collect();
    missing.sort_unstable();
    missing.dedup();
    let names: Vec<&str> = missing.iter().map(|it| it.name()).collect();
    (!names.is_empty()).then(|| {
        format!(
            "Absent in all figures, tables and conclusions that they would have taken part in: {}. The runs at the end say why.",
            names.join(", ")
        )
    })
}

/// Whether a stack has an arm in the figure.
fn takes_part(stack: Stack, shown: &Shown<'_>) -> bool {
    let points = (shown.experiment.points)(&Scope {
        scale: Scale::Full,
        stacks: vec![stack],
        databases: Vec::new(),
        own: OwnCalls::default(),
        design: Design::default(),
    });
    let mut points = points
        .iter()
        .filter(|it| it.shown_in == shown.figure.lines_of());
    points.any(|point| point.arms.iter().any(|arm| arm.call.stack == stack))
}
