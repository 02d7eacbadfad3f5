//! `soapstone gateway`: runs gateways until told to stop.
//!
//! The rule kept here: with `--check` nothing is started, and everything that starting would complain about is said.

use std::path::PathBuf;

use jiff::Timestamp;
use soapstone_gateway::{Config, OneLine, Running};

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
}

/// Runs the gateways of a file, or checks the file.
///
/// # Errors
/// Every problem of the configuration, or why the gateway cannot start.
pub fn run(arguments: Arguments, log: LogArguments) -> Result<(), Failure> {
    let config = Config::load(&arguments.config, &|name| std::env::var(name).ok())?;
    if arguments.check {
        let mut found = format!("{}: no problem found\n{config}", config.file().display());
        for warning in config.validity_warnings(Timestamp::now()) {
            found.push_str(&format!("warning: {}\n", OneLine(warning)));
        }
        let problems = match arguments.store {
            true => config.store_problems(),
            false => Vec::new(),
        };
        for problem in &problems {
            found.push_str(&format!("store: {}\n", OneLine(problem)));
        }
        if arguments.store && problems.is_empty() {
            found.push_str("store: no problem found\n");
        }
        files::print(found)?;
        return problems.first().map_or(Ok(()), |problem| {
            let failure = Failure::new(format_args!("store: {problem}"));
            Err(match problem.hint() {
                Some(hint) => failure.with_hint(hint),
                None => failure,
            })
        });
    }
    log.start(config.log());
    let said = |running: &Running| {
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
