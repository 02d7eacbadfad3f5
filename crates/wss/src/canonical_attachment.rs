//! The content of an attachment in the canonical form that signatures are over (SwA Profile 1.1.1,
//! 5.4.2).
//!
//! The one rule: it is its own canonical form, so that what was digested can be handed out. It
//! counts as what came does: XML can grow 16 times, and lines of text twice.

use std::borrow::Cow;

use soapstone_mime::{Attachment, Form, text_lines, text_lines_size};
use soapstone_xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, ParseOptions, Sink,
    canonicalize,
};

/// What attachments may have together: as they came, and in canonical form.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Room {
    /// Most bytes of all of them.
    pub(crate) limit: usize,
    /// Bytes of the others, in the form in which each is kept.
    pub(crate) others: usize,
}

impl Room {
    /// Most bytes of one that stands beside the others.
    fn left(self) -> usize {
        self.limit.saturating_sub(self.others)
    }

    fn exceeded(self) -> String {
        format!(
            "expected attachments of {} bytes at most together, {} in canonical form, found more",
            self.limit,
            self.left()
        )
    }
}

/// Keeps what fits, and forgets the rest.
struct Bounded {
    bytes: Vec<u8>,
    most: usize,
    is_exceeded: bool,
}

impl Sink for Bounded {
    fn write(&mut self, bytes: &[u8]) {
        self.is_exceeded |= bytes.len() > self.most - self.bytes.len();
        if !self.is_exceeded {
            self.bytes.extend_from_slice(bytes);
        }
    }
}

/// The content of an attachment in the form that signatures are over (SwA Profile 1.1.1, 5.4.2), of
/// `most` bytes at most. XML is read within the limits of `options`, and without a DTD.
///
/// # Errors
/// Why there is no such form: a media type that is none, content that is no XML as its type says,
/// or more bytes than `most`.
pub fn canonical_attachment<'a>(
    attachment: &'a Attachment,
    options: &ParseOptions,
    most: usize,
) -> Result<Cow<'a, [u8]>, String> {
    let room = Room {
        limit: most,
        others: 0,
    };
    canonical_content(attachment, options, room)
}

/// The canonical content, or why there is none. XML is read within the limits of messages, and
/// without a DTD. What grows beyond the room is refused before it is kept.
pub(crate) fn canonical_content<'a>(
    attachment: &'a Attachment,
    options: &ParseOptions,
    room: Room,
) -> Result<Cow<'a, [u8]>, String> {
    let content = attachment.content();
    match attachment.form().map_err(|error| error.to_string())? {
        Form::Bytes => Ok(Cow::Borrowed(content)),
        Form::Text if text_lines_size(content) > room.left() => Err(room.exceeded()),
        Form::Text => Ok(text_lines(content)),
        Form::Xml => {
            let document = Document::parse(content.to_vec(), options, &mut Buffers::default());
            let document = document.map_err(|error| {
                format!("expected XML without a DTD, as its media type says: {error}")
            })?;
            let mut canonical = Bounded {
                bytes: Vec::with_capacity(content.len().min(room.left())),
                most: room.left(),
                is_exceeded: false,
            };
            canonicalize(
                &document,
                Apex::Document,
                &C14nOptions::new(Canonicalization::Exclusive),
                &mut C14nScratch::default(),
                &mut canonical,
            )
            .map_err(|error| error.to_string())?;
            match canonical.is_exceeded {
                true => Err(room.exceeded()),
                false => Ok(Cow::Owned(canonical.bytes)),
            }
        }
    }
}
