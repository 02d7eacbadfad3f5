//! `soapstone keys new`: keys with certificates, and shared keys.
//!
//! The rule kept here: all files of a name are made, or none.

use std::net::IpAddr;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::NonEmptyStringValueParser;
use jiff::Timestamp;
use soapstone::crypto::issue::{self, Template, Validity};
use soapstone::crypto::{Certificate, Curve, Identity, KeyKind, PrivateKey, SecretBytes};

use super::convert::with_suffix;
use crate::failure::Failure;
use crate::files::{self, Existing, Privacy};
use crate::password::PasswordArguments;

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Make a key, and a certificate for it: NAME.key.pem and NAME.cert.pem, with --pkcs12 NAME.p12 too; with --symmetric a shared key instead, \
NAME.key.bin.

The certificate is signed by --signed-by, which is the name that an authority was made under, or by the key itself. It allows signatures \
and, where the key can do it, encryption: RSA keys both, elliptic curve keys both (they agree on keys), ed25519 only signatures, x25519 only \
encryption, so that its certificate takes an authority. Certificates between it and its authority follow it in NAME.cert.pem. With a password, \
the private key is encrypted in every file; the same password opens the key of the authority.";

const EXAMPLES: &str = "\
Examples:
  soapstone keys new ca --ca --subject \"CN=Example CA,O=Example\"
  soapstone keys new client --signed-by ca --pkcs12 --password-env PASSWORD
  soapstone keys new web --signed-by ca --san books.example --san 192.0.2.7 --days 90
  soapstone keys new signer --kind ec-p256 --subject CN=signer
  soapstone keys new reader --kind x25519 --signed-by ca
  soapstone keys new shared --symmetric 32";

/// How many days a certificate can be valid.
pub(crate) const VALID_DAYS: std::ops::RangeInclusive<i64> = 1..=36_500;

/// How many days a certificate is valid unless said otherwise.
pub(crate) const DAYS: u32 = 825;

/// The same of an authority's certificate.
pub(crate) const AUTHORITY_DAYS: u32 = 3650;

/// Arguments of `soapstone keys new`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// What the files are called; a path puts them elsewhere
    #[arg(value_name = "NAME")]
    name: PathBuf,
    /// The kind and size of the key
    #[arg(long, value_enum, value_name = "KIND", default_value = "rsa-2048")]
    kind: Kind,
    /// The subject of the certificate [default: CN=NAME]
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    subject: Option<String>,
    /// A further name of the subject: a host name, an IP address or a mail address
    #[arg(long, value_name = "NAME", value_parser = alternative_name)]
    san: Vec<String>,
    /// How long the certificate is valid [default: 825, or 3650 for an authority]
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(VALID_DAYS))]
    days: Option<u32>,
    /// From when on it is valid, instead of now: 2026-11-20T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = moment)]
    not_before: Option<Timestamp>,
    /// Make the certificate of an authority
    #[arg(long)]
    ca: bool,
    /// The authority that signs, by the name of its files
    #[arg(long, value_name = "NAME")]
    signed_by: Option<PathBuf>,
    /// Also make NAME.p12, a PKCS#12 file
    #[arg(long, requires = "PasswordArguments")]
    pkcs12: bool,
    /// Make a shared key of so many bytes instead
    #[arg(long, value_name = "OCTETS", value_parser = clap::value_parser!(u16).range(16..=1024),
        conflicts_with_all = ["kind", "subject", "san", "days", "not_before", "ca", "signed_by", "pkcs12"])]
    symmetric: Option<u16>,
    #[command(flatten)]
    password: PasswordArguments,
    /// Replace files that exist
    #[arg(long)]
    force: bool,
}

/// Kinds and sizes of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Kind {
    #[value(name = "rsa-2048")]
    Rsa2048,
    #[value(name = "rsa-3072")]
    Rsa3072,
    #[value(name = "rsa-4096")]
    Rsa4096,
    #[value(name = "ec-p256")]
    EcP256,
    #[value(name = "ec-p384")]
    EcP384,
    #[value(name = "ec-p521")]
    EcP521,
    #[value(name = "ec-brainpool-p256")]
    EcBrainpool256,
    #[value(name = "ec-brainpool-p384")]
    EcBrainpool384,
    #[value(name = "ec-brainpool-p512")]
    EcBrainpool512,
    #[value(name = "ed25519")]
    Ed25519,
    #[value(name = "x25519")]
    X25519,
}

