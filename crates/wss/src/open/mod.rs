//! Opening a message: what stands in the clear is authenticated, then the `wsse:Security` header is
//! processed in its order, then what was proven is compared with the plan.
//!
//! ```text
//! plan.authenticate ─▶ Authenticated ─ replay keys known ─▶ open ─▶ Opened
//!                   ─ late replay keys known ─▶ admit ─▶ Verified
//! ```
//!
//! Every step looks up nodes of one tree. A signature proves nodes; the comparison asks whether the
//! node that stands in the place the plan speaks of is among them. Neither names nor ids decide
//! anything, which is what makes signature wrapping (McIntosh and Austel 2005) fruitless.

mod agreed;
mod authenticate;
mod compare;
mod decrypt;
mod dereference;
mod endorsement;
mod keys;
mod recognition;
mod signature;
mod tokens;

use std::collections::HashSet;
use std::sync::Arc;

use jiff::Timestamp;
use soapstone_crypto::{Certificate, SymmetricKey};
use soapstone_xml::{Buffers, NodeId};
use soapstone_xmlsec::dsig::Scratch;

use self::authenticate::Authentic;
pub use self::authenticate::DecipheringKey;
use self::decrypt::WrappedKey;
use self::keys::Derived;
use crate::confirmation;
use crate::conversation::SecurityContext;
use crate::envelope::{Envelope, expanded_name};
use crate::evidence::{CipherKey, Evidence, FirstSeen, Opened};
use crate::facts::{Facts, Receipt};
use crate::freshness::{self, TimestampPolicy};
use crate::marks::{self, End, Mark};
use crate::operation::{Operation, OperationObserver};
use crate::plan::{InboundPlan, Item};
use crate::rejected::Rejected;
use crate::tuning::Buffering;
use crate::username::UsernameToken;

/// A session key that an `EncryptedKey` of this message carried.
struct SessionKey {
    node: NodeId,
    sha1: [u8; 20],
    key: SymmetricKey,
    /// Something of the message was deciphered with it.
    deciphers: bool,
}

/// Where a graft came from: the nodes that took the place of an `EncryptedData`.
struct Graft {
    encrypted_data: NodeId,
    /// Ascending, and behind those of the grafts before.
    nodes: Vec<NodeId>,
}

/// One message being opened.
struct Opening<'p> {
    plan: &'p InboundPlan,
    facts: &'p Facts,
    now: Timestamp,
    envelope: Envelope,
    evidence: Evidence,
    marks: Vec<Mark>,
    scratch: Scratch,
    session_keys: Vec<SessionKey>,
    /// The `EncryptedKey` whose key signs and encrypts, where the plan has one key do both.
    session_key_in_use: Option<NodeId>,
    /// Marks of cipher texts, where nothing is signed and no key is wrapped.
    cipher_marks: Vec<[u8; 32]>,
    /// The `EncryptedData` that they are of, and those of marks that were taken before.
    marked_ciphers: Vec<NodeId>,
    grafts: Vec<Graft>,
    /// `EncryptedData` that was deciphered, and that a signature covers as cipher text.
    signed_ciphers: Vec<NodeId>,
    /// Something was deciphered, or tried to be.
    deciphered: bool,
    timestamp: Option<NodeId>,
    username: Option<NodeId>,
    signatures: Vec<NodeId>,
    /// Tokens of the message's signature, and `ds:KeyInfo` elements that hold the certificate
    /// themselves.
    signing_tokens: Vec<NodeId>,
    confirmations: Vec<NodeId>,
    confirmed: Vec<Option<Vec<u8>>>,
    /// The security context that keys come from.
    context: Option<SecurityContext>,
    /// Keys that were derived from it for this message.
    derived: Vec<Derived>,
    /// The child of the header that is being processed.
    current: Option<NodeId>,
    /// Which element of the header uses which token.
    uses: Vec<(NodeId, NodeId)>,
    signature_values: Vec<Vec<u8>>,
    /// `EncryptedKey` elements of the message, as they were read.
    wrapped_keys: Vec<Arc<WrappedKey>>,
    /// Signatures whose turn has not come, and whose value verified.
    authentic: Vec<Authentic>,
    /// Elements that are or hold cipher text, once somebody asked for them.
    cipher_holders: Option<HashSet<NodeId>>,
    /// The header has cipher text among its items.
    hides_items: bool,
    /// The header has a list of cipher text apart from its keys.
    lists_data: bool,
    /// A signature in the clear verified. It is made with a key that strangers do not have, or
    /// with the one session key that deciphers.
    is_authenticated: bool,
    deciphering_keys: Vec<DecipheringKey>,
    /// The one key that deciphers cipher text without authentication.
    deciphers_unauthenticated: Option<CipherKey>,
    /// Bytes of cipher text that were deciphered without a verified signature.
    deciphered_bytes: usize,
    /// Of the message as it came.
    message_bytes: usize,
    /// Replay keys of what cipher text held.
    late_marks: Vec<[u8; 32]>,
    signature_count: usize,
    tokens: usize,
    references: usize,
    /// Counts signatures and decryptions, so that their order can be compared with the plan's.
    step: u32,
    observer: &'p mut dyn OperationObserver,
}

