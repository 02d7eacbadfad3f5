//! `soapstone lab`: measures what each security mechanism costs on this machine.
//!
//! The rule kept here: figures go to standard output and progress to standard error, so that a run
//! can be kept.

mod advise;
mod apart;
mod applicable_options;
mod bench;
pub mod check;
mod compare;
mod conversations;
mod cores;
mod databases;
mod design;
mod issuers;
mod kept;
mod open_files;
mod own_run;
mod process_log;
mod report;
mod study;
mod tables;

use std::io::Write;

use soapstone_lab::engine::{self, Options};
use soapstone_lab::growth;
use soapstone_lab::loopback::Loopback;
use soapstone_lab::measurement::{Effort, Measurement};
use soapstone_lab::studies;
use soapstone_lab::study::Selection;
use tracing::Level;

use crate::failure::Failure;
use crate::files;
use crate::logging::LogArguments;
use crate::progress::Progress;

const RUN_ABOUT: &str = "\
Run an experiment and print one line for each measurement.

engine: bytes to bytes, what `secure` and `open` cost for each mechanism, suite and payload, on one core; and beside them, as \
mechanism `parts`, the work that cannot be avoided: scan, digest, cipher, base64, RSA; as `unavoidable` and `private-key`, messages in \
turns with that work. Compare medians and ratios of one run, not figures of two.

growth: how `secure` and `open` grow from 10 kB to 10 MB and from 10 to 5,000 signed elements (exponent 1 is linear), and the memory that \
a message of 10 MB takes.

conversations: clients that begin conversations and go on with them at a steady rate, whatever happens to the nodes that serve them; \
says what failed and for how long, and fails when a conversation was lost or a message was accepted twice. `interop/cluster` runs it \
against three gateways and breaks things meanwhile.

mchale2012, or mchale2012/3 for its third experiment: a published study, run again through two gateways before the sample services. It ends with tables of what calls cost. Points with little memory or processor, or on a poor network, need control groups, or network namespaces and socat; where they cannot be had, they are left out with the reason. `all` runs all studies of papers. wsarch: a broker in front of providers, beside nginx and HAProxy. `soapstone lab list` tells what was published and which points are measured; --filter books/2500 selects some.";

const REPORT_ABOUT: &str = "\
Write a page of HTML from what runs of studies kept.

In the order of the studies: the headline claims, each experiment's question, plots in the shape of the paper's, with those of its \
values beside ours that are known here, tables, what held, and the command that repeats it. The page is one file that needs no network; every plot is also beside it as SVG, \
every figure's values as CSV. Every number is from a line, or from the paper. Of several runs, the last one that measured a point on a stack counts.";

const COMPARE_ABOUT: &str = "\
Compare two runs of studies, line by line: the medians of both, the second as a multiple of the first, between which ratios that lies, and \
whether the 95 % intervals of the medians overlap. Where they do, no difference was shown, nor where one side has a single sample. Sizes are \
the same within 0.1 %, or 8 bytes if that is more, as certificates are new in each run and their serial numbers not of one length.";

const EXAMPLES: &str = "\
Examples:
  soapstone lab list
  soapstone lab run engine --quick
  soapstone lab run engine --json > engine.jsonl
  soapstone lab run engine --json --filter sign-encrypt/Basic128GCM --filter books/4000
  soapstone lab run engine --filter parts --no-canonical-runs
  soapstone lab run mchale2012 --quick
  soapstone lab run mchale2012 --quick --own-processes        gateways as they are where they are deployed
  soapstone lab run mchale2012/4 --database postgres://user:password@127.0.0.1/books --keep books
  soapstone lab report books -o books.html
  soapstone lab run wsarch --quick              a broker in front of providers
  soapstone lab check calls.toml                your own services and messages
  soapstone lab design --factor rsa=1024,2048 --factor suite=TripleDes,Basic128GCM
  soapstone lab run all --quick --stack soapstone,cxf,gsoap
  soapstone lab run all --quick --claims --stack soapstone,cxf,gsoap    the papers' claims alone, today
  soapstone lab compare lab-results/before lab-results/after --apart
  soapstone lab advise --bytes 20kB --needs integrity,confidentiality,intermediaries
  soapstone lab run conversations --config client.toml --url http://127.0.0.1:8443/echo --seconds 60";

/// What the lab does.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Command {
    /// List the experiments and their cases
    #[command(after_help = EXAMPLES)]
    List,
    /// Run an experiment
    #[command(long_about = RUN_ABOUT)]
    Run(Box<applicable_options::ApplicableOptions>),
    /// Run the studies' experiments on your own services and messages
    #[command(long_about = check::ABOUT)]
    Check(check::CheckArguments),
    /// Allocate the time of calls to your own factors
    #[command(long_about = design::ABOUT)]
    Design(design::DesignArguments),
    /// Write a page with plots and tables of runs of studies
    #[command(long_about = REPORT_ABOUT)]
    Report(report::ReportArguments),
    /// Compare two runs of studies, line by line
    #[command(long_about = COMPARE_ABOUT)]
    Compare(compare::CompareArguments),
    /// Advise which mechanism to choose for one's own messages
    #[command(long_about = advise::ABOUT)]
    Advise(Box<advise::AdviseArguments>),
    /// Run services or a gateway for a study
    #[command(subcommand, hide = true, after_help = EXAMPLES)]
    Apart(apart::ApartCommand),
}

