//! The walk over the tape.
//!
//! Only elements that are not canonical as a whole are entered; what lies between their children is
//! passed on as source or rewritten. The rule: when the walk is over, `rendered` is as it was
//! before, so that the next one starts clean without clearing it.

use super::error::C14nError;
use super::method::Canonicalization::{Inclusive11, Inclusive11WithComments};
use super::options::{Apex, C14nOptions};
use super::output::Output;
use super::scratch::{C14nScratch, Frame, Inside, WrittenAttribute};
use crate::content::comment_end;
use crate::document::Document;
use crate::names::Name;
use crate::numbers::{NONE, prefix, uri};
use crate::scan::reference;
use crate::tape::{Entry, NodeId, Qualified, flags};
use memchr::{memchr, memchr3, memmem};
use std::ops::Range;

/// An element without these flags is canonical as it is if the namespaces that it uses are
/// rendered.
const SUSPECT: u16 = flags::TAG_REWRITE
    | flags::EMPTY
    | flags::NAMESPACES
    | flags::CONTENT
    | flags::MIXED
    | flags::REPLACED;

pub(super) struct Walk<'w, 'd> {
    pub(super) document: &'d Document,
    pub(super) scratch: &'w mut C14nScratch,
    pub(super) exclusive: bool,
    pub(super) eleven: bool,
    comments: bool,
    pub(super) options: &'w C14nOptions<'w>,
    pub(super) output: &'w mut Output<'d>,
    /// Whole runs of the source may be passed on.
    plain: bool,
    /// Where the last attributes with a prefix were found.
    qualified_at: usize,
    /// The root element was met: what follows at top level comes behind it.
    root_met: bool,
    /// What an apex last inherited, and from which element on: apexes one behind the other mostly
    /// have one parent.
    pub(super) inherited: Option<(NodeId, Vec<WrittenAttribute>)>,
}

impl<'w, 'd> Walk<'w, 'd> {
    pub(super) fn new(
        document: &'d Document,
        options: &'w C14nOptions<'w>,
        scratch: &'w mut C14nScratch,
        output: &'w mut Output<'d>,
    ) -> Walk<'w, 'd> {
        Walk {
            document,
            scratch,
            exclusive: options.method.is_exclusive(),
            eleven: matches!(options.method, Inclusive11 | Inclusive11WithComments),
            comments: options.method.with_comments(),
            options,
            output,
            plain: options.canonical_runs && options.omit.is_empty(),
            qualified_at: 0,
            root_met: false,
            inherited: None,
        }
    }

    /// Declares nothing yet, and knows the prefixes of the list.
    fn begin(&mut self) {
        let names = &self.document.parts.names;
        let prefixes = names.prefix_count();
        if self.scratch.rendered.len() < prefixes {
            self.scratch.rendered.resize(prefixes, NONE);
        }
        self.scratch.rendered[prefix::DEFAULT as usize] = uri::EMPTY;
        self.scratch.inclusive.clear();
        if self.exclusive {
            for listed in self.options.inclusive_prefixes {
                let listed = if *listed == "#default" { "" } else { listed };
                self.scratch.inclusive.extend(names.find_prefix(listed));
            }
            // A list is the sender's: however long it is, it must not cost at every element.
            self.scratch.inclusive.sort_unstable();
            self.scratch.inclusive.dedup();
        }
    }

    /// Appends the start tag that an element has as the apex.
    pub(super) fn start_tag(&mut self, index: u32, out: &mut Vec<u8>) {
        self.begin();
        if !self.exclusive || !self.scratch.inclusive.is_empty() {
            self.document
                .parts
                .bind_context(index, &mut self.scratch.scope);
        }
        self.rebuild(index, true);
        self.scratch.tag.push(b'>');
        out.extend_from_slice(&self.scratch.tag);
        self.take_back(0);
    }

