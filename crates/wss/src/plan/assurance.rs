//! What a compiled plan assures of every message: which properties of security, and how strongly.
//!
//! It is read from what the plan demands or does, so that nobody has to be believed: a message that
//! gives less is not opened, and none leaves.
//!
//! The rule kept here: of several permitted algorithms and keys the weakest counts, and what is not
//! certain is not assured.

use std::sync::Arc;

use soapstone_crypto::key::KeyKind;
use soapstone_crypto::{Identity, KeyTransport};

use super::demands::{CertificateRole, Demands};
use super::key_source::KeySource;
use super::keys::Keys;
use super::protection::{Protection, Signing};
use super::unwrapping::Unwrapping;
use super::{InboundPlan, OutboundPlan};
use crate::binding::KeyBinding;
use crate::part::Part;
use crate::suite::{Suite, Wrapping};
use crate::username::{PasswordKind, UsernamePolicy};

/// One property that messages have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Assured {
    /// The least strength of the algorithms and keys that carry it, in bits.
    pub bits: u16,
    /// The token of an authority carries it, and answers confirm it
    /// (`wsse11:SignatureConfirmation`).
    pub confirmed: bool,
}

/// What a plan assures of every message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assurance {
    /// Its sender proves who he is.
    pub authentication: Option<Assured>,
    /// Its Body cannot be changed.
    pub integrity: Option<Assured>,
    /// Its Body cannot be read.
    pub confidentiality: Option<Assured>,
    /// It counts once and soon: it has a signed `wsu:Timestamp`.
    pub freshness: Option<Assured>,
    /// A third party can be shown who sent its Body.
    pub non_repudiation: Option<Assured>,
    /// The short names of the algorithms that it may use.
    pub algorithms: Vec<&'static str>,
    /// The encrypted parts: `Body`, and `{namespace}name` of header blocks.
    pub encrypted: Vec<String>,
}

/// How a message is signed, whatever the direction.
struct Signature<'p> {
    source: KeySource,
    bits: u16,
    parts: Vec<&'p Part>,
    algorithms: Vec<&'static str>,
}

/// How a message is encrypted, whatever the direction.
struct Encryption<'p> {
    bits: u16,
    parts: Vec<&'p Part>,
    algorithms: Vec<&'static str>,
}

impl OutboundPlan {
    /// What it assures of every message that leaves.
    pub fn assurance(&self) -> Assurance {
        let Protection {
            signature,
            encryption,
            endorsing,
            ..
        } = &self.protection;
        let wrapped = recipient_strength(&self.keys, false);
        let proof = peer_strength(&self.keys).unwrap_or(u16::MAX);
        let signing = |one: &Signing| {
            let own = one.signer.as_ref().map(|own| own.key().public_key().kind());
            let own = own.map_or(u16::MAX, KeyKind::strength);
            let carrier = one
                .algorithm
                .strength()
                .min(one.digest.collision_strength());
            let key = match one.key {
                KeySource::Wrapped => wrapped,
                KeySource::PrivateKey => own,
                KeySource::Password => PASSWORD_STRENGTH,
                KeySource::Assertion => proof,
                _ => u16::MAX,
            };
            (
                carrier.min(key),
                [one.algorithm.short_name(), one.digest.short_name()],
            )
        };
        let signature = signature.as_ref().map(|one| {
            let (bits, algorithms) = signing(one);
            Signature {
                source: one.key,
                bits,
                parts: one.parts.iter().collect(),
                algorithms: algorithms.to_vec(),
            }
        });
        let encryption = encryption.as_ref().map(|one| {
            let key = match one.key {
                KeySource::Wrapped => recipient_strength(&self.keys, one.recipient.is_of_request()),
                KeySource::Password => PASSWORD_STRENGTH,
                KeySource::Assertion => proof,
                _ => u16::MAX,
            };
            Encryption {
                bits: one.algorithm.strength().min(key),
                parts: one.parts.iter().map(|wanted| &wanted.part).collect(),
                algorithms: vec![one.algorithm.short_name()],
            }
        });
        let endorsed = endorsing
            .iter()
            .map(|one| one.endorser.algorithm().strength());
        Assurance::of(Given {
            signature,
            encryption,
            endorsed: endorsed.min(),
            knows_user: proves_user(self.protection.username.as_ref()),
            confirms: self.protection.confirms,
            has_timestamp: self.protection.timestamp.is_some(),
            keeps_cipher_text: !self.policy.leaves_keys_unsigned(),
            // A fresh key that nobody is known by.
            proves_holder: false,
        })
        .padded(self.pads_in_the_old_way())
    }

