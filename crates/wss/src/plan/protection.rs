//! What an outbound plan does to every message, computed from its policy and keys once.
//!
//! The rule kept here: whatever does not depend on the message is decided here. Securing reads this
//! and never a policy.

use std::sync::Arc;

use jiff::Timestamp;
use soapstone_crypto::{DataEncryption, DigestAlgorithm, Identity, SignatureAlgorithm};

use super::key_source::KeySource;
use super::keys::Keys;
use crate::attachments::AttachmentDemands;
use crate::binding::{KeyBinding, KeyReference, Layout, ProtectionOrder, Recipient};
use crate::conversation::DerivedKeyPolicy;
use crate::freshness::TimestampPolicy;
use crate::header_order::OrderedItem;
use crate::inclusive_prefixes::InclusivePrefixes;
use crate::kerberos::{KerberosForm, KerberosPolicy};
use crate::part::{EncryptedPart, Part};
use crate::policy::Policy;
use crate::secure_error::SecureError;
use crate::suite::{Retirement, Suite, retired};
use crate::token::ConfirmationMethod;
use crate::tuning::Tuning;
use crate::username::{PasswordKeyPolicy, UsernamePolicy};

/// Everything that one plan does to messages.
#[derive(Debug)]
pub(crate) struct Protection {
    /// `soap:actor` or `soap:role` of the header.
    pub(crate) actor: Option<String>,
    /// Whether a `wsse:Security` header is written at all.
    pub(crate) has_security: bool,
    pub(crate) must_understand: bool,
    /// The `wsu:Timestamp` of messages, where they have one.
    pub(crate) timestamp: Option<TimestampPolicy>,
    /// For how long the peer may accept a message.
    pub(crate) freshness: Option<TimestampPolicy>,
    /// Whether the `wsu:Timestamp` is the last item of the header.
    pub(crate) timestamp_last: bool,
    /// The order of the items of the header, where it is not the usual one.
    pub(crate) header_order: Vec<OrderedItem>,
    /// The prefixes that signatures list.
    pub(crate) inclusive_prefixes: InclusivePrefixes,
    /// Whether messages carry an assertion.
    pub(crate) carries_assertion: bool,
    /// Whether it is a header block of the plain message.
    pub(crate) takes_assertion: bool,
    /// Whether it is an ID card of DGWS.
    pub(crate) carries_id_card: bool,
    /// Whether it has cipher text of its own.
    pub(crate) hides_assertion: bool,
    /// The authority that has it, where messages name it and do not carry it.
    pub(crate) assertion_authority: Option<String>,
    /// How an assertion is confirmed that messages name.
    pub(crate) assertion_methods: Vec<ConfirmationMethod>,
    /// Whether the name stands in the header itself. Otherwise the signature of its holder has it,
    /// where everybody can read that.
    pub(crate) names_assertion_apart: bool,
    /// The Kerberos token that messages carry beside those of their keys.
    pub(crate) kerberos: Option<KerberosPolicy>,
    /// The form of Kerberos tokens, whatever they are for.
    pub(crate) kerberos_form: Option<KerberosForm>,
    /// Whether it is named by its SHA-1, even where it is in the message.
    pub(crate) kerberos_by_identifier: bool,
    /// The user of messages.
    pub(crate) username: Option<UsernamePolicy>,
    /// How keys are derived from the password of the user, where they are.
    pub(crate) password_keys: Option<PasswordKeyPolicy>,
    /// Whether answers repeat the signature values of their request.
    pub(crate) confirms: bool,
    pub(crate) suite: Suite,
    pub(crate) tuning: Tuning,
    pub(crate) order: ProtectionOrder,
    pub(crate) signature: Option<Signing>,
    pub(crate) encryption: Option<Encrypting>,
    /// Whether the signature covers the key of short cipher text as well: somebody on the way
    /// could choose another one.
    pub(crate) binds_keys: bool,
    /// Whether it would have to, and does not: its use may have an end.
    pub(crate) leaves_keys_unsigned: bool,
    /// What is done to every attachment.
    pub(crate) attachments: AttachmentDemands,
    pub(crate) endorsing: Vec<Endorsing>,
    /// Whether endorsing signatures are over the Timestamp instead of over the message's
    /// signature.
    pub(crate) endorses_timestamp: bool,
    /// The identity whose token is written, and of which kind that is: it signs by that token, or
    /// is to be known by it.
    pub(crate) introduced: Option<(Arc<Identity>, KeyReference)>,
    /// Whether that token is for something else than the message's signature.
    pub(crate) introduces_apart: bool,
    /// The header blocks without which a message is not secured.
    pub(crate) sent: Vec<Part>,
    /// Whether sent cipher text is remembered: nothing else tells a message from a copy of it, and
    /// an answer may be under the same key.
    pub(crate) marks_cipher_text: bool,
    /// Algorithms that are in every message, and may be retired.
    pub(crate) algorithms: Vec<&'static str>,
    retirements: Vec<Retirement>,
}