    pub(super) fn run(&mut self, apex: Apex) -> Result<(), C14nError> {
        let allowed = self.document.canonical_allowed();
        if self.output.written() > allowed {
            return Err(C14nError::TooLarge { allowed });
        }
        self.begin();
        match apex {
            Apex::Document => self.push_top(),
            Apex::Element(node) if self.is_omitted(node.index() as u32) => {}
            Apex::Element(node) => self.enter(node.index() as u32, true),
        }
        while let Some(mut frame) = self.scratch.frames.pop() {
            if self.output.written() > allowed {
                self.scratch.frames.clear();
                self.take_back(0);
                return Err(C14nError::TooLarge { allowed });
            }
            if self.plain && !frame.rewrite {
                self.pass(&mut frame);
            }
            let (at, next, inside) = (frame.at, frame.next, frame.inside);
            if next < frame.last && self.document.entry(next).start < frame.end {
                let entry = self.document.entry(next);
                self.between(at..entry.start, frame.rewrite, inside);
                frame.at = entry.end;
                frame.next = self
                    .document
                    .behind_within(next, entry.end, frame.last as usize);
                self.scratch.frames.push(frame);
                if self.plain
                    && inside != Inside::Top
                    && entry.flags & SUSPECT == 0
                    && self.is_rendered(next, entry)
                {
                    self.output.source(entry.start..entry.end);
                } else {
                    self.child(next, inside);
                }
            } else {
                self.between(at..frame.end, frame.rewrite, inside);
                self.leave(&frame);
            }
        }
        Ok(())
    }

    /// Passes on all children that are canonical as they are, with the text between them, up to the
    /// first one that is not.
    fn pass(&mut self, frame: &mut Frame) {
        let document = self.document;
        let tape = &document.parts.tape[..frame.last as usize];
        let mut at = frame.at;
        let mut next = frame.next as usize;
        while let Some(entry) = tape.get(next)
            && entry.start < frame.end
            && entry.flags & SUSPECT == 0
            && self.is_rendered(next as u32, entry)
        {
            at = entry.end;
            next = match tape.get(next + 1) {
                Some(following) if following.start < at => {
                    document.behind_within(next as u32, at, tape.len()) as usize
                }
                _ => next + 1,
            };
        }
        self.output.source(frame.at..at);
        frame.at = at;
        frame.next = next as u32;
    }

    /// Whether the output has all namespaces that a tag without declarations uses.
    #[inline(always)]
    fn is_rendered(&mut self, index: u32, entry: &Entry) -> bool {
        if !self.exclusive {
            return true;
        }
        let name = name_of(self.document, entry);
        self.scratch.rendered.get(name.prefix as usize) == Some(&name.uri)
            && (entry.flags & flags::QUALIFIED == 0 || self.are_attributes_rendered(index))
    }

    fn are_attributes_rendered(&mut self, index: u32) -> bool {
        let mut qualified = self.qualified(index).iter();
        let rendered = &self.scratch.rendered;
        qualified.all(|&Qualified { prefix, uri, .. }| rendered[prefix as usize] == uri)
    }

