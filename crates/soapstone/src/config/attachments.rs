//! `attachments`: what is done to the parts of a package beside its message.
//!
//! The rule kept here: what weakens the protection of attachments is said in so many words.

use soapstone_wss::{AttachmentProtection, Coverage};

use super::problem::{Located, Place};
use super::table::Table;

/// `attachments = { … }`.
#[derive(Clone, Debug)]
pub struct AttachmentsConfig {
    /// Where the table begins.
    pub place: Place,
    /// Whether the message's signature covers them.
    pub signed: Option<Located<AttachmentProtection>>,
    /// Whether they are encrypted.
    pub encrypted: Option<Located<AttachmentProtection>>,
    /// Whether a gateway passes on those that nothing covers.
    pub uncovered: Option<Located<bool>>,
}

/// How attachments are protected, by name.
const CHOICES: [(&str, AttachmentProtection); 3] = [
    ("content", AttachmentProtection::Of(Coverage::Content)),
    ("complete", AttachmentProtection::Of(Coverage::Complete)),
    ("none", AttachmentProtection::Absent),
];

pub(super) fn read_attachments(mut table: Table<'_>) -> AttachmentsConfig {
    let place = table.place();
    let signed = table.choice("signed", &CHOICES);
    let encrypted = table.choice("encrypted", &CHOICES);
    let uncovered = table.boolean("uncovered");
    table.finish();
    AttachmentsConfig {
        place,
        signed,
        encrypted,
        uncovered,
    }
}
