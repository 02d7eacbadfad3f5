//! Reads TOML tables key by key, notes what is wrong with each, and goes on.
//!
//! A [`Table`] hands out values with their places. Whatever it cannot hand out it has already
//! reported, so a reader simply carries on with `None`. When a table goes out of use,
//! [`Table::finish`] reports the keys that nobody asked for, with the nearest key that would have
//! been understood.
//!
//! Two rules are kept here. A key is known because somebody asks for it; there is no second list of
//! keys to keep in step. And a value that is wrong is quoted only where it is recognizably a slip:
//! the misspelt name of a choice, a number with another unit. Every other value may be a
//! secret that was written in the wrong place, and its kind and place are told instead.

mod files;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use jiff::Timestamp;

use super::document::Document;
use super::known_key::{KeyKind, KnownKey};
use super::problem::{Located, Place, Problem};
use super::quoting::{NO_UNIT, nearest, quantity, slip};
use super::tree::{Tree, Value};
use super::values::{parse_duration, parse_size};

/// One table being read.
pub struct Table<'d> {
    document: &'d Document<'d>,
    table: &'d Tree,
    place: Place,
    name: String,
    asked: Vec<&'static str>,
    elsewhere: Vec<(&'static [&'static str], &'static str)>,
}

/// What stands where a flag is short for all names of a kind.
pub enum FlagOrStrings {
    /// `true` or `false`.
    Flag(bool),
    /// The names.
    Strings(Vec<Located<String>>),
}

/// What stands where a flag is short for a table.
pub enum FlagOrTable<'d> {
    /// `true` or `false`.
    Flag(bool),
    /// The table.
    Table(Table<'d>),
}

impl Document<'_> {
    /// The outermost table.
    pub fn root(&self) -> Table<'_> {
        Table::outermost(self, &self.root)
    }
}

impl<'d> Table<'d> {
    /// The table that holds all others.
    fn outermost(document: &'d Document<'d>, table: &'d Tree) -> Self {
        Self {
            document,
            table,
            place: Place { line: 1, column: 1 },
            name: String::new(),
            asked: Vec::new(),
            elsewhere: Vec::new(),
        }
    }

    /// Where the table begins.
    pub fn place(&self) -> Place {
        self.place
    }

    /// The document it belongs to.
    pub fn document(&self) -> &'d Document<'d> {
        self.document
    }

    /// The name as written between brackets (`routes.inbound`), empty for the outermost table.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Notes a problem at a place.
    pub fn report(&self, place: Place, message: impl Into<String>) {
        self.document
            .report(Problem::new(self.document.file(), place, message));
    }

    /// Notes a problem at a place, with advice.
    pub fn report_with_hint(
        &self,
        place: Place,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) {
        self.document
            .report(Problem::new(self.document.file(), place, message).with_hint(hint));
    }

    /// Whether the key is there, whatever its value. Does not count as reading it.
    pub fn has(&self, key: &str) -> bool {
        self.table.entry(key).is_some()
    }

    /// What stands at a key, without where it stands, as a number: other contents have another one.
    /// It is of this process alone. Does not count as reading it.
    pub fn fingerprint(&self, key: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        let entry = self.table.entry(key);
        entry.map(|entry| &entry.value).hash(&mut hasher);
        hasher.finish()
    }

    /// Whether the key is there and is a table.
    pub fn is_table(&self, key: &str) -> bool {
        self.table
            .entry(key)
            .is_some_and(|entry| matches!(entry.value, Value::Table(_)))
    }

    /// Whether the key is there and is a list of nothing.
    pub fn is_empty_list(&self, key: &str) -> bool {
        self.table
            .entry(key)
            .is_some_and(|entry| matches!(&entry.value, Value::Array(items) if items.is_empty()))
    }

    /// Where the key's value is, if it is there.
    pub fn place_of(&self, key: &str) -> Option<Place> {
        self.table.entry(key).map(|entry| entry.place)
    }

    /// A string.
    pub fn string(&mut self, key: &'static str) -> Option<Located<String>> {
        self.text(key, KeyKind::Text)
    }

    fn text(&mut self, key: &'static str, kind: KeyKind) -> Option<Located<String>> {
        let (value, place) = self.value(key, kind)?;
        match value {
            Value::Text(text) => Some(Located {
                value: text.clone(),
                place,
            }),
            other => self.wrong(place, key, "a string", other),
        }
    }

    /// A string that must be there.
    pub fn required_string(&mut self, key: &'static str, hint: &str) -> Option<Located<String>> {
        if !self.has(key) {
            self.missing(key, hint);
        }
        self.string(key)
    }

