//! The scanner: bytes to tape in one pass.
//!
//! It checks well-formedness (XML 1.0, 5th edition) and namespaces, binds prefixes, indexes ids and
//! finds out which elements are written as C14N would write them. A tag that was seen before,
//! without attributes and with its prefix bound as before, costs one look into a cache. The rule:
//! whatever passes the scanner is well-formed, so that nobody behind it has to ask again.

pub(crate) mod find;
mod known;
mod misc;
mod places;
pub(crate) mod reference;
mod start_tag;
mod structure;
mod usual;

use crate::document::Parts;
use crate::error::{Limit, Problem};
use crate::limits::OFFSET_SPACE;
use crate::names::{Full, NONE};
use crate::tape::{Entry, flags};
use crate::{IdAttributes, Limits, ParseOptions, chars};
pub(crate) use known::KnownTags;
use start_tag::RawAttribute;
use structure::Structure;
use usual::Guess;

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
    /// The replacement of an element: one element; white space, comments and processing
    /// instructions around it.
    Element,
    /// The replacement of content: anything that may stand inside an element.
    Content,
}

/// An element whose end tag was not yet met.
#[derive(Clone, Copy, Debug)]
struct Open {
    /// Its place on the tape, or that of the parent of everything for the lowest one.
    index: u32,
    /// Namespace bindings to take back at its end, as length of the list.
    undo: u32,
    name: u16,
    prefix: u16,
    flags: u16,
}

/// Working memory of the scanner, kept from one document to the next.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    structure: Structure,
    /// The open elements around the innermost one, and what is around everything.
    outer: Vec<Open>,
    /// Namespace by prefix, [`NONE`] if it is not declared.
    bindings: Vec<u16>,
    undo: Vec<(u16, u16)>,
    guess: Guess,
    attributes: Vec<RawAttribute>,
    value: String,
}

impl Workspace {
    /// Binds a prefix until the end of the element that is being opened.
    fn bind(&mut self, prefix: u16, uri: u16) {
        let bindings = &mut self.bindings;
        if bindings.len() <= prefix as usize {
            bindings.resize(prefix as usize + 1, NONE);
        }
        self.undo.push((prefix, bindings[prefix as usize]));
        bindings[prefix as usize] = uri;
    }
}

/// What a scan found beside the tape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scanned {
    /// Flags of the top-level content.
    pub(crate) content: u16,
}

/// Scans `text`, which lies at `base` in the offset space, in the namespace and tree context of the
/// children of `parent`.
pub(crate) fn scan(
    text: &str,
    base: u32,
    whole: Whole,
    parent: u32,
    parts: &mut Parts,
    options: &ParseOptions,
) -> Scan<Scanned> {
    let mut work = parts.work.take().unwrap_or_default();
    let depth_above = parts.bind_context(parent, &mut work.bindings);
    let limits = &options.limits;
    let mut scanner = Scanner {
        text,
        source: text.as_bytes(),
        base,
        whole,
        deepest: (limits.depth as usize).saturating_sub(depth_above),
        roots: 0,
        limits,
        ids: &options.ids,
        names_allowed: parts.names.name_count() + limits.names as usize,
        prefixes_allowed: parts.names.prefix_count() + limits.namespaces as usize,
        uris_allowed: parts.names.uri_count() + limits.namespaces as usize,
        tape: std::mem::take(&mut parts.tape),
        top: Open {
            index: parent,
            undo: 0,
            name: NONE,
            prefix: NONE,
            flags: 0,
        },
        parts,
        work,
    };
    let scanned = scanner.run();
    let Scanner { tape, work, .. } = scanner;
    parts.tape = tape;
    parts.work = Some(work);
    scanned
}

struct Scanner<'a> {
    text: &'a str,
    source: &'a [u8],
    base: u32,
    whole: Whole,
    /// Most elements that may be open in the text.
    deepest: usize,
    /// Top-level elements so far.
    roots: usize,
    limits: &'a Limits,
    ids: &'a IdAttributes,
    names_allowed: usize,
    prefixes_allowed: usize,
    uris_allowed: usize,
    parts: &'a mut Parts,
    /// The document's tape, on loan.
    tape: Vec<Entry>,
    /// The innermost open element; at top level what is around everything.
    top: Open,
    work: Workspace,
}

impl Scanner<'_> {
    fn run(&mut self) -> Scan<Scanned> {
        self.work.outer.clear();
        self.work.undo.clear();
        self.work.guess.start();
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
            if self.is_usual() {
                self.usual();
            }
            let at = self.work.structure.peek(self.source);
            self.work.structure.advance(1);
            match self.source.get(at) {
                Some(b'<') if self.source.get(at + 1) == Some(&b'/') => self.end_tag(at)?,
                Some(b'<') => self.unusual(at)?,
                Some(&byte) => self.character(at, byte)?,
                None => break,
            }
        }
        let end = self.source.len();
        if !self.at_top() {
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
        if !self.work.structure.is_ascii() {
            self.check_noncharacters()?;
        }
        Ok(Scanned {
            content: self.top.flags & flags::CONTENT,
        })
    }

    /// Whether no element is open.
    #[inline(always)]
    fn at_top(&self) -> bool {
        self.work.outer.is_empty()
    }

    /// Checks that one more element may begin here.
    fn check_room(&mut self, at: usize) -> Scan<()> {
        if self.work.outer.len() >= self.deepest {
            return Err(self.too_many(at, Limit::Depth));
        }
        if self.tape.len() >= self.limits.elements as usize {
            return Err(self.too_many(at, Limit::Elements));
        }
        if self.at_top() {
            if self.roots > 0 && self.whole != Whole::Content {
                return Err(Failure::at(at, Problem::SecondElement));
            }
            self.roots += 1;
        }
        Ok(())
    }

    /// Opens the element whose start tag is at `at`.
    #[inline(always)]
    fn open(&mut self, at: usize, name: u16, flags: u16, undo: usize) {
        let index = self.tape.len() as u32;
        let start = self.base + at as u32;
        self.tape.push(Entry {
            start,
            end: start,
            parent: self.top.index,
            name,
            flags,
        });
        self.work.outer.push(self.top);
        let prefix = self.parts.names.name(name).prefix;
        self.top = Open {
            index,
            undo: undo as u32,
            name,
            prefix,
            flags,
        };
    }

    /// Ends the innermost element before `end`.
    #[inline(always)]
    fn close(&mut self, end: usize) -> Scan<()> {
        let open = self.top;
        let Some(outer) = self.work.outer.pop() else {
            return Ok(());
        };
        self.top = outer;
        if open.flags & flags::NAMESPACES != 0 {
            self.unbind(open.undo as usize);
        }
        let entry = &mut self.tape[open.index as usize];
        entry.end = self.base + end as u32;
        entry.flags = open.flags;
        self.top.flags |= usual::mixed(&open, &outer);
        if self.at_top() {
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

    /// Checks that U+FFFE and U+FFFF are nowhere. All other characters that are not ASCII are
    /// legal.
    fn check_noncharacters(&self) -> Scan<()> {
        for at in memchr::memmem::find_iter(self.source, b"\xEF\xBF") {
            self.check_character(at)?;
        }
        Ok(())
    }

    /// Checks the character at an offset listed by [`Structure`] for another reason than being
    /// markup.
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
        self.top.flags |= flags;
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
