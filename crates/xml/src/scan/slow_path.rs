//! Everything between `<` and `>` that is not a tag, and tags that are not as expected.
//!
//! The rule: a construct is left only at its end, so that nothing inside a comment is ever taken
//! for markup.

use super::find;
use super::scanner::{Scanner, Whole};
use crate::chars;
use crate::decode::USUAL_DECLARATION;
use crate::error::{Failure, Problem, Scan};
use crate::tape::flags;
use memchr::memmem;

impl Scanner<'_> {
    /// Markup that is no end tag and not a tag that was seen before.
    #[inline(never)]
    pub(super) fn unusual(&mut self, at: usize) -> Scan<()> {
        let rest = &self.source[at..];
        let top = self.at_top();
        let end = match rest.get(1) {
            None => return Err(Failure::at(at, Problem::UnexpectedEnd { inside: "markup" })),
            Some(b'!') if rest.starts_with(b"<!--") => self.comment(at)?,
            Some(b'!') if rest.starts_with(b"<![CDATA[") => {
                if top && self.whole != Whole::Content {
                    return Err(Failure::at(at, Problem::TextOutsideElement));
                }
                self.cdata(at)?
            }
            Some(b'!') if rest.starts_with(b"<!DOCTYPE") => {
                return Err(Failure::at(at, Problem::Doctype));
            }
            Some(b'!') => return Err(self.expected(at + 2, "a comment or a CDATA section")),
            Some(b'?') => self.processing_instruction(at)?,
            Some(_) => return self.start_tag(at),
        };
        self.work.structure.skip_to(self.source, end);
        if top {
            self.between_roots(end)?;
        }
        Ok(())
    }

    fn comment(&mut self, at: usize) -> Scan<usize> {
        let from = at + 4;
        let Some(length) = memmem::find(&self.source[from..], b"--") else {
            return Err(Failure::at(
                at,
                Problem::UnexpectedEnd {
                    inside: "a comment",
                },
            ));
        };
        let dashes = from + length;
        if self.source.get(dashes + 2) != Some(&b'>') {
            return Err(Failure::at(dashes, Problem::DoubleHyphenInComment));
        }
        let rewrite = if self.has_line_end_to_normalize(dashes)? {
            flags::CONTENT_REWRITE
        } else {
            0
        };
        self.mark(flags::COMMENT | rewrite);
        Ok(dashes + 3)
    }

    fn cdata(&mut self, at: usize) -> Scan<usize> {
        let from = at + "<![CDATA[".len();
        let Some(length) = memmem::find(&self.source[from..], b"]]>") else {
            return Err(Failure::at(
                at,
                Problem::UnexpectedEnd {
                    inside: "a CDATA section",
                },
            ));
        };
        self.has_line_end_to_normalize(from + length)?;
        self.mark(flags::CONTENT_REWRITE);
        Ok(from + length + 3)
    }

    fn processing_instruction(&mut self, at: usize) -> Scan<usize> {
        let target_end = match chars::ncname_end(self.text, at + 2) {
            Some(end) => end,
            None => return Err(Failure::at(at + 2, Problem::IllegalName)),
        };
        if self.text[at + 2..target_end].eq_ignore_ascii_case("xml") {
            return Err(Failure::at(at, Problem::ReservedTarget));
        }
        let Some(length) = memmem::find(&self.source[target_end..], b"?>") else {
            return Err(Failure::at(
                at,
                Problem::UnexpectedEnd {
                    inside: "a processing instruction",
                },
            ));
        };
        let end = target_end + length;
        let canonical = match &self.source[target_end..end] {
            [] => true,
            [b' '] => false,
            [b' ', first, ..] => !chars::is_space(*first),
            [space, ..] if chars::is_space(*space) => false,
            _ => return Err(self.expected(target_end, "white space after the target")),
        };
        if self.has_line_end_to_normalize(end)? || !canonical {
            self.mark(flags::CONTENT_REWRITE);
        }
        Ok(end + 2)
    }

    /// Checks the characters up to `end`; whether a CR is among them.
    fn has_line_end_to_normalize(&mut self, end: usize) -> Scan<bool> {
        let mut found = false;
        loop {
            let at = self.work.structure.peek(self.source);
            if at >= end {
                return Ok(found);
            }
            self.work.structure.advance(1);
            match self.source[at] {
                b'<' | b'>' | b'&' => {}
                b'\r' => found = true,
                _ => self.check_character(at)?,
            }
        }
    }

    /// An end tag that is not exactly that of the open element: with white space in it, or wrong.
    #[inline(never)]
    pub(super) fn end_tag(&mut self, at: usize) -> Scan<()> {
        if self.at_top() {
            return Err(Failure::at(at, Problem::UnexpectedEndTag));
        }
        let names = &self.parts.names;
        let name = names.qname_text(names.name(self.top.name).qname);
        let from = at + 2;
        let close = from + name.len();
        if self.source.get(close) == Some(&b'>') && self.source[from..close] == *name.as_bytes() {
            return self.close(close + 1);
        }
        let length = self.source[from..]
            .iter()
            .position(|&byte| chars::is_space(byte) || matches!(byte, b'>' | b'<'))
            .unwrap_or(self.source.len() - from);
        if self.source[from..from + length] != *name.as_bytes() {
            return Err(if from + length == self.source.len() {
                Failure::at(
                    at,
                    Problem::UnexpectedEnd {
                        inside: "an end tag",
                    },
                )
            } else {
                let expected = name.to_owned();
                let found = self.text[from..from + length].chars().take(100).collect();
                Failure::at(at, Problem::MismatchedEndTag { expected, found })
            });
        }
        let close = find::space_end(self.source, from + length);
        if self.source.get(close) != Some(&b'>') {
            return Err(self.expected(close, "`>`"));
        }
        if close > from + length {
            self.mark(flags::TAG_REWRITE);
        }
        self.work.structure.skip_to(self.source, close + 1);
        self.close(close + 1)
    }

    /// The XML declaration, if there is one (XML 2.8). Returns where the rest begins.
    pub(super) fn xml_declaration(&mut self, at: usize) -> Scan<usize> {
        let rest = &self.source[at..];
        if rest.starts_with(USUAL_DECLARATION) {
            return Ok(at + USUAL_DECLARATION.len());
        }
        if !rest.starts_with(b"<?xml") || !rest.get(5).is_some_and(|&byte| chars::is_space(byte)) {
            return Ok(at);
        }
        let Some(length) = memmem::find(rest, b"?>") else {
            return Err(Failure::at(
                at,
                Problem::UnexpectedEnd {
                    inside: "the XML declaration",
                },
            ));
        };
        let end = at + length;
        let mut from = at + 5;
        let Some(version) = self.pseudo_attribute(&mut from, end, "version")? else {
            return Err(self.expected(from, "`version`"));
        };
        let digits = version.strip_prefix("1.").unwrap_or_default();
        if digits.is_empty() || !digits.bytes().all(|digit| digit.is_ascii_digit()) {
            return Err(Failure::at(
                at,
                Problem::UnsupportedVersion {
                    version: version.to_owned(),
                },
            ));
        }
        if let Some(encoding) = self.pseudo_attribute(&mut from, end, "encoding")? {
            let first = encoding
                .bytes()
                .next()
                .is_some_and(|byte| byte.is_ascii_alphabetic());
            let legal =
                |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
            if !first || !encoding.bytes().all(legal) {
                return Err(self.expected(from, "an encoding name"));
            }
        }
        if let Some(standalone) = self.pseudo_attribute(&mut from, end, "standalone")?
            && !matches!(standalone, "yes" | "no")
        {
            return Err(self.expected(from, "`yes` or `no`"));
        }
        from = find::space_end(self.source, from);
        if from != end {
            return Err(self.expected(from, "`?>`"));
        }
        Ok(end + 2)
    }

    /// `S name Eq "value"` at `from`, which is then moved behind it.
    fn pseudo_attribute(&self, from: &mut usize, end: usize, name: &str) -> Scan<Option<&str>> {
        let at = find::space_end(self.source, *from);
        if !self.text[..end]
            .get(at..)
            .is_some_and(|rest| rest.starts_with(name))
        {
            return Ok(None);
        }
        if at == *from {
            return Err(self.expected(at, "white space"));
        }
        let equals = find::space_end(self.source, at + name.len());
        if self.source[equals] != b'=' {
            return Err(self.expected(equals, "`=`"));
        }
        let open = find::space_end(self.source, equals + 1);
        let quote = self.source[open];
        if !matches!(quote, b'"' | b'\'') {
            return Err(self.expected(open, "a quoted value"));
        }
        let value = &self.text[open + 1..end.max(open + 1)];
        let Some(length) = value.bytes().position(|byte| byte == quote) else {
            return Err(self.expected(end, "a quoted value"));
        };
        *from = open + 1 + length + 1;
        Ok(Some(&value[..length]))
    }
}