impl From<Kind> for KeyKind {
    fn from(kind: Kind) -> Self {
        match kind {
            Kind::Rsa2048 => Self::Rsa { bits: 2048 },
            Kind::Rsa3072 => Self::Rsa { bits: 3072 },
            Kind::Rsa4096 => Self::Rsa { bits: 4096 },
            Kind::EcP256 => Self::Ec(Curve::P256),
            Kind::EcP384 => Self::Ec(Curve::P384),
            Kind::EcP521 => Self::Ec(Curve::P521),
            Kind::EcBrainpool256 => Self::Ec(Curve::Brainpool256),
            Kind::EcBrainpool384 => Self::Ec(Curve::Brainpool384),
            Kind::EcBrainpool512 => Self::Ec(Curve::Brainpool512),
            Kind::Ed25519 => Self::Ed25519,
            Kind::X25519 => Self::X25519,
        }
    }
}

fn moment(text: &str) -> Result<Timestamp, String> {
    text.parse()
        .map_err(|_| "expected a moment such as 2026-11-20T12:00:00Z".to_owned())
}

/// A subject alternative name, with or without the prefix that other tools want: `DNS:`, `IP:`,
/// `email:`.
fn alternative_name(text: &str) -> Result<String, String> {
    let (kind, name) = match text.split_once(':') {
        Some((kind @ ("DNS" | "IP" | "email"), name)) => (kind, name),
        _ => ("", text),
    };
    let is_address = name.parse::<IpAddr>().is_ok();
    let is_mail = name.contains('@') && !name.contains(char::is_whitespace);
    let is_host = !name.is_empty()
        && name
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || "-.*_".contains(character));
    let fits = match kind {
        "DNS" => is_host && !is_address,
        "IP" => is_address,
        "email" => is_mail,
        _ => is_address || is_mail || is_host,
    };
    if fits {
        Ok(name.to_owned())
    } else {
        Err(format!(
            "expected a host name, an IP address or a mail address, found \"{text}\""
        ))
    }
}

/// Makes a key.
///
/// # Errors
/// [`Failure`] naming what cannot be read, made or written.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let existing = if arguments.force {
        Existing::Replace
    } else {
        Existing::Keep
    };
    if let Some(octets) = arguments.symmetric {
        let path = with_suffix(&arguments.name, ".key.bin");
        files::create(
            &path,
            SecretBytes::random(octets.into()).expose(),
            Privacy::Secret,
            existing,
        )?;
        let what = format!("symmetric key of {octets} bytes: keep it secret");
        return tell(&[(path, what)]);
    }
    let password = arguments.password.read()?;
    let password = password.as_deref().map(String::as_str);
    let store = with_suffix(&arguments.name, ".p12");
    if arguments.pkcs12 {
        files::must_be_new([store.as_path()], existing)?;
    }
    let name = arguments
        .name
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or("key");
    let identity = issue(arguments, name, password)?;
    super::convert::write_pair(&arguments.name, &identity, password, existing)?;
    if let (true, Some(password)) = (arguments.pkcs12, password) {
        let octets = identity.to_pkcs12(password, name).map_err(Failure::new)?;
        files::create(&store, &octets, Privacy::Secret, existing)?;
    }
    let certificate = identity.certificate();
    let protection = match password {
        Some(_) => "encrypted",
        None => "not encrypted: keep it secret",
    };
    let whose = format!("certificate of {}", certificate.subject());
    let mut written = vec![
        (
            with_suffix(&arguments.name, ".key.pem"),
            format!("private key, {protection}"),
        ),
        (with_suffix(&arguments.name, ".cert.pem"), whose),
    ];
    if arguments.pkcs12 {
        written.push((store, "both, as PKCS#12".to_owned()));
    }
    tell(&written)
}

/// Says which files were written, and what is in them.
fn tell(written: &[(PathBuf, String)]) -> Result<(), Failure> {
    let lines = written
        .iter()
        .map(|(path, what)| format!("wrote {} ({what})\n", path.display()));
    match files::print(lines.collect::<String>()) {
        // They are written, whether anybody reads of it or not.
        Err(Failure::Unread) | Ok(()) => Ok(()),
        other => other,
    }
}

fn issue(arguments: &Arguments, name: &str, password: Option<&str>) -> Result<Identity, Failure> {
    let subject = arguments
        .subject
        .clone()
        .unwrap_or_else(|| format!("CN={name}"));
    let issuer = arguments
        .signed_by
        .as_deref()
        .map(|name| authority(name, password))
        .transpose()?;
    let order = Order {
        subject: &subject,
        kind: arguments.kind.into(),
        alternative_names: &arguments.san,
        authority: arguments.ca,
        not_before: arguments.not_before,
        days: arguments
            .days
            .unwrap_or(if arguments.ca { AUTHORITY_DAYS } else { DAYS }),
    };
    order.make(issuer.as_ref())
}

