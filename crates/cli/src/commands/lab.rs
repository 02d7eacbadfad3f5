//! `soapstone lab`: measures what each security mechanism costs on this machine.
//!
//! The rule kept here: figures go to standard output and progress to standard error, so that a run can be kept.

use std::io::Write;

use soapstone_lab::engine::{self, Options};
use soapstone_lab::measurement::{Effort, Measurement};

use crate::failure::Failure;
use crate::files;

const RUN_ABOUT: &str = "\
Run an experiment and print one line for each measurement.

engine: bytes to bytes, what `secure` and `open` cost for each mechanism, suite and payload, on one core; and beside them, as \
mechanism `parts`, the work that cannot be avoided: scan, digest, cipher, base64, RSA. Compare medians and ratios of one run, not \
figures of two.";

const EXAMPLES: &str = "\
Examples:
  soapstone lab list
  soapstone lab run engine --quick
  soapstone lab run engine --json > engine.jsonl
  soapstone lab run engine --json --filter sign-encrypt/Basic128GCM --filter books/2500
  soapstone lab run engine --filter parts --no-canonical-runs";

/// What the lab does.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Command {
    /// List the experiments and their cases
    #[command(after_help = EXAMPLES)]
    List,
    /// Run an experiment
    Run(Arguments),
}

/// The experiments.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Experiment {
    /// The engine, bytes to bytes.
    Engine,
}

/// Arguments of `soapstone lab run`.
#[derive(Debug, clap::Args)]
#[command(long_about = RUN_ABOUT, after_help = EXAMPLES)]
pub struct Arguments {
    /// Which one
    experiment: Experiment,
    /// One line of JSON for each measurement
    #[arg(long)]
    json: bool,
    /// Only cases with these segments in their name (see `lab list`), such as sign-encrypt or echo/1000; all of them, if repeated
    #[arg(long, value_name = "SEGMENTS")]
    filter: Vec<String>,
    /// A glance instead of medians that repeat
    #[arg(long)]
    quick: bool,
    /// Rewrite everything in canonicalization, also what is canonical already
    #[arg(long)]
    no_canonical_runs: bool,
}

/// Lists or runs experiments.
///
/// # Errors
/// The output cannot be written, or the filter lets nothing through.
pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::List => list(),
        Command::Run(arguments) => measure(&arguments),
    }
}

fn list() -> Result<(), Failure> {
    let mut text =
        String::from("engine: bytes to bytes; cases mechanism/suite/keys/payload/size\n");
    for name in engine::names() {
        text.push_str(&format!("  {name}\n"));
    }
    files::print(text)
}

fn measure(arguments: &Arguments) -> Result<(), Failure> {
    let Experiment::Engine = arguments.experiment;
    let mut options = Options {
        filter: arguments.filter.clone(),
        effort: if arguments.quick {
            Effort::QUICK
        } else {
            Effort::FULL
        },
        ..Options::default()
    };
    options.tuning.canonical_runs = !arguments.no_canonical_runs;
    let names = engine::names()
        .into_iter()
        .filter(|name| options.lets_through(name))
        .count();
    if names == 0 {
        return Err(
            Failure::new("no case has all of these segments in its name")
                .with_hint("soapstone lab list"),
        );
    }
    if !arguments.json {
        files::print(HEADER.to_owned())?;
    }
    let mut failed = None;
    let mut case = String::new();
    let mut done = 0;
    engine::run(&options, &mut |measurement| {
        let name = measurement.case();
        if name != case {
            done += 1;
            // A terminal that is gone does not stop a measurement.
            let _ = write!(std::io::stderr(), "\r\x1b[2K{done}/{names} {name}");
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
    let _ = writeln!(std::io::stderr(), "\r\x1b[2K{names} cases measured");
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
