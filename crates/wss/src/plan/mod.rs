//! Policies compiled into plans.
//!
//! Everything that can be wrong with a policy and its keys is found here, once, and reported
//! together. A plan is immutable and shared between threads; per message it is only run. What a
//! plan may remember ([`Tuning`](crate::Tuning)) changes nothing that comes out.

mod assurance;
mod check;
mod demands;
mod key_source;
mod keys;
mod order;
mod parts;
mod problem;
mod protection;
mod unwrapping;

use std::collections::HashSet;
use std::sync::Arc;

use soapstone_crypto::{Digest, Identity, KeyKind, PrivateKey, SignatureAlgorithm};
use soapstone_xml::Canonicalization;

pub use self::assurance::{Assurance, Assured};
pub(crate) use self::demands::{CertificateRole, Demands, EndorsementDemand, KeyDemand};
pub(crate) use self::key_source::KeySource;
pub use self::keys::{KeyField, Keys, SharedKey};
pub use self::problem::PlanProblem;
use self::protection::Signers;
pub(crate) use self::protection::{Encrypting, Endorser, Protection, Signing};
pub(crate) use self::unwrapping::Unwrapping;
pub use self::unwrapping::WrappedKeyUse;
use crate::binding::{KeyBinding, KeyReference};
use crate::derived_key_cache::DerivedKeyCache;
use crate::digest_cache::DigestCache;
use crate::part::Part;
use crate::policy::Policy;
use crate::supporting::{EndorsingKey, EndorsingToken};
use crate::token::ConfirmationMethod;

/// What to demand of messages that arrive.
#[derive(Debug)]
pub struct InboundPlan {
    policy: Policy,
    /// What the policy demands, computed once.
    pub(crate) demands: Demands,
    pub(crate) keys: Keys,
    /// Who of us unwraps the keys of messages.
    pub(crate) unwrapping: Unwrapping,
    /// Signed elements that were digested before. It belongs to the plan, so that the partners of
    /// two plans never share one.
    pub(crate) known: Option<DigestCache<()>>,
    /// Security contexts that have derived keys kept with them, where there are any of both.
    pub(crate) key_holders: Option<DerivedKeyCache>,
}

/// What to do to messages that leave.
#[derive(Debug)]
pub struct OutboundPlan {
    policy: Policy,
    /// What the policy does to messages, computed once.
    pub(crate) protection: Protection,
    pub(crate) keys: Keys,
    /// Elements that were digested before.
    pub(crate) known: Option<DigestCache<Digest>>,
    /// As with messages that arrive.
    pub(crate) key_holders: Option<DerivedKeyCache>,
}

/// Why a token that is to be protected does not stand inside of the reference to it.
const TOKEN_INSIDE: &str = "has the token inside of the signature that it is for, where it is neither signed nor encrypted by itself";

/// Notes that a reference cannot name the certificate of a signature, which is to cover the token
/// or not.
fn name_certificate(reference: KeyReference, covers_token: bool, problems: &mut Vec<PlanProblem>) {
    let problem = if !reference.names_certificates() {
        "names a symmetric key, and signatures are made with a certificate"
    } else if covers_token && reference == KeyReference::IssuerSerialAndCertificate {
        "names the certificate twice, and a signature covers a certificate through one name"
    } else if covers_token && !reference.is_dereferenced() {
        "is no `wsse:SecurityTokenReference`, through which alone a signature covers a certificate that is no token of the header"
    } else {
        return;
    };
    problems.push(PlanProblem::Reference { reference, problem });
}

/// Notes that a key is not of the kind that a reference can name.
fn name_key(reference: KeyReference, key: KeyKind, problems: &mut Vec<PlanProblem>) {
    if !reference.fits(key) {
        problems.push(PlanProblem::ReferenceDoesNotFit { reference, key });
    }
}

/// Notes that `field` is needed where it is empty.
fn need<T>(
    found: &Option<T>,
    field: KeyField,
    what: &'static str,
    purpose: &'static str,
    problems: &mut Vec<PlanProblem>,
) {
    if found.is_none() {
        problems.push(PlanProblem::KeyMissing {
            field,
            what,
            purpose,
        });
    }
}

/// Notes that the suite has no way to encrypt a session key to the peer's certificate, whose key is
/// of this kind.
fn fit_peer(policy: &Policy, key: KeyKind, problems: &mut Vec<PlanProblem>) {
    let suite = &policy.suite;
    let names_none = suite.key_transport.is_empty() && suite.key_agreement.is_empty();
    if !names_none && suite.wrapping(key).is_none() {
        problems.push(PlanProblem::RecipientDoesNotFit {
            field: KeyField::Peer,
            key,
            suite: suite.name.clone(),
        });
    }
}

