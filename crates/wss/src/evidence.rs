//! What was proven about a message, and the types that say so.
//!
//! `Opened` has passed the cryptography and the plan. `Verified` has passed the replay cache, too,
//! and can be forwarded:
//!
//! ```
//! use soapstone_wss::{Envelope, FirstSeen, Opened, Rejected, Verified};
//! use soapstone_xml::Buffers;
//!
//! fn admit(opened: Opened, first_seen: FirstSeen) -> Result<Verified<Envelope>, Rejected> {
//!     opened.admit(first_seen)
//! }
//! fn forward(verified: &Verified<Envelope>, out: &mut Vec<u8>) -> Result<(), Rejected> {
//!     verified.forward(out, &mut Buffers::default())
//! }
//! ```
//!
//! [`admit`](Opened::admit) is the only way to have a [`Verified`]. It cannot be put together:
//!
//! ```compile_fail,E0451
//! use soapstone_wss::{Envelope, Verified};
//! fn forge(envelope: Envelope, other: Verified<Envelope>) -> Verified<Envelope> {
//!     Verified { inner: envelope, ..other }
//! }
//! ```
//!
//! Nor can another message be put into it:
//!
//! ```compile_fail,E0616
//! use soapstone_wss::{Envelope, Verified};
//! fn exchange(verified: &mut Verified<Envelope>, envelope: Envelope) {
//!     verified.inner = envelope;
//! }
//! ```
//!
//! An envelope is not forwarded:
//!
//! ```compile_fail,E0599
//! use soapstone_wss::{Envelope, Rejected};
//! use soapstone_xml::Buffers;
//! fn forward(envelope: &Envelope, out: &mut Vec<u8>) -> Result<(), Rejected> {
//!     envelope.forward(out, &mut Buffers::default())
//! }
//! ```
//!
//! Nor is what was opened, and might be a replay:
//!
//! ```compile_fail,E0599
//! use soapstone_wss::{Opened, Rejected};
//! use soapstone_xml::Buffers;
//! fn forward(opened: &Opened, out: &mut Vec<u8>) -> Result<(), Rejected> {
//!     opened.forward(out, &mut Buffers::default())
//! }
//! ```
//!
//! What writes the message that is passed on is not reached without a `Verified`:
//!
//! ```compile_fail,E0603
//! use soapstone_wss::forward::write;
//! ```
//!
//! An [`Opened`] comes from a plan alone, and its message is not taken out of it:
//!
//! ```compile_fail,E0451
//! use soapstone_wss::{Envelope, Opened};
//! fn forge(envelope: Envelope, other: Opened) -> Opened {
//!     Opened { envelope, ..other }
//! }
//! ```
//!
//! ```compile_fail,E0616
//! use soapstone_wss::{Envelope, Opened};
//! fn take(opened: Opened) -> Envelope {
//!     opened.envelope
//! }
//! ```
//!
//! It is admitted once, and cannot be copied to be admitted again:
//!
//! ```compile_fail,E0382
//! use soapstone_wss::{FirstSeen, Opened};
//! fn twice(opened: Opened, one: FirstSeen, two: FirstSeen) {
//!     drop(opened.admit(one));
//!     drop(opened.admit(two));
//! }
//! ```
//!
//! ```compile_fail,E0277
//! use soapstone_wss::Opened;
//! fn copy(opened: &Opened) -> Opened {
//!     Opened::clone(opened)
//! }
//! ```
//!
//! The word of a replay cache admits one message. It cannot be given twice, copied, or made of
//! nothing:
//!
//! ```compile_fail,E0382
//! use soapstone_wss::{FirstSeen, Opened};
//! fn both(one: Opened, two: Opened, first_seen: FirstSeen) {
//!     drop(one.admit(first_seen));
//!     drop(two.admit(first_seen));
//! }
//! ```
//!
//! ```compile_fail,E0277
//! use soapstone_wss::FirstSeen;
//! fn copy(first_seen: &FirstSeen) -> FirstSeen {
//!     FirstSeen::clone(first_seen)
//! }
//! ```
//!
//! ```compile_fail,E0451
//! use soapstone_wss::FirstSeen;
//! fn forge() -> FirstSeen {
//!     FirstSeen { keys: Vec::new() }
//! }
//! ```

