//! The text of one entity: octets in, characters with normalized line ends out.
//!
//! Every entity, the document first of all, says its own encoding (XML 1.0 section 4.3.3) and passes through here once.
//!
//! The one rule kept here: text that leaves this file holds only characters that XML 1.0 section 2.2 allows, and a
//! carriage return in it came from a character reference, never from a line end.

use super::{DtdError, Place};
use crate::chars;

/// What the octets of an entity turned out to be.
pub(super) struct Decoded {
    /// The text, line ends normalized (XML 1.0 section 2.11).
    pub(super) text: String,
    /// Where the text begins after the XML or text declaration.
    pub(super) start: usize,
    /// `standalone="yes"` in the XML declaration.
    pub(super) standalone: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Encoding {
    Utf8,
    Utf16 { big_endian: bool },
    Latin1,
    Ascii,
}

/// Decodes the entity called `entity` (for messages).
pub(super) fn decode(octets: &[u8], entity: &str) -> Result<Decoded, DtdError> {
    let malformed = |offset| DtdError::Malformed {
        entity: entity.to_owned(),
        offset,
    };
    let unknown = |encoding: &str| DtdError::UnknownEncoding {
        entity: entity.to_owned(),
        encoding: encoding.to_owned(),
    };
    let (detected, skipped) = match octets {
        [0xEF, 0xBB, 0xBF, ..] => (Encoding::Utf8, 3),
        [0xFE, 0xFF, ..] => (Encoding::Utf16 { big_endian: true }, 2),
        [0xFF, 0xFE, ..] => (Encoding::Utf16 { big_endian: false }, 2),
        [0, b'<', 0, b'?', ..] => (Encoding::Utf16 { big_endian: true }, 0),
        [b'<', 0, b'?', 0, ..] => (Encoding::Utf16 { big_endian: false }, 0),
        _ => (Encoding::Utf8, 0),
    };
    let octets_of_text = &octets[skipped..];
    let (encoding, text) = if let Encoding::Utf16 { big_endian } = detected {
        (
            detected,
            utf16(octets_of_text, big_endian).map_err(|offset| malformed(offset + skipped))?,
        )
    } else {
        // The declaration itself is ASCII in every encoding that is read here.
        let head_length = octets_of_text
            .iter()
            .take(512)
            .take_while(|octet| octet.is_ascii())
            .count();
        let head = std::str::from_utf8(&octets_of_text[..head_length]).unwrap_or_default();
        let declared = Declaration::read(head).and_then(|declaration| declaration.encoding);
        let encoding = match declared {
            None => Encoding::Utf8,
            Some(name) => by_name(name).ok_or_else(|| unknown(name))?,
        };
        let text = match encoding {
            Encoding::Utf8 => std::str::from_utf8(octets_of_text)
                .map_err(|error| malformed(error.valid_up_to() + skipped))?
                .to_owned(),
            Encoding::Latin1 if skipped == 0 => octets_of_text
                .iter()
                .map(|octet| char::from(*octet))
                .collect(),
            Encoding::Ascii => match octets_of_text.iter().position(|octet| !octet.is_ascii()) {
                Some(offset) => return Err(malformed(offset + skipped)),
                None => octets_of_text
                    .iter()
                    .map(|octet| char::from(*octet))
                    .collect(),
            },
            // The declaration contradicts the octets that it was read from.
            Encoding::Utf16 { .. } | Encoding::Latin1 => {
                return Err(unknown(declared.unwrap_or_default()));
            }
        };
        (encoding, text)
    };
    if let Some((offset, _)) = text
        .char_indices()
        .find(|(_, character)| !chars::is_char(*character))
    {
        return Err(malformed(offset + skipped));
    }
    let text = if text.contains('\r') {
        text.replace("\r\n", "\n").replace('\r', "\n")
    } else {
        text
    };
    let (mut start, mut standalone) = (0, false);
    if let Some(declaration) = Declaration::read(&text) {
        if let (Encoding::Utf16 { .. }, Some(name)) = (encoding, declaration.encoding)
            && !matches!(by_name(name), Some(Encoding::Utf16 { .. }))
        {
            return Err(unknown(name));
        }
        (start, standalone) = (declaration.length, declaration.standalone);
    }
    Ok(Decoded {
        text,
        start,
        standalone,
    })
}

fn by_name(name: &str) -> Option<Encoding> {
    let is = |other: &str| name.eq_ignore_ascii_case(other);
    if is("utf-8") || is("utf8") {
        Some(Encoding::Utf8)
    } else if is("utf-16") || is("utf-16le") || is("utf-16be") {
        Some(Encoding::Utf16 { big_endian: false })
    } else if is("iso-8859-1") || is("latin1") || is("iso_8859-1") {
        Some(Encoding::Latin1)
    } else if is("us-ascii") || is("ascii") {
        Some(Encoding::Ascii)
    } else {
        None
    }
}

fn utf16(octets: &[u8], big_endian: bool) -> Result<String, usize> {
    let (pairs, rest) = octets.as_chunks::<2>();
    if !rest.is_empty() {
        return Err(octets.len() - 1);
    }
    let units = pairs.iter().map(|pair| {
        if big_endian {
            u16::from_be_bytes(*pair)
        } else {
            u16::from_le_bytes(*pair)
        }
    });
    let mut text = String::with_capacity(octets.len());
    let mut offset = 0;
    for character in char::decode_utf16(units) {
        let character = character.map_err(|_| offset)?;
        offset += 2 * character.len_utf16();
        text.push(character);
    }
    Ok(text)
}

/// The XML declaration of a document or the text declaration of an external entity (XML 1.0 sections 2.8 and 4.3.1).
struct Declaration<'t> {
    encoding: Option<&'t str>,
    standalone: bool,
    /// Octets up to and with its `?>`.
    length: usize,
}

