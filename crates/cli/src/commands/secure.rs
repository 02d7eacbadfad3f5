//! `soapstone secure`: one plain message in, one secured message out.
//!
//! The rule kept here: what cannot be secured as the endpoint file says is not written at all.

use std::io::Write;
use std::path::PathBuf;

use jiff::Timestamp;
use soapstone::Securer;
use soapstone::endpoint::MaterialUse;
use soapstone::wss::SecureError;
use soapstone_gateway::OneLine;

use crate::failure::Failure;
use crate::files;
use crate::package::{self, Given};

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Secure one message: plain SOAP in, secured SOAP out.

The endpoint file says who we are, whom to encrypt to, and what is signed and encrypted, with which algorithms.

A file that begins with Content-Type: or MIME-Version: is a MIME package, a message with attachments. Its attachments are signed and \
encrypted as well, and a package is written.";

const EXAMPLES: &str = "\
Examples:
  soapstone secure --config client.toml request.xml -o secured.xml
  soapstone secure --config client.toml package.mime -o secured.mime
  cat request.xml | soapstone secure --config client.toml | curl --data-binary @- -H 'Content-Type: text/xml' URL

An endpoint file:
  [identity]
  key = \"client.key.pem\"
  certificate = \"client.cert.pem\"
  [peer]
  certificate = \"server.cert.pem\"
  [security]
  mechanism = \"sign-encrypt\"          # none, username, sign, encrypt, sign-encrypt, encrypt-sign
  suite = \"Basic256GCM\"";

/// Arguments of `soapstone secure`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The endpoint file
    #[arg(long, short, value_name = "FILE")]
    config: PathBuf,
    /// The plain message; standard input if none is named
    #[arg(value_name = "IN")]
    input: Option<PathBuf>,
    /// Where the secured message goes; standard output if not named
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
}

/// Secures one message.
///
/// # Errors
/// Every problem of the endpoint file, or why the message cannot be secured.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let securer = Securer::from_file(&arguments.config, &|name| std::env::var(name).ok())?;
    let (message, package) = (securer.limits().message, securer.largest_package());
    let source = package::source(arguments.input.as_deref(), message, package)?;
    let mut given = Given::of(source).map_err(Failure::new)?;
    warn(&securer, Timestamp::now());
    let message = std::mem::take(&mut given.message);
    let secured = securer.secure(message).map_err(|error| {
        let failure = Failure::new(format_args!("the message cannot be secured: {error}"));
        match error {
            SecureError::OperationUnclear { .. } => {
                failure.with_hint("name the operation: policy_subject = { operation = \"…\" }")
            }
            _ => failure,
        }
    })?;
    let file = given.file(secured.bytes, secured.parts);
    files::write(arguments.output.as_deref(), &file)
}

/// Tells of certificates whose time is not now: the receiver may refuse the message for them.
fn warn(securer: &Securer, now: Timestamp) {
    let clock = securer.clock(now);
    for dated in securer.dated() {
        let usage = dated.usage();
        // Whom we trust is not asked for here.
        if matches!(usage, MaterialUse::Identity | MaterialUse::Peer)
            && let Some(warning) = dated.warning(clock)
        {
            let (name, warning) = (usage.name(), OneLine(warning));
            // Nobody may be listening; the message is secured all the same.
            let _ = writeln!(std::io::stderr(), "soapstone: warning: {name}: {warning}");
        }
    }
}
