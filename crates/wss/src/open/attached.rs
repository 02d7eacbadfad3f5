//! What is done with attachments while a message is opened: their digests, their cipher text, and
//! what the plan demands of each (SwA Profile 1.1.1, 5.4 and 5.5).
//!
//! The one rule: an attachment is deciphered once, by an `xenc:EncryptedData` that stood in the
//! header when the message came, and before any signature covers it.

use soapstone_mime::AttachmentError;
use soapstone_xml::NodeId;
use soapstone_xmlsec::dsig::{DigestSink, Reference, SignatureError, Transform};
use soapstone_xmlsec::enc::{CipherData, ContentType, EncryptedData, EncryptionError};

use super::attachments::{coverage_of, missing};
use super::authentic::Proven;
use super::comparison::Comparison;
use super::decrypt::DecryptionKey;
use super::message::Message;
use super::opening::Opening;
use crate::attachments::Coverage;
use crate::envelope::expanded_name;
use crate::names::{ATTACHMENT_CIPHERTEXT, ATTACHMENT_COMPLETE, ATTACHMENT_CONTENT_ONLY, DS};
use crate::rejected::{AttachmentProblem, Rejected};

impl Message<'_> {
    /// How much of an attachment a reference covers: it has one of the two transforms, without
    /// parameters, and no other one.
    fn coverage(&self, reference: &Reference) -> Result<Coverage, Rejected> {
        let refused = |uri: &str| {
            Rejected::Signature(SignatureError::TransformRefused {
                uri: uri.to_owned(),
            })
        };
        let [transform] = &reference.transforms[..] else {
            return Err(refused("not one transform of an attachment"));
        };
        let coverage = coverage_of(transform).ok_or_else(|| refused(transform.uri()))?;
        match transform {
            Transform::Other { node, .. } if self.element(*node).first_child().is_none() => {
                Ok(coverage)
            }
            _ => Err(refused(transform.uri())),
        }
    }

    /// How much of an attachment an `xenc:EncryptedData` is of, and the URI of its cipher text.
    fn cipher_text_of(&self, data: &EncryptedData) -> Result<(Coverage, String), Rejected> {
        let malformed = |problem: &str| Rejected::Malformed {
            element: "xenc:EncryptedData",
            problem: problem.to_owned(),
        };
        let coverage = match &data.content_type {
            ContentType::Other(kind) if kind == ATTACHMENT_CONTENT_ONLY => Coverage::Content,
            ContentType::Other(kind) if kind == ATTACHMENT_COMPLETE => Coverage::Complete,
            _ => return Err(malformed("expected the type of an attachment")),
        };
        let CipherData::Reference {
            uri, transforms, ..
        } = &data.cipher
        else {
            return Err(malformed(
                "expected the cipher text of an attachment by reference, found it in the message",
            ));
        };
        let transforms = transforms.map(|node| self.element(node));
        let mut transforms = transforms.into_iter().flat_map(|all| all.children());
        let is_right = transforms.next().is_some_and(|one| {
            let algorithm = one.attribute("", "Algorithm");
            one.is(DS, "Transform") && algorithm.as_deref() == Some(ATTACHMENT_CIPHERTEXT)
        });
        if !is_right || transforms.next().is_some() {
            return Err(malformed(
                "expected the Attachment-Ciphertext-Transform alone in `xenc:Transforms`",
            ));
        }
        Ok((coverage, uri.clone()))
    }
}

