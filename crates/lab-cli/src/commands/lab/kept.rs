//! A folder that keeps what a run measured: a manifest of the run, and its lines of JSON.
//!
//! The rule kept here: nothing that was measured is overwritten; only half a point, which a run
//! that was killed left, is cut off.

use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use soapstone::crypto::{DigestAlgorithm, digest, hexadecimal};
use soapstone::wss::{Buffering, Tuning};
use soapstone_lab::study::{self, LineError, Options, Record, Scale, Stack};

use super::cores::Cores;
use crate::failure::Failure;
use crate::files::{self, Existing, Privacy};

const MANIFEST: &str = "manifest.json";
const LINES: &str = "lines.jsonl";

/// What runs must have in common to be one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Asked {
    soapstone: String,
    /// Of the program.
    revision: String,
    /// Studies, or experiments of them.
    subjects: Vec<String>,
    filter: Vec<String>,
    /// Only points of headline claims.
    #[serde(default)]
    claims: bool,
    scale: Scale,
    /// Version of each; nothing, where it is ours.
    stacks: BTreeMap<Stack, Option<String>>,
    /// Those that are there.
    databases: Vec<String>,
    seed: u64,
    /// What the engine does, unless a point says otherwise.
    tuning: String,
    machine: Machine,
    /// Which processors are whose; nothing, where everybody has all of them.
    cores: Option<Cores>,
    /// Whether services and gateways have processes of their own.
    #[serde(default)]
    own_processes: bool,
    /// What files and messages the user's own calls are of, as a digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    own_calls: Option<String>,
}

/// Where it ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Machine {
    /// Of the processors; nothing, where the system does not tell.
    model: Option<String>,
    processors: usize,
    system: String,
    /// Of the kernel.
    release: Option<String>,
}

/// What the folder tells of the run.
#[derive(Debug, Serialize, Deserialize)]
struct Manifest {
    #[serde(flatten)]
    asked: Asked,
    /// When it began.
    began: String,
    /// The load of the machine then, over 1, 5 and 15 minutes.
    load: Option<String>,
}

/// The lines of a run, kept as they come.
pub(super) struct Kept {
    folder: PathBuf,
    file: File,
    /// The points that it held before.
    pub(super) measured: Vec<Record>,
}

impl Asked {
    /// What these options ask for, with versions of stacks and the databases that are there, and
    /// what runs where.
    ///
    /// # Errors
    /// The program cannot be read.
    pub(super) fn new(
        subjects: Vec<String>,
        options: &Options,
        (versions, databases): (&BTreeMap<Stack, String>, Vec<String>),
        (cores, own_processes): (Option<Cores>, bool),
    ) -> Result<Self, Failure> {
        let stacks = options.scope.stacks.iter();
        let stacks = stacks.map(|stack| (*stack, versions.get(stack).cloned()));
        Ok(Self {
            soapstone: env!("CARGO_PKG_VERSION").to_owned(),
            revision: revision()?,
            subjects,
            filter: options.filter.clone(),
            claims: options.claims,
            scale: options.scope.scale,
            stacks: stacks.collect(),
            databases,
            seed: options.seed,
            tuning: in_words(&Tuning::default()),
            machine: Machine::this(),
            cores,
            own_processes,
            own_calls: None,
        })
    }

    /// The same of the user's own calls, which this is a digest of.
    pub(super) fn with_own_calls(self, own_calls: Option<String>) -> Self {
        Self { own_calls, ..self }
    }

    /// The name of a folder for such a run that begins now: `2026-11-21T20-15-00Z-mchale2012-3`.
    fn folder(&self) -> String {
        let subject = match self.subjects.as_slice() {
            [one] => one.replace('/', "-"),
            // More than one are all of them.
            _ => "all".to_owned(),
        };
        let now = Timestamp::now().strftime("%Y-%m-%dT%H-%M-%SZ");
        format!("{now}-{subject}")
    }
}

impl Kept {
    /// Goes on in the newest folder of `results` that holds a part of the same run, as long as
    /// `is_part` says that something is left of it, or begins a new one there.
    pub(super) fn newest(
        results: &Path,
        asked: &Asked,
        is_part: &dyn Fn(&[Record]) -> bool,
    ) -> Result<Self, Failure> {
        let unusable = |error: std::io::Error| {
            Failure::file(results, format_args!("no run can be kept there: {error}"))
        };
        std::fs::create_dir_all(results).map_err(unusable)?;
        let mut found = Vec::new();
        for entry in std::fs::read_dir(results).map_err(unusable)? {
            let folder = entry.map_err(unusable)?.path();
            // A folder whose manifest is not one of ours is somebody else's.
            if let Ok(there) = manifest(&folder)
                && there.asked == *asked
            {
                found.push((there.began, folder));
            }
        }
        if let Some((_, folder)) = found.into_iter().max() {
            // One that cannot be gone on with, because another process does or because it is
            // damaged, is left as it is.
            if let Ok(kept) = Self::open(&folder, asked)
                && is_part(&kept.measured)
            {
                return Ok(kept);
            }
        }
        let name = asked.folder();
        let mut folder = results.join(&name);
        for number in 2.. {
            if !folder.exists() {
                break;
            }
            folder = results.join(format!("{name}-{number}"));
        }
        Self::open(&folder, asked)
    }

