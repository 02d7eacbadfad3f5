//! `soapstone xml sign`: fills in a signature template.
//!
//! The rule kept here: everything in the template that is not filled in stays as its author wrote
//! it.

use soapstone_xmltools::generic;

use super::operation::{self, OperationArguments};
use crate::failure::Failure;
use crate::files;

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Fill in a signature template: digests, signature value, and what KeyInfo has empty elements for.

The template is a document with a ds:Signature that names its algorithms and references, with empty DigestValue and SignatureValue.";

const EXAMPLES: &str = "\
Examples:
  soapstone xml sign --privkey-pem key.pem,cert.pem --output signed.xml template.xml
  soapstone xml sign --privkey-pem:partner key.pem template.xml       fills in <KeyName/> with partner
  soapstone xml sign --pkcs12 key.p12 --password-env PASSWORD template.xml
  soapstone xml sign --hmackey key.bin --id-attr:Id urn:example:Order template.xml";

/// Arguments of `soapstone xml sign`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    operation: OperationArguments,
}

/// Signs.
///
/// # Errors
/// Why the template cannot be filled in.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let mut operation = arguments.operation.prepare()?;
    let template = std::mem::take(&mut operation.input);
    let signed = operation
        .session(|session| generic::sign(&template, session))
        .map_err(|error| operation::failure(&error))?;
    files::write(arguments.operation.output(), &signed)
}
