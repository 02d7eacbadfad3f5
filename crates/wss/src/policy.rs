//! What a peer and we agree on for one direction of messages.
//!
//! Presets, profiles and the policies of WSDLs all produce a [`Policy`]; compiling one gives the
//! plan that is run for every message. A policy says everything explicitly: nothing is added when
//! it is executed.
//!
//! The rule kept here: the binding says with which keys, the parts say what. Keys that do not go
//! together have no value to be written as.

mod certificate_names;
mod tokens;

use std::borrow::Cow;

use soapstone_xml::Canonicalization;

use crate::attachments::{AttachmentDemands, AttachmentPolicy, AttachmentProtection, Coverage};
use crate::binding::{
    Binding, EncryptionKey, KeyBinding, KeyReference, Layout, ProtectionOrder, Recipient,
    SymmetricBinding, SymmetricToken,
};
use crate::conversation::DerivedKeyPolicy;
use crate::freshness::TimestampPolicy;
use crate::header_order::OrderedItem;
use crate::inclusive_prefixes::InclusivePrefixes;
use crate::limits::SecurityLimits;
use crate::part::{EncryptedPart, Part};
use crate::suite::{Retirement, Suite};
use crate::supporting::{EndorsingToken, SupportingToken};
use crate::tuning::Tuning;

/// Requirements for one direction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Policy {
    /// Algorithms used and accepted.
    pub suite: Suite,
    /// The `wsse:Security` header and its own items.
    pub header: HeaderPolicy,
    /// The keys that protect messages.
    pub binding: Binding,
    /// Tokens beside those of the binding (WS-SecurityPolicy 1.3, 8).
    pub supporting: Vec<SupportingToken>,
    /// Whether one key may make several of the endorsing signatures. Who signs twice vouches no
    /// more than who signs once.
    pub same_endorser: bool,
    /// The parts of messages that are protected, or must be there.
    pub parts: PartsPolicy,
    /// Refuse signatures made with our own certificate, unless it is pinned or the peer's too: in
    /// an exchange of requests and responses, what we signed ourselves and get back is a
    /// reflection.
    pub refuse_own_signatures: bool,
    /// Weak algorithms of the suite that are used and accepted only for a while yet.
    pub retirements: Vec<Retirement>,
    /// Bounds on what one message may ask for.
    pub limits: SecurityLimits,
    /// Optimisations, switchable so that each can be measured alone.
    pub tuning: Tuning,
}

/// The `wsse:Security` header, and the items in it that belong to no token.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HeaderPolicy {
    /// `soap:actor` (1.1) or `soap:role` (1.2); `None` is the ultimate receiver, and `next`
    /// whichever node the message reaches next.
    pub actor: Option<String>,
    /// Inbound: the receiver passes messages on to other nodes, and is not their last one.
    pub intermediary: Option<Intermediary>,
    /// Whether the header of messages that we make must be understood.
    pub must_understand: bool,
    /// Order of its elements.
    pub layout: Layout,
    /// Outbound: the order in which items are written. Items that it does not name stand behind,
    /// in the order in which they stand without it.
    pub order: Vec<OrderedItem>,
    /// Whether messages carry a `wsu:Timestamp`, and how fresh it must be.
    pub timestamp: Option<TimestampPolicy>,
    /// Whether answers repeat the signature values of their request
    /// (`wsse11:SignatureConfirmation`), and are refused if they do not.
    pub signature_confirmation: bool,
    /// Inbound: items of the header that are not read, by namespace and local name. The plan has
    /// no use for them, and they are not passed on.
    pub ignored: Vec<(String, String)>,
}

/// A node between the sender and the ultimate receiver (SOAP 1.2 part 1, 2.7).
///
/// It reads one `wsse:Security` header, that of its actor, and proves what its policy names. All
/// else goes on byte for byte, and is proven by nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Intermediary {
    /// Whether the message goes on with plaintext in the place of the cipher text that was for
    /// this node.
    pub reinserts: bool,
}

