//! A document: its source text and the tape over it.
//!
//! The message is segment 0 of an offset space; plaintexts grafted into it later are further
//! segments. The rule: segments and tape only ever grow, so that offsets and [`NodeId`]s stay what
//! they are.

use crate::buffers::Buffers;
use crate::decode;
use crate::error::{DuplicateId, Failure, Limit, ParseError, Position, too_many};
use crate::limits::{CANONICAL_ALLOWANCE, OFFSET_SPACE};
use crate::options::ParseOptions;
use crate::parts::{Parts, Segment};
use crate::scan::{self, Whole};
use crate::sink::Sink;
use crate::tape::{Declaration, Entry, GraftSpan, NO_PARENT, NodeId, flags, of_element};
use std::fmt;
use std::ops::Range;

/// One XML document: well-formed, within its [`Limits`](crate::Limits), ids indexed.
///
/// It owns its bytes. Elements are views into it: [`Element`](crate::Element) borrows, [`NodeId`]
/// names.
///
/// ```
/// use soapstone_xml::{Buffers, Document, ParseOptions};
///
/// let mut buffers = Buffers::new();
/// let source = b"<a xmlns='urn:x'><b>text</b></a>".to_vec();
/// let document = Document::parse(source, &ParseOptions::default(), &mut buffers)?;
/// let b = document.root().child("urn:x", "b").expect("b");
/// assert_eq!(b.text(), "text");
/// document.recycle(&mut buffers);
/// # Ok::<(), soapstone_xml::ParseError>(())
/// ```
pub struct Document {
    /// Boxed, since documents are handed on from step to step and parts are large.
    pub(crate) parts: Box<Parts>,
}

impl fmt::Debug for Document {
    /// Its size only: messages and decrypted plaintexts are not for logs.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Document")
            .field("bytes", &self.total_bytes())
            .field("elements", &self.element_count())
            .field("grafts", &self.parts.grafts.len())
            .finish()
    }
}

impl Document {
    /// Scans a document in UTF-8, UTF-16, ISO-8859-1 or US-ASCII.
    ///
    /// # Errors
    ///
    /// Whatever is not well-formed or not namespace-well-formed, every document type declaration,
    /// and what passes a limit.
    pub fn parse(
        source: Vec<u8>,
        options: &ParseOptions,
        buffers: &mut Buffers,
    ) -> Result<Document, ParseError> {
        let allowed = options.limits.message.min(OFFSET_SPACE);
        if source.len() > allowed {
            buffers.give(source);
            return Err(too_large(options));
        }
        let text = match decode::decode(source) {
            Ok(text) => text,
            Err((source, failure)) => {
                let error = error(&source, *failure);
                buffers.give(source);
                return Err(error);
            }
        };
        if text.len() > allowed {
            return Err(too_large(options));
        }
        let mut parts = buffers.take_parts();
        parts.canonical = options.limits.canonical;
        let scanned = scan::scan(&text, 0, Whole::Document, NO_PARENT, &mut parts, options);
        let failed = scanned
            .err()
            .map(|failure| error(text.as_bytes(), *failure));
        parts.segments.push(Segment { base: 0, text });
        match failed {
            None => Ok(Document { parts }),
            Some(error) => {
                buffers.give_parts(parts);
                Err(error)
            }
        }
    }

    /// Gives its memory back for the next document.
    pub fn recycle(self, buffers: &mut Buffers) {
        buffers.give_parts(self.parts);
    }

    /// Its source, as [`bytes`](Self::bytes) shows it; the memory of everything else goes back.
    pub fn into_bytes(mut self, buffers: &mut Buffers) -> Vec<u8> {
        let message = self.parts.segments.first_mut();
        let text = message.map(|segment| std::mem::take(&mut segment.text));
        buffers.give_parts(self.parts);
        text.unwrap_or_default().into_bytes()
    }

    /// The element that carries an id.
    ///
    /// # Errors
    ///
    /// An id that two elements carry. An element that was replaced by a graft still carries its id.
    pub fn by_id(&self, id: &str) -> Result<Option<NodeId>, DuplicateId> {
        self.parts.ids.find(id)
    }

    /// The first id found on a second element, if there is one. Strict callers refuse such
    /// documents.
    pub fn duplicate_id(&self) -> Option<DuplicateId> {
        self.parts.ids.duplicate()
    }

