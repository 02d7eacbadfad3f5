//! Attributes: those of the first elements from a list, all others read from the source when asked
//! for.
//!
//! Attributes are not on the tape: few of them are ever looked at, and those mostly in headers,
//! whose attributes the scanner lists. The rule: only start tags that passed the scanner are read
//! here, so the reading trusts their grammar.

use crate::scan::{find, reference};
use crate::{chars, escape};
use std::borrow::Cow;
use std::ops::Range;

/// An attribute that is not a namespace declaration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attribute<'d> {
    pub(crate) name: &'d str,
    pub(crate) namespace: &'d str,
    pub(crate) written: &'d str,
}

impl<'d> Attribute<'d> {
    /// The namespace name; empty without a prefix.
    pub fn namespace(&self) -> &'d str {
        self.namespace
    }

    /// The local name.
    pub fn local(&self) -> &'d str {
        split(self.name).1
    }

    /// The prefix; empty for none.
    pub fn prefix(&self) -> &'d str {
        split(self.name).0
    }

    /// The qualified name as written.
    pub fn qualified_name(&self) -> &'d str {
        self.name
    }

    /// The value: references resolved, white space normalized (XML 3.3.3, as CDATA).
    pub fn value(&self) -> Cow<'d, str> {
        normalize(self.written)
    }

    /// The value as it is written between the quotes.
    pub fn written(&self) -> &'d str {
        self.written
    }
}

/// Prefix and local name of a qualified name.
pub(crate) fn split(name: &str) -> (&str, &str) {
    name.split_once(':').unwrap_or(("", name))
}

/// An attribute or a declaration as written: its name, and its value between the quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Written<'d> {
    pub(crate) name: &'d str,
    pub(crate) value: &'d str,
}

impl<'d> Written<'d> {
    /// The prefix that this declares, empty for the default namespace; `None` if it is no namespace
    /// declaration.
    pub(crate) fn declares(&self) -> Option<&'d str> {
        match self.name.strip_prefix("xmlns") {
            Some("") => Some(""),
            Some(rest) => rest.strip_prefix(':'),
            None => None,
        }
    }
}

/// Walks over the attributes and declarations of a start tag.
#[derive(Clone, Debug)]
pub(crate) struct StartTag<'d> {
    tag: &'d str,
    at: usize,
}

impl<'d> StartTag<'d> {
    /// `tag` begins with the `<` of a start tag whose name has so many bytes, and may go on behind
    /// its end.
    pub(crate) fn new(tag: &'d str, name_length: u16) -> StartTag<'d> {
        StartTag {
            tag,
            at: 1 + usize::from(name_length),
        }
    }
}

impl<'d> Iterator for StartTag<'d> {
    type Item = Written<'d>;

    fn next(&mut self) -> Option<Written<'d>> {
        let places = Places::next(self.tag.as_bytes(), self.at)?;
        self.at = places.value.end + 1;
        Some(Written {
            name: &self.tag[places.name],
            value: &self.tag[places.value],
        })
    }
}

/// Where the parts of one attribute are in its tag.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    pub(crate) name: Range<usize>,
    pub(crate) value: Range<usize>,
}

impl Places {
    /// The next attribute from `at` on, which is behind the name of the tag or behind the closing
    /// quote of an attribute.
    #[inline]
    pub(crate) fn next(tag: &[u8], at: usize) -> Option<Places> {
        let mut at = at;
        while chars::is_space(*tag.get(at)?) {
            at += 1;
        }
        let start = at;
        if matches!(tag[at], b'>' | b'/') {
            return None;
        }
        at = find::name_end(tag, at);
        let name = start..at;
        while !matches!(*tag.get(at)?, b'"' | b'\'') {
            at += 1;
        }
        let quote = tag[at];
        let start = at + 1;
        let end = find::byte(tag, start, quote);
        (end < tag.len()).then_some(Places {
            name,
            value: start..end,
        })
    }
}

/// Where the name of a tag ends.
pub(crate) fn name_end(tag: &[u8]) -> usize {
    let end = tag
        .iter()
        .position(|&byte| chars::is_space(byte) || matches!(byte, b'>' | b'/'));
    end.unwrap_or(tag.len())
}

/// The normalized value of what is written between quotes.
pub(crate) fn normalize(written: &str) -> Cow<'_, str> {
    if escape::is_plain_value(written.as_bytes()) {
        return Cow::Borrowed(written);
    }
    let mut value = String::with_capacity(written.len());
    normalize_into(written, &mut value);
    Cow::Owned(value)
}

/// Appends the normalized value of what is written between quotes.
pub(crate) fn normalize_into(written: &str, value: &mut String) {
    let mut rest = written;
    while let Some(at) = rest
        .bytes()
        .position(|byte| matches!(byte, b'&' | b'\t' | b'\n' | b'\r'))
    {
        value.push_str(&rest[..at]);
        let mut end = at + 1;
        match rest.as_bytes()[at] {
            b'&' => {
                if let Ok(reference) = reference::read(rest, at) {
                    value.push(reference.character);
                    end = reference.end;
                }
            }
            b'\r' => {
                value.push(' ');
                if rest.as_bytes().get(end) == Some(&b'\n') {
                    end += 1;
                }
            }
            _ => value.push(' '),
        }
        rest = &rest[end..];
    }
    value.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_start_tag_is_read_attribute_by_attribute() {
        let tag = "<p:a x=\"1\"  xmlns:p = 'u>r'\n y='a\"b'/>text";
        let read: Vec<_> = StartTag::new(tag, 3)
            .map(|written| (written.name, written.value))
            .collect();
        assert_eq!(read, [("x", "1"), ("xmlns:p", "u>r"), ("y", "a\"b")]);
    }

    #[test]
    fn long_values_end_at_their_quote() {
        for length in 0..100 {
            let value = "'".repeat(length);
            let tag = format!("<a b=\"{value}\" c='d'>");
            let read: Vec<_> = StartTag::new(&tag, 1)
                .map(|written| written.value)
                .collect();
            assert_eq!(read, [value.as_str(), "d"]);
        }
    }

    #[test]
    fn values_are_normalized_as_xml_3_3_3_says() {
        assert_eq!(normalize("a\tb\nc\r\nd\re"), "a b c d e");
        assert_eq!(normalize("&#9;&#xA;&#xD;&amp;&lt;&quot;"), "\t\n\r&<\"");
        assert!(matches!(normalize("plain"), Cow::Borrowed("plain")));
    }
}
