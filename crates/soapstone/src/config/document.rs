//! A configuration file as a whole: its text, what it refers to outside itself, and what was found
//! wrong with it.
//!
//! The rule kept here: reading never stops at the first problem; all of them come out together at
//! the end.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, Read as _};
use std::net::IpAddr;
use std::path::{Component, Path, PathBuf};

use super::confidential::Confidential;
use super::known_key::KnownKey;
use super::problem::{Place, Problem, Problems};
use super::profile;
use super::tree::Tree;
use super::warning::Warning;

/// Looks up an environment variable.
pub type Environment<'e> = dyn Fn(&str) -> Option<String> + 'e;

/// What a configuration file refers to outside itself.
pub struct Surroundings<'e> {
    /// The file's name, for messages. Relative paths in the file are relative to the folder of
    /// this.
    pub file: PathBuf,
    /// Where `password_env` and its like are looked up.
    pub environment: &'e Environment<'e>,
}

/// A file named in the configuration, read into memory.
#[derive(Clone, Debug)]
pub struct LoadedFile {
    /// Its path, made from the configuration's folder and the name written there.
    pub path: PathBuf,
    /// Its contents.
    pub bytes: Confidential<Vec<u8>>,
    /// Where the configuration names it.
    pub place: Place,
}

/// What a file was like when it was looked at: another state is another file, or other contents. A
/// file that is not there has a state too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileState(Option<[i64; 7]>);

impl FileState {
    /// What it is like now.
    pub fn of(path: &Path) -> Self {
        Self(
            std::fs::metadata(path)
                .ok()
                .map(|metadata| state(&metadata)),
        )
    }
}

/// Which file it is, its length, and when its contents and what is known of it changed: a file that
/// is moved into the place of another may be as old as that.
#[cfg(unix)]
fn state(metadata: &std::fs::Metadata) -> [i64; 7] {
    use std::os::unix::fs::MetadataExt;
    [
        metadata.dev().cast_signed(),
        metadata.ino().cast_signed(),
        metadata.size().cast_signed(),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    ]
}

#[cfg(not(unix))]
fn state(metadata: &std::fs::Metadata) -> [i64; 7] {
    let changed = metadata.modified().ok();
    let since = changed.and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let since = since.unwrap_or_default();
    let seconds = since.as_secs().cast_signed();
    let length = metadata.len().cast_signed();
    [0, 0, length, seconds, since.subsec_nanos().into(), 0, 0]
}

/// A file that another one names by a relative path, if it has no more than so many bytes.
/// Absolute paths and URLs are nowhere.
pub fn read_beside(file: &Path, uri: &str, most: usize) -> Option<Vec<u8>> {
    let relative = Path::new(uri);
    let plain = |part: Component<'_>| {
        matches!(
            part,
            Component::Normal(_) | Component::CurDir | Component::ParentDir
        )
    };
    if uri.contains("://") || !relative.components().all(plain) {
        return None;
    }
    read_at_most(&file.parent()?.join(relative), most).ok()
}

/// Longest configuration file, bytes.
const LONGEST_CONFIGURATION: usize = 16 << 20;

/// Longest file that a configuration names, bytes: some revocation lists have tens of millions.
pub(super) const LONGEST_NAMED: usize = 256 << 20;

/// Reads a file to its end, if that comes soon enough; a device may have none. What may be secret
/// is read into memory that need not grow, so that no part of it stays behind.
pub(super) fn read_at_most(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let too_large = || {
        let problem = format!("expected at most {most} bytes, found more");
        io::Error::new(io::ErrorKind::FileTooLarge, problem)
    };
    let file = File::open(path)?;
    let length = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
    if length > most {
        return Err(too_large());
    }
    let mut octets = Vec::with_capacity(length);
    let more = u64::try_from(most).unwrap_or(u64::MAX).saturating_add(1);
    file.take(more).read_to_end(&mut octets)?;
    if octets.len() > most {
        return Err(too_large());
    }
    Ok(octets)
}

/// A parsed configuration file, and what was found wrong with it so far.
pub struct Document<'e> {
    surroundings: Surroundings<'e>,
    pub(super) root: Tree,
    well_formed: bool,
    problems: RefCell<Vec<Problem>>,
    files: RefCell<Vec<(PathBuf, FileState)>>,
    known: RefCell<BTreeSet<KnownKey>>,
    warnings: RefCell<Vec<Warning>>,
}

