//! The fields of a header, of a message or of one of its parts (RFC 2045, 3; RFC 2822, 2.2).
//!
//! The rule kept here: a line is a field, or more of the last one's value, or the header is
//! refused.

use crate::error::PackageError;

/// Most fields of one header.
const MOST_FIELDS: usize = 128;
/// Characters of a text that an error repeats.
const MOST_CHARACTERS: usize = 160;

/// A field of a header.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    /// As it is written.
    name: String,
    value: String,
    line: u32,
    /// Whether its value goes over several lines.
    is_folded: bool,
}

/// The fields of a header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    fields: Vec<Field>,
    /// Its first line.
    line: u32,
}

impl Header {
    /// A header without fields that begins in a line.
    pub(crate) fn beginning(line: u32) -> Self {
        Self {
            fields: Vec::new(),
            line,
        }
    }

    fn found(&self, name: &str) -> Option<&Field> {
        let mut fields = self.fields.iter();
        fields.find(|field| field.name.eq_ignore_ascii_case(name))
    }

    /// The value of a field, and its line, from 1. The lines of a folded value are joined by a
    /// space.
    pub fn field(&self, name: &str) -> Option<(&str, u32)> {
        let found = self.found(name)?;
        Some((&found.value, found.line))
    }

    /// The names of its fields, as they are written.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|field| field.name.as_str())
    }

    /// The line of a field, or the first line of the header.
    pub fn line_of(&self, name: &str) -> u32 {
        self.field(name).map_or(self.line, |(_, line)| line)
    }

    /// Whether the value of a field goes over several lines.
    pub(crate) fn is_folded(&self, name: &str) -> bool {
        self.found(name).is_some_and(|field| field.is_folded)
    }

    /// Puts a value in the place of a field's, or adds the field.
    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.fields
            .retain(|field| !field.name.eq_ignore_ascii_case(name));
        self.fields.push(Field {
            name: name.to_owned(),
            value: value.to_owned(),
            line: self.line,
            is_folded: false,
        });
    }

    /// Takes out all fields but those with one of these names.
    pub(crate) fn keep(&mut self, names: &[&str]) {
        let is_kept = |field: &Field| {
            let mut names = names.iter();
            names.any(|name| field.name.eq_ignore_ascii_case(name))
        };
        self.fields.retain(is_kept);
    }

    /// Refuses a second field with one of the names that readers go by.
    pub(crate) fn checked(self) -> Result<Self, PackageError> {
        let read = [
            "Content-Type",
            "Content-ID",
            "Content-Transfer-Encoding",
            "Content-Length",
            "Content-Encoding",
            "Transfer-Encoding",
            "Content-Description",
            "Content-Disposition",
            "Content-Location",
        ];
        for name in read {
            let of_name = self.fields.iter();
            let mut of_name = of_name.filter(|field| field.name.eq_ignore_ascii_case(name));
            if let Some(second) = of_name.nth(1) {
                let line = second.line;
                return Err(PackageError::Repeated { line, name });
            }
        }
        Ok(self)
    }

    /// Adds a line: a field, or more of the value of the last one.
    pub(crate) fn add_line(&mut self, text: &[u8], line: u32) -> Result<(), PackageError> {
        let no_field = || PackageError::NoField {
            line,
            found: shortened(&String::from_utf8_lossy(text)),
        };
        let read = std::str::from_utf8(text).ok().filter(|text| is_text(text));
        let read = read.ok_or_else(no_field)?;
        // A line that begins with white space goes on with the value (RFC 2822, 2.2.3).
        if read.starts_with([' ', '\t']) {
            let last = self.fields.last_mut().ok_or_else(no_field)?;
            last.value.push(' ');
            last.value.push_str(read.trim());
            last.is_folded = true;
            return Ok(());
        }
        let (name, value) = read.split_once(':').ok_or_else(no_field)?;
        let is_token =
            |byte: u8| byte.is_ascii_alphanumeric() || b"-_.!#$%&'*+^`|~".contains(&byte);
        if name.is_empty() || !name.bytes().all(is_token) {
            return Err(no_field());
        }
        if self.fields.len() == MOST_FIELDS {
            return Err(PackageError::TooMany {
                what: "fields of a header",
                limit: MOST_FIELDS,
            });
        }
        self.fields.push(Field {
            name: name.to_owned(),
            value: value.trim().to_owned(),
            line,
            is_folded: false,
        });
        Ok(())
    }
}

/// Whether a text can stand in a line of a header.
pub(crate) fn is_text(text: &str) -> bool {
    !text.chars().any(|one| one.is_control() && one != '\t')
}

/// A text cut to what an error repeats.
pub(crate) fn shortened(text: &str) -> String {
    match text.char_indices().nth(MOST_CHARACTERS) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}