/// The first signature algorithm of the suite that a private key of ours can do.
fn fitting(
    policy: &Policy,
    identity: &Identity,
    problems: &mut Vec<PlanProblem>,
) -> Option<SignatureAlgorithm> {
    let kind = identity.key().kind();
    let found = policy
        .suite
        .signature
        .iter()
        .copied()
        .find(|one| one.fits(kind));
    if found.is_none() && !policy.suite.signature.is_empty() {
        problems.push(PlanProblem::KeyDoesNotFit {
            key: kind.to_string(),
            suite: policy.suite.name.clone(),
        });
    }
    found
}

/// What is remembered of contexts, where keys are derived from them.
fn key_holders(policy: &Policy) -> Option<DerivedKeyCache> {
    let endorsing = policy.endorsing_context();
    let derives = policy.derived_keys().is_some()
        || endorsing.is_some_and(|endorsing| endorsing.key.derived_keys().is_some());
    let bounds = policy.tuning.derived_keys;
    bounds
        .filter(|_| derives && policy.uses_context())
        .map(DerivedKeyCache::new)
}

/// Who makes each of the policy's endorsing signatures, and how.
fn endorsers(policy: &Policy, keys: &Keys, problems: &mut Vec<PlanProblem>) -> Vec<Endorser> {
    let in_message = !policy.is_by_connection();
    for token in policy.endorsing_beside() {
        let reference = token.key.reference();
        let protected = in_message && (token.signed || token.encrypted);
        if reference.holds_certificate() && protected {
            problems.push(PlanProblem::Reference {
                reference,
                problem: TOKEN_INSIDE,
            });
        }
        if token.key.kind() == KeyBinding::Certificate {
            name_certificate(reference, token.covers_token, problems);
        }
    }
    // Where the Timestamp is what is endorsed, whoever signs the message is the first of them.
    let signs_too = policy.endorses_timestamp() && policy.signs_by_certificate();
    let is_by_certificate = |token: &&EndorsingToken| token.key.kind() == KeyBinding::Certificate;
    let by_certificate = policy.endorsing_beside().filter(is_by_certificate);
    let wanted = by_certificate.count() + usize::from(signs_too);
    let mut endorsers = keys.endorsers();
    if wanted > 0 {
        need(
            &endorsers.first(),
            KeyField::Identity,
            "our private key with its certificate",
            "endorse signatures",
            problems,
        );
    }
    endorsers.truncate(wanted);
    if policy.same_endorser && keys.endorsing.is_empty() {
        endorsers = endorsers.repeat(wanted);
    } else if !endorsers.is_empty() {
        let key = |one: &&Arc<Identity>| one.certificate().public_key().key_bits().to_vec();
        let found = endorsers.iter().map(key).collect::<HashSet<_>>().len();
        let enough = endorsers.len() == wanted && (policy.same_endorser || found == wanted);
        if !enough {
            problems.push(PlanProblem::Endorsers { wanted, found });
        }
    }
    let by_certificate = policy.endorsing_beside().filter(is_by_certificate);
    let beside = endorsers.iter().skip(usize::from(signs_too));
    for (token, identity) in by_certificate.zip(beside) {
        name_key(token.key.reference(), identity.key().kind(), problems);
    }
    let endorsers = endorsers.into_iter().skip(usize::from(signs_too));
    let mut endorsers = endorsers.filter_map(|identity| {
        let algorithm = fitting(policy, identity, problems)?;
        Some(Endorser::Certificate(Arc::clone(identity), algorithm))
    });
    let by_secret = policy.suite.symmetric_signature.first().copied();
    let all = policy
        .endorsing_beside()
        .filter_map(|token| match token.key {
            EndorsingKey::Context { .. } => by_secret.map(Endorser::Context),
            EndorsingKey::Password { .. } => by_secret.map(Endorser::User),
            EndorsingKey::Kerberos { .. } => by_secret.map(Endorser::Kerberos),
            EndorsingKey::Assertion { .. } => by_secret.map(Endorser::Holder),
            EndorsingKey::Certificate(_) => endorsers.next(),
        });
    all.collect()
}

fn report<T>(plan: T, problems: Vec<PlanProblem>) -> Result<T, Vec<PlanProblem>> {
    if problems.is_empty() {
        Ok(plan)
    } else {
        Err(problems)
    }
}

impl InboundPlan {
    /// Whether there is a certificate of somebody else that a message may name without showing it:
    /// the peer's, a pinned one, or an anchor that is no authority.
    pub fn knows_certificates(&self) -> bool {
        let keys = &self.keys;
        let is_trusted = keys.trust.as_ref().is_some_and(|trust| {
            let rules = trust.rules();
            let mut anchors = rules.anchors.iter();
            !rules.pinned.is_empty() || anchors.any(|anchor| !anchor.is_authority())
        });
        keys.peer.is_some() || is_trusted
    }