    /// The message as scanned, in UTF-8. Elements of the message itself have their
    /// [`range`](crate::Element::range) here.
    pub fn bytes(&self) -> &[u8] {
        self.parts
            .segments
            .first()
            .map_or(&[], |segment| segment.text.as_bytes())
    }

    /// Bytes of the message and all plaintexts.
    pub fn total_bytes(&self) -> usize {
        self.parts
            .segments
            .iter()
            .map(|segment| segment.text.len())
            .sum()
    }

    /// Bytes that a canonical form of this document may have.
    pub(crate) fn canonical_allowed(&self) -> usize {
        let multiple = self
            .total_bytes()
            .saturating_mul(self.parts.canonical as usize);
        multiple.saturating_add(CANONICAL_ALLOWANCE)
    }

    /// Number of elements, replaced ones included.
    pub fn element_count(&self) -> usize {
        self.parts.tape.len()
    }

    /// The source of an element, from the `<` of its start tag to the `>` of its end tag; `None` if
    /// a graft lies in it.
    pub fn source(&self, node: NodeId) -> Option<&[u8]> {
        let entry = self.entry(node.index() as u32);
        (entry.flags & flags::HOLDS_GRAFT == 0)
            .then(|| self.slice(entry.start..entry.end).as_bytes())
    }

    /// The source of what is inside an element; `None` if a graft lies in it.
    pub fn content_source(&self, node: NodeId) -> Option<&[u8]> {
        let entry = self.entry(node.index() as u32);
        (entry.flags & flags::HOLDS_GRAFT == 0).then(|| {
            self.slice(self.content_range(node.index() as u32))
                .as_bytes()
        })
    }

    /// Writes an element as it now stands, grafts included. Not canonicalized: what it writes is
    /// only valid in the namespace context it has.
    pub fn write(&self, node: NodeId, sink: &mut impl Sink) {
        let index = node.index() as u32;
        let entry = self.entry(index);
        self.write_range(entry.start..entry.end, index + 1..self.behind(index), sink);
    }

    /// Writes what is inside an element as it now stands, grafts included.
    pub fn write_content(&self, node: NodeId, sink: &mut impl Sink) {
        let index = node.index() as u32;
        self.write_range(
            self.content_range(index),
            index + 1..self.behind(index),
            sink,
        );
    }

    /// The elements that grafts took the place of, in the order of the tape.
    pub fn replaced_elements(&self) -> impl Iterator<Item = NodeId> {
        self.parts.replaced.iter().map(|(at, _)| NodeId::new(*at))
    }

    /// Writes what took the place of an element, grafts in it included: nothing, if nothing did.
    pub fn write_graft(&self, at: NodeId, sink: &mut impl Sink) {
        let index = at.index() as u32;
        for &(_, graft) in self.replaced(index..index + 1) {
            let graft = &self.parts.grafts[graft as usize];
            self.write_range(graft.start..graft.end, graft.first..graft.last, sink);
        }
    }

    fn write_range(&self, range: Range<u32>, elements: Range<u32>, sink: &mut impl Sink) {
        let mut written = range.start;
        if !elements.is_empty() {
            for &(at, graft) in self.replaced(elements) {
                let graft = &self.parts.grafts[graft as usize];
                debug_assert_eq!(graft.at, at);
                let replaced = self.entry(graft.at);
                // A graft into something that was replaced as a whole later is gone.
                if replaced.start < written {
                    continue;
                }
                sink.write(self.slice(written..replaced.start).as_bytes());
                self.write_range(graft.start..graft.end, graft.first..graft.last, sink);
                written = replaced.end;
            }
        }
        sink.write(self.slice(written..range.end).as_bytes());
    }
}

/// The tree behind the tape.
impl Document {
    #[inline]
    pub(crate) fn entry(&self, index: u32) -> &Entry {
        &self.parts.tape[index as usize]
    }

    /// The text of a range of the offset space, which lies in one segment.
    #[inline]
    pub(crate) fn slice(&self, range: Range<u32>) -> &str {
        let segments = &self.parts.segments;
        let segment = match segments.get(1) {
            Some(second) if range.start >= second.base => {
                let behind = segments.partition_point(|segment| segment.base <= range.start);
                &segments[behind - 1]
            }
            _ => &segments[0],
        };
        &segment.text[(range.start - segment.base) as usize..(range.end - segment.base) as usize]
    }

