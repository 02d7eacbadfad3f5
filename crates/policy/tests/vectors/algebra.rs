//! Normalizing, intersecting and merging: every vector, whatever its suite.

use soapstone_policy::{IntersectionMode, NormalPolicy, PolicyDocument, PolicyLimits};
use soapstone_testkit::{Case, Failures, cases};

fn normal_form(case: &Case, file: &str) -> Result<NormalPolicy, String> {
    PolicyDocument::parse(case.read(file), &PolicyLimits::default())
        .and_then(|document| document.normal_form())
        .map_err(|error| format!("{file}: {error}"))
}

/// Runs all cases of a kind; `result` computes what the expected file holds.
fn run(kind: &str, result: impl Fn(&Case) -> Result<NormalPolicy, String>) {
    let mut failures = Failures::default();
    for case in cases(kind) {
        let expected = case
            .expected("normalized_file")
            .or(case.expected("result_file"))
            .expect("an expected file");
        let outcome = result(&case).and_then(|found| {
            let expected = normal_form(&case, expected)?;
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
        failures.note(&case.id, outcome);
    }
    failures.end();
}

#[test]
fn every_policy_has_the_normal_form_that_its_suite_expects() {
    run("policy-normalize", |case| normal_form(case, &case.file));
}

#[test]
fn every_intersection_is_what_its_suite_expects() {
    run("policy-intersect", |case| {
        let other = normal_form(case, case.option("with").expect("a second policy"))?;
        normal_form(case, &case.file)?
            .intersect(&other, IntersectionMode::Strict, &PolicyLimits::default())
            .map_err(|error| error.to_string())
    });
}

#[test]
fn every_merged_policy_is_what_its_suite_expects() {
    run("policy-merge", |case| {
        let other = normal_form(case, case.option("with").expect("a second policy"))?;
        normal_form(case, &case.file)?
            .merge(&other, &PolicyLimits::default())
            .map_err(|error| error.to_string())
    });
}
