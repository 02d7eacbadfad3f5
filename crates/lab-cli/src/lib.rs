//! The `soapstone-lab` command as a library: the lab, the demo and the sample services.
//!
//! They are a program of their own, so that the program that faces the network has no driver of a
//! database and none of their code. `soapstone lab`, `soapstone demo` and `soapstone services`
//! start it with their own words. [`arguments`] says what can be typed, each command is one file
//! below [`commands`], and `testbed` has the services and gateways that calls are measured through.
//! Files, tables, log lines and failures are those of the library of `soapstone`.
//!
//! The rule kept here: standard output carries results only; everything said to people about how it
//! went is on standard error.
#![forbid(unsafe_code)]

pub mod arguments;
mod brokered;
pub mod commands;
mod progress;
mod testbed;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use soapstone_cli::{failure, files, logging, runtime, suites, table};

use arguments::Arguments;

/// Runs one command line, the program's name first, and says with which code to exit.
pub fn run(words: impl IntoIterator<Item = OsString>) -> ExitCode {
    match Arguments::try_parse_from(words) {
        Ok(arguments) => soapstone_cli::end(commands::run(arguments).map(|()| ExitCode::SUCCESS)),
        Err(error) => soapstone_cli::explain(&error),
    }
}
