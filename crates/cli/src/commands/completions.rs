//! `soapstone completions`: scripts that let a shell complete our commands and options.
//!
//! The rule kept here: the script is made from the same definitions that parse the command line.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::failure::Failure;
use crate::files;

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

/// Prints the script.
///
/// # Errors
/// [`Failure`] when standard output is closed.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut crate::arguments::Arguments::command(),
        "soapstone",
        &mut script,
    );
    files::print(script)
}
