//! What was proven about a message, and the types that say so.
//!
//! `Opened` has passed the cryptography and the plan; `Verified` has passed the replay cache too. A [`Verified`] can be had in
//! one way only:
//!
//! ```compile_fail
//! use soapstone_wss::{Envelope, Verified};
//! fn forge(envelope: Envelope) -> Verified<Envelope> {
//!     Verified { inner: envelope } // private
//! }
//! ```

use jiff::Timestamp;
use soapstone_crypto::{Certificate, DataEncryption, SignatureAlgorithm};
use soapstone_xml::{Buffers, Element, NodeId};

use crate::conversation::{ContextName, ContextOwner};
use crate::envelope::Envelope;
use crate::facts::Receipt;
use crate::forward;
use crate::freshness::Freshness;
use crate::objects::PartDigest;
use crate::policy::Extent;
use crate::rejected::Rejected;
use crate::suite::{KeyAgreementMethod, KeyTransportMethod};

/// Whose key made a signature.
#[derive(Clone, Debug)]
pub enum Signer {
    /// The holder of the private key of this certificate, which is trusted.
    Certificate(Certificate),
    /// A holder of the shared key of this name.
    SharedKey(String),
    /// Whoever received the request's session key. By the SHA-1 of the wrapped key.
    RequestKey([u8; 20]),
    /// Whoever made the session key of this message: anybody who has our certificate. By the SHA-1 of the wrapped key.
    SessionKey([u8; 20]),
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
    /// SHA-256 over what was signed and by whom: the same for every copy of the message.
    pub(crate) mark: [u8; 32],
    /// The token of this message that its key comes from, or the `ds:KeyInfo` that holds the certificate itself.
    pub(crate) token: Option<NodeId>,
    /// Place in the order of signatures and decryptions.
    pub(crate) step: u32,
    /// Stands for the signer in memories of elements; `None` where it cannot be told who it is, or nothing is remembered.
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
    /// The one security context of the message.
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

/// How a session key came with the message: an `EncryptedKey` that was accepted. It proves nothing about who sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyEvidence {
    /// Encrypted to our RSA key.
    Transport(KeyTransportMethod),
    /// Wrapped with a key that was agreed on with our key.
    Agreement(KeyAgreementMethod),
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
    /// The `wsse:UsernameToken` that says so.
    pub(crate) user_token: Option<NodeId>,
    /// The life of the message.
    pub freshness: Option<Freshness>,
    /// Short names of weak algorithms that the message used and the plan allows.
    pub weak: Vec<&'static str>,
    /// The endorsing signature that meets the first of the plan's demands.
    pub(crate) first_endorsement: Option<NodeId>,
    /// Header blocks that no signature covers, by expanded name: they are not passed on. Of many the first ones, and of long names the beginning.
    pub dropped: Vec<String>,
}

impl Evidence {
    /// Whether whoever sent the message is the user, and not somebody who has moved his token into it, as it is or as cipher text. One of these shows it:
    ///
    /// - the token is signed together with the message by a key that others do not have: everybody makes a session key, and who has a context of his
    ///   own has its key;
    /// - it is signed together with the message by a context, and was encrypted with the same one;
    /// - it was encrypted with the session key that also signs the message, and that no other message has.
    ///
    /// Where it is signed as cipher text (`sp:EncryptBeforeSigning`), what signs has to be what encrypted it: who signs it need not know what it holds.
    ///
    /// That it was encrypted does not show it alone: cipher text under a key of many messages is at home in each of them, and what is under a key
    /// of its own can be moved with that. Nor does a signature over it by another key: the digest that is to be signed stands in the message it
    /// was taken from.
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
            Signer::Certificate(_) => it.covers(token),
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
            Signer::RequestKey(_) => false,
        };
        let mut signatures = self.signatures.iter();
        signatures.any(|it| it.role == SignatureRole::Message && shows(it))
    }

    /// The certificate that made the message's signature, or else the one that endorsed it: of several, the first that the plan speaks of.
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

/// Something that must not be seen twice before `until`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Mark {
    /// SHA-256 of what identifies it.
    pub key: [u8; 32],
    /// From then on the message is too old anyway.
    pub until: Timestamp,
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
}

