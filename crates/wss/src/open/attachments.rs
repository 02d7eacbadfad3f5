//! The attachments of a message that is being opened: found by `cid:` URIs, and in the canonical
//! form that signatures are over (SwA Profile 1.1.1, 5.2 to 5.4).
//!
//! The one rule: an attachment is a part of the package, by its place there. What is handed out of
//! it are the bytes that were digested, and what was not digested is left out.

use std::borrow::Cow;

use soapstone_mime::{Attachment, AttachmentError, attachment_named, is_cid};
use soapstone_xml::{ParseOptions, Sink as _};
use soapstone_xmlsec::dsig::{DigestSink, Reference, Signature, SignatureError, Transform};

use crate::attachments::Coverage;
use crate::canonical_attachment::{Room, canonical_content};
use crate::envelope::Envelope;
use crate::evidence::{AttachmentEvidence, Evidence};
use crate::names::{ATTACHMENT_COMPLETE_SIGNATURE, ATTACHMENT_CONTENT_SIGNATURE};
use crate::rejected::{AttachmentProblem, Rejected};

/// The attachments of a message that is being opened.
#[derive(Default)]
pub(super) struct Attachments {
    parts: Vec<Attachment>,
    /// Most bytes of them together.
    limit: usize,
}

impl Attachments {
    /// Takes those of an envelope. The evidence has a place for each.
    pub(super) fn taken(envelope: &mut Envelope, evidence: &mut Evidence) -> Self {
        let parts = std::mem::take(&mut envelope.attachments).into_vec();
        let of_each = parts.iter().map(|one| AttachmentEvidence {
            id: one.id().to_owned(),
            signed: None,
            encrypted: None,
            data: None,
        });
        evidence.attachments = of_each.collect();
        let limit = envelope.attachment_bytes;
        Self { parts, limit }
    }

    pub(super) fn of(&self, at: usize) -> &Attachment {
        &self.parts[at]
    }

    pub(super) fn of_mut(&mut self, at: usize) -> &mut Attachment {
        &mut self.parts[at]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Bytes of all of them.
    pub(super) fn bytes(&self) -> usize {
        self.parts.iter().map(|one| one.content().len()).sum()
    }

    /// The place of the attachment that a `cid:` URI names.
    pub(super) fn named(&self, uri: &str) -> Option<usize> {
        let id = attachment_named(uri)?;
        let mut parts = self.parts.iter();
        parts.position(|one| one.id().as_bytes() == id)
    }

    /// The place of the attachment that a reference leads to: `None` where the reference is to
    /// something else. A message that is no package has no attachments to refer to.
    pub(super) fn referred(&self, reference: &Reference) -> Option<Result<usize, Rejected>> {
        if self.is_empty() {
            return None;
        }
        let uri = reference.uri.as_deref().filter(|uri| is_cid(uri))?;
        Some(self.named(uri).ok_or_else(|| missing(uri)))
    }

    /// Refuses a signature with two references to one attachment, before a key is touched.
    pub(super) fn check_references(&self, signature: &Signature) -> Result<(), Rejected> {
        let mut led_to = Vec::new();
        for reference in &signature.references {
            let Some(at) = self.referred(reference).transpose()? else {
                continue;
            };
            if led_to.contains(&at) {
                return Err(self.problem(at, AttachmentProblem::Repeated));
            }
            led_to.push(at);
        }
        Ok(())
    }

    pub(super) fn problem(&self, at: usize, problem: AttachmentProblem) -> Rejected {
        Rejected::Attachment {
            id: self.parts[at].id().to_owned(),
            problem,
        }
    }

    fn malformed(&self, at: usize, error: &AttachmentError) -> Rejected {
        let problem = error.to_string();
        self.problem(at, AttachmentProblem::Malformed { problem })
    }

    /// Puts the canonical form of an attachment in its place, and writes it (SwA Profile 1.1.1,
    /// 5.4). It is its own canonical form: another signature may cover it as well. No digest was
    /// compared yet: whoever is on the way chooses what is made here, within the limit.
    pub(super) fn digest(
        &mut self,
        at: usize,
        coverage: Coverage,
        options: &ParseOptions,
        sink: &mut DigestSink,
    ) -> Result<(), Rejected> {
        if coverage == Coverage::Complete {
            let header = self.parts[at].canonical_header();
            sink.write(&header.map_err(|error| self.malformed(at, &error))?);
        }
        let room = Room {
            limit: self.limit,
            others: self.bytes() - self.parts[at].content().len(),
        };
        let canonical = canonical_content(&self.parts[at], options, room);
        let canonical = canonical
            .map_err(|problem| self.problem(at, AttachmentProblem::Malformed { problem }))?;
        sink.write(&canonical);
        if let Cow::Owned(canonical) = canonical {
            self.parts[at].set_content(canonical);
        }
        Ok(())
    }

    /// The attachments as they are handed out: of their headers what is proven, where anything is.
    pub(super) fn handed_out(self, evidence: &Evidence, has_security: bool) -> Vec<Attachment> {
        let mut parts = self.parts;
        if !has_security {
            return parts;
        }
        for (one, proven) in parts.iter_mut().zip(&evidence.attachments) {
            let encrypted = proven.encrypted.map(|(coverage, _)| coverage);
            if proven.signed == Some(Coverage::Complete) {
                // It was canonical when it was digested.
                if one.canonicalize_header().is_err() {
                    one.drop_other_fields();
                }
            } else if proven.signed.is_some() || encrypted != Some(Coverage::Complete) {
                // Anybody can encipher a header for us.
                one.drop_other_fields();
            }
        }
        parts
    }
}

/// The refusal of a URI that leads to no attachment.
pub(super) fn missing(uri: &str) -> Rejected {
    Rejected::Attachment {
        id: uri.to_owned(),
        problem: AttachmentProblem::Missing,
    }
}

/// How much of an attachment a transform is over; `None` of other transforms.
pub(super) fn coverage_of(transform: &Transform) -> Option<Coverage> {
    match transform.uri() {
        ATTACHMENT_CONTENT_SIGNATURE => Some(Coverage::Content),
        ATTACHMENT_COMPLETE_SIGNATURE => Some(Coverage::Complete),
        _ => None,
    }
}

/// Refuses the transforms of attachments in references to anything else.
pub(super) fn check_transforms(reference: &Reference) -> Result<(), Rejected> {
    let mut transforms = reference.transforms.iter();
    match transforms.find(|one| coverage_of(one).is_some()) {
        Some(transform) => Err(Rejected::Signature(SignatureError::TransformRefused {
            uri: transform.uri().to_owned(),
        })),
        None => Ok(()),
    }
}
