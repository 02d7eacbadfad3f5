//! Messages as they travel: MIME packages and recorded HTTP, taken apart.
//!
//! ```text
//! bytes ─ Package::read ─▶ nothing                 a document, which is read as it is
//!                        ─▶ root and attachments   multipart/related (RFC 2387): SwA, MTOM
//!                        ─▶ root alone             a recorded request or answer of HTTP
//! ```
//!
//! The rule kept here: a package is read in one way, or not at all. What two readers may take for
//! two things is refused, and the work is linear in the bytes.

use std::borrow::Cow;

use soapstone_crypto::base64;

use crate::error::{LONGEST_BOUNDARY, LONGEST_HEADER, PackageError};
use crate::header::{Header, shortened};
use crate::media_type::MediaType;

/// Largest package, bytes.
pub const LARGEST_PACKAGE: usize = 64 << 20;
/// Most parts of a package.
pub const MOST_PARTS: usize = 256;

/// A part of a package.
#[derive(Debug)]
pub struct Part<'s> {
    /// Its fields.
    pub header: Header,
    /// Its content, as it is encoded for transfer.
    pub content: &'s [u8],
    /// Where the content begins in the file.
    pub offset: usize,
    /// The line in which it begins.
    pub line: u32,
}

impl<'s> Part<'s> {
    /// The Content-ID without its angle brackets; `None` where there is none, or none with
    /// brackets.
    pub fn id(&self) -> Option<&str> {
        let (id, _) = self.header.field("Content-ID")?;
        id.strip_prefix('<')?.strip_suffix('>')
    }

    /// What the part says that it is; text/plain, if it says nothing (RFC 2045, 5.2).
    pub fn media_type(&self) -> Option<MediaType> {
        match self.header.field("Content-Type") {
            Some((value, _)) => MediaType::parse(value),
            None => MediaType::parse("text/plain"),
        }
    }

    /// How the content is encoded for transfer, in small letters.
    pub fn encoding(&self) -> String {
        let encoding = self.header.field("Content-Transfer-Encoding");
        encoding.map_or_else(
            || "7bit".to_owned(),
            |(value, _)| value.to_ascii_lowercase(),
        )
    }

    /// The content as it was before the transfer; `None` where it cannot be decoded, and where its
    /// encoding is quoted-printable, in which no part that is looked into is written.
    pub fn decoded(&self) -> Option<Cow<'s, [u8]>> {
        match self.encoding().as_str() {
            "7bit" | "8bit" | "binary" => Some(Cow::Borrowed(self.content)),
            "base64" => base64::decode_xml_to_vec(self.content).ok().map(Cow::Owned),
            _ => None,
        }
    }

    /// The first three bytes of the content as it was before the transfer, as far as they can be
    /// decoded, and without the rest of it. `None` as above.
    pub fn first_bytes(&self) -> Option<Cow<'s, [u8]>> {
        match self.encoding().as_str() {
            "base64" => {
                let digits = self.content.iter().filter(|it| !it.is_ascii_whitespace());
                let digits: Vec<u8> = digits.take(4).copied().collect();
                base64::decode_xml_to_vec(&digits).ok().map(Cow::Owned)
            }
            "7bit" | "8bit" | "binary" => {
                let first = self.content.get(..3).unwrap_or(self.content);
                Some(Cow::Borrowed(first))
            }
            _ => None,
        }
    }
}

/// A message with what travels around it.
#[derive(Debug)]
pub struct Package<'s> {
    /// Its `multipart/related`, and the line of it; `None` where the message is no package.
    pub related: Option<(MediaType, u32)>,
    /// The message.
    pub root: Part<'s>,
    /// All other parts, in their order.
    pub attachments: Vec<Part<'s>>,
    /// The first line with something outside of the parts.
    pub outside: Option<u32>,
}

impl<'s> Package<'s> {
    /// Whether a file begins as a package, or as a recorded message of HTTP.
    pub fn begins(source: &[u8]) -> bool {
        let first = source.split(|byte| *byte == b'\n').next();
        let first = first.unwrap_or_default();
        is_http(first) || is_mime(first)
    }

