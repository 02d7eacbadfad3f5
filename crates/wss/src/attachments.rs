//! What a policy says of the attachments of messages (WS-Security SOAP Messages with Attachments
//! Profile 1.1.1).
//!
//! The rule kept here: where messages are signed, so is each of their attachments, unless the
//! policy says in so many words that it is not.

/// How much of an attachment is protected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Coverage {
    /// Its content. The fields of its header are nobody's word, its media type among them.
    Content,
    /// Its content, and the fields that are about it.
    Complete,
}

impl Coverage {
    /// Its name in configurations.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Content => "content",
            Self::Complete => "complete",
        }
    }
}

/// Whether every attachment is protected, in one of the ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AttachmentProtection {
    /// As the message is: by its content, where the message is signed, and where its Body is
    /// encrypted, or some of it may be
    /// ([`Policy::encrypts_of_body`](crate::Policy::encrypts_of_body)).
    #[default]
    AsMessage,
    /// Not demanded, and not done. A weak choice where messages are signed.
    Absent,
    /// At least so much of it.
    Of(Coverage),
}

/// What a policy says of attachments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct AttachmentPolicy {
    /// Whether the message's signature covers them.
    pub signed: AttachmentProtection,
    /// Whether they are encrypted.
    pub encrypted: AttachmentProtection,
}

/// What a plan does to attachments, or demands of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct AttachmentDemands {
    pub(crate) signed: Option<Coverage>,
    pub(crate) encrypted: Option<Coverage>,
    /// Why messages have none at all.
    pub(crate) refused: Option<&'static str>,
}