    /// Notes that a key which must be there is not. Says nothing about a file with syntax errors,
    /// where it may well be there.
    pub fn missing(&self, key: &str, hint: &str) {
        if !self.document.is_well_formed() {
            return;
        }
        let message = match self.name.as_str() {
            "" => format!("`{key}` is missing"),
            name => format!("`{key}` is missing in [{name}]"),
        };
        self.report_with_hint(self.place, message, hint);
    }

    /// True or false.
    pub fn boolean(&mut self, key: &'static str) -> Option<Located<bool>> {
        let (value, place) = self.value(key, KeyKind::Boolean)?;
        match value {
            Value::Boolean(value) => Some(Located {
                value: *value,
                place,
            }),
            other => self.wrong(place, key, "true or false", other),
        }
    }

    /// True or false, or a table such as `example`.
    pub fn flag_or_table(
        &mut self,
        key: &'static str,
        example: &str,
    ) -> Option<Located<FlagOrTable<'d>>> {
        let (value, place) = self.value(key, KeyKind::FlagOrTable)?;
        let value = match value {
            Value::Boolean(value) => FlagOrTable::Flag(*value),
            Value::Table(table) => FlagOrTable::Table(self.inner(table, place, key)),
            other => {
                let expected = format!("a table such as {example}, true or false");
                return self.wrong(place, key, &expected, other);
            }
        };
        Some(Located { value, place })
    }

    /// True, false, or an array of strings such as `example`; `None` when the key is absent.
    pub fn flag_or_strings(
        &mut self,
        key: &'static str,
        example: &str,
    ) -> Option<Located<FlagOrStrings>> {
        let (value, place) = self.value(key, KeyKind::FlagOrStrings)?;
        let expected = format!("an array such as {example}, true or false");
        let value = match value {
            Value::Boolean(value) => FlagOrStrings::Flag(*value),
            Value::Array(items) => FlagOrStrings::Strings(self.texts(key, &expected, items)),
            other => return self.wrong(place, key, &expected, other),
        };
        Some(Located { value, place })
    }

    /// A whole number within bounds.
    pub fn integer(&mut self, key: &'static str, least: u64, most: u64) -> Option<Located<u64>> {
        let (value, place) = self.value(key, KeyKind::Integer { least, most })?;
        let expected = format!("a whole number from {least} to {most}");
        let Value::Integer(digits, radix) = value else {
            return self.wrong(place, key, &expected, value);
        };
        let found = match u64::from_str_radix(digits, *radix) {
            Ok(number) if number < least => "a smaller number",
            Ok(number) if number <= most => {
                return Some(Located {
                    value: number,
                    place,
                });
            }
            Err(_) if digits.starts_with('-') => "a smaller number",
            _ => "a larger number",
        };
        self.report(place, format!("`{key}` must be {expected}, found {found}"));
        None
    }

    /// A duration such as `"5m"`.
    pub fn duration(&mut self, key: &'static str) -> Option<Located<Duration>> {
        let (value, place) = self.value(key, KeyKind::Duration)?;
        let expected = "a duration such as \"500ms\", \"60s\", \"5m\" or \"1h30m\"";
        let text = match value {
            Value::Text(text) => text,
            Value::Integer(..) => return self.unlike(place, key, expected, NO_UNIT),
            other => return self.wrong(place, key, expected, other),
        };
        match parse_duration(text) {
            Some(value) => Some(Located { value, place }),
            None => self.unlike(place, key, expected, &quantity(text)),
        }
    }

    /// A size in bytes such as `"8MiB"`, or a number of bytes.
    pub fn size(&mut self, key: &'static str) -> Option<Located<u64>> {
        let (value, place) = self.value(key, KeyKind::Size)?;
        let expected = "a size such as \"64KiB\", \"8MiB\" or \"1GB\"";
        let (size, found) = match value {
            Value::Text(text) => (parse_size(text), quantity(text)),
            Value::Integer(digits, radix) => (
                u64::from_str_radix(digits, *radix).ok(),
                "a number that is too large or too small".to_owned(),
            ),
            other => return self.wrong(place, key, expected, other),
        };
        match size {
            Some(value) => Some(Located { value, place }),
            None => self.unlike(place, key, expected, &found),
        }
    }

    /// A moment: an RFC 3339 string or a TOML date-time with an offset; a date alone is its
    /// midnight in UTC.
    pub fn moment(&mut self, key: &'static str) -> Option<Located<Timestamp>> {
        let (value, place) = self.value(key, KeyKind::Moment)?;
        self.moment_from(key, value, place)
    }

    /// One of the names listed; anything else is a problem that suggests the nearest of them.
    pub fn choice<T: Copy>(
        &mut self,
        key: &'static str,
        choices: &[(&str, T)],
    ) -> Option<Located<T>> {
        let names = choices.iter().map(|(name, _)| (*name).to_owned());
        let text = self.text(key, KeyKind::Choice(names.collect()))?;
        self.chosen(key, &text, choices)
    }

    /// An array of names that are listed; `None` when the key is absent.
    pub fn choices<T: Copy>(&mut self, key: &'static str, choices: &[(&str, T)]) -> Option<Vec<T>> {
        let names = choices.iter().map(|(name, _)| (*name).to_owned());
        let texts = self.strings_of(key, KeyKind::Choices(names.collect()))?;
        let chosen = texts.iter().map(|text| self.chosen(key, text, choices));
        Some(chosen.flatten().map(|chosen| chosen.value).collect())
    }

    fn chosen<T: Copy>(
        &self,
        key: &str,
        text: &Located<String>,
        choices: &[(&str, T)],
    ) -> Option<Located<T>> {
        match choices.iter().find(|(name, _)| *name == text.value) {
            Some((_, value)) => Some(Located {
                value: *value,
                place: text.place,
            }),
            None => {
                let names: Vec<&str> = choices.iter().map(|(name, _)| *name).collect();
                let (found, near) = slip(&text.value, names.iter().copied());
                let message = format!("`{key}` must be one of {}, found {found}", names.join(", "));
                match near {
                    Some(name) => self.report_with_hint(
                        text.place,
                        message,
                        format!("did you mean \"{name}\"?"),
                    ),
                    None => self.report(text.place, message),
                }
                None
            }
        }
    }

    /// An array of strings; `None` when the key is absent.
    pub fn strings(&mut self, key: &'static str) -> Option<Vec<Located<String>>> {
        self.strings_of(key, KeyKind::Texts)
    }

    fn strings_of(&mut self, key: &'static str, kind: KeyKind) -> Option<Vec<Located<String>>> {
        let (value, place) = self.value(key, kind)?;
        match value {
            Value::Array(items) => Some(self.texts(key, "an array of strings", items)),
            _ => self.wrong(place, key, "an array of strings", value),
        }
    }

    fn texts(&self, key: &str, expected: &str, items: &[(Value, Place)]) -> Vec<Located<String>> {
        let mut strings = Vec::with_capacity(items.len());
        for (item, place) in items {
            match item {
                Value::Text(text) => strings.push(Located {
                    value: text.clone(),
                    place: *place,
                }),
                other => {
                    self.wrong::<()>(*place, key, expected, other);
                }
            }
        }
        strings
    }

    /// A table below this one.
    pub fn table(&mut self, key: &'static str) -> Option<Table<'d>> {
        self.table_of(key, KeyKind::Table)
    }

    fn table_of(&mut self, key: &'static str, kind: KeyKind) -> Option<Table<'d>> {
        let (value, place) = self.value(key, kind)?;
        match value {
            Value::Table(table) => Some(self.inner(table, place, key)),
            other => {
                let outer = match self.name.as_str() {
                    "" => String::new(),
                    name => format!("{name}."),
                };
                self.report_with_hint(
                    place,
                    format!("`{key}` must be a table, found {}", other.kind()),
                    format!("write {key} = {{ … }} with its keys, or [{outer}{key}] before them"),
                );
                None
            }
        }
    }

    /// A table, or an array of them; empty when the key is absent.
    pub fn table_or_tables(&mut self, key: &'static str) -> Vec<Table<'d>> {
        match self.table.entry(key).map(|entry| &entry.value) {
            Some(Value::Array(_)) => self.tables_of(key, KeyKind::TableOrTables),
            _ => self
                .table_of(key, KeyKind::TableOrTables)
                .into_iter()
                .collect(),
        }
    }

    /// An array of tables (`[[key]]`), empty when the key is absent.
    pub fn tables(&mut self, key: &'static str) -> Vec<Table<'d>> {
        self.tables_of(key, KeyKind::Tables)
    }

    fn tables_of(&mut self, key: &'static str, kind: KeyKind) -> Vec<Table<'d>> {
        let Some((value, place)) = self.value(key, kind) else {
            return Vec::new();
        };
        let Value::Array(items) = value else {
            self.wrong::<()>(
                place,
                key,
                &format!("an array of tables, written [[{key}]]"),
                value,
            );
            return Vec::new();
        };
        let mut tables = Vec::with_capacity(items.len());
        for (item, place) in items {
            match item {
                Value::Table(table) => tables.push(self.inner(table, *place, key)),
                other => {
                    self.wrong::<()>(
                        *place,
                        key,
                        &format!("an array of tables, written [[{key}]]"),
                        other,
                    );
                }
            }
        }
        tables
    }

    /// Every entry of a table whose keys are free (names of algorithms, for example), each with a
    /// moment as its value.
    pub fn moments(&mut self, key: &'static str) -> Vec<(Located<String>, Located<Timestamp>)> {
        let Some((value, place)) = self.value(key, KeyKind::Moments) else {
            return Vec::new();
        };
        let Value::Table(table) = value else {
            self.wrong::<()>(place, key, "a table of names and dates", value);
            return Vec::new();
        };
        let mut moments = Vec::with_capacity(table.entries.len());
        for entry in &table.entries {
            if let Some(moment) = self.moment_from(&entry.key, &entry.value, entry.place) {
                moments.push((
                    Located {
                        value: entry.key.clone(),
                        place: entry.key_place,
                    },
                    moment,
                ));
            }
        }
        moments
    }

    /// Keys of another kind of file or table, and what to tell somebody who writes them here.
    pub fn belong_elsewhere(&mut self, keys: &'static [&'static str], hint: &'static str) {
        self.elsewhere.push((keys, hint));
    }

    /// Reports the keys that nobody asked for, and ends the reading of this table. Like
    /// [`Self::missing`], it says nothing about a file with syntax errors.
    pub fn finish(self) {
        if !self.document.is_well_formed() {
            return;
        }
        for entry in &self.table.entries {
            let (name, place) = (entry.key.as_str(), entry.key_place);
            if self.asked.contains(&name) {
                continue;
            }
            let message = match self.name.as_str() {
                "" => format!("unknown key `{name}`"),
                table => format!("unknown key `{name}` in [{table}]"),
            };
            let mut elsewhere = self.elsewhere.iter();
            if let Some((_, hint)) = elsewhere.find(|(keys, _)| keys.contains(&name)) {
                self.report_with_hint(place, message, *hint);
                continue;
            }
            match nearest(name, self.asked.iter().copied()) {
                Some(known) => {
                    self.report_with_hint(place, message, format!("did you mean `{known}`?"))
                }
                None => {
                    let mut known = self.asked.clone();
                    known.sort_unstable();
                    known.dedup();
                    self.report_with_hint(
                        place,
                        message,
                        format!("known here: {}", known.join(", ")),
                    );
                }
            }
        }
    }

    fn inner(&self, table: &'d Tree, place: Place, key: &str) -> Table<'d> {
        let name = match self.name.as_str() {
            "" => key.to_owned(),
            outer => format!("{outer}.{key}"),
        };
        Table {
            document: self.document,
            table,
            place,
            name,
            asked: Vec::new(),
            elsewhere: Vec::new(),
        }
    }

    fn value(&mut self, key: &'static str, kind: KeyKind) -> Option<(&'d Value, Place)> {
        self.asked.push(key);
        self.document.note_key(KnownKey {
            table: self.name.clone(),
            key,
            kind,
        });
        self.table
            .entry(key)
            .map(|entry| (&entry.value, entry.place))
    }

    /// Says that a value is of another kind than its key's. The value is not told.
    fn wrong<T>(&self, place: Place, key: &str, expected: &str, found: &Value) -> Option<T> {
        self.unlike(place, key, expected, found.kind())
    }

    fn unlike<T>(&self, place: Place, key: &str, expected: &str, found: &str) -> Option<T> {
        self.report(place, format!("`{key}` must be {expected}, found {found}"));
        None
    }

    fn moment_from(&self, key: &str, value: &Value, place: Place) -> Option<Located<Timestamp>> {
        let text = match value {
            Value::Text(text) | Value::Moment(text) => text,
            other => return self.wrong(place, key, EXPECTED_MOMENT, other),
        };
        let moment = text.parse::<Timestamp>().ok().or_else(|| {
            let date = text
                .parse::<jiff::civil::Date>()
                .ok()
                .filter(|_| !text.contains([':', 'T', 't', ' ']))?;
            date.to_zoned_datetime(jiff::tz::TimeZone::UTC)
                .ok()
                .map(|midnight| midnight.timestamp())
        });
        match moment {
            Some(value) => Some(Located { value, place }),
            None => self.unlike(place, key, EXPECTED_MOMENT, &quantity(text)),
        }
    }
}

const EXPECTED_MOMENT: &str =
    "a moment such as \"2026-11-20T12:00:00Z\" or a date such as \"2026-11-20\"";
