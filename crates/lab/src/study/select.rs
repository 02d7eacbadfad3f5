//! What of the studies is run: points, in which order, and what a bench needs for them.
//!
//! The rule kept here: the order in which points of an experiment are measured is drawn by chance,
//! so that what drifts with time does not look like what grows along an axis.

use std::fmt;
use std::time::Duration;

use super::call::{Call, Operation, Stack};
use super::figure::{Experiment, Study};
use super::line::Record;
use super::order::Order;
use super::point::{Point, Procedure, Scale, Scope};
use crate::segments;

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
    /// Only points whose name has every one of these in it, in whole segments: `books/2500`,
    /// `memory`.
    pub filter: Vec<String>,
    /// Only points that a headline claim is told of.
    pub claims: bool,
    /// What orders are drawn with.
    pub seed: u64,
    /// What all of it may take: points are repeated less often where time runs short, though never
    /// less than three times.
    pub budget: Option<Duration>,
    /// What the repetitions of an arm may take at a point: one that has used it up is repeated
    /// less often, though never less than twice.
    pub arm_budget: Option<Duration>,
    /// What was measured before: whole points, which are left out.
    pub measured: Vec<Record>,
}

#[cfg(test)]
impl Options {
    /// Ours at a glance, with two databases and as long as it takes.
    pub(super) fn at_a_glance(filter: &[&str]) -> Self {
        Self {
            scope: Scope {
                scale: Scale::Quick,
                stacks: vec![Stack::Soapstone],
                databases: vec!["sqlite".to_owned(), "postgres".to_owned()],
                own: super::point::OwnCalls::default(),
                design: super::design::Design::default(),
            },
            filter: filter.iter().map(|it| (*it).to_owned()).collect(),
            claims: false,
            seed: 1,
            budget: None,
            arm_budget: None,
            measured: Vec::new(),
        }
    }
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

    /// Whether a headline claim of the study is told of it.
    fn has_a_claim(&self) -> bool {
        let experiment = self.experiment.number;
        let mut claims = self.study.claims.iter();
        claims.any(|claim| {
            let figure = self.study.figure(experiment, claim.shown_in);
            claim.experiment == experiment
                && figure.is_some_and(|figure| figure.lines_of() == self.point.shown_in)
                && claim
                    .at
                    .iter()
                    .all(|(axis, value)| self.point.at.get(axis).is_some_and(|it| it == value))
        })
    }
}

/// All points of the selections at this scope, with arms of its stacks only, in the order of the
/// study.
fn points(selections: &[Selection], scope: &Scope) -> Vec<Vec<Task>> {
    let mut experiments = Vec::new();
    for selection in selections {
        let chosen = |it: &&Experiment| selection.experiment.is_none_or(|only| only == it.number);
        for experiment in selection.study.experiments.iter().filter(chosen) {
            let points = (experiment.points)(scope).into_iter();
            let task = |mut point: Point| {
                point
                    .arms
                    .retain(|arm| scope.stacks.contains(&arm.call.stack));
                Task {
                    study: selection.study,
                    experiment,
                    point,
                }
            };
            experiments.push(points.map(task).collect());
        }
    }
    experiments
}

/// Whether a stack of the scope does anything there.
fn has_arms(task: &Task, scope: &Scope) -> bool {
    let own = matches!(task.point.procedure, Procedure::Own(_));
    !task.point.arms.is_empty() || own && scope.stacks.contains(&Stack::Soapstone)
}

/// The points that the options let through, in the order of running: by study and experiment, and
/// within one as the seed decides.
pub fn select(selections: &[Selection], options: &Options) -> Vec<Task> {
    let mut order = Order(options.seed);
    let mut experiments = points(selections, &options.scope);
    for tasks in &mut experiments {
        order.shuffle(tasks);
    }
    let mut tasks = experiments.concat();
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
        let mut wanted = options.filter.iter();
        has_arms(task, &options.scope)
            && (!options.claims || task.has_a_claim())
            && wanted.all(|wanted| segments::has(&name, wanted))
            && !measured.contains(&name.as_str())
    });
    tasks
}

