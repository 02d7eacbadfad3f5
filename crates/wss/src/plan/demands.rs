//! The demands of an inbound plan: what its policy asks of every message, computed once.
//!
//! The rule kept here: whatever does not depend on the message is decided here. Opening reads these
//! demands and never a policy.

use jiff::Timestamp;
use soapstone_crypto::{KeyKind, SignatureAlgorithm, SignatureFamily};
use soapstone_xml::Element;

use super::key_source::KeySource;
use crate::attachments::AttachmentDemands;
use crate::binding::{KeyBinding, KeyReference, Layout, ProtectionOrder};
use crate::conversation::DerivedKeyPolicy;
use crate::freshness::TimestampPolicy;
use crate::header::ItemKind;
use crate::kerberos::KerberosPolicy;
use crate::limits::SecurityLimits;
use crate::part::{EncryptedPart, Part};
use crate::policy::{Intermediary, Policy};
use crate::suite::{Retirement, Suite, retired};
use crate::supporting::{EndorsingToken, SupportingToken};
use crate::token::{AssertionPolicy, HolderUse, SamlVersion, TokenKind};
use crate::tuning::Tuning;
use crate::username::{PasswordKeyPolicy, UsernamePolicy};

/// Everything that one plan demands of messages.
#[derive(Debug)]
pub(crate) struct Demands {
    /// `soap:actor` or `soap:role` of the header to process.
    pub(crate) actor: Option<String>,
    /// Whether messages are passed on to other nodes, and how.
    pub(crate) intermediary: Option<Intermediary>,
    /// The header blocks that are understood here, by namespace and local name.
    pub(crate) understood_blocks: Vec<(String, String)>,
    /// Whether a `wsse:Security` header is processed at all.
    pub(crate) has_security: bool,
    /// Whether a message without that header is refused, whatever it answers.
    pub(crate) requires_header: bool,
    /// How fresh a message must be.
    pub(crate) timestamp: Option<TimestampPolicy>,
    /// Whether a message without a `wsu:Timestamp` is refused.
    pub(crate) requires_timestamp: bool,
    /// The tokens beside those of the binding.
    pub(crate) supporting: Vec<SupportingToken>,
    /// Whether answers repeat the signature values of their request.
    pub(crate) confirms: bool,
    /// The permitted algorithms.
    pub(crate) suite: Suite,
    pub(crate) limits: SecurityLimits,
    pub(crate) tuning: Tuning,
    pub(crate) layout: Layout,
    pub(crate) order: ProtectionOrder,
    /// The parts that a message must have.
    pub(crate) required: Vec<Part>,
    pub(crate) signature: Option<SignatureDemand>,
    pub(crate) encryption: Option<EncryptionDemand>,
    pub(crate) endorsements: Endorsements,
    /// A part that is encrypted where it is there at all, under signatures over cipher text.
    pub(crate) optional_cipher: Option<Part>,
    /// The table of header blocks that are signed, by namespace and local name.
    pub(crate) signed_blocks: Vec<(String, String)>,
    /// The header blocks that are passed on although nothing proves them, by namespace and local
    /// name.
    pub(crate) unsigned_blocks: Vec<(String, String)>,
    /// The signed parts that an id or a path names.
    pub(crate) named_parts: Vec<Part>,
    /// What is demanded of every attachment.
    pub(crate) attachments: AttachmentDemands,
    /// Whether signatures cover header blocks and the Body as a whole.
    pub(crate) only_entire_parts: bool,
    /// Whether signatures tell the parts that can be passed on from others.
    pub(crate) proves_parts: bool,
    /// Whether inherited attributes of signed elements are as good as the elements.
    pub(crate) covers_inherited: bool,
    /// Whether messages belong to a conversation.
    pub(crate) uses_context: bool,
    /// The Kerberos token that messages carry or name.
    pub(crate) kerberos: Option<KerberosPolicy>,
    /// Whether it is demanded for itself, and not for its key.
    pub(crate) kerberos_beside: bool,
    /// How keys are derived from passwords, where they are.
    pub(crate) password_keys: Option<PasswordKeyPolicy>,
    /// Whether messages are protected or endorsed with the proof key of the assertion that they
    /// have.
    pub(crate) proves_by_key: bool,
    /// Whether a session key is wrapped to our certificate.
    pub(crate) wraps_key: bool,
    /// Whether what signs and encrypts is derived from symmetric keys.
    pub(crate) derives_keys: bool,
    /// Whether all session keys of a message must be one.
    pub(crate) single_session_key: bool,
    /// Whether somebody on the way may choose the key of signed cipher text.
    pub(crate) lets_choose_keys: bool,
    /// Whether it may be short all the same.
    pub(crate) accepts_short_cipher_text: bool,
    /// Whether some cipher text is known by nothing but itself.
    pub(crate) marks_cipher_text: bool,
    pub(crate) refuses_own_signatures: bool,
    /// Whether several signatures may prove the parts of a message.
    pub(crate) several_signatures: bool,
    /// The items of the header that are not read, by namespace and local name.
    ignored: Vec<(String, String)>,
    retirements: Vec<Retirement>,
    /// The kinds of tokens that a header has a place for.
    tokens: Vec<TokenKind>,
}