use jiff::Timestamp;
use soapstone_crypto::{Certificate, DataEncryption, Digest, DigestAlgorithm, SignatureAlgorithm};
use soapstone_xml::{Buffers, Canonicalization, Element, NodeId};

use crate::conversation::{ContextName, ContextOwner};
use crate::envelope::Envelope;
use crate::facts::Receipt;
use crate::forward;
use crate::freshness::Freshness;
use crate::inner::InnerEvidence;
use crate::marks::Mark;
use crate::part::Extent;
use crate::passage::Passage;
use crate::rejected::Rejected;
use crate::suite::{KeyAgreementMethod, KeyTransportMethod};
use crate::token::{Assertion, ConfirmationMethod};

/// Whose key made a signature.
#[derive(Clone, Debug)]
pub enum Signer {
    /// The holder of the private key of this certificate, which is trusted.
    Certificate(Certificate),
    /// A holder of the shared key of this name.
    SharedKey(String),
    /// Whoever received the request's session key. By the SHA-1 of the wrapped key.
    RequestKey([u8; 20]),
    /// Whoever made the session key of this message: anybody who has our certificate. By the SHA-1
    /// of the wrapped key.
    SessionKey([u8; 20]),
    /// The subject of an assertion, whose key its issuer vouches for.
    Holder {
        /// The issuer of the assertion.
        issuer: String,
        /// Its subject.
        subject: String,
        /// The certificate of the key, where the assertion has it. No trust store knows it.
        certificate: Option<Certificate>,
    },
    /// The client of a Kerberos token, or the service that it is for. By the client's principal.
    Kerberos(String),
    /// The user whose password the key is derived from.
    User(String),
    /// The other party of a security context.
    Context {
        /// Which.
        name: ContextName,
        /// Who made it.
        owner: ContextOwner,
    },
}

/// What a signature is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureRole {
    /// It proves the parts of the message.
    Message,
    /// It endorses the message's signature.
    Endorsing,
}

/// The digest of one node, as a signature has it.
#[derive(Clone, Debug)]
pub(crate) struct PartDigest {
    pub(crate) node: NodeId,
    pub(crate) algorithm: DigestAlgorithm,
    pub(crate) canonicalization: Canonicalization,
    pub(crate) inclusive_prefixes: Vec<String>,
    pub(crate) digest: Digest,
}

/// A signature that verified.
#[derive(Clone, Debug)]
pub struct SignatureEvidence {
    /// Whose.
    pub signer: Signer,
    /// How it was made.
    pub algorithm: SignatureAlgorithm,
    /// What it is there for.
    pub role: SignatureRole,
    /// The `ds:Signature`.
    pub node: NodeId,
    /// The nodes that it covers, each with all its content; ascending.
    pub nodes: Vec<NodeId>,
    /// Whether it covers the certificate that its own reference names (SOAP Message Security
    /// 1.1.1, 8.3).
    pub(crate) covers_certificate: bool,
    /// Its value, until the receipt of the message takes it.
    pub(crate) value: Vec<u8>,
    /// The token of this message that its key comes from, or the `ds:KeyInfo` that holds the
    /// certificate itself.
    pub(crate) token: Option<NodeId>,
    /// Place in the order of signatures and decryptions.
    pub(crate) step: u32,
    /// Stands for the signer in memories of elements; `None` where it cannot be told who it is, or
    /// nothing is remembered.
    pub(crate) partner: Option<[u8; 32]>,
    /// The digests of nodes, ascending by node, where the plan keeps them.
    pub(crate) digests: Vec<PartDigest>,
}

impl SignatureEvidence {
    /// Whether the signature covers `node` itself.
    pub fn covers(&self, node: NodeId) -> bool {
        self.nodes.binary_search(&node).is_ok()
    }

    /// The certificate that it was made with, if it was made with one.
    pub fn certificate(&self) -> Option<&Certificate> {
        match &self.signer {
            Signer::Certificate(certificate) => Some(certificate),
            _ => None,
        }
    }

    /// The digest of `node`, where the plan keeps digests.
    pub(crate) fn digest_of(&self, node: NodeId) -> Option<&PartDigest> {
        let found = self.digests.binary_search_by_key(&node, |part| part.node);
        found.ok().map(|at| &self.digests[at])
    }
}

