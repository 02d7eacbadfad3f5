//! `soapstone lab run STUDY`: published studies, run again on services and gateways of our own, and
//! on other stacks.
//!
//! The rule kept here: what was measured before a run ended, however it ended, is printed.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use soapstone_lab::studies::InMemory;
use soapstone_lab::study::{
    self, Absent, Call, Design, Event, Nothing, Options, OwnCalls, Record, Scale, Scope, Selection,
    Stack, Study, Task,
};
use soapstone_services::{DatabaseError, DatabaseLocation};
use tracing::Level;

use super::applicable_options::OF_STUDIES;
use super::bench::{
    Gateways, OwnCall, OwnServices, Programs, Sides, Stacks, StopSignal, is_ours, layout,
};
use super::cores::Cores;
use super::databases::Databases;
use super::issuers::Issuers;
use super::kept::{Asked, Kept};
use super::open_files;
use super::process_log::ProcessLog;
use super::report::RESULTS;
use super::tables;
use crate::failure::Failure;
use crate::logging::LogArguments;
use crate::progress::Progress;
use crate::testbed::{Network, Place, Scratch};
use crate::{files, runtime};

/// What orders are drawn with, unless something else is asked for.
const SEED: u64 = 2012;
/// What everything may take at a glance, for each stack.
const GLANCE: Duration = Duration::from_secs(270);
/// What an arm may take at a point at a glance, beyond two repetitions: ours need less, others take
/// seconds for a call with large answers.
const GLANCE_AT_AN_ARM: Duration = Duration::from_secs(3);

/// What only studies take.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = OF_STUDIES)]
pub(super) struct StudyArguments {
    /// Only this experiment; the same as STUDY/N
    #[arg(long, value_name = "N")]
    experiment: Option<u8>,
    /// Repeat as often as the papers did; the default
    #[arg(long, conflicts_with = "quick")]
    full: bool,
    /// Only points that a headline claim of a paper, or a goal of ours, is told of
    #[arg(long)]
    claims: bool,
    /// What orders are drawn with
    #[arg(long, value_name = "N", default_value_t = SEED)]
    seed: u64,
    /// Databases to compare with memory: sqlite:PATH, mysql://… or postgres://…, one of a kind; if
    /// none is given, SQLite, and MariaDB and PostgreSQL where they are installed, in a
    /// scratch folder
    #[arg(long, value_name = "URL",
        value_parser = |text: &str| text.parse::<DatabaseLocation>().map_err(|error: DatabaseError| error.to_string()))]
    database: Vec<DatabaseLocation>,
    /// Stacks to measure: soapstone, tls (the services behind TLS alone), cxf, gsoap, metro,
    /// wcf, wss4j, xmlsec1; separated by commas
    #[arg(
        long,
        value_name = "STACKS",
        value_delimiter = ',',
        default_value = "soapstone"
    )]
    stack: Vec<Stack>,
    /// The folder with the programs of other stacks, each NAME/run
    #[arg(
        long,
        value_name = "FOLDER",
        env = "SOAPSTONE_STACKS",
        default_value = "interop/stacks"
    )]
    stacks: PathBuf,
    /// Keep lines and a manifest in this folder instead of a new one in lab-results; a run that
    /// was stopped goes on where it was
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
    /// Cores for the clients; services and gateways have the others, and 0 lets everything run on
    /// all. One in four, if nothing is said
    #[arg(long, value_name = "N")]
    client_cores: Option<usize>,
    /// Run the sample services and each gateway in a process of its own, as they are where they
    /// are deployed, instead of in this one
    #[arg(long)]
    own_processes: bool,
}

