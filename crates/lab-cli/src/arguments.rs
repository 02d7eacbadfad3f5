//! The commands of the lab's program. The options that all commands share are those of `soapstone`,
//! and so is the test that every command teaches.
//!
//! Each command's own arguments are in its file below [`commands`](crate::commands). The rule kept
//! here: an example works as it stands when it is typed behind `soapstone`.

use clap::{Parser, Subcommand};

use crate::commands::{completions, demo, lab, services};
use crate::logging::LogArguments;

const ABOUT: &str = "\
Measures what WS-Security costs, shows it at work, and runs the sample services.

`soapstone lab`, `soapstone demo` and `soapstone services` are these commands: soapstone starts this program, which stands in the \
same folder or in PATH.";

const EXAMPLES: &str = "\
Examples:
  soapstone demo                  see calls travel through two gateways
  soapstone lab run all --quick   run every study at a glance
  soapstone lab advise --help     ask which mechanism to choose
  soapstone services              serve plain SOAP";

/// The command line.
#[derive(Debug, Parser)]
#[command(
    name = "soapstone-lab",
    version,
    about = "Soapstone's lab, demo and sample services",
    long_about = ABOUT,
    after_help = EXAMPLES,
    max_term_width = 110
)]
pub struct Arguments {
    /// How and how much is logged.
    #[command(flatten)]
    pub log: LogArguments,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Send real calls through two gateways, under each mechanism, and show what it costs
    #[command(long_about = demo::ABOUT)]
    Demo(demo::Arguments),
    /// Run the sample services alone (plain SOAP)
    #[command(long_about = services::ABOUT)]
    Services(services::Arguments),
    /// Measure what each security mechanism costs
    #[command(subcommand)]
    Lab(lab::Command),
    /// Run the studies' experiments on your own services and messages: `soapstone lab check`
    #[command(long_about = lab::check::ABOUT)]
    Check(lab::check::CheckArguments),
    /// Print a completion script for a shell
    Completions(completions::Arguments),
}

#[cfg(test)]
#[path = "../../cli/tests/common/teaching.rs"]
mod teaching;
