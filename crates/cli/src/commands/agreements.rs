//! `soapstone agreements`: what a gateway recorded of violated agreements.
//!
//! The rule kept here: nothing is believed of a file but what its signatures prove, and whose
//! signatures count is said by whoever asks.

use std::fmt::Write;
use std::iter;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Map, Value, json};
use soapstone::crypto::{Certificate, TrustRules, TrustStore};
use soapstone_gateway::{Head, VerifiedRecord, verify_records};

use crate::failure::{Failure, REFUSED};
use crate::files;

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Verify and show what a gateway recorded of violated agreements.";

const EXAMPLES: &str = "\
Examples:
  soapstone agreements verify violations.xml --certificate gateway.cert.pem
  soapstone agreements verify violations.xml --certificate old.pem --certificate new.pem --json
  soapstone agreements verify violations.xml --certificate gateway.cert.pem --head 17:rg1…=";

/// What is done.
#[derive(Debug, Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Command {
    /// Verify every record of a file, and show what they say
    ///
    /// Each record is signed and names the digest of the one before, so that a record that was
    /// changed, taken out or put elsewhere is found. Records that were cut off at the end are
    /// found with `--head`: `/agreements` of the gateway's `admin` listener tells the last number
    /// and digest. The exit code is 2 if a record does not verify.
    #[command(after_help = EXAMPLES)]
    Verify(Arguments),
}

/// Arguments of `soapstone agreements verify`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The file of violation records
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// A certificate that may have signed records; give it again for those before a renewal
    #[arg(long, value_name = "FILE", required = true)]
    certificate: Vec<PathBuf>,
    /// The record that the file holds at least: its number and digest
    #[arg(long, value_name = "NUMBER:DIGEST", value_parser = head)]
    head: Option<Head>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn head(text: &str) -> Result<Head, String> {
    let (number, digest) = text
        .split_once(':')
        .ok_or("expected a number and a digest with a colon between them")?;
    let number = number.parse().map_err(|_| "expected a number first")?;
    let digest = digest.to_owned();
    Ok(Head { number, digest })
}

/// Does what was asked for.
///
/// # Errors
/// When a file cannot be read, or nothing can be printed.
pub fn run(command: &Command) -> Result<ExitCode, Failure> {
    let Command::Verify(arguments) = command;
    let mut rules = TrustRules::default();
    for file in &arguments.certificate {
        let contents = files::read(Some(file))?;
        let certificates = Certificate::from_file_contents(&contents);
        let certificates = certificates.map_err(|error| Failure::file(file, error))?;
        // Behind it is its chain.
        rules.pinned.extend(certificates.into_iter().take(1));
    }
    let trust = TrustStore::new(rules).map_err(Failure::new)?;
    let bytes = files::read(Some(&arguments.file))?;
    let verified = verify_records(&bytes, trust);
    let (records, found) = match verified {
        Ok(verified) => verified,
        Err(broken) => {
            files::print(refused(arguments, broken.line, &broken.error.to_string()))?;
            return Ok(ExitCode::from(REFUSED));
        }
    };
    if let Some(wanted) = &arguments.head {
        // Before the first record there is a head, too: a fresh gateway tells it.
        let fresh = Head::default();
        let mut heads = iter::once(&fresh).chain(records.iter().map(|record| &record.head));
        if !heads.any(|head| head == wanted) {
            let why = format!(
                "the record {} with this digest is not there: the file ends with {}",
                wanted.number, found.number
            );
            files::print(refused(arguments, records.len(), &why))?;
            return Ok(ExitCode::from(REFUSED));
        }
    }
    files::print(match arguments.json {
        true => as_json(&records, &found),
        false => as_text(&records, &found),
    })?;
    Ok(ExitCode::SUCCESS)
}

fn refused(arguments: &Arguments, line: usize, why: &str) -> String {
    match arguments.json {
        true => format!(
            "{:#}\n",
            json!({ "verified": false, "line": line, "reason": why })
        ),
        false => format!("{}:{line}: {why}\n", arguments.file.display()),
    }
}

fn as_text(records: &[VerifiedRecord], head: &Head) -> String {
    let mut text = String::new();
    for record in records {
        let part = |name| record.part(name).unwrap_or("-");
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{} {} agreement {} of {}: {} {}: promised {}, measured {} ({} of {} calls)",
            record.head.number,
            part("Time"),
            part("Agreement"),
            part("Client"),
            part("Party"),
            part("Obligation"),
            part("Promised"),
            part("Measured"),
            part("Violating"),
            part("Calls"),
        );
    }
    let _ = writeln!(
        text,
        "{} records verify; the last is {}:{}",
        records.len(),
        head.number,
        head.digest
    );
    text
}

fn as_json(records: &[VerifiedRecord], head: &Head) -> String {
    let record = |record: &VerifiedRecord| {
        let parts = record.parts.iter();
        let parts = parts.map(|(name, value)| (name.clone(), Value::from(value.as_str())));
        let mut shown: Map<String, Value> = parts.collect();
        shown.insert("number".to_owned(), record.head.number.into());
        shown.insert("signer".to_owned(), record.signer.as_str().into());
        Value::Object(shown)
    };
    let records: Vec<Value> = records.iter().map(record).collect();
    let shown = json!({
        "verified": true,
        "records": records,
        "head": { "number": head.number, "digest": head.digest },
    });
    format!("{shown:#}\n")
}