impl<'t> Declaration<'t> {
    fn read(text: &'t str) -> Option<Declaration<'t>> {
        let inside = text
            .strip_prefix("<?xml")
            .filter(|rest| rest.starts_with(is_space))?;
        let end = inside.find("?>")?;
        let length = "<?xml".len() + end + "?>".len();
        let mut declaration = Declaration {
            encoding: None,
            standalone: false,
            length,
        };
        let mut rest = inside[..end].trim_start_matches(is_space);
        while let Some((name, after)) = rest.split_once('=') {
            let after = after.trim_start_matches(is_space);
            let quote = after
                .chars()
                .next()
                .filter(|quote| matches!(quote, '"' | '\''))?;
            let (value, after) = after[1..].split_once(quote)?;
            match name.trim_end_matches(is_space) {
                "encoding" => declaration.encoding = Some(value),
                "standalone" => declaration.standalone = value == "yes",
                _ => {}
            }
            rest = after.trim_start_matches(is_space);
        }
        Some(declaration)
    }
}

/// White space of XML 1.0 section 2.3.
pub(super) fn is_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r')
}

/// Length of the `Name` (XML 1.0 section 2.3) that `text` begins with; 0 when there is none.
pub(super) fn name_length(text: &str) -> usize {
    if text.starts_with(|character| character == ':' || chars::is_name_start(character)) {
        token_length(text)
    } else {
        0
    }
}

/// Length of the `Nmtoken` that `text` begins with.
pub(super) fn token_length(text: &str) -> usize {
    text.find(|character| character != ':' && !chars::is_name_char(character))
        .unwrap_or(text.len())
}

/// Line and column of octet `at` in the text of `entity`.
pub(super) fn place(entity: &str, text: &str, at: usize) -> Place {
    let before = &text[..at.min(text.len())];
    let line = before.matches('\n').count() + 1;
    let column = before
        .rsplit('\n')
        .next()
        .unwrap_or_default()
        .chars()
        .count()
        + 1;
    let small = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Place {
        entity: entity.to_owned(),
        line: small(line),
        column: small(column),
    }
}

/// What stands at `at`, for a message: a few characters, or that the text ends.
pub(super) fn found(text: &str, at: usize) -> String {
    let rest = text.get(at..).unwrap_or_default();
    if rest.is_empty() {
        return "the end".to_owned();
    }
    let shown: String = rest
        .chars()
        .take_while(|character| *character != '\n')
        .take(16)
        .collect();
    format!("`{}`", if shown.is_empty() { "\\n" } else { &shown })
}
