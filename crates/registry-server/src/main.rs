//! The `soapstone-registry` command: everything it does is in the library beside it.
//!
//! The rule kept here: the exit code is 0 (done) or 1 (anything else).
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    soapstone_registry_server::command::run(std::env::args_os())
}
