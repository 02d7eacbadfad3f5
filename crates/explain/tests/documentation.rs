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

fn guide() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(root.join("../../docs/debug-a-signature.md")).expect("a guide")
}

/// Names in kebab case that stand in one of the `calls`, as their first text.
fn named_in(calls: &[&str]) -> BTreeSet<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut kinds = BTreeSet::new();
    for path in sources(&root.join("src")) {
        let source = std::fs::read_to_string(path).expect("source");
        for call in calls {
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
    kinds
}

#[test]
fn every_kind_of_cause_is_in_the_guide() {
    let calls = ["Step::new(", "Change::new(", "Cause::likely(", "replacing("];
    let kinds = named_in(&calls);
    assert!(kinds.len() >= 40, "{kinds:?}");
    let guide = guide();
    let is_missing = |kind: &&String| !guide.contains(&format!("`{kind}`"));
    let missing: Vec<&String> = kinds.iter().filter(is_missing).collect();
    assert!(missing.is_empty(), "not in the guide: {missing:?}");
}

#[test]
fn the_table_of_findings_in_the_guide_is_complete() {
    let guide = guide();
    let table = guide
        .split_once("### The findings\n")
        .and_then(|(_, rest)| rest.split_once("\n### "))
        .expect("a table of findings");
    let rows = table.0.lines().filter(|line| line.starts_with("| `"));
    let rows = rows.skip(1).filter_map(|row| row.split('|').nth(1));
    let listed: Vec<String> = rows
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .map(str::to_owned)
        .collect();
    assert_eq!(listed, soapstone_explain::FINDINGS);
}
