//! Values that must not be told, put in the place of every key of a configuration file.

use std::collections::BTreeMap;

use soapstone::config::{KeyKind, KnownKey};

/// What must not be found in any text: a word, digits of numbers, and a date.
pub(crate) const CANARIES: [&str; 3] = ["C4naryS3cret", "918273645", "1999-09-18"];

/// A value of a file, as TOML has it.
#[derive(Clone)]
pub(crate) enum Node {
    Value(String),
    Table(Vec<(&'static str, Node)>),
    Tables(Vec<Node>),
}

pub(crate) fn value(toml: &str) -> Node {
    Node::Value(toml.to_owned())
}

pub(crate) fn table<const N: usize>(entries: [(&'static str, Node); N]) -> Node {
    Node::Table(entries.into())
}

pub(crate) fn tables(table: Node) -> Node {
    Node::Tables(vec![table])
}

impl Node {
    fn write(&self, out: &mut String) {
        match self {
            Self::Value(toml) => out.push_str(toml),
            Self::Table(entries) => {
                out.push_str("{ ");
                for (index, (key, value)) in entries.iter().enumerate() {
                    out.push_str(if index == 0 { "" } else { ", " });
                    out.push_str(&format!("{key} = "));
                    value.write(out);
                }
                out.push_str(" }");
            }
            Self::Tables(tables) => {
                out.push('[');
                tables.iter().for_each(|table| table.write(out));
                out.push(']');
            }
        }
    }

    /// The file whose outermost table this is.
    pub(crate) fn file(&self) -> String {
        let Self::Table(entries) = self else {
            panic!("a file is a table")
        };
        let mut out = String::new();
        for (key, value) in entries {
            out.push_str(&format!("{key} = "));
            value.write(&mut out);
            out.push('\n');
        }
        out
    }

    /// The table of this name in a file.
    fn table_mut(&mut self, name: &str) -> Option<&mut Vec<(&'static str, Self)>> {
        let mut node = self;
        for part in name.split('.').filter(|part| !part.is_empty()) {
            let Self::Table(entries) = node else {
                return None;
            };
            let (_, inner) = entries.iter_mut().find(|(key, _)| *key == part)?;
            node = match inner {
                Self::Tables(tables) => tables.first_mut()?,
                other => other,
            };
        }
        match node {
            Self::Table(entries) => Some(entries),
            _ => None,
        }
    }

    /// The text of a file in which the key has that value. `None` where the file has no such table.
    pub(crate) fn with(&self, key: &KnownKey, toml: &str) -> Option<String> {
        let mut file = self.clone();
        let entries = file.table_mut(&key.table)?;
        entries.retain(|(other, _)| *other != key.key);
        entries.push((key.key, value(toml)));
        Some(file.file())
    }
}

/// Values of every kind, each with a canary in it.
pub(crate) fn canaries() -> Vec<String> {
    let texts = [
        "\"C4naryS3cret\"",
        "\"alice:C4naryS3cret\"",
        "\"redis://user:C4naryS3cret@127.0.0.1:6379\"",
        "\"https://user:C4naryS3cret@host/?C4naryS3cret\"",
        "\"-----BEGIN PRIVATE KEY-----\\nC4naryS3cret\\n-----END PRIVATE KEY-----\"",
    ];
    let mut values: Vec<String> = texts.map(str::to_owned).into();
    values.extend(texts.map(|text| format!("[{text}]")));
    let others = [
        "918273645546",
        "-918273645546",
        "918273645.546",
        "1999-09-18T09:18:27Z",
        "1999-09-18",
        "[918273645546]",
        "[1999-09-18]",
        "[[\"C4naryS3cret\"]]",
        "{ name = \"alice:C4naryS3cret\" }",
        "[{ name = \"alice:C4naryS3cret\" }]",
        "{ name = 918273645546 }",
    ];
    values.extend(others.map(str::to_owned));
    values
}

/// Whether the reader of a key may tell this value: texts where names of files belong that hold no
/// secret, if they are like names.
pub(crate) fn may_be_told(kind: &KeyKind, toml: &str) -> bool {
    let are_names = toml.trim_start_matches('[').starts_with('"') && !toml.contains("-----");
    matches!(kind, KeyKind::File | KeyKind::Files | KeyKind::Path) && are_names
}

/// Tables that are asked for and that the samples say nothing of, so that their own keys are not
/// known.
pub(crate) fn unopened(known: &[KnownKey]) -> Vec<String> {
    let mut tables: BTreeMap<String, bool> = BTreeMap::new();
    for key in known {
        let is_table = matches!(
            key.kind,
            KeyKind::Table | KeyKind::Tables | KeyKind::TableOrTables | KeyKind::FlagOrTable
        );
        if is_table {
            let name = match key.table.as_str() {
                "" => key.key.to_owned(),
                table => format!("{table}.{}", key.key),
            };
            let opened = known.iter().any(|other| other.table == name);
            tables.insert(name, opened);
        }
    }
    let unopened = tables.into_iter().filter(|(_, opened)| !opened);
    unopened.map(|(name, _)| name).collect()
}

/// Asserts that a text tells no canary.
#[track_caller]
pub(crate) fn assert_untold(told: &str, of: &str) {
    for canary in CANARIES {
        let line = told.lines().find(|line| line.contains(canary));
        assert!(line.is_none(), "{of}\ntells\n{}", line.unwrap_or_default());
    }
}
