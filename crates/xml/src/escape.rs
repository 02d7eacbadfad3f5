//! Canonical escaping (C14N 1.0 section 2.3) for generated XML.
//!
//! The rule: what is written through these functions is already in canonical form.

use fearless_simd::prelude::*;
use fearless_simd::{Level, dispatch, u8x16};

use crate::chars::is_char;

/// Appends character data: `&`, `<`, `>` and CR become references.
pub fn text(text: &str, output: &mut Vec<u8>) {
    /// Pieces of text in which one character to escape makes the whole piece slow.
    const PIECE: usize = 1024;
    for piece in text.as_bytes().chunks(PIECE) {
        // Most text holds nothing to escape, and looking for that first halves the time of short
        // texts too.
        if is_plain_text(piece) {
            output.extend_from_slice(piece);
        } else {
            escape(piece, output, |byte| match byte {
                b'&' => Some("&amp;"),
                b'<' => Some("&lt;"),
                b'>' => Some("&gt;"),
                b'\r' => Some("&#xD;"),
                _ => None,
            });
        }
    }
}

/// Appends an attribute value, without its quotes: `&`, `<`, `"`, TAB, LF and CR become references.
pub fn attribute(value: &str, output: &mut Vec<u8>) {
    if is_plain_value(value.as_bytes()) {
        return output.extend_from_slice(value.as_bytes());
    }
    escape(value.as_bytes(), output, |byte| match byte {
        b'&' => Some("&amp;"),
        b'<' => Some("&lt;"),
        b'"' => Some("&quot;"),
        b'\t' => Some("&#x9;"),
        b'\n' => Some("&#xA;"),
        b'\r' => Some("&#xD;"),
        _ => None,
    });
}

/// `text` as character data in a string: escaped like [`text`], and a character that XML cannot
/// hold (XML 1.0 production 2) becomes U+FFFD. For text of any origin.
#[must_use]
pub fn text_of(text: &str) -> String {
    replaced(text, |character| match character {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '\r' => Some("&#xD;"),
        _ => None,
    })
}

/// `value` for an attribute in quotes of either kind, which is good as character data, too.
/// Characters that XML cannot hold become U+FFFD.
#[must_use]
pub fn value_of(value: &str) -> String {
    replaced(value, |character| match character {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        '\'' => Some("&#39;"),
        '\t' => Some("&#x9;"),
        '\n' => Some("&#xA;"),
        '\r' => Some("&#xD;"),
        _ => None,
    })
}

fn replaced(text: &str, reference: impl Fn(char) -> Option<&'static str>) -> String {
    let mut replaced = String::with_capacity(text.len());
    for character in text.chars() {
        match reference(character) {
            Some(reference) => replaced.push_str(reference),
            None if is_char(character) => replaced.push(character),
            None => replaced.push(char::REPLACEMENT_CHARACTER),
        }
    }
    replaced
}

/// Whether character data holds nothing to escape.
fn is_plain_text(bytes: &[u8]) -> bool {
    let is_plain = |byte: &u8| !matches!(byte, b'&' | b'<' | b'>' | b'\r');
    all(
        bytes,
        is_plain,
        |block| dispatch!(Level::baseline(), simd => escapes_in_text(simd, block)),
    )
}

/// Whether an attribute value holds nothing to escape, nor white space that parsing normalizes.
pub(crate) fn is_plain_value(bytes: &[u8]) -> bool {
    let is_plain = |byte: &u8| *byte >= b' ' && !matches!(byte, b'&' | b'<' | b'"');
    all(
        bytes,
        is_plain,
        |block| dispatch!(Level::baseline(), simd => escapes_in_value(simd, block)),
    )
}

/// Whether all bytes are plain: 16 bytes at a time, the last 16 once more instead of a remainder.
#[inline(always)]
fn all(bytes: &[u8], is_plain: impl Fn(&u8) -> bool, escapes: impl Fn(&[u8; 16]) -> bool) -> bool {
    let (blocks, _) = bytes.as_chunks::<16>();
    match bytes.last_chunk::<16>() {
        Some(last) => !blocks.iter().any(&escapes) && !escapes(last),
        None => bytes.iter().all(is_plain),
    }
}

