//! `soapstone conform`: traffic held against one profile, rule by rule.
//!
//! The rule kept here: the report says what it is about: each document by its name and digest.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use jiff::Timestamp;
use soapstone::config::read_beside;
use soapstone::crypto::{DigestAlgorithm, digest, hexadecimal};
use soapstone_lint::{
    Choice, Conformance, Evidence, LARGEST_PACKAGE as LARGEST, Pairing, Profile, Profiles,
};

use crate::failure::{Failure, REFUSED};
use crate::files;

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Hold recorded traffic against one profile, and write a report with a verdict on every rule.

PROFILE is bsp, bp11, bp12, bp20, policy, digikoppeling, as4, edelivery or swa. TRAFFIC are recorded messages, alone or in MIME packages, and WSDLs where the profile is about these. Each \
rule is kept, broken, or not applicable: no document has what it is about. It is not looked at where a WSDL is too large for it. The report names every document with its SHA-256, its size, \
and the moment and message id that it says. It lists every breach with place, element, expected and found value, clause and remedy, and \
the rules of the profile that no message shows.

Requests and answers among the messages are paired: by wsa:RelatesTo, by a confirmed signature, or in the order of the files with \
--in-order, where WSDLs and policies are passed over. Each answer is held against its request. What no clause demands of an answer is \
a remark, which the exit code does not depend on.

No key is needed, and no signature is verified: `soapstone open` does that. The exit code is 0 if no rule is broken. It is 2 if one is, \
or if not all was looked at, and 1 if a document cannot be read.";

const EXAMPLES: &str = "\
Examples:
  soapstone conform bsp recorded/*.xml -o bsp.md
  soapstone conform digikoppeling request.xml answer.xml
  soapstone conform bsp request.xml answer.xml --in-order --confirmed
  soapstone conform bp11 service.wsdl --json";

/// Arguments of `soapstone conform`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The profile
    #[arg(value_name = "PROFILE")]
    profile: Profile,
    /// Messages and descriptions
    #[arg(value_name = "TRAFFIC", required = true)]
    traffic: Vec<PathBuf>,
    /// The messages are a request, its answer, the next request and so on; WSDLs and policies are
    /// not counted
    #[arg(long)]
    in_order: bool,
    /// Each answer has to confirm the signatures of its request, except a fault without a
    /// signature
    #[arg(long)]
    confirmed: bool,
    /// Where the report goes; standard output if not named
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write JSON, not Markdown
    #[arg(long)]
    json: bool,
}

/// Writes the report.
///
/// # Errors
/// When a document cannot be looked at, or the report cannot be written.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    let choice = Choice::Of(Profiles::of(arguments.profile));
    let mut traffic = Vec::new();
    for file in &arguments.traffic {
        traffic.push(evidence(file, &choice)?);
    }
    let pairing = Pairing {
        in_order: arguments.in_order,
        confirmed: arguments.confirmed,
    };
    let conformance =
        Conformance::of(arguments.profile, &traffic).with_exchanges(&traffic, pairing);
    let version = env!("CARGO_PKG_VERSION");
    let moment = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let made = format!("Made by soapstone {version} at {moment}.");
    let text = match arguments.json {
        true => {
            let mut report = conformance.json();
            report["made"] = made.into();
            report["program"] = format!("soapstone {version}").into();
            report["made_at"] = moment.into();
            format!("{report:#}\n")
        }
        false => conformance.markdown(&made),
    };
    files::write(arguments.output.as_deref(), text.as_bytes())?;
    Ok(match conformance.holds() {
        true => ExitCode::SUCCESS,
        false => ExitCode::from(REFUSED),
    })
}

fn evidence(file: &Path, choice: &Choice) -> Result<Evidence, Failure> {
    let source = files::read_at_most(Some(file), LARGEST)?;
    let sha256 =
        digest(DigestAlgorithm::Sha256, &source).map_err(|error| Failure::file(file, error))?;
    let bytes = source.len();
    let beside = |uri: &str| read_beside(file, uri, LARGEST);
    let report = soapstone_lint::lint(source, choice, &beside)
        .map_err(|error| Failure::file(file, error))?;
    Ok(Evidence {
        name: file.display().to_string(),
        digest: hexadecimal::encode(sha256.as_ref()),
        bytes,
        report,
    })
}
