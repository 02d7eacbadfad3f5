//! `EncryptedData` in the place of parts, and the `EncryptedKey` (or the `ReferenceList`) that says
//! how to open them.
//!
//! A plaintext is enciphered where it stands in the source, once nothing else needs the source any
//! more, and goes from there as base64 to the place where it stays. Only one that has changes
//! inside is copied first.

use std::collections::HashSet;
use std::ops::Range;

use foldhash::fast::RandomState;
use soapstone_crypto::SymmetricKey;
use soapstone_crypto::cipher::seal_apart;
use soapstone_xml::{Buffers, NodeId};
use soapstone_xmlsec::enc::ContentType;
use soapstone_xmlsec::write::{self, EncryptedDataStart};

use super::changes::Postponed;
use super::edits::{Cipher, Edits, Replacement};
use super::message::numbered;
use super::ready_keys::Session;
use super::references;
use super::scope::{Scope, free_prefix};
use super::securing::Securing;
use super::shown::name_of;
use super::to_sign::ToSign;
use crate::binding::ProtectionOrder;
use crate::envelope::{Envelope, content, is_self_closing, range};
use crate::inclusive_prefixes::InclusivePrefixes;
use crate::marks;
use crate::names::WSSE11;
use crate::part::{Extent, Part};
use crate::plan::Encrypting;
use crate::secure_error::SecureError;
use crate::securing_event::{CipherExtent, KeyOrigin, KeyUsage};
use crate::short_cipher_text::{SHORT_CIPHER_TEXT, least_bytes};

