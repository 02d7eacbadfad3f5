//! A TOML document as tables of entries with their places, free of the text that it was parsed from.
//!
//! The rule kept here: nothing is interpreted; numbers and dates stay as written.

use toml::de::{DeTable, DeValue};

use super::problem::Place;

/// A table, in the order of its keys.
#[derive(Debug, Default)]
pub(super) struct Tree {
    pub(super) entries: Vec<Entry>,
}

/// A key and its value.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_place: Place,
    pub(super) value: Value,
    pub(super) place: Place,
}

/// A value.
#[derive(Debug)]
pub(super) enum Value {
    Text(String),
    /// Digits without prefix and separators, and their radix.
    Integer(String, u32),
    Float(String),
    Boolean(bool),
    Moment(String),
    Array(Vec<(Value, Place)>),
    Table(Tree),
}

impl Tree {
    /// Parses a text as far as it can be understood. The second result lists what cannot be.
    pub(super) fn parse(text: &str) -> (Self, Vec<(Place, String)>) {
        let (root, errors) = DeTable::parse_recoverable(text);
        let errors = errors
            .iter()
            .map(|error| {
                let place = error
                    .span()
                    .map_or(Place::default(), |span| place_of(text, span.start));
                (place, error.message().to_owned())
            })
            .collect();
        (Self::from_toml(text, root.get_ref()), errors)
    }

    /// The entry of that key.
    pub(super) fn entry(&self, key: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    fn from_toml(text: &str, table: &DeTable<'_>) -> Self {
        let entries = table
            .iter()
            .map(|(key, value)| Entry {
                key: key.get_ref().to_string(),
                key_place: place_of(text, key.span().start),
                value: Value::from_toml(text, value.get_ref()),
                place: place_of(text, value.span().start),
            })
            .collect();
        Self { entries }
    }
}

impl Value {
    fn from_toml(text: &str, value: &DeValue<'_>) -> Self {
        match value {
            DeValue::String(value) => Self::Text(value.to_string()),
            DeValue::Integer(value) => {
                Self::Integer(value.as_str().replace('_', ""), value.radix())
            }
            DeValue::Float(value) => Self::Float(value.as_str().to_owned()),
            DeValue::Boolean(value) => Self::Boolean(*value),
            DeValue::Datetime(value) => Self::Moment(value.to_string()),
            DeValue::Array(items) => Self::Array(
                items
                    .iter()
                    .map(|item| {
                        (
                            Self::from_toml(text, item.get_ref()),
                            place_of(text, item.span().start),
                        )
                    })
                    .collect(),
            ),
            DeValue::Table(table) => Self::Table(Tree::from_toml(text, table)),
        }
    }

    /// What was found, for a message that says what was expected.
    pub(super) fn describe(&self) -> String {
        match self {
            Self::Text(text) => format!("\"{text}\""),
            Self::Integer(digits, _) | Self::Float(digits) => digits.clone(),
            Self::Boolean(value) => value.to_string(),
            Self::Moment(text) => text.clone(),
            Self::Array(_) => "an array".to_owned(),
            Self::Table(_) => "a table".to_owned(),
        }
    }
}

fn place_of(text: &str, offset: usize) -> Place {
    let before = text.get(..offset.min(text.len())).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before[line_start..].chars().count() + 1;
    Place {
        line: u32::try_from(line).unwrap_or(u32::MAX),
        column: u32::try_from(column).unwrap_or(u32::MAX),
    }
}