/// What can be run.
#[derive(Clone, Debug)]
enum Subject {
    /// The engine, bytes to bytes.
    Engine,
    /// How cost grows with size and with signed elements, and what memory a message takes.
    Growth,
    /// Whether conversations survive what happens to a cluster.
    Conversations,
    /// Studies, or one experiment of one.
    Studies(Vec<Selection>),
}

/// Reads `engine`, `growth`, `conversations`, `all`, `STUDY` or `STUDY/N`.
fn subject(text: &str) -> Result<Subject, String> {
    match text {
        "engine" => return Ok(Subject::Engine),
        "growth" => return Ok(Subject::Growth),
        "conversations" => return Ok(Subject::Conversations),
        "all" => {
            let all = studies::ALL.iter().map(|study| Selection {
                study,
                experiment: None,
            });
            return Ok(Subject::Studies(all.collect()));
        }
        _ => {}
    }
    let (name, experiment) = match text.split_once('/') {
        Some((name, number)) => (name, Some(number)),
        None => (text, None),
    };
    let mut known = studies::BY_NAME.iter();
    let Some(study) = known.find(|study| study.name == name) else {
        let names = studies::BY_NAME
            .iter()
            .map(|study| study.name)
            .collect::<Vec<_>>()
            .join(", ");
        return Err(format!(
            "expected engine, growth, conversations, all or a study ({names})"
        ));
    };
    let experiment = match experiment.map(str::parse) {
        None => None,
        Some(Ok(number)) => Some(number),
        Some(Err(_)) => return Err("expected the number of an experiment after the /".to_owned()),
    };
    Ok(Subject::Studies(vec![Selection { study, experiment }]))
}

/// Arguments of `soapstone lab run`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// engine, growth, conversations, all (studies), a study such as mchale2012, or one experiment
    /// of it such as mchale2012/3
    #[arg(value_parser = subject)]
    subject: Subject,
    /// One line of JSON for each measurement
    #[arg(long)]
    json: bool,
    /// Only cases, or points of a study, with these segments in their name (see `lab list`), such
    /// as sign-encrypt or echo/1000; all of them, if repeated
    #[arg(long, value_name = "SEGMENTS")]
    filter: Vec<String>,
    /// A glance instead of medians that repeat
    #[arg(long)]
    quick: bool,
    /// Rewrite everything in canonicalization, also what is canonical already
    #[arg(long, help_heading = applicable_options::OF_ENGINE)]
    no_canonical_runs: bool,
    /// Derive new keys for each message of a conversation
    #[arg(long, help_heading = applicable_options::OF_ENGINE)]
    new_derived_keys: bool,
    /// Before each operation of a case send a small message to another thread over loopback and
    /// back, as between the calls of a gateway
    #[arg(long, help_heading = applicable_options::OF_ENGINE)]
    between_calls: bool,
    /// Measures the memory of one operation in this process
    #[arg(long, hide = true, value_name = "OP")]
    memory_of: Option<String>,
    #[command(flatten)]
    conversations: conversations::LoadArguments,
    #[command(flatten)]
    study: study::StudyArguments,
}

/// Lists or runs experiments.
///
/// # Errors
/// The output cannot be written, or the filter lets nothing through.
pub fn run(command: Command, log: LogArguments) -> Result<(), Failure> {
    let logs_itself = match &command {
        Command::Run(it) => matches!(it.0.subject, Subject::Studies(_)),
        Command::Apart(_) | Command::Check(_) | Command::Design(_) => true,
        _ => false,
    };
    if !logs_itself {
        log.start_at(Level::WARN);
    }
    match command {
        Command::Apart(command) => apart::run(command, log),
        Command::List => list(),
        Command::Check(arguments) => check::run(&arguments, log),
        Command::Design(arguments) => design::run(&arguments, log),
        Command::Report(arguments) => report::run(&arguments),
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Advise(arguments) => advise::run(&arguments),
        Command::Run(arguments) => run_subject(&arguments.0, log),
    }
}

fn run_subject(arguments: &Arguments, log: LogArguments) -> Result<(), Failure> {
    match &arguments.subject {
        Subject::Engine => measure(arguments),
        Subject::Growth => grow(arguments),
        Subject::Conversations => conversations::run(&arguments.conversations, arguments.json),
        Subject::Studies(selections) => study::Run {
            selections: selections.clone(),
            arguments: &arguments.study,
            filter: &arguments.filter,
            quick: arguments.quick,
            json: arguments.json,
            log,
            own: &study::Own::default(),
        }
        .start()
        .map(drop),
    }
}

fn list() -> Result<(), Failure> {
    let mut text = String::new();
    for study in studies::BY_NAME {
        text.push_str(&study::list(study));
    }
    text.push_str("engine: bytes to bytes; cases mechanism/suite/keys/payload/size\n");
    for name in engine::names() {
        text.push_str(&format!("  {name}\n"));
    }
    text.push_str("growth: how cost grows with size and with signed elements, and what memory a message takes\n");
    text.push_str("conversations: whether conversations survive what happens to a cluster\n");
    files::print(text)
}

