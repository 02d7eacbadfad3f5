//! The kinds of causes that the engine tells, by its source.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Where the engine names a kind, as the first text.
const CALLS: [&str; 4] = ["Step::new(", "Change::new(", "Cause::likely(", "replacing("];

/// Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else {
            found.push(path);
        }
    }
    found
}

/// Names in kebab case that stand in one of these calls.
pub(crate) fn of_the_engine() -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut kinds = BTreeSet::new();
    for path in sources(&root.join("src")) {
        let source = std::fs::read_to_string(path).expect("source");
        for call in CALLS {
            for (at, _) in source.match_indices(call) {
                let rest = &source[at + call.len()..];
                let text = rest.split('"').nth(1).unwrap_or_default();
                let is_kind = |one: char| one.is_ascii_lowercase() || one == '-';
                if !text.is_empty() && text.chars().all(is_kind) {
                    kinds.insert(text.to_owned());
                }
            }
        }
    }
    assert!(kinds.len() >= 40, "{kinds:?}");
    kinds
}
