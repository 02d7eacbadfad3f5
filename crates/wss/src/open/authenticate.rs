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

use foldhash::fast::RandomState;
use jiff::Timestamp;
use soapstone_xml::{Element, NodeId};
use soapstone_xmlsec::dsig::{Reference, Target, Transform};

use super::authentic::{Authentic, Proven};
use super::keyring::WrappedKey;
use super::message::Message;
use super::opening::Opening;
use super::signature::mark_of;
use crate::binding::ProtectionOrder;
use crate::digest;
use crate::evidence::SignatureRole;
use crate::freshness;
use crate::header::{ItemKind, SecurityHeader};
use crate::marks::{self, End};
use crate::names::XENC;
use crate::operation::Operation;
use crate::plan::KeySource;
use crate::rejected::Rejected;
use crate::token::ConfirmationMethod;

/// How long failed openings are remembered by the key that they tried. 258 messages give 16 bytes
/// of a CBC plaintext to whoever may try them all; at three tries a day they take 86 days.
pub(super) const FAILURES_REMEMBERED: Duration = Duration::from_secs(24 * 60 * 60);

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

impl Opening<'_> {
    /// Reads the header in the clear, verifies the values of its signatures, and notes the replay
    /// keys. Returns the keys that the message asks to decipher with.
    pub(super) fn authenticate(&mut self) -> Result<Vec<DecipheringKey>, Rejected> {
        self.message.check_sizes()?;
        self.expect_attachments()?;
        if self.message.demands().has_security {
            let is_right = |held: Element<'_>| held.is(XENC, "EncryptedData");
            let outcome = self.message.envelope.check_encrypted_headers(is_right);
            self.judge(outcome)?;
        }
        let Some(security) = self.message.security else {
            return Ok(Vec::new());
        };
        let header = SecurityHeader::read(self.message.element(security));
        let mut signatures = Vec::new();
        for item in header.items() {
            let outcome = self.read_in_the_clear(item.node, item.kind);
            if self.judge_item(item.node, item.kind, outcome)? == Some(true) {
                signatures.push(item.node);
            }
        }
        let mut items = header.items().iter();
        let hides_items = items.any(|item| {
            item.kind == ItemKind::EncryptedData && !self.is_hidden_assertion(item.node, item.kind)
        });
        let hides_assertion = self.keyring.hidden.is_some();
        if !hides_items {
            let outcome = self.comparison().items_before_decryption();
            self.judge(outcome)?;
            if self.message.demands().signature.is_some() && signatures.is_empty() {
                self.judge::<()>(Err(Rejected::SignatureMissing))?;
            }
        }
        let accepts_holder = self
            .message
            .demands()
            .assertion()
            .is_some_and(|one| one.accepts(ConfirmationMethod::HolderOfKey));
        let mut cipher_text = CipherText {
            hides_tokens: hides_items || hides_assertion,
            // The key inside of an assertion is its holder's.
            hides_keys: hides_items || hides_assertion && accepts_holder,
            is_listed: hides_items
                || header.has(ItemKind::ReferenceList)
                || !self.keyring.wrapped.is_empty(),
            holders: None,
        };
        self.items = header.into_items();
        for node in signatures {
            let outcome = self.authenticate_signature(node, &mut cipher_text);
            let authentic = self.judge_item(node, ItemKind::Signature, outcome)?;
            self.authentic.extend(authentic.flatten());
        }
        if !hides_items && !hides_assertion {
            // Its place may be inside of a signature.
            let outcome = self.comparison().check_assertion();
            self.judge(outcome)?;
        }
        let outcome = self.refuse_short_cipher_text();
        self.judge(outcome)?;
        self.budget.is_authenticated = !self.authentic.is_empty();
        Ok(self.mark_before_deciphering())
    }

    /// Reads a child of the header that was there when the message came; says whether it is a
    /// signature.
    fn read_in_the_clear(&mut self, node: NodeId, kind: ItemKind) -> Result<bool, Rejected> {
        match kind {
            _ if self.is_hidden_assertion(node, kind) => self.read_hidden_assertion(node)?,
            ItemKind::EncryptedKey => self.read_encrypted_key(node)?,
            // Judged when it is deciphered, or found not to be.
            ItemKind::EncryptedData => {}
            ItemKind::AttachmentData => self.read_attachment_data(node)?,
            ItemKind::ReferenceList => self.read_reference_list(node)?,
            ItemKind::Signature => {
                self.expect_signature(node)?;
                return Ok(true);
            }
            kind => self.read_item(node, kind)?,
        }
        Ok(false)
    }

    /// Verifies the value of a signature, and the digests of everything that it covers and that no
    /// cipher text is part of. `None` where its key may be in cipher text.
    fn authenticate_signature(
        &mut self,
        node: NodeId,
        cipher_text: &mut CipherText,
    ) -> Result<Option<Authentic>, Rejected> {
        let signature = self.parse_signature(node)?;
        let (by_secret, found) = match self.key_of_signature(&signature) {
            Err(Rejected::KeyNotFound { .. } | Rejected::CipherTextNotFound { .. })
                if cipher_text.hides_keys =>
            {
                return Ok(None);
            }
            found => found?,
        };
        self.budget.references(signature.references.len())?;
        self.observer.ended(Operation::Key);
        self.verify_value(&signature, &found)?;
        let early: Vec<bool> = signature
            .references
            .iter()
            .map(|reference| match self.attachments.referred(reference) {
                // One that is not there is refused at once.
                Some(found) => found.map_or(true, |at| !self.is_enciphered(at)),
                None => cipher_text.is_provable_early(&self.message, reference),
            })
            .collect();
        let proven = self.verify_references(&signature, &found.signer, |at| early[at])?;
        Ok(Some(Authentic {
            node,
            signature,
            found,
            by_secret,
            proven,
        }))
    }

    /// Notes what a copy of this message would be known by, as far as that can be told now.
    fn mark_before_deciphering(&mut self) -> Vec<DecipheringKey> {
        let end = self.end_before_deciphering();
        let signatures = self.authentic.iter();
        let signatures = signatures.map(|one| mark_of(&one.signature, &one.found.key));
        self.replay.mark(end, signatures);
        let salts = self.message.salts(&self.evidence.password_tokens);
        self.replay.mark(end, salts);
        if !self.budget.is_authenticated {
            // Nothing but their keys tells such messages from messages that a stranger has changed.
            let keys = self.keyring.wrapped.iter();
            let keys = keys.map(|key| marks::of_session_key(&key.sha1));
            self.replay.mark(end, keys);
        }
        self.replay.mark_ciphers(end);
        self.deciphering_keys(end.0)
    }

    /// Names the keys under which failed openings are counted. `until` is when the marks of this
    /// message end: anybody can make a message that nobody signed, with a key of its own, and
    /// the store has to hold what is counted.
    fn deciphering_keys(&self, until: Timestamp) -> Vec<DecipheringKey> {
        let limits = self.message.demands().limits;
        let is_authenticated = self.budget.is_authenticated;
        let long = freshness::later(self.message.now, FAILURES_REMEMBERED);
        let of_key = if is_authenticated { long } else { until };
        let counted = |wrapped: &WrappedKey, most_failures| DecipheringKey {
            name: digest::mark([b"deciphering key".as_slice(), &wrapped.wrapped.cipher_value]),
            most_failures,
            failures_until: of_key,
        };
        let keys = self.keyring.wrapped.iter();
        let keys = keys.map(|key| counted(key, limits.failed_openings));
        let mut found: Vec<DecipheringKey> = keys.collect();
        // An assertion comes in many messages, as does its cipher text: no mark tells a copy of it,
        // and a failure of a sender who is known is one of many messages.
        let most = match is_authenticated {
            true => limits.failed_openings_of_context,
            false => limits.failed_openings,
        };
        let hidden = self.keyring.hidden.iter();
        found.extend(hidden.map(|hidden| counted(&hidden.key, most)));
        if is_authenticated {
            return found;
        }
        let of_many_messages = |name| DecipheringKey {
            name,
            most_failures: limits.failed_openings_of_context,
            failures_until: long,
        };
        let demands = self.message.demands();
        if demands.deciphers_with(KeySource::Token) {
            let contexts = self.message.facts.contexts.iter().map(|context| {
                let instance = context.instance.as_deref().unwrap_or_default();
                let identifier = context.identifier.as_bytes();
                digest::mark([b"deciphering context", identifier, instance.as_bytes()])
            });
            found.extend(contexts.map(of_many_messages));
        }
        if demands.deciphers_with(KeySource::Kerberos) {
            let session = self.message.facts.kerberos.iter();
            let session = session
                .map(|session| digest::mark([b"deciphering kerberos".as_slice(), &session.sha1]));
            found.extend(session.map(of_many_messages));
        }
        if demands.deciphers_with(KeySource::Assertion) {
            let proof = self.keyring.proof.iter().map(|proof| {
                let wrapped = &proof.wrapped.wrapped.cipher_value;
                digest::mark([b"deciphering proof key".as_slice(), wrapped])
            });
            found.extend(proof.map(of_many_messages));
        }
        found
    }

    /// Until when a copy could be accepted, as far as signatures in the clear prove it.
    fn end_before_deciphering(&self) -> (Timestamp, End) {
        let message = &self.message;
        let demand = message.demands().timestamp;
        let by_life = marks::until(demand, self.evidence.freshness, message.now);
        let proven = |timestamp: NodeId| {
            let holders = self.plaintext.holders(message.document(), timestamp);
            let holders: Vec<NodeId> = holders.collect();
            self.authentic.iter().any(|one| {
                let proven = one.proven.iter().flatten();
                let nodes: Vec<NodeId> = proven.filter_map(Proven::node).collect();
                let role = message.role_of(&one.found.key, one.by_secret, &nodes);
                role == SignatureRole::Message && nodes.iter().any(|node| holders.contains(node))
            })
        };
        if self.evidence.timestamp.is_some_and(proven) {
            return (by_life, End::Proven);
        }
        // Nobody proves when the message ends, and its Timestamp may be in cipher text: created at
        // the end of the skew, it ends latest.
        let skew = demand.unwrap_or_default().skew;
        let latest = marks::until(demand, None, freshness::later(message.now, skew));
        let latest = freshness::later(latest, message.facts.clock.drift);
        (by_life.max(latest), End::Counted)
    }
}