    /// Begins a folder, or goes on with one that holds a part of the same run.
    pub(super) fn open(folder: &Path, asked: &Asked) -> Result<Self, Failure> {
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::file(folder, format_args!("no run can be kept there: {error}"))
        })?;
        let path = folder.join(MANIFEST);
        if path.exists() {
            if manifest(folder)?.asked != *asked {
                return Err(Failure::file(&path, "is of another run")
                    .with_hint("give each run a folder of its own"));
            }
        } else {
            let new = Manifest {
                asked: asked.clone(),
                began: Timestamp::now().to_string(),
                load: told("/proc/loadavg"),
            };
            let text = serde_json::to_string_pretty(&new).map_err(Failure::new)? + "\n";
            files::create(&path, text.as_bytes(), Privacy::Public, Existing::Keep)?;
        }
        let path = folder.join(LINES);
        let unusable = |error: std::io::Error| Failure::file(&path, error);
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .open(&path)
            .map_err(unusable)?;
        file.try_lock().map_err(|error| {
            Failure::file(&path, error).with_hint("another run may be keeping its lines there")
        })?;
        let text = String::from_utf8(files::read(Some(&path))?)
            .map_err(|error| Failure::file(&path, error))?;
        let (length, measured) = whole(&text).map_err(|error| Failure::file(&path, error))?;
        file.set_len(length as u64).map_err(unusable)?;
        Ok(Self {
            folder: folder.to_owned(),
            file,
            measured,
        })
    }

    /// Where it is.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Keeps the lines of a point.
    pub(super) fn keep(&mut self, lines: &str) -> Result<(), Failure> {
        self.file
            .write_all(lines.as_bytes())
            .and_then(|()| self.file.sync_data())
            .map_err(|error| Failure::new(format_args!("{LINES} cannot be written: {error}")))
    }
}

/// What a folder tells of the run in it.
fn manifest(folder: &Path) -> Result<Manifest, Failure> {
    let path = folder.join(MANIFEST);
    let text = files::read(Some(&path))?;
    serde_json::from_slice(&text).map_err(|error| Failure::file(&path, error))
}

/// The whole points at the front of the text, and its length up to their end.
fn whole(text: &str) -> Result<(usize, Vec<Record>), LineError> {
    let ended = text.rfind('\n').map_or(0, |last| last + 1);
    let mut records = study::read(&text[..ended])?;
    records.truncate(study::whole(&records));
    let mut length = 0;
    let mut left = records.len();
    for line in text.split_inclusive('\n') {
        if left == 0 {
            break;
        }
        length += line.len();
        left -= usize::from(!line.trim().is_empty());
    }
    Ok((length, records))
}

impl Machine {
    fn this() -> Self {
        let processors = told("/proc/cpuinfo").unwrap_or_default();
        let model = processors
            .lines()
            .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
            .map(|(_, model)| model.trim().to_owned());
        Self {
            model,
            processors: std::thread::available_parallelism().map_or(1, usize::from),
            system: format!("{} {}", std::env::consts::OS, std::env::consts::ARCH),
            release: told("/proc/sys/kernel/osrelease"),
        }
    }
}

/// What the engine does, key by key as endpoint files have them.
fn in_words(tuning: &Tuning) -> String {
    let on = |is: bool| if is { "on" } else { "off" };
    let derived = tuning
        .derived_keys
        .as_ref()
        .map_or("off".to_owned(), |kept| {
            format!(
                "for {} messages, in {} conversations",
                kept.messages, kept.conversations
            )
        });
    let buffering = match tuning.buffering {
        Buffering::Streaming => "streaming",
        Buffering::Buffered => "buffered",
    };
    format!(
        "canonical_runs {}, on_demand {}, buffering {buffering}, digest_cache {}, prehash {}, derived_keys {derived}",
        on(tuning.canonical_runs),
        on(tuning.on_demand),
        on(tuning.digest_cache.is_some()),
        on(tuning.prehash.is_some()),
    )
}

/// What a file of the system tells; nothing, where there is none.
fn told(file: &str) -> Option<String> {
    let text = std::fs::read_to_string(file).ok()?;
    Some(text.trim().to_owned())
}

/// The commit that this program was built at, with a + if a source was changed since, and where
/// nothing but the program itself tells which it is (a change, or no repository at all), the
/// beginning of its digest.
fn revision() -> Result<String, Failure> {
    /// Enough to tell builds apart.
    const DIGITS: usize = 16;
    let commit = option_env!("SOAPSTONE_REVISION").unwrap_or_default();
    if !commit.is_empty() && !commit.ends_with('+') {
        return Ok(commit.to_owned());
    }
    let program = std::env::current_exe().map_err(Failure::new)?;
    let octets = std::fs::read(&program).map_err(|error| Failure::file(&program, error))?;
    let digest = digest(DigestAlgorithm::Sha256, &octets).map_err(Failure::new)?;
    let digits = hexadecimal::encode(digest.as_ref());
    Ok(format!("{commit}program-{}", &digits[..DIGITS]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tuning_of_a_run_is_told_in_words() {
        assert_eq!(
            in_words(&Tuning::default()),
            "canonical_runs on, on_demand off, buffering streaming, digest_cache off, prehash off, \
             derived_keys for 65536 messages, in 1000 conversations"
        );
    }
}