    /// Takes a file apart that begins with a header: of MIME (`Content-Type:`, `MIME-Version:`), or
    /// of HTTP. `None` for anything else, which is a document.
    ///
    /// # Errors
    /// A [`PackageError`] for what readers may take for several things.
    pub fn read(source: &'s [u8]) -> Result<Option<Self>, PackageError> {
        let first = source.split(|byte| *byte == b'\n').next();
        let first = first.unwrap_or_default();
        let is_http = is_http(first);
        if !is_http && !is_mime(first) {
            return Ok(None);
        }
        look_at_size(source)?;
        let mut reader = Reader {
            source,
            at: 0,
            line: 1,
            line_end: match first.ends_with(b"\r") {
                true => b"\r\n",
                false => b"\n",
            },
        };
        if is_http {
            reader.skip(first.len() + 1);
        }
        let header = reader.header()?.checked()?;
        look_at_transfer(&header, source.len() - reader.at)?;
        let Some((value, line)) = header.field("Content-Type") else {
            return Err(PackageError::NoContentType);
        };
        let wrong = || PackageError::ContentType {
            line,
            found: shortened(value),
        };
        let media_type = MediaType::parse(value).ok_or_else(wrong)?;
        if media_type.is("multipart/related") {
            return reader.parts(media_type, line).map(Some);
        }
        // Parts of another multipart are no attachments, and an image is no message.
        if !media_type.is_xml() {
            return Err(wrong());
        }
        Ok(Some(Self {
            related: None,
            root: reader.rest(header),
            attachments: Vec::new(),
            outside: None,
        }))
    }

    /// Takes the body of a request or an answer of HTTP apart whose field `Content-Type` has that
    /// value. Its lines end with CR LF. Errors count them from the first one of the body; line 0 is
    /// the field.
    ///
    /// # Errors
    /// A [`PackageError`] for what readers may take for several things, and for another media type
    /// than `multipart/related`.
    pub fn of_body(content_type: &str, body: &'s [u8]) -> Result<Self, PackageError> {
        let related = MediaType::parse(content_type).filter(|it| it.is("multipart/related"));
        let related = related.ok_or_else(|| PackageError::ContentType {
            line: 0,
            found: shortened(content_type),
        })?;
        look_at_size(body)?;
        let reader = Reader {
            source: body,
            at: 0,
            line: 1,
            line_end: b"\r\n",
        };
        reader.parts(related, 0)
    }
}

fn look_at_size(source: &[u8]) -> Result<(), PackageError> {
    match source.len() > LARGEST_PACKAGE {
        true => Err(PackageError::TooMany {
            what: "bytes",
            limit: LARGEST_PACKAGE,
        }),
        false => Ok(()),
    }
}

/// The fields at the beginning of a part, and its content behind the empty line. Lines end with CR
/// LF.
///
/// # Errors
/// A [`PackageError`] if it begins with no header.
pub(crate) fn head_of(part: &[u8]) -> Result<(Header, &[u8]), PackageError> {
    let mut reader = Reader {
        source: part,
        at: 0,
        line: 1,
        line_end: b"\r\n",
    };
    let header = reader.header()?.checked()?;
    Ok((header, reader.left()))
}

fn is_mime(first: &[u8]) -> bool {
    ["content-type:", "mime-version:"].iter().any(|name| {
        let start = first.get(..name.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(name.as_bytes()))
    })
}

/// Whether a line begins a request or an answer of HTTP/1.1 (RFC 9112, 3 and 4).
fn is_http(first: &[u8]) -> bool {
    let line = first.strip_suffix(b"\r").unwrap_or(first);
    let is_version = |word: &[u8]| matches!(word, b"HTTP/1.1" | b"HTTP/1.0");
    let mut words = line.split(|byte| *byte == b' ');
    match (words.next(), words.next(), words.next()) {
        (Some(version), Some(status), _) if is_version(version) => {
            status.len() == 3 && status.iter().all(u8::is_ascii_digit)
        }
        (Some(method), Some(target), Some(version)) => {
            let is_method = !method.is_empty() && method.iter().all(u8::is_ascii_uppercase);
            is_method && !target.is_empty() && is_version(version) && words.next().is_none()
        }
        _ => false,
    }
}

