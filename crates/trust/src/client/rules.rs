//! What a client asks for, and what it takes.
//!
//! The one rule: a default that takes more than was asked for needs a reason, and has it beside it.

use std::time::Duration;

use soapstone_crypto::PrivateKey;

use crate::version::{ComputedKey, TrustVersion};

/// What a client asks for and takes.
///
/// The struct may grow; change single fields of a default value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ClientRules {
    /// The version that is spoken. Default 1.3.
    pub version: TrustVersion,
    /// Bits of the key, 128 to 512 in whole bytes. Default 256. Other numbers are taken for the
    /// nearest of these.
    pub key_size: u32,
    /// How the key is computed. Default P_SHA1.
    pub computed_key: ComputedKey,
    /// Life that is asked for. Default what the service likes.
    pub lifetime: Option<Duration>,
    /// Longest life that is believed. Default 24 hours.
    pub longest_lifetime: Duration,
    /// Life of a token whose answer does not say. Default 5 minutes.
    pub assumed_lifetime: Duration,
    /// We contribute to the key (`sp:RequireClientEntropy`). Default yes.
    pub entropy: bool,
    /// A key that is the service's alone is taken although we sent entropy. Default no.
    pub issuer_key_alone: bool,
    /// Difference between the clocks of both sides that is forgiven. Default 5 minutes.
    pub skew: Duration,
    /// The key that opens an `xenc:EncryptedKey` in an answer. Default none: such answers are
    /// refused.
    pub decryption_key: Option<PrivateKey>,
}

impl Default for ClientRules {
    fn default() -> Self {
        Self {
            version: TrustVersion::V13,
            key_size: 256,
            computed_key: ComputedKey::PSha1,
            lifetime: None,
            longest_lifetime: Duration::from_secs(24 * 3600),
            assumed_lifetime: Duration::from_secs(300),
            entropy: true,
            issuer_key_alone: false,
            skew: Duration::from_secs(300),
            decryption_key: None,
        }
    }
}

/// Most assertions that one message asks for: as many as a token service of ours grants at once.
pub const MOST_TOKENS: usize = 8;

/// Most bits of a key: what a security context holds.
pub(super) const LONGEST_KEY: u32 = 512;

impl ClientRules {
    /// Bits that are asked for.
    pub(super) fn key_size(&self) -> u32 {
        self.key_size.clamp(128, LONGEST_KEY).next_multiple_of(8)
    }
}
