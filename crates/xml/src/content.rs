//! What is between tags: text, comments, processing instructions.
//!
//! None of it is on the tape; it is read from the gaps when asked for. The rule: text is one piece
//! between two other things, however many CDATA sections, references and grafts it is written with,
//! as XPath sees it.

use crate::document::Document;
use crate::element::Element;
use crate::scan::reference;
use crate::tape::flags;
use memchr::{memchr, memchr3, memmem};
use std::borrow::Cow;

/// One thing inside an element or at top level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content<'d> {
    /// A child element.
    Element(Element<'d>),
    /// Character data, never empty.
    Text(Cow<'d, str>),
    /// A comment.
    Comment(Cow<'d, str>),
    /// A processing instruction.
    ProcessingInstruction {
        /// Its target.
        target: &'d str,
        /// Its data, without the white space before it.
        data: Cow<'d, str>,
    },
}

impl Document {
    /// What stands at top level: the root element, comments and processing instructions.
    pub fn contents(&self) -> Contents<'_> {
        let text = self.bytes();
        let start = declaration_end(text);
        Contents {
            document: self,
            frames: vec![Frame {
                at: start as u32,
                end: text.len() as u32,
                child: Some(0),
            }],
            pending: None,
            top: true,
        }
    }
}

impl<'d> Element<'d> {
    /// Everything directly inside: elements, text, comments and processing instructions, grafts
    /// followed.
    pub fn contents(&self) -> Contents<'d> {
        Contents::of_element(self.document(), self.id().index() as u32)
    }

    /// The character data directly inside: CDATA sections and references resolved, line ends
    /// normalized (XML 2.11), comments and elements skipped.
    pub fn text(&self) -> Cow<'d, str> {
        text(*self)
    }

    /// The character data inside, or `None` if there is an element, a comment or a processing
    /// instruction: simple content, as security tokens have it.
    pub fn text_strict(&self) -> Option<Cow<'d, str>> {
        text_strict(*self)
    }
}

/// Where byte order mark and XML declaration end.
pub(crate) fn declaration_end(text: &[u8]) -> usize {
    let bom = if text.starts_with(&[0xEF, 0xBB, 0xBF]) {
        3
    } else {
        0
    };
    let declared = text[bom..].starts_with(b"<?xml")
        && text
            .get(bom + 5)
            .is_some_and(|&byte| crate::chars::is_space(byte));
    if !declared {
        return bom;
    }
    memmem::find(&text[bom..], b"?>").map_or(bom, |length| bom + length + 2)
}

/// The text of an element.
pub(crate) fn text(element: Element<'_>) -> Cow<'_, str> {
    if let Some(written) = plain(element) {
        return Cow::Borrowed(written);
    }
    let mut text = Cow::Borrowed("");
    for content in element.contents() {
        if let Content::Text(more) = content {
            append(&mut text, more);
        }
    }
    text
}

pub(crate) fn text_strict(element: Element<'_>) -> Option<Cow<'_, str>> {
    if let Some(written) = plain(element) {
        return Some(Cow::Borrowed(written));
    }
    let mut contents = element.contents();
    match (contents.next(), contents.next()) {
        (None, _) => Some(Cow::Borrowed("")),
        (Some(Content::Text(text)), None) => Some(text),
        _ => None,
    }
}

/// The content as written, if it is text that stands for itself.
fn plain(element: Element<'_>) -> Option<&str> {
    let document = element.document();
    let index = element.id().index() as u32;
    if document.entry(index).flags & (flags::CONTENT | flags::HOLDS_GRAFT) != 0 {
        return None;
    }
    let written = document.slice(document.content_range(index));
    memchr3(b'<', b'&', b'\r', written.as_bytes())
        .is_none()
        .then_some(written)
}

fn append<'d>(text: &mut Cow<'d, str>, more: Cow<'d, str>) {
    if text.is_empty() {
        *text = more;
    } else {
        text.to_mut().push_str(&more);
    }
}

/// A stretch of source and the elements in it.
#[derive(Clone, Debug)]
struct Frame {
    at: u32,
    end: u32,
    /// The next element on the tape at this level.
    child: Option<u32>,
}

/// Iterates over [`Content`].
#[derive(Clone, Debug)]
pub struct Contents<'d> {
    document: &'d Document,
    frames: Vec<Frame>,
    pending: Option<Content<'d>>,
    /// At top level white space between the markup is not text.
    top: bool,
}

