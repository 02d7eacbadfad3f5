//! `soapstone keys check`: which certificates and revocation lists need somebody's attention.
//!
//! The rule kept here: nobody is asked over the network. What revoked a certificate is a list that
//! is given, or an answer that a gateway has kept; both are verified.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use soapstone::crypto::Certificate;
use soapstone::crypto::trust::{AnswerError, RevocationCache, RevocationListFacts};
use soapstone::endpoint::MaterialUse;
use soapstone_gateway::{Config, OneLine};

use super::entries::{self, Item, Passwords};
use crate::failure::Failure;
use crate::files;
use crate::password::{KeyPasswordArguments, PasswordArguments};

/// What `--help` tells about it.
pub(crate) const ABOUT: &str = "\
Warn of certificates that expire, have expired, are not valid yet or were revoked, and of revocation lists that are out of date. Reads \
files and folders, and with --config whatever a gateway's file names. Nobody is asked over the network: give the lists with --crl, or the \
folder in which a gateway keeps answers with --kept. Ends with 1 if there is anything to warn of.";

const EXAMPLES: &str = "\
Examples:
  soapstone keys check service.cert.pem partners/
  soapstone keys check --config gateway.toml --days 60
  soapstone keys check client.p12 --password-env PASSWORD --crl ca.crl --json";

/// The endings of files that are read of a folder.
const ENDINGS: [&str; 7] = ["pem", "crt", "cer", "der", "p12", "pfx", "jks"];

/// Arguments of `soapstone keys check`.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Arguments {
    /// Files with certificates, and folders of such files
    #[arg(value_name = "FILE", required_unless_present = "config")]
    files: Vec<PathBuf>,
    /// Check whatever this gateway's file names, too
    #[arg(long, short, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Warn of what expires within so many days
    #[arg(long, value_name = "DAYS", default_value_t = 30, value_parser = clap::value_parser!(u32).range(0..=3650))]
    days: u32,
    /// A revocation list, PEM or DER
    #[arg(long, value_name = "FILE")]
    crl: Vec<PathBuf>,
    /// The folder in which a gateway keeps answers about revocation
    #[arg(long, value_name = "FOLDER")]
    kept: Vec<PathBuf>,
    #[command(flatten)]
    password: PasswordArguments,
    #[command(flatten)]
    key_password: KeyPasswordArguments,
    /// Print what was found as JSON
    #[arg(long)]
    json: bool,
}

/// Something to warn of.
#[derive(Serialize)]
struct Found {
    /// Stable name.
    name: &'static str,
    file: String,
    /// The subject of a certificate, the issuer of a list.
    subject: String,
    message: String,
}

/// A certificate and the file that it stands in.
struct Placed {
    file: PathBuf,
    certificate: Certificate,
}

/// Looks at everything, and warns.
///
/// # Errors
/// [`Failure`] naming the first file that cannot be read, or saying how much there is to warn of.
pub fn run(arguments: Arguments) -> Result<(), Failure> {
    let now = Timestamp::now();
    let mut certificates = certificates_of(&arguments)?;
    let mut lists = arguments.crl.clone();
    let mut folders = arguments.kept.clone();
    if let Some(file) = &arguments.config {
        let config = Config::load(file, &|name| std::env::var(name).ok())?;
        folders.extend(config.revocation_folder().map(Path::to_path_buf));
        for dated in config.dated() {
            let file = dated.file().to_path_buf();
            if dated.usage() == MaterialUse::Revocation && !lists.contains(&file) {
                lists.push(file);
            } else if let Some(certificate) = dated.certificate_itself().cloned() {
                certificates.push(Placed { file, certificate });
            }
        }
    }
    let mut seen = BTreeSet::new();
    certificates.retain(|it| seen.insert((it.file.clone(), it.certificate.thumbprint_sha256())));
    let mut found = Vec::new();
    let known = RevocationCache::default();
    for list in &lists {
        found.extend(take_list(&known, list, &certificates, now)?);
    }
    for folder in &folders {
        take_kept(&known, folder, now)?;
    }
    let ahead = SignedDuration::from_hours(24 * i64::from(arguments.days));
    for placed in &certificates {
        found.extend(judge(placed, &known, ahead, now));
    }
    tell(&found, certificates.len(), lists.len(), arguments.json)
}

fn tell(found: &[Found], certificates: usize, lists: usize, json: bool) -> Result<(), Failure> {
    if json {
        // Strings always have a JSON form.
        let text = serde_json::to_string_pretty(found).unwrap_or_default();
        files::print(text + "\n")?;
    } else {
        let lines = found
            .iter()
            .map(|it| format!("warning: {}: {}\n", it.file, OneLine(&it.message)));
        let mut text: String = lines.collect();
        if found.is_empty() {
            text = format!("{certificates} certificates and {lists} lists: nothing to warn of\n");
        }
        files::print(text)?;
    }
    match found.len() {
        0 => Ok(()),
        1 => Err(Failure::new("1 warning")),
        count => Err(Failure::new(format_args!("{count} warnings"))),
    }
}