/// The parts of messages that are protected with the keys of the binding, or must be there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PartsPolicy {
    /// The signed parts; all of them, whenever they are in the message. Without any, messages are
    /// not signed with the keys of the binding.
    pub signed: Vec<Part>,
    /// The encrypted parts; all of them, whenever they are in the message.
    pub encrypted: Vec<EncryptedPart>,
    /// Parts that must be in the message (WS-SecurityPolicy 1.3, 4.3: `RequiredParts`,
    /// `RequiredElements`).
    pub required: Vec<Part>,
    /// Outbound: header blocks without which a message is not secured.
    pub sent: Vec<Part>,
    /// Inbound: header blocks that are passed on although no signature covers them, as what
    /// nothing proves.
    pub unsigned: Vec<Part>,
    /// Inbound: several signatures may prove the parts together. One certificate makes them all,
    /// and each covers the Timestamp, so that nobody puts the parts of two messages together.
    pub several_signatures: bool,
    /// Messages that we make have tokens signed through the references to them, even where the
    /// header has the token (SOAP Message Security 1.1.1, 8.3). Inbound, both are understood.
    pub tokens_by_reference: bool,
    /// Outbound: the message's signature names what it covers in the order of `signed`. Without,
    /// it names items of the header first.
    pub in_order: bool,
    /// Outbound: the prefixes that signatures list in `ec:InclusiveNamespaces`.
    pub inclusive_prefixes: InclusivePrefixes,
    /// Outbound: the cipher text of a header block takes its place in the `soap:Header` as it is,
    /// without a `wsse11:EncryptedHeader` around it, as in WS-Security 1.0. Nothing then says
    /// before it is deciphered whom the block is for, and whether it must be understood.
    pub bare_header_blocks: bool,
    /// Inbound: signatures cover the Body and header blocks as a whole, or something inside the
    /// `wsse:Security` header, and nothing else (WS-SecurityPolicy 1.3, 6.6).
    pub only_entire_headers_and_body: bool,
    /// What is said of attachments.
    pub attachments: AttachmentPolicy,
    /// Inbound: short cipher text is taken although no signature covers the key that it is
    /// enciphered with ([`lets_choose_keys`](Policy::lets_choose_keys)). Then somebody on the way
    /// can make it say something else.
    pub short_cipher_text: bool,
    /// Outbound: signatures leave out the key of short cipher text, for a peer that refuses to
    /// have it signed. Then somebody on the way can make the message say something else.
    pub unsigned_session_key: bool,
}

/// The message's own signature, as binding, tokens and parts have it together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MessageSignature<'p> {
    /// The key that makes it.
    pub key: KeyBinding,
    /// How messages that we make name the key. Inbound, every kind is understood.
    pub reference: KeyReference,
    /// Whether the key is derived, instead of being the key of the binding.
    pub derived_keys: Option<DerivedKeyPolicy>,
    /// The parts; all of them, whenever they are in the message.
    pub parts: Cow<'p, [Part]>,
}

/// The encryption of a message, as binding, tokens and parts have it together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MessageEncryption<'p> {
    /// The key that encrypts.
    pub key: KeyBinding,
    /// How messages that we make name the key. Inbound, every kind is understood.
    pub reference: KeyReference,
    /// For whom, with [`KeyBinding::Certificate`].
    pub recipient: Recipient,
    /// Whether the key is derived, instead of being the key of the binding.
    pub derived_keys: Option<DerivedKeyPolicy>,
    /// The parts; all of them, whenever they are in the message.
    pub parts: &'p [EncryptedPart],
}

