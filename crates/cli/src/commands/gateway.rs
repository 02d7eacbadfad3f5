//! `soapstone gateway`: runs gateways until told to stop.
//!
//! The rule kept here: with `--check` nothing is started, and everything that starting would
//! complain about is said.

use std::path::PathBuf;

use jiff::Timestamp;
use serde::Serialize;
use soapstone::config::{Problem, Problems};
use soapstone_gateway::{Config, OneLine, RefusedMessage, Running};

use crate::failure::Failure;
use crate::files;
use crate::logging::LogArguments;
use crate::runtime;

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Run gateways: give services and clients WS-Security without touching them.

A route's [routes.inbound] opens what clients send and secures what the service answers; its [routes.outbound] secures \
what is sent on and opens what comes back. SIGTERM and Ctrl-C let requests in hand finish; SIGHUP, or a change of the file or of \
one that it names, takes the new configuration into use if it has no problems.";

const EXAMPLES: &str = "\
Examples:
  soapstone gateway --config gateway.toml --check   find every problem, start nothing
  soapstone gateway --config gateway.toml --check --store   and ask the stores that nodes share
  soapstone gateway --config gateway.toml --check --strict --json   the same for a pipeline; risks fail
  soapstone gateway --config gateway.toml --log json

A file that protects a service:
  listen = \"127.0.0.1:8443\"
  [[routes]]
  path = \"/books\"
  backend = \"http://127.0.0.1:9000/books\"
  [routes.inbound]
  identity = { key = \"server.key.pem\", certificate = \"server.cert.pem\" }
  trust = { anchors = [\"ca.cert.pem\"] }
  security = { mechanism = \"sign-encrypt\" }";

/// Arguments of `soapstone gateway`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The gateway's configuration file
    #[arg(long, short, value_name = "FILE")]
    config: PathBuf,
    /// Check the configuration, print what would be run, and end
    #[arg(long)]
    check: bool,
    /// With --check: ask the stores that nodes share, too
    #[arg(long, requires = "check")]
    store: bool,
    /// Fail if the configuration takes risks, or names what has expired
    #[arg(long, requires = "check")]
    strict: bool,
    /// Print what was found as JSON
    #[arg(long, requires = "check")]
    json: bool,
}

/// What `--check --json` prints.
#[derive(Serialize)]
struct Checked {
    file: String,
    problems: Vec<Found>,
    warnings: Vec<Found>,
    /// What is wrong with shared stores, where they are asked.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stores: Vec<String>,
}

/// A problem or a warning.
#[derive(Serialize)]
struct Found {
    /// Stable name of a warning.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'static str>,
    /// From 1; absent where the file as a whole is meant, or what it names.
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<u32>,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

impl Found {
    fn at(problem: &Problem, name: Option<&'static str>) -> Self {
        let is_placed = problem.line > 0;
        Self {
            name,
            line: is_placed.then_some(problem.line),
            column: is_placed.then_some(problem.column),
            message: problem.message.clone(),
            hint: problem.hint.clone(),
        }
    }
}

/// Tells what is wrong with a file, or what would be run and which risks it takes.
fn check(arguments: &Arguments, config: Result<Config, Problems>) -> Result<(), Failure> {
    let mut stores = Vec::new();
    let (told, problems, warnings) = match config {
        Err(problems) => (String::new(), problems, Vec::new()),
        Ok(config) => {
            let mut told = format!("{}: no problem found\n{config}", config.file().display());
            let mut warnings = Vec::new();
            for warning in config.warnings() {
                told.push_str(&format!("warning: {warning}\n"));
                warnings.push(Found::at(&warning.problem, Some(warning.name)));
            }
            for warning in config.validity_warnings(Timestamp::now()) {
                let message = OneLine(warning).to_string();
                told.push_str(&format!("warning: {message}\n"));
                warnings.push(Found {
                    name: Some("validity"),
                    line: None,
                    column: None,
                    message,
                    hint: None,
                });
            }
            if arguments.store {
                stores = config.store_problems();
                for problem in &stores {
                    told.push_str(&format!("store: {}\n", OneLine(problem)));
                }
                if stores.is_empty() {
                    told.push_str("store: no problem found\n");
                }
            }
            (told, Problems::default(), warnings)
        }
    };
    let count = warnings.len();
    if arguments.json {
        let found = problems.0.iter();
        let checked = Checked {
            file: arguments.config.display().to_string(),
            problems: found.map(|problem| Found::at(problem, None)).collect(),
            warnings,
            stores: stores.iter().map(ToString::to_string).collect(),
        };
        // Strings, arrays and structures always have a JSON form.
        let json = serde_json::to_string_pretty(&checked).unwrap_or_default();
        files::print(json + "\n")?;
    } else {
        files::print(told)?;
    }
    if !problems.0.is_empty() {
        return Err(problems.into());
    }
    if let Some(problem) = stores.first() {
        let failure = Failure::new(format_args!("store: {problem}"));
        return Err(match problem.hint() {
            Some(hint) => failure.with_hint(hint),
            None => failure,
        });
    }
    if arguments.strict && count > 0 {
        let things = if count == 1 { "warning" } else { "warnings" };
        return Err(Failure::new(format_args!(
            "{count} {things}, and --strict allows none"
        )));
    }
    Ok(())
}

/// Runs the gateways of a file, or checks the file. The console has refused messages explained by
/// `explain`, if the program can.
///
/// # Errors
/// Every problem of the configuration, or why the gateway cannot start.
pub fn run(
    arguments: Arguments,
    log: LogArguments,
    explain: Option<fn(RefusedMessage) -> String>,
) -> Result<(), Failure> {
    let config = Config::load(&arguments.config, &|name| std::env::var(name).ok());
    if arguments.check {
        return check(&arguments, config);
    }
    let config = config?;
    log.start(config.log());
    let said = |running: &Running| {
        if let Some(explain) = explain {
            running.explain_with(explain);
        }
        let text = format!("gateway at {} (Ctrl-C stops it)\n", running.address());
        // Nobody may be listening; the gateway serves all the same.
        let _ = files::print(text);
    };
    runtime::multi_threaded()?
        .block_on(soapstone_gateway::run(config, said))
        .map_err(|error| {
            let failure = Failure::new(&error);
            match error.hint() {
                Some(hint) => failure.with_hint(hint),
                None => failure,
            }
        })
}
