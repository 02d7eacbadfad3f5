//! `soapstone lab run STUDY`: a published study, run again on services and gateways of our own.
//!
//! The rule kept here: what was measured before a run ended, however it ended, is printed.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use soapstone_lab::study::report::{self, is_of};
use soapstone_lab::study::{self, Event, Options, Outcome, Repetitions, Study};
use soapstone_services::{DatabaseError, DatabaseLocation};

use super::bench::{Gateways, layout};
use super::kept::Kept;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::table::{Align, Table};
use crate::testbed::{Network, Scratch};
use crate::{files, runtime};

/// What the order of calls is drawn with: the same in each run.
const SEED: u64 = 2012;

/// What only studies take.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Options of studies")]
pub(super) struct StudyArguments {
    /// Only this experiment; the same as STUDY/N
    #[arg(long, value_name = "N")]
    experiment: Option<u8>,
    /// Databases to compare with memory: sqlite:PATH, mysql://… or postgres://…, one of a kind; SQLite in a scratch folder, if none is given
    #[arg(long, value_name = "URL",
        value_parser = |text: &str| text.parse::<DatabaseLocation>().map_err(|error: DatabaseError| error.to_string()))]
    database: Vec<DatabaseLocation>,
    /// Keep lines and a manifest in this folder; a run that was stopped goes on there
    #[arg(long, value_name = "FOLDER")]
    keep: Option<PathBuf>,
}

/// Arguments of `soapstone lab report`.
#[derive(Debug, clap::Args)]
#[command(after_help = super::EXAMPLES)]
pub struct ReportArguments {
    /// Lines of JSON that runs of studies printed; standard input, if none is named
    #[arg(value_name = "FILE")]
    lines: Vec<PathBuf>,
    /// Where the report goes; standard output, if nowhere else
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Writes the report.
pub(super) fn report(arguments: &ReportArguments) -> Result<(), Failure> {
    let standard_input = [PathBuf::from("-")];
    let files = match arguments.lines.as_slice() {
        [] => &standard_input,
        named => named,
    };
    let mut outcomes = Vec::new();
    for file in files {
        let lines = files::read(Some(file))?;
        let lines = std::str::from_utf8(&lines).map_err(|error| Failure::file(file, error))?;
        outcomes.extend(report::read(lines).map_err(|error| Failure::file(file, error))?);
    }
    if outcomes.is_empty() {
        return Err(
            Failure::new("there is nothing to report: not one line was read")
                .with_hint("soapstone lab run mchale2012 --json > lines.jsonl"),
        );
    }
    files::write(
        arguments.output.as_deref(),
        report::markdown(&outcomes).as_bytes(),
    )
}

/// The study, and what of it is there to run.
pub(super) fn list(study: &'static Study) -> String {
    let paper = &study.paper;
    let mut text = format!(
        "{}: {}: {}. {}, {}; on {}\n",
        study.name, paper.authors, paper.title, paper.published, paper.year, paper.stack
    );
    for experiment in study.experiments {
        let number = experiment.number;
        text.push_str(&format!(
            "  {}/{number}: {}\n",
            study.name, experiment.question
        ));
        for point in study::points(study, &options(Some(number), &[], false, &["sqlite"])) {
            text.push_str(&format!("    {point}\n"));
        }
    }
    text
}

fn options(
    experiment: Option<u8>,
    filter: &[String],
    quick: bool,
    databases: &[&'static str],
) -> Options {
    Options {
        experiment,
        filter: filter.to_owned(),
        repetitions: if quick {
            Repetitions::QUICK
        } else {
            Repetitions::FULL
        },
        databases: databases.iter().map(|name| (*name).to_owned()).collect(),
        seed: SEED,
        measured: Vec::new(),
    }
}

/// What of a study to run, and how.
pub(super) struct Run<'a> {
    /// The study.
    pub(super) study: &'static Study,
    /// The experiment that was named with it.
    pub(super) experiment: Option<u8>,
    /// Its own arguments.
    pub(super) arguments: &'a StudyArguments,
    /// Segments that names of points must have.
    pub(super) filter: &'a [String],
    /// A glance.
    pub(super) quick: bool,
    /// Lines of JSON instead of tables.
    pub(super) json: bool,
}

impl Run<'_> {
    /// Runs it.
    ///
    /// # Errors
    /// There is nothing to run, something cannot be started, or an answer is wrong.
    pub(super) fn start(&self) -> Result<(), Failure> {
        let experiment = self.experiment()?;
        let scratch = Scratch::make("lab")?;
        let databases = self.databases(scratch.folder());
        let kinds: Vec<&'static str> = databases.iter().map(kind).collect();
        if let Some((_, twice)) = kinds
            .iter()
            .enumerate()
            .find(|(index, kind)| kinds[..*index].contains(kind))
        {
            return Err(Failure::new(format_args!(
                "expected one database of a kind, found more of {twice}"
            )));
        }
        let mut options = options(experiment, self.filter, self.quick, &kinds);
        if study::points(self.study, &options).is_empty() {
            return Err(Failure::new(
                "no point of the study has all of these segments in its name",
            )
            .with_hint("soapstone lab list"));
        }
        let mut kept = None;
        if let Some(folder) = &self.arguments.keep {
            let (folder, measured) = Kept::open(folder, self.study, &options)?;
            kept = Some(folder);
            options.measured = measured;
        }
        let mut all = options.measured.clone();
        let run = if study::points(self.study, &options).is_empty() {
            Ok(())
        } else {
            self.measure(&scratch, &options, databases, &mut |outcomes| {
                all.extend_from_slice(outcomes);
                let lines = lines(outcomes)?;
                if let Some(kept) = &mut kept {
                    kept.keep(&lines)?;
                }
                if self.json {
                    files::print(lines)?;
                }
                Ok(())
            })
        };
        if !self.json {
            files::print(tables(self.study, &all, std::io::stdout().is_terminal()))?;
        }
        run
    }

