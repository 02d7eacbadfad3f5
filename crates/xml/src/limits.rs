//! The bounds within which a document is read.
//!
//! Every quantity that a sender chooses and that costs the receiver time or memory has a bound
//! here. The rule: a bound is checked while scanning, before the memory it guards is used.

/// All bounds of the scanner. `Limits::default()` is strict enough to stand on the open internet.
///
/// The struct may grow; change single fields of a default value:
///
/// ```
/// let mut limits = soapstone_xml::Limits::default();
/// limits.depth = 64;
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Deepest nesting of elements, the root being at depth 1. Default 200: secured envelopes nest
    /// about 20 deep, and the deepest WS-Policy document known to the project 31.
    pub depth: u16,
    /// Most attributes on one element, namespace declarations included. Default 256.
    pub attributes: u16,
    /// Largest document in bytes, before and after it is transcoded to UTF-8, and largest
    /// plaintext grafted into it. Default 8 MiB.
    pub message: usize,
    /// Most elements in one document, grafts included. Default 1,048,576: one per 8 bytes of the
    /// largest message.
    pub elements: u32,
    /// Most id attributes in one document, grafts included. Default 65,536.
    pub ids: u32,
    /// Longest qualified name in bytes. Default 1,024.
    pub name: u16,
    /// Most different qualified names in one document, of elements and attributes together.
    /// Default 16,384.
    pub names: u16,
    /// Most different namespace prefixes, and most different namespace names, in one document.
    /// Default 1,024.
    pub namespaces: u16,
    /// Largest canonical form, as a multiple of the document's size; 64 KiB are always allowed.
    /// Exclusive canonicalization repeats a namespace declaration on every sibling that uses
    /// it, so that a long namespace name on many short elements would grow without bound.
    /// Default 16: RPC-style messages with `xsi:type` on every element grow by 2 to 3.
    pub canonical: u16,
    /// Most entity expansions while `xmltools` flattens a DTD. The scanner refuses a DTD, and
    /// knows no entities but the five predefined ones. Default 10,000.
    pub entities: u32,
    /// Most bytes that entity expansion may produce while `xmltools` flattens a DTD. Default 8
    /// MiB.
    pub expansion: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            depth: 200,
            attributes: 256,
            message: 8 << 20,
            elements: 1 << 20,
            ids: 1 << 16,
            name: 1024,
            names: 16_384,
            namespaces: 1024,
            canonical: 16,
            entities: 10_000,
            expansion: 8 << 20,
        }
    }
}

/// Bytes that a canonical form may always have.
pub(crate) const CANONICAL_ALLOWANCE: usize = 64 << 10;

/// Largest number of bytes that one document may span, grafts included: offsets are `u32`.
pub(crate) const OFFSET_SPACE: usize = u32::MAX as usize - 64;