/// The making of the message's signature.
#[derive(Debug)]
pub(crate) struct Signing {
    pub(crate) key: KeySource,
    pub(crate) reference: KeyReference,
    pub(crate) derived_keys: Option<DerivedKeyPolicy>,
    pub(crate) algorithm: SignatureAlgorithm,
    pub(crate) digest: DigestAlgorithm,
    /// Who signs, where a certificate is the key.
    pub(crate) signer: Option<Arc<Identity>>,
    pub(crate) parts: Vec<Part>,
    /// Whether references stand in the order of the parts.
    pub(crate) in_order: bool,
    /// Whether the key is that of the assertion's holder, and messages name it by the assertion.
    pub(crate) by_holder: bool,
    /// Whether it covers the tokens that the keys of the message come from.
    pub(crate) covers_tokens: bool,
    /// Whether it covers the token of its certificate through the reference to it (SOAP Message
    /// Security 1.1.1, 8.3).
    pub(crate) dereferences: bool,
    /// Whether it covers the assertion through a reference to it. Cipher text is covered by its
    /// id.
    pub(crate) dereferences_assertion: bool,
    /// Whether nothing is done to it once it is written: it is not enciphered, and none endorses
    /// it.
    pub(crate) stays: bool,
}

impl Signing {
    /// Whether a part that is signed is the assertion.
    pub(crate) fn covers_assertion(&self, part: &Part) -> bool {
        *part == Part::Assertion || self.by_holder && *part == Part::Token
    }
}

/// The encryption of a message.
#[derive(Debug)]
pub(crate) struct Encrypting {
    pub(crate) key: KeySource,
    /// Whether a session key is wrapped that does nothing but encrypt, as it is: it lists what it
    /// encrypts.
    pub(crate) wraps_alone: bool,
    pub(crate) reference: KeyReference,
    pub(crate) recipient: Recipient,
    pub(crate) derived_keys: Option<DerivedKeyPolicy>,
    pub(crate) algorithm: DataEncryption,
    pub(crate) parts: Vec<EncryptedPart>,
    pub(crate) hides_signature: bool,
    pub(crate) hides_username: bool,
    pub(crate) hides_assertion: bool,
    pub(crate) hides_confirmations: bool,
    /// Whether cipher text of header blocks has no element around it.
    pub(crate) bare_header_blocks: bool,
}

/// The making of an endorsing signature.
#[derive(Debug)]
pub(crate) struct Endorsing {
    pub(crate) endorser: Endorser,
    /// Whether the key is that of the assertion's holder, and the signature names the assertion.
    pub(crate) by_holder: bool,
    pub(crate) reference: KeyReference,
    pub(crate) derived_keys: Option<DerivedKeyPolicy>,
    pub(crate) parts: Vec<Part>,
    pub(crate) covers_token: bool,
    /// As that of the message's signature.
    pub(crate) dereferences: bool,
    pub(crate) token_signed: bool,
    pub(crate) token_encrypted: bool,
}

/// Whose key makes an endorsing signature, and with which algorithm.
#[derive(Clone, Debug)]
pub(crate) enum Endorser {
    /// The holder of a certificate.
    Certificate(Arc<Identity>, SignatureAlgorithm),
    /// Whoever is in the conversation.
    Context(SignatureAlgorithm),
    /// The client of the Kerberos token.
    Kerberos(SignatureAlgorithm),
    /// The holder of the assertion, whose key is symmetric.
    Holder(SignatureAlgorithm),
    /// The user, whose password the key is derived from.
    User(SignatureAlgorithm),
}