/// The demand of a message signature.
#[derive(Debug)]
pub(crate) struct SignatureDemand {
    /// Which key makes it.
    pub(crate) key: KeyDemand,
    /// Which parts it covers, and in which order they are protected.
    pub(crate) parts: Vec<(Part, ProtectionOrder)>,
    /// The role of a signature with a private key.
    pub(crate) by_certificate: CertificateRole,
    /// Whether the private key of an assertion's holder may make it.
    pub(crate) by_holder: bool,
    /// Whether a private key that makes it has to be of RSA, however it is named
    /// (`sp:RsaKeyValue`; WS-SecurityPolicy 1.3, 5.4.11).
    pub(crate) by_rsa: bool,
    /// The permitted algorithms of HMACs by other keys than a symmetric one that endorses, and of
    /// signatures with private keys.
    hmac: bool,
    public: bool,
}

/// The demand of encryption.
#[derive(Debug)]
pub(crate) struct EncryptionDemand {
    pub(crate) key: KeyDemand,
    /// The parts, each with the order of its protection where a signature covers it as well.
    pub(crate) parts: Vec<(EncryptedPart, Option<ProtectionOrder>)>,
}

/// The source of a key, and how keys are derived from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KeyDemand {
    pub(crate) source: KeySource,
    pub(crate) derived_keys: Option<DerivedKeyPolicy>,
}

/// What a signature with a private key is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CertificateRole {
    /// It proves parts of the message.
    Message,
    /// It endorses.
    Endorsing,
    /// It endorses if it covers a signature.
    ByCoverage,
}

/// The demands of endorsing signatures.
#[derive(Debug, Default)]
pub(crate) struct Endorsements {
    pub(crate) demands: Vec<EndorsementDemand>,
    /// Whether they are over the Timestamp instead of over the message's signature.
    pub(crate) over_timestamp: bool,
    /// Whether the message's signature is told from them by what it covers: all are over the
    /// Timestamp, and all by certificates.
    pub(crate) assigns_message: bool,
    /// Whether one key may make several of them.
    pub(crate) same_endorser: bool,
    /// The symmetric key that endorses: of a security context, a Kerberos token or an assertion,
    /// or from a password.
    pub(crate) secret: Option<KeyDemand>,
    /// Whether they cover parts of the message in particular.
    pub(crate) cover_parts: bool,
}

/// The demand of one endorsing signature.
#[derive(Debug)]
pub(crate) struct EndorsementDemand {
    /// The kind of its key.
    pub(crate) key: KeyBinding,
    /// Whether a private key has to be of RSA, however it is named.
    pub(crate) by_rsa: bool,
    pub(crate) parts: Vec<Part>,
    pub(crate) covers_token: bool,
    pub(crate) token_signed: bool,
    /// The encrypted token, with the order of its protection where it is signed as well.
    pub(crate) token_encrypted: Option<(EncryptedPart, Option<ProtectionOrder>)>,
    /// Whether messages carry the token.
    pub(crate) carries_token: bool,
}

