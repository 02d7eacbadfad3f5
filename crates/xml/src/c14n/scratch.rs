//! Working memory of canonicalization.
//!
//! The rule: nothing of a document stays in it but numbers and places, which mean nothing in the
//! next one.

use std::ops::Range;

/// Working memory of canonicalization, to be used again and again, for any document.
#[derive(Debug, Default)]
pub struct C14nScratch {
    /// By prefix: the namespace last written in the output above. Back to its initial state after
    /// each call.
    pub(super) rendered: Vec<u16>,
    pub(super) rendered_undo: Vec<(u16, u16)>,
    /// By prefix: the namespace in scope in the apex.
    pub(super) scope: Vec<u16>,
    /// Prefixes treated as inclusive canonicalization does, in order.
    pub(super) inclusive: Vec<u16>,
    pub(super) frames: Vec<Frame>,
    /// Declarations and attributes of one tag.
    pub(super) declared: Vec<(u16, u16)>,
    pub(super) attributes: Vec<WrittenAttribute>,
    /// One tag as rebuilt.
    pub(super) tag: Vec<u8>,
    /// Small pieces of output on their way to the sink.
    pub(super) staged: Vec<u8>,
}

/// A stretch of source that the walk is inside of.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    pub(super) inside: Inside,
    /// What of the stretch is still to be passed on.
    pub(super) at: u32,
    pub(super) end: u32,
    /// The next element that may lie in it, and where its part of the tape ends.
    pub(super) next: u32,
    pub(super) last: u32,
    /// Text in it must be rewritten.
    pub(super) rewrite: bool,
    pub(super) rendered: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    Element(u32),
    /// A plaintext inside an element.
    Graft,
    /// The document, or a plaintext that replaced its root: there is no text here.
    Top,
}

/// An attribute of the tag being rebuilt: places in the offset space.
#[derive(Clone, Debug)]
pub(super) struct WrittenAttribute {
    pub(super) name: Range<u32>,
    pub(super) local_at: u32,
    pub(super) value: Range<u32>,
    pub(super) uri: u16,
}