impl Opening<'_> {
    /// Refuses attachments where the plan takes none.
    pub(super) fn expect_attachments(&self) -> Result<(), Rejected> {
        match self.message.demands().attachments.refused {
            Some(reason) if !self.attachments.is_empty() => Err(self
                .attachments
                .problem(0, AttachmentProblem::Unexpected { reason })),
            _ => Ok(()),
        }
    }

    /// Reads the `xenc:EncryptedData` of an attachment, a child of the header that was there when
    /// the message came. Nothing is deciphered.
    pub(super) fn read_attachment_data(&mut self, node: NodeId) -> Result<(), Rejected> {
        let message = &self.message;
        if message.demands().encryption.is_none() || self.attachments.is_empty() {
            return Err(Rejected::ElementUnexpected {
                element: expanded_name(message.element(node)),
            });
        }
        self.budget.references(1)?;
        let data = EncryptedData::parse(message.document(), node)?;
        let (_, uri) = message.cipher_text_of(&data)?;
        let at = self.attachments.named(&uri).ok_or_else(|| missing(&uri))?;
        if self.evidence.attachments[at].data.replace(node).is_some() {
            return Err(self.attachments.problem(at, AttachmentProblem::Repeated));
        }
        if message.demands().marks_cipher_text {
            let cipher = self.attachments.of(at).content();
            self.replay.note_bytes(node, cipher);
        }
        Ok(())
    }

    /// Whether an attachment came as cipher text.
    pub(super) fn is_enciphered(&self, at: usize) -> bool {
        self.evidence.attachments[at].data.is_some()
    }

    /// Verifies the digest of an attachment.
    pub(super) fn follow_attachment(
        &mut self,
        reference: &Reference,
        at: usize,
    ) -> Result<Proven, Rejected> {
        let message = &self.message;
        let coverage = message.coverage(reference)?;
        let mut sink = DigestSink::new(reference)?;
        let options = &message.envelope.options;
        self.attachments.digest(at, coverage, options, &mut sink)?;
        reference.check(sink)?;
        let (weak, name) = (
            reference.digest_method.is_weak(),
            reference.digest_method.short_name(),
        );
        message.note_weak(&mut self.evidence, weak, name)?;
        Ok(Proven::Attachment(at, coverage))
    }

    /// Deciphers an attachment.
    pub(super) fn decipher_attachment(
        &mut self,
        data: &EncryptedData,
        DecryptionKey { key, origin }: &DecryptionKey,
    ) -> Result<(), Rejected> {
        let (weak, name) = (data.method.is_weak(), data.method.short_name());
        self.message.note_weak(&mut self.evidence, weak, name)?;
        let (coverage, uri) = self.message.cipher_text_of(data)?;
        let mut read = self.evidence.attachments.iter();
        // One that stands elsewhere than in the header, or that cipher text brought, was not read.
        let at = read.position(|one| one.data == Some(data.node));
        let at = at.ok_or(EncryptionError::CipherReference { uri })?;
        if self.evidence.attachments[at].encrypted.is_some() {
            return Err(self.attachments.problem(at, AttachmentProblem::Repeated));
        }
        if self.evidence.covers_attachment(at) {
            let problem = AttachmentProblem::SignedAsCipherText;
            return Err(self.attachments.problem(at, problem));
        }
        let media_type = data.mime_type.as_deref();
        let bytes = self.attachments.of(at).content().len();
        self.budget.decryption(data.method, *origin, bytes)?;
        self.plaintext.is_tried = true;
        let attachment = self.attachments.of_mut(at);
        let mut bytes = attachment.take_content();
        let plain = data.open(key, &mut bytes)?;
        bytes.truncate(plain.end);
        bytes.drain(..plain.start);
        let failed = |_: AttachmentError| EncryptionError::Failed;
        match coverage {
            Coverage::Complete => attachment.set_complete(&bytes).map_err(failed)?,
            Coverage::Content => {
                attachment.set_content(bytes);
                if let Some(media_type) = media_type {
                    attachment.set_content_type(media_type).map_err(failed)?;
                }
            }
        }
        self.evidence.next_step();
        self.evidence.attachments[at].encrypted = Some((coverage, data.method));
        Ok(())
    }
}

impl Comparison<'_, '_> {
    /// Whether every attachment is signed and encrypted as the plan wants, and none is left as
    /// cipher text.
    pub(super) fn compare_attachments(&mut self) -> Result<(), Rejected> {
        let demands = self.demands().attachments;
        for at in 0..self.evidence.attachments.len() {
            let signed = self.evidence.attachment_signed(at);
            let found = &mut self.evidence.attachments[at];
            found.signed = signed;
            let encrypted = found.encrypted.map(|(coverage, _)| coverage);
            let problem = if found.data.is_some() && encrypted.is_none() {
                AttachmentProblem::Undeciphered
            } else if signed < demands.signed {
                AttachmentProblem::Unsigned
            } else if encrypted < demands.encrypted {
                AttachmentProblem::Unencrypted
            } else {
                continue;
            };
            return Err(Rejected::Attachment {
                id: found.id.clone(),
                problem,
            });
        }
        Ok(())
    }
}