    /// [`Document::slice`] as bytes.
    #[inline]
    pub(crate) fn octets(&self, range: Range<u32>) -> &[u8] {
        match &self.parts.segments[..] {
            [only] => &only.text.as_bytes()[range.start as usize..range.end as usize],
            _ => self.slice(range).as_bytes(),
        }
    }

    /// The segment in which an offset lies.
    pub(crate) fn segment(&self, offset: u32) -> &Segment {
        let behind = self
            .parts
            .segments
            .partition_point(|segment| segment.base <= offset);
        &self.parts.segments[behind - 1]
    }

    /// Offset after the start tag.
    pub(crate) fn start_tag_end(&self, index: u32) -> u32 {
        let entry = self.entry(index);
        match entry.flags >> flags::LENGTH_SHIFT {
            0 => match of_element(&self.parts.long_tags, index, |tag| tag.element) {
                [tag, ..] => tag.end,
                [] => entry.end,
            },
            length => entry.start + u32::from(length),
        }
    }

    /// What lies between start tag and end tag.
    pub(crate) fn content_range(&self, index: u32) -> Range<u32> {
        let entry = self.entry(index);
        if entry.flags & flags::EMPTY != 0 {
            return entry.end..entry.end;
        }
        let start = self.start_tag_end(index);
        let mut end = entry.end - u32::from(self.parts.names.name(entry.name).length) - 3;
        if entry.flags & flags::TAG_REWRITE != 0 {
            // White space in the end tag, maybe. No `<` lies in an end tag behind its first.
            let inside = self.octets(start..entry.end);
            end = start + memchr::memrchr(b'<', inside).unwrap_or(0) as u32;
        }
        start..end
    }

    /// The end of the part of the tape to which `index` belongs: the message's or a graft's.
    #[inline]
    pub(crate) fn span_end(&self, index: u32) -> u32 {
        match self.parts.grafts.first() {
            None => self.parts.tape.len() as u32,
            Some(first) if index < first.first => first.first,
            Some(_) => self.graft_end(index),
        }
    }

    /// The end of the part of the tape of the graft that brought `index`.
    fn graft_end(&self, index: u32) -> u32 {
        let next = self
            .parts
            .grafts
            .partition_point(|graft| graft.first <= index);
        let next = self.parts.grafts.get(next);
        next.map_or(self.parts.tape.len() as u32, |graft| graft.first)
    }

    /// The place on the tape behind the last descendant of an element, in the same segment.
    #[inline]
    pub(crate) fn behind(&self, index: u32) -> u32 {
        self.behind_within(index, self.entry(index).end, self.span_end(index) as usize)
    }

    /// [`Document::behind`] with the end of the span already known. Gallops, so that small subtrees
    /// cost little.
    #[inline]
    pub(crate) fn behind_within(&self, index: u32, end: u32, last: usize) -> u32 {
        const FEW: usize = 4;
        let tape = self.parts.tape.get(..last).unwrap_or_default();
        let mut low = index as usize + 1;
        for _ in 0..FEW {
            match tape.get(low) {
                Some(entry) if entry.start < end => low += 1,
                _ => return low as u32,
            }
        }
        let mut step = FEW;
        loop {
            let probe = low + step - 1;
            if tape.get(probe).is_none_or(|entry| entry.start >= end) {
                let high = probe.min(tape.len());
                return (low + tape[low..high].partition_point(|entry| entry.start < end)) as u32;
            }
            low = probe + 1;
            step *= 2;
        }
    }

    /// The graft over a replaced element.
    pub(crate) fn graft_over(&self, index: u32) -> Option<&GraftSpan> {
        match self.replaced(index..index + 1) {
            [(_, graft)] => self.parts.grafts.get(*graft as usize),
            _ => None,
        }
    }

    /// The replaced elements in a part of the tape, with the index of their graft.
    fn replaced(&self, elements: Range<u32>) -> &[(u32, u32)] {
        let replaced = &self.parts.replaced;
        let first = replaced.partition_point(|&(at, _)| at < elements.start);
        let last = replaced.partition_point(|&(at, _)| at < elements.end);
        &replaced[first..last]
    }

    /// The graft to which an element belongs.
    fn graft_of(&self, index: u32) -> Option<&GraftSpan> {
        let behind = self
            .parts
            .grafts
            .partition_point(|graft| graft.first <= index);
        self.parts.grafts[..behind]
            .iter()
            .rev()
            .find(|graft| graft.last > index)
    }

