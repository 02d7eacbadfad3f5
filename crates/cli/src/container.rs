//! The command line of `soapstone-container`: the commands of `soapstone` that a gateway needs in
//! its container.
//!
//! They run the gateway, look at it and at its keys, and secure and open single messages. Nothing
//! else of this library is reached from here, and the linker leaves out what is not reached: the
//! program is smaller, and has less that could be attacked.
//!
//! The rule kept here: a command of `soapstone` is here as it is there, or says where it is.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue};
use clap::{Parser, Subcommand};
use tracing::Level;

use crate::commands::{agreements, broker, gateway, keys, open, secure};
use crate::failure::Failure;
use crate::logging::LogArguments;
use crate::{end, explain};

const ABOUT: &str = "\
Soapstone seals SOAP messages.

This is the program of the gateway's container: a proxy before services and behind clients that know nothing of \
WS-Security (gateway), and what looks at it, at its keys and at single messages. The program of `make build` has \
further commands.";

const EXAMPLES: &str = "\
Examples:
  soapstone gateway --config gateway.toml --check   find every problem, start nothing
  soapstone gateway --config gateway.toml           secure a service without touching it
  soapstone keys check --config gateway.toml        what expires or was revoked
  soapstone open --config server.toml --json in.xml secured SOAP to a verdict

Exit codes:
  0  done, or the message was accepted
  2  the message was refused; the reason is on standard error
  1  anything else, wrong arguments included

`soapstone help COMMAND` says more about each command.";

/// The commands of `soapstone` that are not here.
const ABSENT: [&str; 12] = [
    "completions",
    "conform",
    "demo",
    "explain",
    "init",
    "lab",
    "learn",
    "lint",
    "policy",
    "registry",
    "services",
    "xml",
];

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "soapstone",
    version,
    about = "Soapstone seals SOAP messages: WS-Security as a proxy",
    long_about = ABOUT,
    after_help = EXAMPLES,
    max_term_width = 110
)]
struct Arguments {
    #[command(flatten)]
    log: LogArguments,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run gateways: give services and clients WS-Security without touching them
    #[command(long_about = gateway::ABOUT)]
    Gateway(gateway::Arguments),
    /// Show which of several backends a gateway may choose, and why
    #[command(subcommand, long_about = broker::ABOUT)]
    Broker(broker::Command),
    /// Verify and show what a gateway recorded of violated agreements
    #[command(subcommand, long_about = agreements::ABOUT)]
    Agreements(agreements::Command),
    /// Secure one message: plain SOAP in, secured SOAP out
    #[command(long_about = secure::ABOUT)]
    Secure(secure::Arguments),
    /// Open one message: secured SOAP in, a verdict and plain SOAP out
    #[command(long_about = open::ABOUT)]
    Open(open::Arguments),
    /// Make, list and convert keys and certificates
    #[command(subcommand)]
    Keys(keys::Command),
}

/// Runs one command line, the program's name first, and says with which code to exit.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    match Arguments::try_parse_from(words) {
        Ok(arguments) => end(obey(arguments)),
        Err(error) => match absent(&error) {
            Some(failure) => end(Err(failure)),
            None => explain(&error),
        },
    }
}

fn obey(arguments: Arguments) -> Result<ExitCode, Failure> {
    let log = arguments.log;
    if !matches!(arguments.command, Command::Gateway(_)) {
        log.start_at(Level::WARN);
    }
    match arguments.command {
        // It starts the log as its configuration says.
        Command::Gateway(arguments) => gateway::run(arguments, log, None),
        Command::Broker(command) => return broker::run(&command),
        Command::Agreements(command) => return agreements::run(&command),
        Command::Secure(arguments) => secure::run(arguments),
        Command::Open(arguments) => open::run(arguments),
        Command::Keys(command) => keys::run(command),
    }
    .map(|()| ExitCode::SUCCESS)
}

/// Where the command is that a command line asked for, if it is one of [`ABSENT`].
fn absent(error: &clap::Error) -> Option<Failure> {
    let ContextValue::String(asked) = error.get(ContextKind::InvalidSubcommand)? else {
        return None;
    };
    ABSENT.contains(&asked.as_str()).then(|| {
        Failure::new(format_args!(
            "the program of the gateway's container has no command {asked}"
        ))
        .with_hint(
            "`make build` makes soapstone, soapstone-lab and soapstone-registry, which have all commands",
        )
    })
}

#[cfg(test)]
#[expect(
    clippy::duplicate_mod,
    reason = "each program has arguments of its own"
)]
#[path = "../tests/common/teaching.rs"]
mod teaching;

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use clap::CommandFactory;

    use super::*;
    use crate::arguments;

    fn names(command: &clap::Command) -> BTreeSet<&str> {
        let commands = command.get_subcommands();
        commands.map(clap::Command::get_name).collect()
    }

    #[test]
    fn each_command_of_soapstone_is_here_or_says_where_it_is() {
        let (own, whole) = (Arguments::command(), arguments::Arguments::command());
        let absent: BTreeSet<_> = ABSENT.into_iter().collect();
        assert!(absent.is_disjoint(&names(&own)));
        assert_eq!(&absent | &names(&own), names(&whole));
    }

    #[test]
    fn a_command_that_is_here_has_the_words_that_it_has_in_soapstone() {
        let (own, whole) = (Arguments::command(), arguments::Arguments::command());
        for command in own.get_subcommands() {
            let there = whole.find_subcommand(command.get_name());
            let long_help =
                |command: &clap::Command| command.clone().render_long_help().to_string();
            assert_eq!(there.map(long_help), Some(long_help(command)));
        }
    }
}