impl<'d> Contents<'d> {
    pub(crate) fn of_element(document: &'d Document, index: u32) -> Contents<'d> {
        let range = document.content_range(index);
        let child = document.written_child(index);
        Contents {
            document,
            frames: vec![Frame {
                at: range.start,
                end: range.end,
                child,
            }],
            pending: None,
            top: false,
        }
    }

    /// The next thing as written, text in pieces.
    fn piece(&mut self) -> Option<Content<'d>> {
        loop {
            let frame = self.frames.last_mut()?;
            let limit = match frame.child {
                Some(child) => self.document.entry(child).start,
                None => frame.end,
            };
            if frame.at < limit {
                let written = self.document.slice(frame.at..limit);
                let (content, length) = read(written);
                frame.at += length as u32;
                match content {
                    Content::Text(_) if self.top => continue,
                    content => return Some(content),
                }
            }
            let Some(child) = frame.child else {
                self.frames.pop();
                continue;
            };
            frame.at = self.document.entry(child).end;
            frame.child = self.document.written_sibling(child);
            if self.document.entry(child).flags & flags::REPLACED == 0 {
                return Some(Content::Element(Element::new(self.document, child)));
            }
            if let Some(graft) = self.document.graft_over(child) {
                let child = (graft.first < graft.last).then_some(graft.first);
                self.frames.push(Frame {
                    at: graft.start,
                    end: graft.end,
                    child,
                });
            }
        }
    }
}

impl<'d> Iterator for Contents<'d> {
    type Item = Content<'d>;

    fn next(&mut self) -> Option<Content<'d>> {
        let first = self.pending.take().or_else(|| self.piece())?;
        let Content::Text(mut text) = first else {
            return Some(first);
        };
        loop {
            match self.piece() {
                Some(Content::Text(more)) => append(&mut text, more),
                other => {
                    self.pending = other;
                    break;
                }
            }
        }
        if text.is_empty() {
            return self.pending.take();
        }
        Some(Content::Text(text))
    }
}

/// What stands at the start of `written`, which holds no tags, and how long it is.
pub(crate) fn read(written: &str) -> (Content<'_>, usize) {
    let bytes = written.as_bytes();
    if written.starts_with("<!--") {
        let length = comment_end(bytes);
        return (
            Content::Comment(line_ends(&written[4..length])),
            bytes.len().min(length + 3),
        );
    }
    if written.starts_with("<![CDATA[") {
        let length = memmem::find(bytes, b"]]>").unwrap_or(bytes.len());
        return (
            Content::Text(line_ends(&written[9..length])),
            bytes.len().min(length + 3),
        );
    }
    if written.starts_with("<?") {
        let length = memmem::find(bytes, b"?>").unwrap_or(bytes.len());
        let inside = &written[2..length];
        let space = inside
            .bytes()
            .position(crate::chars::is_space)
            .unwrap_or(inside.len());
        let data = inside[space..].trim_start_matches([' ', '\t', '\n', '\r']);
        let content = Content::ProcessingInstruction {
            target: &inside[..space],
            data: line_ends(data),
        };
        return (content, bytes.len().min(length + 2));
    }
    let length = memchr(b'<', bytes).unwrap_or(bytes.len());
    // A `<` that starts none of these never gets past the scanner; read at least one byte all the
    // same.
    let length = length.max(usize::from(!bytes.is_empty()));
    (Content::Text(character_data(&written[..length])), length)
}

/// Where the `-->` of the comment is with which `bytes` begins: not in the `<!--`, which `<!-->`
/// seems to say.
pub(crate) fn comment_end(bytes: &[u8]) -> usize {
    let opening = bytes.len().min(4);
    memmem::find(&bytes[opening..], b"-->").map_or(bytes.len(), |length| opening + length)
}

/// Line ends normalized (XML 2.11).
fn line_ends(written: &str) -> Cow<'_, str> {
    if memchr(b'\r', written.as_bytes()).is_none() {
        return Cow::Borrowed(written);
    }
    Cow::Owned(written.replace("\r\n", "\n").replace('\r', "\n"))
}

/// References resolved and line ends normalized.
fn character_data(written: &str) -> Cow<'_, str> {
    let mut rest = line_ends(written);
    if memchr(b'&', rest.as_bytes()).is_none() {
        return rest;
    }
    let mut text = String::with_capacity(rest.len());
    let mut copied = 0;
    while let Some(length) = memchr(b'&', &rest.as_bytes()[copied..]) {
        let at = copied + length;
        text.push_str(&rest[copied..at]);
        match reference::read(&rest, at) {
            Ok(reference) => {
                text.push(reference.character);
                copied = reference.end;
            }
            Err(_) => {
                text.push('&');
                copied = at + 1;
            }
        }
    }
    text.push_str(&rest[copied..]);
    rest = Cow::Owned(text);
    rest
}
