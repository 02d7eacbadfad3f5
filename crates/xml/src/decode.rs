//! Bytes to UTF-8 text (XML 4.3.3, appendix F).
//!
//! UTF-8 is taken as it is; UTF-16, ISO-8859-1 and US-ASCII are transcoded, and the name in the
//! declaration is changed with them, so that the text is what it says it is. The rule: nothing is
//! replaced or guessed; malformed input is refused with its offset.

use crate::error::{Failure, Problem};

/// The declaration that nearly every message has that has one: known without reading it.
pub(crate) const USUAL_DECLARATION: &[u8] = b"<?xml version=\"1.0\" encoding=\"UTF-8\"?>";

/// Decodes `source`. On failure the source is given back.
pub(crate) fn decode(source: Vec<u8>) -> Result<String, (Vec<u8>, Box<Failure>)> {
    let decoded = match encoding(&source) {
        Ok(Encoding::Utf8) => {
            return String::from_utf8(source).map_err(|error| {
                let offset = error.utf8_error().valid_up_to();
                (error.into_bytes(), malformed(offset, "UTF-8"))
            });
        }
        Ok(Encoding::Utf16 { big_endian, bom }) => utf16(&source, bom, big_endian),
        Ok(Encoding::Latin1) => Ok(source.iter().map(|&byte| char::from(byte)).collect()),
        Ok(Encoding::Ascii) => match source.iter().position(|byte| !byte.is_ascii()) {
            Some(offset) => Err(malformed(offset, "US-ASCII")),
            None => Ok(source.iter().map(|&byte| char::from(byte)).collect()),
        },
        Err(failure) => Err(failure),
    };
    match decoded {
        Ok(text) => Ok(rename(text)),
        Err(failure) => Err((source, failure)),
    }
}

