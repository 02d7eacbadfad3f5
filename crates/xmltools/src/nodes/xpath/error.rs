//! Why an expression could not be parsed or evaluated.

use std::fmt;

use soapstone_xml::DuplicateId;

/// Why an expression could not be parsed or evaluated. Offsets are bytes into the expression.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum XPathError {
    /// Something else stands where the grammar wants `expected`.
    Syntax {
        /// Where.
        offset: usize,
        /// What the grammar wants.
        expected: &'static str,
        /// The first characters of what stands there; empty at the end.
        found: String,
    },
    /// A prefix that nobody declares.
    UndeclaredPrefix {
        /// Where.
        offset: usize,
        /// The prefix.
        prefix: String,
    },
    /// A function that is none of XPath 1.0 nor `here`.
    UnknownFunction {
        /// Where.
        offset: usize,
        /// Its name.
        name: String,
    },
    /// Too few or too many arguments.
    Arguments {
        /// Where.
        offset: usize,
        /// The function.
        function: String,
        /// The number of arguments found.
        found: usize,
    },
    /// A variable; none is ever bound.
    Variable {
        /// Where.
        offset: usize,
        /// Its name.
        name: String,
    },
    /// A value of another type where a node-set is needed: nothing else can be turned into one.
    NotANodeSet,
    /// `here()` where the expression does not stand in the document that it is evaluated over.
    NoHere,
    /// `id()` of an id that several elements have.
    Duplicate(DuplicateId),
    /// A bound was passed.
    Limit {
        /// `length` or `depth` of an expression, or `operations` of an evaluation.
        limit: &'static str,
        /// Its value.
        maximum: u64,
    },
}

impl From<DuplicateId> for XPathError {
    fn from(duplicate: DuplicateId) -> Self {
        XPathError::Duplicate(duplicate)
    }
}

impl fmt::Display for XPathError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            XPathError::Syntax {
                offset,
                expected,
                found,
            } if found.is_empty() => {
                write!(
                    formatter,
                    "XPath: expected {expected} at offset {offset}, found the end"
                )
            }
            XPathError::Syntax {
                offset,
                expected,
                found,
            } => {
                write!(
                    formatter,
                    "XPath: expected {expected} at offset {offset}, found `{found}`"
                )
            }
            XPathError::UndeclaredPrefix { offset, prefix } => {
                write!(
                    formatter,
                    "XPath: prefix `{prefix}` at offset {offset} is not declared"
                )
            }
            XPathError::UnknownFunction { offset, name } => {
                write!(
                    formatter,
                    "XPath: there is no function `{name}` (offset {offset})"
                )
            }
            XPathError::Arguments {
                offset,
                function,
                found,
            } => {
                write!(
                    formatter,
                    "XPath: `{function}` at offset {offset} does not take {found} arguments"
                )
            }
            XPathError::Variable { offset, name } => {
                write!(
                    formatter,
                    "XPath: variable `${name}` at offset {offset} is not bound"
                )
            }
            XPathError::NotANodeSet => write!(
                formatter,
                "XPath: a node-set is needed and the value is none"
            ),
            XPathError::NoHere => {
                write!(
                    formatter,
                    "XPath: here() needs an expression inside the document that it is evaluated over"
                )
            }
            XPathError::Duplicate(duplicate) => write!(formatter, "XPath: {duplicate}"),
            XPathError::Limit { limit, maximum } => write!(
                formatter,
                "XPath: the limit `{limit}` of {maximum} is passed"
            ),
        }
    }
}

impl std::error::Error for XPathError {}
