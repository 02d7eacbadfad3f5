//! The vectors directory, for the tests that need it.

use std::path::{Path, PathBuf};

use serde::Deserialize;

/// A suite's `manifest.json`.
#[derive(Deserialize)]
pub struct Manifest {
    pub cases: Vec<Case>,
}

/// One case; see the README beside the manifests.
#[derive(Deserialize)]
pub struct Case {
    pub id: String,
    pub kind: String,
    pub file: String,
    #[serde(default)]
    pub options: Options,
    #[serde(default)]
    pub keys: Vec<Key>,
    pub policy: Option<String>,
    pub expected: Expected,
}

#[derive(Default, Deserialize)]
pub struct Options {
    pub with: Option<String>,
}

#[derive(Deserialize)]
pub struct Key {
    #[serde(rename = "use")]
    pub usage: String,
    pub file: Option<String>,
}

#[derive(Default, Deserialize)]
pub struct Expected {
    pub outcome: String,
    pub policy_elements: Option<usize>,
    pub normalized_file: Option<String>,
    pub result_file: Option<String>,
    #[serde(default)]
    pub assertions: std::collections::BTreeMap<String, usize>,
}

/// The vectors directory.
///
/// # Panics
/// If it is not there: tests of vectors must not pass without vectors.
pub fn vectors() -> PathBuf {
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
pub fn cases(kind: &str) -> Vec<(PathBuf, Case)> {
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
