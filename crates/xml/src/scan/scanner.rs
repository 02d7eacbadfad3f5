//! The walk over a text, and what all of its parts do.
//!
//! The rule: an element is opened and closed here, whatever path read its tags.

use super::reference;
use super::workspace::{Open, Workspace, mixed};
use crate::error::{Failure, Limit, Problem, Scan, too_many};
use crate::names::Full;
use crate::parts::Parts;
use crate::tape::{Entry, flags};
use crate::{IdAttributes, Limits, chars};

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

/// What a scan found beside the tape.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scanned {
    /// Flags of the top-level content.
    pub(crate) content: u16,
}

pub(super) struct Scanner<'a> {
    pub(super) text: &'a str,
    pub(super) source: &'a [u8],
    pub(super) base: u32,
    pub(super) whole: Whole,
    /// Most elements that may be open in the text.
    pub(super) deepest: usize,
    /// Top-level elements so far.
    pub(super) roots: usize,
    pub(super) limits: &'a Limits,
    pub(super) ids: &'a IdAttributes,
    pub(super) names_allowed: usize,
    pub(super) prefixes_allowed: usize,
    pub(super) uris_allowed: usize,
    pub(super) parts: &'a mut Parts,
    /// The document's tape, on loan.
    pub(super) tape: Vec<Entry>,
    /// The innermost open element; at top level what is around everything.
    pub(super) top: Open,
    pub(super) work: Workspace,
}

impl Scanner<'_> {
    pub(super) fn run(&mut self) -> Scan<Scanned> {
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
    pub(super) fn at_top(&self) -> bool {
        self.work.outer.is_empty()
    }

    /// Checks that one more element may begin here.
    pub(super) fn check_room(&mut self, at: usize) -> Scan<()> {
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
    pub(super) fn open(&mut self, at: usize, name: u16, flags: u16, undo: usize) {
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
    pub(super) fn close(&mut self, end: usize) -> Scan<()> {
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
        self.top.flags |= mixed(&open, &outer);
        if self.at_top() {
            self.between_roots(end)?;
        }
        Ok(())
    }

    pub(super) fn unbind(&mut self, undo: usize) {
        while self.work.undo.len() > undo {
            if let Some((prefix, uri)) = self.work.undo.pop() {
                self.work.bindings[prefix as usize] = uri;
            }
        }
    }

    /// Checks that nothing but white space follows until the next markup at top level.
    pub(super) fn between_roots(&mut self, from: usize) -> Scan<()> {
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
    pub(super) fn character(&mut self, at: usize, byte: u8) -> Scan<()> {
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
    pub(super) fn check_noncharacters(&self) -> Scan<()> {
        for at in memchr::memmem::find_iter(self.source, b"\xEF\xBF") {
            self.check_character(at)?;
        }
        Ok(())
    }

    /// Checks the character at an offset listed by [`Structure`] for another reason than being
    /// markup.
    pub(super) fn check_character(&self, at: usize) -> Scan<()> {
        match self.text[at..].chars().next() {
            Some(character) if !chars::is_char(character) => {
                Err(Failure::at(at, Problem::IllegalCharacter { character }))
            }
            _ => Ok(()),
        }
    }

    /// Sets flags of the open element.
    pub(super) fn mark(&mut self, flags: u16) {
        self.top.flags |= flags;
    }

    pub(super) fn expected(&self, at: usize, expected: &'static str) -> Box<Failure> {
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
    pub(super) fn too_many(&self, at: usize, limit: Limit) -> Box<Failure> {
        Failure::at(at, too_many(limit, self.limits))
    }

    /// Checks that the tables of names are within their limits.
    pub(super) fn check_names(&self, at: usize) -> Scan<()> {
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
pub(super) fn full(limits: &Limits, at: usize) -> impl Fn(Full) -> Box<Failure> {
    move |full| {
        let limit = match full {
            Full::Names => Limit::Names,
            Full::Namespaces => Limit::Namespaces,
        };
        Failure::at(at, too_many(limit, limits))
    }
}
