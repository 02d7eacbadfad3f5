//! A JSON Schema of a configuration file, from the keys that its readers ask for: for editors.
//!
//! The rule kept here: the schema allows what the readers read, key by key. What several keys say
//! together is for the readers.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::known_key::{KeyKind, KnownKey};

/// The schema of a file whose readers ask for these keys.
pub fn json_schema(title: &str, keys: &[KnownKey]) -> String {
    let mut out = String::new();
    out.push_str(
        "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n  \"title\": ",
    );
    out.push_str(&quoted(title));
    out.push_str(",\n  ");
    write_table(keys, "", 1, &mut out);
    out.push_str("\n}\n");
    out
}

/// What stands between the braces of a table's schema.
fn write_table(keys: &[KnownKey], table: &str, depth: usize, out: &mut String) {
    let indent = "  ".repeat(depth);
    let mut kinds: BTreeMap<&str, Vec<&KeyKind>> = BTreeMap::new();
    for key in keys.iter().filter(|key| key.table == table) {
        kinds.entry(key.key).or_default().push(&key.kind);
    }
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "\"type\": \"object\",\n{indent}\"additionalProperties\": false,\n{indent}\"properties\": {{"
    );
    for (index, (key, kinds)) in kinds.into_iter().enumerate() {
        let comma = if index == 0 { "" } else { "," };
        let _ = write!(out, "{comma}\n{indent}  {}: {{ ", quoted(key));
        let inner = match table {
            "" => key.to_owned(),
            table => format!("{table}.{key}"),
        };
        let mut forms: Vec<String> = Vec::new();
        for kind in kinds {
            for form in forms_of(kind, keys, &inner, depth + 2) {
                if !forms.contains(&form) {
                    forms.push(form);
                }
            }
        }
        match forms.as_slice() {
            [only] => out.push_str(only),
            several => {
                let _ = write!(out, "\"anyOf\": [{{ {} }}]", several.join(" }, { "));
            }
        }
        out.push_str(" }");
    }
    let _ = write!(out, "\n{indent}}}");
}

/// The schemas of what a key may hold, without their braces.
fn forms_of(kind: &KeyKind, keys: &[KnownKey], inner: &str, depth: usize) -> Vec<String> {
    let text = || "\"type\": \"string\"".to_owned();
    let texts = || format!("\"type\": \"array\", \"items\": {{ {} }}", text());
    let flag = || "\"type\": \"boolean\"".to_owned();
    let table = || {
        let mut out = String::new();
        write_table(keys, inner, depth, &mut out);
        out
    };
    let tables = || format!("\"type\": \"array\", \"items\": {{ {} }}", table());
    let choice = |names: &[String]| {
        let names: Vec<String> = names.iter().map(|name| quoted(name)).collect();
        format!("\"enum\": [{}]", names.join(", "))
    };
    match kind {
        KeyKind::Text
        | KeyKind::Secret
        | KeyKind::Variable
        | KeyKind::Path
        | KeyKind::File
        | KeyKind::SecretFile => vec![text()],
        // Dates and times of TOML have no type of their own in JSON; editors show them as strings.
        KeyKind::Moment => vec![text()],
        KeyKind::Texts => vec![texts()],
        KeyKind::Files => vec![text(), texts()],
        KeyKind::Boolean => vec![flag()],
        KeyKind::Choice(names) => vec![choice(names)],
        KeyKind::Choices(names) => {
            vec![format!(
                "\"type\": \"array\", \"items\": {{ {} }}",
                choice(names)
            )]
        }
        KeyKind::Integer { least, most } => {
            vec![format!(
                "\"type\": \"integer\", \"minimum\": {least}, \"maximum\": {most}"
            )]
        }
        KeyKind::Duration => {
            let pattern = "^ *([0-9]+ *(d|h|m|s|ms) *)+$";
            vec![format!(
                "\"type\": \"string\", \"pattern\": {}",
                quoted(pattern)
            )]
        }
        KeyKind::Size => {
            let pattern = "^ *[0-9]+ *(B|kB|KB|MB|GB|KiB|kiB|MiB|GiB)? *$";
            vec![
                format!("\"type\": \"string\", \"pattern\": {}", quoted(pattern)),
                "\"type\": \"integer\", \"minimum\": 0".to_owned(),
            ]
        }
        KeyKind::Table => vec![table()],
        KeyKind::Tables => vec![tables()],
        KeyKind::TableOrTables => vec![table(), tables()],
        KeyKind::FlagOrTable => vec![flag(), table()],
        KeyKind::FlagOrStrings => vec![flag(), texts()],
        KeyKind::Moments => {
            vec![format!(
                "\"type\": \"object\", \"additionalProperties\": {{ {} }}",
                text()
            )]
        }
    }
}

/// A JSON string. Names of keys and choices have nothing but quotes and backslashes to be escaped.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
