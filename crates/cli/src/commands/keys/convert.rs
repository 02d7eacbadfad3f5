//! `soapstone keys convert`: from PEM, PKCS#12 and JKS to PEM and PKCS#12.
//!
//! The rule kept here: what is written was understood first; a key without its certificate, or the
//! reverse, is told and not written as half of a pair.

use std::path::{Path, PathBuf};

use soapstone::crypto::{Certificate, Identity, PrivateKey};

use super::entries::{self, Item, Passwords};
use crate::failure::Failure;
use crate::files::{self, Existing, Privacy};
use crate::password::{self, KeyPasswordArguments, PasswordArguments};

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Convert between PEM, PKCS#12 and JKS: PEM to PKCS#12, PKCS#12 to PEM, JKS to either.

The inputs are one keystore, or PEM and DER files that together hold a private key and its certificates. The name of the output says what is \
made: NAME.p12 or NAME.pfx is PKCS#12, NAME.pem is one PEM file with everything, any other NAME is NAME.key.pem and NAME.cert.pem.";

const EXAMPLES: &str = "\
Examples:
  soapstone keys convert client.key.pem client.cert.pem ca.cert.pem --to client.p12 --new-password-env PASSWORD
  soapstone keys convert client.p12 --password-env PASSWORD --to client
  soapstone keys convert old.jks --password-file password --alias client --to client.p12
  soapstone keys convert old.jks --password-file password --key-password-file key-password --to client.p12
  soapstone keys convert truststore.jks --password-file password --to anchors.pem";

/// Arguments of `soapstone keys convert`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// The files to read
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// What to make
    #[arg(long, value_name = "OUT")]
    to: PathBuf,
    /// The entry of the keystore to take, and the name of the entry that is made [default: its
    /// name in the input, or OUT's]
    #[arg(long, value_name = "NAME")]
    alias: Option<String>,
    #[command(flatten)]
    password: PasswordArguments,
    #[command(flatten)]
    key_password: KeyPasswordArguments,
    /// The environment variable that holds the password of what is made; without one, PKCS#12
    /// keeps the password of the input
    #[arg(long, value_name = "NAME", conflicts_with = "new_password_file")]
    new_password_env: Option<String>,
    /// The file whose first line is that password
    #[arg(long, value_name = "FILE")]
    new_password_file: Option<PathBuf>,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
}

/// What was read.
#[derive(Default)]
struct Material {
    keys: Vec<PrivateKey>,
    /// The name that the last of the keys had.
    alias: Option<String>,
    certificates: Vec<Certificate>,
    locked: bool,
}

/// Converts.
///
/// # Errors
/// [`Failure`] naming what cannot be read, written, or put together.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let password = arguments.password.read()?;
    let new_password = password::read(
        arguments.new_password_env.as_deref(),
        arguments.new_password_file.as_deref(),
    )?;
    let key_password = arguments.key_password.read()?;
    let passwords = Passwords {
        file: password.as_deref().map(String::as_str),
        key: key_password.as_deref().map(String::as_str),
    };
    let material = read(&arguments, passwords)?;
    let existing = if arguments.force {
        Existing::Replace
    } else {
        Existing::Keep
    };
    let extension = arguments
        .to
        .extension()
        .and_then(|extension| extension.to_str())
        .map(str::to_ascii_lowercase);
    if extension.as_deref() == Some("jks") {
        return Err(Failure::file(
            &arguments.to,
            "JKS is read only: expected NAME.p12, NAME.pem or NAME",
        )
        .with_hint("Java reads PKCS#12 wherever it reads JKS"));
    }
    if material.keys.is_empty() {
        let path = if extension.as_deref() == Some("pem") {
            arguments.to
        } else {
            with_suffix(&arguments.to, ".cert.pem")
        };
        let pem: String = material
            .certificates
            .iter()
            .map(Certificate::to_pem)
            .collect();
        return files::create(&path, pem.as_bytes(), Privacy::Public, existing);
    }
    let kept_alias = material.alias.clone();
    let identity = pair(material)?;
    let protection = new_password.as_deref().map(String::as_str);
    match extension.as_deref() {
        Some("p12" | "pfx") => {
            let password = new_password.or(password).ok_or_else(|| {
                Failure::new("a PKCS#12 file needs a password")
                    .with_hint("give it with --new-password-env or --new-password-file")
            })?;
            let alias = arguments
                .alias
                .as_deref()
                .or(kept_alias.as_deref())
                .or(arguments.to.file_stem().and_then(|stem| stem.to_str()));
            let file = identity
                .to_pkcs12(&password, alias.unwrap_or("key"))
                .map_err(Failure::new)?;
            files::create(&arguments.to, &file, Privacy::Secret, existing)
        }
        Some("pem") => {
            let mut pem = identity.key_to_pem(protection).map_err(Failure::new)?;
            pem.expose_mut()
                .extend_from_slice(identity.certificates_to_pem().as_bytes());
            files::create(&arguments.to, pem.expose(), Privacy::Secret, existing)
        }
        _ => write_pair(&arguments.to, &identity, protection, existing),
    }
}

