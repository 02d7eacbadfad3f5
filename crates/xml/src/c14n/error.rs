//! Why there is no canonical form.

use std::fmt;

/// Why there is no canonical form.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum C14nError {
    /// The apex is not an element of the document.
    UnknownNode {
        /// Elements that the document has.
        elements: usize,
    },
    /// It is larger than the limit `canonical` of the document allows. Part of it was written.
    TooLarge {
        /// Bytes allowed.
        allowed: usize,
    },
}

impl fmt::Display for C14nError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            C14nError::UnknownNode { elements } => write!(
                f,
                "expected an element of the document, which has {elements}, found another node"
            ),
            C14nError::TooLarge { allowed } => {
                write!(
                    f,
                    "the canonical form is larger than {allowed} bytes (limit `canonical`)"
                )
            }
        }
    }
}

impl std::error::Error for C14nError {}