/// A body that is whole, and as it was before the transfer by HTTP. Who records a request may leave
/// out its first line.
fn look_at_transfer(header: &Header, found: usize) -> Result<(), PackageError> {
    for name in ["Transfer-Encoding", "Content-Encoding"] {
        if let Some((value, _)) = header.field(name)
            && !value.eq_ignore_ascii_case("identity")
        {
            let found = shortened(value);
            return Err(PackageError::HttpEncoded { name, found });
        }
    }
    match header.field("Content-Length") {
        Some((said, _)) => {
            // Digits alone (RFC 9110, 8.6): a number may have a sign otherwise.
            let is_number = said.bytes().all(|byte| byte.is_ascii_digit());
            if is_number && said.parse() == Ok(found) {
                return Ok(());
            }
            let said = shortened(said);
            Err(PackageError::Length { said, found })
        }
        None => Ok(()),
    }
}

/// Reads on in a file, and counts its lines.
struct Reader<'s> {
    source: &'s [u8],
    at: usize,
    line: u32,
    line_end: &'static [u8],
}

/// What a line of a boundary says.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Delimiter {
    Next,
    Last,
}

impl<'s> Reader<'s> {
    fn left(&self) -> &'s [u8] {
        &self.source[self.at..]
    }

    fn skip(&mut self, bytes: usize) {
        let end = (self.at + bytes).min(self.source.len());
        let passed = &self.source[self.at..end];
        let lines = passed.iter().filter(|byte| **byte == b'\n').count();
        self.line += u32::try_from(lines).unwrap_or(u32::MAX);
        self.at = end;
    }

    /// A header with the empty line behind it.
    fn header(&mut self) -> Result<Header, PackageError> {
        let (start, first) = (self.at, self.line);
        let mut header = Header::beginning(first);
        loop {
            let left = self.left();
            let Some(length) = left.iter().position(|byte| *byte == b'\n') else {
                return Err(PackageError::HeaderEnd { line: first });
            };
            if self.at + length - start > LONGEST_HEADER {
                return Err(PackageError::HeaderEnd { line: first });
            }
            let line = self.line;
            let text = left[..=length].strip_suffix(self.line_end);
            let text = text.filter(|text| !text.ends_with(b"\r"));
            let text = text.ok_or(PackageError::LineEnd { line })?;
            self.skip(length + 1);
            if text.is_empty() {
                return Ok(header);
            }
            header.add_line(text, line)?;
        }
    }

    /// All that is left, as one part.
    fn rest(&mut self, header: Header) -> Part<'s> {
        Part {
            header,
            content: self.left(),
            offset: self.at,
            line: self.line,
        }
    }

    /// The parts of a `multipart/related`.
    fn parts(mut self, related: MediaType, line: u32) -> Result<Package<'s>, PackageError> {
        let boundary = related.parameter("boundary").unwrap_or_default().to_owned();
        if !is_boundary(&boundary) {
            return Err(PackageError::Boundary { line });
        }
        let mut outside = None;
        let mut delimiter = match self.first_line(&boundary)? {
            Some(found) => found,
            None => {
                let (before, found) = self.until(&boundary)?;
                self.note(before, &mut outside);
                self.pass(before.len(), &boundary);
                found
            }
        };
        let mut parts: Vec<Part<'s>> = Vec::new();
        while delimiter == Delimiter::Next {
            if parts.len() == MOST_PARTS {
                return Err(PackageError::TooMany {
                    what: "parts",
                    limit: MOST_PARTS,
                });
            }
            let (begins, line) = (self.at - self.line_end.len(), self.line - 1);
            let header = self.header()?.checked()?;
            // The name of a field may begin so, too.
            no_boundary(&self.source[begins..self.at], &boundary, line)?;
            let (offset, line) = (self.at, self.line);
            // A part without content ends with the line end of its header.
            self.at -= self.line_end.len();
            self.line -= 1;
            let (content, found) = self.until(&boundary)?;
            let ends = self.at + content.len();
            parts.push(Part {
                header,
                content: self.source.get(offset..ends).unwrap_or_default(),
                offset,
                line,
            });
            self.pass(content.len(), &boundary);
            delimiter = found;
        }
        let behind = self.left();
        self.note(behind, &mut outside);
        // The line of the boundary had a line end, if anything is behind it.
        let ends = self.at.saturating_sub(self.line_end.len());
        let passed = self.source[ends..self.at].ends_with(b"\n");
        let (ends, last_line) = match passed {
            true => (ends, self.line - 1),
            false => (self.at, self.line),
        };
        no_boundary(&self.source[ends..], &boundary, last_line)?;
        let root = root_of(&parts, &related)?;
        let root = parts.remove(root);
        if let Some((value, line)) = root.header.field("Content-Transfer-Encoding")
            && !["7bit", "8bit", "binary"].contains(&root.encoding().as_str())
        {
            let found = shortened(value);
            return Err(PackageError::RootEncoded { line, found });
        }
        Ok(Package {
            related: Some((related, line)),
            root,
            attachments: parts,
            outside,
        })
    }

    /// Goes behind a line of the boundary that a body begins with, and tells what it says. The line
    /// end in front of the first boundary is that of the header, where there is one in the file.
    fn first_line(&mut self, boundary: &str) -> Result<Option<Delimiter>, PackageError> {
        if self.at > 0 {
            self.at -= self.line_end.len();
            self.line -= 1;
            return Ok(None);
        }
        let behind = self.source.strip_prefix(b"--");
        if !behind.is_some_and(|behind| behind.starts_with(boundary.as_bytes())) {
            return Ok(None);
        }
        let found = self.boundary_line(self.source, boundary);
        let (delimiter, length) = found.ok_or_else(|| PackageError::Delimiter {
            line: self.line,
            boundary: boundary.to_owned(),
        })?;
        self.skip(length);
        Ok(Some(delimiter))
    }

    /// The bytes up to the next line of the boundary, and what that line says. The line end in
    /// front of it belongs to it (RFC 2046, 5.1.1).
    ///
    /// # Errors
    /// There is none, or a line begins like one and is none: readers differ about it.
    fn until(&self, boundary: &str) -> Result<(&'s [u8], Delimiter), PackageError> {
        let left = self.left();
        let begins = begins_line(left, boundary).ok_or_else(|| PackageError::Unclosed {
            boundary: boundary.to_owned(),
        })?;
        let wrong = || {
            let line = line_at(left, begins, self.line);
            PackageError::Delimiter {
                line,
                boundary: boundary.to_owned(),
            }
        };
        let place = begins.checked_sub(self.line_end.len()).ok_or_else(wrong)?;
        // Whether a CR in front of an LF belongs to the content is what readers differ about.
        let is_other_end =
            self.line_end == b"\n" && self.source[..self.at + place].ends_with(b"\r");
        match self.delimiter(&left[place..], boundary) {
            Some((delimiter, _)) if !is_other_end => Ok((&left[..place], delimiter)),
            _ => Err(wrong()),
        }
    }

    /// What bytes say that begin with a line end and a boundary, and how many of them: up to the
    /// line end behind it. White space may follow a boundary.
    fn delimiter(&self, bytes: &[u8], boundary: &str) -> Option<(Delimiter, usize)> {
        let line = bytes.strip_prefix(self.line_end)?;
        let (delimiter, length) = self.boundary_line(line, boundary)?;
        Some((delimiter, self.line_end.len() + length))
    }

    /// The same, of bytes that begin with the boundary.
    fn boundary_line(&self, bytes: &[u8], boundary: &str) -> Option<(Delimiter, usize)> {
        let behind = bytes.strip_prefix(b"--")?;
        let behind = behind.strip_prefix(boundary.as_bytes())?;
        let (delimiter, behind) = match behind.strip_prefix(b"--") {
            Some(behind) => (Delimiter::Last, behind),
            None => (Delimiter::Next, behind),
        };
        let spaces = behind
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'\t'))
            .count();
        let behind = &behind[spaces..];
        let length = bytes.len() - behind.len();
        let is_end = behind.is_empty() && delimiter == Delimiter::Last;
        match behind.strip_prefix(self.line_end) {
            Some(_) => Some((delimiter, length + self.line_end.len())),
            None if is_end => Some((delimiter, length)),
            None => None,
        }
    }

    /// Goes behind the bytes, and behind the line of the boundary that follows.
    fn pass(&mut self, bytes: usize, boundary: &str) {
        let line = self.delimiter(&self.left()[bytes..], boundary);
        self.skip(bytes + line.map_or(0, |(_, length)| length));
    }

    /// Notes the line in which bytes outside of the parts say something.
    fn note(&self, bytes: &[u8], outside: &mut Option<u32>) {
        let Some(place) = bytes.iter().position(|byte| !byte.is_ascii_whitespace()) else {
            return;
        };
        let lines = bytes[..place].iter().filter(|byte| **byte == b'\n').count();
        let line = self.line + u32::try_from(lines).unwrap_or(u32::MAX);
        outside.get_or_insert(line);
    }
}

