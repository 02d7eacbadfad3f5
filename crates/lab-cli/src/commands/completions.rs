//! `soapstone-lab completions`: scripts that let a shell complete the commands and options of both
//! programs.
//!
//! The rule kept here: the script is made from the same definitions that parse the command lines.

use clap::CommandFactory;
use clap_complete::Shell;
use soapstone_cli::commands::completions::print;
use soapstone_cli::sibling::{LAB, SOAPSTONE};

use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  soapstone-lab completions bash > ~/.local/share/bash-completion/completions/soapstone-lab
  soapstone completions bash > ~/.local/share/bash-completion/completions/soapstone";

/// Arguments of `soapstone-lab completions`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// For which shell
    #[arg(value_enum)]
    shell: Shell,
    /// For `soapstone`, with the commands of this program as its own
    #[arg(long, hide = true)]
    of_soapstone: bool,
}

/// Prints the script.
///
/// # Errors
/// [`Failure`] when standard output is closed.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let own = crate::arguments::Arguments::command();
    if arguments.of_soapstone {
        print(arguments.shell, together(&own), SOAPSTONE)
    } else {
        print(arguments.shell, own, LAB)
    }
}

/// The command line of `soapstone`, with the commands that it passes on as they are here.
fn together(own: &clap::Command) -> clap::Command {
    let of_soapstone = soapstone_cli::arguments::Arguments::command();
    soapstone_cli::sibling::COMMANDS
        .iter()
        .filter_map(|name| own.find_subcommand(name))
        .fold(of_soapstone, |all, one| {
            all.mut_subcommand(one.get_name(), |_| one.clone())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_programs_together_are_consistent() {
        let together = together(&crate::arguments::Arguments::command());
        together.clone().debug_assert();
        let lab = together.find_subcommand("lab").expect("the lab");
        assert!(lab.find_subcommand("advise").is_some());
        assert!(together.find_subcommand("gateway").is_some());
    }
}
