//! `soapstone lab design`: which of the user's own factors the time of calls comes from.
//!
//! The rule kept here: how many combinations are measured, and which, is told before the first
//! call.

use std::io::Write;

use soapstone_lab::studies;
use soapstone_lab::study::{Design, NoDesign};

use super::own_run::{Chosen, OwnRunArguments};
use super::study::Own;
use crate::failure::Failure;
use crate::files;
use crate::logging::LogArguments;

pub(crate) const ABOUT: &str = "\
Measure all combinations of factors with two levels each, and tell which of them the time of calls comes from.

Each --factor is NAME=LEVEL,LEVEL. Every combination of levels is measured on the sample services behind two gateways, in turns with the \
others, and the variation of mean times is allocated to factors, to factors together, and to errors, as in the study rodrigues2011 (2^k r \
designs). NAME=LEVEL is set in all combinations, and is no factor.

Names and levels: encryption and signature (off, on), or mechanism (such as sign, encrypt-sign, secure-conversation); suite (such as \
Basic128GCM, TripleDes); rsa (bits: 1024, 2048, 3072, 4096); tls (off, on); clients (at once); operation (sum, echo, employee, employees); \
bytes (the text of an echo). What is not named is signed and encrypted with Basic128GCM and RSA-2048 without TLS, by one client that calls \
sum.";

pub(super) const EXAMPLES: &str = "\
Examples:
  soapstone lab design --factor encryption=off,on --factor signature=off,on --factor clients=5,10
  soapstone lab design --factor rsa=1024,2048 --factor suite=TripleDes,Basic128GCM --factor clients=10
  soapstone lab design --factor mechanism=sign-encrypt,secure-conversation --factor bytes=1000,100000 --factor tls=off,on -o design.html";

/// Arguments of `soapstone lab design`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct DesignArguments {
    /// A factor and its two levels, such as rsa=1024,2048; with one level it does not vary
    #[arg(long, value_name = "NAME=LEVEL,LEVEL", required = true)]
    factor: Vec<String>,
    /// How often each combination is measured
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u32).range(2..=1000))]
    repetitions: u32,
    /// Calls of each client in a repetition, whose mean time is one sample
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=1000))]
    requests: u32,
    /// Make no call: print the combinations
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    run: OwnRunArguments,
}

/// Measures the design.
///
/// # Errors
/// The factors are no design, an answer is wrong, or something cannot be written.
pub(super) fn run(arguments: &DesignArguments, log: LogArguments) -> Result<(), Failure> {
    let design = Design::read(&arguments.factor, arguments.requests, arguments.repetitions);
    let design = design.map_err(|wrong: NoDesign| Failure::new(wrong))?;
    let names = design.names();
    let told = format!(
        "{} combinations, {} times each: {}\n",
        names.len(),
        arguments.repetitions,
        names.join("; ")
    );
    if arguments.dry_run {
        return files::print(told);
    }
    // A message that cannot be shown does not stop a measurement.
    let _ = std::io::stderr().write_all(told.as_bytes());
    let own = Own {
        design,
        digest: Some(format!(
            "{}, {} requests, {} repetitions",
            arguments.factor.join(" "),
            arguments.requests,
            arguments.repetitions
        )),
        ..Own::default()
    };
    let chosen = Chosen {
        study: studies::DESIGN,
        experiment: None,
        filter: &[],
    };
    arguments
        .run
        .run(chosen, &own, log, |report| report.own_factors())
}
