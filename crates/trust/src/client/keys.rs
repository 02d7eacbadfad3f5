//! The key that an answer brings: computed of both sides' entropy, or one side's alone (WS-Trust
//! 1.4, 4.4.3 to 4.4.10).
//!
//! The one rule: what was asked for says how the key comes. An answer that has it come in a simpler
//! way is refused.

use soapstone_crypto::{PrivateKey, SecretBytes, SymmetricKey};

use super::error::TrustError;
use super::rules::LONGEST_KEY;
use crate::message::{Entropy, ProofToken, RequestSecurityTokenResponse};
use crate::service::shortest_entropy;
use crate::version::ComputedKey;

/// Whose randomness a key is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Contribution {
    /// That of both sides: neither chooses the key.
    #[default]
    Both,
    /// Ours alone: we choose the key.
    Ours,
    /// The token service's alone.
    Issuers,
}

/// The symmetric key of a token that is asked for.
///
/// The struct may grow; change single fields of a default value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ProofRules {
    /// Bits of the key, 128 to 512 in whole bytes. Default 256. Other numbers are taken for the
    /// nearest of these.
    pub key_size: u32,
    /// Whose randomness it is made of. Default both sides'.
    pub contribution: Contribution,
    /// How it is computed of both. Default P_SHA1.
    pub computed_key: ComputedKey,
    /// The key that opens an `xenc:EncryptedKey` in an answer. Default none: such answers are
    /// refused.
    pub decryption_key: Option<PrivateKey>,
}

impl Default for ProofRules {
    fn default() -> Self {
        Self {
            key_size: 256,
            contribution: Contribution::Both,
            computed_key: ComputedKey::PSha1,
            decryption_key: None,
        }
    }
}

impl ProofRules {
    /// Bits that are asked for.
    pub(super) fn key_size(&self) -> u32 {
        self.key_size.clamp(128, LONGEST_KEY).next_multiple_of(8)
    }

    /// Our part of a new key, if we have one.
    pub(super) fn entropy(&self) -> Option<SecretBytes> {
        match self.contribution {
            Contribution::Both | Contribution::Ours => {
                Some(SecretBytes::random(self.key_size() as usize / 8))
            }
            Contribution::Issuers => None,
        }
    }

    /// What an answer may bring.
    pub(super) fn wanted<'w>(&'w self, entropy: Option<&'w SecretBytes>) -> WantedKey<'w> {
        WantedKey {
            minimum: self.key_size(),
            computed_key: self.computed_key,
            entropy,
            ours_alone: self.contribution == Contribution::Ours,
            issuers_alone: self.contribution == Contribution::Issuers,
            decryption_key: self.decryption_key.as_ref(),
        }
    }
}

/// The key that an answer is to bring.
pub(super) struct WantedKey<'w> {
    /// Fewest bits.
    pub(super) minimum: u32,
    /// How it may be computed.
    pub(super) computed_key: ComputedKey,
    /// Our part of it, if the request had one.
    pub(super) entropy: Option<&'w SecretBytes>,
    /// Our part is the key.
    pub(super) ours_alone: bool,
    /// A key that is the service's alone is taken, whatever the request had.
    pub(super) issuers_alone: bool,
    /// The key that opens an `xenc:EncryptedKey`.
    pub(super) decryption_key: Option<&'w PrivateKey>,
}

impl WantedKey<'_> {
    /// The key of an answer.
    ///
    /// # Errors
    /// [`TrustError`]: it brings none, or comes to one in another way than what was asked for.
    pub(super) fn of(
        &self,
        answer: &RequestSecurityTokenResponse,
    ) -> Result<SymmetricKey, TrustError> {
        let octets = self.checked(answer.key_size.unwrap_or(self.minimum))?;
        match (&answer.proof, self.entropy) {
            (proof, Some(ours)) if self.ours_alone => {
                if proof.is_some() || answer.entropy.is_some() {
                    return Err(TrustError::OwnKeyIgnored);
                }
                if octets != ours.len() {
                    let (found, minimum) = (octets as u32 * 8, self.minimum);
                    return Err(TrustError::KeySize { found, minimum });
                }
                Ok(SymmetricKey::from_secret(ours.duplicate())?)
            }
            (None, _) => Err(TrustError::ProofMissing),
            (Some(ProofToken::Key(_)), Some(_)) if !self.issuers_alone => {
                Err(TrustError::EntropyIgnored)
            }
            (Some(ProofToken::Key(key)), _) => {
                let key = self.open(key)?;
                // CXF 3.5.10 tells what it has wiped. Everybody would know such a key.
                if key.expose().iter().all(|byte| *byte == 0) {
                    return Err(TrustError::KeyBlank);
                }
                let found = key.len() as u32 * 8;
                self.checked(found)?;
                if answer.key_size.is_some_and(|bits| bits != found) {
                    let minimum = self.minimum;
                    return Err(TrustError::KeySize { found, minimum });
                }
                Ok(SymmetricKey::from_secret(key)?)
            }
            (Some(ProofToken::Computed(_)), None) => Err(TrustError::EntropyMissing),
            (Some(ProofToken::Computed(algorithm)), Some(ours)) => {
                let algorithm = match algorithm {
                    Ok(algorithm) if *algorithm == self.computed_key => *algorithm,
                    Ok(algorithm) => {
                        let found = algorithm.uri(answer.version);
                        return Err(TrustError::ComputedKeyRefused { found });
                    }
                    Err(uri) => {
                        return Err(TrustError::ComputedKeyRefused { found: uri.clone() });
                    }
                };
                let theirs = answer.entropy.as_ref().ok_or(TrustError::EntropyMissing)?;
                let theirs = self.open(theirs)?;
                let minimum = shortest_entropy(octets);
                if theirs.len() < minimum {
                    return Err(TrustError::EntropyLength {
                        found: theirs.len(),
                        minimum,
                    });
                }
                if theirs.expose() == ours.expose() {
                    return Err(TrustError::EntropyReflected);
                }
                Ok(algorithm.compute(ours.expose(), theirs.expose(), octets)?)
            }
        }
    }

    fn open(&self, secret: &Entropy) -> Result<SecretBytes, TrustError> {
        let opened = secret.open(self.decryption_key);
        opened.ok_or(TrustError::SecretUnreadable)
    }

    /// The bytes of a key of so many bits, if it may have so many.
    fn checked(&self, found: u32) -> Result<usize, TrustError> {
        let minimum = self.minimum;
        match found.is_multiple_of(8) && (minimum..=LONGEST_KEY).contains(&found) {
            true => Ok(found as usize / 8),
            false => Err(TrustError::KeySize { found, minimum }),
        }
    }
}
