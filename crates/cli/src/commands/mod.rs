//! The commands, one file each.
//!
//! The rule kept here: a command returns; only [`run`](crate::run) turns its end into words and an exit code.

pub mod completions;
pub mod demo;
pub mod gateway;
pub mod init;
pub mod keys;
pub mod lab;
pub mod open;
pub mod policy;
pub mod secure;
pub mod services;
pub mod xml;

use tracing::Level;

use crate::arguments::{Arguments, Command};
use crate::failure::Failure;

/// Runs the command of a parsed command line.
///
/// # Errors
/// How it ended, if not well.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    // Servers start logging themselves, with what their configuration says, and the lab where it keeps a run.
    let log = arguments.log;
    let quiet = || log.start_at(Level::WARN);
    match arguments.command {
        Command::Demo(arguments) => {
            quiet();
            demo::run(arguments)
        }
        Command::Init(arguments) => {
            quiet();
            init::run(&arguments)
        }
        Command::Gateway(arguments) => gateway::run(arguments, log),
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
        Command::Lab(command) => lab::run(command, log),
        Command::Services(arguments) => services::run(arguments, log),
        Command::Xml(command) => {
            quiet();
            xml::run(*command)
        }
        Command::Completions(arguments) => completions::run(arguments),
    }
}
