//! The commands, one file each.
//!
//! The rule kept here: a command returns; only [`run`](crate::run) turns its end into words and an
//! exit code.

pub mod agreements;
pub mod broker;
pub mod completions;
pub mod conform;
pub mod explain;
pub mod gateway;
pub mod init;
pub mod keys;
pub mod learn;
pub mod lint;
pub mod open;
pub mod policy;
pub mod secure;
pub mod xml;

use std::ffi::OsString;
use std::process::ExitCode;

use tracing::Level;

use crate::arguments::{Arguments, Command};
use crate::failure::Failure;
use crate::sibling;

/// Runs the command of a parsed command line, whose words, the program's name first, the commands
/// of the other program need.
///
/// # Errors
/// How it ended, if not well.
pub fn run(arguments: Arguments, words: &[OsString]) -> Result<ExitCode, Failure> {
    // Servers start logging themselves, with what their configuration says.
    let log = arguments.log;
    let quiet = || log.start_at(Level::WARN);
    match arguments.command {
        Command::Demo(_) | Command::Services(_) | Command::Lab(_) => {
            return sibling::run(sibling::LAB, words);
        }
        Command::Registry(_) => return sibling::run(sibling::REGISTRY, words),
        Command::Init(arguments) => {
            quiet();
            init::run(&arguments)
        }
        Command::Gateway(arguments) => gateway::run(arguments, log, Some(explain::refused)),
        Command::Secure(arguments) => {
            quiet();
            secure::run(arguments)
        }
        Command::Open(arguments) => {
            quiet();
            open::run(arguments)
        }
        Command::Policy(arguments) => {
            quiet();
            policy::run(arguments)
        }
        Command::Keys(command) => {
            quiet();
            keys::run(command)
        }
        Command::Xml(command) => {
            quiet();
            xml::run(*command)
        }
        Command::Explain(arguments) => {
            quiet();
            return explain::run(&arguments);
        }
        Command::Conform(arguments) => {
            quiet();
            return conform::run(&arguments);
        }
        Command::Learn(arguments) => {
            quiet();
            return learn::run(&arguments);
        }
        Command::Lint(arguments) => {
            quiet();
            return lint::run(&arguments);
        }
        Command::Broker(command) => {
            quiet();
            return broker::run(&command);
        }
        Command::Agreements(command) => {
            quiet();
            return agreements::run(&command);
        }
        Command::Completions(arguments) => return completions::run(arguments, words),
    }
    .map(|()| ExitCode::SUCCESS)
}
