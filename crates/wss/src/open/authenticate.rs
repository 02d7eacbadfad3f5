//! What a message shows before anything of it is deciphered: its header items in the clear, the
//! values of its signatures, its replay keys.
//!
//! The rule kept here: a captured message is dangerous because its cipher text can be deciphered
//! again and again. So whatever a signature in the clear proves is proven first, and its replay key
//! is known first. A copy, an old message and a message without the signature that the plan demands
//! are refused before a key deciphers anything (Jager and Somorovsky, How to Break XML Encryption,
//! 2011).

use std::collections::HashSet;
use std::time::Duration;

use jiff::Timestamp;
use soapstone_xml::{Element, NodeId};
use soapstone_xmlsec::dsig::{Reference, Signature, Target, Transform};

use super::Opening;
use super::signature::{Found, Proven};
use crate::binding::{KeyBinding, ProtectionOrder};
use crate::digest;
use crate::envelope::expanded_name;
use crate::evidence::{End, SignatureRole, Signer};
use crate::freshness;
use crate::marks;
use crate::names::XENC;
use crate::operation::Operation;
use crate::plan::Item;
use crate::rejected::Rejected;

/// How long failed openings are remembered by the key that they tried. 258 messages give 16 bytes
/// of a CBC plaintext to whoever may try them all; at three tries a day they take 86 days.
const FAILURES_REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);

/// A key that a message asks to decipher with, by a name that does not tell the key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecipheringKey {
    /// SHA-256 over what identifies it.
    pub name: [u8; 32],
    /// How many failed openings are accepted. The next message that names the key is refused
    /// unread.
    pub most_failures: u32,
    /// Until when a failed opening counts.
    pub failures_until: Timestamp,
}

/// A signature in the clear whose value verified.
pub(super) struct Authentic {
    pub(super) node: NodeId,
    pub(super) signature: Signature,
    pub(super) found: Found,
    pub(super) by_context: bool,
    /// What each reference proves, where it was digested before anything was deciphered.
    pub(super) proven: Vec<Option<Proven>>,
}