/// Where the key of something that was encrypted comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CipherKey {
    /// This `EncryptedKey` of the message.
    Session(NodeId),
    /// The key of the assertion's own cipher text.
    Assertion,
    /// The one security context, Kerberos session or proof key of the message.
    Context,
    /// Both sides had it before: a shared key, or that of the request.
    Known,
}

/// Something that was encrypted.
#[derive(Clone, Debug)]
pub struct EncryptionEvidence {
    /// The element: itself, or the one whose content it was.
    pub node: NodeId,
    /// With or without its tags.
    pub extent: Extent,
    /// How.
    pub algorithm: DataEncryption,
    pub(crate) encrypted_data: NodeId,
    pub(crate) key: CipherKey,
    pub(crate) step: u32,
}

/// How a session key came with the message: an `EncryptedKey` that was accepted. It proves nothing
/// about who sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyEvidence {
    /// Encrypted to our RSA key.
    Transport(KeyTransportMethod),
    /// Wrapped with a key that was agreed on with our key.
    Agreement(KeyAgreementMethod),
}

/// An assertion that was accepted.
#[derive(Clone, Debug)]
pub struct AssertionEvidence {
    /// What it says.
    pub assertion: Assertion,
    /// How it was confirmed that the message is of its subject.
    pub confirmed: Option<ConfirmationMethod>,
    /// Whether the client certificate of the connection has the key of its holder.
    pub held_by_connection: bool,
    /// The element.
    pub(crate) node: NodeId,
    /// Whether its issuer signed it.
    pub(crate) is_signed: bool,
}

/// A Kerberos token that was accepted.
#[derive(Clone, Debug)]
pub struct KerberosEvidence {
    /// The principal of the client.
    pub client: String,
}

/// All that was proven about a message.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Evidence {
    /// Signatures, in the order of verification.
    pub signatures: Vec<SignatureEvidence>,
    /// Encrypted elements and contents, in the order of decryption.
    pub encrypted: Vec<EncryptionEvidence>,
    /// The session keys, in the order of the header.
    pub keys: Vec<KeyEvidence>,
    /// The user who authenticated with a password.
    pub user: Option<String>,
    /// The user whom a token without a password names. Nobody proved to be that user: whoever
    /// signed the token, or made the connection, says so.
    pub named_user: Option<String>,
    /// The Kerberos token of the message.
    pub kerberos: Option<KerberosEvidence>,
    /// The end of the ticket of the session that protects the message, or whose token it has.
    pub kerberos_end: Option<Timestamp>,
    /// The assertion about the sender.
    pub assertion: Option<AssertionEvidence>,
    /// The signature of an element of the Body by itself.
    pub inner: Option<InnerEvidence>,
    /// The `wsse:UsernameToken` that says so.
    pub(crate) user_token: Option<NodeId>,
    /// The tokens of the header that keys are derived from.
    pub(crate) password_tokens: Vec<NodeId>,
    /// The `wsu:Timestamp`.
    pub(crate) timestamp: Option<NodeId>,
    /// The life of the message.
    pub freshness: Option<Freshness>,
    /// Short names of weak algorithms that the message used and the plan allows.
    pub weak: Vec<&'static str>,
    /// The endorsing signature that meets the first of the plan's demands.
    pub(crate) first_endorsement: Option<NodeId>,
    /// Header blocks that nothing proves and that are passed on because the plan names them, by
    /// expanded name, each once.
    pub unproven: Vec<String>,
    /// Header blocks that no signature covers, and items of the Security header that the plan
    /// ignores, by expanded name: they are not passed on. Of many the first ones, and of long
    /// names the beginning.
    pub dropped: Vec<String>,
    /// Header blocks that an intermediary takes out since they are for it, by expanded name. Of
    /// many the first ones, and of long names the beginning.
    pub taken_out: Vec<String>,
    /// The items of the Security header that were not read: `UsernameToken`, or `other`.
    pub ignored: Vec<&'static str>,
    pub(crate) confirmations: Vec<Confirmation>,
    step: u32,
}

/// Most header blocks that are dropped whose names are told. Anybody can add some to a message,
/// each with a namespace that takes megabytes to tell and is said once for all of them.
pub(crate) const MOST_DROPPED: usize = 64;

/// Bytes of each name.
const LONGEST_DROPPED: usize = 1024;

fn shortened(mut name: String) -> String {
    if name.len() > LONGEST_DROPPED {
        name.truncate(name.floor_char_boundary(LONGEST_DROPPED));
        name.push('…');
        name.shrink_to_fit();
    }
    name
}

