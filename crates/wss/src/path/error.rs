//! Why an expression is no path, and the bounds of paths.

use std::fmt;

/// Longest expression, bytes. The longest one known has 150.
pub(super) const LONGEST: usize = 4096;
/// Most steps: each is a bit of a word.
pub(super) const MOST_STEPS: usize = 60;
/// Deepest nesting of parentheses and `not()` in a predicate.
pub(super) const DEEPEST: usize = 16;

/// An expression that is no [`ElementPath`](super::ElementPath). Places are bytes into the
/// expression, from 0.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PathError {
    /// Longer than anybody needs.
    TooLong {
        /// Bytes of the expression.
        octets: usize,
    },
    /// More steps than are supported.
    TooManySteps,
    /// Parentheses nest too deeply.
    TooDeep,
    /// Not a path from the root of the message.
    NotAbsolute {
        /// The expression.
        expression: String,
    },
    /// A prefix that is not declared where the expression stands.
    UnknownPrefix {
        /// The prefix.
        prefix: String,
    },
    /// Something of XPath that is not supported.
    Unsupported {
        /// What is written there.
        found: String,
        /// Where.
        at: usize,
    },
    /// Something that is no XPath.
    Syntax {
        /// What is wanted there.
        expected: &'static str,
        /// Where.
        at: usize,
    },
}

impl fmt::Display for PathError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { octets } => write!(
                out,
                "expected an expression of at most {LONGEST} bytes, found {octets}"
            ),
            Self::TooManySteps => write!(out, "expected at most {MOST_STEPS} steps"),
            Self::TooDeep => write!(out, "parentheses nest deeper than {DEEPEST} in a predicate"),
            Self::NotAbsolute { expression } => write!(
                out,
                "expected a path from the root (`/…` or `//…`), found `{expression}`"
            ),
            Self::UnknownPrefix { prefix } => write!(
                out,
                "the namespace prefix `{prefix}` is not declared where the expression stands"
            ),
            Self::Unsupported { found, at } => write!(
                out,
                "expected child and descendant steps with simple predicates, found `{found}` at character {}",
                at + 1
            ),
            Self::Syntax { expected, at } => {
                write!(out, "expected {expected} at character {}", at + 1)
            }
        }
    }
}

impl std::error::Error for PathError {}