impl<'e> Document<'e> {
    /// Reads and parses a file.
    ///
    /// # Errors
    ///
    /// One problem, when the file cannot be read or is not UTF-8. Bad TOML is reported by
    /// [`Self::finish`], beside everything that could be understood nevertheless.
    pub fn load(file: &Path, environment: &'e Environment<'e>) -> Result<Self, Problems> {
        let before = FileState::of(file);
        let text = read_at_most(file, LONGEST_CONFIGURATION).and_then(|octets| {
            String::from_utf8(octets)
                .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.utf8_error()))
        });
        let text = text.map_err(|error| {
            let whole_file = Place::default();
            let problem = Problem::new(
                file,
                whole_file,
                format!("the configuration file cannot be read: {error}"),
            );
            match error.kind() {
                std::io::ErrorKind::NotFound => {
                    problem.with_hint("check the path given with --config")
                }
                _ => problem,
            }
        })?;
        let surroundings = Surroundings {
            file: file.to_path_buf(),
            environment,
        };
        Ok(Self::parse_in(&text, surroundings, before))
    }

    /// Parses a text. What is wrong with its syntax is kept for [`Self::finish`].
    pub fn parse(text: &str, surroundings: Surroundings<'e>) -> Self {
        let state = FileState::of(&surroundings.file);
        Self::parse_in(text, surroundings, state)
    }

    fn parse_in(text: &str, surroundings: Surroundings<'e>, state: FileState) -> Self {
        let (mut root, mut errors) = Tree::parse(text);
        let other = if errors.is_empty() {
            None
        } else {
            other_language(text)
        };
        if other.is_some() {
            // The others follow from the first.
            errors.truncate(1);
        }
        let mut problems: Vec<Problem> = errors
            .into_iter()
            .map(|(place, message)| {
                let message = format!("not valid TOML: {message}");
                let problem = Problem::new(&surroundings.file, place, message);
                match other {
                    Some(hint) => problem.with_hint(hint),
                    None => problem,
                }
            })
            .collect();
        let well_formed = problems.is_empty();
        let given = profile::expand(&mut root).into_iter();
        problems.extend(given.map(|(place, message)| {
            Problem::new(&surroundings.file, place, message).with_hint(
                "leave it out, or say what the profile says with a mechanism of your own",
            )
        }));
        let files = RefCell::new(vec![(surroundings.file.clone(), state)]);
        Self {
            surroundings,
            root,
            well_formed,
            problems: RefCell::new(problems),
            files,
            known: RefCell::default(),
            warnings: RefCell::default(),
        }
    }

    /// Whether the whole text is TOML.
    pub fn is_well_formed(&self) -> bool {
        self.well_formed
    }

    /// An environment variable.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        (self.surroundings.environment)(name)
    }

    /// Notes that a file will be read, or should be. What it is like is looked at before, so that a
    /// change while it is read is a change.
    pub(super) fn note_file(&self, path: &Path) {
        let state = FileState::of(path);
        self.files.borrow_mut().push((path.to_path_buf(), state));
    }

    /// The file's name.
    pub fn file(&self) -> &Path {
        &self.surroundings.file
    }

    /// The file itself, and every file that it named so far and that was read, found or not, each
    /// as it was just before that.
    pub fn files(&self) -> Vec<(PathBuf, FileState)> {
        self.files.borrow().clone()
    }

    /// Notes that a key was asked for.
    pub(super) fn note_key(&self, key: KnownKey) {
        self.known.borrow_mut().insert(key);
    }

    /// Every key that was asked for so far, whether it is there or not.
    pub fn known_keys(&self) -> Vec<KnownKey> {
        self.known.borrow().iter().cloned().collect()
    }

    /// Notes a risk.
    pub fn warn(&self, warning: Warning) {
        let mut warnings = self.warnings.borrow_mut();
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }

    /// Warns of a secret that goes to a host without TLS, unless the host is this machine. IPv6
    /// comes without brackets.
    pub fn warn_of_clear_secret(&self, place: Place, key: &str, host: &str) {
        let is_this_machine = match host.parse::<IpAddr>() {
            Ok(address) => address.to_canonical().is_loopback(),
            Err(_) => host.eq_ignore_ascii_case("localhost"),
        };
        if is_this_machine {
            return;
        }
        let message = format!("`{key}` goes to {host} in the clear");
        let problem = Problem::new(self.file(), place, message);
        self.warn(Warning {
            name: "secret-in-the-clear",
            problem: problem.with_hint("speak TLS with that host"),
        });
    }

    /// Every risk that was noted so far, in the order of the file.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = self.warnings.borrow().clone();
        warnings.sort_by_key(|warning| (warning.problem.line, warning.problem.column));
        warnings
    }

    /// Notes a problem at a place.
    pub fn report(&self, problem: Problem) {
        self.problems.borrow_mut().push(problem);
    }

    /// Whether anything was found wrong so far.
    pub fn has_problems(&self) -> bool {
        !self.problems.borrow().is_empty()
    }

    /// Gives the result out, if nothing is wrong with the file.
    ///
    /// # Errors
    ///
    /// All the problems noted, in the order of the file.
    pub fn finish<T>(self, result: Option<T>) -> Result<T, Problems> {
        let mut problems = self.problems.into_inner();
        problems.sort_by_key(|problem| (problem.line, problem.column));
        problems.dedup();
        match result {
            Some(result) if problems.is_empty() => Ok(result),
            _ => Err(Problems(problems)),
        }
    }
}

/// What to tell somebody whose file is written in another language than TOML.
fn other_language(text: &str) -> Option<&'static str> {
    let mut lines = text.lines().map(str::trim);
    let first = lines.find(|line| !line.is_empty() && !line.starts_with('#'))?;
    if first.starts_with('{') {
        return Some(
            "this looks like JSON: a configuration file is TOML, as in listen = \"127.0.0.1:8443\"",
        );
    }
    if first.starts_with('<') {
        return Some(
            "this looks like XML: a configuration file is TOML, as in listen = \"127.0.0.1:8443\"",
        );
    }
    let (key, _) = first.split_once(':')?;
    let is_key = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    key.bytes().all(is_key).then_some(
        "this looks like YAML: a configuration file is TOML, as in listen = \"127.0.0.1:8443\"",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_does_not_end_is_not_read_to_its_end() {
        let folder = soapstone_testkit::Folder::new();
        let file = folder.path("endless.toml");
        let endless = File::create(&file).expect("the temporary folder is writable");
        // Without blocks of its own: as long as it says, and zeros.
        endless.set_len(1 << 40).expect("a length");
        let problems = Document::load(&file, &|_| None).map(|_| ()).unwrap_err();
        let told = problems.to_string();
        assert!(
            told.contains("cannot be read: expected at most 16777216 bytes, found more"),
            "{told}"
        );
    }
}
