//! What a peer and we agree on for one direction of messages.
//!
//! Presets, profiles and (later) WSDL policies all produce a [`Policy`]; compiling one gives the
//! plan that is run for every message. A policy says everything explicitly: nothing is added when
//! it is executed.

use soapstone_xml::Canonicalization;

use crate::binding::{KeyBinding, KeyReference, Layout, ProtectionOrder, Recipient};
use crate::conversation::DerivedKeyPolicy;
use crate::freshness::TimestampPolicy;
use crate::limits::SecurityLimits;
use crate::part::{EncryptedPart, Part};
use crate::suite::{Retirement, Suite};
use crate::tuning::Tuning;
use crate::username::UsernamePolicy;

/// Requirements for one direction.
#[derive(Clone, Debug)]
pub struct Policy {
    /// Algorithms used and accepted.
    pub suite: Suite,
    /// Whether messages carry a `wsu:Timestamp`, and how fresh it must be.
    pub timestamp: Option<TimestampPolicy>,
    /// Whether messages carry a `wsse:UsernameToken`.
    pub username: Option<UsernamePolicy>,
    /// Whether messages are signed.
    pub signature: Option<SignaturePolicy>,
    /// Whether messages are encrypted.
    pub encryption: Option<EncryptionPolicy>,
    /// Which comes first where a part is both signed and encrypted.
    pub order: ProtectionOrder,
    /// `soap:actor` (1.1) or `soap:role` (1.2) of the `wsse:Security` header; `None` is the
    /// ultimate receiver.
    pub actor: Option<String>,
    /// Whether the `wsse:Security` header of messages that we make must be understood.
    pub must_understand: bool,
    /// Refuse signatures made with our own certificate, unless it is pinned or the peer's too: in
    /// an exchange of requests and responses, what we signed ourselves and get back is a
    /// reflection.
    pub refuse_own_signatures: bool,
    /// Weak algorithms of the suite that are used and accepted only for a while yet.
    pub retirements: Vec<Retirement>,
    /// Whether signing and encrypting keys are derived from symmetric keys, instead of being them.
    /// A private key signs itself, whatever this says: what anybody derives from a session key
    /// that he wrapped proves nobody.
    pub derived_keys: Option<DerivedKeyPolicy>,
    /// Signatures by certificates and by a security context over the message's own: all of them,
    /// each with a key of its own. Where the connection protects messages
    /// ([`transport_protected`](Self::transport_protected)) there is no other signature to
    /// endorse: these and [`signature`](Self::signature) are all over the Timestamp, and what
    /// is said here of endorsing signatures holds for that one as well.
    pub endorsing: Vec<EndorsingPolicy>,
    /// Whether one key may make several of the endorsing signatures. Who signs twice vouches no
    /// more than who signs once.
    pub same_endorser: bool,
    /// Whether messages that we make carry our certificate although nothing is signed with it: so
    /// that the peer can answer under it (WS-SecurityPolicy 1.3, 5.1.1).
    pub include_certificate: bool,
    /// Whether answers repeat the signature values of their request
    /// (`wsse11:SignatureConfirmation`), and are refused if they do not.
    pub signature_confirmation: bool,
    /// Parts that must be in the message (WS-SecurityPolicy 1.3, 4.3: `RequiredParts`,
    /// `RequiredElements`).
    pub required: Vec<Part>,
    /// Inbound: signatures cover the Body and header blocks as a whole, or something inside the
    /// `wsse:Security` header, and nothing else (WS-SecurityPolicy 1.3, 6.6).
    pub only_entire_headers_and_body: bool,
    /// Whether the connection protects messages as a whole (WS-SecurityPolicy 1.3, 7.3). Then a
    /// signature says who sends, and for how long, and not what: header blocks that it does
    /// not cover are as good as those that it covers. Nothing here can see the connection; whoever
    /// sets this sees to it.
    pub transport_protected: bool,
    /// Order of the elements of the `wsse:Security` header.
    pub layout: Layout,
    /// Bounds on what one message may ask for.
    pub limits: SecurityLimits,
    /// Optimisations, switchable so that each can be measured alone.
    pub tuning: Tuning,
}

impl Policy {
    /// The parts that are signed; none, where nothing is.
    pub(crate) fn signed_parts(&self) -> &[Part] {
        self.signature
            .as_ref()
            .map_or(&[], |signature| &signature.parts)
    }

    /// The parts that endorsing signatures cover in particular, each with the place of the
    /// endorsement among those of the policy.
    pub(crate) fn endorsed_parts(&self) -> impl Iterator<Item = (usize, &Part)> {
        let endorsing = self.endorsing.iter().enumerate();
        endorsing.flat_map(|(index, one)| one.parts.iter().map(move |part| (index, part)))
    }

    /// The parts that are encrypted; none, where nothing is.
    pub(crate) fn encrypted_parts(&self) -> &[EncryptedPart] {
        self.encryption
            .as_ref()
            .map_or(&[], |encryption| &encryption.parts)
    }

