//! What a peer and we agree on for one direction of messages.
//!
//! Presets, profiles and (later) WSDL policies all produce a [`Policy`]; compiling one gives the
//! plan that is run for every message. A policy says everything explicitly: nothing is added when
//! it is executed.

use std::time::Duration;

use jiff::Timestamp;
use soapstone_xml::Canonicalization;

use crate::conversation::DerivedKeyPolicy;
use crate::part::Part;
use crate::suite::Suite;
use crate::tuning::Tuning;

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

/// The end of a weak algorithm in one peer's messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retirement {
    /// Short name of the algorithm.
    pub algorithm: String,
    /// From then on it is refused, although the suite lists it.
    pub from: Timestamp,
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

    /// When `algorithm` was retired, if that is past.
    pub(crate) fn retired(&self, algorithm: &str, now: Timestamp) -> Option<Timestamp> {
        let retirement = self
            .retirements
            .iter()
            .find(|retirement| retirement.algorithm == algorithm)?;
        (retirement.from <= now).then_some(retirement.from)
    }
}

/// Freshness of messages (SOAP Message Security 1.1.1, 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimestampPolicy {
    /// Inbound: a message without one is refused. One that is there is checked in any case.
    pub required: bool,
    /// Time from `Created` to `Expires`, and the longest age accepted, whatever `Expires` says.
    pub ttl: Duration,
    /// Difference of clocks that is forgiven.
    pub skew: Duration,
}

impl Default for TimestampPolicy {
    /// Five minutes, the customary bound of WS-Security stacks, and one minute of skew.
    fn default() -> Self {
        Self {
            required: true,
            ttl: Duration::from_secs(300),
            skew: Duration::from_secs(60),
        }
    }
}

/// How a user proves to know the password (UsernameToken Profile 1.1.1, 3.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordKind {
    /// The password itself: only over TLS or encrypted.
    Text,
    /// `Base64(SHA-1(nonce + created + password))`.
    Digest,
}

/// A `wsse:UsernameToken`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsernamePolicy {
    /// Kinds accepted; the first is the one used in messages that we make.
    pub passwords: Vec<PasswordKind>,
    /// Longest age of `wsu:Created`.
    pub ttl: Duration,
    /// Difference of clocks that is forgiven.
    pub skew: Duration,
}

/// Which key signs or encrypts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyBinding {
    /// Certificates: the sender signs with its private key, and wraps a fresh session key to the
    /// receiver's certificate.
    Certificate,
    /// One symmetric key that both sides hold.
    Shared,
    /// The session key that the request carried: responses refer to it by `EncryptedKeySHA1`.
    RequestKey,
    /// A fresh session key, wrapped to the receiver's certificate, that signs and encrypts: the
    /// symmetric binding of WS-SecurityPolicy 1.3, 7.4. It proves nothing about the sender.
    SessionKey,
    /// The key of a security context, named by a `SecurityContextToken`.
    Context,
}

/// How a message names a key (SOAP Message Security 1.1.1, 7; X.509 Token Profile 1.1.1, 3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyReference {
    /// A `BinarySecurityToken` in the header and a `Reference` to it.
    Direct,
    /// `KeyIdentifier` with the subject key identifier.
    SubjectKeyIdentifier,
    /// `KeyIdentifier` with the SHA-1 of the certificate.
    Thumbprint,
    /// `X509IssuerSerial`.
    IssuerSerial,
    /// The token inside the reference.
    Embedded,
    /// `ds:KeyName` (the subject of a certificate, or the name of a shared key).
    KeyName,
    /// `KeyIdentifier` with the SHA-1 of the wrapped key: for [`KeyBinding::RequestKey`] and shared
    /// keys.
    EncryptedKeySha1,
}

impl KeyReference {
    /// Every way.
    pub const ALL: [Self; 7] = [
        Self::Direct,
        Self::SubjectKeyIdentifier,
        Self::Thumbprint,
        Self::IssuerSerial,
        Self::Embedded,
        Self::KeyName,
        Self::EncryptedKeySha1,
    ];

