//! Securing a message: the plan's elements are written into a `wsse:Security` header, in canonical
//! form as they are born.
//!
//! The source is scanned once. Ids are inserted and contents replaced by splicing the source, never
//! by re-serializing it; what is encrypted is enciphered in the source itself, last of all, since
//! nothing needs the plaintext any more then. Only where the cipher text is signed is the message,
//! by then mostly opaque base64, scanned a second time.

mod attached;
mod changes;
mod covered;
mod edits;
mod encrypt;
mod events;
mod header;
mod hidden_assertion;
mod keys;
mod message;
mod pieces;
mod prefix_lists;
mod ready_keys;
mod references;
mod root;
mod scope;
mod securing;
mod shown;
mod sign;
mod text;
mod to_sign;
mod wrap;

use jiff::Timestamp;
use soapstone_crypto::Certificate;
use soapstone_mime::Attachment;
use soapstone_xml::{Buffers, Sink};

pub use self::message::Outgoing;
use self::message::numbered;
use self::references::Holder;
use self::scope::Scope;
use self::securing::Securing;
pub(crate) use self::wrap::{wrapping_for, write_own_key};
use crate::binding::ProtectionOrder;
use crate::envelope::{Envelope, range};
use crate::facts::Receipt;
use crate::operation::{Operation, OperationObserver};
use crate::part::Part;
use crate::plan::{Endorser, OutboundPlan};
use crate::secure_error::SecureError;
use crate::securing_event::{SecuringEvent, TokenUse, WrittenToken};
use crate::token::{AssertionToken, version_of};

/// A secured message, ready to be sent.
#[derive(Debug)]
pub struct Secured {
    /// The envelope, UTF-8.
    pub bytes: Vec<u8>,
    /// The attachments, enciphered where the plan has them encrypted; they travel in this order.
    pub parts: Vec<Attachment>,
    /// What is needed to open the answer, and to tell the message itself from one, if it is sent
    /// back.
    pub receipt: Receipt,
}

impl OutboundPlan {
    /// Secures a plain envelope. Pure but for the randomness of keys, initialization vectors and
    /// ids.
    ///
    /// # Errors
    /// The message cannot be secured as the plan wants; see [`SecureError`].
    pub fn secure(
        &self,
        envelope: Envelope,
        outgoing: Outgoing<'_>,
        now: Timestamp,
        buffers: &mut Buffers,
    ) -> Result<Secured, SecureError> {
        self.secure_observed(envelope, outgoing, now, buffers, &mut ())
    }

    /// [Secures](Self::secure) a plain envelope. `observer` is told of the operations that it
    /// takes, and of all that is done if it listens.
    ///
    /// # Errors
    /// As [`secure`](Self::secure).
    pub fn secure_observed(
        &self,
        envelope: Envelope,
        outgoing: Outgoing<'_>,
        now: Timestamp,
        buffers: &mut Buffers,
        observer: &mut dyn OperationObserver,
    ) -> Result<Secured, SecureError> {
        self.begin(&envelope, now)?;
        let mut envelope = envelope;
        let attachments = std::mem::take(&mut envelope.attachments).into_vec();
        let attachment_bytes = envelope.attachment_bytes;
        if !self.protection.has_security {
            let mut bytes = buffers.take(envelope.document.bytes().len());
            bytes.extend_from_slice(envelope.document.bytes());
            envelope.recycle(buffers);
            observer.ended(Operation::Other);
            return Ok(Secured {
                bytes,
                parts: attachments,
                receipt: Receipt::default(),
            });
        }
        let (envelope, taken) = self.take_assertion(envelope, buffers)?;
        let outgoing = outgoing.carrying(taken.as_ref());
        let mut securing = Securing::new(self, outgoing, now, observer);
        securing.attachments = attachments;
        securing.attachment_bytes = attachment_bytes;
        let envelope = securing.run(envelope, buffers)?;
        let bytes = securing.assemble(envelope, buffers)?;
        Ok(Secured {
            bytes,
            parts: std::mem::take(&mut securing.attachments),
            receipt: securing.finish(buffers),
        })
    }

