//! The vectors directory and its manifests.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// A suite's `manifest.json`.
#[derive(Deserialize)]
pub(crate) struct Manifest {
    pub(crate) cases: Vec<Case>,
}

/// One case; see the README beside the manifests.
#[derive(Deserialize)]
pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) kind: String,
    pub(crate) file: String,
    #[serde(default)]
    pub(crate) options: Options,
    #[serde(default)]
    pub(crate) keys: Vec<Key>,
    pub(crate) policy: Option<String>,
    pub(crate) expected: Expected,
}

#[derive(Default, Deserialize)]
pub(crate) struct Options {
    pub(crate) with: Option<String>,
}

#[derive(Deserialize)]
pub(crate) struct Key {
    #[serde(rename = "use")]
    pub(crate) usage: String,
    pub(crate) file: Option<String>,
}

#[derive(Default, Deserialize)]
pub(crate) struct Expected {
    pub(crate) outcome: String,
    pub(crate) policy_elements: Option<usize>,
    pub(crate) normalized_file: Option<String>,
    pub(crate) result_file: Option<String>,
    #[serde(default)]
    pub(crate) assertions: std::collections::BTreeMap<String, usize>,
}

/// The vectors directory.
///
/// # Panics
/// If it is not there: tests of vectors must not pass without vectors.
pub(crate) fn vectors() -> PathBuf {
    let directory = match std::env::var_os("SOAPSTONE_VECTORS") {
        Some(directory) => PathBuf::from(directory),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors"),
    };
    assert!(
        directory.is_dir(),
        "no vectors directory at {}: set SOAPSTONE_VECTORS",
        directory.display()
    );
    directory
}

/// All cases of a kind, with the folder of their suite.
pub(crate) fn cases(kind: &str) -> Vec<(PathBuf, Case)> {
    let mut found = Vec::new();
    let mut suites: Vec<PathBuf> = std::fs::read_dir(vectors())
        .expect("the vectors directory")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.join("manifest.json").is_file())
        .collect();
    suites.sort();
    for suite in suites {
        let manifest = std::fs::read(suite.join("manifest.json")).expect("manifest.json");
        let manifest: Manifest = serde_json::from_slice(&manifest).expect("a manifest");
        for case in manifest.cases {
            if case.kind == kind {
                found.push((suite.clone(), case));
            }
        }
    }
    assert!(!found.is_empty(), "no case of kind {kind}");
    found
}
