//! Causes: what a sender, a proxy or a library did that makes a digest or a signature another one.
//!
//! The rule kept here: a cause is certain only where bytes prove it. Everything else is told as
//! likely.

use serde::Serialize;

/// One thing that was done, with the bytes that it leads to not yet looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    /// Stable name of the kind.
    pub(crate) kind: &'static str,
    /// What was done, in words that follow "with" or "and".
    pub(crate) says: String,
}

impl Step {
    pub(crate) fn new(kind: &'static str, says: impl Into<String>) -> Self {
        Self {
            kind,
            says: says.into(),
        }
    }
}

/// A cause of a difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cause {
    /// Stable names of the kinds of what was done: one, or two of a combination.
    pub kinds: Vec<&'static str>,
    /// Whether bytes of the message prove it.
    pub certain: bool,
    /// What was done, and what proves it.
    pub says: String,
}

impl Cause {
    /// Proven steps: `proof` tells what they lead to.
    pub(crate) fn proven(steps: &[Step], proof: &str) -> Self {
        let said: Vec<&str> = steps.iter().map(|step| step.says.as_str()).collect();
        Self {
            kinds: steps.iter().map(|step| step.kind).collect(),
            certain: true,
            says: format!("with {}, {proof}", said.join(", and ")),
        }
    }

    /// A likely cause, in one sentence.
    pub(crate) fn likely(kind: &'static str, says: impl Into<String>) -> Self {
        Self {
            kinds: vec![kind],
            certain: false,
            says: says.into(),
        }
    }
}
