//! `soapstone lint`: messages, packages, descriptions and policies held against the WS-I profiles
//! and AS4.
//!
//! The rule kept here: findings go to standard output and the summary to standard error. A document
//! that cannot be read makes the exit code 1, whatever was found in the others.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use soapstone::config::read_beside;
use soapstone_lint::{Choice, LARGEST_PACKAGE as LARGEST, Profile, Report, Severity};

use crate::failure::{FAILED, Failure, REFUSED};
use crate::files;

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Hold messages, WSDLs and policies against the WS-I profiles, AS4 and good use of WS-SecurityPolicy.

FILE is a SOAP envelope, a WSDL 1.1 or a wsp:Policy. A file that begins with Content-Type: or MIME-Version: is a MIME package (SwA, MTOM), \
and one that begins with a line of HTTP is a recorded request or answer: the message in it is looked at, and so are the parts of a package. Without --profile the profiles that fit are taken: for an envelope the Basic \
Security Profile 1.1 and the Basic Profile of its SOAP version (1.2 or 2.0), AS4 if it has an ebMS header, and swa if it came in a package; for a WSDL the Basic Profiles and the use of policies. \
No key is needed and no signature is verified: `soapstone open` does that. Nothing is fetched: imports are read from the folder of FILE.

Each finding has its file, line and column, the rule, what was expected and found, and what to do. A MUST of a profile is an error; a \
SHOULD, a weak choice, and a rule that a message can only make likely to be broken, is a warning. docs/lint.md lists all rules.

The exit code is 0 if nothing was found, 2 if something was (--fail-on says what counts), and 1 if a file could not be looked at.";

const EXAMPLES: &str = "\
Examples:
  soapstone lint message.xml                         the profiles that fit
  soapstone lint --profile bsp requests/*.xml        the Basic Security Profile alone
  soapstone lint --profile as4,edelivery message.xml AS4, with the algorithms of eDelivery
  soapstone lint package.mime                        a message with its attachments
  soapstone lint --fail-on error service.wsdl        warnings are told and do not fail
  soapstone lint --sarif service.wsdl > lint.sarif   for code hosts and editors
  soapstone lint --rules                             every rule, with what to do about a breach
  soapstone secure --config client.toml in.xml | soapstone lint -";

/// Arguments of `soapstone lint`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Messages, WSDLs and policies; `-` is standard input
    #[arg(value_name = "FILE", required_unless_present = "rules")]
    files: Vec<PathBuf>,
    /// Only the rules of these profiles: bsp, bp11, bp12, bp20, policy, digikoppeling, as4,
    /// edelivery, swa
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    profile: Vec<Profile>,
    /// What makes the exit code 2
    #[arg(long, value_name = "WHAT", value_enum, default_value_t = FailOn::Warning)]
    fail_on: FailOn,
    /// Print JSON
    #[arg(long, group = "form")]
    json: bool,
    /// Print SARIF 2.1.0
    #[arg(long, group = "form")]
    sarif: bool,
    /// Print all rules as Markdown
    #[arg(long, conflicts_with_all = ["files", "form"])]
    rules: bool,
}

/// Which findings make the command fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FailOn {
    /// Errors
    Error,
    /// Errors and warnings
    Warning,
    /// Nothing
    Never,
}

impl FailOn {
    fn counts(self, report: &Report) -> bool {
        let errors = report.count(Severity::Error) > 0;
        match self {
            Self::Error => errors,
            Self::Warning => errors || report.count(Severity::Warning) > 0,
            Self::Never => false,
        }
    }
}

/// Looks for breaches of the profiles.
///
/// # Errors
/// When what was found cannot be printed.
pub fn run(arguments: &Arguments) -> Result<ExitCode, Failure> {
    if arguments.rules {
        files::print(soapstone_lint::rules_in_markdown())?;
        return Ok(ExitCode::SUCCESS);
    }
    let choice = match arguments.profile.as_slice() {
        [] => Choice::Fitting,
        profiles => Choice::Of(profiles.iter().copied().collect()),
    };
    let mut reports: Vec<(String, Report)> = Vec::new();
    let mut is_unread = false;
    let mut told = Ok(());
    for file in &arguments.files {
        match look(file, &choice) {
            Ok(report) => {
                let name = match file.as_path() {
                    path if path == Path::new("-") => "stdin".to_owned(),
                    path => path.display().to_string(),
                };
                if !arguments.json && !arguments.sarif && told.is_ok() {
                    told = files::print(soapstone_lint::text(&name, &report));
                }
                reports.push((name, report));
            }
            Err(failure) => {
                is_unread = true;
                failure.report(&mut std::io::stderr().lock());
            }
        }
    }
    if arguments.sarif {
        let log = soapstone_lint::sarif(env!("CARGO_PKG_VERSION"), &reports);
        told = files::print(format!("{log:#}\n"));
    } else if arguments.json {
        let all = reports.iter();
        let all: Vec<_> = all
            .map(|(name, report)| soapstone_lint::json(name, report))
            .collect();
        told = files::print(format!("{:#}\n", serde_json::Value::from(all)));
    }
    // Nobody is left to be told when this cannot be written.
    let _ = writeln!(std::io::stderr().lock(), "soapstone: {}", summary(&reports));
    let fails = reports
        .iter()
        .any(|(_, report)| arguments.fail_on.counts(report));
    // Whether anybody reads the findings or not, the exit code says what they come to.
    match (is_unread, fails) {
        (true, _) => Ok(ExitCode::from(FAILED)),
        (false, true) => Ok(ExitCode::from(REFUSED)),
        (false, false) => told.map(|()| ExitCode::SUCCESS),
    }
}

fn look(file: &Path, choice: &Choice) -> Result<Report, Failure> {
    let source = files::read_at_most(Some(file), LARGEST)?;
    let beside = |uri: &str| read_beside(file, uri, LARGEST);
    soapstone_lint::lint(source, choice, &beside).map_err(|error| Failure::file(file, error))
}

/// Such as `2 errors, 1 warning in 1 of 3 files`.
fn summary(reports: &[(String, Report)]) -> String {
    let count = |severity| -> usize {
        let of_each = reports.iter().map(|(_, report)| report.count(severity));
        of_each.sum()
    };
    let counted = |count: usize, one: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    if reports.is_empty() {
        return "no file was looked at".to_owned();
    }
    let files = counted(reports.len(), "file");
    if errors + warnings == 0 {
        return format!("nothing found in {files}");
    }
    let with = reports
        .iter()
        .filter(|(_, report)| FailOn::Warning.counts(report));
    let (errors, warnings) = (counted(errors, "error"), counted(warnings, "warning"));
    format!("{errors}, {warnings} in {} of {files}", with.count())
}