    fn experiment(&self) -> Result<Option<u8>, Failure> {
        let asked = match (self.experiment, self.arguments.experiment) {
            (Some(_), Some(_)) => return Err(Failure::new("the experiment is named twice")),
            (one, other) => one.or(other),
        };
        let experiments = self.study.experiments;
        match asked {
            Some(number) if !experiments.iter().any(|it| it.number == number) => {
                let numbers: Vec<String> =
                    experiments.iter().map(|it| it.number.to_string()).collect();
                Err(Failure::new(format_args!(
                    "expected an experiment of {} ({}), found {number}",
                    self.study.name,
                    numbers.join(", ")
                )))
            }
            asked => Ok(asked),
        }
    }

    fn databases(&self, scratch: &Path) -> Vec<DatabaseLocation> {
        if self.arguments.database.is_empty() {
            vec![DatabaseLocation::SqliteFile(scratch.join("books.db"))]
        } else {
            self.arguments.database.clone()
        }
    }

    /// Starts everything, measures, and hands out the outcomes of each point.
    fn measure(
        &self,
        scratch: &Scratch,
        options: &Options,
        databases: Vec<DatabaseLocation>,
        measured: &mut dyn FnMut(&[Outcome]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut progress = Progress::new();
        progress.say("starting the sample services and two gateways");
        let layout = layout(self.study, options, databases);
        let runtime = runtime::multi_threaded()?;
        let network = runtime.block_on(Network::start(scratch, &layout))?;
        let mut bench = Gateways::new(&runtime, &network);
        let begun = Instant::now();
        let mut unkept = None;
        progress.say("warming up");
        let run = study::run(self.study, options, &mut bench, &mut |event| match event {
            Event::Progress(made) => progress.say(&format!(
                "{:.0} %, {} left: {}",
                made.share * 100.0,
                left(begun.elapsed(), made.share),
                made.point
            )),
            Event::Measured(outcomes) => {
                progress.end();
                unkept = unkept.take().or(measured(outcomes).err());
            }
        });
        progress.end();
        drop(bench);
        runtime.block_on(network.shutdown());
        run.and(unkept.map_or(Ok(()), Err))
    }
}

/// Time left after so much time for such a share.
fn left(elapsed: Duration, share: f64) -> String {
    let seconds = elapsed.as_secs_f64() * (1.0 - share) / share.max(f64::MIN_POSITIVE);
    let seconds = seconds.ceil() as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

fn kind(database: &DatabaseLocation) -> &'static str {
    match database {
        DatabaseLocation::MySql(_) => "mysql",
        DatabaseLocation::Postgres(_) => "postgres",
        _ => "sqlite",
    }
}

fn lines(outcomes: &[Outcome]) -> Result<String, Failure> {
    let mut lines = String::new();
    for outcome in outcomes {
        lines.push_str(&serde_json::to_string(outcome).map_err(Failure::new)?);
        lines.push('\n');
    }
    Ok(lines)
}

/// A table for each series that was measured, and what its columns mean.
fn tables(study: &'static Study, outcomes: &[Outcome], emphasis: bool) -> String {
    let mut text = String::new();
    for (experiment, series) in study.series() {
        let of: Vec<&Outcome> = outcomes
            .iter()
            .filter(|outcome| is_of(outcome, study, experiment, series))
            .collect();
        if !of.is_empty() {
            text.push_str(&format!(
                "{}/{}, {}: {}\n\n{}\n",
                study.name,
                experiment.number,
                series.shown_in,
                experiment.question,
                table(&of).emphasized(emphasis)
            ));
        }
    }
    if !text.is_empty() {
        text.push_str(&format!(
            "Times are of one round trip, measured at the client; each answer was checked. Impact is best time by best time of `none`,\n\
             the same way through both gateways without security; `direct` is without gateways. Floor is the impact if of all security only\n\
             the operations with private keys cost anything: two signatures and two unwrapped keys, as they took alone in the same run.\n\
             The paper measured {}.\n",
            study.paper.stack
        ));
    }
    text
}

fn table(outcomes: &[&Outcome]) -> Table {
    let columns = Outcome::COLUMNS.map(|(name, number)| {
        let align = if number { Align::Right } else { Align::Left };
        (name, align)
    });
    let mut table = Table::new(columns);
    for outcome in outcomes {
        table.row(outcome.cells());
    }
    table
}