/// The certificates of all files and folders that were named.
fn certificates_of(arguments: &Arguments) -> Result<Vec<Placed>, Failure> {
    let password = arguments.password.read()?;
    let key_password = arguments.key_password.read()?;
    let passwords = Passwords {
        file: password.as_deref().map(String::as_str),
        key: key_password.as_deref().map(String::as_str),
    };
    let mut certificates = Vec::new();
    for path in &arguments.files {
        let mut paths = vec![path.clone()];
        if path.is_dir() {
            paths = files_of(path, &ENDINGS)?;
        }
        for path in paths {
            for entry in entries::read(&path, passwords)? {
                if let Item::Certificate(certificate) = entry.item {
                    let file = entry.file;
                    certificates.push(Placed { file, certificate });
                }
            }
        }
    }
    Ok(certificates)
}

/// The files of a folder with one of these endings, in the order of their names.
fn files_of(folder: &Path, endings: &[&str]) -> Result<Vec<PathBuf>, Failure> {
    let entries = std::fs::read_dir(folder).map_err(|error| Failure::file(folder, error))?;
    let has_ending = |path: &PathBuf| {
        let ending = path.extension().and_then(|ending| ending.to_str());
        ending.is_some_and(|found| endings.iter().any(|it| found.eq_ignore_ascii_case(it)))
    };
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> = paths.filter(|it| has_ending(it) && it.is_file()).collect();
    paths.sort();
    Ok(paths)
}

/// Learns what a list revokes, if the certificate of its issuer is among those that are there.
fn take_list(
    known: &RevocationCache,
    path: &Path,
    certificates: &[Placed],
    now: Timestamp,
) -> Result<Option<Found>, Failure> {
    let bytes = files::read(Some(path))?;
    let facts = RevocationListFacts::of(&bytes).map_err(|error| Failure::file(path, error))?;
    let file = path.display().to_string();
    for issuer in certificates.iter().map(|it| &it.certificate) {
        if issuer.subject_name().to_string() == facts.issuer {
            known.want_list(&file, issuer, true);
        }
    }
    let found = |name, message| {
        Some(Found {
            name,
            file: file.clone(),
            subject: facts.issuer.clone(),
            message: format!("the revocation list of `{}` {message}", facts.issuer),
        })
    };
    Ok(match known.take_list(&file, &bytes, now) {
        Ok(_) => None,
        Err(AnswerError::Stale { since }) => {
            // Whom it revoked is revoked.
            match known.take_list(&file, &bytes, since) {
                Ok(_) => found("list-out-of-date", format!("is out of date since {since}")),
                Err(error) => found("list-unverified", format!("counts for nothing: {error}")),
            }
        }
        Err(AnswerError::NotAsked) => found(
            "list-unverified",
            "counts for nothing: the certificate of its issuer is not among those that are checked"
                .to_owned(),
        ),
        Err(error) => found("list-unverified", format!("counts for nothing: {error}")),
    })
}

/// Learns what a gateway has kept.
fn take_kept(known: &RevocationCache, folder: &Path, now: Timestamp) -> Result<(), Failure> {
    for path in files_of(folder, &["pem"])? {
        // An answer that does not count any more says nothing: the gateway asks again.
        let _ = known.restore(&files::read(Some(&path))?, now);
    }
    Ok(())
}

fn judge(
    placed: &Placed,
    known: &RevocationCache,
    ahead: SignedDuration,
    now: Timestamp,
) -> Vec<Found> {
    let certificate = &placed.certificate;
    let subject = certificate.subject_name().to_string();
    let found = |name, what: String| Found {
        name,
        file: placed.file.display().to_string(),
        message: format!("the certificate of `{subject}` {what}"),
        subject: subject.clone(),
    };
    let (first, last) = (certificate.not_before(), certificate.not_after());
    let mut all = Vec::new();
    if known.is_known_to_be_revoked(certificate) {
        all.push(found("revoked", "was revoked".to_owned()));
    }
    if now < first {
        all.push(found(
            "not-yet-valid",
            format!("is valid only from {first}"),
        ));
    } else if last < now {
        all.push(found("expired", format!("expired at {last}")));
    } else if last.duration_since(now) <= ahead {
        let days = last.duration_since(now).as_hours() / 24;
        all.push(found(
            "expires",
            format!("expires at {last}, in {days} days"),
        ));
    }
    all
}
