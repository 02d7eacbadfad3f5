//! Decryption: session keys from `EncryptedKey`, plaintext grafted in the place of `EncryptedData`.
//!
//! The one rule: from the moment a secret is in play there is one failure,
//! `EncryptionError::Failed`, whatever went wrong.

use std::sync::Arc;

use soapstone_crypto::{Certificate, Identity, KeyKind, SymmetricKey};
use soapstone_xml::{Buffers, NodeId};
use soapstone_xmlsec::enc::{
    ContentType, EncryptedData, EncryptedKey, EncryptionError, KeyEncryption, OpeningKey,
    ReferenceList,
};

use super::agreed::Agreement;
use super::keys::Purpose;
use super::signature::not_allowed;
use super::{Graft, Opening, SessionKey};
use crate::conversation;
use crate::digest;
use crate::envelope::expanded_name;
use crate::evidence::{CipherKey, EncryptionEvidence, KeyEvidence, Signer};
use crate::key_reference::KeyLocator;
use crate::marks;
use crate::names::XENC;
use crate::part::Extent;
use crate::rejected::{AlgorithmUse, Rejected};
use crate::suite::KeyTransportMethod;

/// What the data references of one list mean.
#[derive(Default)]
struct Listed<'l> {
    data: Vec<EncryptedData>,
    /// References to what the document does not have, or not yet: cipher text inside of other
    /// cipher text.
    hidden: Vec<&'l str>,
}

/// An `EncryptedKey` of the header, as it was read before anything was deciphered.
pub(super) struct WrappedKey {
    pub(super) wrapped: EncryptedKey,
    pub(super) sha1: [u8; 20],
    agreement: Option<Agreement>,
    /// Whose private key unwraps it.
    identity: Arc<Identity>,
}

/// Length of a key in bytes where neither cipher text nor suite says one: that of AES-256.
const LONGEST_DATA_KEY: usize = 32;

/// What something was enciphered with.
struct DecryptionKey {
    key: SymmetricKey,
    origin: CipherKey,
}

