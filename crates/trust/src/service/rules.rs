//! What a security token service grants.
//!
//! The one rule: a default that gives more than another needs a reason, and has it beside it.

use std::sync::Arc;
use std::time::Duration;

use soapstone_crypto::PrivateKey;

use super::AssertionRules;
use crate::version::{ComputedKey, Operation, TrustVersion};

/// The rules of a [`SecurityTokenService`](crate::SecurityTokenService).
///
/// The struct may grow; change single fields of a default value:
///
/// ```
/// let mut rules = soapstone_trust::ServiceRules::default();
/// rules.longest_lifetime = std::time::Duration::from_secs(3600);
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServiceRules {
    /// Versions that are answered. Default both: .NET Framework clients speak February 2005 unless
    /// told otherwise.
    pub versions: Vec<TrustVersion>,
    /// Security contexts are issued. Default yes.
    pub contexts: bool,
    /// How SAML assertions are issued. Default not at all.
    pub assertions: Option<Arc<AssertionRules>>,
    /// What is done about contexts. Default everything; policies can rule out that contexts are
    /// cancelled, renewed or amended.
    pub operations: Vec<Operation>,
    /// Life of a context when the request wants none in particular. Default 1 hour.
    pub lifetime: Duration,
    /// Longest life of a context; requests for more get this. Default 12 hours: a working day.
    pub longest_lifetime: Duration,
    /// Bits of a key when the request does not say. Default 256.
    pub key_size: u32,
    /// Fewest bits of a key. Default 128.
    pub shortest_key: u32,
    /// Most bits of a key. Default 512, the longest that a security context holds.
    pub longest_key: u32,
    /// Algorithms by which keys may be computed. Default P_SHA1, the one that everybody has.
    pub computed_keys: Vec<ComputedKey>,
    /// A request for a new context without entropy gets a key that is the service's alone, as
    /// renewals do. Default yes: policies without `sp:RequireClientEntropy` mean it, and the
    /// key is no worse for it.
    pub issuer_key_alone: bool,
    /// A requestor that sends a whole key (`wst:BinarySecret` of the type `SymmetricKey`) gets a
    /// token with that key, so that it alone chooses. Default no: the service contributes to every
    /// key.
    pub requestor_key_alone: bool,
    /// A request for a context says what it is for (`wsp:AppliesTo`). Default no.
    pub applies_to_required: bool,
    /// Contexts for whoever asks. Default no.
    pub anonymous: bool,
    /// Key material must be encrypted or travel over TLS. Default yes.
    pub confidential: bool,
    /// Addresses for which tokens are issued (`wsp:AppliesTo`). Default none listed: all, because
    /// a client may know this endpoint by a name that it does not know itself, and a context
    /// is good at this endpoint only.
    pub scopes: Vec<String>,
    /// How long after a context was established (or last renewed by its owner) it may be renewed
    /// by its key alone, without its owner being authenticated anew. Default not at all, as
    /// WS-SecureConversation 1.4, 5 wants it.
    pub renewal_by_key_alone: Option<Duration>,
    /// A context may be renewed and cancelled by its owner, authenticated anew, without a
    /// signature by its key. Default no, as WS-SecureConversation 1.4, 5 and 6 want the key;
    /// CXF's client shows only who it is. For the context of nobody in particular this changes
    /// nothing.
    pub owner_alone: bool,
    /// How long the old instance of a renewed context is still accepted. Default 60 seconds:
    /// messages under way.
    pub grace: Duration,
    /// Difference between the clocks of both sides that is forgiven. Default 5 minutes.
    pub skew: Duration,
    /// Most requests in one collection. Default 8.
    pub batch: usize,
    /// The key that opens entropy in an `xenc:EncryptedKey`. Default none: such entropy is
    /// refused.
    pub decryption_key: Option<PrivateKey>,
}

impl Default for ServiceRules {
    fn default() -> Self {
        Self {
            versions: TrustVersion::ALL.to_vec(),
            contexts: true,
            assertions: None,
            operations: Operation::ALL.to_vec(),
            lifetime: Duration::from_secs(3600),
            longest_lifetime: Duration::from_secs(12 * 3600),
            key_size: 256,
            shortest_key: 128,
            longest_key: 512,
            computed_keys: vec![ComputedKey::PSha1],
            issuer_key_alone: true,
            requestor_key_alone: false,
            applies_to_required: false,
            anonymous: false,
            confidential: true,
            scopes: Vec::new(),
            renewal_by_key_alone: None,
            owner_alone: false,
            grace: Duration::from_secs(60),
            skew: Duration::from_secs(300),
            batch: 8,
            decryption_key: None,
        }
    }
}
