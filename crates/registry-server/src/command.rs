//! `soapstone registry`: what can be typed, and what is done.
//!
//! The rule kept here: the addresses that are printed are served.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use soapstone_cli::failure::Failure;
use soapstone_cli::logging::LogArguments;
use soapstone_cli::{files, runtime};

use crate::calls_command::{self, CallsArguments};
use crate::config::Config;
use crate::find_command::{self, FindArguments};
use crate::server::start;

const ABOUT: &str = "\
Keep a registry of services: who provides which service where, with which policy, and how it does.

`soapstone registry` is this command: soapstone starts this program, which stands in the same folder or in PATH.";

const EXAMPLES: &str = "\
Examples:
  soapstone registry serve --config registry.toml
  soapstone registry find --registry http://127.0.0.1:8701/uddi --service Books
  soapstone registry calls --registry http://127.0.0.1:8702 --overhead";

const SERVE_ABOUT: &str = "\
Run a registry until told to stop.

It speaks UDDI version 3 (inquiry and publication) as SOAP and as JSON. Whoever publishes signs, and an entry belongs to the \
certificate that signed it first. Gateways with [registry] in their file register themselves and report how they do.

[tls] gives both addresses TLS, and mutual TLS with `client_ca`. SIGHUP, or a change of a file, has it take [tls] and [[publishers]] \
into use anew.";

const SERVE_EXAMPLES: &str = "\
Examples:
  soapstone registry serve --config registry.toml --check   find every problem, start nothing
  soapstone registry serve --config registry.toml --log json

A file:
  listen = \"127.0.0.1:8700\"
  inquiry = \"127.0.0.1:8701\"
  [inbound]
  identity = { key = \"registry.key.pem\", certificate = \"registry.cert.pem\" }
  trust = { anchors = [\"ca.cert.pem\"] }
  security = { mechanism = \"sign\" }
  [[publishers]]
  subject = \"CN=provider\"";

const BROKEN: &str =
    "the database failed: the registry ends, and reads what is kept when it starts";

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "soapstone-registry",
    version,
    about = "Soapstone's registry of services",
    long_about = ABOUT,
    after_help = EXAMPLES,
    max_term_width = 110
)]
pub struct Arguments {
    /// How and how much is logged.
    #[command(flatten)]
    log: LogArguments,
    /// What to do.
    #[command(subcommand)]
    command: Command,
}

/// The commands.
#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Keep a registry of services and of those who provide them
    #[command(subcommand, long_about = ABOUT, after_help = EXAMPLES)]
    Registry(RegistryCommand),
}

/// The commands of a registry.
#[derive(Debug, clap::Subcommand)]
enum RegistryCommand {
    /// Run a registry until told to stop
    #[command(long_about = SERVE_ABOUT)]
    Serve(ServeArguments),
    /// Show calls that gateways told of, or the overhead of the architecture computed from them
    #[command(long_about = calls_command::ABOUT)]
    Calls(CallsArguments),
    /// Find services by name in a registry of UDDI version 3
    #[command(long_about = find_command::ABOUT)]
    Find(FindArguments),
}

/// Arguments of `soapstone registry serve`.
#[derive(Debug, clap::Args)]
#[command(after_help = SERVE_EXAMPLES)]
struct ServeArguments {
    /// The registry's configuration file
    #[arg(long, short, value_name = "FILE")]
    config: PathBuf,
    /// Check the configuration and end
    #[arg(long)]
    check: bool,
}

/// Runs one command line, the program's name first, and says with which code to exit.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    match Arguments::try_parse_from(words) {
        Ok(arguments) => {
            let Command::Registry(command) = arguments.command;
            let outcome = match command {
                RegistryCommand::Serve(serving) => serve(&serving, arguments.log),
                RegistryCommand::Calls(asked) => calls_command::run(&asked),
                RegistryCommand::Find(wanted) => find_command::run(&wanted),
            };
            soapstone_cli::end(outcome.map(|()| ExitCode::SUCCESS))
        }
        Err(error) => soapstone_cli::explain(&error),
    }
}

fn serve(arguments: &ServeArguments, log: LogArguments) -> Result<(), Failure> {
    let config = Config::load(&arguments.config, &|name| std::env::var(name).ok())?;
    if arguments.check {
        let file = arguments.config.display();
        return files::print(format!("{file}: no problem found\n"));
    }
    log.start(config.log());
    runtime::multi_threaded()?.block_on(async {
        // Who reads the addresses may tell us to stop at once.
        let stop = runtime::stop_requested();
        let running = start(config).await.map_err(Failure::new)?;
        let mut said = format!("registry at {} (Ctrl-C stops it)\n", running.address());
        if let Some(address) = running.inquiry() {
            said.push_str(&format!("inquiries at {address}\n"));
        }
        if let Some(address) = running.ganglia() {
            said.push_str(&format!("metrics for Ganglia at {address}\n"));
        }
        if let Some(address) = running.calls() {
            said.push_str(&format!("log of calls at {address}\n"));
        }
        files::print(said)?;
        let failed = tokio::select! {
            () = stop => false,
            () = running.failed() => true,
            never = running.follow_files() => match never {},
        };
        running.shutdown().await;
        match failed {
            true => Err(Failure::new(BROKEN)),
            false => Ok(()),
        }
    })
}

#[cfg(test)]
#[path = "../../cli/tests/common/teaching.rs"]
mod teaching;