    /// The attributes with a prefix of an element.
    pub(super) fn qualified(&mut self, index: u32) -> &'d [Qualified] {
        let all = &self.document.parts.qualified[..];
        let is_before = |qualified: &Qualified| qualified.element < index;
        // The walk meets elements in their order, except where a graft begins or ends: mostly the
        // next one is the right one.
        let mut first = self.qualified_at;
        if first > 0 && !all.get(first - 1).is_some_and(is_before) {
            first = 0;
        }
        if all.get(first).is_some_and(is_before) {
            first += all[first..].partition_point(is_before);
        }
        self.qualified_at = first;
        let of_element = &all[first..];
        let length = of_element
            .iter()
            .position(|qualified| qualified.element != index);
        &of_element[..length.unwrap_or(of_element.len())]
    }

    fn push_top(&mut self) {
        let bytes = self.document.bytes();
        self.scratch.frames.push(Frame {
            inside: Inside::Top,
            at: crate::content::declaration_end(bytes) as u32,
            end: bytes.len() as u32,
            next: 0,
            last: self.document.span_end(0),
            rewrite: true,
            rendered: 0,
        });
    }

    /// Meets a child element or what replaced it.
    fn child(&mut self, index: u32, inside: Inside) {
        if self.is_omitted(index) {
            return;
        }
        if self.document.entry(index).flags & flags::REPLACED != 0 {
            if let Some(graft) = self.document.graft_over(index) {
                let frame = Frame {
                    inside: if inside == Inside::Top {
                        Inside::Top
                    } else {
                        Inside::Graft
                    },
                    at: graft.start,
                    end: graft.end,
                    next: graft.first,
                    last: graft.last,
                    rewrite: self.must_rewrite(graft.content),
                    rendered: self.scratch.rendered_undo.len() as u32,
                };
                self.scratch.frames.push(frame);
            }
            return;
        }
        self.enter(index, inside == Inside::Top);
        self.root_met |= inside == Inside::Top;
    }

    fn is_omitted(&self, index: u32) -> bool {
        self.options
            .omit
            .iter()
            .any(|node| node.index() as u32 == index)
    }

    /// Whether something left out lies in this range of the source.
    fn holds_omitted(&self, range: Range<u32>) -> bool {
        self.options.omit.iter().any(|node| {
            node.index() < self.document.element_count()
                && range.contains(&self.document.entry(node.index() as u32).start)
        })
    }

    fn must_rewrite(&self, flags: u16) -> bool {
        flags & flags::CONTENT_REWRITE != 0
            || (flags & flags::COMMENT != 0 && !self.comments)
            || !self.options.canonical_runs
    }

    /// Writes an element as a whole, or its start tag, to go on inside it.
    fn enter(&mut self, index: u32, apex: bool) {
        let document = self.document;
        let entry = document.entry(index);
        let runs = self.options.canonical_runs;
        let special = apex
            && (!self.exclusive
                || !self.scratch.inclusive.is_empty()
                || self.options.apex_attribute.is_some());
        if special {
            self.document
                .parts
                .bind_context(index, &mut self.scratch.scope);
        }
        let as_written = runs
            && entry.flags & (flags::TAG_REWRITE | flags::NAMESPACES) == 0
            && !special
            && self.is_rendered(index, entry);
        let canonical_inside = runs
            && entry.flags & (flags::CONTENT | flags::MIXED) == 0
            && (self.options.omit.is_empty() || !self.holds_omitted(entry.start..entry.end));
        let empty = entry.flags & flags::EMPTY != 0;
        if as_written && canonical_inside && !empty {
            self.output.source(entry.start..entry.end);
            return;
        }

        let rendered = self.scratch.rendered_undo.len() as u32;
        let content = if empty {
            entry.end..entry.end
        } else {
            document.content_range(index)
        };
        // An empty-element tag is a start tag but for its `/>`.
        let tag_end = if empty { entry.end - 2 } else { content.start };
        if as_written {
            self.output.source(entry.start..tag_end);
        } else if runs && entry.flags & flags::TAG_REWRITE == 0 && !special {
            self.write_declarations(index, apex, tag_end);
        } else {
            self.write_start_tag(index, apex, content.start);
        }
        if empty {
            self.scratch.tag.clear();
            self.scratch.tag.extend_from_slice(b"></");
            let name = document
                .parts
                .names
                .qname_text(name_of(document, entry).qname);
            self.scratch.tag.extend_from_slice(name.as_bytes());
            self.scratch.tag.push(b'>');
            self.output.write(&self.scratch.tag);
            self.take_back(rendered);
            return;
        }
        let mut frame = Frame {
            inside: Inside::Element(index),
            at: content.start,
            end: content.end,
            next: index + 1,
            last: document.span_end(index),
            rewrite: self.must_rewrite(entry.flags),
            rendered,
        };
        if canonical_inside {
            // Nothing to look at inside: all its elements have its prefix, which is rendered now.
            self.output.source(content);
            frame.at = frame.end;
            frame.next = frame.last;
        }
        self.scratch.frames.push(frame);
    }

    /// Rebuilds and writes a start tag, without its `>` if it is that of an empty element.
    fn write_start_tag(&mut self, index: u32, apex: bool, content: u32) {
        self.rebuild(index, apex);
        let entry = self.document.entry(index);
        let tag = &mut self.scratch.tag;
        if entry.flags & flags::EMPTY == 0 {
            tag.push(b'>');
        }
        if self.document.octets(entry.start..content) == tag {
            self.output.source(entry.start..content);
        } else {
            self.output.write(tag);
        }
    }

    /// Forgets what was rendered since there were so many.
    fn take_back(&mut self, rendered: u32) {
        while self.scratch.rendered_undo.len() > rendered as usize {
            if let Some((prefix, uri)) = self.scratch.rendered_undo.pop() {
                self.scratch.rendered[prefix as usize] = uri;
            }
        }
    }

    /// Ends a stretch of source.
    fn leave(&mut self, frame: &Frame) {
        self.take_back(frame.rendered);
        let Inside::Element(index) = frame.inside else {
            return;
        };
        let entry = self.document.entry(index);
        let name = name_of(self.document, entry);
        // Without white space in it the end tag is canonical.
        if entry.end - frame.end == u32::from(name.length) + 3 {
            self.output.source(frame.end..entry.end);
        } else {
            self.output.write(b"</");
            self.output
                .write(self.document.parts.names.qname_text(name.qname).as_bytes());
            self.output.write(b">");
        }
    }

    /// What stands between two tags.
    #[inline]
    fn between(&mut self, range: Range<u32>, rewrite: bool, inside: Inside) {
        if range.is_empty() {
            return;
        }
        if !rewrite && inside != Inside::Top {
            self.output.source(range);
            return;
        }
        self.rewrite(range, inside == Inside::Top);
    }

    fn rewrite(&mut self, range: Range<u32>, top: bool) {
        let document = self.document;
        if !top && self.short_text(range.clone()) {
            return;
        }
        let written = document.slice(range.clone());
        let bytes = written.as_bytes();
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            let place = range.start + at as u32;
            if rest.starts_with(b"<!--") {
                let length = rest.len().min(comment_end(rest) + 3);
                if self.comments {
                    self.top_level(top, |walk| walk.lines(place, &rest[..length]));
                }
                at += length;
            } else if rest.starts_with(b"<![CDATA[") {
                let length = memmem::find(rest, b"]]>").unwrap_or(rest.len());
                self.cdata(place + 9, &rest[9..length]);
                at += (length + 3).min(rest.len());
            } else if rest.starts_with(b"<?") {
                let length = memmem::find(rest, b"?>").map_or(rest.len(), |length| length + 2);
                self.top_level(top, |walk| {
                    walk.processing_instruction(place, &written[at..at + length])
                });
                at += length;
            } else {
                let length = memchr(b'<', rest).unwrap_or(rest.len()).max(1);
                if !top {
                    self.text(place, &written[at..at + length]);
                }
                at += length;
            }
        }
    }

    /// Rewrites short text without markup or references in it, such as what pretty-printing puts
    /// between tags. Returns whether it was that.
    fn short_text(&mut self, range: Range<u32>) -> bool {
        const SHORT: usize = 64;
        let bytes = self.document.octets(range.clone());
        if bytes.len() > SHORT {
            return false;
        }
        // Room for text of nothing but `>`.
        let mut buffer = [0; 4 * SHORT];
        let mut length = 0;
        let mut push = |piece: &[u8]| {
            buffer[length..length + piece.len()].copy_from_slice(piece);
            length += piece.len();
        };
        let mut changed = false;
        for (at, &byte) in bytes.iter().enumerate() {
            match byte {
                b'<' | b'&' => return false,
                b'\r' => {
                    changed = true;
                    if bytes.get(at + 1) != Some(&b'\n') {
                        push(b"\n");
                    }
                }
                b'>' => {
                    changed = true;
                    push(b"&gt;");
                }
                byte => push(&[byte]),
            }
        }
        match changed {
            true => self.output.write(&buffer[..length]),
            false => self.output.source(range),
        }
        true
    }

    /// Comments and processing instructions at top level are separated by LF from the root (C14N
    /// 1.0 section 2.3).
    fn top_level(&mut self, top: bool, write: impl FnOnce(&mut Self)) {
        if top && self.root_met {
            self.output.write(b"\n");
        }
        write(self);
        if top && !self.root_met {
            self.output.write(b"\n");
        }
    }

    /// Text with normalized line ends and nothing else to change.
    fn lines(&mut self, place: u32, bytes: &[u8]) {
        let mut at = 0;
        while let Some(length) = memchr(b'\r', &bytes[at..]) {
            self.output
                .source(place + at as u32..place + (at + length) as u32);
            at += length + 1;
            if bytes.get(at) != Some(&b'\n') {
                self.output.write(b"\n");
            }
        }
        self.output
            .source(place + at as u32..place + bytes.len() as u32);
    }

    fn processing_instruction(&mut self, place: u32, written: &str) {
        let inside = written.strip_suffix("?>").unwrap_or(written);
        let space = inside
            .bytes()
            .position(crate::chars::is_space)
            .unwrap_or(inside.len());
        let data = inside[space..].trim_start_matches([' ', '\t', '\n', '\r']);
        self.output.source(place..place + space as u32);
        if !data.is_empty() {
            self.output.write(b" ");
            self.lines(place + (inside.len() - data.len()) as u32, data.as_bytes());
        }
        self.output.write(b"?>");
    }

    fn cdata(&mut self, place: u32, bytes: &[u8]) {
        let mut copied = 0;
        for (at, &byte) in bytes.iter().enumerate() {
            let replaced: &[u8] = match byte {
                b'&' => b"&amp;",
                b'<' => b"&lt;",
                b'>' => b"&gt;",
                b'\r' if bytes.get(at + 1) == Some(&b'\n') => b"",
                b'\r' => b"\n",
                _ => continue,
            };
            self.output.source(place + copied as u32..place + at as u32);
            self.output.write(replaced);
            copied = at + 1;
        }
        self.output
            .source(place + copied as u32..place + bytes.len() as u32);
    }

    fn text(&mut self, place: u32, written: &str) {
        let bytes = written.as_bytes();
        let (mut copied, mut at) = (0, 0);
        while let Some(length) = next_special(&bytes[at..]) {
            at += length;
            let mut behind = at + 1;
            let mut utf8 = [0; 4];
            let replaced: &[u8] = match bytes[at] {
                b'>' => b"&gt;",
                b'&' => match reference::read(written, at) {
                    Ok(reference) => {
                        behind = reference.end;
                        match reference.character {
                            '&' => b"&amp;",
                            '<' => b"&lt;",
                            '>' => b"&gt;",
                            '\r' => b"&#xD;",
                            character => character.encode_utf8(&mut utf8).as_bytes(),
                        }
                    }
                    Err(_) => b"&amp;",
                },
                _ if bytes.get(behind) == Some(&b'\n') => b"",
                _ => b"\n",
            };
            self.output.source(place + copied as u32..place + at as u32);
            self.output.write(replaced);
            at = behind;
            copied = behind;
        }
        self.output
            .source(place + copied as u32..place + bytes.len() as u32);
    }
}

#[inline]
fn name_of<'d>(document: &'d Document, entry: &Entry) -> &'d Name {
    document.parts.names.name(entry.name)
}

/// How far it is to the next byte of text that C14N may write differently.
#[inline]
fn next_special(bytes: &[u8]) -> Option<usize> {
    // Most text between tags is short.
    let near = bytes.len().min(32);
    let special = |byte: &u8| matches!(byte, b'&' | b'>' | b'\r');
    match bytes[..near].iter().position(special) {
        Some(at) => Some(at),
        None => memchr3(b'&', b'>', b'\r', &bytes[near..]).map(|at| near + at),
    }
}