impl Demands {
    /// The demands of a policy.
    pub(super) fn of(policy: &Policy) -> Self {
        let (signature, encryption) = (policy.signature(), policy.encryption());
        let derived_keys = policy.derived_keys();
        let key = |source| KeyDemand {
            source,
            derived_keys,
        };
        let header = &policy.header;
        let requires_timestamp = header.timestamp.is_some_and(|timestamp| timestamp.required);
        let parts = encryption.as_ref().map_or(&[][..], |one| one.parts);
        let mut optional = parts
            .iter()
            .filter(|wanted| matches!(wanted.part, Part::Path(_) | Part::Id(_)));
        let encrypts_first = policy.order() == ProtectionOrder::EncryptBeforeSigning;
        let endorsed = policy.endorsing_beside().flat_map(|token| &token.parts);
        let own = signature.iter().flat_map(|one| one.parts.iter());
        let all_signed: Vec<&Part> = own.chain(endorsed).collect();
        let block = |part: &&Part| match part {
            Part::Header { namespace, local } => Some((namespace.clone(), local.clone())),
            _ => None,
        };
        let is_named = |part: &&&Part| matches!(part, Part::Id(_) | Part::Path(_));
        Self {
            actor: header.actor.clone(),
            intermediary: header.intermediary,
            understood_blocks: {
                let encrypted = parts.iter().map(|wanted| &wanted.part);
                let others = policy.parts.required.iter().chain(&policy.parts.unsigned);
                let named = all_signed.iter().copied().chain(encrypted).chain(others);
                named.filter_map(|part| block(&part)).collect()
            },
            has_security: policy.has_security(),
            requires_header: signature.is_some()
                || encryption.is_some()
                || policy.username().is_some()
                || policy.assertion().is_some()
                || policy.kerberos_beside().is_some()
                || requires_timestamp,
            timestamp: header.timestamp,
            requires_timestamp,
            supporting: policy.supporting.clone(),
            confirms: header.signature_confirmation,
            suite: policy.suite.clone(),
            limits: policy.limits,
            tuning: policy.tuning,
            layout: header.layout,
            order: policy.order(),
            required: policy.parts.required.clone(),
            signature: signature.as_ref().map(|one| SignatureDemand {
                key: key(KeySource::of_signature(one.key)),
                parts: one
                    .parts
                    .iter()
                    .map(|part| (part.clone(), order_of(policy, part)))
                    .collect(),
                by_certificate: role_of_certificates(policy),
                by_holder: may_be_holders(policy),
                by_rsa: one.key == KeyBinding::Certificate
                    && one.reference == KeyReference::RsaKeyValue,
                hmac: !policy.signs_by_certificate(),
                public: policy.signs_by_certificate() || policy.endorses_by_certificate(),
            }),
            encryption: encryption.as_ref().map(|one| EncryptionDemand {
                key: key(KeySource::of_encryption(one.key)),
                parts: one
                    .parts
                    .iter()
                    .map(|wanted| {
                        let signed = policy.signs(&wanted.part);
                        encrypted(policy, wanted.clone(), signed)
                    })
                    .collect(),
            }),
            endorsements: endorsements(policy),
            optional_cipher: optional
                .next()
                .filter(|_| encrypts_first)
                .map(|wanted| wanted.part.clone()),
            signed_blocks: all_signed.iter().filter_map(block).collect(),
            unsigned_blocks: {
                let unsigned: Vec<&Part> = policy.parts.unsigned.iter().collect();
                unsigned.iter().filter_map(block).collect()
            },
            named_parts: all_signed
                .iter()
                .filter(is_named)
                .map(|part| (*part).clone())
                .collect(),
            attachments: policy.attachments(),
            only_entire_parts: policy.parts.only_entire_headers_and_body,
            proves_parts: policy.proves_parts(),
            covers_inherited: policy.covers_inherited(),
            uses_context: policy.uses_context(),
            kerberos: policy.kerberos(),
            kerberos_beside: policy.kerberos_beside().is_some(),
            password_keys: policy.password_keys(),
            proves_by_key: policy.proves_by_key(),
            wraps_key: policy.wraps_key(),
            derives_keys: derived_keys.is_some(),
            single_session_key: policy.uses(KeyBinding::SessionKey) || derived_keys.is_some(),
            lets_choose_keys: policy.lets_choose_keys(),
            accepts_short_cipher_text: policy.risks_chosen_keys(),
            marks_cipher_text: signature.is_none() && !policy.wraps_key(),
            refuses_own_signatures: policy.refuse_own_signatures,
            several_signatures: policy.parts.several_signatures,
            ignored: header.ignored.clone(),
            retirements: policy.retirements.clone(),
            tokens: TokenKind::all()
                .filter(|kind| kind.is_used_by(policy))
                .collect(),
        }
    }

