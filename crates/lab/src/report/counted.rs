//! Which lines count, and in which order.
//!
//! The rule kept here: what is compared was measured in the same run, at the same point, on the
//! same stack.

use std::collections::BTreeMap;

use super::Run;
use crate::study::{
    Arm, Design, Experiment, Figure, Line, OwnCalls, Quantity, Record, Scale, Scope, Stack, Study,
};

/// Lines of a figure: those of the last run that has the point with that stack, so that none is
/// compared with another run's.
pub(super) fn latest<'r>(
    study: &Study,
    experiment: &Experiment,
    shown_in: &str,
    runs: &'r [Run],
) -> Vec<&'r Line> {
    let mut last: BTreeMap<(&BTreeMap<_, _>, Stack), (usize, Vec<&Line>)> = BTreeMap::new();
    for (run, record) in records(runs) {
        let Record::Line(line) = record else { continue };
        if !is_of(
            (study, experiment, shown_in),
            (&line.study, line.experiment, &line.shown_in),
        ) {
            continue;
        }
        let entry = last
            .entry((&line.at, line.stack))
            .or_insert_with(|| (run, Vec::new()));
        if entry.0 != run {
            *entry = (run, Vec::new());
        }
        // A point that was begun twice in one run counts as it was measured last.
        entry
            .1
            .retain(|it| (&it.arm, it.quantity) != (&line.arm, line.quantity));
        entry.1.push(line);
    }
    last.into_values().flat_map(|(_, lines)| lines).collect()
}

/// What a stack could not do, and why.
pub(super) struct CouldNot<'r> {
    pub(super) stack: Stack,
    /// Each once.
    pub(super) arms: Vec<&'r str>,
    pub(super) why: &'r str,
}

/// Arms that a stack could not do: each reason of a stack once.
pub(super) fn left_out<'r>(
    study: &Study,
    experiment: &Experiment,
    shown_in: &str,
    runs: &'r [Run],
) -> Vec<CouldNot<'r>> {
    let mut all: Vec<CouldNot<'r>> = Vec::new();
    for (_, record) in records(runs) {
        let Record::LeftOut(it) = record else {
            continue;
        };
        if !is_of(
            (study, experiment, shown_in),
            (&it.study, it.experiment, &it.shown_in),
        ) {
            continue;
        }
        let same = |other: &&mut CouldNot<'_>| (other.stack, other.why) == (it.stack, &it.left_out);
        match all.iter_mut().find(same) {
            Some(told) if told.arms.contains(&it.arm.as_str()) => {}
            Some(told) => told.arms.push(&it.arm),
            None => all.push(CouldNot {
                stack: it.stack,
                arms: vec![&it.arm],
                why: &it.left_out,
            }),
        }
    }
    all
}

fn records(runs: &[Run]) -> impl Iterator<Item = (usize, &Record)> {
    let runs = runs.iter().enumerate();
    runs.flat_map(|(number, run)| run.records.iter().map(move |record| (number, record)))
}

fn is_of(
    (study, experiment, shown_in): (&Study, &Experiment, &str),
    found: (&str, u8, &str),
) -> bool {
    (study.name, experiment.number, shown_in) == found
}

/// Which run left this line of theirs.
pub(super) fn run_of(runs: &[Run], line: &Line) -> Option<usize> {
    let mut all = records(runs);
    let found =
        all.find(|(_, record)| matches!(record, Record::Line(it) if std::ptr::eq(it, line)));
    found.map(|it| it.0)
}

/// The order of everything in a figure: that of the study, as lines are in the order of a run,
/// which is drawn by chance.
pub(super) struct Order {
    x: &'static str,
    /// Values along the axis.
    pub(super) xs: Vec<String>,
    arms: Vec<String>,
    besides: Vec<(String, String)>,
}

impl Order {
    /// Of these lines.
    pub(super) fn of(experiment: &Experiment, figure: &Figure, lines: &[&Line]) -> Self {
        let databases = lines.iter().filter_map(|it| it.at.get("source"));
        let mut databases: Vec<String> = databases.filter(|it| *it != "memory").cloned().collect();
        databases.sort_unstable();
        databases.dedup();
        let mut order = Self {
            x: figure.x,
            xs: Vec::new(),
            arms: Vec::new(),
            besides: Vec::new(),
        };
        for scale in [Scale::Full, Scale::Quick] {
            let points = (experiment.points)(&Scope {
                scale,
                stacks: Stack::ALL.to_vec(),
                databases: databases.clone(),
                own: OwnCalls::default(),
                design: Design::default(),
            });
            for point in points.iter().filter(|it| it.shown_in == figure.shown_in) {
                let at = point.at.iter();
                order.note(at.map(|(axis, value)| (*axis, value.as_str())));
                order.note_arms(point.arms.iter().map(|Arm { name, .. }| name.as_str()));
            }
        }
        for line in lines {
            order.note(
                line.at
                    .iter()
                    .map(|(axis, value)| (&**axis, value.as_str())),
            );
            order.note_arms([line.arm.as_str()].into_iter());
        }
        let present = |x: &String| lines.iter().any(|it| it.at.get(figure.x) == Some(x));
        order.xs.retain(present);
        if order.xs.iter().all(|x| x.parse::<f64>().is_ok()) {
            let number = |x: &String| x.parse().unwrap_or(0.0);
            order
                .xs
                .sort_by(|one, other| f64::total_cmp(&number(one), &number(other)));
        }
        order
    }

    fn note<'a>(&mut self, at: impl Iterator<Item = (&'a str, &'a str)>) {
        for (axis, value) in at {
            if axis == self.x {
                if !self.xs.iter().any(|it| it == value) {
                    self.xs.push(value.to_owned());
                }
            } else if !self.besides.iter().any(|it| it.0 == axis && it.1 == value) {
                self.besides.push((axis.to_owned(), value.to_owned()));
            }
        }
    }

    fn note_arms<'a>(&mut self, arms: impl Iterator<Item = &'a str>) {
        for arm in arms {
            if !self.arms.iter().any(|it| it == arm) {
                self.arms.push(arm.to_owned());
            }
        }
    }

    /// The place of a value along the axis.
    pub(super) fn x(&self, x: &str) -> usize {
        place_of(&self.xs, |it| it == x)
    }

    /// The place of a series.
    pub(super) fn series(
        &self,
        besides: &[(String, String)],
        arm: &str,
        stack: Stack,
    ) -> (Vec<usize>, usize, Stack) {
        let besides = besides
            .iter()
            .map(|one| place_of(&self.besides, |it| it == one))
            .collect();
        (besides, place_of(&self.arms, |it| it == arm), stack)
    }

    /// The place of a line.
    pub(super) fn line(&self, line: &Line) -> (Vec<usize>, usize, usize, Stack, Quantity) {
        let (besides, arm, stack) = self.series(&besides(line, self.x), &line.arm, line.stack);
        (
            besides,
            self.x(along(line, self.x)),
            arm,
            stack,
            line.quantity,
        )
    }
}

fn place_of<T>(all: &[T], is: impl FnMut(&T) -> bool) -> usize {
    all.iter().position(is).unwrap_or(all.len())
}

/// Coordinates besides the one along the axis.
pub(super) fn besides(line: &Line, x: &str) -> Vec<(String, String)> {
    let at = line.at.iter().filter(|(axis, _)| **axis != x);
    at.map(|(axis, value)| (axis.to_string(), value.clone()))
        .collect()
}

/// Where a line stands along the axis.
pub(super) fn along<'l>(line: &'l Line, x: &str) -> &'l str {
    line.at.get(x).map_or("", String::as_str)
}
