//! The guide names every kind of cause and every finding.

#[path = "support/kinds.rs"]
mod kinds;

use std::path::Path;

fn guide() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::read_to_string(root.join("../../docs/debug-a-signature.md")).expect("a guide")
}

#[test]
fn every_kind_of_cause_is_in_the_guide() {
    let kinds = kinds::of_the_engine();
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
