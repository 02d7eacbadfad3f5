//! `soapstone lab run STUDY`: a published study, run again on services and gateways of our own.
//!
//! The rule kept here: what was measured before a run ended, however it ended, is printed.

use std::io::IsTerminal;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use soapstone_lab::study::{
    self, Bench, Call, Event, Experiment, Options, Outcome, Repetitions, Series, Sizes, Source,
    Study, Way,
};
use soapstone_services::{
    DatabaseError, DatabaseLocation, Service, SoapVersion, requests, responses,
};
use tokio::runtime::Runtime;
use tokio::task::JoinHandle;

use crate::failure::Failure;
use crate::progress::Progress;
use crate::table::{Align, Table};
use crate::testbed::{Client, Layout, Network, Route, Scratch, canonical_body};
use crate::{files, runtime};

/// The largest message that the gateways let through, MiB: 25,000 books are 6 MiB, and 9 when they are encrypted.
const LARGEST_MESSAGE: u32 = 32;
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
        let options = options(experiment, self.filter, self.quick, &kinds);
        if study::points(self.study, &options).is_empty() {
            return Err(Failure::new(
                "no point of the study has all of these segments in its name",
            )
            .with_hint("soapstone lab list"));
        }
        let mut progress = Progress::new();
        progress.say("starting the sample services and two gateways");
        let layout = layout(self.study, &options, databases);
        let runtime = runtime::multi_threaded()?;
        let stop = runtime.spawn(runtime::stop_requested());
        let network = runtime.block_on(Network::start(&scratch, &layout))?;
        let mut bench = Gateways {
            runtime: &runtime,
            network: &network,
            client: Client::new(),
            stop,
            right: None,
        };
        let measured = self.measure(&options, &mut bench, &mut progress);
        drop(bench);
        runtime.block_on(network.shutdown());
        measured
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

    fn measure(
        &self,
        options: &Options,
        bench: &mut Gateways<'_>,
        progress: &mut Progress,
    ) -> Result<(), Failure> {
        let begun = Instant::now();
        let mut all = Vec::new();
        let mut unprinted = None;
        progress.say("warming up");
        let run = study::run(self.study, options, bench, &mut |event| match event {
            Event::Progress(made) => progress.say(&format!(
                "{:.0} %, {} left: {}",
                made.share * 100.0,
                left(begun.elapsed(), made.share),
                made.point
            )),
            Event::Measured(outcomes) => {
                all.extend_from_slice(outcomes);
                if self.json {
                    progress.end();
                    let printed = lines(outcomes).and_then(files::print);
                    unprinted = unprinted.take().or(printed.err());
                }
            }
        });
        progress.end();
        if !self.json {
            files::print(tables(self.study, &all, std::io::stdout().is_terminal()))?;
        }
        run.and(unprinted.map_or(Ok(()), Err))
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

fn layout(study: &'static Study, options: &Options, databases: Vec<DatabaseLocation>) -> Layout {
    let routes = study::routes(study, options)
        .into_iter()
        .filter_map(|(source, way)| match way {
            Way::Direct => None,
            Way::Through { mechanism, suite } => Some(Route {
                prefix: prefix(source, way),
                instance: instance(source),
                service: Service::Books,
                mechanism,
                suite: suite.to_owned(),
            }),
        });
    Layout {
        routes: routes.collect(),
        databases,
        largest_message: LARGEST_MESSAGE,
    }
}

/// Any of the services has books in memory.
fn instance(source: Source) -> usize {
    match source {
        Source::Memory => 0,
        Source::Database(index) => index,
    }
}

fn prefix(source: Source, way: Way) -> String {
    let place = match source {
        Source::Memory => "/memory".to_owned(),
        Source::Database(index) => format!("/database-{index}"),
    };
    match way.suite() {
        "" => format!("{place}/{}", way.name()),
        suite => format!("{place}/{}/{suite}", way.name()),
    }
}

/// Services and two gateways, called until somebody wants to stop.
struct Gateways<'n> {
    runtime: &'n Runtime,
    network: &'n Network,
    client: Client,
    stop: JoinHandle<()>,
    /// The right body of the answer with so many books.
    right: Option<(u32, Vec<u8>)>,
}

