//! What an operator must know of a policy that is obeyed: choices that were made for it, and
//! demands that were left out by permission.
//!
//! The one rule: a notice stands for one assertion and its place, like a problem; no demand on the
//! security of messages ends as a notice without a word of the operator.

use std::fmt;

use crate::names::Name;
use crate::node::Place;

/// A remark on one assertion of a policy that is obeyed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The assertion.
    pub assertion: Name,
    /// Where it is written.
    pub place: Place,
    /// What is to be known of it.
    pub kind: NoticeKind,
}

/// Kinds of notices.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoticeKind {
    /// The operator had it ignored, by
    /// [`CompileOptions::ignored`](crate::CompileOptions::ignored).
    Ignored,
    /// An `sp:AlgorithmSuite` lists several suites, of which messages can have one.
    SuiteChosen {
        /// The first suite that is known.
        chosen: String,
        /// The other ones.
        others: Vec<String>,
    },
    /// It is obeyed as if it were in the place where it belongs.
    Misplaced {
        /// That place.
        belongs: &'static str,
    },
    /// MTOM is demanded, and messages are sent and read without it.
    WithoutMtom,
    /// Requests carry a user and a password of HTTP (RFC 7617).
    HttpBasic,
    /// A token is asked for with claims, which no receiver looks for in it.
    Claims,
}

impl Notice {
    pub(crate) fn new(name: &Name, place: &Place, kind: NoticeKind) -> Self {
        Self {
            assertion: name.clone(),
            place: place.clone(),
            kind,
        }
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.assertion;
        match &self.kind {
            NoticeKind::Ignored => write!(out, "`{name}` is ignored, as the configuration says")?,
            NoticeKind::SuiteChosen { chosen, others } => write!(
                out,
                "`{name}` lists several suites, of which messages have one: `{chosen}` is used, not `{}`",
                others.join("`, `")
            )?,
            NoticeKind::Misplaced { belongs } => {
                write!(out, "`{name}` is obeyed as if it were {belongs}")?;
            }
            NoticeKind::WithoutMtom => write!(
                out,
                "`{name}` asks for MTOM: messages are sent and read as XML alone, which peers that insist on it refuse"
            )?,
            NoticeKind::HttpBasic => {
                write!(
                    out,
                    "`{name}` demands a user and a password of HTTP of requests"
                )?;
            }
            NoticeKind::Claims => write!(
                out,
                "`{name}` names claims: clients ask for them, and services do not look for them"
            )?,
        }
        write!(out, " (at {})", self.place)
    }
}
