//! Why nothing is learned.
//!
//! The rule kept here: a message is named by its number, and what was expected stands before what
//! was found.

use std::fmt;

use soapstone::config::Problems;
use soapstone::wss::EnvelopeError;

/// Most messages that one file is learned from.
pub const MOST_SAMPLES: usize = 64;

/// Why nothing was learned.
#[derive(Debug)]
pub enum LearnError {
    /// A message is no SOAP envelope. The number counts from 0.
    Envelope(usize, EnvelopeError),
    /// A message has no `wsse:Security` header.
    NoSecurity(usize),
    /// Messages do not have the same security.
    Different {
        /// The message that differs from the first.
        sample: usize,
        /// What differs.
        what: &'static str,
        /// In the first message.
        first: String,
        /// In this one.
        found: String,
    },
    /// There are more messages than [`MOST_SAMPLES`], or none.
    Samples(usize),
    /// The tables of keys cannot be read.
    Keys(Problems),
    /// An answer, and why nothing was learned from it.
    Answer(Box<LearnError>),
}

impl fmt::Display for LearnError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Envelope(sample, error) => write!(out, "message {}: {error}", sample + 1),
            Self::NoSecurity(sample) => write!(
                out,
                "message {}: expected a `wsse:Security` header, found none",
                sample + 1
            ),
            Self::Different {
                sample,
                what,
                first,
                found,
            } => write!(
                out,
                "message {}: expected {what} as in the first message, {first}, found {found}: learn from messages of one kind",
                sample + 1
            ),
            Self::Samples(found) => {
                write!(out, "expected 1 to {MOST_SAMPLES} messages, found {found}")
            }
            Self::Keys(problems) => problems.fmt(out),
            Self::Answer(error) => write!(out, "answers: {error}"),
        }
    }
}

impl std::error::Error for LearnError {}
