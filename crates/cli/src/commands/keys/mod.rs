//! `soapstone keys`: keys and certificates, made, listed, checked and converted.
//!
//! The rule kept here: files with private keys are readable by their owner alone, and nothing is
//! overwritten without `--force`.

pub mod check;
pub mod convert;
mod entries;
pub mod list;
pub mod new;

use crate::failure::Failure;

const EXAMPLES: &str = "\
Examples:
  soapstone keys new ca --ca                           a certificate authority
  soapstone keys new client --signed-by ca             a key and a certificate from it
  soapstone keys new shared --symmetric 32             a shared key of 32 octets
  soapstone keys list client.p12 --password-env PASSWORD
  soapstone keys check --config gateway.toml --days 60  what expires or was revoked
  soapstone keys convert client.p12 --password-env PASSWORD --to client
  soapstone keys convert client.key.pem client.cert.pem --to client.p12 --new-password-env PASSWORD";

/// The commands below `soapstone keys`.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub enum Command {
    /// Make a key, and a certificate for it
    #[command(long_about = new::ABOUT)]
    New(new::Arguments),
    /// Say what is in PEM, DER, PKCS#12 and JKS files
    #[command(long_about = list::ABOUT)]
    List(list::Arguments),
    /// Warn of what expires, and of what was revoked
    #[command(long_about = check::ABOUT)]
    Check(check::Arguments),
    /// Convert between PEM, PKCS#12 and JKS
    #[command(long_about = convert::ABOUT)]
    Convert(convert::Arguments),
}

/// Runs one of them.
///
/// # Errors
/// How it ended, if not well.
pub fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::New(arguments) => new::run(&arguments),
        Command::List(arguments) => list::run(arguments),
        Command::Check(arguments) => check::run(arguments),
        Command::Convert(arguments) => convert::run(arguments),
    }
}