    /// The kind of a header item for this plan. A token that the plan has no use for is unknown.
    pub(crate) fn kind(&self, kind: ItemKind) -> ItemKind {
        match kind {
            ItemKind::Token(token) if !self.tokens.contains(&token) => ItemKind::Unknown,
            kind => kind,
        }
    }

    /// Whether an item of the header is not read.
    pub(crate) fn ignores(&self, item: Element<'_>) -> bool {
        let mut ignored = self.ignored.iter();
        ignored.any(|(namespace, local)| item.is(namespace, local))
    }

    /// The user of messages.
    pub(crate) fn username(&self) -> Option<&UsernamePolicy> {
        self.supporting.iter().find_map(SupportingToken::username)
    }

    /// What is accepted of the assertion that messages have.
    pub(crate) fn assertion(&self) -> Option<&AssertionPolicy> {
        self.supporting.iter().find_map(SupportingToken::assertion)
    }

    /// Whether messages may name an assertion that stands elsewhere.
    pub(crate) fn names_assertions(&self) -> bool {
        self.assertion()
            .is_some_and(|assertion| assertion.by_reference)
    }

    /// Whether assertions of a version are accepted.
    pub(crate) fn accepts_version(&self, version: SamlVersion) -> bool {
        self.assertion()
            .is_some_and(|assertion| assertion.versions.contains(&version))
    }

    /// Whether the assertion of messages is in cipher text of its own.
    pub(crate) fn hides_assertion(&self) -> bool {
        self.assertion()
            .is_some_and(|assertion| assertion.encrypted)
    }

    /// Whether the Security header may be that of the draft of July 2002.
    pub(crate) fn accepts_draft(&self) -> bool {
        let username = self.username();
        username.is_some_and(|username| username.dialects.draft_2002)
    }

    /// When `algorithm` was retired, if that is past.
    pub(crate) fn retired(&self, algorithm: &str, now: Timestamp) -> Option<Timestamp> {
        retired(&self.retirements, algorithm, now)
    }

    /// Whether the key that encrypts comes from there.
    pub(crate) fn deciphers_with(&self, source: KeySource) -> bool {
        let encryption = self.encryption.as_ref();
        encryption.is_some_and(|encryption| encryption.key.source == source)
    }

    /// Whether the plan has the key of the assertion's holder endorse.
    pub(crate) fn is_endorsed_by_holder(&self) -> bool {
        let assertion = self.assertion();
        assertion.is_some_and(|one| one.holder == HolderUse::Endorses)
    }

    /// Whether some signature may be made with the certificate of a key of this kind.
    pub(crate) fn takes_signer_of(&self, key: KeyKind) -> bool {
        let takes = |by_rsa: bool| !by_rsa || KeyReference::RsaKeyValue.fits(key);
        let message = self.message_by_certificate();
        let mut endorsing = self.endorsed_by_certificate();
        message.is_some_and(|one| takes(one.by_rsa)) || endorsing.any(|one| takes(one.by_rsa))
    }

    /// Whether some signature may be made with the private key of an assertion's holder.
    pub(crate) fn takes_holder(&self) -> bool {
        let endorses = self.is_endorsed_by_holder();
        self.message_by_certificate()
            .is_some_and(|one| one.by_holder)
            || endorses && self.endorsed_by_certificate().next().is_some()
    }