impl Opening<'_> {
    /// Reads the header in the clear, verifies the values of its signatures, and notes the replay
    /// keys.
    pub(super) fn authenticate(&mut self, security: Option<NodeId>) -> Result<(), Rejected> {
        self.check_sizes(security)?;
        if self.plan.demands.has_security {
            let is_right = |held: Element<'_>| held.is(XENC, "EncryptedData");
            self.envelope.check_encrypted_headers(is_right)?;
        }
        let Some(security) = security else {
            return Ok(());
        };
        let children = self.envelope.document.element(security).children();
        let children: Vec<NodeId> = children.map(|child| child.id()).collect();
        let mut signatures = Vec::new();
        for child in children {
            if self.read_in_the_clear(child)? {
                signatures.push(child);
            }
        }
        if !self.hides_items {
            self.compare_items()?;
            if self.plan.demands.signature.is_some() && signatures.is_empty() {
                return Err(Rejected::SignatureMissing);
            }
        }
        for node in signatures {
            self.current = Some(node);
            if let Some(authentic) = self.authenticate_signature(node)? {
                self.authentic.push(authentic);
            }
        }
        self.is_authenticated = !self.authentic.is_empty();
        self.current = None;
        self.mark_before_deciphering();
        Ok(())
    }

    /// Reads a child of the header that was there when the message came; says whether it is a
    /// signature.
    fn read_in_the_clear(&mut self, node: NodeId) -> Result<bool, Rejected> {
        self.current = Some(node);
        let element = self.envelope.document.element(node);
        match self.plan.demands.item(element) {
            Some(Item::EncryptedKey) => self.read_encrypted_key(node)?,
            // Judged when it is deciphered, or found not to be.
            Some(Item::EncryptedData) => self.hides_items = true,
            Some(Item::ReferenceList) => self.read_reference_list(node)?,
            Some(Item::Signature) => {
                self.expect_signature(node)?;
                return Ok(true);
            }
            item => self.read_item(node, item)?,
        }
        Ok(false)
    }

    /// Reads what needs no key of the message: a time, a user, a confirmation, a token for others
    /// to refer to.
    pub(super) fn read_item(&mut self, node: NodeId, item: Option<Item>) -> Result<(), Rejected> {
        match item {
            Some(Item::Timestamp) => self.process_timestamp(node),
            Some(Item::Username) => self.process_username(node),
            // Read when something refers to it.
            Some(Item::Token) => self.count_token(),
            Some(Item::Confirmation) => self.process_confirmation(node),
            _ => Err(Rejected::ElementUnexpected {
                element: expanded_name(self.envelope.document.element(node)),
            }),
        }
    }

    /// Verifies the value of a signature, and the digests of everything that it covers and that no
    /// cipher text is part of. `None` where its key may be in cipher text.
    fn authenticate_signature(&mut self, node: NodeId) -> Result<Option<Authentic>, Rejected> {
        let signature = self.parse_signature(node)?;
        let (by_context, found) = match self.key_of_signature(&signature) {
            Err(Rejected::KeyNotFound { .. }) if self.hides_items => return Ok(None),
            found => found?,
        };
        self.count_references(signature.references.len())?;
        self.observer.ended(Operation::Key);
        self.verify_value(&signature, &found.key)?;
        let early: Vec<bool> = signature
            .references
            .iter()
            .map(|reference| self.is_provable_early(reference))
            .collect();
        let proven = self.verify_references(&signature, &found.signer, |at| early[at])?;
        Ok(Some(Authentic {
            node,
            signature,
            found,
            by_context,
            proven,
        }))
    }

    /// Whether the digest of a reference is the same before and after decryption, or is to be that
    /// of cipher text.
    fn is_provable_early(&mut self, reference: &Reference) -> bool {
        let by_token = |transform: &Transform| matches!(transform, Transform::Other { .. });
        if self.hides_items && reference.transforms.iter().any(by_token) {
            return false;
        }
        let Ok(Target::Element { node, .. }) = reference.target(&self.envelope.document) else {
            // Cipher text may hold it. If none does, it is refused in its turn.
            return false;
        };
        let as_cipher_text = self.plan.demands.order == ProtectionOrder::EncryptBeforeSigning;
        as_cipher_text || !self.holders_of_cipher_text().contains(&node)
    }

    /// Every element that is, or holds, cipher text that may be deciphered.
    fn holders_of_cipher_text(&mut self) -> &HashSet<NodeId> {
        let may_decipher = self.plan.demands.encryption.is_some()
            && (self.hides_items || self.lists_data || !self.wrapped_keys.is_empty());
        let document = &self.envelope.document;
        self.cipher_holders.get_or_insert_with(|| {
            let mut holders = HashSet::new();
            if !may_decipher {
                return holders;
            }
            for data in document.elements_named(XENC, "EncryptedData") {
                // The elements around one that is known are known.
                let mut around = std::iter::once(data).chain(data.ancestors());
                while around.next().is_some_and(|one| holders.insert(one.id())) {}
            }
            holders
        })
    }

    /// Notes what a copy of this message would be known by, as far as that can be told now.
    fn mark_before_deciphering(&mut self) {
        let end = self.end_before_deciphering();
        let signatures: Vec<[u8; 32]> = self
            .authentic
            .iter()
            .map(|one| mark_of(&one.signature, &one.found.signer))
            .collect();
        self.marks.extend(marks::ending(end, signatures));
        if !self.is_authenticated {
            // Nothing but their keys tells such messages from messages that a stranger has changed.
            let keys = self.wrapped_keys.iter();
            let keys = keys.map(|key| marks::of_session_key(&key.sha1));
            self.marks.extend(marks::ending(end, keys));
        }
        self.marks
            .extend(marks::ending(end, self.cipher_marks.drain(..)));
        self.name_deciphering_keys(end.0);
    }

    /// Names the keys under which failed openings are counted. `until` is when the marks of this
    /// message end: anybody can make a message that nobody signed, with a key of its own, and
    /// the store has to hold what is counted.
    fn name_deciphering_keys(&mut self, until: Timestamp) {
        let limits = self.plan.demands.limits;
        let long = freshness::later(self.now, FAILURES_REMEMBERED);
        let of_key = if self.is_authenticated { long } else { until };
        let keys = self.wrapped_keys.iter().map(|key| DecipheringKey {
            name: digest::mark([b"deciphering key".as_slice(), &key.wrapped.cipher_value]),
            most_failures: limits.failed_openings,
            failures_until: of_key,
        });
        let by_context =
            !self.is_authenticated && self.plan.demands.deciphers_with(KeyBinding::Context);
        let contexts = self.facts.contexts.iter().filter(|_| by_context);
        let contexts = contexts.map(|context| {
            let instance = context.instance.as_deref().unwrap_or_default();
            let identifier = context.identifier.as_bytes();
            DecipheringKey {
                name: digest::mark([b"deciphering context", identifier, instance.as_bytes()]),
                most_failures: limits.failed_openings_of_context,
                failures_until: long,
            }
        });
        self.deciphering_keys = keys.chain(contexts).collect();
    }

    /// Until when a copy could be accepted, as far as signatures in the clear prove it.
    fn end_before_deciphering(&self) -> (Timestamp, End) {
        let demand = self.plan.demands.timestamp;
        let by_life = marks::until(demand, self.evidence.freshness, self.now);
        let proven = |timestamp: NodeId| {
            let holders: Vec<NodeId> = self.holders(timestamp).collect();
            self.authentic.iter().any(|one| {
                let proven = one.proven.iter().flatten();
                let nodes: Vec<NodeId> = proven.filter_map(Proven::node).collect();
                let role = self.role_of(&one.found.key, one.by_context, &nodes);
                role == SignatureRole::Message && nodes.iter().any(|node| holders.contains(node))
            })
        };
        if self.timestamp.is_some_and(proven) {
            return (by_life, End::Proven);
        }
        // Nobody proves when the message ends, and its Timestamp may be in cipher text: created at
        // the end of the skew, it ends latest.
        let skew = demand.unwrap_or_default().skew;
        let latest = marks::until(demand, None, freshness::later(self.now, skew));
        (by_life.max(latest), End::Counted)
    }

    /// Bounds what precedes the first verified signature: a large header is work that the sender of
    /// one captured cipher text chooses.
    fn check_sizes(&self, security: Option<NodeId>) -> Result<(), Rejected> {
        if security.is_none() {
            return Ok(());
        }
        let document = &self.envelope.document;
        let header = self.envelope.header();
        let source = header.and_then(|header| document.source(header.id()));
        let limit = self.plan.demands.limits.header_bytes();
        if source.is_some_and(|source| source.len() > limit) {
            return Err(Rejected::TooMany {
                what: "bytes of `soap:Header`",
                limit,
            });
        }
        Ok(())
    }
}

/// What a copy of a signed message is known by.
pub(super) fn mark_of(signature: &Signature, signer: &Signer) -> [u8; 32] {
    match signer {
        // Its key: no signature need cover which certificate is named, and another one for the same
        // key, the one before a renewal, would make another message of a copy.
        Signer::Certificate(certificate) => {
            let references = signature.references.iter();
            let digests = references.map(|reference| reference.digest_value.as_ref());
            marks::of_signature(certificate.public_key().key_bits(), digests)
        }
        _ => marks::of_code(&signature.value),
    }
}
