//! The canonical form of attachments, which signatures are over (SwA Profile 1.1.1, 5.4).
//!
//! The rule kept here: a header has one canonical form that all readers agree on, or none. Encoded
//! words (RFC 2047), encoded parameters (RFC 2184) and comments are refused: stacks decode them in
//! ways that differ.

use std::borrow::Cow;

use crate::attachment::{Attachment, AttachmentError, FIELDS};
use crate::media_type::{MediaType, is_token, with_parameters};
use crate::package::head_of;

/// Parameters whose values have no case (SwA Profile 1.1.1, 5.4.1).
const WITHOUT_CASE: [&str; 8] = [
    "charset",
    "creation-date",
    "filename",
    "modification-date",
    "padding",
    "read-date",
    "size",
    "type",
];

/// How the content of an attachment is canonicalized (SwA Profile 1.1.1, 5.4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// XML: exclusive canonical form without comments.
    Xml,
    /// Text: each line ends with CR LF ([`text_lines`]).
    Text,
    /// Anything else: the bytes as they are.
    Bytes,
}

impl Attachment {
    /// How the content is canonicalized.
    ///
    /// # Errors
    /// The `Content-Type` does not follow the grammar, or XML says that it is in another charset
    /// than the one that its canonical form is in.
    pub fn form(&self) -> Result<Form, AttachmentError> {
        let wrong = || AttachmentError::ContentType {
            found: self.field("Content-Type").unwrap_or_default().to_owned(),
        };
        let media_type = self.media_type().ok_or_else(wrong)?;
        if is_xml(&media_type) {
            let charset = media_type.parameter("charset").unwrap_or("utf-8");
            let is_utf8 = ["utf-8", "us-ascii"].iter();
            return match is_utf8.clone().any(|one| one.eq_ignore_ascii_case(charset)) {
                true => Ok(Form::Xml),
                false => Err(wrong()),
            };
        }
        match media_type.essence().starts_with("text/") {
            true => Ok(Form::Text),
            false => Ok(Form::Bytes),
        }
    }

    /// The fields in canonical form, which precede the content where a signature covers both.
    ///
    /// # Errors
    /// Readers differ about the canonical form of a field.
    pub fn canonical_header(&self) -> Result<Vec<u8>, AttachmentError> {
        let mut canonical = Vec::new();
        for (name, value) in self.canonical_fields()? {
            // The line end of the last one is all that stands in front of the content.
            canonical.extend_from_slice(format!("{name}:{value}\r\n").as_bytes());
        }
        Ok(canonical)
    }

    /// Puts the canonical form of the fields in their place: all that a signature over them proves.
    ///
    /// # Errors
    /// As [`canonical_header`](Self::canonical_header).
    pub fn canonicalize_header(&mut self) -> Result<(), AttachmentError> {
        let mut header = self.header().clone();
        for (name, value) in self.canonical_fields()? {
            header.set(name, &value);
        }
        self.replace_header(header)
    }

    fn canonical_fields(&self) -> Result<Vec<(&'static str, String)>, AttachmentError> {
        let mut fields = Vec::with_capacity(FIELDS.len());
        for name in FIELDS {
            let value = match (name, self.field(name)) {
                (_, Some(value)) => self.canonical_value(name, value)?,
                ("Content-Type", None) => "text/plain;charset=\"us-ascii\"".to_owned(),
                (_, None) => continue,
            };
            fields.push((name, value));
        }
        Ok(fields)
    }

