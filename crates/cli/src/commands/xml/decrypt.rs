//! `soapstone xml decrypt`: one encrypted element.
//!
//! The rule kept here: every failure on the way from a key to the plaintext is told as the same
//! one.

use soapstone_xmltools::generic;

use super::operation::{self, OperationArguments};
use crate::failure::Failure;
use crate::files;

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Decrypt an encrypted element: the first one of the document, or the one that --node-id, --node-name or --node-xpath leads to.

The result is the document with the plaintext in its place; or the plaintext alone, where its Type does not say that it is XML.";

const EXAMPLES: &str = "\
Examples:
  soapstone xml decrypt --privkey-pem key.pem encrypted.xml
  soapstone xml decrypt --pkcs12 key.p12 --password-env PASSWORD --output plain.xml encrypted.xml
  soapstone xml decrypt --aeskey key.bin encrypted.xml";

/// Arguments of `soapstone xml decrypt`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    operation: OperationArguments,
}

/// Decrypts one element.
///
/// # Errors
/// Why it cannot be decrypted.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let mut operation = arguments.operation.prepare()?;
    let input = std::mem::take(&mut operation.input);
    let decrypted = operation
        .session(|session| generic::decrypt(&input, session))
        .map_err(|error| operation::failure(&error))?;
    files::write(arguments.operation.output(), &decrypted.octets)
}