/// Whether a text is a boundary (RFC 2046, 5.1.1).
fn is_boundary(text: &str) -> bool {
    let is_character = |byte: u8| byte.is_ascii_alphanumeric() || b"'()+_,-./:=? ".contains(&byte);
    (1..=LONGEST_BOUNDARY).contains(&text.len())
        && text.bytes().all(is_character)
        && !text.ends_with(' ')
}

/// Which part is the message: the one that `start` names, or the first one (RFC 2387, 3.2).
fn root_of(parts: &[Part<'_>], related: &MediaType) -> Result<usize, PackageError> {
    if parts.is_empty() {
        return Err(PackageError::NoParts);
    }
    let Some(start) = related.parameter("start") else {
        return Ok(0);
    };
    let is_named = |part: &Part<'_>| {
        let id = part.header.field("Content-ID");
        id.is_some_and(|(id, _)| id == start)
    };
    let named: Vec<usize> = (0..parts.len())
        .filter(|at| is_named(&parts[*at]))
        .collect();
    match named.as_slice() {
        [one] => Ok(*one),
        several => Err(PackageError::Start {
            named: shortened(start),
            parts: several.len(),
        }),
    }
}

/// Where the first line begins that begins with the boundary, behind a CR, an LF or both.
fn begins_line(bytes: &[u8], boundary: &str) -> Option<usize> {
    let ends = bytes.iter().enumerate();
    let mut ends = ends.filter(|(_, byte)| matches!(byte, b'\r' | b'\n'));
    let begins = ends.find(|(at, _)| {
        let line = bytes[at + 1..].strip_prefix(b"--");
        line.is_some_and(|line| line.starts_with(boundary.as_bytes()))
    });
    begins.map(|(at, _)| at + 1)
}

