//! The key of a new or renewed context: from the entropy of both sides, or the service's alone
//! (WS-Trust 1.4, 4.4.3 and 4.4.4).
//!
//! The one rule: the service contributes as many random bytes as the key has, so that no requestor
//! chooses a key, unless its rules say that one may.

use soapstone_crypto::{SecretBytes, SymmetricKey};

use super::{Requester, SecurityTokenService};
use crate::fault::Refusal;
use crate::message::{Entropy, ProofToken, RequestSecurityToken};
use crate::version::{KeyType, Operation, SecretType};

/// Fewest bytes of one side's entropy, whatever the key.
pub(crate) const SHORTEST_ENTROPY: usize = 16;

/// Fewest bytes of one side's entropy for a key of that many bytes: half of it.
pub(crate) const fn shortest_entropy(key: usize) -> usize {
    let half = key.div_ceil(2);
    if half > SHORTEST_ENTROPY {
        half
    } else {
        SHORTEST_ENTROPY
    }
}

/// A key, and what the requestor is told about it.
pub(super) struct NewKey {
    pub(super) key: SymmetricKey,
    pub(super) bits: u32,
    /// Nothing where the requestor has the key already (WS-Trust 1.4, 4.4.3).
    pub(super) proof: Option<ProofToken>,
    pub(super) entropy: Option<Entropy>,
    /// What it is told must not be readable on the way.
    pub(super) confidential: bool,
}

impl SecurityTokenService {
    /// Makes the key that `request` asks for, of `default` bits if it does not say.
    pub(super) fn new_key(
        &self,
        request: &RequestSecurityToken,
        requester: &Requester,
        default: u32,
    ) -> Result<NewKey, Refusal> {
        let rules = &self.rules;
        match &request.key_type {
            None | Some(KeyType::SymmetricKey) => {}
            Some(other) => {
                return Err(Refusal::KeyTypeNotOffered {
                    found: other.uri(request.version),
                });
            }
        }
        let bits = request.key_size.unwrap_or(default);
        if !bits.is_multiple_of(8) || !(rules.shortest_key..=rules.longest_key).contains(&bits) {
            return Err(Refusal::KeySizeNotOffered {
                found: bits,
                minimum: rules.shortest_key,
                maximum: rules.longest_key,
            });
        }
        let algorithm = match &request.computed_key {
            None => rules.computed_keys.first().copied().unwrap_or_default(),
            Some(Ok(algorithm)) if rules.computed_keys.contains(algorithm) => *algorithm,
            Some(Ok(algorithm)) => {
                return Err(Refusal::ComputedKeyNotOffered {
                    found: algorithm.uri(request.version),
                });
            }
            Some(Err(uri)) => {
                return Err(Refusal::ComputedKeyNotOffered { found: uri.clone() });
            }
        };
        // A nonce of ours beside an encrypted one of the requestor's tells nobody the key.
        let sealed = matches!(request.entropy, Some(Entropy::Encrypted { .. }));
        if rules.confidential && !requester.confidential && !sealed {
            return Err(Refusal::NotConfidential);
        }
        let library = |error: soapstone_crypto::CryptoError| Refusal::Library {
            problem: error.to_string(),
        };
        let octets = bits as usize / 8;
        let own = SecretBytes::random(octets);
        let Some(theirs) = &request.entropy else {
            // Asked of what makes a token (WS-SecurityPolicy 1.3, 10). CXF's client shows none when
            // it renews one.
            let issues = request.request_type.operation == Operation::Issue;
            if issues && !rules.issuer_key_alone {
                return Err(Refusal::EntropyMissing);
            }
            let proof = Entropy::Secret {
                kind: Some(SecretType::SymmetricKey),
                octets: own.duplicate(),
            };
            return Ok(NewKey {
                key: SymmetricKey::from_secret(own).map_err(library)?,
                bits,
                proof: Some(ProofToken::Key(proof)),
                entropy: None,
                confidential: true,
            });
        };
        let theirs = theirs
            .open(rules.decryption_key.as_ref())
            .ok_or(Refusal::EntropyUnreadable)?;
        let is_whole = rules.requestor_key_alone && is_key(&request.entropy);
        let minimum = match is_whole {
            true => octets,
            false => shortest_entropy(octets),
        };
        if theirs.len() < minimum {
            return Err(Refusal::EntropyLength {
                found: theirs.len(),
                minimum,
            });
        }
        if is_whole {
            if theirs.len() > octets {
                return Err(Refusal::KeySizeNotOffered {
                    found: theirs.len() as u32 * 8,
                    minimum: bits,
                    maximum: bits,
                });
            }
            if theirs.expose().iter().all(|byte| *byte == 0) {
                return Err(Refusal::KeyBlank);
            }
            return Ok(NewKey {
                key: SymmetricKey::from_secret(theirs).map_err(library)?,
                bits,
                proof: None,
                entropy: None,
                confidential: false,
            });
        }
        let key = algorithm
            .compute(theirs.expose(), own.expose(), octets)
            .map_err(library)?;
        Ok(NewKey {
            key,
            bits,
            proof: Some(ProofToken::Computed(Ok(algorithm))),
            entropy: Some(Entropy::Secret {
                kind: Some(SecretType::Nonce),
                octets: own,
            }),
            confidential: !sealed,
        })
    }
}

/// Whether a requestor sends a key, and says so, and not its part of one. What says nothing is
/// taken for a part: clients leave the type out of a nonce.
fn is_key(entropy: &Option<Entropy>) -> bool {
    let kind = match entropy {
        Some(Entropy::Secret { kind, .. }) => *kind,
        _ => None,
    };
    kind == Some(SecretType::SymmetricKey)
}
