//! The table of rules as a document has it.

use std::fmt::Write;

use crate::rule::{Area, Profile};
use crate::table::{NOT_LOOKED_FOR, rules_table};

/// All rules in Markdown: a table for each area, and the rules that are not looked for.
pub fn rules_in_markdown() -> String {
    let mut text = String::new();
    // The rules about exchanges are in no table of documents.
    let is_of_documents = |area: &&Area| rules_table().iter().any(|rule| rule.area == **area);
    for area in Area::ALL.iter().filter(is_of_documents) {
        // Writing to a text does not fail.
        let _ = writeln!(text, "### {}\n", capitalized(area.name()));
        text.push_str(
            "| rule | profiles | level | severity | looks at | clause | demands | to do |\n",
        );
        text.push_str("|---|---|---|---|---|---|---|---|\n");
        for rule in rules_table().iter().filter(|rule| rule.area == *area) {
            let profiles: Vec<&str> = rule.profiles.iter().map(Profile::name).collect();
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | `{}` | {} | {} | {} |",
                rule.id,
                profiles.join(" "),
                rule.level,
                rule.severity,
                rule.looks_at,
                rule.clause,
                rule.explanation,
                rule.remedy,
            );
        }
        text.push('\n');
    }
    text.push_str("### Rules that are not looked for\n\n| rule | why |\n|---|---|\n");
    for (id, reason) in NOT_LOOKED_FOR {
        let _ = writeln!(text, "| {id} | {reason} |");
    }
    text
}

fn capitalized(name: &str) -> String {
    let mut characters = name.chars();
    let first = characters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(characters).collect()
}
