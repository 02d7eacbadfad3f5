//! Names read from text, as any of the common stacks writes them.

use super::attribute::{Attribute, Value};
use super::keywords::KEYWORDS;
use crate::der::{self, Reader};
use crate::error::CryptoError;
use crate::hexadecimal;

pub(super) const EXPECTED: &str = "a distinguished name";

/// What a backslash and two hexadecimal digits stand for inside of quotes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum QuotedPairs {
    /// For themselves, as Windows writes them.
    Literal,
    /// For bytes of a character above ASCII, as OpenSSL's `oneline` writes it (RFC 2253, 3).
    Bytes,
}

/// Reads `type = value`; returns what follows and the separator that was there.
pub(super) fn parse_attribute(
    text: &str,
    pairs: QuotedPairs,
) -> Result<(Attribute, &str, Option<char>), CryptoError> {
    let (keyword, rest) = text
        .split_once('=')
        .ok_or_else(|| malformed(format!("`{text}`")))?;
    let keyword = keyword.trim();
    let oid =
        parse_type(keyword).ok_or_else(|| malformed(format!("the attribute type `{keyword}`")))?;
    let rest = rest.trim_start();
    let (value, rest) = match rest.chars().next() {
        Some('#') => parse_hexadecimal(rest)?,
        Some('"') => parse_quoted(&rest[1..], pairs)?,
        _ => parse_plain(rest)?,
    };
    let rest = rest.trim_start();
    let mut characters = rest.chars();
    let separator = characters.next();
    if !matches!(separator, None | Some(',' | ';' | '+')) {
        return Err(malformed(format!("`{rest}` after a value")));
    }
    Ok((
        Attribute {
            oid,
            value,
            der: None,
        },
        characters.as_str(),
        separator,
    ))
}

fn parse_type(keyword: &str) -> Option<Vec<u8>> {
    let is = |name: &str| name.eq_ignore_ascii_case(keyword);
    let known = KEYWORDS.iter().find(|known| {
        is(known.openssl)
            || known.rfc2253.is_some_and(is)
            || known.microsoft.is_some_and(is)
            || known.aliases.iter().any(|alias| is(alias))
    });
    match known {
        Some(known) => Some(known.oid.to_vec()),
        None => {
            let number = match keyword.get(..4) {
                Some(prefix) if prefix.eq_ignore_ascii_case("OID.") => &keyword[4..],
                _ => keyword,
            };
            der::oid_from_dotted(number)
        }
    }
}

fn parse_hexadecimal(text: &str) -> Result<(Value, &str), CryptoError> {
    let digits = text[1..]
        .find(|character: char| !character.is_ascii_hexdigit())
        .unwrap_or(text.len() - 1);
    let (digits, rest) = text[1..].split_at(digits);
    let octets = hexadecimal::decode(digits)
        .ok_or_else(|| malformed(format!("`#{digits}`, which is no hexadecimal DER")))?;
    let mut reader = Reader::new(&octets);
    match reader.any() {
        Ok(element) if reader.is_empty() => Ok((Value::of(element), rest)),
        _ => Err(malformed(format!(
            "`#{digits}`, which is no hexadecimal DER"
        ))),
    }
}

/// A name without the space around it. A space that a backslash escapes belongs to the last value.
pub(super) fn without_space_around(text: &str) -> &str {
    let text = text.trim_start();
    let end = text.trim_end().len();
    let backslashes = end - text[..end].trim_end_matches('\\').len();
    match text[end..].chars().next() {
        Some(escaped) if backslashes % 2 == 1 => &text[..end + escaped.len_utf8()],
        _ => &text[..end],
    }
}

fn parse_quoted(text: &str, pairs: QuotedPairs) -> Result<(Value, &str), CryptoError> {
    let unclosed = || malformed(format!("`\"{text}` without a closing quote"));
    let mut value = Unescaped::default();
    let mut characters = text.chars();
    loop {
        if pairs == QuotedPairs::Bytes
            && let Some((character, rest)) = pairs_above_ascii(characters.as_str())
        {
            value.push(character);
            characters = rest.chars();
            continue;
        }
        match characters.next().ok_or_else(unclosed)? {
            '"' if characters.as_str().starts_with('"') => {
                characters.next();
                value.push('"');
            }
            '"' => return Ok((value.finish(usize::MAX)?, characters.as_str())),
            // RFC 1779 escapes inside quotes, Windows does not: there a backslash stands for
            // itself.
            '\\' if characters.as_str().starts_with(['"', '\\']) => {
                value.push_escaped(&mut characters).ok_or_else(unclosed)?;
            }
            character => value.push(character),
        }
    }
}

/// The character that the text begins with as escaped bytes, and what follows. Each byte of a
/// character above ASCII is above ASCII itself, so no escaped quote or backslash is among them.
fn pairs_above_ascii(text: &str) -> Option<(char, &str)> {
    const LONGEST: usize = 4;
    let (mut octets, mut rest) = (Vec::with_capacity(LONGEST), text);
    while octets.len() < LONGEST {
        let digits = rest.strip_prefix('\\').and_then(|after| after.get(..2));
        let octet = *digits.and_then(hexadecimal::decode)?.first()?;
        if octet.is_ascii() {
            return None;
        }
        octets.push(octet);
        rest = &rest[1 + 2..];
        // Fewer bytes of a character are none.
        if let Ok(read) = std::str::from_utf8(&octets) {
            return read.chars().next().map(|character| (character, rest));
        }
    }
    None
}

fn parse_plain(text: &str) -> Result<(Value, &str), CryptoError> {
    let mut value = Unescaped::default();
    // Bytes up to the last one that is not an unescaped space: trailing space is not part of the
    // value.
    let mut kept = 0;
    let mut characters = text.chars();
    loop {
        let rest = characters.as_str();
        match characters.next() {
            None | Some(',' | ';' | '+') => return Ok((value.finish(kept)?, rest)),
            Some('\\') => {
                value
                    .push_escaped(&mut characters)
                    .ok_or_else(|| malformed(format!("`{text}`, which ends in a backslash")))?;
                kept = value.octets.len();
            }
            Some(character) => {
                value.push(character);
                if character != ' ' {
                    kept = value.octets.len();
                }
            }
        }
    }
}

/// A value as bytes, because an escape may stand for one byte of a longer character.
#[derive(Default)]
struct Unescaped {
    octets: Vec<u8>,
}

impl Unescaped {
    fn push(&mut self, character: char) {
        let mut octets = [0; 4];
        self.octets
            .extend_from_slice(character.encode_utf8(&mut octets).as_bytes());
    }

    /// What follows a backslash: two hexadecimal digits or any one character.
    fn push_escaped(&mut self, characters: &mut std::str::Chars<'_>) -> Option<()> {
        let rest = characters.as_str();
        if let Some(octet) = rest.get(..2).and_then(hexadecimal::decode) {
            self.octets.extend(octet);
            *characters = rest[2..].chars();
        } else {
            self.push(characters.next()?);
        }
        Some(())
    }

    fn finish(mut self, kept: usize) -> Result<Value, CryptoError> {
        self.octets.truncate(kept);
        String::from_utf8(self.octets)
            .map(Value::Text)
            .map_err(|_| malformed("escaped bytes that are not UTF-8".to_owned()))
    }
}

pub(super) fn malformed(found: String) -> CryptoError {
    CryptoError::Malformed {
        expected: EXPECTED,
        found,
    }
}
