//! A TOML document as tables of entries with their places, free of the text that it was parsed
//! from.
//!
//! The rule kept here: nothing is interpreted; numbers and dates stay as written.

use std::hash::{Hash, Hasher};
use std::ops::Range;

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

impl Hash for Tree {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.entries.len().hash(state);
        for entry in &self.entries {
            entry.key.hash(state);
            entry.value.hash(state);
        }
    }
}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::mem::discriminant(self).hash(state);
        match self {
            Self::Text(text) | Self::Moment(text) => text.hash(state),
            Self::Integer(digits, radix) => (digits, radix).hash(state),
            Self::Float => {}
            Self::Boolean(value) => value.hash(state),
            Self::Array(values) => {
                values.len().hash(state);
                values.iter().for_each(|(value, _)| value.hash(state));
            }
            Self::Table(table) => table.hash(state),
        }
    }
}

/// A value.
#[derive(Debug)]
pub(super) enum Value {
    Text(String),
    /// Digits without prefix and separators, and their radix.
    Integer(String, u32),
    Float,
    Boolean(bool),
    Moment(String),
    Array(Vec<(Value, Place)>),
    Table(Tree),
}

impl Tree {
    /// Parses a text as far as it can be understood. The second result lists what cannot be.
    pub(super) fn parse(text: &str) -> (Self, Vec<(Place, String)>) {
        let (root, errors) = DeTable::parse_recoverable(text);
        let errors = errors.iter().map(|error| (error.span(), error.message()));
        let errors = told(text, errors);
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
            DeValue::Float(_) => Self::Float,
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

    /// Its kind, for a message that says what was expected. The value itself may be a secret in the
    /// wrong place.
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a string",
            Self::Integer(..) => "a whole number",
            Self::Float => "a number",
            Self::Boolean(true) => "true",
            Self::Boolean(false) => "false",
            Self::Moment(_) => "a date or time",
            Self::Array(_) => "an array",
            Self::Table(_) => "a table",
        }
    }
}

/// What is said of a text that is not TOML. Of keys that are there twice it is said which, and of a
/// table that is, not what follows from it for its keys.
fn told<'e>(
    text: &str,
    errors: impl Iterator<Item = (Option<Range<usize>>, &'e str)>,
) -> Vec<(Place, String)> {
    /// As the parser says it.
    const DUPLICATE: &str = "duplicate key";
    let mut repeated = 0..0;
    let mut told = Vec::new();
    for (span, message) in errors {
        let Some(span) = span else {
            told.push((Place::default(), message.to_owned()));
            continue;
        };
        let place = place_of(text, span.start);
        let key = text.get(span.clone()).filter(|_| message == DUPLICATE);
        let Some(key) = key else {
            told.push((place, message.to_owned()));
            continue;
        };
        if repeated.contains(&span.start) {
            continue;
        }
        let line = text[..span.start]
            .rfind('\n')
            .map_or(0, |newline| newline + 1);
        if !text[line..span.start].trim_start().starts_with('[') {
            told.push((place, format!("{message} `{key}`")));
            continue;
        }
        let end = text[span.end..]
            .find("\n[")
            .map_or(text.len(), |next| span.end + next + 1);
        repeated = span.start..end;
        let header = text[line..].lines().next().unwrap_or_default();
        let name = header.split(']').next().unwrap_or_default();
        let name = name.trim_start().trim_start_matches('[').trim();
        told.push((place, format!("the table `{name}` is there twice")));
    }
    told
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