/// A key and a certificate for it that are to be made.
pub(crate) struct Order<'o> {
    /// Whose they are.
    pub(crate) subject: &'o str,
    /// The kind and size of the key.
    pub(crate) kind: KeyKind,
    /// Further names of the subject.
    pub(crate) alternative_names: &'o [String],
    /// Whether it may sign certificates of others.
    pub(crate) authority: bool,
    /// From when on the certificate is valid, instead of now.
    pub(crate) not_before: Option<Timestamp>,
    /// For how many days it is.
    pub(crate) days: u32,
}

impl Order<'_> {
    /// Makes them; without an issuer the certificate is signed by the key itself.
    ///
    /// # Errors
    /// [`Failure`] when the subject is no name, or the issuer cannot sign.
    pub(crate) fn make(&self, issuer: Option<&Identity>) -> Result<Identity, Failure> {
        let begin = self.not_before.unwrap_or_else(Timestamp::now);
        let mut validity = Validity::days(begin, self.days);
        if let Some(time) = self.not_before {
            validity.not_before = time;
        }
        let mut template = Template::new(self.subject, validity)
            .map_err(|error| {
                Failure::new(format_args!("the subject: {error}"))
                    .with_hint("for example --subject \"CN=client,O=Example\"")
            })?
            .with_alternative_names(self.alternative_names.iter().map(String::as_str));
        if matches!(self.kind, KeyKind::X25519) && (issuer.is_none() || self.authority) {
            return Err(
                Failure::new("an x25519 key agrees on keys and signs nothing, not even its own certificate")
                    .with_hint("let an authority sign it: --signed-by NAME; soapstone keys new NAME --ca makes one"),
            );
        }
        if self.authority {
            template = template.for_authority();
        }
        let made = match issuer {
            Some(issuer) => issue::identity(issuer, self.kind, &template),
            None => {
                PrivateKey::generate(self.kind).and_then(|key| issue::self_signed(key, &template))
            }
        };
        made.map_err(Failure::new)
    }
}

/// Reads the authority whose files have this name.
fn authority(name: &Path, password: Option<&str>) -> Result<Identity, Failure> {
    let (key_path, certificate_path) = (
        with_suffix(name, ".key.pem"),
        with_suffix(name, ".cert.pem"),
    );
    let key = files::read(Some(&key_path)).map_err(|failure| match bare_name(name) {
        Some(bare) => failure.with_hint(format!(
            "an authority is named without the ending of its files: --signed-by {bare}"
        )),
        None => failure,
    });
    let key = SecretBytes::new(key?);
    let key = PrivateKey::from_pem(key.expose(), password)
        .map_err(|error| Failure::file(&key_path, error))?;
    let certificates = files::read(Some(&certificate_path))?;
    let mut chain = Certificate::pem_chain(&certificates)
        .map_err(|error| Failure::file(&certificate_path, error))?;
    let certificate = chain.remove(0);
    if !certificate.is_authority() {
        return Err(Failure::file(
            &certificate_path,
            "expected the certificate of an authority, found one that may not sign others",
        )
        .with_hint("make an authority with soapstone keys new NAME --ca"));
    }
    Identity::new(key, certificate, chain).map_err(|error| Failure::file(&certificate_path, error))
}

/// What was meant where a file was named in the place of the authority that it is of.
fn bare_name(name: &Path) -> Option<&str> {
    let name = name.to_str()?;
    let mut endings = [".cert.pem", ".key.pem", ".pem", ".p12"].into_iter();
    endings.find_map(|ending| name.strip_suffix(ending))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternative_names_may_say_what_they_are() {
        for (text, name) in [
            ("books.example", "books.example"),
            ("DNS:*.example", "*.example"),
            ("IP:192.0.2.7", "192.0.2.7"),
            ("2001:db8::1", "2001:db8::1"),
            ("email:a@example.com", "a@example.com"),
        ] {
            assert_eq!(alternative_name(text).as_deref(), Ok(name));
        }
        for text in [
            "",
            "IP:books",
            "DNS:192.0.2.7",
            "email:books",
            "two words",
            "URI:urn:x",
        ] {
            let message =
                format!("expected a host name, an IP address or a mail address, found \"{text}\"");
            assert_eq!(alternative_name(text), Err(message));
        }
    }
}