    /// An element, or what stands in its place: the first element of its graft, or what follows.
    #[inline]
    pub(crate) fn resolve(&self, index: u32) -> Option<u32> {
        match self.entry(index).flags & flags::REPLACED {
            0 => Some(index),
            _ => self.resolve_replaced(index),
        }
    }

    fn resolve_replaced(&self, replaced: u32) -> Option<u32> {
        let mut index = replaced;
        while self.entry(index).flags & flags::REPLACED != 0 {
            index = match self.graft_over(index) {
                Some(graft) if graft.first < graft.last => graft.first,
                _ => self.unresolved_sibling(index)?,
            };
        }
        Some(index)
    }

    #[inline]
    pub(crate) fn first_child(&self, index: u32) -> Option<u32> {
        self.written_child(index)
            .and_then(|child| self.resolve(child))
    }

    /// The first child as the tape has it, maybe a replaced one.
    #[inline]
    pub(crate) fn written_child(&self, index: u32) -> Option<u32> {
        let child = index + 1;
        let entry = self.parts.tape.get(child as usize)?;
        (entry.parent == index && child < self.span_end(index)).then_some(child)
    }

    /// The next sibling as the tape has it, in the same segment, maybe a replaced one.
    #[inline]
    pub(crate) fn written_sibling(&self, index: u32) -> Option<u32> {
        self.sibling_within(index, self.span_end(index)).ok()?
    }

    #[inline]
    pub(crate) fn next_sibling(&self, index: u32) -> Option<u32> {
        if !self.parts.grafts.is_empty() {
            let sibling = self.unresolved_sibling(index)?;
            return self.resolve(sibling);
        }
        // Nothing is replaced. Most elements hold none: what follows on the tape follows them.
        let entry = self.entry(index);
        let next = self.parts.tape.get(index as usize + 1)?;
        match next.start < entry.end {
            true => self.sibling_of_parent(index),
            false => (next.parent == entry.parent).then_some(index + 1),
        }
    }

    /// The next sibling of an element that holds others, in a document without grafts.
    fn sibling_of_parent(&self, index: u32) -> Option<u32> {
        let entry = self.entry(index);
        let behind = self.behind_within(index, entry.end, self.parts.tape.len());
        let next = self.parts.tape.get(behind as usize)?;
        (next.parent == entry.parent).then_some(behind)
    }

    /// The next sibling, maybe a replaced one.
    fn unresolved_sibling(&self, index: u32) -> Option<u32> {
        let mut index = index;
        loop {
            match self.sibling_within(index, self.span_end(index)) {
                Ok(sibling) => return sibling,
                // The last one at the top of a graft is followed by what follows the replaced
                // element.
                Err(EndOfSpan) => {
                    let graft = self.graft_of(index)?;
                    if self.entry(graft.at).parent != self.entry(index).parent {
                        return None;
                    }
                    index = graft.at;
                }
            }
        }
    }

    /// The next sibling in a part of the tape that ends at `last`, unless nothing of the part
    /// follows the element.
    #[inline]
    fn sibling_within(&self, index: u32, last: u32) -> Result<Option<u32>, EndOfSpan> {
        let entry = self.entry(index);
        let behind = self.behind_within(index, entry.end, last as usize);
        match self.parts.tape.get(behind as usize) {
            Some(next) if behind < last => Ok((next.parent == entry.parent).then_some(behind)),
            _ => Err(EndOfSpan),
        }
    }

    /// The namespace declarations of one element.
    pub(crate) fn declarations(&self, index: u32) -> &[Declaration] {
        if self.entry(index).flags & flags::NAMESPACES == 0 {
            return &[];
        }
        self.parts.declarations(index)
    }
}

/// Nothing of the same part of the tape follows an element.
struct EndOfSpan;

#[cold]
fn too_large(options: &ParseOptions) -> ParseError {
    ParseError {
        position: Position {
            offset: 0,
            line: 1,
            column: 1,
        },
        problem: too_many(Limit::Message, &options.limits),
    }
}

pub(crate) fn error(source: &[u8], failure: Failure) -> ParseError {
    ParseError {
        position: Position::of(source, failure.offset),
        problem: failure.problem,
    }
}
