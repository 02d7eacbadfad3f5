//! The scanner: bytes to tape in one pass.
//!
//! It checks well-formedness (XML 1.0, 5th edition) and namespaces, binds prefixes, indexes ids and finds out which elements are
//! written as C14N would write them. A tag that was seen before, without attributes and with its prefix bound as before, costs one
//! look into a cache. The rule: whatever passes the scanner is well-formed, so that nobody behind it has to ask again.

mod misc;
pub(crate) mod reference;
mod start_tag;
mod structure;

use crate::document::Parts;
use crate::error::{Limit, Problem};
use crate::limits::OFFSET_SPACE;
use crate::names::{Full, NONE, short_key};
use crate::tape::{Entry, NO_PARENT, flags};
use crate::{IdAttributes, Limits, ParseOptions, chars};
use start_tag::RawAttribute;
use structure::Structure;

/// Why and where the scan ended. The offset is one of the text being scanned.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) offset: usize,
    pub(crate) problem: Problem,
}

impl Failure {
    #[cold]
    pub(crate) fn at(offset: usize, problem: Problem) -> Box<Failure> {
        Box::new(Failure { offset, problem })
    }
}

pub(crate) type Scan<T> = Result<T, Box<Failure>>;

/// What the text being scanned is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Whole {
    /// A document: one element, and around it white space, comments and processing instructions.
    Document,
    /// The replacement of an element: one element; white space, comments and processing instructions around it.
    Element,
    /// The replacement of content: anything that may stand inside an element.
    Content,
}

/// An element whose end tag was not yet met.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Its first 16 bytes of name, if it is no longer than that.
    key: [u64; 2],
    /// Its place on the tape, or that of the parent of everything for the lowest one.
    index: u32,
    /// Where its name is written.
    name_at: u32,
    /// Namespace bindings to take back at its end, as length of the list.
    undo: u32,
    name_length: u16,
    prefix: u16,
    flags: u16,
}

/// Working memory of the scanner, kept from one document to the next.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    structure: Structure,
    open: Vec<Open>,
    /// Namespace by prefix, [`NONE`] if it is not declared.
    bindings: Vec<u16>,
    undo: Vec<(u16, u16)>,
    attributes: Vec<RawAttribute>,
    value: String,
}

/// What a scan found beside the tape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scanned {
    /// Flags of the top-level content.
    pub(crate) content: u16,
}

/// Scans `text`, which lies at `base` in the offset space, in the namespace and tree context of the children of `parent`.
pub(crate) fn scan(
    text: &str,
    base: u32,
    whole: Whole,
    parent: u32,
    parts: &mut Parts,
    options: &ParseOptions,
) -> Scan<Scanned> {
    let mut work = std::mem::take(&mut parts.work);
    let depth_above = parts.bind_context(parent, &mut work.bindings);
    let mut scanner = Scanner {
        text,
        source: text.as_bytes(),
        base,
        whole,
        depth_above,
        roots: 0,
        limits: &options.limits,
        ids: &options.ids,
        names_allowed: parts.names.name_count() + options.limits.names as usize,
        prefixes_allowed: parts.names.prefix_count() + options.limits.namespaces as usize,
        uris_allowed: parts.names.uri_count() + options.limits.namespaces as usize,
        parts,
        work: &mut work,
    };
    let scanned = scanner.run(parent);
    parts.work = work;
    scanned
}

struct Scanner<'a> {
    text: &'a str,
    source: &'a [u8],
    base: u32,
    whole: Whole,
    /// Elements open around the text.
    depth_above: usize,
    /// Top-level elements so far.
    roots: usize,
    limits: &'a Limits,
    ids: &'a IdAttributes,
    names_allowed: usize,
    prefixes_allowed: usize,
    uris_allowed: usize,
    parts: &'a mut Parts,
    work: &'a mut Workspace,
}

