//! Character references and the five predefined entities (XML 4.1, 4.6).
//!
//! The rule: a reference stands for exactly one character, and that character is legal.

use crate::chars;
use crate::error::{Failure, Problem};

/// A reference: the character it stands for, and the offset after its `;`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reference {
    pub(crate) character: char,
    pub(crate) end: usize,
}

/// Reads the reference that starts with the `&` at `at`.
pub(crate) fn read(text: &str, at: usize) -> Result<Reference, Box<Failure>> {
    let malformed = || Failure::at(at, Problem::MalformedReference);
    let rest = &text.as_bytes()[at + 1..];
    // U+10FFFF is `#1114111`; leading zeros are allowed but nobody needs more than a few of them.
    let length = rest
        .iter()
        .take(1024)
        .position(|&byte| byte == b';')
        .ok_or_else(malformed)?;
    let name = text.get(at + 1..at + 1 + length).ok_or_else(malformed)?;
    let character = match name {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        _ => match name.strip_prefix('#') {
            Some(number) => {
                let (digits, radix) = match number.strip_prefix('x') {
                    Some(digits) => (digits, 16),
                    None => (number, 10),
                };
                if !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                    return Err(malformed());
                }
                let code = u32::from_str_radix(digits, radix).map_err(|_| malformed())?;
                char::from_u32(code)
                    .filter(|&c| chars::is_char(c))
                    .ok_or_else(malformed)?
            }
            None if chars::ncname_end(name, 0) == Some(name.len()) => {
                return Err(Failure::at(
                    at,
                    Problem::UnknownEntity {
                        name: name.to_owned(),
                    },
                ));
            }
            None => return Err(malformed()),
        },
    };
    Ok(Reference {
        character,
        end: at + length + 2,
    })
}

/// Whether `reference`, as written, is what C14N writes for its character in text.
pub(crate) fn is_canonical_in_text(reference: &str) -> bool {
    matches!(reference, "&amp;" | "&lt;" | "&gt;" | "&#xD;")
}

/// Whether `reference`, as written, is what C14N writes for its character in an attribute value.
pub(crate) fn is_canonical_in_attribute(reference: &str) -> bool {
    matches!(
        reference,
        "&amp;" | "&lt;" | "&quot;" | "&#x9;" | "&#xA;" | "&#xD;"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn character(reference: &str) -> Result<char, Problem> {
        read(reference, 0)
            .map(|read| read.character)
            .map_err(|failure| failure.problem)
    }

    #[test]
    fn references_stand_for_their_character() {
        assert_eq!(character("&amp;"), Ok('&'));
        assert_eq!(character("&#65;"), Ok('A'));
        assert_eq!(character("&#x1F600;"), Ok('😀'));
        assert_eq!(character("&#0000000000009;"), Ok('\t'));
    }

    #[test]
    fn references_to_illegal_characters_and_unknown_entities_are_refused() {
        for reference in [
            "&#0;",
            "&#xFFFE;",
            "&#xD800;",
            "&#x110000;",
            "&#1;",
            "&#99999999999;",
            "&;",
            "&#;",
            "&#x;",
            "&#+65;",
            "&#x+6;",
            "& amp;",
            "&amp",
            "&#X41;",
            "&#1F;",
        ] {
            assert_eq!(
                character(reference),
                Err(Problem::MalformedReference),
                "{reference}"
            );
        }
        assert_eq!(
            character("&nbsp;"),
            Err(Problem::UnknownEntity {
                name: "nbsp".into()
            })
        );
    }
}