/// A message that passed the cryptography and the plan, and might still be a replay.
#[derive(Debug)]
pub struct Opened {
    pub(crate) envelope: Envelope,
    pub(crate) evidence: Evidence,
    pub(crate) marks: Vec<Mark>,
    pub(crate) receipt: Receipt,
    /// Header blocks to pass on.
    pub(crate) blocks: Vec<NodeId>,
    /// What is passed on inherits attributes of elements around it.
    pub(crate) inherits: bool,
    /// Cipher text without authentication was deciphered.
    pub(crate) malleable: bool,
}

impl Opened {
    /// What the replay cache is asked about.
    pub fn marks(&self) -> &[Mark] {
        &self.marks
    }

    /// Header blocks that would be passed on: where the plan wants signatures, those that are signed.
    pub fn blocks(&self) -> &[NodeId] {
        &self.blocks
    }

    /// Has the host judge what its plans cannot know of each other, such as whether this is an operation that the plan is for. A message that is
    /// refused here was not remembered by a replay cache, and its peer is told no more than if the plan had refused it.
    ///
    /// # Errors
    /// What the host says.
    pub fn examine<T>(
        &self,
        host: impl FnOnce(&Envelope) -> Result<T, Rejected>,
    ) -> Result<T, Rejected> {
        host(&self.envelope).map_err(|rejected| self.refused(rejected))
    }

    /// A reason of the host's to refuse the message, with what its peer may be told of it. To be told of a changed copy that it is a copy, where
    /// others fail to be deciphered, is to be told that it can be read.
    pub fn refused(&self, reason: Rejected) -> Rejected {
        // A peer is to try again where a replay cache cannot tell. What is signed cannot be changed by anybody who learns from that.
        let again = matches!(reason, Rejected::ReplayUnknown { .. });
        let is_signed = !self.evidence.signatures.is_empty();
        reason.after(self.malleable && !(again && is_signed))
    }

    /// Admits the message on the word of the replay cache.
    ///
    /// # Errors
    /// [`Rejected::ReplayUnknown`] if the word was given for another message.
    pub fn admit(self, first_seen: FirstSeen) -> Result<Verified<Envelope>, Rejected> {
        let vouched = self
            .marks
            .iter()
            .all(|mark| first_seen.keys.contains(&mark.key));
        if !vouched {
            let problem = "the replay cache was asked about another message".to_owned();
            return Err(Rejected::ReplayUnknown { problem });
        }
        Ok(Verified {
            inner: self.envelope,
            evidence: self.evidence,
            receipt: self.receipt,
            blocks: self.blocks,
            inherits: self.inherits,
        })
    }
}

/// A message of which everything that the plan demands is proven.
#[derive(Debug)]
pub struct Verified<T> {
    inner: T,
    evidence: Evidence,
    receipt: Receipt,
    blocks: Vec<NodeId>,
    inherits: bool,
}

impl Verified<Envelope> {
    /// The envelope, decrypted parts in place.
    pub fn envelope(&self) -> &Envelope {
        &self.inner
    }

    /// Header blocks that are passed on: where the plan wants signatures, those that are signed.
    pub fn blocks(&self) -> &[NodeId] {
        &self.blocks
    }

    /// Keeps header blocks from being passed on: those that were for the receiver, and mean nothing behind it.
    pub fn drop_blocks(&mut self, mut is_ours: impl FnMut(Element<'_>) -> bool) {
        let document = self.inner.document();
        self.blocks
            .retain(|block| !is_ours(document.element(*block)));
    }

    /// What was proven.
    pub fn evidence(&self) -> &Evidence {
        &self.evidence
    }

    /// Notes for the answer which operations of the host's the message may be of ([`Receipt::operations`]).
    pub fn note_operations(&mut self, operations: Vec<usize>) {
        self.receipt.operations = operations;
    }

    /// Appends the message rebuilt from what the plan covers: no `wsse:Security` header, and, where the plan wants signatures, no
    /// header block, no comment and no attribute of an element around them (`xml:lang` of the Envelope) that is not signed.
    ///
    /// # Errors
    /// [`Rejected::Canonicalization`] if the message repeats namespaces so often that it would grow beyond its limits.
    pub fn forward(&self, out: &mut Vec<u8>, buffers: &mut Buffers) -> Result<(), Rejected> {
        forward::write(&self.inner, &self.blocks, self.inherits, out, buffers)
            .map_err(Rejected::Canonicalization)
    }

    /// Takes what the answer needs, and gives the memory back.
    pub fn finish(self, buffers: &mut Buffers) -> (Evidence, Receipt) {
        self.inner.recycle(buffers);
        (self.evidence, self.receipt)
    }
}
