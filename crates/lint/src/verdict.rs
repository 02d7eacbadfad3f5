//! A document of the traffic, and what the traffic says of a rule.
//!
//! The rule kept here: what was not looked at is not called kept.

use crate::found::Report;
use crate::rule::{Level, Rule};

/// A document of the traffic, and what was found in it.
#[derive(Clone, Debug)]
pub struct Evidence {
    /// Its name.
    pub name: String,
    /// The SHA-256 of its bytes, in hexadecimal digits.
    pub digest: String,
    /// How many bytes it has.
    pub bytes: usize,
    /// What was found.
    pub report: Report,
}

/// What the traffic says of one rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// No document breaks it, and at least one has what it is about.
    Kept,
    /// A document breaks it.
    Broken,
    /// A document does otherwise, and no clause says that it may not.
    Remarked,
    /// No document has what it is about.
    NotApplicable,
    /// A document has more of what it is about than is looked at, and what was looked at keeps it.
    NotLookedAt,
}

impl Verdict {
    /// The verdict on a rule that is not kept.
    pub(crate) fn of_breach(rule: &Rule) -> Self {
        match rule.level {
            Level::Remark => Self::Remarked,
            Level::Must | Level::Should => Self::Broken,
        }
    }

    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kept => "pass",
            Self::Broken => "FAIL",
            Self::Remarked => "remark",
            Self::NotApplicable => "not applicable",
            Self::NotLookedAt => "not looked at",
        }
    }
}