/// The study, and what of it is there to run.
pub(super) fn list(study: &'static Study) -> String {
    let mut text = format!("{}: ", study.name);
    if let Some(paper) = &study.paper {
        text.push_str(&format!(
            "{}: {}. {}, {}; on {}\n",
            paper.authors, paper.title, paper.published, paper.year, paper.stack
        ));
    } else {
        text.push_str("a broker in front of providers, beside nginx and HAProxy\n");
    }
    let scope = Scope {
        scale: Scale::Full,
        stacks: vec![Stack::Soapstone],
        databases: Databases::OWN.map(str::to_owned).to_vec(),
        own: OwnCalls::default(),
        design: Design::default(),
    };
    let glance = Scope {
        scale: Scale::Quick,
        ..scope.clone()
    };
    for experiment in study.experiments {
        let number = experiment.number;
        text.push_str(&format!(
            "  {}/{number}: {}\n",
            study.name, experiment.question
        ));
        let names = |scope| -> Vec<String> {
            let points = (experiment.points)(scope).into_iter();
            let task = |point| Task {
                study,
                experiment,
                point,
            };
            points.map(|point| task(point).name()).collect()
        };
        let (full, quick) = (names(&scope), names(&glance));
        for name in &full {
            let only = if quick.contains(name) {
                ""
            } else {
                " (without --quick)"
            };
            text.push_str(&format!("    {name}{only}\n"));
        }
        for name in quick.iter().filter(|name| !full.contains(name)) {
            text.push_str(&format!("    {name} (with --quick)\n"));
        }
    }
    text
}

/// The user's own calls, or his design of factors; none, where studies of papers are run.
#[derive(Default)]
pub(super) struct Own {
    /// What is measured, and how often.
    pub(super) asked: OwnCalls,
    /// The calls.
    pub(super) calls: Vec<OwnCall>,
    /// A design of factors.
    pub(super) design: Design,
    /// What all of it is, as a digest.
    pub(super) digest: Option<String>,
}

impl StudyArguments {
    /// Those of a run of the user's own calls.
    pub(super) fn of_own_calls(
        experiment: Option<u8>,
        keep: Option<PathBuf>,
        client_cores: Option<usize>,
    ) -> Self {
        Self {
            experiment,
            full: true,
            claims: false,
            seed: SEED,
            database: Vec::new(),
            stack: vec![Stack::Soapstone],
            stacks: PathBuf::new(),
            keep,
            client_cores,
            own_processes: false,
        }
    }
}

/// What of the studies to run, and how.
pub(super) struct Run<'a> {
    /// The studies, or one experiment of one.
    pub(super) selections: Vec<Selection>,
    /// Arguments of studies.
    pub(super) arguments: &'a StudyArguments,
    /// Segments that names of points must have.
    pub(super) filter: &'a [String],
    /// A glance.
    pub(super) quick: bool,
    /// Lines of JSON instead of tables.
    pub(super) json: bool,
    /// What is logged.
    pub(super) log: LogArguments,
    /// The user's own calls.
    pub(super) own: &'a Own,
}