/// A confirmed signature value.
#[derive(Clone, Debug)]
pub(crate) struct Confirmation {
    pub(crate) node: NodeId,
    /// `None` where the request had no signature.
    pub(crate) value: Option<Vec<u8>>,
}

impl Evidence {
    /// The signatures that prove parts of the message.
    pub(crate) fn message_signatures(&self) -> impl Iterator<Item = &SignatureEvidence> {
        let signatures = self.signatures.iter();
        signatures.filter(|signature| signature.role == SignatureRole::Message)
    }

    /// The signatures that endorse.
    pub(crate) fn endorsements(&self) -> impl Iterator<Item = &SignatureEvidence> {
        let signatures = self.signatures.iter();
        signatures.filter(|signature| signature.role == SignatureRole::Endorsing)
    }

    /// The tokens of the message's signature.
    pub(crate) fn signing_tokens(&self) -> impl Iterator<Item = NodeId> {
        self.message_signatures().filter_map(|one| one.token)
    }

    /// Notes the name of something that is not passed on.
    pub(crate) fn note_dropped(&mut self, name: String) {
        if self.dropped.len() < MOST_DROPPED {
            self.dropped.push(shortened(name));
        }
    }

    /// Notes the name of a header block that is taken out.
    pub(crate) fn note_taken_out(&mut self, name: String) {
        if self.taken_out.len() < MOST_DROPPED {
            self.taken_out.push(shortened(name));
        }
    }

    /// Counts signatures and decryptions, so that their order can be compared with the plan's.
    pub(crate) fn next_step(&mut self) -> u32 {
        self.step += 1;
        self.step
    }

    /// The principal of a Kerberos client who signed the message, or whose token it carries over a
    /// connection that protects both.
    pub fn kerberos_client(&self) -> Option<&str> {
        let signed = self.signatures.iter().find_map(|it| match &it.signer {
            Signer::Kerberos(client) => Some(client.as_str()),
            _ => None,
        });
        signed.or_else(|| self.kerberos.as_ref().map(|it| it.client.as_str()))
    }

    /// Whether whoever sent the message is the user, and not somebody who has moved his token into
    /// it, as it is or as cipher text. One of these shows it:
    ///
    /// - the token is signed together with the message by a key that others do not have: everybody
    ///   makes a session key, and who has a context of his own has its key;
    /// - it is signed together with the message by a context, and was encrypted with the same one;
    /// - it was encrypted with the session key that also signs the message, and that no other
    ///   message has;
    /// - it holds no password, and the key that signs the message, or endorses it, is derived from
    ///   that of the user.
    ///
    /// Where it is signed as cipher text (`sp:EncryptBeforeSigning`), what signs has to be what
    /// encrypted it: who signs it need not know what it holds.
    ///
    /// That it was encrypted does not show it alone: cipher text under a key of many messages is at
    /// home in each of them, and what is under a key of its own can be moved with that. Nor
    /// does a signature over it by another key: the digest that is to be signed stands in the
    /// message it was taken from.
    pub fn user_is_sender(&self) -> bool {
        let Some(token) = self.user_token else {
            return false;
        };
        let mut encrypted = self.encrypted.iter();
        let hidden = encrypted.find(|it| it.node == token && it.extent == Extent::Element);
        let hidden_with = |key| hidden.is_some_and(|it| it.key == key);
        let covers_cipher_text = |signature: &SignatureEvidence, key| {
            hidden.is_some_and(|it| it.key == key && signature.covers(it.encrypted_data))
        };
        let shows = |it: &SignatureEvidence| match &it.signer {
            Signer::Certificate(_) | Signer::Holder { .. } | Signer::Kerberos(_) => {
                it.covers(token)
            }
            Signer::SharedKey(_) => it.covers(token) || covers_cipher_text(it, CipherKey::Known),
            Signer::Context { owner, .. } => {
                let is_his =
                    matches!(owner, ContextOwner::User(owner) if Some(owner) == self.user.as_ref());
                it.covers(token) && (is_his || hidden_with(CipherKey::Context))
                    || covers_cipher_text(it, CipherKey::Context)
            }
            Signer::SessionKey(_) => it
                .token
                .is_some_and(|key| hidden_with(CipherKey::Session(key))),
            Signer::RequestKey(_) | Signer::User(_) => false,
        };
        let mut signatures = self.signatures.iter();
        signatures.any(|it| match it.signer {
            Signer::User(_) => true,
            _ => it.role == SignatureRole::Message && shows(it),
        })
    }

