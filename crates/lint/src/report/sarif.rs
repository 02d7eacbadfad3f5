//! SARIF 2.1.0, the format in which code hosts and editors take findings.
//!
//! The rule kept here: one run for all documents, with each rule that was broken once.

use serde_json::{Value, json};

use crate::rule::{Profile, Rule, Severity};
use crate::{Finding, Report};

/// The schema that the log follows.
const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/os/schemas/sarif-schema-2.1.0.json";

/// A SARIF log of one run. Each report comes with the name of its document; `version` is that of
/// the program.
pub fn sarif(version: &str, reports: &[(String, Report)]) -> Value {
    let mut rules: Vec<&'static Rule> = reports
        .iter()
        .flat_map(|(_, report)| report.findings.iter().map(|finding| finding.rule))
        .collect();
    rules.sort_by_key(|rule| rule.id);
    rules.dedup_by_key(|rule| rule.id);
    let results: Vec<Value> = reports
        .iter()
        .flat_map(|(name, report)| {
            let rules = &rules;
            report
                .findings
                .iter()
                .map(move |finding| result(name, finding, rules))
        })
        .collect();
    json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": {
                "driver": {
                    "name": "soapstone lint",
                    "version": version,
                    "rules": rules.iter().map(|rule| described(rule)).collect::<Vec<_>>(),
                }
            },
            "columnKind": "unicodeCodePoints",
            "results": results,
        }]
    })
}

fn described(rule: &Rule) -> Value {
    let profiles: Vec<&str> = rule.profiles.iter().map(Profile::title).collect();
    json!({
        "id": rule.id,
        "shortDescription": { "text": rule.explanation },
        "fullDescription": {
            "text": format!(
                "{} {} ({}; {}).",
                rule.explanation, rule.level, profiles.join(", "), rule.clause
            )
        },
        "help": { "text": rule.remedy },
        "defaultConfiguration": { "level": rule.severity.name() },
    })
}

fn result(name: &str, finding: &Finding, rules: &[&'static Rule]) -> Value {
    let rule = finding.rule;
    let index = rules.iter().position(|known| known.id == rule.id);
    let message = format!(
        "{} Expected {}, found {}. {}",
        rule.explanation, finding.expected, finding.found, rule.remedy
    );
    json!({
        "ruleId": rule.id,
        "ruleIndex": index,
        "level": match rule.severity {
            Severity::Warning => "warning",
            Severity::Error => "error",
        },
        "message": { "text": message },
        "locations": [{
            "physicalLocation": {
                "artifactLocation": { "uri": uri(name) },
                "region": { "startLine": finding.line, "startColumn": finding.column },
            }
        }],
    })
}

/// A file name as a URI reference: what a URI cannot hold is percent-encoded.
fn uri(name: &str) -> String {
    let name = name.replace('\\', "/");
    let mut uri = String::new();
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(byte as char);
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
