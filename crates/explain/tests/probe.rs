//! Every message at hand is explained: recorded ones of other stacks, the project's own, and those
//! of the vectors directory.
//!
//! The rule kept here: whatever a message is, it is explained or refused by name, in bounded work.

#[path = "support/mod.rs"]
mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use soapstone_explain::{Explanation, Options, Severity, explain, text};

/// Bytes of work: few combinations.
const WORK: usize = 128 << 10;

fn explained(message: &[u8]) -> Option<Explanation> {
    let options = Options {
        work: WORK,
        ..Options::default()
    };
    explain(message.to_vec(), &options).ok()
}

/// What is told of a message, if anything; with what is wrong with that, apart from the message.
fn probed(name: &str, message: &[u8]) -> (Option<Explanation>, Option<String>) {
    let told = catch_unwind(AssertUnwindSafe(|| explained(message)));
    let Ok(told) = told else {
        return (None, Some(format!("{name}: it panics")));
    };
    let in_words = told.as_ref().map(|told| text("it", told));
    let in_words = in_words.unwrap_or_default();
    // Words of programs, not of people.
    let mut lines = in_words.lines();
    let vague = |line: &&str| line.contains("None") || line.contains("Some(");
    let found = lines.find(vague).map(|line| format!("{name}: {line}"));
    (told, found)
}

fn recorded(folder: &Path, found: &mut Vec<(String, Vec<u8>)>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            recorded(&path, found);
        } else if path.extension().is_some_and(|end| end == "xml") {
            let message = std::fs::read(&path).expect("a message");
            found.push((path.display().to_string(), message));
        }
    }
}

fn of_stacks() -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    recorded(&support::recorded(""), &mut found);
    assert!(found.len() > 500, "{} messages", found.len());
    found
}

#[test]
fn recorded_messages_are_explained_without_an_error() {
    let mut problems = Vec::new();
    for (name, message) in of_stacks() {
        let (told, problem) = probed(&name, &message);
        problems.extend(problem);
        let Some(told) = told else {
            problems.push(format!("{name}: it is not read"));
            continue;
        };
        let errors = told.findings.iter();
        let errors = errors.filter(|it| it.severity == Severity::Error);
        // Plain messages are recorded, too.
        let errors = errors.filter(|it| it.kind != "not-secured");
        problems.extend(errors.map(|it| format!("{name}: {}: {}", it.kind, it.says)));
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn own_messages_and_those_of_other_projects_are_explained() {
    let mut cases = soapstone_testkit::own_cases();
    cases.extend(soapstone_testkit::outside_cases().unwrap_or_default());
    let mut problems = Vec::new();
    for case in cases {
        let name = format!("{}/{}", case.suite, case.id);
        problems.extend(probed(&name, &case.input()).1);
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
