//! Attributes, read from the source when asked for.
//!
//! Attributes are not on the tape: few of them are ever looked at. The rule: only start tags that passed the scanner are read here,
//! so the reading trusts their grammar.

use crate::chars;
use crate::scan::reference;
use std::borrow::Cow;

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
    /// The prefix that this declares, empty for the default namespace; `None` if it is no namespace declaration.
    pub(crate) fn declares(&self) -> Option<&'d str> {
        match self.name.strip_prefix("xmlns") {
            Some("") => Some(""),
            Some(rest) => rest.strip_prefix(':'),
            None => None,
        }
    }
}

/// Walks over a start tag.
#[derive(Clone, Debug)]
pub(crate) struct StartTag<'d> {
    rest: &'d str,
}

impl<'d> StartTag<'d> {
    /// `tag` begins with the `<` of a start tag and may go on behind its end.
    pub(crate) fn new(tag: &'d str) -> StartTag<'d> {
        let name = tag
            .bytes()
            .position(|byte| chars::is_space(byte) || matches!(byte, b'>' | b'/'));
        StartTag {
            rest: &tag[name.unwrap_or(tag.len())..],
        }
    }

    /// What is left of the text behind the `>` of the tag.
    pub(crate) fn behind(mut self) -> &'d str {
        while self.next().is_some() {}
        let close = memchr::memchr(b'>', self.rest.as_bytes());
        close.map_or("", |close| &self.rest[close + 1..])
    }
}

impl<'d> Iterator for StartTag<'d> {
    type Item = Written<'d>;

    fn next(&mut self) -> Option<Written<'d>> {
        let bytes = self.rest.as_bytes();
        let start = bytes.iter().position(|&byte| !chars::is_space(byte))?;
        if matches!(bytes[start], b'>' | b'/') {
            return None;
        }
        let length = bytes[start..]
            .iter()
            .position(|&byte| byte == b'=' || chars::is_space(byte))?;
        let name = &self.rest[start..start + length];
        let behind = start + length;
        let open = behind
            + bytes[behind..]
                .iter()
                .position(|byte| matches!(byte, b'"' | b'\''))?;
        let value = &self.rest[open + 1..];
        let length = memchr::memchr(bytes[open], value.as_bytes())?;
        self.rest = &value[length + 1..];
        Some(Written {
            name,
            value: &value[..length],
        })
    }
}

/// The normalized value of what is written between quotes.
pub(crate) fn normalize(written: &str) -> Cow<'_, str> {
    let special = |byte: u8| matches!(byte, b'&' | b'\t' | b'\n' | b'\r');
    if !written.bytes().any(special) {
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
        let read: Vec<_> = StartTag::new(tag)
            .map(|written| (written.name, written.value))
            .collect();
        assert_eq!(read, [("x", "1"), ("xmlns:p", "u>r"), ("y", "a\"b")]);
        assert_eq!(StartTag::new(tag).behind(), "text");
        assert_eq!(StartTag::new("<a>text").behind(), "text");
        assert_eq!(StartTag::new("<a/>").behind(), "");
    }

    #[test]
    fn values_are_normalized_as_xml_3_3_3_says() {
        assert_eq!(normalize("a\tb\nc\r\nd\re"), "a b c d e");
        assert_eq!(normalize("&#9;&#xA;&#xD;&amp;&lt;&quot;"), "\t\n\r&<\"");
        assert!(matches!(normalize("plain"), Cow::Borrowed("plain")));
    }
}
