//! Edits of a document, and the places in its source where they go.
//!
//! The rule kept here: everything between two edits stays as it is, byte by byte.

use std::ops::Range;

/// What takes the place of a range of a document. Ranges do not overlap.
pub(super) type Edit = (Range<usize>, String);

/// Where the value of an attribute without prefix stands, in a start tag that is known to be
/// well-formed.
pub(super) fn attribute_value(source: &[u8], start: usize, name: &str) -> Option<Range<usize>> {
    let find = |from: usize, wanted: &dyn Fn(u8) -> bool| {
        source[from..]
            .iter()
            .position(|octet| wanted(*octet))
            .map(|position| from + position)
    };
    let is_space = |octet: u8| matches!(octet, b' ' | b'\t' | b'\r' | b'\n');
    let mut at = find(start, &|octet| is_space(octet) || octet == b'>')?;
    loop {
        at = find(at, &|octet| !is_space(octet))?;
        if matches!(source[at], b'>' | b'/') {
            return None;
        }
        let name_end = find(at, &|octet| is_space(octet) || octet == b'=')?;
        let quote = find(name_end, &|octet| matches!(octet, b'"' | b'\''))?;
        let value_end = find(quote + 1, &|octet| octet == source[quote])?;
        if &source[at..name_end] == name.as_bytes() {
            return Some(quote + 1..value_end);
        }
        at = value_end + 1;
    }
}

/// Where the content of an element stands, between its start tag and its end.
pub(super) fn text_content(source: &[u8], open: usize, end: usize) -> Option<Range<usize>> {
    let close = source
        .get(open..end)?
        .windows(2)
        .rposition(|pair| pair == b"</")?;
    Some(open..open + close)
}