    /// Secures a plain envelope without assembling it: the header and the source go to `sink` piece
    /// by piece, whole runs of the source as they lie. Nothing is written before everything has
    /// succeeded. `observer` is told of the operations that it takes.
    ///
    /// # Errors
    /// As [`secure`](Self::secure), and the message has attachments: these are not bytes of one
    /// sink.
    pub fn secure_into(
        &self,
        envelope: Envelope,
        outgoing: Outgoing<'_>,
        now: Timestamp,
        buffers: &mut Buffers,
        sink: &mut dyn Sink,
        observer: &mut dyn OperationObserver,
    ) -> Result<Receipt, SecureError> {
        self.begin(&envelope, now)?;
        if !envelope.attachments.is_empty() {
            let problem = "it is to be written in one piece";
            return Err(SecureError::AttachmentsUnexpected { problem });
        }
        if !self.protection.has_security {
            sink.write(envelope.document.bytes());
            envelope.recycle(buffers);
            observer.ended(Operation::Other);
            return Ok(Receipt::default());
        }
        let (envelope, taken) = self.take_assertion(envelope, buffers)?;
        let outgoing = outgoing.carrying(taken.as_ref());
        let mut securing = Securing::new(self, outgoing, now, observer);
        let envelope = securing.run(envelope, buffers)?;
        securing.hand_over(envelope, buffers, sink)?;
        Ok(securing.finish(buffers))
    }

    /// Whether the message can be secured at all.
    fn begin(&self, envelope: &Envelope, now: Timestamp) -> Result<(), SecureError> {
        let actor = self.protection.actor.as_deref();
        if envelope.security_headers(actor).next().is_some() {
            return Err(SecureError::AlreadySecured);
        }
        let refused = self.protection.attachments.refused;
        if let Some(problem) = refused.filter(|_| !envelope.attachments.is_empty()) {
            return Err(SecureError::AttachmentsUnexpected { problem });
        }
        let is_there = |part: &&Part| {
            let mut blocks = envelope.header().into_iter().flat_map(|it| it.children());
            blocks.any(|block| {
                matches!(part, Part::Header { namespace, local } if block.is(namespace, local))
            })
        };
        if let Some(part) = self.protection.sent.iter().find(|part| !is_there(part)) {
            return Err(SecureError::PartMissing { part: part.clone() });
        }
        if self.protection.has_security {
            for algorithm in &self.protection.algorithms {
                self.protection.check_retirement(algorithm, now)?;
            }
        }
        Ok(())
    }
}

impl OutboundPlan {
    /// The message without the assertion that is a header block of it, and that assertion, where
    /// the plan takes it from there.
    fn take_assertion(
        &self,
        envelope: Envelope,
        buffers: &mut Buffers,
    ) -> Result<(Envelope, Option<AssertionToken>), SecureError> {
        match self.protection.takes_assertion {
            true => take_assertion(envelope, buffers),
            false => Ok((envelope, None)),
        }
    }
}

/// A plain message without the assertion that is a header block of it, and that assertion.
///
/// # Errors
/// There are several, or it is none that a receiver would accept.
pub fn take_assertion(
    envelope: Envelope,
    buffers: &mut Buffers,
) -> Result<(Envelope, Option<AssertionToken>), SecureError> {
    let unfit = |problem: String| SecureError::AssertionUnfit { problem };
    let blocks = envelope.header().into_iter().flat_map(|it| it.children());
    let assertions = blocks.filter(|block| version_of(*block).is_some());
    let assertions: Vec<_> = assertions.map(|it| (it.id(), range(it))).collect();
    let (node, cut) = match &assertions[..] {
        [] => return Ok((envelope, None)),
        [(node, cut)] => (*node, cut.clone()),
        _ => return Err(unfit("expected one, found several".to_owned())),
    };
    let token = AssertionToken::of(&envelope.document, node);
    let token = token.map_err(|error| unfit(error.to_string()))?;
    let limits = envelope.options.limits.clone();
    let mut bytes = envelope.document.into_bytes(buffers);
    bytes.drain(cut);
    Ok((Envelope::parse(bytes, &limits, buffers)?, Some(token)))
}

