//! The commands, one file each.
//!
//! The rule kept here: a command returns; only [`run`](crate::run) turns its end into words and an
//! exit code.

pub mod completions;
pub mod demo;
pub mod lab;
pub mod services;

use tracing::Level;

use crate::arguments::{Arguments, Command};
use crate::failure::Failure;

/// Runs the command of a parsed command line.
///
/// # Errors
/// How it ended, if not well.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    // The services start logging themselves, and the lab where it keeps a run.
    let log = arguments.log;
    match arguments.command {
        Command::Demo(arguments) => {
            log.start_at(Level::WARN);
            demo::run(arguments)
        }
        Command::Lab(command) => lab::run(command, log),
        Command::Check(arguments) => lab::run(lab::Command::Check(arguments), log),
        Command::Services(arguments) => services::run(arguments, log),
        Command::Completions(arguments) => completions::run(&arguments),
    }
}