    fn canonical_value(&self, name: &'static str, value: &str) -> Result<String, AttachmentError> {
        let differ = |problem| Err(AttachmentError::NotCanonical { name, problem });
        if !value.is_ascii() {
            return differ("characters beyond ASCII");
        }
        if value.contains("=?") {
            return differ("an encoded word");
        }
        match name {
            "Content-Type" | "Content-Disposition" => {
                let Some((essence, mut parameters)) = with_parameters(value) else {
                    return differ("another grammar than RFC 2045, 5.1");
                };
                let is_type = MediaType::parse(value).is_some();
                let is_token = name == "Content-Disposition" && is_token(&essence);
                if !is_type && !is_token {
                    return differ("another grammar than RFC 2045, 5.1");
                }
                if parameters.iter().any(|(name, _)| name.contains('*')) {
                    return differ("an encoded parameter");
                }
                parameters.sort();
                let mut canonical = essence;
                for (name, value) in parameters {
                    let value = match WITHOUT_CASE.contains(&name.as_str()) {
                        true => value.to_ascii_lowercase(),
                        false => value,
                    };
                    if value.is_empty() || value.contains(['"', '\\']) {
                        return differ("a parameter that is empty or quotes something");
                    }
                    canonical.push_str(&format!(";{name}=\"{value}\""));
                }
                Ok(canonical)
            }
            _ if value.contains(['(', ')', '"']) => differ("a comment or quotes"),
            _ if self.header().is_folded(name) => differ("a value over several lines"),
            _ => Ok(value.to_owned()),
        }
    }

    /// What is enciphered of a whole attachment: its fields, an empty line, its content (SwA
    /// Profile 1.1.1, 5.5.2).
    pub fn complete(&self) -> Vec<u8> {
        let mut complete = Vec::with_capacity(self.content().len() + 512);
        for name in FIELDS {
            if let Some(value) = self.field(name) {
                complete.extend_from_slice(format!("{name}:{value}\r\n").as_bytes());
            }
        }
        complete.extend_from_slice(b"\r\n");
        complete.extend_from_slice(self.content());
        complete
    }

    /// Puts a whole attachment that was deciphered in the place of its cipher text.
    ///
    /// # Errors
    /// It does not begin with a header, or that is the header of another attachment.
    pub fn set_complete(&mut self, complete: &[u8]) -> Result<(), AttachmentError> {
        let (header, content) = head_of(complete).map_err(|_| AttachmentError::NoHeader)?;
        self.replace_header(header)?;
        self.set_content(content.to_vec());
        Ok(())
    }
}

/// Whether a content is canonicalized as XML: fewer types than those of XML (RFC 7303, 4.2).
fn is_xml(media_type: &MediaType) -> bool {
    let essence = media_type.essence();
    let suffixed = essence.starts_with("application/") || essence.starts_with("image/");
    matches!(essence, "text/xml" | "application/xml") || suffixed && essence.ends_with("+xml")
}

/// A text whose lines end with CR LF. A CR and an LF that stand alone end a line, too.
///
/// ```
/// # use soapstone_mime::text_lines;
/// assert_eq!(&*text_lines(b"a\nb\rc\r\n"), b"a\r\nb\r\nc\r\n");
/// ```
pub fn text_lines(text: &[u8]) -> Cow<'_, [u8]> {
    let bytes = text_lines_size(text);
    if bytes == text.len() {
        return Cow::Borrowed(text);
    }
    let mut lines = Vec::with_capacity(bytes);
    for (at, byte) in text.iter().enumerate() {
        match ends_line_alone(text, at) {
            true => lines.extend_from_slice(b"\r\n"),
            false => lines.push(*byte),
        }
    }
    Cow::Owned(lines)
}

/// Bytes that [`text_lines`] makes of a text: up to twice as many. None of them is made.
///
/// ```
/// # use soapstone_mime::text_lines_size;
/// assert_eq!(text_lines_size(b"a\nb\rc\r\n"), 9);
/// ```
pub fn text_lines_size(text: &[u8]) -> usize {
    let alone = (0..text.len()).filter(|at| ends_line_alone(text, *at));
    text.len() + alone.count()
}