    /// Whether keys may be encrypted by RSA 1.5: by the first way that the suite has to their
    /// recipient.
    fn pads_in_the_old_way(&self) -> bool {
        let policy = &self.policy;
        if !policy.wraps_key() && !policy.hides_assertion() {
            return false;
        }
        let encryption = self.protection.encryption.as_ref();
        let answers = encryption.is_some_and(|one| one.recipient.is_of_request());
        let peer = self.keys.peer.as_ref().map(|peer| peer.public_key().kind());
        // Whoever signs a request may have a key of RSA.
        let unknown = (answers || peer.is_none()).then_some(KeyKind::Rsa { bits: 0 });
        let mut kinds = peer.into_iter().chain(unknown);
        kinds.any(|kind| policy.suite.wrapping(kind).is_some_and(is_old_padding))
    }
}

impl InboundPlan {
    /// What it assures of every message that it opens.
    pub fn assurance(&self) -> Assurance {
        let demands = &self.demands;
        let trusted = trusted_strength(&self.keys);
        let Unwrapping {
            sessions,
            proof_keys,
            ..
        } = &self.unwrapping;
        let wrapped = weakest_key(sessions).unwrap_or(0);
        // That of an answer came with its request.
        let proof = weakest_key(proof_keys).unwrap_or(u16::MAX);
        let suite = &demands.suite;
        let signature = demands.signature.as_ref().map(|one| {
            let source = one.key.source;
            let by_certificate = source == KeySource::PrivateKey;
            let permitted = match by_certificate {
                true => &suite.signature,
                false => &suite.symmetric_signature,
            };
            let algorithm = permitted.iter().map(|one| one.strength()).min();
            let key = match source {
                KeySource::PrivateKey => trusted,
                KeySource::Wrapped => wrapped,
                KeySource::Password => PASSWORD_STRENGTH,
                KeySource::Assertion => proof,
                _ => u16::MAX,
            };
            let names = permitted.iter().map(|one| one.short_name());
            let names = names.chain(suite.digest.iter().map(|one| one.short_name()));
            Signature {
                source,
                bits: algorithm.unwrap_or(0).min(weakest_digest(suite)).min(key),
                parts: one.parts.iter().map(|(part, _)| part).collect(),
                algorithms: names.collect(),
            }
        });
        let encryption = demands.encryption.as_ref().map(|one| {
            let algorithm = suite.data.iter().map(|one| one.strength()).min();
            let key = match one.key.source {
                KeySource::Wrapped => wrapped,
                KeySource::Password => PASSWORD_STRENGTH,
                KeySource::Assertion => proof,
                _ => u16::MAX,
            };
            Encryption {
                bits: algorithm.unwrap_or(0).min(key),
                parts: one.parts.iter().map(|(wanted, _)| &wanted.part).collect(),
                algorithms: suite.data.iter().map(|one| one.short_name()).collect(),
            }
        });
        Assurance::of(Given {
            signature,
            encryption,
            endorsed: endorsed_by_certificate(demands).then_some(trusted),
            knows_user: proves_user(demands.username()),
            confirms: demands.confirms,
            has_timestamp: demands.requires_timestamp,
            keeps_cipher_text: !self.policy.risks_chosen_keys(),
            // The answer is under the key that only the holder of the private key can unwrap.
            proves_holder: true,
        })
        .padded(self.pads_in_the_old_way())
    }

    /// Whether keys may come by RSA 1.5: by any way that the suite has to a key of ours that
    /// unwraps them. Proof keys never do.
    fn pads_in_the_old_way(&self) -> bool {
        let suite = &self.demands.suite;
        let Unwrapping {
            sessions,
            assertions,
            ..
        } = &self.unwrapping;
        let mut own = sessions.iter().chain(assertions);
        own.any(|own| suite.wrappings(own.key().kind()).any(is_old_padding))
    }
}

/// Bits of a password, and of a key that is derived from one: nobody knows how many.
const PASSWORD_STRENGTH: u16 = 0;

/// Whether a token's user is known by a password.
fn proves_user(username: Option<&UsernamePolicy>) -> bool {
    username.is_some_and(|user| !user.passwords.contains(&PasswordKind::Absent))
}

/// What a plan gives to messages, whatever the direction.
struct Given<'p> {
    signature: Option<Signature<'p>>,
    encryption: Option<Encryption<'p>>,
    /// The strength of endorsing signatures.
    endorsed: Option<u16>,
    knows_user: bool,
    confirms: bool,
    has_timestamp: bool,
    /// Whether what a signature covers as cipher text says what its sender wrote.
    keeps_cipher_text: bool,
    /// Whether the session key of the request tells who sends.
    proves_holder: bool,
}