/// A message whose signatures in the clear verified, and of which nothing is deciphered yet.
///
/// It is opened on the word of a replay cache only: a captured message gives nobody a try at its
/// cipher text.
pub struct Authenticated<'p> {
    opening: Opening<'p>,
    security: Option<NodeId>,
}

impl Authenticated<'_> {
    /// What the replay cache is asked about before anything is deciphered. A message that is
    /// refused afterwards stays known: whoever changed it on its way could have dropped it as
    /// well.
    pub fn marks(&self) -> &[Mark] {
        &self.opening.marks
    }

    /// The keys that the message asks to decipher with, where failed openings are counted.
    pub fn deciphering_keys(&self) -> &[DecipheringKey] {
        &self.opening.deciphering_keys
    }

    /// Opens the message: deciphers, checks references, compares with the plan.
    ///
    /// # Errors
    /// Why the message is refused; see [`Rejected::fault`] for what may be told to the peer. From
    /// the first decryption on all reasons are one to everybody but the operator.
    pub fn open(self, first_seen: &FirstSeen, buffers: &mut Buffers) -> Result<Opened, Rejected> {
        first_seen.vouch_for(self.marks())?;
        self.opening.run(self.security, buffers)
    }
}

impl InboundPlan {
    /// Verifies what can be verified of a message before anything of it is deciphered. Pure: no
    /// clock but `now`.
    ///
    /// # Errors
    /// Why the message is refused; see [`Rejected::fault`] for what may be told to the peer.
    pub fn authenticate<'p>(
        &'p self,
        envelope: Envelope,
        facts: &'p Facts,
        now: Timestamp,
        buffers: &mut Buffers,
        observer: &'p mut dyn OperationObserver,
    ) -> Result<Authenticated<'p>, Rejected> {
        let tuning = &self.demands.tuning;
        let mut scratch = Scratch::reusing(buffers);
        scratch.canonical_runs = tuning.canonical_runs;
        scratch.on_demand = tuning.on_demand;
        scratch.collects = tuning.buffering == Buffering::Buffered;
        let message_bytes = envelope.document.bytes().len();
        let mut opening = Opening {
            plan: self,
            facts,
            now,
            envelope,
            evidence: Evidence::default(),
            marks: Vec::new(),
            scratch,
            session_keys: Vec::new(),
            session_key_in_use: None,
            cipher_marks: Vec::new(),
            marked_ciphers: Vec::new(),
            grafts: Vec::new(),
            signed_ciphers: Vec::new(),
            deciphered: false,
            timestamp: None,
            username: None,
            signatures: Vec::new(),
            signing_tokens: Vec::new(),
            confirmations: Vec::new(),
            confirmed: Vec::new(),
            context: None,
            derived: Vec::new(),
            current: None,
            uses: Vec::new(),
            signature_values: Vec::new(),
            wrapped_keys: Vec::new(),
            authentic: Vec::new(),
            cipher_holders: None,
            hides_items: false,
            lists_data: false,
            is_authenticated: false,
            deciphering_keys: Vec::new(),
            deciphers_unauthenticated: None,
            deciphered_bytes: 0,
            message_bytes,
            late_marks: Vec::new(),
            signature_count: 0,
            tokens: 0,
            references: 0,
            step: 0,
            observer,
        };
        let security = opening.security_header()?;
        opening.authenticate(security)?;
        Ok(Authenticated { opening, security })
    }

    /// [Authenticates](Self::authenticate) a message and opens it although no replay cache was
    /// asked: for measurements and tests. Behind a network it would let everybody who has a
    /// captured message try its cipher text again and again.
    ///
    /// # Errors
    /// As [`authenticate`](Self::authenticate) and [`Authenticated::open`].
    pub fn open_unmarked(
        &self,
        envelope: Envelope,
        facts: &Facts,
        now: Timestamp,
        buffers: &mut Buffers,
    ) -> Result<Opened, Rejected> {
        let mut nobody = ();
        let authenticated = self.authenticate(envelope, facts, now, buffers, &mut nobody)?;
        let first_seen = FirstSeen::assertion(authenticated.marks());
        authenticated.open(&first_seen, buffers)
    }
}