impl Gateways<'_> {
    /// Posts the call to this URL and checks the answer: octets of both, and the time it took.
    fn post(&mut self, call: &Call, url: &str) -> Result<(usize, Duration), Failure> {
        let message = Bytes::from(requests::get_books(SoapVersion::Soap11, call.books));
        let asked = message.len();
        let (client, stop) = (&self.client, &mut self.stop);
        let (answer, took) = self.runtime.block_on(async {
            let begun = Instant::now();
            tokio::select! {
                answer = client.post(url, Service::Books.soap_action(), message) => Ok((answer?, begun.elapsed())),
                _ = stop => Err(Failure::new("stopped before the end")),
            }
        })?;
        let title = format!("getBooks({})", call.books);
        if canonical_body(&answer, &title)? != self.right(call.books)? {
            return Err(Failure::new(format_args!(
                "the answer at {url} is not what {title} gives"
            )));
        }
        Ok((asked + answer.len(), took))
    }

    fn right(&mut self, books: u32) -> Result<&[u8], Failure> {
        if self.right.as_ref().is_none_or(|(of, _)| *of != books) {
            let answer = responses::books(SoapVersion::Soap11, books);
            self.right = Some((books, canonical_body(&answer, "getBooks")?));
        }
        Ok(self.right.as_ref().map_or(&[], |(_, body)| body))
    }

    fn url(&self, call: &Call, before: &str) -> Result<String, Failure> {
        let query = match call.source {
            Source::Memory => "source=memory",
            Source::Database(_) => "source=database",
        };
        let path = Service::Books.path();
        Ok(match call.way {
            Way::Direct => {
                let address = self.network.services(instance(call.source));
                let address =
                    address.ok_or_else(|| Failure::new("the sample services were not started"))?;
                format!("http://{address}{path}?{query}")
            }
            Way::Through { .. } => format!(
                "http://{}{before}{}{path}?{query}",
                self.network.outbound(),
                prefix(call.source, call.way)
            ),
        })
    }
}

impl Bench for Gateways<'_> {
    type Failure = Failure;

    fn call(&mut self, call: &Call) -> Result<Duration, Failure> {
        let url = self.url(call, "")?;
        Ok(self.post(call, &url)?.1)
    }

    fn weigh(&mut self, call: &Call) -> Result<Sizes, Failure> {
        let url = self.url(call, "/tapped")?;
        let (plain, _) = self.post(call, &url)?;
        let secured = match call.way {
            Way::Direct => plain,
            Way::Through { .. } => {
                let seen = self.network.tapped();
                seen.request.len() + seen.response.len()
            }
        };
        Ok(Sizes { plain, secured })
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
fn tables(study: &Study, outcomes: &[Outcome], emphasis: bool) -> String {
    let mut text = String::new();
    let series = study.experiments.iter().flat_map(|experiment| {
        experiment
            .series
            .iter()
            .map(move |series| (experiment, series))
    });
    for (experiment, series) in series {
        let of: Vec<&Outcome> = outcomes
            .iter()
            .filter(|outcome| is_of(outcome, experiment, series))
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
             the same way through both gateways without security; `direct` is without gateways. The paper measured {}.\n",
            study.paper.stack
        ));
    }
    text
}

fn is_of(outcome: &Outcome, experiment: &Experiment, series: &Series) -> bool {
    outcome.experiment == experiment.number && outcome.shown_in == series.shown_in
}

fn table(outcomes: &[&Outcome]) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new([
        ("source", Left),
        ("books", Right),
        ("requests", Right),
        ("mechanism", Left),
        ("suite", Left),
        ("n", Right),
        ("best ms", Right),
        ("median ms", Right),
        ("deviation", Right),
        ("impact", Right),
        ("of medians", Right),
        ("paper's impact", Right),
    ]);
    for outcome in outcomes {
        let measurement = &outcome.measurement;
        let suite = match measurement.suite.as_str() {
            "" => "-",
            suite => suite,
        };
        let paper = match outcome.reported_percent {
            Some([least, most]) if least == most => format!("{least:.0} %"),
            Some([least, most]) => format!("{least:.0} to {most:.0} %"),
            None => "-".to_owned(),
        };
        table.row([
            outcome.source.clone(),
            measurement.items.to_string(),
            outcome.requests.to_string(),
            measurement.mechanism.to_owned(),
            suite.to_owned(),
            measurement.n.to_string(),
            format!("{:.3}", outcome.best_us / 1e3),
            format!("{:.3}", measurement.median_us / 1e3),
            format!(
                "{:.0} %",
                measurement.stdev_us / measurement.mean_us * 100.0
            ),
            format!("{:.0} %", outcome.impact_percent),
            format!("{:.0} %", outcome.impact_of_medians_percent),
            paper,
        ]);
    }
    table
}
