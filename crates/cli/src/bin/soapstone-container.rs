//! The program of the gateway's container: everything it does is in the library beside it.
//!
//! The rule kept here: the exit code is 0 (done, or the message was accepted), 2 (the message was
//! refused) or 1 (anything else).
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    soapstone_cli::container::run(std::env::args_os())
}