impl Securing<'_> {
    /// Encrypts the parts that are in the message itself.
    pub(super) fn encrypt_parts(
        &mut self,
        envelope: &Envelope,
        buffers: &mut Buffers,
    ) -> Result<(), SecureError> {
        let plan = self.message.plan;
        let Some(encryption) = &plan.protection.encryption else {
            return Ok(());
        };
        self.begin_session()?;
        let source = envelope.document.bytes();
        // Several parts may mean one node, or one inside another: what is encrypted already is not
        // touched again.
        let mut done: Vec<(Range<usize>, String)> = Vec::new();
        for wanted in &encryption.parts {
            for (index, node) in self
                .message
                .nodes_of(envelope, &wanted.part)?
                .into_iter()
                .enumerate()
            {
                let element = envelope.document.element(node);
                let name = match &wanted.part {
                    Part::Body => "body".to_owned(),
                    _ => format!("data-{}-{index}", element.range().start),
                };
                let (plain, kind) = match wanted.extent {
                    Extent::Content => (content(element, source), ContentType::Content),
                    Extent::Element => (range(element), ContentType::Element),
                };
                let is_around = |(other, _): &(Range<usize>, String)| {
                    other.start <= plain.start && plain.end <= other.end
                };
                if done.iter().any(is_around) {
                    continue;
                }
                let inner = self.take_within(&plain, source, buffers)?;
                let postpones = inner.is_empty();
                let data = if postpones {
                    self.note_length(&kind, &name, plain.len())?;
                    self.frame(&kind, &name)?
                } else {
                    let length = plain.len().saturating_add_signed(inner.growth());
                    let data = self.encrypt(&kind, &name, length, buffers, |out| {
                        inner.apply(source, plain.clone(), out)
                    })?;
                    inner.recycle(buffers);
                    data
                };
                let id = self.changes.data_ids.last().cloned().unwrap_or_default();
                let extent = match wanted.extent {
                    Extent::Content => CipherExtent::Content,
                    Extent::Element => CipherExtent::Element,
                };
                self.tell_of_encryption(&id, element.qualified_name(), extent);
                done.push((plain.clone(), id));
                let is_block = !encryption.bare_header_blocks
                    && element.parent().map(|parent| parent.id())
                        == envelope.header().map(|header| header.id());
                let lists = &plan.protection.inclusive_prefixes;
                let (place, data) = replacing(
                    envelope,
                    node,
                    wanted.extent,
                    (is_block, lists),
                    &plain,
                    data,
                );
                if postpones {
                    self.changes
                        .postponed
                        .push(Postponed { place, plain, data });
                } else {
                    self.changes.edits.replace(place, data);
                }
            }
        }
        self.changes.enciphered = done;
        Ok(())
    }

    /// Takes out the edits inside of a plaintext, those that were postponed, too: their cipher text
    /// is needed now.
    fn take_within(
        &mut self,
        plain: &Range<usize>,
        source: &[u8],
        buffers: &mut Buffers,
    ) -> Result<Edits, SecureError> {
        let inside = |postponed: &mut Postponed| {
            plain.start <= postponed.place.start && postponed.place.end <= plain.end
        };
        let session = self.keys.session()?;
        let mut sealed = Vec::new();
        for Postponed { place, plain, data } in self.changes.postponed.extract_if(.., inside) {
            let octets = &source[plain];
            let cipher = session.seal(octets.len(), buffers, &mut self.supply, |out| {
                out.extend_from_slice(octets)
            })?;
            sealed.push((place, data, cipher));
        }
        for (place, data, cipher) in sealed {
            self.mark_cipher_text(&[&cipher]);
            let data = Replacement {
                cipher: Cipher::Octets(cipher),
                ..data
            };
            self.changes.edits.replace(place, data);
        }
        Ok(self.changes.edits.take_within(plain))
    }

    /// Enciphers what was postponed, in its place in the source, which is not what it was from then
    /// on.
    pub(super) fn encipher(&mut self, source: &mut [u8]) -> Result<(), SecureError> {
        for Postponed { place, plain, data } in std::mem::take(&mut self.changes.postponed) {
            let session = self.keys.session()?;
            let plaintext = &mut source[plain.clone()];
            let sealed = seal_apart(session.algorithm, &session.key, plaintext, &mut self.supply)?;
            let enciphered = plain.start..plain.start + sealed.length();
            self.mark_cipher_text(&[sealed.before(), &source[enciphered.clone()], sealed.after()]);
            let data = Replacement {
                cipher: Cipher::Source(enciphered, sealed),
                ..data
            };
            self.changes.edits.replace(place, data);
        }
        Ok(())
    }

    /// Remembers what the receiver will know cipher text by, where there is nothing else.
    pub(super) fn mark_cipher_text(&mut self, pieces: &[&[u8]]) {
        if self.message.protection().marks_cipher_text {
            self.mark(marks::of_cipher_text(pieces));
        }
    }

    /// Encrypts the `UsernameToken` that we wrote, if the plan wants it.
    pub(super) fn encrypt_username(&mut self, buffers: &mut Buffers) -> Result<(), SecureError> {
        let encryption = self.message.protection().encryption.as_ref();
        let hides = encryption.is_some_and(|encryption| encryption.hides_username);
        if hides && !self.pieces.username.is_empty() {
            let token = std::mem::take(&mut self.pieces.username);
            self.pieces.username = self.encrypt_written(&token, "user-data", buffers)?;
        }
        if encryption.is_some_and(|encryption| encryption.hides_assertion) {
            let token = std::mem::take(&mut self.pieces.assertion);
            self.pieces.assertion = self.encrypt_written(&token, "assertion-data", buffers)?;
        }
        Ok(())
    }

    /// Encrypts the signature, the endorsing ones with their tokens and the confirmations that we
    /// wrote, if the plan wants it: all of them after they were signed, in either order of
    /// protection. The token has to be readable before the signature that it is for is verified.
    pub(super) fn encrypt_signature(&mut self, buffers: &mut Buffers) -> Result<(), SecureError> {
        let Some(encryption) = &self.message.protection().encryption else {
            return Ok(());
        };
        if encryption.hides_signature && !self.pieces.signature.is_empty() {
            let signature = std::mem::take(&mut self.pieces.signature);
            self.pieces.signature = self.encrypt_written(&signature, "sig", buffers)?;
            for index in 0..self.pieces.endorsements.len() {
                let signature = std::mem::take(&mut self.pieces.endorsements[index].signature);
                let name = format!("{}-sig", numbered("endorsing", index));
                let encrypted = self.encrypt_written(&signature, &name, buffers)?;
                self.pieces.endorsements[index].signature = encrypted;
            }
        }
        for (index, endorsing) in self.message.protection().endorsing.iter().enumerate() {
            if endorsing.token_encrypted && !self.pieces.endorsements[index].token.is_empty() {
                let token = std::mem::take(&mut self.pieces.endorsements[index].token);
                let name = format!("{}-data-sig", numbered("endorse", index));
                let encrypted = self.encrypt_written(&token, &name, buffers)?;
                self.pieces.endorsements[index].token = encrypted;
            }
        }
        if encryption.hides_confirmations {
            let confirmations = std::mem::take(&mut self.pieces.confirmations);
            for (index, confirmation) in confirmations.iter().enumerate() {
                let name = format!("confirm-{index}-sig");
                let encrypted = self.encrypt_written(confirmation, &name, buffers)?;
                self.pieces.confirmations.push(encrypted);
            }
        }
        Ok(())
    }

    fn encrypt_written(
        &mut self,
        octets: &[u8],
        name: &str,
        buffers: &mut Buffers,
    ) -> Result<Vec<u8>, SecureError> {
        let data = self.encrypt(&ContentType::Element, name, octets.len(), buffers, |out| {
            out.extend_from_slice(octets)
        })?;
        if self.observer.listens {
            let id = self.message.named(name);
            self.tell_of_encryption(&id, name_of(octets), CipherExtent::Element);
        }
        let mut written = Vec::with_capacity(data.len());
        data.write(&[], &mut written);
        data.recycle_cipher(buffers);
        Ok(written)
    }

    /// An `EncryptedData` around what `plaintext` writes.
    fn encrypt(
        &mut self,
        kind: &ContentType,
        name: &str,
        length: usize,
        buffers: &mut Buffers,
        plaintext: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Replacement, SecureError> {
        let session = self.keys.session()?;
        let cipher = session.seal(length, buffers, &mut self.supply, plaintext)?;
        self.mark_cipher_text(&[&cipher]);
        self.note_length(kind, name, length)?;
        Ok(Replacement {
            cipher: Cipher::Octets(cipher),
            ..self.frame(kind, name)?
        })
    }

    /// Notes whether the cipher text of a plaintext with this length in bytes is short.
    fn note_length(
        &mut self,
        kind: &ContentType,
        name: &str,
        length: usize,
    ) -> Result<(), SecureError> {
        let algorithm = self.keys.session()?.algorithm;
        if algorithm.ciphertext_length(length) < least_bytes(algorithm, kind) {
            self.changes.short.push(self.message.named(name));
        }
        Ok(())
    }

    /// Refuses short cipher text that is to be signed without its key, once that has ended. What no
    /// signature covers says nothing that another key could change.
    pub(super) fn refuse_unsigned_keys(
        &self,
        envelope: &Envelope,
        signed: &[ToSign<'_>],
    ) -> Result<(), SecureError> {
        let short = &self.changes.short;
        if short.is_empty() || !self.message.protection().leaves_keys_unsigned {
            return Ok(());
        }
        let signed: HashSet<NodeId, RandomState> = signed.iter().map(|one| one.node).collect();
        let is_signed = |id: &String| {
            // Cipher text that stands elsewhere is in other cipher text, or in the header.
            let Ok(Some(data)) = envelope.document.by_id(id) else {
                return true;
            };
            let data = envelope.document.element(data);
            let mut around = std::iter::once(data).chain(data.ancestors());
            around.any(|holder| signed.contains(&holder.id()))
        };
        match short.iter().any(is_signed) {
            true => self.message.check_retirement(SHORT_CIPHER_TEXT),
            false => Ok(()),
        }
    }

    /// An `EncryptedData` without its cipher text.
    fn frame(&mut self, kind: &ContentType, name: &str) -> Result<Replacement, SecureError> {
        let session = self.keys.session()?;
        let id = self.message.named(name);
        let mut data = Replacement {
            start: Vec::with_capacity(session.key_info.len() + 768),
            cipher: Cipher::default(),
            end: Vec::with_capacity(128),
        };
        write::begin_encrypted_data(
            &EncryptedDataStart {
                id: Some(&id),
                mime_type: None,
                content_type: kind,
                method: session.algorithm,
                raw_key_info: Some(&session.key_info),
            },
            &mut data.start,
        );
        write::end_encrypted_data(&mut data.end);
        self.changes.data_ids.push(id);
        Ok(data)
    }

    /// Chooses the key that encrypts, and how each `EncryptedData` names it.
    fn begin_session(&mut self) -> Result<(), SecureError> {
        let plan = self.message.plan;
        let Some(encryption) = &plan.protection.encryption else {
            return Ok(());
        };
        let algorithm = encryption.algorithm;
        let (key, key_info) = match self.keys.encrypting.take() {
            Some(ready) => (ready.key, ready.key_info),
            None if encryption.wraps_alone => {
                let mut key_info = Vec::new();
                let key = self.message.named("key");
                references::write_encrypted_key(&key, None, &mut Scope::alone(), &mut key_info);
                let (usage, origin) = (KeyUsage::Encryption, KeyOrigin::Session);
                self.tell_of_plain_key(usage, origin, &key_info, false);
                (SymmetricKey::generate(algorithm.key_length())?, key_info)
            }
            None => return Err(SecureError::KeyMissing),
        };
        self.keys.session = Some(Session {
            key,
            algorithm,
            key_info,
        });
        Ok(())
    }

    /// Whether the signature covers the keys of cipher text as well.
    pub(super) fn signs_keys(&self) -> bool {
        self.message.protection().binds_keys && !self.changes.short.is_empty()
    }

    /// Writes the key of the cipher text so far, where the signature that comes is to cover it.
    pub(super) fn write_key_to_sign(&mut self) -> Result<(), SecureError> {
        let plan = self.message.plan;
        let Some(encryption) = &plan.protection.encryption else {
            return Ok(());
        };
        if !self.signs_keys() || !encryption.wraps_alone {
            return Ok(());
        }
        let ids = match self.encrypts_after_signing(encryption) {
            // They are listed apart.
            true => Vec::new(),
            false => self.changes.data_ids.clone(),
        };
        let listed: Vec<&str> = ids.iter().rev().map(String::as_str).collect();
        self.write_key(encryption, &listed)
    }

    /// Whether [`encrypt_signature`](Self::encrypt_signature) will find something.
    fn encrypts_after_signing(&self, encryption: &Encrypting) -> bool {
        let endorsing = self.message.protection().endorsing.iter();
        let mut tokens = endorsing.zip(&self.pieces.endorsements);
        encryption.hides_signature
            || encryption.hides_confirmations && !self.pieces.confirmations.is_empty()
            || tokens.any(|(one, written)| one.token_encrypted && !written.token.is_empty())
    }

    /// Writes the `EncryptedKey` of the key that encrypts, once.
    fn write_key(&mut self, encryption: &Encrypting, listed: &[&str]) -> Result<(), SecureError> {
        if !self.pieces.encrypted_key.is_empty() {
            return Ok(());
        }
        let key = self.keys.session()?.key.clone();
        let recipient = self.message.recipient()?;
        let mut written = Vec::new();
        let id = self.message.named("key");
        let sha1 = self.wrap(
            &id,
            &key,
            recipient,
            encryption.reference,
            listed,
            &mut written,
        )?;
        self.pieces.encrypted_key = written;
        self.receipt.session_keys.push((sha1, key));
        Ok(())
    }

    /// Writes what opens the `EncryptedData` elements, now that all of them are known.
    pub(super) fn finish_encryption(&mut self) -> Result<(), SecureError> {
        let plan = self.message.plan;
        let Some(encryption) = &plan.protection.encryption else {
            return Ok(());
        };
        let data_ids = std::mem::take(&mut self.changes.data_ids);
        // What is encrypted later may have what was encrypted before inside, which is there only
        // when the former is deciphered.
        let (signature, others): (Vec<&str>, Vec<&str>) = data_ids
            .iter()
            .rev()
            .map(String::as_str)
            .partition(|id| id.ends_with("-sig"));
        // A signature over cipher text has to be readable before that cipher text is deciphered:
        // two lists, in that order.
        let apart =
            plan.protection.order == ProtectionOrder::EncryptBeforeSigning && !signature.is_empty();
        let listed: Vec<&str> = if apart {
            Vec::new()
        } else {
            signature.iter().chain(&others).copied().collect()
        };
        // Where keys are derived, their session key is written before them.
        if encryption.wraps_alone {
            self.write_key(encryption, &listed)?;
        } else {
            list(&listed, &mut self.pieces.encrypted_key);
        }
        if apart {
            list(&signature, &mut self.pieces.signature_list);
            list(&others, &mut self.pieces.data_list);
        }
        Ok(())
    }
}

/// Appends a `ReferenceList`, which has one reference at least (XML-Enc 3.6).
fn list(ids: &[&str], out: &mut Vec<u8>) {
    if !ids.is_empty() {
        write::reference_list(ids, out);
    }
}

/// Puts `data` where the part was: what has to take the place of which range of the source.
fn replacing(
    envelope: &Envelope,
    node: NodeId,
    extent: Extent,
    (is_block, lists): (bool, &InclusivePrefixes),
    plain: &Range<usize>,
    data: Replacement,
) -> (Range<usize>, Replacement) {
    let source = envelope.document.bytes();
    let element = envelope.document.element(node);
    if extent == Extent::Content && is_self_closing(element, source) {
        let whole = range(element);
        let end = format!("</{}>", element.qualified_name()).into_bytes();
        (whole.end - 2..whole.end, data.between(b">", &end))
    } else if extent == Extent::Element && is_block {
        let (start, end) = encrypted_header(envelope, node, lists);
        (plain.clone(), data.between(&start, end.as_bytes()))
    } else {
        (plain.clone(), data)
    }
}

/// The tags of the `wsse11:EncryptedHeader` that takes the place of a header block, with the
/// block's `mustUnderstand` and actor (SOAP Message Security 1.1.1, 9.3). They declare no prefix
/// that means something else to the block, or that its signature lists: it is deciphered inside of
/// them.
fn encrypted_header(
    envelope: &Envelope,
    node: NodeId,
    lists: &InclusivePrefixes,
) -> (Vec<u8>, String) {
    let block = envelope.document.element(node);
    let namespace = envelope.version().namespace();
    let prefix = free_prefix(block, WSSE11, "wsse11", lists);
    let soap = free_prefix(block, namespace, "soap", lists);
    let mut out = format!("<{prefix}:EncryptedHeader xmlns:{prefix}=\"{WSSE11}\"").into_bytes();
    let copied: Vec<_> = ["mustUnderstand", "actor", "role", "relay"]
        .into_iter()
        .filter_map(|local| {
            block
                .attribute(namespace, local)
                .map(|value| (local, value))
        })
        .collect();
    if !copied.is_empty() {
        out.extend_from_slice(format!(" xmlns:{soap}=\"{namespace}\"").as_bytes());
    }
    for (local, value) in copied {
        out.extend_from_slice(format!(" {soap}:{local}=\"").as_bytes());
        soapstone_xml::escape::attribute(&value, &mut out);
        out.push(b'"');
    }
    out.push(b'>');
    (out, format!("</{prefix}:EncryptedHeader>"))
}