impl Endorser {
    pub(crate) fn algorithm(&self) -> SignatureAlgorithm {
        match self {
            Self::Certificate(_, algorithm)
            | Self::Context(algorithm)
            | Self::Kerberos(algorithm)
            | Self::Holder(algorithm)
            | Self::User(algorithm) => *algorithm,
        }
    }
}

/// The keys that sign, found for a policy.
pub(super) struct Signers {
    pub(super) algorithm: Option<SignatureAlgorithm>,
    pub(super) signer: Option<Arc<Identity>>,
    pub(super) endorsers: Vec<Endorser>,
}

impl Protection {
    /// What a policy that was checked does with these keys.
    pub(super) fn of(policy: &Policy, keys: &Keys, signers: Signers) -> Self {
        let Signers {
            algorithm,
            signer,
            endorsers,
        } = signers;
        let (suite, header) = (&policy.suite, &policy.header);
        let hides = |part: Part| policy.encrypts(&part);
        let signature = policy.signature().and_then(|one| {
            Some(Signing {
                key: KeySource::of_signature(one.key),
                reference: one.reference,
                derived_keys: one.derived_keys,
                algorithm: algorithm?,
                digest: *suite.digest.first()?,
                signer: signer.clone(),
                by_holder: signs_by_holder(policy),
                covers_tokens: one.parts.contains(&Part::Token),
                dereferences: !signs_by_holder(policy)
                    && one.key == KeyBinding::Certificate
                    && one.parts.contains(&Part::Token)
                    && policy.dereferences(one.reference),
                dereferences_assertion: policy.parts.tokens_by_reference && !hides(Part::Assertion),
                parts: one.parts.into_owned(),
                in_order: policy.parts.in_order,
                stays: !hides(Part::Signature) && endorsers.is_empty(),
            })
        });
        let encryption = policy.encryption().and_then(|one| {
            Some(Encrypting {
                key: KeySource::of_encryption(one.key),
                wraps_alone: one.key == KeyBinding::Certificate && one.derived_keys.is_none(),
                reference: one.reference,
                recipient: one.recipient,
                derived_keys: one.derived_keys,
                algorithm: *suite.data.first()?,
                parts: one.parts.to_vec(),
                hides_signature: hides(Part::Signature),
                hides_username: hides(Part::UsernameToken),
                hides_assertion: hides(Part::Assertion),
                hides_confirmations: hides(Part::SignatureConfirmation),
                bare_header_blocks: policy.parts.bare_header_blocks,
            })
        });
        // A connection that protects the message protects the tokens.
        let in_message = !policy.is_by_connection();
        let endorsing: Vec<Endorsing> = policy
            .endorsing_beside()
            .zip(endorsers)
            .map(|(one, endorser)| Endorsing {
                endorser,
                by_holder: policy.is_endorsed_by_holder(),
                reference: one.key.reference(),
                derived_keys: one.key.derived_keys(),
                parts: one.parts.clone(),
                covers_token: one.covers_token,
                dereferences: !policy.is_endorsed_by_holder()
                    && one.covers_token
                    && one.key.kind() == KeyBinding::Certificate
                    && policy.dereferences(one.key.reference()),
                token_signed: one.signed && in_message,
                token_encrypted: one.encrypted && in_message,
            })
            .collect();
        // What wraps a session key, the recipient says.
        let algorithms = signature
            .iter()
            .flat_map(|one| [one.algorithm.short_name(), one.digest.short_name()])
            .chain(encryption.iter().map(|one| one.algorithm.short_name()))
            .chain(
                endorsing
                    .iter()
                    .map(|one| one.endorser.algorithm().short_name()),
            )
            .collect();
        let reference = policy.certificate_reference();
        let by_holder = signs_by_holder(policy);
        let by_token = reference.filter(|reference| reference.has_token() && !by_holder);
        let introduced = keys
            .identity
            .as_ref()
            .filter(|_| policy.introduces_certificate())
            .map(|identity| (Arc::clone(identity), policy.introducing_reference()));
        let assertion = policy.assertion();
        Self {
            actor: header.actor.clone(),
            has_security: policy.writes_security(),
            must_understand: header.must_understand,
            timestamp: header.timestamp.filter(|timestamp| timestamp.sent),
            freshness: header.timestamp,
            timestamp_last: header.layout == Layout::LaxTimestampLast,
            header_order: header.order.clone(),
            inclusive_prefixes: policy.parts.inclusive_prefixes.clone(),
            carries_assertion: assertion.is_some(),
            takes_assertion: assertion.is_some_and(|it| it.from_message),
            carries_id_card: assertion.is_some_and(|it| it.id_cards),
            hides_assertion: policy.hides_assertion(),
            assertion_authority: assertion.and_then(|it| it.authority.clone()),
            assertion_methods: assertion.map(|it| it.methods.clone()).unwrap_or_default(),
            names_assertion_apart: !by_holder || policy.encrypts(&Part::Signature),
            kerberos: policy.kerberos_beside(),
            kerberos_by_identifier: policy.kerberos().is_some_and(|it| it.by_identifier),
            kerberos_form: policy.kerberos().map(|wanted| wanted.form),
            username: policy.username().cloned(),
            password_keys: policy.password_keys(),
            confirms: header.signature_confirmation,
            suite: suite.clone(),
            tuning: policy.tuning,
            order: policy.order(),
            introduced: signer
                .as_ref()
                .zip(by_token)
                .map(|(identity, reference)| (Arc::clone(identity), reference))
                .or(introduced),
            introduces_apart: reference == Some(KeyReference::Embedded),
            sent: policy.parts.sent.clone(),
            marks_cipher_text: marks_cipher_text(policy, keys),
            binds_keys: policy.lets_choose_keys() && !policy.leaves_keys_unsigned(),
            leaves_keys_unsigned: policy.leaves_keys_unsigned(),
            signature,
            encryption,
            attachments: policy.attachments(),
            endorsing,
            endorses_timestamp: policy.endorses_timestamp(),
            algorithms,
            retirements: policy.retirements.clone(),
        }
    }

