//! The guide names every kind of cause and every finding.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

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

#[test]
fn every_kind_of_cause_is_in_the_guide() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let guide =
        std::fs::read_to_string(root.join("../../docs/debug-a-signature.md")).expect("a guide");
    let mut kinds = BTreeSet::new();
    for path in sources(&root.join("src")) {
        let source = std::fs::read_to_string(path).expect("source");
        for start in ["Step::new(", "Change::new(", "Cause::likely(", "replacing("] {
            for (at, _) in source.match_indices(start) {
                let rest = source[at + start.len()..].trim_start();
                if let Some(kind) = rest
                    .strip_prefix('"')
                    .and_then(|rest| rest.split('"').next())
                {
                    kinds.insert(kind.to_owned());
                }
            }
        }
    }
    assert!(kinds.len() >= 40, "{kinds:?}");
    let missing: Vec<&String> = kinds
        .iter()
        .filter(|kind| !guide.contains(&format!("`{kind}`")))
        .collect();
    assert!(missing.is_empty(), "not in the guide: {missing:?}");
}