impl Assurance {
    /// The same, where keys may be encrypted by RSA 1.5. Of the ways that keys come, only this one
    /// is told of.
    fn padded(mut self, in_the_old_way: bool) -> Self {
        if in_the_old_way {
            self.algorithms.push(KeyTransport::Rsa15.short_name());
            self.algorithms.sort_unstable();
        }
        self
    }

    fn of(given: Given<'_>) -> Self {
        let Given {
            signature,
            encryption,
            endorsed,
            knows_user,
            confirms,
            has_timestamp,
            keeps_cipher_text,
            proves_holder,
        } = given;
        let mut assurance = Self::default();
        let by_certificate = signature
            .as_ref()
            .is_some_and(|one| one.source == KeySource::PrivateKey);
        let confirmed = confirms && by_certificate;
        let assured = |bits: u16| Some(Assured { bits, confirmed });
        if let Some(signature) = &signature {
            let signs = |part: &Part| signature.parts.contains(&part);
            if signs(&Part::Body) && keeps_cipher_text {
                assurance.integrity = assured(signature.bits);
                if by_certificate {
                    assurance.non_repudiation = assured(signature.bits);
                }
            }
            if has_timestamp && signs(&Part::Timestamp) {
                assurance.freshness = assured(signature.bits);
            }
            assurance.authentication = match signature.source {
                KeySource::PrivateKey
                | KeySource::Shared
                | KeySource::Token
                | KeySource::Kerberos
                | KeySource::Assertion
                | KeySource::Password => assured(signature.bits),
                KeySource::Request if proves_holder => assured(signature.bits),
                KeySource::Request | KeySource::Wrapped => None,
            };
            assurance.algorithms.extend(&signature.algorithms);
        }
        if assurance.authentication.is_none() {
            assurance.authentication = match (endorsed, knows_user) {
                (Some(bits), _) => assured(bits),
                (None, true) => assured(PASSWORD_STRENGTH),
                (None, false) => None,
            };
        }
        if let Some(encryption) = &encryption {
            if encryption.parts.contains(&&Part::Body) {
                assurance.confidentiality = assured(encryption.bits);
            }
            assurance.algorithms.extend(&encryption.algorithms);
            let names = encryption.parts.iter().filter_map(|part| match part {
                Part::Body => Some("Body".to_owned()),
                Part::Header { namespace, local } => Some(format!("{{{namespace}}}{local}")),
                _ => None,
            });
            assurance.encrypted = names.collect();
        }
        assurance.algorithms.sort_unstable();
        assurance.algorithms.dedup();
        assurance
    }
}

/// Whether a key that comes so is encrypted by RSA 1.5.
fn is_old_padding(wrapping: Wrapping<'_>) -> bool {
    matches!(wrapping, Wrapping::Transport(method) if method.algorithm == KeyTransport::Rsa15)
}

/// The strength of the weakest of these keys.
fn weakest_key(own: &[Arc<Identity>]) -> Option<u16> {
    let strength = |own: &Arc<Identity>| own.certificate().public_key().kind().strength();
    own.iter().map(strength).min()
}

/// The strength of the peer's key.
fn peer_strength(keys: &Keys) -> Option<u16> {
    let peer = keys.peer.as_ref();
    peer.map(|peer| peer.public_key().kind().strength())
}

/// The strength of the key that session keys are wrapped to: that of the peer, or of whoever signed
/// the request that is answered.
fn recipient_strength(keys: &Keys, answers: bool) -> u16 {
    match peer_strength(keys) {
        // Without trust, no certificate signs a request.
        Some(peer) if !answers || keys.trust.is_none() => peer,
        Some(peer) => peer.min(trusted_strength(keys)),
        None => trusted_strength(keys),
    }
}

/// The least strength of a certificate that is trusted.
fn trusted_strength(keys: &Keys) -> u16 {
    let trust = keys.trust.as_ref();
    trust.map_or(0, |trust| {
        let bits = trust.rules().min_rsa_bits;
        KeyKind::Rsa { bits }.strength()
    })
}

fn weakest_digest(suite: &Suite) -> u16 {
    let digests = suite.digest.iter().map(|one| one.collision_strength());
    digests.min().unwrap_or(0)
}

/// Whether a signature by certificate endorses every message.
fn endorsed_by_certificate(demands: &Demands) -> bool {
    let by_certificate = demands
        .endorsements
        .demands
        .iter()
        .any(|one| one.key == KeyBinding::Certificate);
    let role = demands.signature.as_ref().map(|one| one.by_certificate);
    by_certificate && role != Some(CertificateRole::Message)
}
