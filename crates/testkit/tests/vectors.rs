//! What has to hold of all vectors: the project's own are many and complete, and the table of the
//! others is true.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use soapstone_testkit::{Case, Row, outside_cases, own, own_cases, rows};

/// Files of the project's vectors that no case names.
fn is_described_elsewhere(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    name == "manifest.json" || name == "README.md"
}

/// Every path below a value that could be a file.
fn texts(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => found.extend(text.split(' ').map(str::to_owned)),
        Value::Array(values) => values.iter().for_each(|value| texts(value, found)),
        Value::Object(values) => values.values().for_each(|value| texts(value, found)),
        _ => {}
    }
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[test]
fn the_project_has_at_least_three_hundred_vectors_of_its_own() {
    let mut kinds: BTreeMap<String, usize> = BTreeMap::new();
    for case in own_cases() {
        *kinds.entry(case.kind).or_default() += 1;
    }
    println!("{kinds:?}");
    let all: usize = kinds.values().sum();
    assert!(all >= 300, "{all} cases: {kinds:?}");
}

#[test]
fn each_case_has_an_id_of_its_own_and_its_files() {
    let mut ids = BTreeSet::new();
    for case in own_cases() {
        assert!(ids.insert(case.id.clone()), "{} is there twice", case.id);
        let named = [
            Some(case.file.as_str()),
            case.value["endpoint"].as_str(),
            case.expected("plain"),
            case.expected("canonical_file"),
            case.expected("plaintext_file"),
            case.expected("normalized_file"),
            case.expected("result_file"),
            case.option("with"),
        ];
        for file in named.into_iter().flatten() {
            case.read(file);
        }
    }
}

/// What a file of a case names in its turn counts as named: keys, in endpoint files.
#[test]
fn no_file_is_left_over() {
    let mut named = BTreeSet::new();
    for case in own_cases() {
        let mut found = BTreeSet::new();
        texts(&case.value, &mut found);
        if let Some(endpoint) = case.value["endpoint"].as_str() {
            let file = String::from_utf8(case.read(endpoint)).expect("an endpoint file");
            let quoted = file.split('"').skip(1).step_by(2);
            found.extend(quoted.map(|path| path.trim_start_matches("../").to_owned()));
        }
        named.extend(found.into_iter().map(|file| case.folder.join(file)));
    }
    let mut all = Vec::new();
    files(&own(), &mut all);
    let left_over: Vec<&PathBuf> = all
        .iter()
        .filter(|path| !named.contains(*path) && !is_described_elsewhere(path))
        .collect();
    assert!(left_over.is_empty(), "{left_over:#?}");
}

fn counted(cases: &[Case]) -> Vec<Row> {
    let mut counts: BTreeMap<(&str, &str), usize> = BTreeMap::new();
    for case in cases {
        *counts.entry((&case.suite, &case.kind)).or_default() += 1;
    }
    let rows = counts.into_iter().map(|((suite, kind), cases)| Row {
        suite: suite.to_owned(),
        kind: kind.to_owned(),
        cases,
    });
    rows.collect()
}

#[test]
fn the_table_counts_what_the_vectors_directory_holds() {
    if let Some(outside) = outside_cases() {
        assert_eq!(rows(), counted(&outside));
    }
}