/// Writes `NAME.key.pem` and `NAME.cert.pem`.
///
/// # Errors
/// [`Failure`] when a file is there already, or cannot be written.
pub fn write_pair(
    name: &Path,
    identity: &Identity,
    password: Option<&str>,
    existing: Existing,
) -> Result<(), Failure> {
    let (key, certificate) = (
        with_suffix(name, ".key.pem"),
        with_suffix(name, ".cert.pem"),
    );
    files::must_be_new([key.as_path(), certificate.as_path()], existing)?;
    let pem = identity.key_to_pem(password).map_err(Failure::new)?;
    files::create(&key, pem.expose(), Privacy::Secret, existing)?;
    files::create(
        &certificate,
        identity.certificates_to_pem().as_bytes(),
        Privacy::Public,
        existing,
    )
}

/// `name` with something behind it, whatever dots it has.
pub(super) fn with_suffix(name: &Path, suffix: &str) -> PathBuf {
    let mut name = name.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

fn read(arguments: &Arguments, passwords: Passwords<'_>) -> Result<Material, Failure> {
    let mut material = Material::default();
    let mut aliases: Vec<String> = Vec::new();
    for path in &arguments.files {
        for entry in entries::read(path, passwords)? {
            if let (Some(wanted), Some(alias)) = (&arguments.alias, &entry.alias) {
                if !aliases.contains(alias) {
                    aliases.push(alias.clone());
                }
                if wanted.to_lowercase() != alias.to_lowercase() {
                    continue;
                }
            }
            match entry.item {
                Item::PrivateKey(key) => {
                    material.keys.push(key);
                    material.alias = entry.alias;
                }
                Item::Certificate(certificate) if !material.certificates.contains(&certificate) => {
                    material.certificates.push(certificate);
                }
                Item::LockedKey => material.locked = true,
                Item::Certificate(_) | Item::PublicKey(_) => {}
            }
        }
    }
    if material.keys.is_empty() && material.locked {
        return Err(Failure::new(
            "the private key is encrypted and no password that opens it was given",
        )
        .with_hint(
            "give the password with --password-env or --password-file, and that of a keystore's key, where it has its own, with --key-password-env or --key-password-file",
        ));
    }
    if material.keys.is_empty() && material.certificates.is_empty() {
        let wanted = arguments.alias.as_deref().unwrap_or_default();
        return Err(Failure::new(format_args!(
            "expected the entry {wanted}, found {}",
            aliases.join(", ")
        )));
    }
    Ok(material)
}

/// The only key with its certificate, and behind it the path to its authority, nearest first.
fn pair(material: Material) -> Result<Identity, Failure> {
    let Material {
        mut keys,
        certificates: mut left,
        ..
    } = material;
    let key = match (keys.pop(), keys.is_empty()) {
        (Some(key), true) => key,
        _ => {
            return Err(Failure::new("expected one private key, found several")
                .with_hint("name the entry of the keystore with --alias; soapstone keys list shows their names"));
        }
    };
    let own = left
        .iter()
        .position(|one| one.public_key() == key.public_key())
        .ok_or_else(|| {
            Failure::new("no certificate belongs to the private key")
                .with_hint("name the file with its certificate, too")
        })?;
    let own = left.remove(own);
    let mut chain: Vec<Certificate> = Vec::new();
    loop {
        let last = chain.last().unwrap_or(&own);
        let issuer = left
            .iter()
            .position(|one| last.is_signed_by(one.public_key()) && !last.is_self_signed());
        match issuer {
            Some(issuer) => chain.push(left.remove(issuer)),
            None => break,
        }
    }
    chain.append(&mut left);
    Identity::new(key, own, chain).map_err(Failure::new)
}
