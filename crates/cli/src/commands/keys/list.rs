//! `soapstone keys list`: what is in files of keys and certificates.
//!
//! The rule kept here: no private part of any key is ever shown.

use std::io::IsTerminal;
use std::path::PathBuf;

use serde::Serialize;
use soapstone::crypto::{DigestAlgorithm, KeyKind, PublicKey, digest, hexadecimal};

use super::entries::{self, Entry, Item, Passwords};
use crate::failure::Failure;
use crate::files;
use crate::password::{KeyPasswordArguments, PasswordArguments};
use crate::table::{Align, Table};

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Say what is in PEM, DER, PKCS#12 and JKS files: aliases, subjects, issuers, serial numbers, validity, kinds and sizes of keys, subject key \
identifiers and thumbprints.";

const EXAMPLES: &str = "\
Examples:
  soapstone keys list client.key.pem client.cert.pem
  soapstone keys list client.p12 --password-env PASSWORD
  soapstone keys list cacerts.jks --password-file password --json";

/// Arguments of `soapstone keys list`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    password: PasswordArguments,
    #[command(flatten)]
    key_password: KeyPasswordArguments,
    /// Print everything as JSON
    #[arg(long)]
    json: bool,
}

/// One key or certificate, as `--json` prints it.
#[derive(Serialize)]
struct Listed {
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    alias: Option<String>,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bits: Option<u32>,
    #[serde(flatten)]
    certificate: Option<CertificateListed>,
    /// Subject key identifier, hexadecimal; of a key without certificate the usual one (SHA-1 of
    /// the key's bits).
    #[serde(skip_serializing_if = "Option::is_none")]
    ski: Option<String>,
}

#[derive(Serialize)]
struct CertificateListed {
    subject: String,
    issuer: String,
    serial: String,
    not_before: String,
    not_after: String,
    authority: bool,
    thumbprint_sha1: String,
    thumbprint_sha256: String,
}

/// Lists the files' contents.
///
/// # Errors
/// [`Failure`] naming the first file that cannot be read.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let password = arguments.password.read()?;
    let key_password = arguments.key_password.read()?;
    let passwords = Passwords {
        file: password.as_deref().map(String::as_str),
        key: key_password.as_deref().map(String::as_str),
    };
    let mut listed = Vec::new();
    for path in &arguments.files {
        listed.extend(entries::read(path, passwords)?.iter().map(describe));
    }
    if arguments.json {
        // Strings and numbers always have a JSON form.
        let text = serde_json::to_string_pretty(&listed).unwrap_or_default();
        return files::print(text + "\n");
    }
    let emphasis = std::io::stdout().is_terminal();
    files::print(table(&listed).emphasized(emphasis).to_string())
}

fn describe(entry: &Entry) -> Listed {
    let with_key = |kind, key: &PublicKey| Listed {
        file: entry.file.display().to_string(),
        alias: entry.alias.clone(),
        kind,
        key: Some(name(key.kind())),
        bits: Some(key.bits()),
        certificate: None,
        ski: digest(DigestAlgorithm::Sha1, key.key_bits())
            .ok()
            .map(|digest| hexadecimal::encode(digest.as_ref())),
    };
    match &entry.item {
        Item::PrivateKey(key) => with_key("private-key", key.public_key()),
        Item::PublicKey(key) => with_key("public-key", key),
        Item::LockedKey => Listed {
            file: entry.file.display().to_string(),
            alias: entry.alias.clone(),
            kind: "locked-private-key",
            key: None,
            bits: None,
            certificate: None,
            ski: None,
        },
        Item::Certificate(certificate) => Listed {
            ski: Some(hexadecimal::encode(certificate.ski())),
            certificate: Some(CertificateListed {
                subject: certificate.subject().to_owned(),
                issuer: certificate.issuer().to_owned(),
                serial: certificate.serial_decimal().to_owned(),
                not_before: certificate.not_before().to_string(),
                not_after: certificate.not_after().to_string(),
                authority: certificate.is_authority(),
                thumbprint_sha1: hexadecimal::encode(&certificate.thumbprint_sha1()),
                thumbprint_sha256: hexadecimal::encode(&certificate.thumbprint_sha256()),
            }),
            ..with_key("certificate", certificate.public_key())
        },
    }
}

/// The kind of a key without its size.
fn name(kind: KeyKind) -> String {
    match kind {
        KeyKind::Rsa { .. } => "RSA".to_owned(),
        KeyKind::Dsa { .. } => "DSA".to_owned(),
        KeyKind::Ec(curve) => format!("EC {}", curve.name()),
        other => other.to_string(),
    }
}

fn table(listed: &[Listed]) -> Table {
    use Align::{Left, Right};
    let mut table = Table::new([
        ("file", Left),
        ("alias", Left),
        ("what", Left),
        ("key", Left),
        ("bits", Right),
        ("subject", Left),
        ("issuer", Left),
        ("serial", Right),
        ("until", Left),
        ("key identifier", Left),
        ("thumbprint (SHA-1)", Left),
    ]);
    for one in listed {
        let certificate = one.certificate.as_ref();
        let of = |field: fn(&CertificateListed) -> &str| {
            certificate.map(field).unwrap_or_default().to_owned()
        };
        table.row([
            one.file.clone(),
            one.alias.clone().unwrap_or_default(),
            match certificate {
                Some(certificate) if certificate.authority => "CA certificate".to_owned(),
                _ => one.kind.to_owned(),
            },
            one.key.clone().unwrap_or_default(),
            one.bits.map(|bits| bits.to_string()).unwrap_or_default(),
            of(|certificate| &certificate.subject),
            of(|certificate| &certificate.issuer),
            of(|certificate| &certificate.serial),
            // The day is enough for people.
            of(|certificate| certificate.not_after.split('T').next().unwrap_or_default()),
            one.ski.clone().unwrap_or_default(),
            of(|certificate| &certificate.thumbprint_sha1),
        ]);
    }
    table
}
