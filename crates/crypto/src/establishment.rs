//! How the recipient of a message comes by a secret, with a private key.
//!
//! The secret travels encrypted (key transport), or both sides compute it (key agreement). The
//! private key may be in this process or elsewhere.
//!
//! The rule kept here: a private key that is unavailable is told apart from a secret that is wrong,
//! since the former does not depend on the message. All else that fails is one failure.

use crate::algorithms::{KeyAgreement, KeyTransport};
use crate::error::{CryptoError, EstablishmentError};
use crate::key::{PrivateKey, PublicKey};
use crate::secret::SecretBytes;
use crate::transport::OaepParameters;

/// A way to a secret.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum KeyEstablishment<'m> {
    /// The secret travels encrypted to the recipient's key (XML-Enc 1.1 section 5.5).
    Transport {
        /// The algorithm.
        algorithm: KeyTransport,
        /// The parameters of OAEP.
        parameters: &'m OaepParameters,
        /// The encrypted secret.
        ciphertext: &'m [u8],
        /// The length that the secret must have; see [`PrivateKey::unwrap`].
        expected_length: Option<usize>,
    },
    /// Both sides compute the secret (XML-Enc 1.1 section 5.6).
    Agreement {
        /// The algorithm.
        algorithm: KeyAgreement,
        /// The public key of the other side.
        originator: &'m PublicKey,
    },
}

impl PrivateKey {
    /// The secret that a message establishes with the holder of this key.
    ///
    /// # Errors
    ///
    /// [`EstablishmentError`].
    pub fn establish(
        &self,
        establishment: &KeyEstablishment<'_>,
    ) -> Result<SecretBytes, EstablishmentError> {
        match *establishment {
            KeyEstablishment::Transport {
                algorithm,
                parameters,
                ciphertext,
                expected_length,
            } => self.transported(algorithm, parameters, ciphertext, expected_length),
            KeyEstablishment::Agreement {
                algorithm,
                originator,
            } => self
                .agree(algorithm, originator)
                .map_err(|error| match error {
                    CryptoError::KeyUnavailable { reason } => {
                        EstablishmentError::Unavailable { reason }
                    }
                    _ => EstablishmentError::Failed,
                }),
        }
    }
}
