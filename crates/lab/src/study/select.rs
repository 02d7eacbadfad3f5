//! What of the studies is run: points, in which order, and what a bench needs for them.
//!
//! The rule kept here: the order in which points of an experiment are measured is drawn by chance, so that what drifts with time does not
//! look like what grows along an axis.

use std::fmt;
use std::time::Duration;

use super::call::{Call, Operation, Stack};
use super::figure::{Experiment, Study};
use super::line::Record;
use super::order::Order;
use super::point::{How, Point, Scope};

/// A study, or one experiment of it.
#[derive(Clone, Copy)]
pub struct Selection {
    /// The study.
    pub study: &'static Study,
    /// Only the experiment of this number.
    pub experiment: Option<u8>,
}

/// Its name on the command line: `mchale2012` or `mchale2012/3`.
impl fmt::Display for Selection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.study.name)?;
        self.experiment
            .map_or(Ok(()), |number| write!(out, "/{number}"))
    }
}

impl fmt::Debug for Selection {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, out)
    }
}

/// What to run of the selections, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// How much, and on what.
    pub scope: Scope,
    /// Only points whose name has every one of these in it, in whole segments: `books/2500`, `memory`.
    pub filter: Vec<String>,
    /// What orders are drawn with.
    pub seed: u64,
    /// What all of it may take: points are repeated less often where time runs short, though never less than three times.
    pub budget: Option<Duration>,
    /// What was measured before: whole points, which are left out.
    pub measured: Vec<Record>,
}

/// A point to measure.
#[derive(Clone)]
pub struct Task {
    /// Its study.
    pub study: &'static Study,
    /// Its experiment.
    pub experiment: &'static Experiment,
    /// The point; with arms of stacks in the scope only.
    pub point: Point,
}

impl Task {
    /// `mchale2012/4/table-1-figure-14/books/1/source/memory`.
    pub fn name(&self) -> String {
        let mut name = format!(
            "{}/{}/{}",
            self.study.name, self.experiment.number, self.point.shown_in
        );
        for (axis, value) in &self.point.at {
            name.push_str(&format!("/{axis}/{value}"));
        }
        name
    }
}

/// The points that the options let through, in the order of running: by study and experiment, and within one as the seed decides.
pub fn select(selections: &[Selection], options: &Options) -> Vec<Task> {
    let mut order = Order(options.seed);
    let mut tasks = Vec::new();
    for selection in selections {
        for experiment in selection.study.experiments {
            if selection
                .experiment
                .is_some_and(|only| only != experiment.number)
            {
                continue;
            }
            let mut points = (experiment.points)(&options.scope);
            order.shuffle(&mut points);
            tasks.extend(points.into_iter().map(|point| Task {
                study: selection.study,
                experiment,
                point,
            }));
        }
    }
    let stacks = &options.scope.stacks;
    for task in &mut tasks {
        task.point
            .arms
            .retain(|arm| stacks.contains(&arm.call.stack));
    }
    let measured: Vec<&str> = options
        .measured
        .iter()
        .filter_map(|record| match record {
            Record::Done(done) => Some(done.done.as_str()),
            _ => None,
        })
        .collect();
    tasks.retain(|task| {
        let name = task.name();
        let segments = format!("/{name}/");
        let mut wanted = options.filter.iter();
        let has_arms = match task.point.how {
            How::Own(_) => !task.point.arms.is_empty() || stacks.contains(&Stack::Soapstone),
            _ => !task.point.arms.is_empty(),
        };
        has_arms
            && wanted.all(|wanted| segments.contains(&format!("/{wanted}/")))
            && !measured.contains(&name.as_str())
    });
    tasks
}

/// What a bench must have for them: each stack and way with each operation and source, once. How much is asked for does not matter: it is
/// as little as can be.
pub fn needs(tasks: &[Task]) -> Vec<Call> {
    let mut needs = Vec::new();
    let calling = tasks
        .iter()
        .filter(|task| !matches!(task.point.how, How::InMemory { .. }));
    for arm in calling.flat_map(|task| &task.point.arms) {
        let need = small(arm.call);
        if !needs.contains(&need) {
            needs.push(need);
        }
    }
    needs
}

/// The same call, asking for as little as can be: what warms up, and what tells ways apart.
pub(super) fn small(call: Call) -> Call {
    let operation = match call.operation {
        Operation::Books { source, .. } => Operation::Books { source, books: 1 },
        Operation::Echo { .. } => Operation::Echo { characters: 12 },
        Operation::Strings { .. } => Operation::Strings { elements: 1 },
        other @ (Operation::Sum
        | Operation::Employees
        | Operation::Resource
        | Operation::Temperature(_)) => other,
    };
    Call { operation, ..call }
}
