//! Keys that somebody on the way may have chosen: a signature covers cipher text, and not the
//! `xenc:EncryptedKey` that deciphers it, which anybody can wrap.
//!
//! The one rule: under such a key cipher text is not short ([`least_bytes`]). What stands in the
//! clear is refused before a key deciphers anything. What cipher text brought, or a signature that
//! it hid, is refused in the end, as if deciphering had failed.

use std::collections::{HashMap, HashSet};

use foldhash::fast::RandomState;
use soapstone_xml::NodeId;
use soapstone_xmlsec::enc::{EncryptedData, ReferenceList};

use super::authentic::Proven;
use super::cipher_text::KeyedData;
use super::opening::Opening;
use crate::envelope::expanded_name;
use crate::evidence::CipherKey;
use crate::header::ItemKind;
use crate::key_locator::KeyLocator;
use crate::rejected::Rejected;
use crate::short_cipher_text::{SHORT_CIPHER_TEXT, least_bytes};
use crate::token;

/// Elements, of which none is there twice.
type Nodes = HashSet<NodeId, RandomState>;

impl Opening<'_> {
    /// Refuses short cipher text that the header lists, before anything is deciphered. Everybody
    /// sees how long it is.
    pub(super) fn refuse_short_cipher_text(&mut self) -> Result<(), Rejected> {
        if !self.message.demands().lets_choose_keys {
            return Ok(());
        }
        // All lists were counted as they were read. An explanation goes on after too many.
        self.budget.references(0)?;
        let mut listed = self.listed_in_the_clear();
        listed.retain(|one| self.is_short(&one.data));
        self.judge_keys(&listed)
    }

    /// Notes short cipher text that is about to be deciphered.
    pub(super) fn note_short_cipher_text(&mut self, data: &EncryptedData, key: CipherKey) {
        // Other keys are chosen by no message.
        let CipherKey::Session(key) = key else {
            return;
        };
        if self.message.demands().lets_choose_keys && self.is_short(data) {
            self.short_cipher_text.push(KeyedData {
                data: data.clone(),
                keys: vec![key],
                names_key: false,
            });
        }
    }

    /// Refuses short cipher text that was deciphered, now that all signatures are known.
    pub(super) fn judge_deciphered_keys(&mut self) -> Result<(), Rejected> {
        let deciphered = std::mem::take(&mut self.short_cipher_text);
        self.judge_keys(&deciphered)
    }

    /// The cipher text that the header lists, as far as it is there already, each once.
    fn listed_in_the_clear(&self) -> Vec<KeyedData> {
        let message = &self.message;
        let limit = message.demands().limits.references;
        // By reference, with the key whose list has it.
        let mut references: HashMap<String, Vec<Option<NodeId>>, RandomState> = HashMap::default();
        for key in &self.keyring.wrapped {
            for uri in &key.wrapped.data_references {
                let lists = references.entry(uri.clone()).or_default();
                lists.push(Some(key.wrapped.node));
            }
        }
        let items = self.items.iter();
        for item in items.filter(|item| item.kind == ItemKind::ReferenceList) {
            // What is wrong with a list is said in its turn.
            if let Ok(list) = ReferenceList::parse(message.element(item.node), limit) {
                for uri in list.data {
                    references.entry(uri).or_default().push(None);
                }
            }
        }
        // What is wrong with a reference is said in its turn, too.
        let data = references.into_iter().filter_map(|(uri, lists)| {
            let data = message.encrypted_data(&uri).ok().flatten()?;
            Some(KeyedData {
                data,
                names_key: lists.contains(&None),
                keys: lists.into_iter().flatten().collect(),
            })
        });
        let mut listed: Vec<KeyedData> = data.collect();
        // One may have several ids.
        listed.sort_by_key(|one| one.data.node);
        listed.dedup_by(|next, one| {
            let is_same = next.data.node == one.data.node;
            if is_same {
                one.keys.append(&mut next.keys);
                one.names_key |= next.names_key;
            }
            is_same
        });
        listed
    }

    fn is_short(&self, data: &EncryptedData) -> bool {
        let least = least_bytes(data.method, &data.content_type);
        let is_enough = data.has_ciphertext_of(self.message.document(), least);
        !is_enough.unwrap_or(false)
    }

    /// Refuses, or notes, what a signature covers as cipher text, and without the key.
    fn judge_keys(&mut self, short: &[KeyedData]) -> Result<(), Rejected> {
        if short.is_empty() {
            return Ok(());
        }
        let signed = self.signed_nodes();
        let mut unbound = short.iter().filter(|one| !self.binds_key(&signed, one));
        let Some(KeyedData { data, .. }) = unbound.next() else {
            return Ok(());
        };
        if self.message.demands().accepts_short_cipher_text {
            let evidence = &mut self.evidence;
            return self.message.note_weak(evidence, true, SHORT_CIPHER_TEXT);
        }
        let holder = self.message.element(data.node).parent();
        Err(Rejected::ShortCipherText {
            element: holder.map_or_else(String::new, expanded_name),
            least: least_bytes(data.method, &data.content_type),
        })
    }

    /// Whether every signature over the cipher text is over the key as well: over each that may
    /// decipher it, and over what says how another one is derived from that. Keys beside these
    /// decipher something else, or nothing.
    fn binds_key(
        &self,
        signed: &[Nodes],
        KeyedData {
            data,
            keys,
            names_key,
        }: &KeyedData,
    ) -> bool {
        let document = self.message.document();
        let covers = |nodes: &Nodes, node: NodeId| {
            let mut holders = self.plaintext.holders(document, node);
            holders.any(|holder| nodes.contains(&holder))
        };
        let mut over_data = signed.iter().filter(|nodes| covers(nodes, data.node));
        let Some(first) = over_data.next() else {
            return true;
        };
        let derivation = self.derivation_of(data);
        let mut keys: Vec<NodeId> = keys.iter().copied().chain(derivation).collect();
        if *names_key {
            keys.extend(self.named_keys(data, derivation));
        }
        let mut over_data = std::iter::once(first).chain(over_data);
        over_data.all(|nodes| keys.iter().all(|key| covers(nodes, *key)))
    }

    /// The `EncryptedKey`s that cipher text names, or the token by which its key is derived. One
    /// name may mean several: those with the same cipher text.
    fn named_keys(&self, data: &EncryptedData, derivation: Option<NodeId>) -> Vec<NodeId> {
        let message = &self.message;
        let locator = match derivation {
            Some(token) => {
                token::derived_from(message.element(token)).and_then(KeyLocator::read_reference)
            }
            None => match data.key_info {
                Some(info) => KeyLocator::read(message.element(info)),
                None => return Vec::new(),
            },
        };
        // One that names no key of the header deciphers nothing.
        let wrapped = self.keyring.wrapped.iter();
        let named = wrapped.filter(|key| match &locator {
            Ok(KeyLocator::Token(id)) => message.named(id) == Some(key.wrapped.node),
            Ok(KeyLocator::EncryptedKeySha1(sha1)) => key.sha1.as_slice() == sha1.as_slice(),
            _ => false,
        });
        named.map(|key| key.wrapped.node).collect()
    }

    /// The token that says how the key of cipher text is derived. A derivation without a token is
    /// part of the cipher text's own `ds:KeyInfo`.
    fn derivation_of(&self, data: &EncryptedData) -> Option<NodeId> {
        let message = &self.message;
        let info = message.element(data.key_info?);
        let KeyLocator::Token(id) = KeyLocator::read(info).ok()? else {
            return None;
        };
        let token = message.named(&id)?;
        token::is_derived_key(message.element(token)).then_some(token)
    }

    /// The nodes that each signature covers: of one whose turn has not come, those that it covers
    /// as they came. Who signs a signature signs whatever that one covers.
    fn signed_nodes(&self) -> Vec<Nodes> {
        let processed = self.evidence.signatures.iter();
        let processed = processed.map(|one| (one.node, one.nodes.clone()));
        let waiting = self.authentic.iter().map(|one| {
            let proven = one.proven.iter().flatten();
            (one.node, proven.filter_map(Proven::node).collect())
        });
        let all: Vec<(NodeId, Vec<NodeId>)> = processed.chain(waiting).collect();
        let with_those_of_signed = |nodes: &Vec<NodeId>| {
            let signed = all.iter().filter(|(node, _)| nodes.contains(node));
            let theirs = signed.flat_map(|(_, theirs)| theirs);
            nodes.iter().chain(theirs).copied().collect()
        };
        all.iter()
            .map(|(_, nodes)| with_those_of_signed(nodes))
            .collect()
    }
}