    /// Compiles what to demand of messages that arrive.
    ///
    /// # Errors
    /// Everything that is wrong, not just the first.
    pub fn compile(policy: Policy, keys: Keys) -> Result<Self, Vec<PlanProblem>> {
        let mut problems = Vec::new();
        policy.check(&mut problems);
        match policy.signature().map(|signature| signature.key) {
            // The key of an assertion's holder is believed as its issuer is.
            Some(KeyBinding::Certificate)
                if policy.is_signed_by_holder()
                    || policy.is_by_connection() && policy.is_endorsed_by_holder() => {}
            Some(KeyBinding::Certificate) => {
                need(
                    &keys.trust,
                    KeyField::Trust,
                    "a trust anchor or a pinned certificate",
                    "verify signatures",
                    &mut problems,
                );
            }
            Some(KeyBinding::Shared) => {
                need(
                    &keys.shared,
                    KeyField::Shared,
                    "a shared key",
                    "verify signatures",
                    &mut problems,
                );
            }
            _ => {}
        }
        if let Some(assertion) = policy.assertion() {
            if assertion.accepts(ConfirmationMethod::SenderVouches)
                && assertion.attesters.is_empty()
            {
                problems.push(PlanProblem::Combination {
                    problem: "a confirmation by sender-vouches needs those who may vouch",
                });
            }
            need(
                &keys.issuers.first(),
                KeyField::Issuers,
                "an issuer",
                "believe assertions",
                &mut problems,
            );
        }
        if policy.endorses_by_certificate() && !policy.is_endorsed_by_holder() {
            need(
                &keys.trust,
                KeyField::Trust,
                "a trust anchor or a pinned certificate",
                "verify endorsing signatures",
                &mut problems,
            );
        }
        if policy.wraps_key() || policy.hides_assertion() || policy.proves_by_key() {
            let purpose = match (policy.wraps_key(), policy.hides_assertion()) {
                (true, _) => "unwrap session keys",
                (false, true) => "decipher assertions",
                (false, false) => "unwrap the keys of assertions",
            };
            need(
                &keys.decrypting().next(),
                KeyField::Identity,
                "our private key",
                purpose,
                &mut problems,
            );
        }
        let unwrapping = Unwrapping::of(&policy, &keys, &mut problems);
        if policy
            .encryption()
            .is_some_and(|encryption| encryption.key == KeyBinding::Shared)
        {
            need(
                &keys.shared,
                KeyField::Shared,
                "a shared key",
                "decrypt",
                &mut problems,
            );
        }
        let known = policy.tuning.digest_cache.map(DigestCache::new);
        let key_holders = key_holders(&policy);
        report(
            Self {
                demands: Demands::of(&policy),
                policy,
                keys,
                unwrapping,
                known,
                key_holders,
            },
            problems,
        )
    }

    /// The policy it was compiled from.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Whether it is that of an intermediary: messages are passed on, and never admitted.
    pub fn passes_on(&self) -> bool {
        self.demands.intermediary.is_some()
    }

    /// Whether a private key of the plan is held elsewhere, so that its operations may wait.
    pub fn waits_for_keys(&self) -> bool {
        self.keys.may_wait()
    }

    /// The private key that unwraps secrets of WS-Trust, which are inside of messages and no part
    /// of their security.
    pub fn decryption_key(&self) -> Option<&PrivateKey> {
        let mut own = self.keys.unwrapping(WrappedKeyUse::Secret);
        own.next().map(|identity| identity.key())
    }
}

