//! `soapstone secure`: one plain message in, one secured message out.
//!
//! The rule kept here: what cannot be secured as the endpoint file says is not written at all.

pub(crate) mod told;

use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use soapstone::endpoint::MaterialUse;
use soapstone::mime::Message;
use soapstone::wss::{Outgoing, SecureError, Secured};
use soapstone::xml::Buffers;
use soapstone::{Call, Securer};
use soapstone_gateway::OneLine;

use crate::failure::Failure;
use crate::files;
use crate::package::{self, Given};
use told::Told;

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Secure one message: plain SOAP in, secured SOAP out.

The endpoint file says who we are, whom to encrypt to, and what is signed and encrypted, with which algorithms.

A file that begins with Content-Type: or MIME-Version: is a MIME package, a message with attachments. Its attachments are signed and \
encrypted as well, and a package is written.

With --explain the tree of what was done and why is on standard output, and the secured message only where -o says: the header in order, \
tokens, keys with what names them, and each signature with the transforms, canonical bytes and digests that it covers. Keys, passwords \
and what the message has encrypted are not shown. With --dump the canonical bytes are written as files, for you alone: they are the \
plaintext of what is encrypted. Files of an earlier message in the folder are removed. `soapstone explain --sent DIR` compares them with what arrived.";

const EXAMPLES: &str = "\
Examples:
  soapstone secure --config client.toml request.xml -o secured.xml
  soapstone secure --config client.toml package.mime -o secured.mime
  soapstone secure --config client.toml request.xml -o secured.xml --explain     what was done, and why
  soapstone secure --config client.toml request.xml -o secured.xml --explain --dump sent
  soapstone explain --sent sent arrived.xml                                      what arrived of it
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
    /// Print what was done and why
    #[arg(long)]
    explain: bool,
    /// Print it as JSON
    #[arg(long, requires = "explain")]
    json: bool,
    /// Write the canonical bytes of all that was signed into this folder, and the JSON
    #[arg(long, value_name = "DIR", requires = "explain")]
    dump: Option<PathBuf>,
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
    if !arguments.explain {
        let secured = securer.secure(message).map_err(unsecured)?;
        let file = given.file(secured.bytes, secured.parts);
        return files::write(arguments.output.as_deref(), &file);
    }
    let (secured, told) = explained(&securer, message)?;
    if let Some(output) = &arguments.output {
        let file = given.file(secured.bytes, secured.parts);
        files::write(Some(output), &file)?;
    }
    let input = arguments.input.as_deref();
    let name = input.filter(|input| *input != Path::new("-"));
    let name = name.map_or("stdin".into(), |input| input.display().to_string());
    if let Some(folder) = &arguments.dump {
        told::dump(folder, &name, &told.0)?;
    }
    files::print(match arguments.json {
        true => told::json(&name, &told.0),
        false => soapstone_explain::sent_text(&name, &told.0),
    })
}

/// Secures a message for a listener.
fn explained(securer: &Securer, message: Message) -> Result<(Secured, Told), Failure> {
    let (mut told, mut buffers) = (Told::default(), Buffers::default());
    let mut call = Call::new(Timestamp::now(), &mut buffers).observed(&mut told);
    let secured = securer.secure_with(message, Outgoing::default(), &mut call);
    Ok((secured.map_err(unsecured)?, told))
}

/// Why a message cannot be secured, as the end of the command.
fn unsecured(error: SecureError) -> Failure {
    let failure = Failure::new(format_args!("the message cannot be secured: {error}"));
    match error {
        SecureError::OperationUnclear { .. } => {
            failure.with_hint("name the operation: policy_subject = { operation = \"…\" }")
        }
        SecureError::DestinationUnknown => failure.with_hint(
            "say where messages go: addressing = { to = [\"https://…\"] } in [security]; a message with a `wsa:Action` keeps the addressing headers that it has",
        ),
        _ => failure,
    }
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