    /// Its name in configuration files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::SubjectKeyIdentifier => "ski",
            Self::Thumbprint => "thumbprint",
            Self::IssuerSerial => "issuer-serial",
            Self::Embedded => "embedded",
            Self::KeyName => "key-name",
            Self::EncryptedKeySha1 => "encrypted-key-sha1",
        }
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

/// Whether the tags of a part are encrypted with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// Only what is between the tags.
    Content,
    /// The whole element. A header block becomes a `wsse11:EncryptedHeader`.
    Element,
}

/// One encrypted part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EncryptedPart {
    /// The part.
    pub part: Part,
    /// With or without its tags.
    pub extent: Extent,
}

impl EncryptedPart {
    /// The part in its customary extent: the content of the Body, the whole of anything else.
    pub fn customary(part: Part) -> Self {
        let extent = if part == Part::Body {
            Extent::Content
        } else {
            Extent::Element
        };
        Self { part, extent }
    }
}

/// To whom session keys are wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recipient {
    /// The configured peer.
    Peer,
    /// Whoever signed the request: for a service with many clients.
    Requester,
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

/// Order of protection of parts that are signed and encrypted (WS-SecurityPolicy 1.3, 6.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProtectionOrder {
    /// The signature covers the plain text.
    SignBeforeEncrypting,
    /// The signature covers the cipher text.
    EncryptBeforeSigning,
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

/// Order of the elements of the `wsse:Security` header (WS-SecurityPolicy 1.3, 6.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Tokens stand before they are used.
    Strict,
    /// Any order that can be processed.
    #[default]
    Lax,
    /// As `Lax`, and the Timestamp is first.
    LaxTimestampFirst,
    /// As `Lax`, and the Timestamp is last.
    LaxTimestampLast,
}

impl Layout {
    /// Whether it says where the Timestamp stands, so that messages need one.
    #[must_use]
    pub const fn places_timestamp(self) -> bool {
        matches!(self, Self::LaxTimestampFirst | Self::LaxTimestampLast)
    }
}

/// Bounds on the security elements of one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecurityLimits {
    /// `ds:Reference` and `xenc:DataReference` elements, all signatures and keys together. 64
    /// covers signed headers of every profile that we know; a message with each of its records
    /// signed needs more and must be told so.
    pub references: usize,
    /// Signatures. A primary and a few endorsing ones.
    pub signatures: usize,
    /// `EncryptedKey` elements: each costs a private-key operation.
    pub encrypted_keys: usize,
    /// Security tokens, embedded and derived ones included.
    pub tokens: usize,
    /// Largest `soap:Header`, bytes. It bounds the work that somebody can put beside a captured
    /// cipher text. Cipher text of tokens and long certificate paths fit into 256 kB; the
    /// largest header among the project's vectors has 33 kB.
    pub header: usize,
    /// Failed openings of messages that ask to decipher with one `EncryptedKey`, in a day. The
    /// next one is refused unread.
    pub failed_openings: u32,
    /// The same of messages in one security context whose signature cipher text holds: nothing
    /// else tells them from what a stranger has changed.
    pub failed_openings_of_context: u32,
}

impl SecurityLimits {
    /// Largest `soap:Header` in bytes: each reference beyond the usual number adds what one takes.
    pub(crate) fn header_bytes(&self) -> usize {
        let more = self.signed_info_bytes() - SIGNED_INFO_BYTES;
        self.header.saturating_add(more)
    }

    /// Largest canonical `ds:SignedInfo` in bytes: 1 kB for each reference, and 64 kB at least.
    /// References of live peers take 300 to 700 bytes.
    pub(crate) fn signed_info_bytes(&self) -> usize {
        self.references.saturating_mul(1024).max(SIGNED_INFO_BYTES)
    }
}

/// Least bound of a canonical `ds:SignedInfo`, bytes.
const SIGNED_INFO_BYTES: usize = 64 * 1024;

impl Default for SecurityLimits {
    fn default() -> Self {
        Self {
            references: 64,
            signatures: 4,
            encrypted_keys: 4,
            tokens: 16,
            header: 256 * 1024,
            failed_openings: 3,
            failed_openings_of_context: 16,
        }
    }
}