/// Most elements of one that holds few, itself among them: a Timestamp, or the Body of a short
/// call.
const FEW: usize = 32;

/// Where cipher text is, before any of it is deciphered.
struct CipherText {
    /// Cipher text may hold a token that a transform dereferences.
    hides_tokens: bool,
    /// Cipher text may hold the key of a signature.
    hides_keys: bool,
    /// The header has what may list cipher text.
    is_listed: bool,
    /// Every element that is, or holds, cipher text, once a reference to an element that holds
    /// many asks for them.
    holders: Option<HashSet<NodeId, RandomState>>,
}

impl CipherText {
    /// Whether the digest of a reference is the same before and after decryption, or is to be that
    /// of cipher text.
    fn is_provable_early(&mut self, message: &Message<'_>, reference: &Reference) -> bool {
        let by_token = |transform: &Transform| matches!(transform, Transform::Other { .. });
        if self.hides_tokens && reference.transforms.iter().any(by_token) {
            return false;
        }
        let Ok(Target::Element { node, .. }) = reference.target(message.document()) else {
            // Cipher text may hold it. If none does, it is refused in its turn.
            return false;
        };
        let as_cipher_text = message.demands().order == ProtectionOrder::EncryptBeforeSigning;
        as_cipher_text || !self.may_hold_cipher_text(message, node)
    }