/// The text of a document or of an entity, in any encoding that the scanner knows (XML 4.3.3). A
/// seam for readers of what the scanner refuses, such as documents with a DTD.
///
/// # Errors
///
/// The offset in bytes and what is wrong there.
pub fn decode_text(source: &[u8]) -> Result<String, (usize, Problem)> {
    decode(source.to_vec()).map_err(|(_, failure)| (failure.offset, failure.problem))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Encoding {
    Utf8,
    Utf16 { big_endian: bool, bom: usize },
    Latin1,
    Ascii,
}

fn malformed(offset: usize, encoding: &'static str) -> Box<Failure> {
    Failure::at(offset, Problem::MalformedEncoding { encoding })
}

/// The encoding by byte order mark, first bytes and declaration.
fn encoding(source: &[u8]) -> Result<Encoding, Box<Failure>> {
    let utf32 = || Problem::UnsupportedEncoding {
        encoding: "UTF-32".to_owned(),
    };
    match source {
        [0xFF, 0xFE, 0, 0, ..]
        | [0, 0, 0xFE, 0xFF, ..]
        | [b'<', 0, 0, 0, ..]
        | [0, 0, 0, b'<', ..] => Err(Failure::at(0, utf32())),
        [0xFE, 0xFF, ..] => by_declaration_16(source, true, 2),
        [0xFF, 0xFE, ..] => by_declaration_16(source, false, 2),
        [0, b'<', 0, b'?', ..] => by_declaration_16(source, true, 0),
        [b'<', 0, b'?', 0, ..] => by_declaration_16(source, false, 0),
        [0xEF, 0xBB, 0xBF, rest @ ..] => match declared(rest) {
            Some((_, name)) if !is(name, &["UTF-8", "UTF8"]) => Err(wrong(name, "UTF-8")),
            _ => Ok(Encoding::Utf8),
        },
        _ if source.starts_with(USUAL_DECLARATION) => Ok(Encoding::Utf8),
        _ => match declared(source) {
            None => Ok(Encoding::Utf8),
            Some((_, name)) if is(name, &["UTF-8", "UTF8"]) => Ok(Encoding::Utf8),
            Some((_, name)) if is(name, &["ISO-8859-1", "ISO_8859-1", "LATIN1", "L1"]) => {
                Ok(Encoding::Latin1)
            }
            Some((_, name)) if is(name, &["US-ASCII", "ASCII", "ANSI_X3.4-1968"]) => {
                Ok(Encoding::Ascii)
            }
            Some((_, name)) if is_utf16(name, None) => Err(wrong(name, "not UTF-16")),
            Some((at, name)) => {
                let encoding = String::from_utf8_lossy(name).into_owned();
                Err(Failure::at(at, Problem::UnsupportedEncoding { encoding }))
            }
        },
    }
}

fn wrong(name: &[u8], actual: &'static str) -> Box<Failure> {
    let declared = String::from_utf8_lossy(name).into_owned();
    Failure::at(0, Problem::WrongEncoding { declared, actual })
}

fn is(name: &[u8], names: &[&str]) -> bool {
    names
        .iter()
        .any(|known| name.eq_ignore_ascii_case(known.as_bytes()))
}

fn is_utf16(name: &[u8], big_endian: Option<bool>) -> bool {
    is(name, &["UTF-16", "UTF16", "ISO-10646-UCS-2"])
        || (big_endian != Some(false) && is(name, &["UTF-16BE"]))
        || (big_endian != Some(true) && is(name, &["UTF-16LE"]))
}

fn by_declaration_16(
    source: &[u8],
    big_endian: bool,
    bom: usize,
) -> Result<Encoding, Box<Failure>> {
    // The declaration is ASCII: every other byte of it.
    let narrow: Vec<u8> = source[bom..]
        .iter()
        .skip(usize::from(big_endian))
        .step_by(2)
        .take(256)
        .copied()
        .collect();
    match declared(&narrow) {
        Some((_, name)) if !is_utf16(name, Some(big_endian)) => Err(wrong(name, "UTF-16")),
        None if bom == 0 => Err(malformed(1, "UTF-8")),
        _ => Ok(Encoding::Utf16 { big_endian, bom }),
    }
}

/// Place and text of the encoding name in the XML declaration, if there is one. Its grammar is
/// checked by the scanner.
fn declared(source: &[u8]) -> Option<(usize, &[u8])> {
    let declaration = source.strip_prefix(b"<?xml")?;
    declaration
        .first()
        .filter(|byte| byte.is_ascii_whitespace())?;
    let end = declaration
        .iter()
        .take(250)
        .position(|&byte| byte == b'>')?;
    let declaration = &source[..5 + end];
    let word = declaration
        .windows(8)
        .position(|window| window == b"encoding")?;
    let mut rest = word + 8;
    while matches!(
        declaration.get(rest),
        Some(b' ' | b'\t' | b'\r' | b'\n' | b'=')
    ) {
        rest += 1;
    }
    let quote = declaration
        .get(rest)
        .filter(|byte| matches!(byte, b'"' | b'\''))?;
    let name = &declaration[rest + 1..];
    let length = name.iter().position(|byte| byte == quote)?;
    Some((rest + 1, &name[..length]))
}

/// Changes the declared name to UTF-8.
fn rename(mut text: String) -> String {
    if let Some((at, name)) = declared(text.as_bytes()) {
        let end = at + name.len();
        text.replace_range(at..end, "UTF-8");
    }
    text
}

fn utf16(source: &[u8], bom: usize, big_endian: bool) -> Result<String, Box<Failure>> {
    let (pairs, rest) = source[bom..].as_chunks::<2>();
    let units = pairs.iter().map(|pair| match big_endian {
        true => u16::from_be_bytes(*pair),
        false => u16::from_le_bytes(*pair),
    });
    let mut text = String::with_capacity(pairs.len() + pairs.len() / 8);
    let mut offset = bom;
    for decoded in char::decode_utf16(units) {
        match decoded {
            Ok(character) => {
                text.push(character);
                offset += 2 * character.len_utf16();
            }
            Err(_) => return Err(malformed(offset, "UTF-16")),
        }
    }
    if !rest.is_empty() {
        return Err(malformed(offset, "UTF-16"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: &[u8]) -> Result<String, (usize, Problem)> {
        decode(source.to_vec()).map_err(|(_, failure)| (failure.offset, failure.problem))
    }

    fn wide(text: &str, big_endian: bool, bom: bool) -> Vec<u8> {
        let units = bom.then_some(0xFEFF).into_iter().chain(text.encode_utf16());
        units
            .flat_map(|unit| {
                if big_endian {
                    unit.to_be_bytes()
                } else {
                    unit.to_le_bytes()
                }
            })
            .collect()
    }

    #[test]
    fn utf16_is_transcoded_in_both_orders_and_its_declaration_with_it() {
        let source = "<?xml version='1.0' encoding='utf-16'?><a>é€😀</a>";
        let expected = "<?xml version='1.0' encoding='UTF-8'?><a>é€😀</a>";
        for big_endian in [true, false] {
            for bom in [true, false] {
                assert_eq!(
                    text(&wide(source, big_endian, bom)).as_deref(),
                    Ok(expected)
                );
            }
            assert_eq!(text(&wide("<a/>", big_endian, true)).as_deref(), Ok("<a/>"));
        }
    }

    #[test]
    fn malformed_utf16_is_refused_with_its_offset() {
        let mut source = wide("<a/>", false, true);
        source.extend_from_slice(&0xD800u16.to_le_bytes());
        source.extend_from_slice(&u16::from(b'x').to_le_bytes());
        let malformed = Problem::MalformedEncoding { encoding: "UTF-16" };
        assert_eq!(text(&source), Err((10, malformed.clone())));
        assert_eq!(text(&[0xFE, 0xFF, 0, b'<', 0]), Err((4, malformed)));
    }

    #[test]
    fn malformed_utf8_is_refused_with_its_offset() {
        let malformed = Problem::MalformedEncoding { encoding: "UTF-8" };
        for bytes in [
            &b"\xC0\xAF"[..],
            b"\xED\xA0\x80",
            b"\xF5\x80\x80\x80",
            b"\xE2\x82",
            b"\x80",
        ] {
            assert_eq!(text(&[b"<a>", bytes].concat()), Err((3, malformed.clone())));
        }
    }

    #[test]
    fn single_byte_encodings_are_read_by_declaration_only() {
        let source = b"<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><a>\xE9</a>";
        let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?><a>é</a>";
        assert_eq!(text(source).as_deref(), Ok(expected));
        let source = b"<?xml version=\"1.0\" encoding=\"US-ASCII\"?><a>\xE9</a>";
        assert_eq!(
            text(source),
            Err((
                44,
                Problem::MalformedEncoding {
                    encoding: "US-ASCII"
                }
            ))
        );
    }

    #[test]
    fn a_declaration_that_contradicts_the_bytes_is_refused() {
        let declared = |name: &str| format!("<?xml version='1.0' encoding='{name}'?><a/>");
        let wrong = |declared: &str, actual| {
            Err((
                0,
                Problem::WrongEncoding {
                    declared: declared.to_owned(),
                    actual,
                },
            ))
        };
        assert_eq!(
            text(declared("UTF-16").as_bytes()),
            wrong("UTF-16", "not UTF-16")
        );
        assert_eq!(
            text(&wide(&declared("UTF-8"), true, true)),
            wrong("UTF-8", "UTF-16")
        );
        assert_eq!(
            text(&wide(&declared("UTF-16LE"), true, true)),
            wrong("UTF-16LE", "UTF-16")
        );
        let marked = [b"\xEF\xBB\xBF", declared("latin1").as_bytes()].concat();
        assert_eq!(text(&marked), wrong("latin1", "UTF-8"));
    }

    #[test]
    fn other_encodings_are_refused_by_name() {
        let source = b"<?xml version='1.0' encoding='EBCDIC-CP-US'?><a/>";
        let unsupported = |name: &str| Problem::UnsupportedEncoding {
            encoding: name.to_owned(),
        };
        assert_eq!(text(source), Err((30, unsupported("EBCDIC-CP-US"))));
        assert_eq!(
            text(b"\xFF\xFE\0\0<\0\0\0"),
            Err((0, unsupported("UTF-32")))
        );
    }
}
