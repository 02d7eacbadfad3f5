//! Normalizing, intersecting and merging: every vector, whatever its suite.

use std::path::Path;

use crate::manifest::{Case, cases};
use soapstone_policy::{IntersectionMode, NormalPolicy, PolicyDocument, PolicyLimits};

fn normal_form(folder: &Path, file: &str) -> Result<NormalPolicy, String> {
    let source = std::fs::read(folder.join(file)).map_err(|error| format!("{file}: {error}"))?;
    PolicyDocument::parse(source, &PolicyLimits::default())
        .and_then(|document| document.normal_form())
        .map_err(|error| format!("{file}: {error}"))
}

/// Runs all cases of a kind; `result` computes what the expected file holds.
fn run(kind: &str, result: impl Fn(&Path, &Case) -> Result<NormalPolicy, String>) {
    let mut failures = Vec::new();
    for (folder, case) in cases(kind) {
        let expected = case
            .expected
            .normalized_file
            .as_deref()
            .or(case.expected.result_file.as_deref())
            .expect("an expected file");
        let outcome = result(&folder, &case).and_then(|found| {
            let expected = normal_form(&folder, expected)?;
            let written =
                PolicyDocument::parse(found.to_xml().into_bytes(), &PolicyLimits::default())
                    .and_then(|document| document.normal_form())
                    .map_err(|error| format!("what was written does not read back: {error}"))?;
            if !written.is_equivalent(&found) {
                return Err(format!(
                    "what was written is another policy\n{}",
                    found.to_xml()
                ));
            }
            if !found.is_equivalent(&expected) {
                return Err(format!(
                    "found\n{}expected\n{}",
                    found.to_xml(),
                    expected.to_xml()
                ));
            }
            Ok(())
        });
        if let Err(problem) = outcome {
            failures.push(format!("{}: {problem}", case.id));
        }
    }
    assert!(
        failures.is_empty(),
        "{} failures\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn every_policy_has_the_normal_form_that_its_suite_expects() {
    run("policy-normalize", |folder, case| {
        normal_form(folder, &case.file)
    });
}

#[test]
fn every_intersection_is_what_its_suite_expects() {
    run("policy-intersect", |folder, case| {
        let other = normal_form(
            folder,
            case.options.with.as_deref().expect("a second policy"),
        )?;
        normal_form(folder, &case.file)?
            .intersect(&other, IntersectionMode::Strict, &PolicyLimits::default())
            .map_err(|error| error.to_string())
    });
}

#[test]
fn every_merged_policy_is_what_its_suite_expects() {
    run("policy-merge", |folder, case| {
        let other = normal_form(
            folder,
            case.options.with.as_deref().expect("a second policy"),
        )?;
        normal_form(folder, &case.file)?
            .merge(&other, &PolicyLimits::default())
            .map_err(|error| error.to_string())
    });
}
