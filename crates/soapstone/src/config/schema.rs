//! A JSON Schema of a configuration file, from the keys that its readers ask for: for editors.
//!
//! The rules kept here: the schema allows what the readers read, key by key. What several keys say
//! together is for the readers. A table that stands in several places is defined once.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;

use super::known_key::{KeyKind, KnownKey};

/// Fewest keys of a table that is defined once: a smaller one is read more easily where it stands.
const DEFINED: usize = 3;

/// The schema of a file whose readers ask for these keys.
pub fn json_schema(title: &str, keys: &[KnownKey]) -> String {
    let tables = Tables::of(keys);
    let mut out = String::new();
    out.push_str(
        "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n  \"title\": ",
    );
    out.push_str(&quoted(title));
    out.push_str(",\n  ");
    tables.write("", 1, &mut out);
    if !tables.definitions.is_empty() {
        out.push_str(",\n  \"$defs\": {");
        for (index, table) in tables.definitions.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            // Writing to a string cannot fail.
            let _ = write!(out, "{comma}\n    {}: {{ ", quoted(table));
            tables.write(table, 3, &mut out);
            out.push_str(" }");
        }
        out.push_str("\n  }");
    }
    out.push_str("\n}\n");
    out
}

/// The tables of a file, each by the dotted names of the tables that it stands in and its own.
struct Tables<'k> {
    /// The keys of each table, and what they may hold.
    keys: BTreeMap<&'k str, BTreeMap<&'k str, Vec<&'k KeyKind>>>,
    /// For a table that is defined once: the table that its definition is called after.
    defined_as: HashMap<String, String>,
    /// The tables that definitions are called after, in the order of the file.
    definitions: Vec<String>,
}

impl<'k> Tables<'k> {
    fn of(keys: &'k [KnownKey]) -> Self {
        let mut tables = Self {
            keys: BTreeMap::new(),
            defined_as: HashMap::new(),
            definitions: Vec::new(),
        };
        for key in keys {
            let table = tables.keys.entry(&key.table).or_default();
            table.entry(key.key).or_default().push(&key.kind);
        }
        tables.define();
        tables
    }

    /// Finds the tables that stand in several places with the same keys.
    fn define(&mut self) {
        let mut same: HashMap<String, Vec<&str>> = HashMap::new();
        for (table, keys) in &self.keys {
            if !table.is_empty() && keys.len() >= DEFINED {
                let mut content = String::new();
                self.write(table, 0, &mut content);
                same.entry(content).or_default().push(table);
            }
        }
        let mut defined_as = HashMap::new();
        let mut definitions = Vec::new();
        for mut places in same.into_values().filter(|places| places.len() > 1) {
            // The place that is least deep: it is the one that guides speak of.
            places.sort_by_key(|place| (place.matches('.').count(), *place));
            let [first, ..] = places.as_slice() else {
                continue;
            };
            let name = (*first).to_owned();
            let all = places
                .iter()
                .map(|place| ((*place).to_owned(), name.clone()));
            defined_as.extend(all);
            definitions.push(name);
        }
        definitions.sort();
        self.defined_as = defined_as;
        self.definitions = definitions;
    }

    /// What stands between the braces of a table's schema, its definition included.
    fn write(&self, table: &str, depth: usize, out: &mut String) {
        let indent = "  ".repeat(depth);
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            "\"type\": \"object\",\n{indent}\"additionalProperties\": false,\n{indent}\"properties\": {{"
        );
        let none = BTreeMap::new();
        let keys = self.keys.get(table).unwrap_or(&none);
        for (index, (key, kinds)) in keys.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            let _ = write!(out, "{comma}\n{indent}  {}: {{ ", quoted(key));
            let inner = match table {
                "" => (*key).to_owned(),
                table => format!("{table}.{key}"),
            };
            let mut forms: Vec<String> = Vec::new();
            for kind in kinds {
                for form in self.forms_of(kind, &inner, depth + 2) {
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

    /// The schema of a table at its place, without its braces.
    fn at_its_place(&self, table: &str, depth: usize) -> String {
        match self.defined_as.get(table) {
            Some(name) => format!("\"$ref\": {}", quoted(&format!("#/$defs/{name}"))),
            None => {
                let mut out = String::new();
                self.write(table, depth, &mut out);
                out
            }
        }
    }

    /// The schemas of what a key may hold, without their braces.
    fn forms_of(&self, kind: &KeyKind, inner: &str, depth: usize) -> Vec<String> {
        let text = || "\"type\": \"string\"".to_owned();
        let texts = || format!("\"type\": \"array\", \"items\": {{ {} }}", text());
        let flag = || "\"type\": \"boolean\"".to_owned();
        let table = || self.at_its_place(inner, depth);
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
            // Dates and times of TOML have no type of their own in JSON; editors show them as
            // strings.
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
}

/// A JSON string. Names of keys and choices have nothing but quotes and backslashes to be escaped.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(table: &str, key: &'static str, kind: KeyKind) -> KnownKey {
        KnownKey {
            table: table.to_owned(),
            key,
            kind,
        }
    }

    #[test]
    fn a_table_that_stands_in_several_places_is_defined_once() {
        let mut keys = vec![key("", "routes", KeyKind::Tables)];
        for side in ["inbound", "outbound"] {
            keys.push(key("routes", side, KeyKind::Table));
            let table = format!("routes.{side}");
            keys.push(key(&table, "trust", KeyKind::Table));
            keys.push(key(&table, "users", KeyKind::Texts));
            keys.push(key(&table, "active", KeyKind::Boolean));
            let trust = format!("{table}.trust");
            keys.push(key(&trust, "anchors", KeyKind::Files));
        }
        let schema = json_schema("A file", &keys);
        assert_eq!(schema.matches("\"anchors\"").count(), 1, "{schema}");
        let reference = "{ \"$ref\": \"#/$defs/routes.inbound\" }";
        assert_eq!(schema.matches(reference).count(), 2, "{schema}");
        // A table with another key is another table.
        keys.push(key("routes.outbound.trust", "subjects", KeyKind::Texts));
        let schema = json_schema("A file", &keys);
        assert_eq!(schema.matches("\"anchors\"").count(), 2, "{schema}");
        assert!(!schema.contains("$defs"), "{schema}");
    }
}
