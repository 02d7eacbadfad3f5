//! Which private keys of ours unwrap the keys that come wrapped to our certificates.
//!
//! The one rule: there is one answer, and everybody asks for it here. It hangs on what the wrapped
//! key is for, since each use has rules of its own.

use std::sync::Arc;

use soapstone_crypto::{Identity, KeyKind};

use super::keys::{KeyField, Keys};
use super::problem::PlanProblem;
use crate::policy::Policy;
use crate::proof::ProofKey;

/// What a key is for that comes wrapped to a certificate of ours.
#[derive(Clone, Copy, Debug)]
pub enum WrappedKeyUse<'p> {
    /// It protects messages of this policy, which says how they name the certificate.
    Session(&'p Policy),
    /// It deciphers the assertion of such a message, which has cipher text of its own. The issuer
    /// enciphers it for any certificate of ours.
    Assertion(&'p Policy),
    /// It is the proof key in the assertion of such a message.
    ProofKey(&'p Policy),
    /// It is a secret of WS-Trust, which comes by RSA-OAEP whatever a policy says.
    Secret,
}

impl WrappedKeyUse<'_> {
    /// Whether such a key can be unwrapped with a private key of this kind.
    fn fits(self, key: KeyKind) -> bool {
        let is_rsa = matches!(key, KeyKind::Rsa { .. });
        match self {
            Self::Session(policy) => {
                let reference = policy.unwrapping_reference();
                policy.suite.wrapping(key).is_some() && reference.is_none_or(|one| one.fits(key))
            }
            Self::Assertion(policy) => policy.suite.wrapping(key).is_some(),
            Self::ProofKey(policy) => {
                let mut transports = policy.suite.key_transport.iter();
                is_rsa && transports.any(|one| ProofKey::TRANSPORTS.contains(&one.algorithm))
            }
            Self::Secret => is_rsa,
        }
    }

    /// What is wrong where none of our keys fits, and one is of this kind.
    fn problem(self, key: KeyKind) -> Option<PlanProblem> {
        let unfit = |policy: &Policy| PlanProblem::RecipientDoesNotFit {
            field: KeyField::Identity,
            key,
            suite: policy.suite.name.clone(),
        };
        match self {
            Self::Session(policy) => {
                let reference = policy.unwrapping_reference();
                let fits = policy.suite.wrapping(key).is_some();
                let misnamed = reference.filter(|_| fits);
                Some(misnamed.map_or_else(
                    || unfit(policy),
                    |reference| PlanProblem::ReferenceDoesNotFit { reference, key },
                ))
            }
            Self::Assertion(policy) => Some(unfit(policy)),
            Self::ProofKey(policy) => Some(PlanProblem::ProofKeyDoesNotFit {
                key,
                suite: policy.suite.name.clone(),
            }),
            Self::Secret => None,
        }
    }
}

impl Keys {
    /// The private keys and certificates that unwrap such keys, in the order in which they are
    /// tried.
    pub fn unwrapping(&self, wrapped: WrappedKeyUse<'_>) -> impl Iterator<Item = &Arc<Identity>> {
        self.decrypting()
            .filter(move |own| wrapped.fits(own.key().kind()))
    }
}

/// The private keys and certificates that unwrap the keys of a plan's messages.
#[derive(Debug)]
pub(crate) struct Unwrapping {
    /// Of session keys.
    pub(crate) sessions: Vec<Arc<Identity>>,
    /// Of the keys of assertions in cipher text of their own.
    pub(crate) assertions: Vec<Arc<Identity>>,
    /// Of the proof keys of assertions.
    pub(crate) proof_keys: Vec<Arc<Identity>>,
}

impl Unwrapping {
    /// Those of a policy. Notes where it needs one, and none of ours fits.
    pub(super) fn of(policy: &Policy, keys: &Keys, problems: &mut Vec<PlanProblem>) -> Self {
        let suite = &policy.suite;
        let names_none = suite.key_transport.is_empty() && suite.key_agreement.is_empty();
        let mut found = |is_needed: bool, wrapped: WrappedKeyUse<'_>| -> Vec<Arc<Identity>> {
            let found = keys.unwrapping(wrapped).filter(|_| is_needed);
            let found: Vec<_> = found.cloned().collect();
            // That the suite names no way at all is told of the policy.
            if is_needed && found.is_empty() && !names_none {
                let kinds = keys.decrypting().map(|own| own.key().kind());
                for problem in kinds.filter_map(|kind| wrapped.problem(kind)) {
                    if !problems.contains(&problem) {
                        problems.push(problem);
                    }
                }
            }
            found
        };
        Self {
            sessions: found(policy.wraps_key(), WrappedKeyUse::Session(policy)),
            assertions: found(policy.hides_assertion(), WrappedKeyUse::Assertion(policy)),
            proof_keys: found(policy.proves_by_key(), WrappedKeyUse::ProofKey(policy)),
        }
    }
}