#[inline(always)]
fn escapes_in_text<S: Simd>(simd: S, block: &[u8; 16]) -> bool {
    let bytes = u8x16::simd_from(simd, *block);
    let ampersand = bytes.simd_eq(u8x16::splat(simd, b'&'));
    let less = bytes.simd_eq(u8x16::splat(simd, b'<'));
    let greater = bytes.simd_eq(u8x16::splat(simd, b'>'));
    let carriage_return = bytes.simd_eq(u8x16::splat(simd, b'\r'));
    (ampersand | less | greater | carriage_return).to_bitmask() != 0
}

#[inline(always)]
fn escapes_in_value<S: Simd>(simd: S, block: &[u8; 16]) -> bool {
    let bytes = u8x16::simd_from(simd, *block);
    let control = bytes.min(u8x16::splat(simd, 0x1F)).simd_eq(bytes);
    let ampersand = bytes.simd_eq(u8x16::splat(simd, b'&'));
    let less = bytes.simd_eq(u8x16::splat(simd, b'<'));
    let quote = bytes.simd_eq(u8x16::splat(simd, b'"'));
    (control | ampersand | less | quote).to_bitmask() != 0
}

#[inline]
fn escape(bytes: &[u8], output: &mut Vec<u8>, reference: impl Fn(u8) -> Option<&'static str>) {
    let mut copied = 0;
    for (at, &byte) in bytes.iter().enumerate() {
        if let Some(reference) = reference(byte) {
            output.extend_from_slice(&bytes[copied..at]);
            output.extend_from_slice(reference.as_bytes());
            copied = at + 1;
        }
    }
    output.extend_from_slice(&bytes[copied..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_escapes_what_c14n_names_and_nothing_else() {
        let mut output = Vec::new();
        text("a&b<c>d\re\"f\t\n", &mut output);
        assert_eq!(output, b"a&amp;b&lt;c&gt;d&#xD;e\"f\t\n");
    }

    #[test]
    fn text_of_every_length_is_escaped_wherever_the_character_stands() {
        for length in (1..70).chain([1_023, 1_024, 1_025, 2_100]) {
            let plain = "é".repeat(length);
            let mut output = Vec::new();
            text(&plain, &mut output);
            assert_eq!(output, plain.as_bytes());
            for at in [0, length / 2, length - 1] {
                let before = "x".repeat(at);
                let after = "y".repeat(length - 1 - at);
                output.clear();
                text(&format!("{before}<{after}"), &mut output);
                assert_eq!(output, format!("{before}&lt;{after}").as_bytes());
            }
        }
    }

    #[test]
    fn long_attribute_values_are_escaped_wherever_the_character_stands() {
        for at in 0..40 {
            let (before, after) = ("x".repeat(at), "y".repeat(39 - at));
            let mut output = Vec::new();
            attribute(&format!("{before}\n{after}"), &mut output);
            assert_eq!(output, format!("{before}&#xA;{after}").as_bytes());
        }
    }

    #[test]
    fn text_of_any_origin_becomes_what_xml_can_hold() {
        let origin = "a<b>&\"c\"'d'\t\n\r\0\u{b}\u{fffe}\u{10ffff}";
        let (bad, last) = ('\u{fffd}', '\u{10ffff}');
        assert_eq!(
            text_of(origin),
            format!("a&lt;b&gt;&amp;\"c\"'d'\t\n&#xD;{bad}{bad}{bad}{last}")
        );
        assert_eq!(
            value_of(origin),
            format!("a&lt;b&gt;&amp;&quot;c&quot;&#39;d&#39;&#x9;&#xA;&#xD;{bad}{bad}{bad}{last}")
        );
    }

    #[test]
    fn attribute_values_escape_what_c14n_names_and_nothing_else() {
        let mut output = Vec::new();
        attribute("a&b<c>d\re\"f\t\n'", &mut output);
        assert_eq!(output, b"a&amp;b&lt;c>d&#xD;e&quot;f&#x9;&#xA;'");
    }
}
