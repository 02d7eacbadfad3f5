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

mod algorithms;
mod answer;
mod answers;
mod covered;
mod description;
mod draft;
mod engine;
mod error;
mod form;
mod inner;
mod order;
mod outline;
mod quoted;
mod tables;
mod trial;
mod user;
mod written;

use jiff::Timestamp;

pub use description::Described;
pub use error::{LearnError, MOST_SAMPLES};
pub use form::{difference, unsecured};
pub use tables::KeyTables;

use draft::Draft;
use outline::{Call, Outline};

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
        Some(keys) => trial::tried(&mut draft, samples, &outlines, keys)?,
        None => None,
    };
    if refused.is_none() {
        trial::try_inner(&mut draft, samples, &outlines, keys)?;
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