impl Scanner<'_> {
    fn run(&mut self, parent: u32) -> Scan<Scanned> {
        self.work.open.clear();
        self.work.undo.clear();
        self.work.open.push(Open {
            key: [0, 0],
            index: parent,
            name_at: 0,
            undo: 0,
            name_length: 0,
            prefix: NONE,
            flags: 0,
        });
        let mut start = 0;
        if self.whole == Whole::Document {
            start = if self.source.starts_with(&[0xEF, 0xBB, 0xBF]) {
                3
            } else {
                0
            };
            start = self.xml_declaration(start)?;
        }
        self.work.structure.start(start);
        self.between_roots(start)?;
        loop {
            let at = self.work.structure.peek(self.source);
            self.work.structure.advance();
            match self.source.get(at) {
                Some(b'<') => self.markup(at)?,
                Some(&byte) => self.character(at, byte)?,
                None => break,
            }
        }
        let end = self.source.len();
        if self.work.open.len() > 1 {
            return Err(Failure::at(
                end,
                Problem::UnexpectedEnd {
                    inside: "an element",
                },
            ));
        }
        if self.roots == 0 && self.whole != Whole::Content {
            return Err(Failure::at(end, Problem::NoElement));
        }
        Ok(Scanned {
            content: self.work.open[0].flags & flags::CONTENT,
        })
    }

    #[inline(always)]
    fn markup(&mut self, at: usize) -> Scan<()> {
        // Where the tag ends, unless one of its attributes or it itself is unusual.
        let close = self.work.structure.peek(self.source);
        let usual = self.source.get(close) == Some(&b'>');
        if self.source.get(at + 1) == Some(&b'/') {
            if usual && self.is_expected_end_tag(at, close) {
                self.work.structure.advance();
                self.close(at, close + 1)
            } else {
                self.end_tag(at)
            }
        } else if usual && let Some((name, prefix, key)) = self.known_start_tag(at, close) {
            self.work.structure.advance();
            self.check_room(at)?;
            let length = (close - at - 1) as u16;
            let flags = (length + 2) << flags::LENGTH_SHIFT;
            self.open(at, name, prefix, key, length, flags, self.work.undo.len());
            Ok(())
        } else {
            self.unusual(at)
        }
    }

    /// Whether `</…>` is exactly the end tag of the open element.
    #[inline(always)]
    fn is_expected_end_tag(&self, at: usize, close: usize) -> bool {
        let Some(open) = self.work.open.last() else {
            return false;
        };
        let length = close - at - 2;
        if length != open.name_length as usize {
            return false;
        }
        match short_key(self.source, at + 2, length) {
            Some(key) => key == open.key,
            None => {
                let start = open.name_at as usize;
                self.source[start..start + length] == self.source[at + 2..close]
            }
        }
    }

    /// The name of a tag `<name>` that was seen before in the same namespace.
    #[inline(always)]
    fn known_start_tag(&self, at: usize, close: usize) -> Option<(u16, u16, [u64; 2])> {
        let key = short_key(self.source, at + 1, close - at - 1)?;
        let (name, prefix) = self.parts.names.cached_name(key, &self.work.bindings)?;
        Some((name, prefix, key))
    }

    /// Checks that one more element may begin here.
    #[inline(always)]
    fn check_room(&mut self, at: usize) -> Scan<()> {
        let depth = self.work.open.len() + self.depth_above;
        if depth > self.limits.depth as usize {
            return Err(self.too_many(at, Limit::Depth));
        }
        if self.parts.tape.len() >= self.limits.elements as usize {
            return Err(self.too_many(at, Limit::Elements));
        }
        if self.work.open.len() == 1 {
            if self.roots > 0 && self.whole != Whole::Content {
                return Err(Failure::at(at, Problem::SecondElement));
            }
            self.roots += 1;
        }
        Ok(())
    }

    #[inline(always)]
    #[expect(
        clippy::too_many_arguments,
        reason = "what is known of a start tag, once"
    )]
    fn open(
        &mut self,
        at: usize,
        name: u16,
        prefix: u16,
        key: [u64; 2],
        name_length: u16,
        flags: u16,
        undo: usize,
    ) {
        let index = self.parts.tape.len() as u32;
        let parent = self.work.open.last().map_or(NO_PARENT, |open| open.index);
        let start = self.base + at as u32;
        self.parts.tape.push(Entry {
            start,
            end: start,
            parent,
            name,
            flags,
        });
        self.work.open.push(Open {
            key,
            index,
            name_at: at as u32 + 1,
            undo: undo as u32,
            name_length,
            prefix,
            flags,
        });
    }

    /// Ends the open element, whose end tag starts at `at` and ends before `end`.
    #[inline(always)]
    fn close(&mut self, at: usize, end: usize) -> Scan<()> {
        let (Some(open), true) = (self.work.open.pop(), !self.work.open.is_empty()) else {
            return Err(Failure::at(at, Problem::UnexpectedEndTag));
        };
        if open.flags & flags::NAMESPACES != 0 {
            self.unbind(open.undo as usize);
        }
        let entry = &mut self.parts.tape[open.index as usize];
        entry.end = self.base + end as u32;
        entry.flags = open.flags;
        if let Some(parent) = self.work.open.last_mut() {
            let plain = open.flags & (flags::TAG | flags::CONTENT | flags::MIXED) == 0
                && open.prefix == parent.prefix;
            parent.flags |= if plain { 0 } else { flags::MIXED };
        }
        if self.work.open.len() == 1 {
            self.between_roots(end)?;
        }
        Ok(())
    }

    fn unbind(&mut self, undo: usize) {
        while self.work.undo.len() > undo {
            if let Some((prefix, uri)) = self.work.undo.pop() {
                self.work.bindings[prefix as usize] = uri;
            }
        }
    }

    /// Checks that nothing but white space follows until the next markup at top level.
    fn between_roots(&mut self, from: usize) -> Scan<()> {
        if self.whole == Whole::Content {
            return Ok(());
        }
        let rest = &self.source[from..];
        match rest.iter().position(|&byte| !chars::is_space(byte)) {
            Some(space) if rest[space] != b'<' => {
                Err(Failure::at(from + space, Problem::TextOutsideElement))
            }
            _ => Ok(()),
        }
    }

    /// A byte of character data that needs a closer look.
    #[inline]
    fn character(&mut self, at: usize, byte: u8) -> Scan<()> {
        let rewrite = match byte {
            b'&' => {
                let reference = reference::read(self.text, at)?;
                !reference::is_canonical_in_text(&self.text[at..reference.end])
            }
            b'>' => {
                if self.source[..at].ends_with(b"]]") {
                    return Err(Failure::at(at - 2, Problem::CdataEndInText));
                }
                true
            }
            b'\r' => true,
            _ => {
                self.check_character(at)?;
                false
            }
        };
        if rewrite {
            self.mark(flags::CONTENT_REWRITE);
        }
        Ok(())
    }

    /// Checks the character at an offset listed by [`Structure`] for another reason than being markup.
    fn check_character(&self, at: usize) -> Scan<()> {
        match self.text[at..].chars().next() {
            Some(character) if !chars::is_char(character) => {
                Err(Failure::at(at, Problem::IllegalCharacter { character }))
            }
            _ => Ok(()),
        }
    }

    /// Sets flags of the open element.
    fn mark(&mut self, flags: u16) {
        if let Some(open) = self.work.open.last_mut() {
            open.flags |= flags;
        }
    }

    fn expected(&self, at: usize, expected: &'static str) -> Box<Failure> {
        if at >= self.source.len() {
            return Failure::at(
                self.source.len(),
                Problem::UnexpectedEnd { inside: "markup" },
            );
        }
        match self.text.get(at..).and_then(|rest| rest.chars().next()) {
            Some(character) if !chars::is_char(character) => {
                Failure::at(at, Problem::IllegalCharacter { character })
            }
            _ => Failure::at(at, Problem::Expected { expected }),
        }
    }

    fn skip_space(&self, at: usize) -> usize {
        let rest = &self.source[at.min(self.source.len())..];
        at + rest
            .iter()
            .position(|&byte| !chars::is_space(byte))
            .unwrap_or(rest.len())
    }

    #[cold]
    fn too_many(&self, at: usize, limit: Limit) -> Box<Failure> {
        Failure::at(at, too_many(limit, self.limits))
    }

    /// Checks that the tables of names are within their limits.
    fn check_names(&self, at: usize) -> Scan<()> {
        let names = &self.parts.names;
        if names.name_count() > self.names_allowed {
            return Err(self.too_many(at, Limit::Names));
        }
        if names.prefix_count() > self.prefixes_allowed || names.uri_count() > self.uris_allowed {
            return Err(self.too_many(at, Limit::Namespaces));
        }
        Ok(())
    }
}

/// The failure of a full table of names.
fn full(limits: &Limits, at: usize) -> impl Fn(Full) -> Box<Failure> {
    move |full| {
        let limit = match full {
            Full::Names => Limit::Names,
            Full::Namespaces => Limit::Namespaces,
        };
        Failure::at(at, too_many(limit, limits))
    }
}

/// The problem of having passed a limit.
pub(crate) fn too_many(limit: Limit, limits: &Limits) -> Problem {
    let allowed = match limit {
        Limit::Depth => limits.depth as usize,
        Limit::Attributes => limits.attributes as usize,
        Limit::Message => limits.message.min(OFFSET_SPACE),
        Limit::Elements => limits.elements as usize,
        Limit::Ids => limits.ids as usize,
        Limit::Name => limits.name as usize,
        Limit::Names => limits.names as usize,
        Limit::Namespaces => limits.namespaces as usize,
    };
    Problem::TooMany { limit, allowed }
}
