//! Why bytes are not an acceptable SOAP envelope.

use std::fmt;

use soapstone_xml::{DuplicateId, ParseError, Problem};

use crate::recognize::{LOOKED_AT, recognized};

/// Why bytes are not a SOAP envelope.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EnvelopeError {
    /// Not XML, or outside the limits.
    Xml(ParseError),
    /// Something else than XML, of a kind that is known.
    NotXml {
        /// What it is.
        found: &'static str,
    },
    /// The root element is something else.
    NotAnEnvelope {
        /// Expanded name of the root, `{namespace}local`.
        found: String,
    },
    /// A child of the envelope that does not belong there: after the Body, a second Header or Body,
    /// or of another name.
    UnexpectedChild {
        /// Expanded name.
        found: String,
        /// Line, from 1.
        line: u32,
    },
    /// The envelope has no Body.
    BodyMissing,
    /// An id that occurs twice: a reference to it would be ambiguous.
    DuplicateId(DuplicateId),
    /// Two attachments have one Content-ID: a reference to it would be ambiguous.
    AttachmentRepeated {
        /// The Content-ID.
        id: String,
    },
    /// The attachments have more bytes than are accepted.
    AttachmentsTooLarge {
        /// The limit, bytes.
        limit: usize,
    },
}

impl EnvelopeError {
    /// Why bytes are no envelope that the parser refuses: they are something else that is known, or
    /// no XML within the limits. What they are is told by the first of `bytes`.
    #[must_use]
    pub fn of_unread(bytes: &[u8], error: ParseError) -> Self {
        // A limit is passed whatever the message is.
        if matches!(error.problem, Problem::TooMany { .. }) {
            return Self::Xml(error);
        }
        match recognized(&bytes[..bytes.len().min(LOOKED_AT)]) {
            Some(found) => Self::NotXml { found },
            None => Self::Xml(error),
        }
    }
}

impl fmt::Display for EnvelopeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Xml(error) => error.fmt(out),
            Self::NotXml { found } => write!(out, "expected a SOAP envelope, found {found}"),
            Self::NotAnEnvelope { found } => {
                write!(
                    out,
                    "expected a SOAP 1.1 or 1.2 `Envelope`, found `{found}`"
                )
            }
            Self::UnexpectedChild { found, line } => write!(
                out,
                "expected an optional `Header` and one `Body` in the `Envelope`, found `{found}` in line {line}"
            ),
            Self::BodyMissing => out.write_str("the `Envelope` has no `Body`"),
            Self::DuplicateId(duplicate) => duplicate.fmt(out),
            Self::AttachmentRepeated { id } => write!(
                out,
                "expected one attachment with the Content-ID `{id}`, found several"
            ),
            Self::AttachmentsTooLarge { limit } => {
                write!(
                    out,
                    "expected attachments of {limit} bytes at most, found more"
                )
            }
        }
    }
}

impl std::error::Error for EnvelopeError {}

impl From<ParseError> for EnvelopeError {
    fn from(error: ParseError) -> Self {
        Self::Xml(error)
    }
}
