//! `soapstone lab check`: the experiments of the studies on the user's own services and messages.
//!
//! The rule kept here: how many calls are made, and where, is told before the first one.

mod file;

use std::io::Write;
use std::path::PathBuf;

use soapstone_lab::studies;
use soapstone_lab::study::{Design, Scale, Scope, Stack};

use super::own_run::{Chosen, OwnRunArguments};
use super::study::Own;
use crate::failure::Failure;
use crate::files;
use crate::logging::LogArguments;
use file::Files;

pub(crate) const ABOUT: &str = "\
Run the studies' experiments on your own services and messages.

A file names a service and its requests: captured ones, or those that are made from a WSDL. Each call goes through two gateways on this \
machine, which secure it between them, to the service, and back: once without security, and once under each mechanism. Measured are the \
time of a call and its bytes, the calls after which a conversation pays, clients that call at once, and first calls. It ends with what to \
choose.

Every call is really made, some hundred times: name operations that only read, or a test system. `--dry-run` tells how many calls that are, \
and prints the requests.

Keys of the file: target, wsdl, ca, mechanisms, answers, calls, clients, conversation, newcomers; and for each [[operations]]: name, request, \
soap_action, target, answers. docs/check-your-services.md explains them.";

pub(super) const EXAMPLES: &str = "\
Examples:
  soapstone lab check calls.toml --dry-run
  soapstone lab check calls.toml -o calls.html
  soapstone lab check orders.toml stock.toml --quick --experiment 1

A file to begin with:
  target = \"http://127.0.0.1:9000/echo\"
  [[operations]]
  name = \"Echo\"
  request = \"echo.xml\"
  soap_action = \"urn:soapstone:services:echo:Echo\"";

/// Arguments of `soapstone lab check`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckArguments {
    /// Files that name services and requests
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Only this experiment: 1 calls, 2 conversations, 3 clients at once, 4 first calls
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=4))]
    experiment: Option<u8>,
    /// Only points with these segments in their name, such as an operation; all, if repeated
    #[arg(long, value_name = "SEGMENTS")]
    filter: Vec<String>,
    /// A glance: a third of the calls of the file
    #[arg(long)]
    quick: bool,
    /// Make no call: print the requests, and how many calls of each operation would be made
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    run: OwnRunArguments,
}

/// Checks.
///
/// # Errors
/// A file is wrong, a service does not answer as it answers without gateways, or something cannot
/// be written.
pub(super) fn run(arguments: &CheckArguments, log: LogArguments) -> Result<(), Failure> {
    let Files {
        mut own,
        calls,
        digest,
    } = file::read(&arguments.files)?;
    if arguments.quick {
        for count in [&mut own.calls, &mut own.newcomers] {
            *count = count.div_ceil(3);
        }
        for counts in [&mut own.clients, &mut own.conversations] {
            // The first and the last.
            if let [first, .., last] = counts[..] {
                *counts = vec![first, last];
            }
        }
    }
    let scope = Scope {
        scale: Scale::Full,
        stacks: vec![Stack::Soapstone],
        databases: Vec::new(),
        own: own.clone(),
        design: Design::default(),
    };
    let each = studies::own_calls(&scope, arguments.experiment) / own.operations.len() as u64;
    let mut targets: Vec<&str> = calls.iter().map(|it| it.url.as_str()).collect();
    targets.sort_unstable();
    targets.dedup();
    let told = format!(
        "{each} calls at most of each of these operations: {}; to {}",
        own.operations.join(", "),
        targets.join(", ")
    );
    if arguments.dry_run {
        let mut text = format!("{told}\n");
        for call in &calls {
            text.push_str(&format!(
                "\n{} to {}{}, {}, action \"{}\":\n{}\n",
                call.name,
                call.url,
                call.query,
                call.version.name(),
                call.soap_action,
                String::from_utf8_lossy(&call.message)
            ));
        }
        return files::print(text);
    }
    // A message that cannot be shown does not stop a measurement.
    let _ = writeln!(std::io::stderr(), "{told}");
    let own = Own {
        asked: own,
        calls,
        design: Design::default(),
        // A glance counts otherwise, and so is another run.
        digest: Some(if arguments.quick {
            digest + "-quick"
        } else {
            digest
        }),
    };
    let chosen = Chosen {
        study: studies::OWN,
        experiment: arguments.experiment,
        filter: &arguments.filter,
    };
    arguments
        .run
        .run(chosen, &own, log, |report| report.own_choice())
}
