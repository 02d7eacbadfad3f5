//! Document type definitions, read once and then gone.
//!
//! The scanner refuses a DTD at its first byte, and so does everything that meets a message.
//! XML-Signature and Canonical XML however are defined on what a DTD *does* to a document: entities
//! expand, attributes appear by default, attribute values are normalized by their type, some
//! attributes become ids. [`flatten`] applies all of that and returns the same document without its
//! DTD, in UTF-8, ready for the scanner, plus the attributes that were declared `ID`. Only the
//! `soapstone xml …` commands call it.
//!
//! The work is divided as XML 1.0 divides it: `source` turns the octets of one entity into text,
//! `reader` reads texts that reference each other, `grammar` the declarations of the internal and
//! external subset, `entities` keeps what they declare, `expand` rewrites the document.
//!
//! The one rule kept here: nothing is fetched and nothing is unbounded. Whatever lies outside the
//! document is asked for through the `resolve` function that the caller hands in, and every
//! replacement is charged to [`Limits`] before it is made.

mod entities;
mod expand;
mod grammar;
mod reader;
mod source;

use std::fmt;

use soapstone_xml::{Limits, Problem};

/// Entities open inside each other. Hand-written DTDs nest parameter entities up to some ten levels
/// (DocBook, TEI).
const DEPTH: u16 = 32;

/// Entities and attributes declared in one DTD. The DTDs of DocBook and TEI declare some 7,000.
const DECLARATIONS: u32 = 20_000;

/// A document without DTD that means what the document with it meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flattened {
    /// The document in UTF-8, without XML declaration and DTD. Its well-formedness beyond what
    /// expansion needs (matching tags, unique attributes, namespaces) is for the scanner to
    /// judge.
    pub document: Vec<u8>,
    /// The attributes of type `ID`, in the order of their declarations.
    pub ids: Vec<DeclaredId>,
}

/// An attribute of type `ID`, both names as the DTD writes them (a DTD knows prefixes, not
/// namespaces).
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct DeclaredId {
    /// The qualified name of the element type.
    pub element: String,
    /// The qualified name of the attribute.
    pub attribute: String,
}

/// Applies the document type definition of `source` and returns the document without it.
///
/// `source` is UTF-8, UTF-16, US-ASCII or ISO-8859-1, told by its byte order mark or its
/// declaration. `resolve` is asked for the external subset and for each external parsed entity that
/// is referenced, once each, with the system identifier resolved against that of the entity which
/// declares it (relative to the document where the document declares it); `None` ends the expansion
/// with [`DtdError::Unresolved`]. With `standalone="yes"` external markup declarations are
/// not asked for (XML 1.0 section 2.9 promises that they do not matter).
///
/// Of the `limits`, `entities` bounds the references replaced, `expansion` the octets that
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

/// Where in the document, or in which of its entities, something is wrong.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    /// Name of the entity (`%name;` or `&name;`), the system identifier of the external subset, or
    /// empty for the document.
    pub entity: String,
    /// Line, from 1.
    pub line: u32,
    /// Column in characters, from 1.
    pub column: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "line {}, column {}", self.line, self.column)?;
        if !self.entity.is_empty() {
            write!(formatter, " of {}", self.entity)?;
        }
        Ok(())
    }
}

/// Why a document could not be flattened.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum DtdError {
    /// Octets that are no text in the encoding of their entity, or an encoding that is not read
    /// here.
    Encoding {
        /// The entity: empty for the document.
        entity: String,
        /// Offset in octets.
        offset: usize,
        /// What is wrong.
        problem: Problem,
    },
    /// Something else stands where the grammar wants `expected`.
    Syntax {
        /// Where.
        place: Place,
        /// What the grammar wants.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// The caller's `resolve` knows nothing of this system identifier.
    Unresolved {
        /// The system identifier, resolved against its entity's.
        system_id: String,
    },
    /// A reference to an entity that is not declared (before this place).
    Undeclared {
        /// Where it is referenced.
        place: Place,
        /// The reference as written, `&name;` or `%name;`.
        reference: String,
    },
    /// An entity whose replacement text references itself.
    Recursive {
        /// Where it is referenced.
        place: Place,
        /// The reference as written.
        reference: String,
    },
    /// A reference of a kind that must not stand there: an unparsed entity in content, an external
    /// one in an attribute.
    Forbidden {
        /// Where it is referenced.
        place: Place,
        /// The reference as written.
        reference: String,
        /// The well-formedness constraint of XML 1.0 that forbids it.
        constraint: &'static str,
    },
    /// An entity whose replacement text does not nest properly with what surrounds it.
    Unbalanced {
        /// Where it shows.
        place: Place,
    },
    /// A bound was passed.
    Limit {
        /// Where.
        place: Place,
        /// The field of [`Limits`], or `entity depth` or `declarations`, which are fixed.
        limit: &'static str,
        /// Its value.
        maximum: u64,
    },
}

impl fmt::Display for DtdError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DtdError::Encoding {
                entity,
                offset,
                problem,
            } => {
                let entity = if entity.is_empty() {
                    "the document"
                } else {
                    entity
                };
                write!(formatter, "{problem}, at octet {offset} of {entity}")
            }
            DtdError::Syntax {
                place,
                expected,
                found,
            } => write!(formatter, "expected {expected}, found {found} at {place}"),
            DtdError::Unresolved { system_id } => {
                write!(formatter, "external entity `{system_id}` is not available")
            }
            DtdError::Undeclared { place, reference } => write!(
                formatter,
                "entity `{reference}` is not declared, at {place}"
            ),
            DtdError::Recursive { place, reference } => write!(
                formatter,
                "entity `{reference}` references itself, at {place}"
            ),
            DtdError::Forbidden {
                place,
                reference,
                constraint,
            } => {
                write!(
                    formatter,
                    "entity `{reference}` must not be referenced here (XML 1.0: {constraint}), at {place}"
                )
            }
            DtdError::Unbalanced { place } if place.entity.is_empty() => {
                write!(formatter, "start and end tags do not match, at {place}")
            }
            DtdError::Unbalanced { place } => {
                write!(
                    formatter,
                    "an entity must hold whole elements, declarations and sections, at {place}"
                )
            }
            DtdError::Limit {
                place,
                limit,
                maximum,
            } => {
                write!(
                    formatter,
                    "the limit `{limit}` of {maximum} is passed at {place}"
                )
            }
        }
    }
}

impl std::error::Error for DtdError {}