impl Securing<'_> {
    /// Makes everything that is to be written; what is left to do is to write it into the envelope
    /// that is returned.
    fn run(&mut self, envelope: Envelope, buffers: &mut Buffers) -> Result<Envelope, SecureError> {
        let protection = self.message.protection();
        self.check_assertion()?;
        self.carry_assertion(&envelope);
        self.tell_of_first_pieces();
        self.name_assertion()?;
        let mut envelope = envelope;
        self.observer.ended(Operation::Other);
        self.prepare_keys(buffers)?;
        self.write_kerberos_token()?;
        self.write_certificate_tokens();
        self.observer.ended(Operation::Key);
        match (&protection.signature, &protection.encryption) {
            (Some(_), Some(_)) if protection.order == ProtectionOrder::EncryptBeforeSigning => {
                let _ = self.insert_ids(&envelope)?;
                self.encrypt_parts(&envelope, buffers)?;
                self.note_hidden(&envelope)?;
                self.encrypt_username(buffers)?;
                self.write_key_to_sign()?;
                self.observer.ended(Operation::Encryption);
                envelope = self.scan_again(envelope, buffers)?;
                // Another scan, other nodes: what was hidden is signed where it stands now.
                let signed = self.signed_elements(&envelope)?;
                self.sign(&envelope, &signed, buffers)?;
                self.encrypt_signature(buffers)?;
            }
            (signature, encryption) => {
                if signature.is_some() {
                    let mut signed = self.insert_ids(&envelope)?;
                    if to_sign::changes_signed(&envelope, &signed) {
                        envelope = self.scan_again(envelope, buffers)?;
                        signed = self.signed_elements(&envelope)?;
                    }
                    self.sign(&envelope, &signed, buffers)?;
                }
                if encryption.is_some() {
                    self.encrypt_parts(&envelope, buffers)?;
                    self.encrypt_attachments(buffers)?;
                    self.encrypt_username(buffers)?;
                    self.encrypt_signature(buffers)?;
                }
            }
        }
        self.hide_assertion(buffers)?;
        self.finish_encryption()?;
        if protection.encryption.is_some() {
            self.observer.ended(Operation::Encryption);
        }
        Ok(envelope)
    }

    /// Whether the message has the assertion that it is to carry, and its holder's key.
    fn check_assertion(&self) -> Result<(), SecureError> {
        let protection = self.message.protection();
        if !protection.carries_assertion {
            return Ok(());
        }
        let assertion = self.message.assertion();
        let assertion = assertion.ok_or(SecureError::AssertionMissing)?;
        if assertion.is_id_card() != protection.carries_id_card {
            let problem = match protection.carries_id_card {
                true => "expected an ID card of DGWS, found another assertion",
                false => "expected an assertion, found an ID card of DGWS",
            };
            return Err(SecureError::AssertionUnfit {
                problem: problem.to_owned(),
            });
        }
        let signing = protection.signature.iter().filter(|one| one.by_holder);
        let mut signers = signing.filter_map(|one| one.signer.as_deref());
        let is_other = |holder: &Certificate| {
            signers.any(|it| it.certificate().public_key() != holder.public_key())
        };
        match assertion.holder().is_some_and(is_other) {
            true => Err(SecureError::NotTheHolder),
            false => Ok(()),
        }
    }

    /// Puts the assertion into the header, where the message carries it.
    fn carry_assertion(&mut self, envelope: &Envelope) {
        let protection = self.message.protection();
        let carries = protection.carries_assertion && protection.assertion_authority.is_none();
        if let Some(assertion) = self.message.assertion().filter(|_| carries) {
            let around = envelope.header().unwrap_or(envelope.document.root());
            let default = around.namespace_of("").unwrap_or_default();
            self.pieces.assertion = assertion.written_beneath(default).into_owned();
        }
    }

    /// Names the assertion in the header, where the message does not carry it.
    fn name_assertion(&mut self) -> Result<(), SecureError> {
        let elsewhere = self.message.assertion_elsewhere()?;
        let is_apart = self.message.protection().names_assertion_apart;
        if let Some(elsewhere) = elsewhere.filter(|_| is_apart) {
            let mut scope = self.pieces.declarations.scope(true);
            let out = &mut self.pieces.assertion;
            references::write_assertion_elsewhere(&elsewhere, &mut scope, out);
            self.observer.made(|| SecuringEvent::Token {
                id: None,
                token: WrittenToken::AssertionElsewhere(&elsewhere),
                usage: TokenUse::Authentication,
                is_secret: false,
            });
        }
        Ok(())
    }

    /// Applies the edits made so far, and reads the result as the message to go on with.
    fn scan_again(
        &mut self,
        envelope: Envelope,
        buffers: &mut Buffers,
    ) -> Result<Envelope, SecureError> {
        let mut limits = envelope.options.limits.clone();
        limits.message = limits.message.saturating_mul(2);
        let bytes = self.apply_edits(envelope, buffers)?;
        std::mem::take(&mut self.changes.edits).recycle(buffers);
        Ok(Envelope::parse(bytes, &limits, buffers)?)
    }

    /// The source with the edits made so far.
    fn apply_edits(
        &mut self,
        envelope: Envelope,
        buffers: &mut Buffers,
    ) -> Result<Vec<u8>, SecureError> {
        let mut source = envelope.document.into_bytes(buffers);
        self.encipher(&mut source)?;
        let edits = &self.changes.edits;
        let mut bytes = buffers.take(source.len().saturating_add_signed(edits.growth()));
        edits.apply(&source, 0..source.len(), &mut bytes);
        buffers.give(source);
        Ok(bytes)
    }

    /// The tokens with our certificate: where signatures refer to one, and where the plan wants it
    /// sent along.
    fn write_certificate_tokens(&mut self) {
        let protection = self.message.protection();
        for (index, endorsing) in protection.endorsing.iter().enumerate() {
            if let Endorser::Certificate(identity, _) = &endorsing.endorser
                && endorsing.reference.has_token()
                && !endorsing.by_holder
            {
                let id = self.message.named(&numbered("endorse", index));
                let token = &mut self.pieces.endorsements[index].token;
                let (reference, holder) = (endorsing.reference, Holder::of(identity));
                references::write_token(reference, holder, &id, &mut Scope::alone(), token);
            }
        }
        if let Some((identity, reference)) = &protection.introduced {
            // Of two tokens with it, the other is inside of the signature's reference.
            let name = match protection.introduces_apart {
                true => "own",
                false => "cert",
            };
            let (id, stays) = (self.message.named(name), !protection.signs_tokens());
            let pieces = &mut self.pieces;
            let mut scope = pieces.declarations.scope(stays);
            let token = &mut pieces.tokens;
            let holder = Holder::of(identity);
            references::write_token(*reference, holder, &id, &mut scope, token);
        }
        self.tell_of_certificate_tokens();
    }

    /// The finished message in one buffer.
    fn assemble(
        &mut self,
        envelope: Envelope,
        buffers: &mut Buffers,
    ) -> Result<Vec<u8>, SecureError> {
        self.write_header(&envelope, buffers);
        self.apply_edits(envelope, buffers)
    }

    /// The finished message, piece by piece.
    fn hand_over(
        &mut self,
        envelope: Envelope,
        buffers: &mut Buffers,
        sink: &mut dyn Sink,
    ) -> Result<(), SecureError> {
        self.write_header(&envelope, buffers);
        let mut source = envelope.document.into_bytes(buffers);
        self.observer.ended(Operation::Other);
        self.encipher(&mut source)?;
        if self.message.protection().encryption.is_some() {
            self.observer.ended(Operation::Encryption);
        }
        self.changes.edits.hand_over(&source, buffers, sink);
        buffers.give(source);
        Ok(())
    }
}
