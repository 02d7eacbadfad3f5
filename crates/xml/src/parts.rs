//! What a document is made of: source text, tape and tables.
//!
//! The scanner fills parts, a document shows them, and buffers keep them for the next document. The
//! rule: parts hold what was scanned and decide nothing.

use crate::ids::IdIndex;
use crate::names::Names;
use crate::numbers::{NONE, prefix, uri};
use crate::scan::Workspace;
use crate::tape::{
    Declaration, Entry, GraftSpan, Listed, LongTag, NO_PARENT, Qualified, flags, of_element,
};

/// A piece of source text at its place in the offset space.
pub(crate) struct Segment {
    pub(crate) base: u32,
    pub(crate) text: String,
}

/// What a document is made of, to be used again when it is gone.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) segments: Vec<Segment>,
    pub(crate) tape: Vec<Entry>,
    pub(crate) declarations: Vec<Declaration>,
    pub(crate) qualified: Vec<Qualified>,
    /// The attributes of all elements before `unlisted`.
    pub(crate) listed: Vec<Listed>,
    /// The first element whose attributes are not listed, since there are too many.
    pub(crate) unlisted: Option<u32>,
    pub(crate) long_tags: Vec<LongTag>,
    pub(crate) grafts: Vec<GraftSpan>,
    /// Replaced elements with the index of their graft, in order of the elements.
    pub(crate) replaced: Vec<(u32, u32)>,
    /// [`Limits::canonical`](crate::Limits::canonical).
    pub(crate) canonical: u16,
    pub(crate) ids: IdIndex,
    pub(crate) names: Names,
    /// Lent to the scanner while it runs.
    pub(crate) work: Option<Workspace>,
}

impl Parts {
    pub(crate) fn clear(&mut self) {
        self.segments.clear();
        self.tape.clear();
        self.declarations.clear();
        self.qualified.clear();
        self.listed.clear();
        self.unlisted = None;
        self.long_tags.clear();
        self.grafts.clear();
        self.replaced.clear();
        self.ids.clear();
        self.names.settle();
    }

    pub(crate) fn declarations(&self, index: u32) -> &[Declaration] {
        of_element(&self.declarations, index, |declaration| declaration.element)
    }

    /// The attributes of one element; `None` if they are not listed.
    #[inline]
    pub(crate) fn listed(&self, index: u32) -> Option<&[Listed]> {
        match self.unlisted {
            Some(unlisted) if index >= unlisted => None,
            _ => Some(of_element(&self.listed, index, |listed| listed.element)),
        }
    }

    /// Fills in the namespaces in scope inside `parent`, by prefix; returns the depth of `parent`.
    pub(crate) fn bind_context(&self, parent: u32, bindings: &mut Vec<u16>) -> usize {
        bindings.clear();
        bindings.resize(self.names.prefix_count(), NONE);
        let mut depth = 0;
        let mut ancestor = parent;
        while ancestor != NO_PARENT {
            depth += 1;
            let entry = &self.tape[ancestor as usize];
            if entry.flags & flags::NAMESPACES != 0 {
                for declaration in self.declarations(ancestor) {
                    let binding = &mut bindings[declaration.prefix as usize];
                    if *binding == NONE {
                        *binding = declaration.uri;
                    }
                }
            }
            ancestor = entry.parent;
        }
        if bindings[prefix::DEFAULT as usize] == NONE {
            bindings[prefix::DEFAULT as usize] = uri::EMPTY;
        }
        bindings[prefix::XML as usize] = uri::XML;
        depth
    }
}
