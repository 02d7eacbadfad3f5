//! The content of an attachment in the canonical form that signatures are over (SwA Profile 1.1.1,
//! 5.4.2).
//!
//! The one rule: it is its own canonical form, so that what was digested can be handed out.

use std::borrow::Cow;

use soapstone_mime::{Attachment, Form, text_lines};
use soapstone_xml::{
    Apex, Buffers, C14nOptions, C14nScratch, Canonicalization, Document, ParseOptions, canonicalize,
};

/// The canonical content, or why there is none. XML is read within the limits of messages, and
/// without a DTD.
pub(crate) fn canonical_content<'a>(
    attachment: &'a Attachment,
    options: &ParseOptions,
) -> Result<Cow<'a, [u8]>, String> {
    let content = attachment.content();
    match attachment.form().map_err(|error| error.to_string())? {
        Form::Bytes => Ok(Cow::Borrowed(content)),
        Form::Text => Ok(text_lines(content)),
        Form::Xml => {
            let document = Document::parse(content.to_vec(), options, &mut Buffers::default());
            let document = document.map_err(|error| {
                format!("expected XML without a DTD, as its media type says: {error}")
            })?;
            let mut canonical = Vec::with_capacity(content.len());
            canonicalize(
                &document,
                Apex::Document,
                &C14nOptions::new(Canonicalization::Exclusive),
                &mut C14nScratch::default(),
                &mut canonical,
            )
            .map_err(|error| error.to_string())?;
            Ok(Cow::Owned(canonical))
        }
    }
}
