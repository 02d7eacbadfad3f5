//! `soapstone xml verify`: one signature, whatever it signs.
//!
//! The rule kept here: only a verified signature ends with exit code 0, and what was verified is
//! said.

use soapstone_gateway::OneLine;
use soapstone_xmltools::generic::{self, ReferenceReport, VerifyReport};

use super::operation::{self, OperationArguments};
use crate::failure::Failure;
use crate::files;

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Verify a signature: the first one of the document, or the one that --node-id, --node-name or --node-xpath leads to.

Keys are those given here; certificates in the message count when a path leads to a --trusted-pem certificate. A key that is merely \
written in the message is not used unless --enabled-key-data says so.";

const EXAMPLES: &str = "\
Examples:
  soapstone xml verify --pubkey-cert-pem signer.pem signed.xml
  soapstone xml verify --trusted-pem ca.pem --enabled-key-data x509 signed.xml
  soapstone xml verify --id-attr:Id urn:example:Order --hmackey key.bin signed.xml
  soapstone xml verify --hmackey key.bin --url-map:http://example.org/a a.xml signed.xml";

/// Arguments of `soapstone xml verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    operation: OperationArguments,
    /// Print the bytes that were digested for each reference, also when one of them does not
    /// match
    #[arg(long)]
    store_references: bool,
}

/// Verifies one signature.
///
/// # Errors
/// Why the signature is refused, or could not be looked at.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let mut operation = arguments.operation.prepare()?;
    operation.options.store_references = arguments.store_references;
    let input = std::mem::take(&mut operation.input);
    let mut looked_at = Vec::new();
    let verified = operation.session(|session| {
        generic::verify_observed(&input, session, &mut |it| looked_at.push(it.clone()))
    });
    let text = match &verified {
        Ok(report) => told(report),
        Err(_) if arguments.store_references => told_references(&looked_at, ""),
        Err(_) => Vec::new(),
    };
    if !text.is_empty() {
        files::write(arguments.operation.output(), &text)?;
    }
    match verified {
        Ok(_) => Ok(()),
        Err(error) => Err(operation::failure(&error)),
    }
}

fn told(report: &VerifyReport) -> Vec<u8> {
    let key = match (&report.key_subject, &report.key_name) {
        (Some(subject), _) => format!(", key of {}", OneLine(subject)),
        (None, Some(name)) => format!(", key {}", OneLine(name)),
        (None, None) => String::new(),
    };
    let mut text = format!("verified: {}{key}\n", report.method).into_bytes();
    text.extend(told_references(&report.references, ""));
    for manifest in &report.manifests {
        text.extend(told_references(&manifest.references, " of a manifest"));
    }
    text
}

fn told_references(references: &[ReferenceReport], of: &str) -> Vec<u8> {
    let mut text = Vec::new();
    for reference in references {
        let uri = OneLine(reference.uri.as_deref().unwrap_or("(no URI)"));
        text.extend_from_slice(
            match &reference.result {
                Ok(()) => format!("reference \"{uri}\"{of}: matches\n"),
                Err(error) => format!("reference \"{uri}\"{of}: {}\n", OneLine(error)),
            }
            .as_bytes(),
        );
        if let Some(octets) = &reference.octets {
            text.extend_from_slice(octets);
            text.push(b'\n');
        }
    }
    text
}
