//! What in a policy cannot be done, one assertion at a time.
//!
//! The one rule: every problem names its assertion and the place where it stands.

use std::fmt;

use soapstone_wss::PathError;

use crate::alternative::Assertion;
use crate::names::Name;
use crate::node::Place;

/// An assertion that is not understood, not supported, or in conflict with others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyProblem {
    /// The assertion.
    pub assertion: Name,
    /// Where it stands.
    pub place: Place,
    /// What it was demanded of, such as `port BooksPort, operation addBook`; empty where a policy
    /// stands alone.
    pub subject: String,
    /// What is the matter.
    pub kind: ProblemKind,
}

/// What is the matter with an assertion.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProblemKind {
    /// Nothing of this name is known here.
    Unknown,
    /// It is understood and cannot be done.
    NotSupported {
        /// Why not, or what of it.
        reason: &'static str,
    },
    /// It needs another assertion that is not there.
    Missing {
        /// The other assertion.
        what: &'static str,
    },
    /// It is there twice where it may be once, and says different things.
    Repeated,
    /// It does not go together with another one.
    Conflict {
        /// The other one.
        with: &'static str,
    },
    /// An attribute has a value that it cannot have.
    Value {
        /// The attribute.
        attribute: &'static str,
        /// What is expected.
        expected: &'static str,
        /// What was found.
        found: String,
    },
    /// An XPath expression that selects elements in a way that is not supported.
    Path {
        /// The expression.
        expression: String,
        /// What is wrong with it.
        error: PathError,
    },
}

impl PolicyProblem {
    pub(crate) fn new(assertion: &Assertion, kind: ProblemKind) -> Self {
        Self::at(assertion.name(), assertion.place(), kind)
    }

    pub(crate) fn at(name: &Name, place: &Place, kind: ProblemKind) -> Self {
        Self {
            assertion: name.clone(),
            place: place.clone(),
            subject: String::new(),
            kind,
        }
    }
}

impl fmt::Display for PolicyProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.assertion;
        match &self.kind {
            ProblemKind::Unknown => write!(out, "no assertion `{name}` is known here")?,
            ProblemKind::NotSupported { reason } => {
                write!(out, "`{name}` is not supported: {reason}")?;
            }
            ProblemKind::Missing { what } => write!(out, "`{name}` needs `{what}`, found none")?,
            ProblemKind::Repeated => write!(
                out,
                "expected `{name}` once, found a second one that says something else"
            )?,
            ProblemKind::Conflict { with } => {
                write!(out, "`{name}` does not go together with `{with}`")?;
            }
            ProblemKind::Value {
                attribute,
                expected,
                found,
            } => write!(
                out,
                "expected {expected} as `{attribute}` of `{name}`, found `{found}`"
            )?,
            ProblemKind::Path { expression, error } => {
                write!(out, "`{name}` with the path `{expression}`: {error}")?;
            }
        }
        write!(out, " (at {}", self.place)?;
        if !self.subject.is_empty() {
            write!(out, ", {}", self.subject)?;
        }
        out.write_str(")")
    }
}

impl std::error::Error for PolicyProblem {}