    /// Refuses an algorithm whose time is over.
    pub(crate) fn check_retirement(
        &self,
        algorithm: &'static str,
        now: Timestamp,
    ) -> Result<(), SecureError> {
        match retired(&self.retirements, algorithm, now) {
            Some(since) => Err(SecureError::AlgorithmRetired { algorithm, since }),
            None => Ok(()),
        }
    }

    /// The parts that the message's signature covers.
    pub(crate) fn signed_parts(&self) -> &[Part] {
        self.signature.as_ref().map_or(&[], |one| &one.parts)
    }

    /// The parts that endorsing signatures cover in particular, each with the place of its
    /// signature among them.
    pub(crate) fn endorsed_parts(&self) -> impl Iterator<Item = (usize, &Part)> {
        let endorsing = self.endorsing.iter().enumerate();
        endorsing.flat_map(|(index, one)| one.parts.iter().map(move |part| (index, part)))
    }

    /// Whether the message's signature covers the tokens that the keys of the message come from.
    pub(crate) fn signs_tokens(&self) -> bool {
        self.signature.as_ref().is_some_and(|one| one.covers_tokens)
    }

    /// Whether keys of the header stay as they are written: no signature covers one.
    pub(crate) fn leaves_keys(&self) -> bool {
        !self.signs_tokens() && !self.binds_keys
    }

    /// Whether nothing is done to the message's signature once it is written.
    pub(crate) fn leaves_signature(&self) -> bool {
        self.signature.as_ref().is_none_or(|one| one.stays)
    }
}

/// Whether the message's own signature is made by the holder of the assertion: where the connection
/// protects the message, the signature of the endorsing holder is the message's own.
pub(super) fn signs_by_holder(policy: &Policy) -> bool {
    policy.is_signed_by_holder() || policy.is_by_connection() && policy.is_endorsed_by_holder()
}

/// Whether cipher text is all that there is to know a message by. A message under a key of its own
/// comes only to who has a certificate.
fn marks_cipher_text(policy: &Policy, keys: &Keys) -> bool {
    let key = policy.encryption().map(|encryption| encryption.key);
    policy.signature().is_none()
        && (key != Some(KeyBinding::Certificate) || keys.decrypting().next().is_none())
}