    /// Whether the token of a user stands beside the signature of a certificate that does not cover
    /// it. Either can have been taken from another message then.
    pub fn mixes_senders(&self) -> bool {
        let covers_user =
            |one: &SignatureEvidence| self.user_token.is_some_and(|token| one.covers(token));
        let mut signatures = self.signatures.iter();
        self.user.is_some()
            && signatures.any(|one| one.certificate().is_some() && !covers_user(one))
    }

    /// The certificate that made the message's signature, or else the one that endorsed it: of
    /// several, the first that the plan speaks of.
    pub fn signer(&self) -> Option<&Certificate> {
        let mut signatures = self.signatures.iter();
        let by_message = signatures
            .clone()
            .filter(|signature| signature.role == SignatureRole::Message)
            .find_map(SignatureEvidence::certificate);
        by_message.or_else(|| {
            signatures
                .find(|signature| Some(signature.node) == self.first_endorsement)
                .and_then(SignatureEvidence::certificate)
        })
    }
}

impl Evidence {
    /// The certificate of the assertion's holder, who has signed the message.
    pub(crate) fn holder(&self) -> Option<&Certificate> {
        let mut signatures = self.signatures.iter();
        signatures.find_map(|one| match &one.signer {
            Signer::Holder { certificate, .. } => certificate.as_ref(),
            _ => None,
        })
    }
}

/// The word of a replay cache that none of these marks was seen before.
#[derive(Debug)]
pub struct FirstSeen {
    keys: Vec<[u8; 32]>,
}

impl FirstSeen {
    /// Asserts that all of `marks` were absent and are remembered now, in one atomic step.
    ///
    /// Only a replay cache, or a test that has none, may say so.
    pub fn assertion(marks: &[Mark]) -> Self {
        Self {
            keys: marks.iter().map(|mark| mark.key).collect(),
        }
    }

    /// Whether the word is about these marks.
    pub(crate) fn vouch_for(&self, marks: &[Mark]) -> Result<(), Rejected> {
        if marks.iter().all(|mark| self.keys.contains(&mark.key)) {
            return Ok(());
        }
        let problem = "the replay cache was asked about another message".to_owned();
        Err(Rejected::ReplayUnknown { problem })
    }
}

/// A message that passed the cryptography and the plan, and might still be a replay.
#[derive(Debug)]
pub struct Opened {
    pub(crate) envelope: Envelope,
    pub(crate) evidence: Box<Evidence>,
    pub(crate) marks: Vec<Mark>,
    /// How many of them a replay cache was asked about before anything was deciphered.
    pub(crate) known_marks: usize,
    pub(crate) receipt: Box<Receipt>,
    /// Header blocks that are proven.
    pub(crate) blocks: Vec<NodeId>,
    /// All header blocks to pass on, where some are not proven.
    pub(crate) passed: Option<Vec<NodeId>>,
    /// What is passed on inherits attributes of elements around it.
    pub(crate) inherits: bool,
    /// Something was deciphered.
    pub(crate) deciphered: bool,
    /// How the message is passed on, where that is all that may be done with it.
    pub(crate) passage: Option<Passage>,
}

impl Opened {
    /// Everything that a copy of the message is known by.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// The marks that a replay cache was not asked about yet, since cipher text held what they are
    /// of. Mostly there are none.
    pub fn late_marks(&self) -> &[Mark] {
        &self.marks[self.known_marks..]
    }

    /// Header blocks that are proven: where the plan wants signatures, those that are signed. They
    /// would be passed on.
    pub fn blocks(&self) -> &[NodeId] {
        &self.blocks
    }

    /// The issuer and the id of the assertion that the message was accepted with.
    pub fn assertion(&self) -> Option<(&str, &str)> {
        let accepted = self.evidence.assertion.as_ref()?;
        let assertion = &accepted.assertion;
        Some((&assertion.issuer, &assertion.id))
    }