fn measure(arguments: &Arguments) -> Result<(), Failure> {
    let mut options = Options {
        filter: arguments.filter.clone(),
        effort: effort(arguments),
        ..Options::default()
    };
    if arguments.between_calls {
        let loopback = Loopback::open();
        options.between_calls = Some(loopback.map_err(|problem| {
            Failure::new(format_args!("no connection over loopback: {problem}"))
        })?);
    }
    options.tuning.canonical_runs = !arguments.no_canonical_runs;
    if arguments.new_derived_keys {
        options.tuning.derived_keys = None;
    }
    let names = engine::names()
        .into_iter()
        .filter(|name| options.lets_through(name))
        .count();
    if names == 0 {
        return Err(match options.in_no_name() {
            Some((wanted, near)) => Failure::new(format_args!("no case has {wanted} in its name"))
                .with_hint(if near.is_empty() {
                    "soapstone lab list".to_owned()
                } else {
                    format!("there is {}", near.join(", "))
                }),
            None => {
                Failure::new("no case has all of these segments in its name, but each is in some")
                    .with_hint("soapstone lab list")
            }
        });
    }
    if !arguments.json {
        files::print(HEADER)?;
    }
    let mut failed = None;
    let mut case = String::new();
    let mut done = 0;
    let mut progress = Progress::new();
    engine::run(&options, &mut |measurement| {
        let name = measurement.case();
        if name != case {
            done += 1;
            progress.say(&format!("{done}/{names} {name}"));
            case = name;
        }
        let line = if arguments.json {
            json(measurement)
        } else {
            row(measurement)
        };
        let printed = line.and_then(files::print);
        failed = failed.take().or(printed.err());
    });
    progress.end();
    // A terminal that is gone does not make a failure of what was measured.
    let cases = if names == 1 { "case" } else { "cases" };
    let _ = writeln!(std::io::stderr(), "{names} {cases} measured");
    failed.map_or(Ok(()), Err)
}

fn effort(arguments: &Arguments) -> Effort {
    if arguments.quick {
        Effort::QUICK
    } else {
        Effort::FULL
    }
}

/// Size of the message whose memory is looked at, bytes.
const LARGE: usize = 10_000_000;

fn grow(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(op) = &arguments.memory_of {
        let op = if op == "open" { "open" } else { "secure" };
        let memory = growth::memory(op, LARGE).ok_or_else(|| {
            Failure::new("the memory of this process cannot be read: /proc is needed")
        })?;
        return files::print(serde_json::to_string(&memory).map_err(Failure::new)? + "\n");
    }
    // The largest resident set of a process only grows: a process for each.
    let program = std::env::current_exe().map_err(Failure::new)?;
    for op in ["secure", "open"] {
        let output = std::process::Command::new(&program)
            .args(["lab", "run", "growth", "--memory-of", op])
            .stderr(std::process::Stdio::inherit())
            .output()
            .map_err(Failure::new)?;
        if !output.status.success() {
            return Err(Failure::new(
                "the process whose memory was to be measured failed",
            ));
        }
        if arguments.json {
            files::print(&output.stdout)?;
        } else {
            let memory: serde_json::Value =
                serde_json::from_slice(&output.stdout).map_err(Failure::new)?;
            files::print(format!(
                "{op} of {} bytes: {} bytes of memory at most, {} allowed (4 x size + 30 MB)\n",
                memory["bytes"], memory["peak"], memory["bound"]
            ))?;
        }
    }
    let mut failed = None;
    growth::run(effort(arguments), &mut |growth| {
        let line = if arguments.json {
            serde_json::to_string(growth)
                .map(|line| line + "\n")
                .map_err(Failure::new)
        } else {
            let points: String = growth
                .points
                .iter()
                .map(|(size, time)| format!("  {size}: {time:.0} us"))
                .collect();
            Ok(format!(
                "{} over {}: exponent {:.3}{points}\n",
                growth.op, growth.over, growth.exponent
            ))
        };
        failed = failed.take().or(line.and_then(files::print).err());
    });
    failed.map_or(Ok(()), Err)
}

const HEADER: &str = "operation           mechanism     suite          keys         payload         bytes   median µs      95 % µs       n\n";

fn row(measurement: &Measurement) -> Result<String, Failure> {
    Ok(format!(
        "{:<19} {:<13} {:<14} {:<12} {:<6} {:>6} {:>8} {:>11.1} {:>12.1} {:>7}\n",
        measurement.op,
        measurement.mechanism,
        measurement.suite,
        measurement.binding,
        measurement.payload,
        measurement.items,
        measurement.bytes,
        measurement.median_us,
        measurement.p95_us,
        measurement.n,
    ))
}

fn json(measurement: &Measurement) -> Result<String, Failure> {
    serde_json::to_string(measurement)
        .map(|line| line + "\n")
        .map_err(Failure::new)
}
