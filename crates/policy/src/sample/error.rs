//! Why no request can be made, and how much of one is made.

use std::fmt;

/// The deepest element: types of other types end before that, recursive ones do not.
pub(super) const DEEPEST: usize = 64;
/// The most elements of a message.
pub(super) const MOST_ELEMENTS: usize = 10_000;
/// The deepest nesting of types and particles in one element and all elements around it: groups
/// nest without elements.
pub(super) const MOST_NESTED: usize = 512;
/// The most particles of a message: groups that refer to groups multiply without elements.
pub(super) const MOST_PARTICLES: usize = 100_000;
/// The most steps of making the messages of all operations: particles, values and bytes of text.
pub(super) const MOST_STEPS: usize = 16_000_000;
/// The most documents that a description refers to.
pub(super) const MOST_DOCUMENTS: usize = 100;

/// Why no request can be made.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SampleError {
    /// It is no WSDL, or its policies cannot be read.
    Description {
        /// Why.
        problem: String,
    },
    /// No operation is over SOAP.
    NoOperation,
    /// The description does not say which element a Body has.
    NoElement {
        /// Why not.
        problem: &'static str,
    },
    /// A document is not well-formed.
    Xml {
        /// Which; empty for the first.
        document: String,
        /// Why.
        problem: String,
    },
    /// The description refers to more documents than are read.
    TooManyDocuments,
    /// Nothing has this name.
    Missing {
        /// `element`, `type`, `group` or `attributeGroup`.
        kind: &'static str,
        /// Its namespace and local name.
        name: String,
        /// Locations of documents that are not there, one of which may have it.
        absent: Vec<String>,
    },
    /// A value that only its author knows.
    Unmakeable {
        /// What.
        what: String,
        /// Where it stands in its document: line and column.
        place: (u32, u32),
    },
    /// The element is in itself, or has too many.
    TooLarge,
}

impl fmt::Display for SampleError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Description { problem } => out.write_str(problem),
            Self::NoOperation => out.write_str("it has no operation over SOAP"),
            Self::NoElement { problem } => out.write_str(problem),
            Self::Xml { document, problem } if document.is_empty() => out.write_str(problem),
            Self::Xml { document, problem } => write!(out, "{document}: {problem}"),
            Self::TooManyDocuments => {
                write!(out, "it refers to more than {MOST_DOCUMENTS} documents")
            }
            Self::Missing { kind, name, absent } => {
                write!(out, "no schema has the {kind} {name}")?;
                if !absent.is_empty() {
                    let absent = absent.join(", ");
                    write!(
                        out,
                        "; these are not files beside the description: {absent}"
                    )?;
                }
                Ok(())
            }
            Self::Unmakeable {
                what,
                place: (line, column),
            } => write!(
                out,
                "no value can be made for {what} (line {line}, column {column})"
            ),
            Self::TooLarge => write!(
                out,
                "its element has more than {MOST_ELEMENTS} elements, is deeper than {DEEPEST}, or takes too long to make"
            ),
        }
    }
}

impl std::error::Error for SampleError {}
