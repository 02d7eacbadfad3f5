//! Working memory of the scanner, kept from one document to the next.
//!
//! The rule: what is in it when a scan begins changes no result, only the time that it takes.

use super::structure::Structure;
use crate::numbers::NONE;
use crate::tape::{Entry, flags};

/// An element whose end tag was not yet met.
#[derive(Clone, Copy, Debug)]
pub(super) struct Open {
    /// Its place on the tape, or that of the parent of everything for the lowest one.
    pub(super) index: u32,
    /// Namespace bindings to take back at its end, as length of the list.
    pub(super) undo: u32,
    pub(super) name: u16,
    pub(super) prefix: u16,
    pub(super) flags: u16,
}

/// Working memory of the scanner, kept from one document to the next.
#[derive(Debug, Default)]
pub(crate) struct Workspace {
    pub(super) structure: Structure,
    /// The open elements around the innermost one, and what is around everything.
    pub(super) outer: Vec<Open>,
    /// Namespace by prefix, [`NONE`] if it is not declared.
    pub(super) bindings: Vec<u16>,
    pub(super) undo: Vec<(u16, u16)>,
    pub(super) guess: Guess,
    pub(super) attributes: Vec<RawAttribute>,
    pub(super) value: String,
}

impl Workspace {
    /// Binds a prefix until the end of the element that is being opened.
    pub(super) fn bind(&mut self, prefix: u16, uri: u16) {
        let bindings = &mut self.bindings;
        if bindings.len() <= prefix as usize {
            bindings.resize(prefix as usize + 1, NONE);
        }
        self.undo.push((prefix, bindings[prefix as usize]));
        bindings[prefix as usize] = uri;
    }
}

/// An attribute of the tag being scanned.
#[derive(Clone, Copy, Debug)]
pub(super) struct RawAttribute {
    pub(super) name_at: u32,
    pub(super) value_start: u32,
    pub(super) value_end: u32,
    pub(super) qname: u16,
    pub(super) prefix: u16,
    pub(super) uri: u16,
    /// The value holds references or white space to be normalized.
    pub(super) decode: bool,
}

/// Which name comes next: the one that came next when the last name was met before. Records repeat,
/// so the guess is mostly right, and whether it is costs one compare. It is only ever a guess: what
/// it is based on may be of another document.
#[derive(Debug, Default)]
pub(super) struct Guess {
    /// The place on the tape whose name is expected next.
    pub(super) next: usize,
    /// By name: a place on the tape where it was met.
    met: Vec<u32>,
}

impl Guess {
    /// Starts a document.
    pub(super) fn start(&mut self) {
        self.next = 0;
    }

    /// `name` was met, which was not expected, and goes to `place` on the tape.
    #[inline(never)]
    pub(super) fn correct(&mut self, name: u16, place: usize) {
        if self.met.len() <= name as usize {
            self.met.resize(name as usize + 1, 0);
        }
        let met = &mut self.met[name as usize];
        self.next = *met as usize + 1;
        *met = place as u32;
    }

    /// `name` was met outside of the loop and goes to the end of the tape.
    pub(super) fn follow(&mut self, name: u16, tape: &[Entry]) {
        match tape.get(self.next) {
            Some(entry) if entry.name == name => self.next += 1,
            _ => self.correct(name, tape.len()),
        }
    }
}

/// What a child does to its parent's [`flags::MIXED`].
#[inline(always)]
pub(super) fn mixed(child: &Open, parent: &Open) -> u16 {
    let plain = child.flags & (flags::TAG | flags::CONTENT | flags::MIXED) == 0
        && child.prefix == parent.prefix;
    if plain { 0 } else { flags::MIXED }
}
