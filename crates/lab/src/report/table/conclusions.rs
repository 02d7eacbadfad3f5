//! The table of a study's conclusions, and what is said of it.
//!
//! The rule kept here: a conclusion stands with its place in the paper, and with what in the paper
//! speaks against it.

use super::super::bars::{self, Reached};
use super::super::conclusions::{self, Judged, Kind as Became, Verdict};
use super::super::{Report, words};
use super::{Cell, Kind, Table};
use crate::study::{Conclusion, Stack, Study};

/// The conclusions of a study: one row for each; `None`, if the study was not run.
pub(in super::super) fn conclusions(report: &Report<'_>, study: &Study) -> Option<Table> {
    let judged = of(report, study);
    if judged.is_empty() {
        return None;
    }
    let stacks = stacks(&judged);
    // Ours comes first, so that it is seen on a phone.
    let mut head = vec!["conclusion".to_owned()];
    head.extend(stacks.iter().map(ToString::to_string));
    head.push("the paper's own numbers".to_owned());
    let rows = judged.iter().map(|it| {
        let conclusion = it.conclusion;
        let mut small = format!(
            "{}, {}; asked of experiment {}, {}",
            conclusion.place,
            conclusion.asks.kind(),
            conclusion.experiment,
            conclusion.shown_in
        );
        if !conclusion.but.is_empty() {
            small.push_str(&format!("; but {}", conclusion.but));
        }
        let says = Cell::name(words::sentence(conclusion.says)).with_small(small);
        let mut row = vec![says];
        row.extend(stacks.iter().map(|stack| {
            let found = it.stacks.iter().find(|it| it.0 == *stack);
            let not_measured = || Cell::text(Became::NotMeasured.words());
            found.map_or_else(not_measured, |it| match conclusion.is_goal() {
                true => reached(conclusion, &it.1),
                false => cell(&it.1),
            })
        }));
        row.push(cell(&it.paper));
        row
    });
    let rows = rows.collect();
    Some(Table {
        head: head.into_iter().map(Cell::text).collect(),
        rows,
    })
}

/// How many conclusions became what, in a sentence for each stack.
pub(in super::super) fn counted(report: &Report<'_>, study: &Study) -> Vec<String> {
    let judged = of(report, study);
    let stacks = stacks(&judged).into_iter();
    let sentences = stacks.map(|stack| {
        format!(
            "Of {} conclusions, on {stack}: {}.",
            judged.len(),
            conclusions::counted(&judged, stack)
        )
    });
    sentences.collect()
}

/// What the paper draws and prints no number of; `None`, if there is nothing of that kind.
pub(in super::super) fn drawn(study: &Study) -> Option<String> {
    let drawn = study.numbers.drawn.iter();
    let items: Vec<String> = drawn.map(|it| format!("{} ({})", it.item, it.of)).collect();
    (!items.is_empty()).then(|| format!("The paper only draws: {}.", items.join("; ")))
}

fn of<'r>(report: &'r Report<'_>, study: &Study) -> Vec<&'r Judged> {
    let all = report.judged.iter();
    all.filter(|it| it.study.name == study.name).collect()
}

fn stacks(judged: &[&Judged]) -> Vec<Stack> {
    let all = judged.iter().flat_map(|it| &it.stacks);
    let mut stacks: Vec<Stack> = all.map(|it| it.0).collect();
    stacks.sort_unstable();
    stacks.dedup();
    stacks
}

/// A goal of ours: its bar stands beside the figure.
fn reached(goal: &Conclusion, verdict: &Verdict) -> Cell {
    let kind = match Reached::of(verdict.kind) {
        Reached::Met => Kind::Good,
        Reached::Missed => Kind::Bad,
        Reached::NotToldApart | Reached::NotMeasured => Kind::Text,
    };
    let words = Reached::of(verdict.kind).words();
    let small = format!("{}; the bar: {}", verdict.told, bars::bar(goal));
    Cell::new(kind, words).with_small(small)
}

fn cell(verdict: &Verdict) -> Cell {
    let kind = match verdict.kind {
        Became::Holds => Kind::Good,
        kind if kind.fails() => Kind::Bad,
        _ => Kind::Text,
    };
    Cell::new(kind, verdict.kind.words()).with_small(verdict.told.as_str())
}