impl Run<'_> {
    /// Runs it, and tells where its lines are kept.
    ///
    /// # Errors
    /// There is nothing to run, something cannot be started, or an answer is wrong.
    pub(super) fn start(&self) -> Result<PathBuf, Failure> {
        let selections = self.selections()?;
        let named = Databases::named(&self.arguments.database)?;
        let mut options = self.options(match self.arguments.database.as_slice() {
            [] => Databases::OWN.map(str::to_owned).to_vec(),
            _ => named.names(),
        });
        let tasks = study::select(&selections, &options);
        if tasks.is_empty() {
            return Err(nothing(&selections, &options));
        }
        let cores = Cores::apart(self.arguments.client_cores)?;
        // Whatever is wrong with the arguments has been told: now to what takes time.
        // From here on a signal ends the run, and the folder with its keys.
        let runtime = runtime::multi_threaded()?;
        let wish = StopSignal::listen(&runtime);
        let scratch = Scratch::make("lab")?;
        let mut databases = if self.arguments.database.is_empty() {
            Databases::of_our_own(scratch.folder())
        } else {
            named
        };
        open_files::allow();
        let process_log = ProcessLog::default();
        let (programs, absent) = self.programs(&wish, &process_log)?;
        let is_there = |stack: &Stack| absent.iter().all(|it| it.stack != *stack);
        options.scope.stacks.retain(is_there);
        if options.scope.stacks.is_empty() {
            return Err(Failure::new("none of the stacks to measure is there"));
        }
        start(&mut databases, &tasks);
        let subjects = selections.iter().map(Selection::to_string).collect();
        let there = (&programs.versions(), databases.there());
        let asked = Asked::new(
            subjects,
            &options,
            there,
            (cores.clone(), self.arguments.own_processes),
        )?
        .with_own_calls(self.own.digest.clone());
        let mut kept = match &self.arguments.keep {
            Some(folder) => Kept::open(folder, &asked)?,
            None => Kept::newest(RESULTS.as_ref(), &asked, &|measured| {
                let measured = measured.to_vec();
                let options = Options {
                    measured,
                    ..options.clone()
                };
                !study::select(&selections, &options).is_empty()
            })?,
        };
        options.measured = std::mem::take(&mut kept.measured);
        let folder = kept.folder().to_owned();
        let goes_on = if options.measured.is_empty() {
            "keeping lines in"
        } else {
            "going on in"
        };
        // A message that cannot be shown does not stop a measurement.
        let _ = writeln!(std::io::stderr(), "{goes_on} {}", folder.display());
        self.log
            .start_in(process_log.keep(kept.folder())?, Level::WARN);
        let mut all = options.measured.clone();
        let mut left_out = false;
        let mut told = |records: &[Record]| {
            all.extend_from_slice(records);
            left_out |= records
                .iter()
                .any(|record| matches!(record, Record::LeftOut(_)));
            let lines = lines(records)?;
            kept.keep(&lines)?;
            if self.json {
                files::print(lines)?;
            }
            Ok(())
        };
        let absent: Vec<Record> = absent.into_iter().map(Record::Absent).collect();
        let new = |record: &&Record| !options.measured.contains(record);
        told(&absent.iter().filter(new).cloned().collect::<Vec<_>>())?;
        let tasks = study::select(&selections, &options);
        let run = if tasks.is_empty() {
            Ok(())
        } else {
            let started = Started {
                sides: &Sides::new(cores)?,
                wish,
                scratch: &scratch,
                programs,
                databases: &databases,
                process_log: &process_log,
                own_processes: self.arguments.own_processes,
                own: &self.own.calls,
            };
            started.measure(&tasks, &options, &mut told)
        };
        if !self.json {
            files::print(tables::all(&all, std::io::stdout().is_terminal()))?;
        }
        if (run.is_err() || left_out)
            && let Some(path) = process_log.heard()
        {
            // A message that cannot be shown does not make a failure of what was measured.
            let _ = writeln!(
                std::io::stderr(),
                "what gateways and stacks said meanwhile is in {}",
                path.display()
            );
        }
        run.map(|()| folder)
    }

    /// Starts the programs of other stacks.
    fn programs(
        &self,
        wish: &StopSignal,
        process_log: &ProcessLog,
    ) -> Result<(Programs, Vec<Absent>), Failure> {
        let mut progress = Progress::new();
        let folder = &self.arguments.stacks;
        let mut say = |stack| progress.say(&format!("installing and starting {stack}"));
        let (programs, absent) =
            Programs::start(&self.stacks(), folder, wish, process_log, &mut say)?;
        progress.end();
        for it in &absent {
            // A message that cannot be shown does not stop a measurement; it is among the lines,
            // too.
            let _ = writeln!(std::io::stderr(), "{} is absent: {}", it.stack, it.absent);
        }
        Ok((programs, absent))
    }

    fn selections(&self) -> Result<Vec<Selection>, Failure> {
        let mut selections = self.selections.clone();
        if let Some(number) = self.arguments.experiment {
            let [selection] = selections.as_mut_slice() else {
                return Err(Failure::new(
                    "an experiment is one of a study, and all studies are named",
                ));
            };
            if selection.experiment.replace(number).is_some() {
                return Err(Failure::new("the experiment is named twice"));
            }
        }
        for selection in &selections {
            if let Some(number) = selection.experiment
                && selection.study.experiment(number).is_none()
            {
                let experiments = selection.study.experiments.iter();
                let numbers: Vec<String> = experiments.map(|it| it.number.to_string()).collect();
                return Err(Failure::new(format_args!(
                    "expected an experiment of {} ({}), found {number}",
                    selection.study.name,
                    numbers.join(", ")
                )));
            }
        }
        Ok(selections)
    }

    /// Each once, ours first.
    fn stacks(&self) -> Vec<Stack> {
        let mut stacks = self.arguments.stack.clone();
        stacks.sort_unstable();
        stacks.dedup();
        stacks
    }

    fn options(&self, databases: Vec<String>) -> Options {
        Options {
            scope: Scope {
                scale: if self.quick {
                    Scale::Quick
                } else {
                    Scale::Full
                },
                stacks: self.stacks(),
                databases,
                own: self.own.asked.clone(),
                design: self.own.design.clone(),
            },
            filter: self.filter.to_owned(),
            claims: self.arguments.claims,
            seed: self.arguments.seed,
            budget: self.quick.then(|| GLANCE * self.stacks().len() as u32),
            arm_budget: self.quick.then_some(GLANCE_AT_AN_ARM),
            measured: Vec::new(),
        }
    }
}

