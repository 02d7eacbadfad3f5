//! What is to be changed in the source of the message, and which parts are in cipher text then.

use std::collections::HashMap;
use std::ops::Range;

use foldhash::fast::RandomState;

use super::edits::{Edits, Replacement};
use crate::part::Part;

/// An `EncryptedData` whose cipher text is still to be made, of a plaintext in the source.
pub(super) struct Postponed {
    /// What it takes the place of.
    pub(super) place: Range<usize>,
    pub(super) plain: Range<usize>,
    pub(super) data: Replacement,
}

/// The changes of one message.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) edits: Edits,
    pub(super) postponed: Vec<Postponed>,
    /// The ids of `EncryptedData`, in the order in which they were made.
    pub(super) data_ids: Vec<String>,
    /// The ids of `EncryptedData` whose cipher text is short.
    pub(super) short: Vec<String>,
    /// What of the source is enciphered, each with the id of its `EncryptedData`.
    pub(super) enciphered: Vec<(Range<usize>, String)>,
    /// Parts of which something can no more be seen, with the ids of the `EncryptedData` that it
    /// is in.
    pub(super) hidden: HashMap<Part, Vec<String>, RandomState>,
}
