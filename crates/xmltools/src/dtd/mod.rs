//! Document type definitions, read once and then gone.
//!
//! The scanner refuses a DTD at its first byte, and so does everything that meets a message.
//! XML-Signature and Canonical XML however are defined on what a DTD *does* to a document: entities
//! expand, attributes appear by default, attribute values are normalized by their type, some
//! attributes become ids. [`flatten`] applies all of that and returns the same document without its
//! DTD, in UTF-8, ready for the scanner, plus the attributes that were declared `ID`. Only the
//! `soapstone xml …` commands call it.
//!
//! The work is divided as XML 1.0 divides it: `source` turns the bytes of one entity into text,
//! `reader` reads texts that reference each other, `grammar` the declarations of the internal and
//! external subset, `entities` keeps what they declare, `expand` rewrites the document.
//!
//! The one rule kept here: nothing is fetched and nothing is unbounded. Whatever lies outside the
//! document is asked for through the `resolve` function that the caller hands in, and every
//! replacement is charged to [`Limits`] before it is made.

mod entities;
mod error;
mod expand;
mod grammar;
mod reader;
mod source;

use soapstone_xml::Limits;

pub use entities::DeclaredId;
pub use error::{DtdError, Place};
pub use expand::Flattened;

/// Applies the document type definition of `source` and returns the document without it.
///
/// `source` is UTF-8, UTF-16, US-ASCII or ISO-8859-1, told by its byte order mark or its
/// declaration. `resolve` is asked for the external subset and for each external parsed entity that
/// is referenced, once each, with the system identifier resolved against that of the entity which
/// declares it (relative to the document where the document declares it); `None` ends the expansion
/// with [`DtdError::Unresolved`]. With `standalone="yes"` external markup declarations are
/// not asked for (XML 1.0 section 2.9 promises that they do not matter).
///
/// Of the `limits`, `entities` bounds the references replaced, `expansion` the bytes that
/// replacement texts, attribute defaults and external entities contribute in all (the output
/// exceeds the input by no more), and `attributes` the attributes of one tag and those declared for
/// one element.
///
/// # Errors
///
/// A [`DtdError`] that says where the DTD or an entity is not well-formed, what could not be
/// resolved, or which of the `limits` was passed.
///
/// ```
/// use soapstone_xml::Limits;
/// use soapstone_xmltools::dtd::flatten;
///
/// let source = br#"<!DOCTYPE note [<!ENTITY who "you">
///     <!ATTLIST note lang NMTOKEN "en">]><note>&who;</note>"#;
/// let flat = flatten(source, &Limits::default(), &mut |_| None).unwrap();
/// assert_eq!(flat.document, br#"<note lang="en">you</note>"#);
/// ```
pub fn flatten(
    source: &[u8],
    limits: &Limits,
    resolve: &mut dyn FnMut(&str) -> Option<Vec<u8>>,
) -> Result<Flattened, DtdError> {
    expand::document(source, limits, resolve)
}
