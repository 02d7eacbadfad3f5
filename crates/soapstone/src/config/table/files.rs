//! What a table names and does not hold: paths, files, secrets in files and variables.
//!
//! The rule kept here: files that hold no secrets are named where they cannot be read. The name of
//! a file with a secret is not repeated: it may be the secret itself.

use std::path::{Path, PathBuf};

use super::Table;
use crate::config::confidential::Confidential;
use crate::config::document::{LONGEST_NAMED, LoadedFile, read_at_most};
use crate::config::known_key::KeyKind;
use crate::config::problem::{Located, Problem};
use crate::config::quoting::{is_like_a_path, is_readable_by_everybody};
use crate::config::tree::Value;
use crate::config::warning::Warning;

/// Most files that are read of a folder: as many as certificates that are remembered as trusted.
const MOST_FILES: usize = 1024;

impl Table<'_> {
    /// A path, made absolute with the folder of the configuration file when it is relative.
    pub fn path(&mut self, key: &'static str) -> Option<Located<PathBuf>> {
        Some(
            self.text(key, KeyKind::Path)?
                .map(|text| self.resolve(&text)),
        )
    }

    /// A file that the key names, read.
    pub fn file(&mut self, key: &'static str) -> Option<LoadedFile> {
        let name = self.text(key, KeyKind::File)?;
        self.load(key, &name, true)
    }

    /// A file with a secret that the key names, read. Its name is not repeated where it cannot be
    /// read: it may be the secret itself.
    pub fn secret_file(&mut self, key: &'static str) -> Option<LoadedFile> {
        let name = self.text(key, KeyKind::SecretFile)?;
        let file = self.load(key, &name, false)?;
        if is_readable_by_everybody(&file.path) {
            let message = format!("every user of this host can read {}", file.path.display());
            let problem = Problem::new(self.document.file(), file.place, message);
            self.document.warn(Warning {
                name: "readable-secret",
                problem: problem.with_hint("let it be for its owner alone: chmod 600"),
            });
        }
        Some(file)
    }

    /// The files that an array names, read. A single string is accepted for an array of one. `None`
    /// when the key is absent.
    pub fn files(&mut self, key: &'static str) -> Option<Vec<LoadedFile>> {
        let names = match self.table.entry(key).map(|entry| &entry.value) {
            Some(Value::Text(_)) => vec![self.text(key, KeyKind::Files)?],
            _ => self.strings_of(key, KeyKind::Files)?,
        };
        let files = names.iter().filter_map(|name| self.load(key, name, true));
        Some(files.collect())
    }

    /// The same, where each name may also be that of a folder: its files with one of these endings
    /// are read, in the order of their names. Hidden files are passed over, and folders in it.
    pub fn files_or_folders(
        &mut self,
        key: &'static str,
        endings: &[&str],
    ) -> Option<Vec<LoadedFile>> {
        let names = match self.table.entry(key).map(|entry| &entry.value) {
            Some(Value::Text(_)) => vec![self.text(key, KeyKind::Files)?],
            _ => self.strings_of(key, KeyKind::Files)?,
        };
        let mut files = Vec::new();
        for name in &names {
            let path = self.resolve(&name.value);
            match path.is_dir() {
                true => files.extend(self.load_folder(key, name, &path, endings)),
                false => files.extend(self.load(key, name, true)),
            }
        }
        Some(files)
    }

    /// The files of a folder. The folder is noted, so that a file that comes or goes is a change.
    fn load_folder(
        &self,
        key: &str,
        name: &Located<String>,
        folder: &Path,
        endings: &[&str],
    ) -> Vec<LoadedFile> {
        self.document.note_file(folder);
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) => entries,
            Err(error) => {
                let folder = folder.display();
                let message = format!("`{key}` names {folder}, which cannot be read: {error}");
                self.report(name.place, message);
                return Vec::new();
            }
        };
        let has_ending = |path: &Path| {
            let ending = path.extension().and_then(|ending| ending.to_str());
            ending.is_some_and(|found| endings.iter().any(|it| found.eq_ignore_ascii_case(it)))
        };
        let is_hidden = |path: &Path| {
            let name = path.file_name().unwrap_or_default();
            name.as_encoded_bytes().starts_with(b".")
        };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        let mut paths: Vec<PathBuf> = paths
            .filter(|path| has_ending(path) && !is_hidden(path) && !path.is_dir())
            .collect();
        paths.sort();
        if paths.is_empty() || paths.len() > MOST_FILES {
            let message = format!(
                "`{key}` names the folder {}: expected 1 to {MOST_FILES} files that end in {}, found {}",
                folder.display(),
                endings.join(", "),
                paths.len()
            );
            self.report(name.place, message);
            return Vec::new();
        }
        let files = paths.into_iter().filter_map(|path| {
            let value = path.to_str()?.to_owned();
            let place = name.place;
            self.load(key, &Located { value, place }, true)
        });
        files.collect()
    }

    /// A secret text given as `key`, as `key_env` (an environment variable) or as `key_file` (its
    /// first line); at most one of them.
    pub fn secret(
        &mut self,
        key: &'static str,
        environment_key: &'static str,
        file_key: &'static str,
    ) -> Option<Located<Confidential<String>>> {
        let given: Vec<&str> = [key, environment_key, file_key]
            .into_iter()
            .filter(|key| self.has(key))
            .collect();
        if let [first, second, ..] = given.as_slice() {
            let place = self.place_of(second).unwrap_or(self.place);
            self.report_with_hint(
                place,
                format!("both `{first}` and `{second}` are given"),
                "keep one of them",
            );
        }
        let direct = self.text(key, KeyKind::Secret);
        let direct = direct.map(|text| text.map(Confidential::new));
        let from_environment = self.text(environment_key, KeyKind::Variable);
        let from_environment =
            from_environment.and_then(|name| match self.document.variable(&name.value) {
                Some(value) => Some(Located {
                    value: Confidential::new(value),
                    place: name.place,
                }),
                None => {
                    self.report_with_hint(
                        name.place,
                        format!(
                            "the environment variable that `{environment_key}` names is not set"
                        ),
                        format!("set it, or use `{key}` or `{file_key}`"),
                    );
                    None
                }
            });
        let from_file = self.secret_file(file_key).and_then(|file| {
            match std::str::from_utf8(file.bytes.expose()) {
                Ok(text) => {
                    let line = text.lines().next().unwrap_or_default();
                    Some(Located {
                        value: Confidential::new(line.to_owned()),
                        place: file.place,
                    })
                }
                Err(_) => {
                    self.report(
                        file.place,
                        format!(
                            "`{file_key}` must name a text file, and {} is not UTF-8",
                            file.path.display()
                        ),
                    );
                    None
                }
            }
        });
        direct.or(from_environment).or(from_file)
    }

    fn resolve(&self, name: &str) -> PathBuf {
        match self.document.file().parent() {
            Some(folder) => folder.join(name),
            None => PathBuf::from(name),
        }
    }

    fn load(&self, key: &str, name: &Located<String>, told: bool) -> Option<LoadedFile> {
        let path = self.resolve(&name.value);
        self.document.note_file(&path);
        match read_at_most(&path, LONGEST_NAMED) {
            Ok(bytes) => Some(LoadedFile {
                path,
                bytes: Confidential::new(bytes),
                place: name.place,
            }),
            Err(error) => {
                let told = told && is_like_a_path(&name.value);
                let message = match told {
                    true => format!(
                        "`{key}` names {}, which cannot be read: {error}",
                        path.display()
                    ),
                    false => format!("`{key}` names a file that cannot be read: {error}"),
                };
                if Path::new(&name.value).is_relative()
                    && error.kind() == std::io::ErrorKind::NotFound
                {
                    let folder = self.document.file().parent();
                    let hint = match folder.filter(|folder| !told && !folder.as_os_str().is_empty())
                    {
                        Some(folder) => {
                            format!("relative paths start at the folder {}", folder.display())
                        }
                        None => "relative paths start at the folder of this file".to_owned(),
                    };
                    self.report_with_hint(name.place, message, hint);
                } else {
                    self.report(name.place, message);
                }
                None
            }
        }
    }
}
