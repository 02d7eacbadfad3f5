//! Why a document could not be flattened, and where.
//!
//! The one rule: a place is one of the entity that the author wrote, not of the text it expands to.

use std::fmt;

use soapstone_xml::Problem;

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
    /// Bytes that are no text in the encoding of their entity, or an encoding that is not read
    /// here.
    Encoding {
        /// The entity: empty for the document.
        entity: String,
        /// Offset in bytes.
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
        /// The field of [`Limits`](soapstone_xml::Limits), or `entity depth` or `declarations`,
        /// which are fixed.
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
                write!(formatter, "{problem}, at byte {offset} of {entity}")
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