    /// Has the host judge what its plans cannot know of each other, such as whether this is an
    /// operation that the plan is for. The peer of a message that is refused here is told no
    /// more than if the plan had refused it.
    ///
    /// # Errors
    /// What the host says.
    pub fn examine<T>(
        &self,
        host: impl FnOnce(&Envelope) -> Result<T, Rejected>,
    ) -> Result<T, Rejected> {
        host(&self.envelope).map_err(|rejected| self.refused(rejected))
    }

    /// A reason of the host's to refuse the message, with what its peer may be told of it. To be
    /// told of a changed copy that it is a copy, where others fail to be deciphered, is to be
    /// told that it can be read.
    pub fn refused(&self, reason: Rejected) -> Rejected {
        // A peer is to try again where a replay cache cannot tell. What is signed cannot be changed
        // by anybody who learns from that.
        let again = matches!(reason, Rejected::ReplayUnknown { .. });
        let is_signed = !self.evidence.signatures.is_empty();
        reason.after(self.deciphered && !(again && is_signed))
    }

    /// Admits the message on the word of the replay cache about its [late marks](Self::late_marks).
    ///
    /// # Errors
    /// [`Rejected::ReplayUnknown`] if the word was given for another message, and
    /// [`Rejected::NotTheReceiver`] of an intermediary's plan.
    pub fn admit(self, first_seen: FirstSeen) -> Result<Verified<Envelope>, Rejected> {
        first_seen.vouch_for(self.late_marks())?;
        if self.passage.is_some() {
            return Err(Rejected::NotTheReceiver);
        }
        Ok(Verified {
            inner: self.envelope,
            evidence: self.evidence,
            receipt: self.receipt,
            blocks: self.blocks,
            passed: self.passed,
            inherits: self.inherits,
        })
    }
}

/// A message of which everything that the plan demands is proven.
#[derive(Debug)]
pub struct Verified<T> {
    inner: T,
    evidence: Box<Evidence>,
    receipt: Box<Receipt>,
    blocks: Vec<NodeId>,
    passed: Option<Vec<NodeId>>,
    inherits: bool,
}

impl Verified<Envelope> {
    /// The envelope, decrypted parts in place.
    pub fn envelope(&self) -> &Envelope {
        &self.inner
    }

    /// Header blocks that are proven: where the plan wants signatures, those that are signed. They
    /// are passed on.
    pub fn blocks(&self) -> &[NodeId] {
        &self.blocks
    }

    /// Keeps header blocks from being passed on: those that were for the receiver, and mean nothing
    /// behind it.
    pub fn drop_blocks(&mut self, mut is_ours: impl FnMut(Element<'_>) -> bool) {
        let document = self.inner.document();
        let passed = self.passed.iter_mut();
        for blocks in passed.chain(std::iter::once(&mut self.blocks)) {
            blocks.retain(|block| !is_ours(document.element(*block)));
        }
    }

    /// What was proven.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// Notes for the answer which operations of the host's the message may be of
    /// ([`Receipt::operations`]).
    pub fn note_operations(&mut self, operations: Vec<usize>) {
        self.receipt.operations = operations;
    }

    /// Notes what the host has proven of an element of the Body
    /// ([`InnerVerification`](crate::InnerVerification)).
    pub fn note_inner(&mut self, inner: Option<InnerEvidence>) {
        if let Some(inner) = &inner {
            for name in &inner.weak {
                if !self.evidence.weak.contains(name) {
                    self.evidence.weak.push(name);
                }
            }
        }
        self.evidence.inner = inner;
    }

    /// Appends the message rebuilt from what the plan covers: no `wsse:Security` header, and, where
    /// the plan wants signatures, no header block, no comment and no attribute of an element
    /// around them (`xml:lang` of the Envelope) that is not signed. The blocks of
    /// [`Evidence::unproven`] are there all the same.
    ///
    /// # Errors
    /// [`Rejected::Canonicalization`] if the message repeats namespaces so often that it would grow
    /// beyond its limits.
    pub fn forward(&self, out: &mut Vec<u8>, buffers: &mut Buffers) -> Result<(), Rejected> {
        let blocks = self.passed.as_deref().unwrap_or(&self.blocks);
        forward::write(&self.inner, blocks, self.inherits, out, buffers)
            .map_err(Rejected::Canonicalization)
    }

    /// Takes what the answer needs, and gives the memory back.
    pub fn finish(self, buffers: &mut Buffers) -> (Evidence, Receipt) {
        self.inner.recycle(buffers);
        (*self.evidence, *self.receipt)
    }
}
