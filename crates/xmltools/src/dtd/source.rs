//! The text of one entity: bytes in, characters with normalized line ends out.
//!
//! Every entity, the document first of all, says its own encoding (XML 1.0 section 4.3.3) and
//! passes through here once.
//!
//! The one rule kept here: text that leaves this file holds only characters that XML 1.0 section
//! 2.2 allows, and a carriage return in it came from a character reference, never from a line end.

use super::error::{DtdError, Place};
use soapstone_xml::Problem;
use soapstone_xml::chars;

/// What the bytes of an entity turned out to be.
pub(super) struct Decoded {
    /// The text, line ends normalized (XML 1.0 section 2.11).
    pub(super) text: String,
    /// Where the text begins after the XML or text declaration.
    pub(super) start: usize,
    /// `standalone="yes"` in the XML declaration.
    pub(super) standalone: bool,
}

/// Decodes the entity called `entity` (for messages).
pub(super) fn decode(octets: &[u8], entity: &str) -> Result<Decoded, DtdError> {
    let text =
        soapstone_xml::decode_text(octets).map_err(|(offset, problem)| DtdError::Encoding {
            entity: entity.to_owned(),
            offset,
            problem,
        })?;
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(&text);
    if let Some((offset, character)) = text
        .char_indices()
        .find(|(_, character)| !chars::is_char(*character))
    {
        let problem = Problem::IllegalCharacter { character };
        return Err(DtdError::Encoding {
            entity: entity.to_owned(),
            offset,
            problem,
        });
    }
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let (start, standalone) = declaration(&text).unwrap_or((0, false));
    Ok(Decoded {
        text,
        start,
        standalone,
    })
}

/// Where the XML declaration of a document or the text declaration of an external entity ends (XML
/// 1.0 sections 2.8 and 4.3.1), and whether it says `standalone="yes"`.
fn declaration(text: &str) -> Option<(usize, bool)> {
    let inside = text
        .strip_prefix("<?xml")
        .filter(|rest| rest.starts_with(is_space))?;
    let end = inside.find("?>")?;
    let standalone = inside[..end]
        .split_once("standalone")
        .is_some_and(|(_, rest)| {
            let value =
                rest.trim_start_matches(|character| is_space(character) || character == '=');
            value.starts_with("\"yes\"") || value.starts_with("'yes'")
        });
    Some(("<?xml".len() + end + "?>".len(), standalone))
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

/// Line and column of byte `at` in the text of `entity`.
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
