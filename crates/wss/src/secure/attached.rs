//! Attachments of a message that is secured: digested for its signature, and enciphered (SwA
//! Profile 1.1.1, 5.4 and 5.5).
//!
//! The one rule: all of them are treated alike, and signed before they are encrypted (ebMS 3.0
//! Core, 7.6).

use soapstone_crypto::{Digest, DigestAlgorithm, Hasher};
use soapstone_mime::{Attachment, uri_of};
use soapstone_xml::{Buffers, ParseOptions};
use soapstone_xmlsec::enc::ContentType;
use soapstone_xmlsec::write::{self, EncryptedDataStart};

use super::securing::Securing;
use super::shown::Shown;
use crate::attachments::Coverage;
use crate::canonical_attachment::{Room, canonical_content};
use crate::names::{ATTACHMENT_CIPHERTEXT, ATTACHMENT_COMPLETE, ATTACHMENT_CONTENT_ONLY};
use crate::secure_error::SecureError;
use crate::securing_event::CipherExtent;

/// The media type of an attachment that names none (RFC 2045, 5.2).
const DEFAULT_TYPE: &str = "text/plain; charset=us-ascii";

/// What a signature covers of an attachment.
pub(super) struct Attached {
    /// Its `cid:` URI.
    pub(super) uri: String,
    pub(super) digest: Digest,
    pub(super) coverage: Coverage,
    /// For a listener.
    pub(super) shown: Option<Box<Shown>>,
}

impl Securing<'_> {
    /// Digests the attachments that the message's signature covers. Their canonical forms are
    /// counted as the receiver counts them, who keeps each.
    pub(super) fn digest_attachments(
        &self,
        algorithm: DigestAlgorithm,
        options: &ParseOptions,
    ) -> Result<Vec<Attached>, SecureError> {
        let Some(coverage) = self.message.protection().attachments.signed else {
            return Ok(Vec::new());
        };
        let mut bytes: usize = self.attachments.iter().map(|one| one.content().len()).sum();
        let of_each = self.attachments.iter().map(|one| {
            let unfit = |problem| SecureError::AttachmentUnfit {
                id: one.id().to_owned(),
                problem,
            };
            let mut hasher = Hasher::new(algorithm)?;
            let header = match coverage {
                Coverage::Content => Default::default(),
                Coverage::Complete => {
                    let header = one.canonical_header();
                    header.map_err(|error| unfit(error.to_string()))?
                }
            };
            hasher.update(&header);
            let room = Room {
                limit: self.attachment_bytes,
                others: bytes - one.content().len(),
            };
            let canonical = canonical_content(one, options, room).map_err(unfit)?;
            bytes = room.others + canonical.len();
            hasher.update(&canonical);
            let shown = self.observer.listens.then(|| {
                Box::new(Shown {
                    element: one.field("Content-Type").unwrap_or(DEFAULT_TYPE).to_owned(),
                    octets: [&header[..], &canonical].concat(),
                    is_secret: self.message.protection().attachments.encrypted.is_some(),
                })
            });
            Ok(Attached {
                uri: uri_of(one.id()),
                digest: hasher.finish(),
                coverage,
                shown,
            })
        });
        of_each.collect()
    }

    /// Enciphers the attachments, and writes the `EncryptedData` of each.
    pub(super) fn encrypt_attachments(&mut self, buffers: &mut Buffers) -> Result<(), SecureError> {
        let Some(coverage) = self.message.protection().attachments.encrypted else {
            return Ok(());
        };
        let mut attachments = std::mem::take(&mut self.attachments);
        for (at, one) in attachments.iter_mut().enumerate() {
            self.encrypt_attachment(at, one, coverage, buffers)?;
        }
        self.attachments = attachments;
        Ok(())
    }

    fn encrypt_attachment(
        &mut self,
        at: usize,
        one: &mut Attachment,
        coverage: Coverage,
        buffers: &mut Buffers,
    ) -> Result<(), SecureError> {
        let (kind, plain) = match coverage {
            Coverage::Content => (ATTACHMENT_CONTENT_ONLY, one.take_content()),
            Coverage::Complete => (ATTACHMENT_COMPLETE, one.complete()),
        };
        // Without the field it is text (RFC 2045, 5.2), and is digested as such.
        let mime_type = one.field("Content-Type").unwrap_or(DEFAULT_TYPE);
        let mime_type = match coverage {
            Coverage::Content => mime_type,
            // WSS4J wants the type to be told. Its parameters may be as secret as the content.
            Coverage::Complete => mime_type.split(';').next().unwrap_or_default().trim(),
        };
        let session = self.keys.session()?;
        let cipher = session.seal(plain.len(), buffers, &mut self.supply, |out| {
            out.extend_from_slice(&plain)
        })?;
        buffers.give(plain);
        let id = self.message.named(&format!("attachment-{at}"));
        write::encrypted_data_elsewhere(
            &EncryptedDataStart {
                id: Some(&id),
                mime_type: Some(mime_type),
                content_type: &ContentType::Other(kind.to_owned()),
                method: session.algorithm,
                raw_key_info: Some(&session.key_info),
            },
            &uri_of(one.id()),
            ATTACHMENT_CIPHERTEXT,
            &mut self.pieces.attachments,
        );
        self.tell_of_encryption(&id, &uri_of(one.id()), CipherExtent::Attachment);
        self.changes.data_ids.push(id);
        self.mark_cipher_text(&[&cipher]);
        one.set_content(cipher);
        if coverage == Coverage::Complete {
            one.drop_other_fields();
        }
        one.set_content_type("application/octet-stream")
            .map_err(|error| SecureError::AttachmentUnfit {
                id: one.id().to_owned(),
                problem: error.to_string(),
            })
    }
}