    /// Whether attributes that signed elements inherit from what stands around them are as good as
    /// they are: signatures in inclusive form cover them, those in exclusive form do not
    /// (Exclusive XML Canonicalization 1.0, 3), and where nothing is signed, or all comes over a
    /// connection that protects it, nothing is better.
    pub(crate) fn covers_inherited(&self) -> bool {
        let inclusive = [
            Canonicalization::Inclusive10,
            Canonicalization::Inclusive10WithComments,
        ];
        let mut forms = self.suite.canonicalization.iter();
        !self.proves_parts() || forms.all(|form| inclusive.contains(form))
    }

    /// Whether endorsing signatures are over the Timestamp, as the message's own is.
    pub(crate) fn endorses_timestamp(&self) -> bool {
        self.transport_protected && !self.endorsing.is_empty()
    }

    /// What is said of the endorsing signature that the key of a security context makes.
    pub(crate) fn endorsing_context(&self) -> Option<&EndorsingPolicy> {
        let mut endorsing = self.endorsing.iter();
        endorsing.find(|one| one.key == KeyBinding::Context)
    }

    /// Whether certificates make endorsing signatures.
    pub(crate) fn endorses_by_certificate(&self) -> bool {
        let mut endorsing = self.endorsing.iter();
        endorsing.any(|one| one.key == KeyBinding::Certificate)
    }

    /// Whether the message's own signature is made with a certificate.
    pub(crate) fn signs_by_certificate(&self) -> bool {
        let signature = self.signature.as_ref();
        signature.is_some_and(|signature| signature.key == KeyBinding::Certificate)
    }

    /// Whether signatures are what tells parts of the message that can be passed on from others.
    pub(crate) fn proves_parts(&self) -> bool {
        self.signature.is_some() && !self.transport_protected
    }

    /// Whether a part is encrypted.
    pub(crate) fn encrypts(&self, part: &Part) -> bool {
        let parts = self.encrypted_parts();
        parts.iter().any(|wanted| wanted.part == *part)
    }
}

/// What is signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignaturePolicy {
    /// The parts; all of them, whenever they are in the message.
    pub parts: Vec<Part>,
    /// With which key.
    pub key: KeyBinding,
    /// How messages that we make name the key. Inbound, every kind is understood.
    pub reference: KeyReference,
}

/// What is encrypted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncryptionPolicy {
    /// The parts; all of them, whenever they are in the message.
    pub parts: Vec<EncryptedPart>,
    /// With which key.
    pub key: KeyBinding,
    /// How messages that we make name the key. Inbound, every kind is understood.
    pub reference: KeyReference,
    /// For whom, with [`KeyBinding::Certificate`].
    pub recipient: Recipient,
}

/// A signature by a certificate, or by the key of a security context, beside the message's own
/// (WS-SecurityPolicy 1.3, 8.3: `EndorsingSupportingTokens`): over the signature, or
/// over the Timestamp where the connection protects the message.
///
/// Where there are several, one signature meets one of these demands, and one key does, unless the
/// policy's [`same_endorser`](Policy::same_endorser) says otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndorsingPolicy {
    /// With which key: [`KeyBinding::Certificate`], or [`KeyBinding::Context`] where nothing else
    /// of the message is protected with a context.
    pub key: KeyBinding,
    /// Whether the key that signs is derived from that of the context, instead of being it.
    pub derived_keys: Option<DerivedKeyPolicy>,
    /// How messages that we make name the token. Inbound, every kind is understood; but where the
    /// message's signature is to cover the token and this is [`KeyReference::Direct`], a
    /// message that only names it is refused.
    pub reference: KeyReference,
    /// What it covers beside the message's signature, or the Timestamp (8.3: `SignedParts` and
    /// `SignedElements` inside of the assertion): parts of the message itself, all of them,
    /// whenever they are in it.
    pub parts: Vec<Part>,
    /// Whether the endorsing signature covers its own token, where the message has it
    /// (WS-SecurityPolicy 1.3, 8.9: `ProtectTokens`). It cannot cover one inside of the
    /// reference to it.
    pub covers_token: bool,
    /// Whether the message's signature covers the token, where the message has it (8.4:
    /// `SignedEndorsingSupportingTokens`).
    pub token_signed: bool,
    /// Whether the token is encrypted with what the [`EncryptionPolicy`] names, where the message
    /// has it (8.7: `EndorsingEncryptedSupportingTokens`).
    pub token_encrypted: bool,
}

impl EndorsingPolicy {
    /// A signature of which nothing is said but the key that makes it, and how messages name that.
    pub const fn by(key: KeyBinding, reference: KeyReference) -> Self {
        Self {
            key,
            derived_keys: None,
            reference,
            parts: Vec::new(),
            covers_token: false,
            token_signed: false,
            token_encrypted: false,
        }
    }
}
