//! `soapstone completions`: scripts that let a shell complete our commands and options.
//!
//! The rule kept here: the script is made from the same definitions that parse the command line.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::failure::Failure;
use crate::files;
use crate::sibling;

const EXAMPLES: &str = "\
Examples:
  soapstone completions bash > ~/.local/share/bash-completion/completions/soapstone
  soapstone completions zsh > ~/.zfunc/_soapstone
  soapstone completions fish > ~/.config/fish/completions/soapstone.fish";

/// Arguments of `soapstone completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// For which shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Prints the script, with the commands of `soapstone-lab` if that program is there.
///
/// # Errors
/// [`Failure`] when standard output is closed.
pub fn run(arguments: Arguments, words: &[OsString]) -> Result<ExitCode, Failure> {
    if sibling::program(sibling::LAB).is_ok() {
        let asked = [OsString::from("--of-soapstone")];
        return sibling::run(sibling::LAB, &[words, &asked].concat());
    }
    let own = crate::arguments::Arguments::command();
    print(arguments.shell, own, sibling::SOAPSTONE).map(|()| ExitCode::SUCCESS)
}

/// Prints the script for a command line and the name of its program.
///
/// # Errors
/// [`Failure`] when standard output is closed.
pub fn print(shell: Shell, mut command: clap::Command, name: &str) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    files::print(script)
}
