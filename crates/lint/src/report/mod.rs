//! What people and other programs read of a report.
//!
//! The rule kept here: what a document says of itself stays within its line, and is data in JSON.

mod rules;
mod sarif;

use std::fmt::Write;

use serde_json::{Value, json as value};

use crate::{Finding, Report, Severity};

pub use rules::rules_in_markdown;
pub use sarif::sarif;

/// A report for people: each finding with its place, its rule, what was expected and found, and
/// what to do. `name` is the document's.
pub fn text(name: &str, report: &Report) -> String {
    let mut text = String::new();
    for finding in &report.findings {
        let Finding {
            rule, line, column, ..
        } = finding;
        let profiles: Vec<&str> = rule
            .profiles
            .iter()
            .filter(|profile| report.profiles.has(*profile))
            .map(|profile| profile.name())
            .collect();
        // Writing to a text does not fail.
        let _ = writeln!(
            text,
            "{}:{line}:{column}: {}: {} ({} {}) <{}>",
            one_line(name),
            rule.severity,
            rule.id,
            profiles.join(" "),
            rule.level,
            one_line(&finding.element),
        );
        let _ = writeln!(text, "  rule:     {}", rule.explanation);
        let _ = writeln!(text, "  expected: {}", one_line(&finding.expected));
        let _ = writeln!(text, "  found:    {}", one_line(&finding.found));
        let _ = writeln!(text, "  to do:    {}", rule.remedy);
    }
    let further = report.further_errors + report.further_warnings;
    if further > 0 {
        let _ = writeln!(text, "{}: {further} further findings", one_line(name));
    }
    text
}

/// Text without line ends and other control characters.
fn one_line(text: &str) -> String {
    text.chars()
        .flat_map(|character| {
            let escaped = character.is_control().then(|| character.escape_default());
            let plain = (!character.is_control()).then_some(character);
            plain.into_iter().chain(escaped.into_iter().flatten())
        })
        .collect()
}

/// A report as JSON. `name` is the document's.
pub fn json(name: &str, report: &Report) -> Value {
    let findings: Vec<Value> = report
        .findings
        .iter()
        .map(|finding| {
            let rule = finding.rule;
            let profiles: Vec<&str> = rule.profiles.iter().map(|one| one.name()).collect();
            value!({
                "rule": rule.id,
                "profiles": profiles,
                "level": rule.level.to_string(),
                "severity": rule.severity.name(),
                "area": rule.area.name(),
                "clause": rule.clause,
                "line": finding.line,
                "column": finding.column,
                "element": finding.element,
                "explanation": rule.explanation,
                "expected": finding.expected,
                "found": finding.found,
                "remedy": rule.remedy,
            })
        })
        .collect();
    let profiles: Vec<&str> = report.profiles.iter().map(|one| one.name()).collect();
    value!({
        "file": name,
        "subject": report.subject.name(),
        "profiles": profiles,
        "errors": report.count(Severity::Error),
        "warnings": report.count(Severity::Warning),
        "findings": findings,
    })
}