impl Policy {
    /// The message's own signature; none, where nothing is signed. Where the connection protects
    /// messages there is nothing but the Timestamp to sign, and the first endorsing token does.
    pub fn signature(&self) -> Option<MessageSignature<'_>> {
        let (key, reference, derived_keys) = self.signing_key()?;
        let parts = match self.is_by_connection() {
            true => self.endorsing().next().map(over_timestamp)?,
            false => Cow::Borrowed(self.parts.signed.as_slice()),
        };
        Some(MessageSignature {
            key,
            reference,
            derived_keys,
            parts,
        })
    }

    /// What is done to attachments, and demanded of them. Where the connection protects messages,
    /// it protects their attachments, too.
    pub(crate) fn attachments(&self) -> AttachmentDemands {
        let said = self.parts.attachments;
        let of = |said: AttachmentProtection, as_message: bool| match said {
            AttachmentProtection::AsMessage => as_message.then_some(Coverage::Content),
            AttachmentProtection::Absent => None,
            AttachmentProtection::Of(coverage) => Some(coverage),
        };
        let encrypted = of(said.encrypted, self.encrypts_of_body());
        let is_late = self.order() == ProtectionOrder::EncryptBeforeSigning;
        let refused = match (self.header.intermediary, encrypted) {
            (Some(_), _) => Some("a node on the way takes no packages"),
            (None, Some(_)) if is_late && self.signature().is_some() => Some(
                "attachments are signed before they are encrypted, and the policy has it the other way round",
            ),
            _ => None,
        };
        AttachmentDemands {
            signed: of(said.signed, self.signs_attachments()),
            encrypted,
            refused,
        }
    }

    /// Whether the message's signature can cover attachments.
    pub(crate) fn signs_attachments(&self) -> bool {
        self.signature().is_some() && !self.is_by_connection()
    }

    /// The key of the message's own signature, how messages name it, and how it is derived.
    fn signing_key(&self) -> Option<(KeyBinding, KeyReference, Option<DerivedKeyPolicy>)> {
        let found = match &self.binding {
            Binding::None => return None,
            Binding::Transport => {
                let key = &self.endorsing().next()?.key;
                return Some((key.kind(), key.reference(), key.derived_keys()));
            }
            Binding::Symmetric(binding) => {
                let key = &binding.key;
                (key.kind(), key.reference(), binding.derived_keys)
            }
            // A private key signs itself: what anybody derives from a session key that he wrapped
            // proves nobody.
            Binding::Asymmetric(binding) => (KeyBinding::Certificate, binding.signature?, None),
        };
        (!self.parts.signed.is_empty()).then_some(found)
    }

    /// The kind of the key of the message's own signature.
    pub fn signs_with(&self) -> Option<KeyBinding> {
        self.signing_key().map(|(kind, ..)| kind)
    }

    /// The encryption of the message; none, where nothing is encrypted.
    pub fn encryption(&self) -> Option<MessageEncryption<'_>> {
        let (key, reference, recipient, derived_keys) = match &self.binding {
            Binding::None | Binding::Transport => return None,
            Binding::Symmetric(binding) => {
                let key = &binding.key;
                let recipient = Recipient::Peer;
                (key.kind(), key.reference(), recipient, binding.derived_keys)
            }
            Binding::Asymmetric(binding) => {
                let encryption = binding.encryption.as_ref()?;
                let (key, reference, recipient) = match encryption.key {
                    EncryptionKey::Certificate {
                        reference,
                        recipient,
                    } => (KeyBinding::Certificate, reference, recipient),
                    EncryptionKey::Request => (
                        KeyBinding::RequestKey,
                        KeyReference::EncryptedKeySha1,
                        Recipient::Peer,
                    ),
                };
                (key, reference, recipient, encryption.derived_keys)
            }
        };
        let has_parts = !self.parts.encrypted.is_empty();
        let encrypts = has_parts || self.endorsing().any(|token| token.encrypted);
        encrypts.then_some(MessageEncryption {
            key,
            reference,
            recipient,
            derived_keys,
            parts: &self.parts.encrypted,
        })
    }

    /// Protects messages with a symmetric key, in the same order, and derives keys from it where
    /// keys are derived.
    pub fn protect_with(&mut self, key: SymmetricToken) {
        self.binding = Binding::Symmetric(SymmetricBinding {
            key,
            derived_keys: self.derived_keys(),
            order: self.order(),
        });
    }

    /// Whether the connection protects messages as a whole (WS-SecurityPolicy 1.3, 7.3). Then a
    /// signature says who sends, and for how long, and not what: header blocks that it does not
    /// cover are as good as those that it covers.
    pub fn is_by_connection(&self) -> bool {
        self.binding == Binding::Transport
    }

    /// Which comes first where a part is both signed and encrypted.
    pub fn order(&self) -> ProtectionOrder {
        match &self.binding {
            Binding::None | Binding::Transport => ProtectionOrder::SignBeforeEncrypting,
            Binding::Symmetric(binding) => binding.order,
            Binding::Asymmetric(binding) => binding.order,
        }
    }

    /// How keys are derived from the key of the binding; that of a context, over the connection.
    pub fn derived_keys(&self) -> Option<DerivedKeyPolicy> {
        match &self.binding {
            Binding::None => None,
            Binding::Transport => self.signing_key()?.2,
            Binding::Symmetric(binding) => binding.derived_keys,
            Binding::Asymmetric(_) => self.encryption()?.derived_keys,
        }
    }

    /// The parts that the message's own signature covers.
    pub fn signed_parts(&self) -> Cow<'_, [Part]> {
        self.signature()
            .map_or(Cow::Borrowed(&[]), |signature| signature.parts)
    }

    /// The parts that are encrypted.
    pub fn encrypted_parts(&self) -> &[EncryptedPart] {
        self.encryption().map_or(&[], |encryption| encryption.parts)
    }

    /// Whether a part is signed by the message's own signature.
    pub fn signs(&self, part: &Part) -> bool {
        self.signature()
            .is_some_and(|signature| signature.parts.contains(part))
    }

    /// Whether a part is encrypted.
    pub fn encrypts(&self, part: &Part) -> bool {
        let encryption = self.encryption();
        encryption.is_some_and(|found| found.parts.iter().any(|wanted| wanted.part == *part))
    }

    /// Whether the Body is encrypted, or some of it may be: a part that is named by an id or by a
    /// path counts unless it can stand in the header alone.
    pub fn encrypts_of_body(&self) -> bool {
        self.encrypted_parts().iter().any(|one| match &one.part {
            Part::Body | Part::Id(_) => true,
            Part::Path(path) => path.may_lead_into_body(),
            Part::Timestamp
            | Part::Header { .. }
            | Part::Signature
            | Part::UsernameToken
            | Part::Assertion
            | Part::Token
            | Part::EndorsingToken
            | Part::SignatureConfirmation => false,
        })
    }

    /// Whether the policy asks for a `wsse:Security` header at all.
    pub fn has_security(&self) -> bool {
        self.header.timestamp.is_some() || self.has_more_than_timestamp()
    }

    /// Whether messages that we make have a `wsse:Security` header.
    pub(crate) fn writes_security(&self) -> bool {
        let timestamp = self.header.timestamp;
        timestamp.is_some_and(|timestamp| timestamp.sent) || self.has_more_than_timestamp()
    }

    fn has_more_than_timestamp(&self) -> bool {
        self.username().is_some()
            || self.assertion().is_some()
            || self.kerberos_beside().is_some()
            || self.signs_with().is_some()
            || self.encryption().is_some()
            || self.header.signature_confirmation
    }

    /// Whether every message will do: no `wsse:Security` header is asked for, and no part has to be
    /// there.
    pub fn demands_nothing(&self) -> bool {
        !self.has_security() && self.parts.required.is_empty()
    }

    /// Whether something is signed or encrypted with this kind of key.
    pub fn uses(&self, key: KeyBinding) -> bool {
        self.signs_with() == Some(key)
            || self
                .encryption()
                .is_some_and(|encryption| encryption.key == key)
    }

    /// Whether a message takes an operation of a key pair, which is more work than all the rest of
    /// a small one.
    pub fn uses_key_pair(&self) -> bool {
        self.uses(KeyBinding::Certificate) || self.wraps_key() || self.endorses_by_certificate()
            // A derivation takes as long, and a stranger asks for it.
            || self.password_keys().is_some()
            || self.hides_assertion()
            || self.proves_by_key()
    }

    /// Whether somebody on the way may choose the key of cipher text that a signature covers: the
    /// cipher text is signed and not its key, anybody can wrap a key to a certificate, and without
    /// an authentication another key makes another text of it.
    ///
    /// A session key that signs as well is not of this kind: another key verifies no signature.
    /// Shared keys, those of requests, contexts, tickets, assertions and passwords are not, since a
    /// message chooses none of them.
    pub fn lets_choose_keys(&self) -> bool {
        let encryption = self.encryption();
        let is_wrapped = encryption.is_some_and(|one| one.key == KeyBinding::Certificate);
        let mut data = self.suite.data.iter();
        is_wrapped
            && self.signs_with().is_some()
            && self.order() == ProtectionOrder::EncryptBeforeSigning
            && data.any(|one| !one.is_authenticated())
    }

    /// Whether he may do so for short cipher text that arrives, of which few enough keys make
    /// something else.
    pub fn risks_chosen_keys(&self) -> bool {
        self.parts.short_cipher_text && self.lets_choose_keys()
    }

    /// Whether he may do so for short cipher text that leaves.
    pub fn leaves_keys_unsigned(&self) -> bool {
        self.parts.unsigned_session_key && self.lets_choose_keys()
    }

    /// Whether messages belong to a conversation: the key of a security context protects them, or
    /// endorses them.
    pub fn uses_context(&self) -> bool {
        self.uses(KeyBinding::Context) || self.endorsing_context().is_some()
    }

    /// Whether a session key is wrapped to a certificate: to encrypt with it, or to sign and
    /// encrypt with it.
    pub(crate) fn wraps_key(&self) -> bool {
        let encryption = self.encryption().map(|encryption| encryption.key);
        encryption == Some(KeyBinding::Certificate) || self.uses(KeyBinding::SessionKey)
    }

    /// Whether the message's own signature is made with a certificate.
    pub(crate) fn signs_by_certificate(&self) -> bool {
        self.signs_with() == Some(KeyBinding::Certificate)
    }

    /// Whether signatures are what tells parts of the message that can be passed on from others.
    pub fn proves_parts(&self) -> bool {
        self.signs_with().is_some() && !self.is_by_connection()
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
}

/// What a token signs over the connection: the Timestamp, and what it signs in particular.
fn over_timestamp(token: &EndorsingToken) -> Cow<'_, [Part]> {
    let own = token.covers_token.then_some(Part::Token);
    let timestamp = std::iter::once(Part::Timestamp);
    let parts = timestamp.chain(token.parts.iter().cloned()).chain(own);
    parts.collect()
}
