//! The keys of a registry's file that it takes into use only when it starts.
//!
//! The rule kept here: what a reload leaves as it was is named.

use std::path::PathBuf;

use soapstone::config::{FileState, Table};

/// Keys with the tables and values that each stands for.
const KEYS: [(&str, &[&str]); 9] = [
    ("listen", &["listen"]),
    ("inquiry", &["inquiry"]),
    ("database", &["database", "database_env", "database_file"]),
    ("inbound", &["inbound"]),
    ("limits", &["limits"]),
    ("calls", &["calls"]),
    ("ganglia", &["ganglia"]),
    ("gmond", &["gmond"]),
    ("log", &["log"]),
];

/// Files as they were when they were read.
pub(crate) type Files = Vec<(PathBuf, FileState)>;

/// What the keys said when the file was read.
#[derive(Clone, Debug)]
pub(crate) struct AtStart(Vec<Said>);

/// What one of them said, and the files that it named.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Said {
    key: &'static str,
    values: Vec<u64>,
    files: Files,
}

impl AtStart {
    /// What the keys of that table say. `files` are those that some of them name.
    pub(crate) fn read(root: &Table<'_>, mut files: Vec<(&str, Files)>) -> Self {
        let said = KEYS.map(|(key, tables)| {
            let own = files.iter_mut().find(|(of, _)| *of == key);
            Said {
                key,
                values: tables.iter().map(|it| root.fingerprint(it)).collect(),
                files: own.map(|(_, own)| std::mem::take(own)).unwrap_or_default(),
            }
        });
        Self(said.into())
    }

    /// The keys that say something else now, or whose files have changed.
    pub(crate) fn changed(&self, now: &Self) -> Vec<&'static str> {
        let both = self.0.iter().zip(&now.0);
        let changed = both.filter(|(then, now)| then != now);
        changed.map(|(then, _)| then.key).collect()
    }
}