    /// Whether an element is, or holds, cipher text that may be deciphered. Where it holds few
    /// elements, they are looked at; whatever many references refer to is gathered once.
    fn may_hold_cipher_text(&mut self, message: &Message<'_>, node: NodeId) -> bool {
        if message.demands().encryption.is_none() || !self.is_listed {
            return false;
        }
        let is_cipher_text = |one: Element<'_>| one.is(XENC, "EncryptedData");
        let inside = || message.element(node).descendants();
        match inside().nth(FEW).is_none() {
            true => inside().any(is_cipher_text),
            false => self.holders(message).contains(&node),
        }
    }

    fn holders(&mut self, message: &Message<'_>) -> &HashSet<NodeId, RandomState> {
        self.holders.get_or_insert_with(|| {
            let mut holders = HashSet::default();
            for data in message.document().elements_named(XENC, "EncryptedData") {
                // The elements around one that is known are known.
                let mut around = std::iter::once(data).chain(data.ancestors());
                while around.next().is_some_and(|one| holders.insert(one.id())) {}
            }
            holders
        })
    }
}

impl Message<'_> {
    /// Bounds what precedes the first verified signature: a large header is work that the sender of
    /// one captured cipher text chooses.
    fn check_sizes(&self) -> Result<(), Rejected> {
        if self.security.is_none() {
            return Ok(());
        }
        let document = self.document();
        let header = self.envelope.header();
        let source = header.and_then(|header| document.source(header.id()));
        let limit = self.demands().limits.header_bytes();
        if source.is_some_and(|source| source.len() > limit) {
            return Err(Rejected::TooMany {
                what: "bytes of `soap:Header`",
                limit,
            });
        }
        Ok(())
    }
}