    /// The demand of the message's own signature, if a private key makes it.
    fn message_by_certificate(&self) -> Option<&SignatureDemand> {
        let signature = self.signature.as_ref();
        signature.filter(|one| one.by_certificate != CertificateRole::Endorsing)
    }

    /// The demands of endorsing signatures that private keys make.
    fn endorsed_by_certificate(&self) -> impl Iterator<Item = &EndorsementDemand> {
        let demands = self.endorsements.demands.iter();
        demands.filter(|one| one.key == KeyBinding::Certificate)
    }

    /// The permitted algorithms of a signature. The algorithm says which kind of key it wants; the
    /// plan says which kinds there may be. A key is never used as one of another kind.
    pub(crate) fn signature_algorithms(
        &self,
        family: SignatureFamily,
        by_secret: bool,
    ) -> &[SignatureAlgorithm] {
        let suite = &self.suite;
        let (hmac, public) = match &self.signature {
            Some(signature) => (signature.hmac, signature.public),
            None => (false, false),
        };
        match family == SignatureFamily::Hmac {
            true if by_secret || hmac => &suite.symmetric_signature,
            false if !public => &suite.symmetric_signature,
            _ => &suite.signature,
        }
    }
}

/// The order of protection of a part. A token has to be read before the signature that it is for is
/// verified, in either order: it is enciphered together with the signature, which is always made
/// before.
fn order_of(policy: &Policy, part: &Part) -> ProtectionOrder {
    match part {
        Part::EndorsingToken => ProtectionOrder::SignBeforeEncrypting,
        _ => policy.order(),
    }
}

/// An encrypted part. Confirmations are enciphered together with the signature, in either order.
fn encrypted(
    policy: &Policy,
    wanted: EncryptedPart,
    signed: bool,
) -> (EncryptedPart, Option<ProtectionOrder>) {
    let ordered = signed && wanted.part != Part::SignatureConfirmation;
    let order = ordered.then(|| order_of(policy, &wanted.part));
    (wanted, order)
}

/// Where the message's own signature is made with a symmetric key, one by certificate endorses it.
/// Where both are made with certificates, the one that covers a signature does; and of those over
/// the Timestamp, the comparison says which is which.
fn role_of_certificates(policy: &Policy) -> CertificateRole {
    if !policy.signs_by_certificate() {
        CertificateRole::Endorsing
    } else if policy.endorses_by_certificate() && !policy.endorses_timestamp() {
        CertificateRole::ByCoverage
    } else {
        CertificateRole::Message
    }
}

/// Whether the key of an assertion's holder may make the message's own signature: over a connection
/// that is the endorsing one.
fn may_be_holders(policy: &Policy) -> bool {
    let holder = policy.assertion().map(|one| one.holder);
    holder == Some(HolderUse::Signs)
        || holder == Some(HolderUse::Endorses) && policy.is_by_connection()
}

fn endorsements(policy: &Policy) -> Endorsements {
    let over_timestamp = policy.endorses_timestamp();
    let demand = |one: &EndorsingToken| EndorsementDemand {
        key: one.key.kind(),
        by_rsa: one.key.reference() == KeyReference::RsaKeyValue,
        parts: one.parts.clone(),
        covers_token: one.covers_token,
        token_signed: one.signed && !over_timestamp,
        token_encrypted: (one.encrypted && !over_timestamp).then(|| {
            let token = EncryptedPart::customary(Part::EndorsingToken);
            encrypted(policy, token, one.signed)
        }),
        carries_token: one.key.reference().has_token(),
    };
    Endorsements {
        demands: policy.endorsing_beside().map(demand).collect(),
        over_timestamp,
        assigns_message: over_timestamp && policy.signs_by_certificate(),
        same_endorser: policy.same_endorser,
        secret: policy.endorsing_secret().map(|one| KeyDemand {
            source: KeySource::of_signature(one.key.kind()),
            derived_keys: one.key.derived_keys(),
        }),
        cover_parts: policy.endorsing_beside().any(|one| !one.parts.is_empty()),
    }
}