impl OutboundPlan {
    /// Compiles what to do to messages that leave.
    ///
    /// # Errors
    /// Everything that is wrong, not just the first.
    #[expect(
        clippy::too_many_lines,
        reason = "one question to the policy after another"
    )]
    pub fn compile(policy: Policy, keys: Keys) -> Result<Self, Vec<PlanProblem>> {
        let mut problems = Vec::new();
        policy.check(&mut problems);
        problems.extend(policy.wrong_order());
        let (mut signer, mut algorithm) = (None, None);
        if let Some(signature) = policy.signature() {
            match signature.key {
                KeyBinding::Certificate => {
                    signer = match policy.is_by_connection() {
                        true => keys.endorsers().first().copied(),
                        false => keys.identity.as_ref(),
                    }
                    .map(Arc::clone);
                    need(
                        &signer,
                        KeyField::Identity,
                        "our private key with its certificate",
                        "sign",
                        &mut problems,
                    );
                    let identity = signer.as_deref();
                    algorithm =
                        identity.and_then(|identity| fitting(&policy, identity, &mut problems));
                    let covers_token = signature.parts.contains(&Part::Token);
                    name_certificate(signature.reference, covers_token, &mut problems);
                    if let Some(identity) = &signer {
                        name_key(signature.reference, identity.key().kind(), &mut problems);
                    }
                }
                KeyBinding::Shared => {
                    need(
                        &keys.shared,
                        KeyField::Shared,
                        "a shared key",
                        "sign",
                        &mut problems,
                    );
                    algorithm = policy.suite.symmetric_signature.first().copied();
                }
                KeyBinding::RequestKey
                | KeyBinding::SessionKey
                | KeyBinding::Context
                | KeyBinding::Kerberos
                | KeyBinding::Assertion
                | KeyBinding::Password => {
                    algorithm = policy.suite.symmetric_signature.first().copied()
                }
            }
            if let Some(method) = policy
                .suite
                .canonicalization
                .first()
                .filter(|method| **method != Canonicalization::Exclusive)
            {
                problems.push(PlanProblem::Canonicalization { method: *method });
            }
        }
        if let Some(encryption) = policy.encryption() {
            match encryption.key {
                KeyBinding::Certificate => {
                    if !encryption.recipient.is_of_request() {
                        need(
                            &keys.peer,
                            KeyField::Peer,
                            "the peer's certificate",
                            "encrypt",
                            &mut problems,
                        );
                    }
                    if let Some(peer) = &keys.peer
                        && !encryption.recipient.is_of_request()
                    {
                        let kind = peer.public_key().kind();
                        name_key(encryption.reference, kind, &mut problems);
                    }
                    if !encryption.reference.names_certificates() {
                        let problem =
                            "names a symmetric key, and session keys are wrapped to a certificate";
                        problems.push(PlanProblem::Reference {
                            reference: encryption.reference,
                            problem,
                        });
                    }
                }
                KeyBinding::Shared => {
                    need(
                        &keys.shared,
                        KeyField::Shared,
                        "a shared key",
                        "encrypt",
                        &mut problems,
                    );
                    if let (Some(shared), Some(data)) = (&keys.shared, policy.suite.data.first())
                        && shared.encrypting.len() != data.key_length()
                    {
                        problems.push(PlanProblem::KeyLength {
                            expected: data.key_length(),
                            found: shared.encrypting.len(),
                        });
                    }
                }
                KeyBinding::RequestKey
                | KeyBinding::SessionKey
                | KeyBinding::Context
                | KeyBinding::Kerberos
                | KeyBinding::Assertion
                | KeyBinding::Password => {}
            }
        }
        if policy.uses(KeyBinding::SessionKey) {
            need(
                &keys.peer,
                KeyField::Peer,
                "the peer's certificate",
                "wrap session keys to it",
                &mut problems,
            );
            let kind = keys.peer.as_ref().map(|peer| peer.public_key().kind());
            if let (Some(reference), Some(kind)) = (policy.unwrapping_reference(), kind) {
                name_key(reference, kind, &mut problems);
            }
        }
        if policy.hides_assertion() {
            need(
                &keys.peer,
                KeyField::Peer,
                "the peer's certificate",
                "encipher assertions for it",
                &mut problems,
            );
        }
        let wraps = policy.wraps_key() || policy.hides_assertion();
        if let Some(peer) = keys.peer.as_ref().filter(|_| wraps) {
            let kind = peer.public_key().kind();
            fit_peer(&policy, kind, &mut problems);
        }
        if policy.introduces_certificate() {
            need(
                &keys.identity,
                KeyField::Identity,
                "our certificate",
                "send it along",
                &mut problems,
            );
        }
        let signers = Signers {
            algorithm,
            signer,
            endorsers: endorsers(&policy, &keys, &mut problems),
        };
        if policy
            .username()
            .is_some_and(|username| username.passwords.is_empty())
        {
            problems.push(PlanProblem::NoAlgorithm {
                purpose: "password",
            });
        }
        if policy.username().is_some() {
            need(
                &keys.user,
                KeyField::User,
                "a user with a password",
                "send a `UsernameToken`",
                &mut problems,
            );
        }
        let known = policy.tuning.prehash.map(DigestCache::new);
        let key_holders = key_holders(&policy);
        report(
            Self {
                protection: Protection::of(&policy, &keys, signers),
                policy,
                keys,
                known,
                key_holders,
            },
            problems,
        )
    }

    /// The policy it was compiled from.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Whether a private key of the plan is held elsewhere, so that its operations may wait.
    pub fn waits_for_keys(&self) -> bool {
        self.keys.may_wait()
    }

    /// The key that both sides hold, if there is one.
    pub fn shared_key(&self) -> Option<&SharedKey> {
        self.keys.shared.as_deref()
    }
}
