//! Learn: endpoint files written from good messages.
//!
//! ```text
//! message ─ Outline::of ───────▶ Outline            what stands in the header; no key is needed
//!         ─ Draft::of ─────────▶ Draft              what an endpoint file would say of it
//!         ─ Opener::explain ───▶ Draft              with keys: what signatures and ciphers cover
//! answer  ─ Answer ────────────▶ Draft              the same of what is answered: `[answers]`
//! WSDL    ─ Described ─────────▶ words              what agrees with the messages, what differs
//!         ─ Learned ───────────▶ two endpoint files receiver and sender, guesses, what is unknown
//! ```
//!
//! A file that was learned demands what the messages have, and no less: a part that is signed in
//! all of them must be signed. What no message shows is a [note](Learned::notes), never a silent
//! choice. The [difference] in form between a sample and a message of one's own is told
//! in words.
//!
//! The rule of this crate: a message vouches for nothing. Whom to trust stands in the reader's own
//! key tables, and is never learned.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::too_many_lines))]

mod answer;
mod description;
mod draft;
mod engine;
mod form;
mod inner;
mod order;
mod outline;
mod tables;
mod user;
mod written;

use std::fmt;

use jiff::Timestamp;
use soapstone::config::Problems;
use soapstone::wss::EnvelopeError;

pub use description::Described;
pub use form::{difference, unsecured};
pub use tables::KeyTables;

use draft::Draft;
use outline::{Call, Outline};

/// Most messages that one file is learned from.
pub const MOST_SAMPLES: usize = 64;

/// How often what the keys show is followed: a signature behind cipher text, and what it covers.
const ROUNDS: usize = 4;

/// What was learned.
#[derive(Debug)]
pub struct Learned {
    draft: Draft,
    /// What was guessed, and what no message shows: each a sentence.
    pub notes: Vec<String>,
    /// Why the receiver's file does not open the first message; `None` where it does, or where
    /// there are no keys to try it with.
    pub refused: Option<String>,
    /// Whether the receiver's file was tried on the messages.
    pub is_tried: bool,
    /// The moment at which the first message is tried: that of the tables, or when the message
    /// says that it was made.
    pub at: Option<Timestamp>,
    /// What each message says of its addresses and its operation.
    calls: Vec<Call>,
}

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

/// Learns from messages of one kind: the same sender, operation and direction.
///
/// `keys` are those of the receiver. With them, what is enciphered is learned as well, and the file
/// is tried on every message.
///
/// # Errors
///
/// [`LearnError`].
pub fn learn(samples: &[Vec<u8>], keys: Option<&KeyTables>) -> Result<Learned, LearnError> {
    if samples.is_empty() || samples.len() > MOST_SAMPLES {
        return Err(LearnError::Samples(samples.len()));
    }
    let mut outlines = Vec::new();
    for (number, sample) in samples.iter().enumerate() {
        outlines.push(Outline::of(sample).map_err(|fault| match fault {
            outline::Fault::Envelope(error) => LearnError::Envelope(number, error),
            outline::Fault::NoSecurity => LearnError::NoSecurity(number),
        })?);
    }
    let mut draft = Draft::of(&outlines[0]);
    for (number, outline) in outlines.iter().enumerate().skip(1) {
        draft.also(outline, number)?;
    }
    let refused = match keys {
        Some(keys) => tried(&mut draft, samples, &outlines, keys)?,
        None => None,
    };
    if refused.is_none() {
        inner::learn(&mut draft, samples, &outlines, keys)?;
    }
    let moment = keys.and_then(KeyTables::moment);
    let mut notes = draft.notes(keys.is_some());
    notes.extend(draft.left_to_say());
    Ok(Learned {
        notes,
        draft,
        refused,
        is_tried: keys.is_some(),
        at: moment.or(outlines[0].created),
        calls: outlines.into_iter().map(|outline| outline.call).collect(),
    })
}

/// The draft tried on messages until one refuses it. Why it is refused, if it is.
fn tried(
    draft: &mut Draft,
    samples: &[Vec<u8>],
    outlines: &[Outline],
    keys: &KeyTables,
) -> Result<Option<String>, LearnError> {
    for (sample, outline) in samples.iter().zip(outlines) {
        let at = keys.moment().or(outline.created);
        let refused = match engine::refine(draft, sample, keys, at) {
            Ok(refused) => refused,
            // The notes tell which policy it takes.
            Err(problems) if draft.takes_a_policy() => Some(format!(
                "an endpoint file without a policy cannot say what this message does: {problems}"
            )),
            Err(problems) => return Err(LearnError::Keys(problems)),
        };
        if refused.is_some() {
            return Ok(refused);
        }
    }
    Ok(None)
}

impl Learned {
    /// The file of the side that receives such messages. Without `keys` it has places to fill in.
    pub fn receiver(&self, keys: Option<&KeyTables>) -> String {
        self.draft.text(draft::Side::Receiver, keys, None)
    }

    /// The file of the side that sends such messages. Without `keys` it has places to fill in.
    pub fn sender(&self, keys: Option<&KeyTables>) -> String {
        self.draft.text(draft::Side::Sender, keys, None)
    }

    /// The same, with a clock that stands still.
    pub fn receiver_at(&self, keys: Option<&KeyTables>, time: Timestamp) -> String {
        self.draft.text(draft::Side::Receiver, keys, Some(time))
    }
}
