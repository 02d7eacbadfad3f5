//! Decryption: session keys from `EncryptedKey`, plaintext grafted in the place of `EncryptedData`.
//!
//! The one rule: from the moment a secret is in play there is one failure,
//! `EncryptionError::Failed`, whatever went wrong.

use std::sync::Arc;

use soapstone_crypto::{Identity, SymmetricKey};
use soapstone_xml::{Buffers, Element, NodeId};
use soapstone_xmlsec::enc::{
    CipherData, ContentType, EncryptedData, EncryptedKey, EncryptionError, ReferenceList,
};

use super::cipher_text::Listed;
use super::keyring::WrappedKey;
use super::opening::Opening;
use super::symmetric_keys::{Purpose, Wanted};
use super::wrapped_keys::recipient_of;
use crate::conversation;
use crate::digest;
use crate::envelope::expanded_name;
use crate::envelope_error::EnvelopeError;
use crate::event::Event;
use crate::evidence::{CipherKey, EncryptionEvidence, Signer};
use crate::part::Extent;
use crate::proof;
use crate::rejected::Rejected;
use crate::token;

/// What something was enciphered with.
pub(super) struct DecryptionKey {
    pub(super) key: SymmetricKey,
    pub(super) origin: CipherKey,
}

impl Opening<'_> {
    /// Reads an `EncryptedKey` of the header, and finds the private key of ours that it is for.
    /// Nothing is unwrapped.
    pub(super) fn read_encrypted_key(&mut self, node: NodeId) -> Result<(), Rejected> {
        self.budget.encrypted_key()?;
        let message = &self.message;
        let demands = message.demands();
        if !demands.wraps_key {
            return Err(Rejected::ElementUnexpected {
                element: expanded_name(message.element(node)),
            });
        }
        let limit = demands.limits.references;
        let wrapped = EncryptedKey::parse(message.document(), node, limit)?;
        self.budget.references(wrapped.data_references.len())?;
        if demands.derives_keys && !wrapped.data_references.is_empty() {
            // What a key lists is enciphered with itself (XML-Enc 3.5.1).
            return Err(Rejected::KeyNotDerived);
        }
        if demands.encryption.is_none() && !wrapped.data_references.is_empty() {
            let listed = message.listed(wrapped.data_references.iter().map(String::as_str))?;
            message.expect_encryption(&listed)?;
        }
        let plan = self.message.plan;
        let key = self.wrapped_key(wrapped, &plan.unwrapping.sessions)?;
        self.keyring.wrapped.push(Arc::new(key));
        Ok(())
    }

    /// The private key among `ours` that an `EncryptedKey` is for, and how it is used. Nothing is
    /// unwrapped.
    pub(super) fn wrapped_key(
        &mut self,
        wrapped: EncryptedKey,
        ours: &[Arc<Identity>],
    ) -> Result<WrappedKey, Rejected> {
        let (message, node) = (&self.message, wrapped.node);
        let (method, agreement) = message.key_method(&wrapped, &mut self.evidence)?;
        let locator = recipient_of(message.document(), &wrapped, agreement.as_ref())?;
        let identity = message.decrypting(ours, locator.as_ref(), method)?;
        self.observer
            .found(&message.envelope, || Event::WrappedKey {
                node,
                method,
                recipient: identity.certificate(),
            });
        self.evidence.keys.push(method);
        Ok(WrappedKey {
            sha1: digest::sha1([wrapped.cipher_value.as_slice()]),
            wrapped,
            agreement,
            identity,
        })
    }

    /// Deciphers what an `EncryptedKey` of the header lists.
    pub(super) fn process_encrypted_key(
        &mut self,
        node: NodeId,
        buffers: &mut Buffers,
    ) -> Result<(), Rejected> {
        let mut read = self.keyring.wrapped.iter();
        let Some(key) = read.find(|key| key.wrapped.node == node).cloned() else {
            // One that cipher text brought was not among the keys that replay keys and failures are
            // kept of.
            return Err(Rejected::ElementUnexpected {
                element: expanded_name(self.message.element(node)),
            });
        };
        if key.wrapped.data_references.is_empty() {
            // What uses it has it unwrapped: a stranger's keys beside it are no work.
            return Ok(());
        }
        let uris = key.wrapped.data_references.iter();
        let listed = self.message.listed(uris.map(String::as_str))?;
        if !listed.data.is_empty() {
            self.keyring.use_session_key(&self.message, node)?;
        }
        self.keyring.unwrap(&self.message, &key)?;
        let Some(session) = self.keyring.session_key_of(node) else {
            return Err(EncryptionError::Failed.into());
        };
        session.deciphers |= !listed.data.is_empty();
        let unwrapped = session.key.clone();
        self.decrypt_listed(listed, buffers, |_, _| {
            let (key, origin) = (unwrapped.clone(), CipherKey::Session(node));
            Ok(DecryptionKey { key, origin })
        })
    }

    /// Deciphers what a list of cipher text apart from its keys means.
    pub(super) fn process_reference_list(
        &mut self,
        node: NodeId,
        buffers: &mut Buffers,
    ) -> Result<(), Rejected> {
        let demands = self.message.demands();
        let limit = demands.limits.references;
        let list = ReferenceList::parse(self.message.element(node), limit)?;
        let more = match self.was_in_the_clear(node) {
            // It was counted when it was read.
            true => 0,
            false => list.data.len(),
        };
        self.budget.references(more)?;
        let listed = self.message.listed(list.data.iter().map(String::as_str))?;
        let wanted = Wanted {
            purpose: Purpose::Deciphering,
            item: node,
        };
        self.decrypt_listed(listed, buffers, |opening, data| {
            let resolved = opening.keyring.symmetric_key(
                &opening.message,
                data.key_info,
                wanted,
                &mut opening.observer,
            )?;
            let token = resolved.token;
            if let Some(used) = token.and_then(|token| opening.keyring.session_key_of(token)) {
                used.deciphers = true;
            }
            let origin = match (&resolved.holder, resolved.token) {
                (Signer::SessionKey(_), Some(token)) => CipherKey::Session(token),
                (Signer::Context { .. } | Signer::Kerberos(_) | Signer::Holder { .. }, _) => {
                    CipherKey::Context
                }
                _ => CipherKey::Known,
            };
            let key = resolved.key;
            let key = match &resolved.holder {
                _ if demands.derives_keys => Ok(key),
                Signer::Context { .. } | Signer::Kerberos(_) => {
                    conversation::encryption_key(&key, data.method)
                }
                Signer::Holder { .. } => proof::encryption_key(&key, data.method),
                Signer::User(_) => token::password_encryption_key(&key, data.method),
                _ => Ok(key),
            };
            let key = key.map_err(|error| Rejected::KeyMisused {
                problem: error.to_string(),
            })?;
            Ok(DecryptionKey { key, origin })
        })
    }

    /// Reads a list of cipher text apart from a key, before its turn. What all lists mean is
    /// counted before any of it is looked at.
    pub(super) fn read_reference_list(&mut self, node: NodeId) -> Result<(), Rejected> {
        let message = &self.message;
        let demands = message.demands();
        let limit = demands.limits.references;
        let element = message.element(node);
        let list = ReferenceList::parse(element, limit);
        match &list {
            Ok(list) => self.budget.references(list.data.len())?,
            // Nothing that is deciphered before its turn makes it shorter.
            Err(error @ EncryptionError::TooMany { .. }) => return Err(error.clone().into()),
            Err(_) => {}
        }
        if demands.encryption.is_none() {
            let list = list?;
            let listed = message.listed(list.data.iter().map(String::as_str))?;
            message.expect_encryption(&listed)?;
        } else if demands.marks_cipher_text
            && let Ok(list) = list
        {
            // What is wrong with the list is said in its turn: its data may come to light before.
            for uri in &list.data {
                if let Ok(Some(data)) = message.encrypted_data(uri)
                    && matches!(data.cipher, CipherData::Value(_))
                {
                    let document = message.document();
                    self.replay
                        .note_cipher_text(document, &data, &mut Vec::new())?;
                }
            }
        }
        Ok(())
    }

    /// Decrypts what was listed, and then what came to light by that.
    fn decrypt_listed(
        &mut self,
        mut listed: Listed<'_>,
        buffers: &mut Buffers,
        mut key: impl FnMut(&mut Self, &EncryptedData) -> Result<DecryptionKey, Rejected>,
    ) -> Result<(), Rejected> {
        self.message.expect_encryption(&listed)?;
        loop {
            for data in &listed.data {
                let key = key(self, data)?;
                self.decrypt(data, &key, buffers)?;
            }
            if listed.hidden.is_empty() {
                return Ok(());
            }
            listed = self.message.listed(listed.hidden.into_iter())?;
        }
    }

    /// Deciphers one `EncryptedData`; returns the elements that took its place.
    pub(super) fn decrypt(
        &mut self,
        data: &EncryptedData,
        key: &DecryptionKey,
        buffers: &mut Buffers,
    ) -> Result<Vec<NodeId>, Rejected> {
        let outcome = match &data.cipher {
            CipherData::Value(_) => self.decipher(data, key, buffers),
            CipherData::Reference { .. } => {
                self.decipher_attachment(data, key).map(|()| Vec::new())
            }
        };
        let (nodes, refused) = match &outcome {
            Ok(nodes) => (nodes.as_slice(), None),
            Err(rejected) => (&[][..], Some(rejected)),
        };
        self.observer
            .found(&self.message.envelope, || Event::Decryption {
                node: data.node,
                algorithm: data.method,
                plaintext: nodes,
                refused,
            });
        let nodes = outcome?;
        self.plaintext.graft(data.node, nodes.clone());
        Ok(nodes)
    }

    /// Puts a plaintext in the place of its cipher text; returns the elements that took it.
    fn decipher(
        &mut self,
        data: &EncryptedData,
        DecryptionKey { key, origin }: &DecryptionKey,
        buffers: &mut Buffers,
    ) -> Result<Vec<NodeId>, Rejected> {
        let (weak, name) = (data.method.is_weak(), data.method.short_name());
        self.message.note_weak(&mut self.evidence, weak, name)?;
        let source = self.message.document().source(data.node);
        let bytes = source.map_or(0, <[u8]>::len);
        self.budget.decryption(data.method, *origin, bytes)?;
        self.note_short_cipher_text(data, *origin);
        self.plaintext.is_tried = true;
        if self.message.element(data.node).is_replaced() {
            return Err(EncryptionError::Failed.into());
        }
        if self.message.demands().marks_cipher_text {
            // Cipher text that came to light is not marked yet.
            let mut bytes = buffers.take(0);
            let document = self.message.document();
            self.replay.note_cipher_text(document, data, &mut bytes)?;
            buffers.give(bytes);
        }
        let document = self.message.document();
        let parent = document
            .element(data.node)
            .parent()
            .map(|parent| parent.id());
        let body = self.message.envelope.body().id();
        let is_body = |holder: Element<'_>| holder.id() == body;
        self.evidence.hides_body |= document.element(data.node).ancestors().any(is_body);
        let content = data.content_type == ContentType::Content;
        // Whether everything inside the parent was in this ciphertext.
        let whole = parent.is_some_and(|parent| {
            let parent = document.element(parent);
            parent.children().nth(1).is_none() && parent.text().trim().is_empty()
        });
        let envelope = &mut self.message.envelope;
        let grafted = data.decrypt(&mut envelope.document, key, &envelope.options, buffers)?;
        if let Some(duplicate) = self.message.document().duplicate_id() {
            return Err(Rejected::Envelope(EnvelopeError::DuplicateId(duplicate)));
        }
        let step = self.evidence.next_step();
        self.note_signed_cipher(data.node);
        let document = self.message.document();
        let siblings = |node: &NodeId| {
            document
                .element(*node)
                .next_sibling()
                .map(|next| next.id())
                .filter(|next| grafted.contains(*next))
        };
        let nodes: Vec<NodeId> = std::iter::successors(grafted.first(), siblings).collect();
        let evidence = |node, extent| EncryptionEvidence {
            node,
            extent,
            algorithm: data.method,
            encrypted_data: data.node,
            key: *origin,
            step,
        };
        let encrypted = &mut self.evidence.encrypted;
        if let (true, true, Some(parent)) = (content, whole, parent) {
            encrypted.push(evidence(parent, Extent::Content));
        }
        if !content {
            encrypted.extend(nodes.iter().map(|node| evidence(*node, Extent::Element)));
        }
        Ok(nodes)
    }

    /// Notes what is deciphered after a signature that covers it: that signature is over the cipher
    /// text.
    fn note_signed_cipher(&mut self, data: NodeId) {
        let element = self.message.element(data);
        let around = element.ancestors().map(|holder| holder.id());
        let mut holders = std::iter::once(data).chain(around);
        let signatures = &self.evidence.signatures;
        if holders.any(|holder| signatures.iter().any(|one| one.covers(holder))) {
            self.plaintext.sign([data]);
        }
    }
}