/// Why the options let no point through that was not measured before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Nothing {
    /// No name has these segments.
    Unknown {
        /// What was asked for.
        wanted: String,
        /// What is nearest to it in names, the nearest first; empty, where there is nothing like
        /// it.
        near: Vec<String>,
        /// Whether names have it at the other [`Scale`].
        at_other_scale: bool,
    },
    /// Each filter is in some name, and no name has all.
    Apart,
    /// No headline claim is told of the points.
    NoClaims,
    /// None of the stacks does anything at the points.
    NoArms,
}

/// Why [`select`] gives nothing, where nothing was measured before.
pub fn why_nothing(selections: &[Selection], options: &Options) -> Nothing {
    let tasks = |scale| {
        let scope = Scope {
            scale,
            ..options.scope.clone()
        };
        points(selections, &scope).concat()
    };
    let names = |scale| -> Vec<String> { tasks(scale).iter().map(Task::name).collect() };
    let scale = options.scope.scale;
    let there = names(scale);
    let has = |names: &[String], wanted: &str| names.iter().any(|it| segments::has(it, wanted));
    let mut wanted = options.filter.iter();
    if let Some(wanted) = wanted.find(|wanted| !has(&there, wanted)) {
        let other = match scale {
            Scale::Quick => Scale::Full,
            Scale::Full => Scale::Quick,
        };
        return Nothing::Unknown {
            wanted: wanted.clone(),
            near: segments::near(&there, wanted),
            at_other_scale: has(&names(other), wanted),
        };
    }
    let mut left = tasks(scale);
    left.retain(|task| {
        let name = task.name();
        options.filter.iter().all(|it| segments::has(&name, it))
    });
    if left.is_empty() {
        return Nothing::Apart;
    }
    left.retain(|task| !options.claims || task.has_a_claim());
    if left.is_empty() {
        return Nothing::NoClaims;
    }
    Nothing::NoArms
}

/// What a bench must have for them: each stack and way with each operation and source, once. How
/// much is asked for does not matter: it is as little as can be.
pub fn needs(tasks: &[Task]) -> Vec<Call> {
    let mut needs = Vec::new();
    let calling = tasks
        .iter()
        .filter(|task| !matches!(task.point.procedure, Procedure::InMemory { .. }));
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
        | Operation::OneEmployee
        | Operation::Resource
        | Operation::Temperature(_)
        | Operation::Own(_)) => other,
    };
    Call { operation, ..call }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::studies;

    fn of_claims(filter: &[&str]) -> Options {
        Options {
            claims: true,
            ..Options::at_a_glance(filter)
        }
    }

    fn all() -> Vec<Selection> {
        let studies = studies::ALL.iter();
        let all = studies.map(|study| Selection {
            study,
            experiment: None,
        });
        all.collect()
    }

    #[test]
    fn points_of_claims_are_those_that_the_claims_name_and_no_others() {
        let tasks = select(&all(), &of_claims(&[]));
        let mut names: Vec<String> = tasks.iter().map(Task::name).collect();
        names.sort();
        let expected = [
            "mchale2012/1/figures-5-6/books/25000",
            "mchale2012/3/figures-12-13/books/50",
            "mchale2012/4/beyond-databases/source/sqlite",
            "mchale2012/4/table-1-figure-14/books/20000/source/sqlite",
            "mchale2012/5/tokens/bytes/800",
            "novakouski2010/1/tables-1-2/operation/Echo",
            "rodrigues2011/1/tables-2-5/clients/10",
            "rodrigues2011/1/tables-2-5/clients/5",
            "rodrigues2011/3/beyond-clients/clients/10",
            "shopov2007/3/table-2/call/getTemperature",
            "vanengelen2008/2/figure-3-share/proof/hmac-sha1",
            "vanengelen2008/3/figure-4/elements/1000",
            "vanengelen2008/4/figure-5/elements/1000/signed/elements",
        ];
        assert_eq!(names, expected);
    }

    #[test]
    fn points_without_a_claim_say_so() {
        let why = |filter| why_nothing(&all(), &of_claims(filter));
        assert_eq!(why(&["figures-7-8"]), Nothing::NoClaims);
        assert_eq!(why(&["figures-7-8", "Echo"]), Nothing::Apart);
    }
}