impl Opening<'_> {
    fn run(mut self, security: Option<NodeId>, buffers: &mut Buffers) -> Result<Opened, Rejected> {
        let known_marks = self.marks.len();
        match self.process_header_and_compare(security, buffers) {
            Ok(blocks) => {
                self.keep_derived_keys();
                let receipt = self.receipt();
                self.scratch.recycle(buffers);
                Ok(Opened {
                    envelope: self.envelope,
                    evidence: self.evidence,
                    marks: self.marks,
                    known_marks,
                    receipt,
                    blocks,
                    inherits: self.plan.demands.covers_inherited,
                    deciphered: self.deciphered,
                })
            }
            Err(rejected) => Err(rejected.after(self.deciphered)),
        }
    }

    /// Processes the header and compares what was proven with the plan; returns the header blocks
    /// to pass on.
    fn process_header_and_compare(
        &mut self,
        security: Option<NodeId>,
        buffers: &mut Buffers,
    ) -> Result<Vec<NodeId>, Rejected> {
        if let Some(security) = security {
            let mut next = self
                .envelope
                .document
                .element(security)
                .first_child()
                .map(|child| child.id());
            while let Some(node) = next {
                self.process(node, buffers)?;
                // Asked anew each time: decryption may have put other elements in the place of this
                // one's followers.
                next = self.after(node);
            }
        }
        self.compare(security)?;
        self.mark_what_was_hidden();
        let blocks = self.blocks_to_pass_on(security);
        self.observer.ended(Operation::Other);
        blocks
    }

    /// The `wsse:Security` header to process.
    fn security_header(&self) -> Result<Option<NodeId>, Rejected> {
        let demands = &self.plan.demands;
        let mut headers = self.envelope.security_headers(demands.actor.as_deref());
        let first = headers.next();
        if headers.next().is_some() {
            return Err(Rejected::SecurityDuplicated);
        }
        match first {
            None if self.demands_header() => Err(Rejected::SecurityMissing),
            None => Ok(None),
            Some(header) if !demands.has_security => {
                if self.envelope.must_understand(header) {
                    return Err(Rejected::SecurityUnexpected);
                }
                Ok(None)
            }
            Some(header) => Ok(Some(header.id())),
        }
    }

    fn demands_header(&self) -> bool {
        let demands = &self.plan.demands;
        demands.requires_header || demands.confirms && self.facts.request.is_some()
    }

    /// The next child of the header after `node`, or after what took the place of `node`.
    fn after(&self, node: NodeId) -> Option<NodeId> {
        let last = self
            .grafts
            .iter()
            .find(|graft| graft.encrypted_data == node)
            .and_then(|graft| graft.nodes.last().copied());
        self.envelope
            .document
            .element(last.unwrap_or(node))
            .next_sibling()
            .map(|next| next.id())
    }

    /// The graft that brought `node`. There may be many nodes to ask for, and as many that were
    /// brought.
    fn graft_of(&self, node: NodeId) -> Option<&Graft> {
        let first_behind = |graft: &Graft| graft.nodes.first().is_some_and(|first| *first <= node);
        let behind = self.grafts.partition_point(first_behind);
        let graft = self.grafts[..behind].last()?;
        graft.nodes.binary_search(&node).is_ok().then_some(graft)
    }

    fn process(&mut self, node: NodeId, buffers: &mut Buffers) -> Result<(), Rejected> {
        self.current = Some(node);
        let element = self.envelope.document.element(node);
        match self.plan.demands.item(element) {
            Some(Item::EncryptedKey) => {
                self.observer.ended(Operation::Other);
                let processed = self.process_encrypted_key(node, buffers);
                self.observer.ended(Operation::Encryption);
                processed
            }
            Some(Item::ReferenceList) => {
                self.observer.ended(Operation::Other);
                let processed = self.process_reference_list(node, buffers);
                self.observer.ended(Operation::Encryption);
                processed
            }
            Some(Item::Signature) => self.process_signature(node),
            // The others were read before anything was deciphered.
            item if self.graft_of(node).is_some() || item == Some(Item::EncryptedData) => {
                self.read_item(node, item)
            }
            _ => Ok(()),
        }
    }

    fn process_confirmation(&mut self, node: NodeId) -> Result<(), Rejected> {
        let limit = self.plan.demands.limits.signatures;
        if self.confirmations.len() == limit {
            return Err(Rejected::TooMany {
                what: "`wsse11:SignatureConfirmation`",
                limit,
            });
        }
        self.confirmations.push(node);
        let value = confirmation::read(self.envelope.document.element(node))?;
        self.confirmed.push(value);
        Ok(())
    }

    fn process_timestamp(&mut self, node: NodeId) -> Result<(), Rejected> {
        if self.timestamp.replace(node).is_some() {
            return Err(Rejected::TimestampDuplicated);
        }
        let TimestampPolicy { ttl, skew, .. } = self.plan.demands.timestamp.unwrap_or_default();
        self.evidence.freshness = Some(freshness::read(
            self.envelope.document.element(node),
            ttl,
            skew,
            self.now,
        )?);
        Ok(())
    }

    fn process_username(&mut self, node: NodeId) -> Result<(), Rejected> {
        self.count_token()?;
        let element = self.envelope.document.element(node);
        let Some(wanted) = &self.plan.demands.username else {
            return Err(Rejected::ElementUnexpected {
                element: expanded_name(element),
            });
        };
        if self.username.replace(node).is_some() {
            return Err(Rejected::TooMany {
                what: "`wsse:UsernameToken`",
                limit: 1,
            });
        }
        self.observer.ended(Operation::Other);
        let token = UsernameToken::read(element, wanted, self.now)?;
        token.authenticate(self.facts.password(&token.user))?;
        self.observer.ended(Operation::Username);
        if let Some(key) = token.nonce_mark() {
            let end = match token.freshness {
                Some(freshness) => (freshness.remember_until(wanted.skew), End::Proven),
                None => {
                    let until = freshness::later(self.now, wanted.ttl + wanted.skew);
                    (until, End::Counted)
                }
            };
            self.marks.extend(marks::ending(end, [key]));
        }
        self.evidence.user = Some(token.user);
        self.evidence.user_token = Some(node);
        Ok(())
    }

    fn count_token(&mut self) -> Result<(), Rejected> {
        self.tokens += 1;
        let limit = self.plan.demands.limits.tokens;
        if self.tokens > limit {
            Err(Rejected::TooMany {
                what: "security tokens",
                limit,
            })
        } else {
            Ok(())
        }
    }

    fn count_references(&mut self, more: usize) -> Result<(), Rejected> {
        self.references += more;
        let limit = self.plan.demands.limits.references;
        if self.references > limit {
            Err(Rejected::TooMany {
                what: "references",
                limit,
            })
        } else {
            Ok(())
        }
    }

    fn next_step(&mut self) -> u32 {
        self.step += 1;
        self.step
    }

    /// What a replay of this message would repeat, beside what was known before anything was
    /// deciphered: signatures that cipher text held, or cipher text that it held where the key is
    /// one that both sides hold.
    fn mark_what_was_hidden(&mut self) {
        let until = |life| marks::until(self.plan.demands.timestamp, life, self.now);
        let by_life = until(self.evidence.freshness);
        let is_signed = |timestamp: NodeId| self.signing_steps(timestamp).next().is_some();
        let end = match self.timestamp.is_some_and(is_signed) {
            true => (by_life, End::Proven),
            // Nobody proves when it ends: it may come again with another life.
            false => (by_life.max(until(None)), End::Counted),
        };
        let keys = self.late_marks.drain(..).chain(self.cipher_marks.drain(..));
        self.marks.extend(marks::ending(end, keys));
    }

    /// The session key of the sender: the one that signed the message or, where none did, the only
    /// one that deciphered something of it. No signature covers wrapped keys, so that anybody
    /// can put one of his own beside the sender's, with or without something that he enciphered; an
    /// answer under that one would be his to read.
    fn senders_key(&mut self) -> Option<SessionKey> {
        let mut keys = std::mem::take(&mut self.session_keys);
        let signs = |key: &SessionKey| self.signing_tokens.contains(&key.node);
        let is_signed = keys.iter().any(signs);
        keys.retain(|key| if is_signed { signs(key) } else { key.deciphers });
        keys.pop().filter(|_| keys.is_empty())
    }

    fn receipt(&mut self) -> Receipt {
        let senders_key = self.senders_key();
        Receipt {
            signer: self.evidence.signer().cloned(),
            session_keys: senders_key
                .into_iter()
                .map(|session| (session.sha1, session.key))
                .collect(),
            signature_values: std::mem::take(&mut self.signature_values),
            context: self.context.take(),
            operations: Vec::new(),
            marks: Vec::new(),
            relation: None,
        }
    }

    /// Certificates that a message may name without carrying them.
    fn known_certificates(&self) -> impl Iterator<Item = &Certificate> {
        let keys = &self.plan.keys;
        let identity = keys.own().map(|identity| identity.certificate());
        let pinned = keys
            .trust
            .iter()
            .flat_map(|trust| trust.rules().pinned.iter().chain(&trust.rules().anchors));
        keys.peer
            .iter()
            .chain(pinned)
            .chain(&self.facts.certificates)
            .chain(identity)
    }
}