/// Whether there is a CR without an LF, or an LF without a CR.
fn ends_line_alone(text: &[u8], at: usize) -> bool {
    match text[at] {
        b'\n' => at == 0 || text[at - 1] != b'\r',
        b'\r' => text.get(at + 1) != Some(&b'\n'),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn attachment(content_type: &str) -> Attachment {
        Attachment::new("a@x", content_type, b"text".to_vec()).expect("an attachment")
    }

    /// As WSS4J 4.0 writes it.
    #[test]
    fn fields_are_sorted_and_quoted() {
        let one = attachment("Text/XML; Version=1; CHARSET=UTF-8");
        let one = one
            .with_field("content-location", "urn:x")
            .and_then(|one| one.with_field("Content-Disposition", "Attachment; filename=A.xml"))
            .and_then(|one| one.with_field("Content-Description", "An  invoice"))
            .expect("fields");
        let canonical = one.canonical_header().expect("a canonical form");
        let expected = "Content-Description:An  invoice\r\n\
            Content-Disposition:attachment;filename=\"a.xml\"\r\n\
            Content-ID:<a@x>\r\n\
            Content-Location:urn:x\r\n\
            Content-Type:text/xml;charset=\"utf-8\";version=\"1\"\r\n";
        assert_eq!(String::from_utf8_lossy(&canonical), expected);
        let mut other = one.clone();
        other.canonicalize_header().expect("a canonical form");
        assert_eq!(other.canonical_header().as_ref(), Ok(&canonical));
    }

    #[test]
    fn fields_that_readers_differ_about_have_no_canonical_form() {
        for (name, value) in [
            ("Content-Description", "=?utf-8?q?a?="),
            ("Content-Description", "a (remark)"),
            ("Content-Description", "\u{e4}"),
            ("Content-Disposition", "attachment; filename*=utf-8''a"),
            ("Content-Disposition", "attachment (remark)"),
            ("Content-Disposition", "attachment; filename=\"a\\\"b\""),
            ("Content-Location", "\"urn:x\""),
        ] {
            let one = attachment("text/plain")
                .with_field(name, value)
                .expect("a field");
            let refused = one.canonical_header().expect_err(value);
            assert!(
                matches!(refused, AttachmentError::NotCanonical { name: found, .. } if found == name),
                "{refused}"
            );
        }
    }

    #[test]
    fn the_form_of_a_content_is_that_of_its_type() {
        for (content_type, form) in [
            ("text/xml", Form::Xml),
            ("Application/XML; charset=UTF-8", Form::Xml),
            ("image/svg+xml", Form::Xml),
            ("application/a+xml", Form::Xml),
            ("text/a+xml", Form::Text),
            ("text/plain; charset=utf-16", Form::Text),
            ("application/gzip", Form::Bytes),
            ("model/x3d+xml", Form::Bytes),
        ] {
            assert_eq!(attachment(content_type).form(), Ok(form), "{content_type}");
        }
        assert!(attachment("text/xml; charset=iso-8859-1").form().is_err());
    }

    #[test]
    fn lines_of_a_text_end_alike_however_often() {
        for (text, lines) in [
            ("", ""),
            ("a", "a"),
            ("a\r\n", "a\r\n"),
            ("\n\r\r\n\n", "\r\n\r\n\r\n\r\n"),
            ("a\r", "a\r\n"),
        ] {
            let once = text_lines(text.as_bytes()).into_owned();
            assert_eq!(once, lines.as_bytes(), "{text:?}");
            assert_eq!(&*text_lines(&once), once);
            assert_eq!(text_lines_size(text.as_bytes()), once.len());
        }
    }

    #[test]
    fn a_whole_attachment_comes_back_from_what_is_enciphered() {
        let one = attachment("text/plain").with_field("Content-Location", "urn:x");
        let one = one.expect("a field");
        let mut other = Attachment::new("a@x", "application/octet-stream", Vec::new()).expect("");
        other.set_complete(&one.complete()).expect("a header");
        assert_eq!(other.canonical_header(), one.canonical_header());
        assert_eq!(other.content(), one.content());
        let foreign = Attachment::new("b@x", "text/plain", Vec::new()).expect("an attachment");
        let refused = other
            .set_complete(&foreign.complete())
            .expect_err("another one");
        assert_eq!(
            refused,
            AttachmentError::Id {
                found: "<b@x>".to_owned()
            }
        );
        assert_eq!(other.set_complete(b"text"), Err(AttachmentError::NoHeader));
    }
}