impl Opening<'_> {
    /// Reads an `EncryptedKey` of the header, and finds the private key of ours that it is for.
    /// Nothing is unwrapped.
    pub(super) fn read_encrypted_key(&mut self, node: NodeId) -> Result<(), Rejected> {
        let limits = self.plan.demands.limits;
        if self.wrapped_keys.len() == limits.encrypted_keys {
            return Err(Rejected::TooMany {
                what: "`xenc:EncryptedKey`",
                limit: limits.encrypted_keys,
            });
        }
        if !self.plan.demands.wraps_key {
            let element = self.envelope.document.element(node);
            return Err(Rejected::ElementUnexpected {
                element: expanded_name(element),
            });
        }
        let wrapped = EncryptedKey::parse(&self.envelope.document, node, limits.references)?;
        self.count_references(wrapped.data_references.len())?;
        if self.plan.demands.derives_keys && !wrapped.data_references.is_empty() {
            // What a key lists is enciphered with itself (XML-Enc 3.5.1).
            return Err(Rejected::KeyNotDerived);
        }
        if self.plan.demands.encryption.is_none() && !wrapped.data_references.is_empty() {
            let listed = self.listed(wrapped.data_references.iter().map(String::as_str))?;
            self.expect_encryption(&listed)?;
        }
        let (evidence, agreement) = self.key_method(&wrapped)?;
        let locator = match &agreement {
            Some(agreement) => self.recipient(&agreement.method)?,
            None => wrapped
                .key_info
                .map(|info| KeyLocator::read(self.envelope.document.element(info)))
                .transpose()?,
        };
        let identity = self.decrypting(locator.as_ref(), evidence)?;
        self.evidence.keys.push(evidence);
        self.wrapped_keys.push(Arc::new(WrappedKey {
            sha1: digest::sha1([wrapped.cipher_value.as_slice()]),
            wrapped,
            agreement,
            identity,
        }));
        Ok(())
    }

    /// Unwraps a key of the header, once. Whether unwrapping succeeds shows nowhere: a key of the
    /// right length takes the place of one that cannot be unwrapped.
    pub(super) fn unwrap(&mut self, key: &WrappedKey) -> Result<(), Rejected> {
        let node = key.wrapped.node;
        if self.session_keys.iter().any(|known| known.node == node) {
            return Ok(());
        }
        // The cipher text says how long the key must be.
        let uris = key.wrapped.data_references.iter();
        let listed = uris.filter_map(|uri| self.encrypted_data(uri).transpose());
        let first = listed.into_iter().next().transpose()?;
        let by_suite = || self.plan.demands.suite.data.first().copied();
        let method = first.map(|data| data.method).or_else(by_suite);
        let length = method.map_or(LONGEST_DATA_KEY, |method| method.key_length());
        let private = key.identity.key();
        let unwrapped = match &key.agreement {
            Some(Agreement {
                method, originator, ..
            }) => key
                .wrapped
                .open_agreed(private, method, originator.as_ref(), length)?,
            None => key
                .wrapped
                .open(OpeningKey::Private(private), Some(length))?,
        };
        self.session_keys.push(SessionKey {
            node,
            sha1: key.sha1,
            key: unwrapped,
            deciphers: false,
        });
        Ok(())
    }

    /// Deciphers what an `EncryptedKey` of the header lists.
    pub(super) fn process_encrypted_key(
        &mut self,
        node: NodeId,
        buffers: &mut Buffers,
    ) -> Result<(), Rejected> {
        let mut read = self.wrapped_keys.iter();
        let Some(key) = read.find(|key| key.wrapped.node == node).cloned() else {
            // One that cipher text brought was not among the keys that replay keys and failures are
            // kept of.
            let element = self.envelope.document.element(node);
            return Err(Rejected::ElementUnexpected {
                element: expanded_name(element),
            });
        };
        let listed = self.listed(key.wrapped.data_references.iter().map(String::as_str))?;
        if !listed.data.is_empty() {
            self.use_session_key(node)?;
        }
        self.unwrap(&key)?;
        let session = self.session_keys.iter_mut();
        let Some(session) = session.into_iter().find(|session| session.node == node) else {
            return Err(EncryptionError::Failed.into());
        };
        session.deciphers |= !listed.data.is_empty();
        let unwrapped = session.key.clone();
        self.decrypt_listed(listed, buffers, |_, _| {
            let (key, origin) = (unwrapped.clone(), CipherKey::Session(node));
            Ok(DecryptionKey { key, origin })
        })
    }

    /// How the key is encrypted, if the suite lists it; with the agreement, where there is one.
    fn key_method(
        &mut self,
        wrapped: &EncryptedKey,
    ) -> Result<(KeyEvidence, Option<Agreement>), Rejected> {
        let suite = &self.plan.demands.suite;
        let transports = || {
            let transports = suite.key_transport.iter();
            let agreements = suite.key_agreement.iter();
            let wraps = agreements.map(|one| one.wrap.short_name());
            transports
                .map(|one| one.algorithm.short_name())
                .chain(wraps)
        };
        let refused = |found: &str| not_allowed(AlgorithmUse::KeyTransport, found, transports());
        match &wrapped.method {
            KeyEncryption::Wrap(wrap) if !suite.key_agreement.is_empty() => {
                let agreement = self.agreement(wrapped, *wrap)?;
                self.note_weak(wrap.is_weak(), wrap.short_name())?;
                Ok((KeyEvidence::Agreement(agreement.listed), Some(agreement)))
            }
            KeyEncryption::Transport { algorithm, oaep } => {
                let found = KeyTransportMethod {
                    algorithm: *algorithm,
                    digest: oaep.digest,
                    mask: oaep.mgf,
                };
                if !suite.key_transport.iter().any(|one| one.accepts(&found)) {
                    return Err(refused(&format!(
                        "{} with digest {} and mask {}",
                        algorithm.uri(),
                        oaep.digest,
                        oaep.mgf
                    )));
                }
                self.note_weak(algorithm.is_weak(), algorithm.short_name())?;
                Ok((KeyEvidence::Transport(found), None))
            }
            other => Err(refused(other.uri())),
        }
    }

    /// The key pair of ours that a session key is for: the one that is named, where one is, and
    /// that can do what was done.
    fn decrypting(
        &self,
        locator: Option<&KeyLocator>,
        method: KeyEvidence,
    ) -> Result<Arc<Identity>, Rejected> {
        let token = match locator {
            Some(locator @ KeyLocator::Token(_)) => Some(self.certificate(locator)?.certificate),
            _ => None,
        };
        let is_meant = |own: &Certificate| match (&token, locator) {
            (Some(token), _) => token.der() == own.der(),
            (None, Some(locator)) => locator.names(own),
            (None, None) => true,
        };
        let fits = |kind| match method {
            KeyEvidence::Transport(_) => matches!(kind, KeyKind::Rsa { .. }),
            KeyEvidence::Agreement(agreement) => agreement.algorithm.fits(kind),
        };
        let found = self
            .plan
            .keys
            .decrypting()
            .find(|one| is_meant(one.certificate()) && fits(one.key().kind()));
        found.cloned().ok_or_else(|| Rejected::KeyNotFound {
            reference: match locator {
                Some(locator) => locator.to_string(),
                None => match method {
                    KeyEvidence::Transport(transport) => {
                        format!("a private key of ours for {}", transport.algorithm)
                    }
                    KeyEvidence::Agreement(agreement) => {
                        format!("a private key of ours for {}", agreement.algorithm)
                    }
                },
            },
        })
    }

    pub(super) fn process_reference_list(
        &mut self,
        node: NodeId,
        buffers: &mut Buffers,
    ) -> Result<(), Rejected> {
        let limits = self.plan.demands.limits;
        let list = ReferenceList::parse(self.envelope.document.element(node), limits.references)?;
        self.count_references(list.data.len())?;
        let listed = self.listed(list.data.iter().map(String::as_str))?;
        self.decrypt_listed(listed, buffers, |opening, data| {
            let resolved = opening.symmetric_key(data.key_info, Purpose::Deciphering)?;
            let mut keys = opening.session_keys.iter_mut();
            if let Some(used) = keys.find(|key| Some(key.node) == resolved.token) {
                used.deciphers = true;
            }
            let origin = match (&resolved.holder, resolved.token) {
                (Signer::SessionKey(_), Some(token)) => CipherKey::Session(token),
                (Signer::Context { .. }, _) => CipherKey::Context,
                _ => CipherKey::Known,
            };
            let key = if origin == CipherKey::Context && !opening.plan.demands.derives_keys {
                let misused = |problem: String| Rejected::KeyMisused { problem };
                conversation::encryption_key(&resolved.key, data.method)
                    .map_err(|error| misused(error.to_string()))?
            } else {
                resolved.key
            };
            Ok(DecryptionKey { key, origin })
        })
    }

    /// Looks up what data references mean.
    fn listed<'l>(&self, uris: impl Iterator<Item = &'l str>) -> Result<Listed<'l>, Rejected> {
        let mut listed = Listed::default();
        for uri in uris {
            match self.encrypted_data(uri)? {
                Some(data) => listed.data.push(data),
                None => listed.hidden.push(uri),
            }
        }
        match listed.hidden.first() {
            // Nothing is left that could bring it to light.
            Some(uri) if listed.data.is_empty() => Err(not_found(uri)),
            _ => Ok(listed),
        }
    }

    /// Refuses a list of cipher text where the plan has none encrypted.
    fn expect_encryption(&self, listed: &Listed<'_>) -> Result<(), Rejected> {
        match (&self.plan.demands.encryption, listed.data.first()) {
            (None, Some(data)) => Err(Rejected::ElementUnexpected {
                element: expanded_name(self.envelope.document.element(data.node)),
            }),
            _ => Ok(()),
        }
    }

    /// Reads a list of cipher text apart from a key, before its turn.
    pub(super) fn read_reference_list(&mut self, node: NodeId) -> Result<(), Rejected> {
        self.lists_data = true;
        let limit = self.plan.demands.limits.references;
        let element = self.envelope.document.element(node);
        if self.plan.demands.encryption.is_none() {
            let list = ReferenceList::parse(element, limit)?;
            let listed = self.listed(list.data.iter().map(String::as_str))?;
            self.expect_encryption(&listed)?;
        } else if self.plan.demands.marks_cipher_text
            && let Ok(list) = ReferenceList::parse(element, limit)
        {
            // What is wrong with the list is said in its turn: its data may come to light before.
            for uri in &list.data {
                if let Ok(Some(data)) = self.encrypted_data(uri) {
                    self.mark_cipher_text(&data, &mut Vec::new())?;
                }
            }
        }
        Ok(())
    }

    /// Notes what a copy of cipher text is known by, where it is not noted yet.
    fn mark_cipher_text(
        &mut self,
        data: &EncryptedData,
        bytes: &mut Vec<u8>,
    ) -> Result<(), Rejected> {
        if !self.marked_ciphers.contains(&data.node) {
            data.ciphertext(&self.envelope.document, bytes)?;
            self.cipher_marks.push(marks::of_cipher_text(&[bytes]));
            self.marked_ciphers.push(data.node);
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
        self.expect_encryption(&listed)?;
        loop {
            for data in &listed.data {
                let key = key(self, data)?;
                self.decrypt(data, &key, buffers)?;
            }
            if listed.hidden.is_empty() {
                return Ok(());
            }
            listed = self.listed(listed.hidden.into_iter())?;
        }
    }

    /// The `EncryptedData` that a `DataReference` means, with an algorithm of the plan; `None` if
    /// the document does not have it, or not yet.
    fn encrypted_data(&self, uri: &str) -> Result<Option<EncryptedData>, Rejected> {
        let document = &self.envelope.document;
        let id = uri.strip_prefix('#').ok_or_else(|| not_found(uri))?;
        let Some(node) = document.by_id(id).map_err(|_| not_found(uri))? else {
            return Ok(None);
        };
        if !document.element(node).is(XENC, "EncryptedData") || document.element(node).is_replaced()
        {
            return Err(not_found(uri));
        }
        let data = EncryptedData::parse(document, node)?;
        let allowed = &self.plan.demands.suite.data;
        if !allowed.contains(&data.method) {
            return Err(not_allowed(
                AlgorithmUse::Data,
                data.method.uri(),
                allowed.iter().map(|one| one.short_name()),
            ));
        }
        Ok(Some(data))
    }

    fn decrypt(
        &mut self,
        data: &EncryptedData,
        DecryptionKey { key, origin }: &DecryptionKey,
        buffers: &mut Buffers,
    ) -> Result<(), Rejected> {
        self.note_weak(data.method.is_weak(), data.method.short_name())?;
        self.count_deciphered(data, *origin)?;
        self.deciphered = true;
        let document = &self.envelope.document;
        let element = document.element(data.node);
        if element.is_replaced() {
            return Err(EncryptionError::Failed.into());
        }
        if self.plan.demands.marks_cipher_text {
            // Cipher text that came to light is not marked yet.
            let mut bytes = buffers.take(0);
            self.mark_cipher_text(data, &mut bytes)?;
            buffers.give(bytes);
        }
        let document = &self.envelope.document;
        let element = document.element(data.node);
        let parent = element.parent().map(|parent| parent.id());
        let content = data.content_type == ContentType::Content;
        // Whether everything inside the parent was in this ciphertext.
        let whole = parent.is_some_and(|parent| {
            let parent = document.element(parent);
            parent.children().nth(1).is_none() && parent.text().trim().is_empty()
        });
        let grafted = data.decrypt(
            &mut self.envelope.document,
            key,
            &self.envelope.options,
            buffers,
        )?;
        if let Some(duplicate) = self.envelope.document.duplicate_id() {
            return Err(Rejected::Envelope(
                crate::envelope_error::EnvelopeError::DuplicateId(duplicate),
            ));
        }
        let step = self.next_step();
        self.note_signed_cipher(data.node);
        let document = &self.envelope.document;
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
        if let (true, true, Some(parent)) = (content, whole, parent) {
            self.evidence
                .encrypted
                .push(evidence(parent, Extent::Content));
        }
        if !content {
            for node in &nodes {
                self.evidence
                    .encrypted
                    .push(evidence(*node, Extent::Element));
            }
        }
        // Of what holds no element, there is nothing to ask for.
        if !nodes.is_empty() {
            self.grafts.push(Graft {
                encrypted_data: data.node,
                nodes,
            });
        }
        Ok(())
    }

    /// Bounds what a stranger can have deciphered: under CBC with one key, and without a verified
    /// signature no more than twice the bytes that the message has. Otherwise the sender of one
    /// captured cipher text chooses how much work follows it.
    fn count_deciphered(
        &mut self,
        data: &EncryptedData,
        origin: CipherKey,
    ) -> Result<(), Rejected> {
        if !data.method.is_authenticated() {
            let first = *self.deciphers_unauthenticated.get_or_insert(origin);
            if first != origin {
                return Err(Rejected::TooMany {
                    what: "keys that decipher cipher text without authentication",
                    limit: 1,
                });
            }
        }
        if self.is_authenticated {
            return Ok(());
        }
        let source = self.envelope.document.source(data.node);
        self.deciphered_bytes += source.map_or(0, <[u8]>::len);
        // Twice: cipher text may be inside of cipher text.
        let limit = self.message_bytes.saturating_mul(2);
        if self.deciphered_bytes > limit {
            return Err(Rejected::TooMany {
                what: "bytes of cipher text before anything is authenticated",
                limit,
            });
        }
        Ok(())
    }

    /// Notes what is deciphered after a signature that covers it: that signature is over the cipher
    /// text.
    fn note_signed_cipher(&mut self, data: NodeId) {
        let element = self.envelope.document.element(data);
        let around = element.ancestors().map(|holder| holder.id());
        let mut holders = std::iter::once(data).chain(around);
        let signatures = &self.evidence.signatures;
        if holders.any(|holder| signatures.iter().any(|one| one.covers(holder))) {
            self.signed_ciphers.push(data);
        }
    }
}

fn not_found(uri: &str) -> Rejected {
    Rejected::KeyNotFound {
        reference: format!("the data reference `{uri}`"),
    }
}
