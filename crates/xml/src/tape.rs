//! The tape: one entry of 16 bytes per element, in the order of scanning.
//!
//! Text is not on the tape: it is the gap between two tags. The rule: an entry never changes its
//! place, so that a [`NodeId`] stays valid for the life of its document.

/// An element of one document: its place on the tape.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct NodeId(u32);

impl NodeId {
    #[inline]
    pub(crate) fn new(index: u32) -> NodeId {
        NodeId(index)
    }

    #[inline]
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// One element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    /// Offset of the `<` of the start tag.
    pub(crate) start: u32,
    /// Offset after the `>` of the end tag.
    pub(crate) end: u32,
    /// The parent's place on the tape, or [`NO_PARENT`].
    pub(crate) parent: u32,
    /// Index into the table of element names.
    pub(crate) name: u16,
    /// See [`flags`].
    pub(crate) flags: u16,
}

pub(crate) const NO_PARENT: u32 = u32::MAX;

/// Bits of [`Entry::flags`]. The seven highest bits hold the length of the start tag, or 0 if it is
/// longer than 127 bytes: then it has a [`LongTag`].
pub(crate) mod flags {
    /// The start tag or the end tag is not written as C14N writes it, whatever the namespace
    /// context. That an empty-element tag ends with `/>` does not count.
    pub(crate) const TAG_REWRITE: u16 = 1 << 0;
    /// Character data or processing instructions directly inside are not written as C14N writes
    /// them.
    pub(crate) const CONTENT_REWRITE: u16 = 1 << 1;
    /// Comments directly inside.
    pub(crate) const COMMENT: u16 = 1 << 2;
    /// The start tag declares namespaces.
    pub(crate) const NAMESPACES: u16 = 1 << 3;
    /// The start tag has attributes with a prefix.
    pub(crate) const QUALIFIED: u16 = 1 << 4;
    /// Some descendant or its own content is not canonical in every context in which this element's
    /// start tag is: it has one of the flags above or another prefix.
    pub(crate) const MIXED: u16 = 1 << 5;
    /// An empty-element tag: no content and no end tag.
    pub(crate) const EMPTY: u16 = 1 << 6;
    /// Replaced by a graft.
    pub(crate) const REPLACED: u16 = 1 << 7;
    /// A descendant was replaced by a graft.
    pub(crate) const HOLDS_GRAFT: u16 = 1 << 8;

    pub(crate) const LENGTH_SHIFT: u32 = 9;
    /// Longest start tag whose length fits.
    pub(crate) const LENGTH_MAX: usize = 127;

    /// All flags but the length.
    pub(crate) const BESIDE_LENGTH: u16 = (1 << LENGTH_SHIFT) - 1;

    /// The length of a start tag as flags.
    #[inline(always)]
    pub(crate) fn of_length(length: usize) -> u16 {
        if length <= LENGTH_MAX {
            (length as u16) << LENGTH_SHIFT
        } else {
            0
        }
    }

    /// Flags that a tag does not have that is canonical wherever its prefix is rendered.
    pub(crate) const TAG: u16 = TAG_REWRITE | EMPTY | NAMESPACES | QUALIFIED;
    /// Flags that the content of an element in canonical form does not have.
    pub(crate) const CONTENT: u16 = CONTENT_REWRITE | COMMENT;
}

/// One namespace declaration, in the order of scanning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Declaration {
    /// The element that declares it.
    pub(crate) element: u32,
    pub(crate) prefix: u16,
    pub(crate) uri: u16,
}

/// One attribute with a prefix other than `xml`, in the order of scanning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Qualified {
    /// The element that has it.
    pub(crate) element: u32,
    pub(crate) prefix: u16,
    pub(crate) uri: u16,
}

/// One attribute that is no namespace declaration, in the order of scanning.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Listed {
    /// The element that has it.
    pub(crate) element: u32,
    /// Its value between the quotes, in the offset space.
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) qname: u16,
    pub(crate) uri: u16,
    /// The value holds references or white space to be normalized.
    pub(crate) decode: bool,
}

/// Where a start tag ends that is longer than [`flags::LENGTH_MAX`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongTag {
    pub(crate) element: u32,
    /// Offset after its `>`.
    pub(crate) end: u32,
}

/// The part of a list in the order of scanning that belongs to one element.
#[inline]
pub(crate) fn of_element<T>(list: &[T], index: u32, element: impl Fn(&T) -> u32) -> &[T] {
    let first = list.partition_point(|item| element(item) < index);
    let own = &list[first..];
    let length = own.iter().position(|item| element(item) != index);
    &own[..length.unwrap_or(own.len())]
}

/// A plaintext linked in place of an element.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GraftSpan {
    /// The replaced element.
    pub(crate) at: u32,
    /// Its elements on the tape; all grafts' ranges follow each other.
    pub(crate) first: u32,
    pub(crate) last: u32,
    /// The plaintext in the offset space.
    pub(crate) start: u32,
    pub(crate) end: u32,
    /// Flags of its top-level content, as [`flags::CONTENT`].
    pub(crate) content: u16,
}
