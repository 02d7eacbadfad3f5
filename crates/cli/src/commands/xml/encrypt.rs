//! `soapstone xml encrypt`: fills in an encryption template.
//!
//! The rule kept here: what is encrypted is named with an option; the file that is worked on is
//! always the template.

use std::path::PathBuf;

use soapstone_xmltools::generic::{self, PlainData, SessionKey};

use super::operation::{self, OperationArguments};
use crate::failure::Failure;
use crate::files;

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Fill in an encryption template: cipher values, and what KeyInfo has empty elements for.

The template is an xenc:EncryptedData that names its algorithms, with an empty CipherValue. With --xml-data the result is that \
document with an element (--node-id, --node-name, --node-xpath; the root if not named), or its content, encrypted as the template's Type says; \
with --binary-data it is the filled template.";

const EXAMPLES: &str = "\
Examples:
  soapstone xml encrypt --session-key aes-256 --pubkey-cert-pem cert.pem --xml-data in.xml template.xml
  soapstone xml encrypt --aeskey key.bin --xml-data in.xml --node-name urn:example:Card template.xml
  soapstone xml encrypt --aeskey key.bin --binary-data photo.jpg template.xml";

/// Arguments of `soapstone xml encrypt`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    #[command(flatten)]
    operation: OperationArguments,
    /// The document of which a part is encrypted
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present = "binary_data",
        conflicts_with = "binary_data"
    )]
    xml_data: Option<PathBuf>,
    /// The bytes that are encrypted
    #[arg(long, alias = "binary", value_name = "FILE")]
    binary_data: Option<PathBuf>,
    /// A new session key of this kind and size, such as aes-256 or des-192
    #[arg(long, value_name = "KIND-BITS", value_parser = session_key)]
    session_key: Option<SessionKey>,
}

fn session_key(text: &str) -> Result<SessionKey, String> {
    SessionKey::parse(text).map_err(|_| {
        format!("expected aes-128, aes-192, aes-256, des-192 or hmac-BITS, found \"{text}\"")
    })
}

/// Encrypts.
///
/// # Errors
/// Why the template cannot be filled in.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let mut operation = arguments.operation.prepare()?;
    let template = std::mem::take(&mut operation.input);
    let most = operation.options.limits.message;
    let (path, is_xml) = match (&arguments.xml_data, &arguments.binary_data) {
        (Some(path), _) => (Some(path), true),
        (None, path) => (path.as_ref(), false),
    };
    let octets = files::read_at_most(path.map(PathBuf::as_path), most)?;
    let data = if is_xml {
        PlainData::Xml(&octets)
    } else {
        PlainData::Octets(&octets)
    };
    let encrypted = operation
        .session(|session| generic::encrypt(&template, data, arguments.session_key, session))
        .map_err(|error| operation::failure(&error))?;
    files::write(arguments.operation.output(), &encrypted)
}