/// Why there is nothing to run, and what there is like it.
fn nothing(selections: &[Selection], options: &Options) -> Failure {
    let subject = match selections {
        [one] => one.to_string(),
        _ => "a study".to_owned(),
    };
    match study::why_nothing(selections, options) {
        Nothing::Unknown {
            wanted,
            near,
            at_other_scale,
        } => {
            let failure = Failure::new(format_args!(
                "no point of {subject} has {wanted} in its name"
            ));
            let there = near.join(", ");
            failure.with_hint(match (at_other_scale, options.scope.scale) {
                (false, _) if near.is_empty() => "soapstone lab list".to_owned(),
                (false, _) => format!("there is {there}"),
                (true, Scale::Full) => format!("{wanted} is a point of --quick only"),
                (true, Scale::Quick) if near.is_empty() => {
                    format!("{wanted} is measured without --quick only")
                }
                (true, Scale::Quick) => {
                    format!("{wanted} is measured without --quick only; with it there is {there}")
                }
            })
        }
        Nothing::Apart => Failure::new(format_args!(
            "no point of {subject} has all of these segments in its name, but each is in some"
        ))
        .with_hint("soapstone lab list"),
        Nothing::NoClaims => {
            Failure::new("no claim of a paper and no goal is told of these points")
                .with_hint("without --claims they are measured")
        }
        Nothing::NoArms => {
            let stacks = options.scope.stacks.iter().map(|stack| stack.name());
            Failure::new(format_args!(
                "nothing of these points is measured on {}",
                stacks.collect::<Vec<_>>().join(", ")
            ))
        }
    }
}

/// Starts the database servers that the tasks need.
fn start(databases: &mut Databases, tasks: &[Task]) {
    let mut progress = Progress::new();
    let mut absent = Vec::new();
    databases.start(
        tasks,
        &mut |name| progress.say(&format!("starting {name}")),
        &mut |name, why| absent.push(format!("{name} is absent: {why}")),
    );
    progress.end();
    for line in absent {
        // A message that cannot be shown does not stop a measurement; it is among the lines, too.
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}

/// What a run is made on.
struct Started<'r> {
    sides: &'r Sides,
    wish: StopSignal,
    scratch: &'r Scratch,
    programs: Programs,
    databases: &'r Databases,
    process_log: &'r ProcessLog,
    own_processes: bool,
    own: &'r OwnServices,
}

