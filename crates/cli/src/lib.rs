//! The `soapstone` command as a library: arguments in, exit code out.
//!
//! [`arguments`] says what can be typed, and [`container`] what can be typed in the gateway's
//! container; each command is one file below [`commands`]; [`Failure`]
//! is the one way in which a command can end other than well. What commands share is beside them:
//! reading and writing of files ([`files`]), passwords ([`password`]), tables for people
//! ([`table`]), log lines ([`logging`]), the runtime of servers ([`runtime`]), answers of admin
//! listeners ([`admin`]) and the allocator.
//! The commands of `soapstone-lab` and `soapstone-registry` go to these programs ([`sibling`]),
//! which share this library.
//!
//! The rule kept here: standard output carries results only; everything said to people about how it
//! went is on standard error.
#![forbid(unsafe_code)]

pub mod admin;
mod allocator;
pub mod arguments;
pub mod commands;
pub mod container;
mod dump;
pub mod failure;
pub mod files;
pub mod logging;
mod package;
pub mod password;
pub mod runtime;
pub mod sibling;
pub mod suites;
pub mod table;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use arguments::Arguments;
use failure::Failure;

/// Runs one command line, the program's name first, and says with which code to exit.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    let words: Vec<OsString> = words.into_iter().collect();
    if let Some(reason) = commands::xml::spelling::absent(&words) {
        return end(Err(Failure::new(reason)));
    }
    let words = commands::xml::spelling::normalize(words);
    if let Some(program) = sibling::helps(&words) {
        return end(sibling::run(program, &words));
    }
    match Arguments::try_parse_from(&words) {
        Ok(arguments) => end(commands::run(arguments, &words)),
        Err(error) => explain(&error),
    }
}

/// Has the last lines of the log written, and says how a command ended, if not well.
pub fn end(outcome: Result<ExitCode, Failure>) -> ExitCode {
    soapstone_gateway::flush_log();
    outcome.unwrap_or_else(|failure| {
        failure.report(&mut std::io::stderr().lock());
        ExitCode::from(failure.exit_code())
    })
}

/// Prints what the argument parser has to say: help that was asked for, or what is wrong with the
/// arguments.
pub fn explain(error: &clap::Error) -> ExitCode {
    // Nobody is left to be told when the terminal is gone.
    let _ = error.print();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::SUCCESS,
        _ => ExitCode::from(failure::FAILED),
    }
}
