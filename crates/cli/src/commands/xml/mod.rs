//! `soapstone xml`: single XML-Security operations with the flags of `xmlsec1`.
//!
//! Unlike the rest of Soapstone these work on any XML: with a DTD, with XPath transforms, with
//! references to other files. Nothing is ever fetched: what a document refers to is found through
//! `--url-map`, or below the folder of the input when local references are enabled. XSLT is
//! refused.
//!
//! The rule kept here: what `xmlsec1` does only on demand is done only on demand here, and under
//! the same name.

pub mod c14n;
pub mod decrypt;
pub mod encrypt;
mod keys;
mod operation;
mod resolver;
pub mod sign;
pub mod spelling;
pub mod verify;

use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  soapstone xml c14n --algorithm http://www.w3.org/2001/10/xml-exc-c14n# in.xml
  soapstone xml sign --privkey-pem key.pem,cert.pem --output signed.xml template.xml
  soapstone xml verify --pubkey-cert-pem cert.pem signed.xml
  soapstone xml encrypt --session-key aes-256 --pubkey-cert-pem cert.pem --xml-data in.xml template.xml
  soapstone xml decrypt --privkey-pem key.pem encrypted.xml

Options that xmlsec1 gives a name, as in --privkey-pem:NAME FILE, take it here, too.";

/// The commands below `soapstone xml`.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Command {
    /// Write the canonical form of a document or of a part of it
    #[command(long_about = c14n::ABOUT)]
    C14n(c14n::Arguments),
    /// Fill in a signature template
    #[command(long_about = sign::ABOUT)]
    Sign(sign::Arguments),
    /// Verify a signature
    #[command(long_about = verify::ABOUT)]
    Verify(verify::Arguments),
    /// Fill in an encryption template
    #[command(long_about = encrypt::ABOUT)]
    Encrypt(encrypt::Arguments),
    /// Decrypt an encrypted element
    #[command(long_about = decrypt::ABOUT)]
    Decrypt(decrypt::Arguments),
}

/// Runs one of them.
///
/// # Errors
/// How it ended, if not well.
pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::C14n(arguments) => c14n::run(arguments),
        Command::Sign(arguments) => sign::run(arguments),
        Command::Verify(arguments) => verify::run(arguments),
        Command::Encrypt(arguments) => encrypt::run(arguments),
        Command::Decrypt(arguments) => decrypt::run(arguments),
    }
}