impl Started<'_> {
    /// Starts our own services and gateways, measures, and hands out the records of each point.
    fn measure(
        self,
        tasks: &[Task],
        options: &Options,
        measured: &mut dyn FnMut(&[Record]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let (sides, scratch) = (self.sides, self.scratch);
        let mut progress = Progress::new();
        let mut ours = study::needs(tasks);
        ours.retain(|call| is_ours(call.stack) && self.databases.answers(call).is_ok());
        let (mut with_tokens, ours): (Vec<Call>, Vec<Call>) =
            ours.into_iter().partition(|call| call.setup.beside_issuers);
        let log = self.process_log.file();
        let log = log.as_ref();
        if !(ours.is_empty() && with_tokens.is_empty()) {
            progress.say("starting the sample services and two gateways");
        }
        let issuers = Issuers::start(scratch, &with_tokens);
        // Ctrl-C ends the programs that make a realm, too: no token is left out for it.
        self.wish.go_on()?;
        with_tokens.retain(|call| issuers.issue_for(call).is_ok());
        let place = match self.own_processes {
            true => Place::Apart(log),
            false => Place::Here,
        };
        let network = self.network(("lab", &ours), place)?;
        let beside_issuers = self.network(("tokens", &with_tokens), issuers.place(log))?;
        let gateways = |network, newcomers| {
            let called = (self.databases.locations(), self.own);
            let (wish, process_log) = (self.wish.clone(), self.process_log.clone());
            let gateways = Gateways::new(sides, scratch, network, called, wish, process_log);
            gateways.map(|it| it.with_newcomers(newcomers))
        };
        let ours = network.as_ref().map(|it| gateways(it, Place::Here));
        let others = beside_issuers.as_ref();
        let others = others.map(|it| gateways(it, issuers.place(log)));
        let mut bench = Stacks {
            ours: ours.transpose()?,
            beside_issuers: others.transpose()?,
            issuers: &issuers,
            wish: self.wish,
            engine: InMemory::default(),
            programs: self.programs,
            databases: self.databases,
        };
        let begun = Instant::now();
        let mut unkept = None;
        progress.say("warming up");
        let run = study::run(tasks, options, &mut bench, &mut |event| match event {
            Event::Progress(made) => progress.say(&format!(
                "{:.0} %, {} left: {}",
                made.share * 100.0,
                left(begun.elapsed(), made.share),
                made.point
            )),
            Event::Measured(records) => {
                progress.end();
                unkept = unkept.take().or(measured(records).err());
            }
        });
        progress.end();
        drop(bench);
        for network in [network, beside_issuers].into_iter().flatten() {
            sides.serve(network.shutdown());
        }
        run.and(unkept.map_or(Ok(()), Err))
    }

    /// Starts what these calls take, in this place; nothing, if there are none.
    fn network(
        &self,
        (name, calls): (&'static str, &[Call]),
        place: Place<'_>,
    ) -> Result<Option<Network>, Failure> {
        if calls.is_empty() {
            return Ok(None);
        }
        let layout = layout(name, calls, &self.databases.locations(), self.own);
        let network = Network::start(self.scratch, &layout, place);
        self.sides.serve(network).map(Some)
    }
}

/// Time left after so much time for such a share; unknown at the very beginning.
fn left(elapsed: Duration, share: f64) -> String {
    if share < 1e-3 {
        return "?".to_owned();
    }
    let seconds = elapsed.as_secs_f64() * (1.0 - share) / share;
    let seconds = seconds.ceil() as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

fn lines(records: &[Record]) -> Result<String, Failure> {
    let mut lines = String::new();
    for record in records {
        lines.push_str(&serde_json::to_string(record).map_err(Failure::new)?);
        lines.push('\n');
    }
    Ok(lines)
}