/// The line of a place in bytes that begin in the line `first`.
fn line_at(bytes: &[u8], place: usize, first: u32) -> u32 {
    let lines = bytes[..place].iter().filter(|byte| **byte == b'\n').count();
    first + u32::try_from(lines).unwrap_or(u32::MAX)
}

/// Refuses a line that begins with the boundary where none may be. The bytes begin in the line
/// `first`.
fn no_boundary(bytes: &[u8], boundary: &str, first: u32) -> Result<(), PackageError> {
    match begins_line(bytes, boundary) {
        Some(place) => Err(PackageError::Delimiter {
            line: line_at(bytes, place, first),
            boundary: boundary.to_owned(),
        }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELATED: &str = "multipart/related; type=\"text/xml\"; boundary=b";

    /// RFC 2046, 5.1.1: the first boundary needs no line end in front of it.
    #[test]
    fn a_body_begins_with_its_boundary_or_with_a_line_end() {
        let parts = "--b\r\nContent-Type: text/xml\r\n\r\n<a/>\r\n--b\r\n\r\nx\r\n--b--\r\n";
        for before in ["", "\r\n", "a remark\r\n"] {
            let body = format!("{before}{parts}");
            let read = Package::of_body(RELATED, body.as_bytes()).expect("a package");
            assert_eq!(read.root.content, b"<a/>", "{before:?}");
            assert_eq!(read.attachments[0].content, b"x", "{before:?}");
            assert_eq!(read.outside.is_some(), before.starts_with('a'));
        }
    }

    #[test]
    fn a_body_that_readers_differ_about_is_refused() {
        let delimiter = |line: u32| PackageError::Delimiter {
            line,
            boundary: "b".to_owned(),
        };
        let unclosed = PackageError::Unclosed {
            boundary: "b".to_owned(),
        };
        for (body, error) in [
            ("", unclosed.clone()),
            ("--b\n\n<a/>\n--b--\n", delimiter(1)),
            ("--bb\r\n\r\n<a/>\r\n--b--", delimiter(1)),
            ("--b\r\n\r\n<a/>\r\n", unclosed),
            ("--b--", PackageError::NoParts),
        ] {
            let refused = Package::of_body(RELATED, body.as_bytes()).map(|_| ());
            assert_eq!(refused, Err(error), "{body:?}");
        }
        let other = Package::of_body("multipart/mixed; boundary=b", b"--b--").map(|_| ());
        assert!(matches!(
            other,
            Err(PackageError::ContentType { line: 0, .. })
        ));
    }
}
