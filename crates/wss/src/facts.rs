//! What a plan asks of its host before the cryptography, and what it leaves behind for the answer.
//!
//! The one rule: an unproven message decides which facts are looked up, never what they are.

use std::sync::Arc;

use soapstone_crypto::{Certificate, SecretBytes, SymmetricKey};

use crate::conversation::{ContextName, SecurityContext};
use crate::freshness::PeerClock;
use crate::kerberos::{KerberosName, KerberosSession};
use crate::marks::ReplayKey;
use crate::proof::ProofKey;
use crate::token::{AssertionReference, FetchedAssertion, SamlVersion};
use crate::username::User;

/// What a message needs from outside to be opened. Nothing of it is proven.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lookups {
    /// Users whose passwords are wanted.
    pub users: Vec<String>,
    /// The user's name is encrypted: the passwords of all users are wanted.
    pub hidden_user: bool,
    /// Security contexts whose keys are wanted.
    pub contexts: Vec<ContextName>,
    /// The Kerberos token whose session is wanted.
    pub kerberos: Option<KerberosName>,
    /// The assertion elsewhere that is wanted.
    pub assertion: Option<AssertionReference>,
}

/// Answers to [`Lookups`].
#[derive(Debug, Default)]
pub struct Facts {
    /// Passwords of users, by name. A user that is not known is left out.
    pub passwords: Vec<(String, SecretBytes)>,
    /// Certificates that messages may name without carrying them, beside those of the plan.
    pub certificates: Vec<Certificate>,
    /// Security contexts of [`Lookups::contexts`] that this endpoint has, neither cancelled nor
    /// another endpoint's.
    pub contexts: Vec<SecurityContext>,
    /// The session of [`Lookups::kerberos`]: of a token that the host has accepted, from this
    /// message or an earlier one.
    pub kerberos: Option<KerberosSession>,
    /// The assertion of [`Lookups::assertion`].
    pub assertion: Option<Arc<FetchedAssertion>>,
    /// The certificate whose key the client proved while the connection was made that the message
    /// came over, and that the host trusts.
    pub client_certificate: Option<Certificate>,
    /// For a response: what its request left behind.
    pub request: Option<Receipt>,
    /// How far the peer's clock is known to be off.
    pub clock: PeerClock,
}

impl Facts {
    pub(crate) fn password(&self, user: &str) -> Option<&SecretBytes> {
        self.passwords
            .iter()
            .find(|(name, _)| name == user)
            .map(|(_, password)| password)
    }
}

/// The name of an assertion, and the certificate of its holder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldAssertion {
    /// The version of the assertion.
    pub version: SamlVersion,
    /// Its id.
    pub id: String,
    /// The certificate that it names.
    pub certificate: Certificate,
}

/// What one message leaves behind for the message that answers it.
#[derive(Debug, Default)]
pub struct Receipt {
    /// Who signed the message.
    pub signer: Option<Certificate>,
    /// The sender's session key, if there is one, with the SHA-1 of its wrapped bytes
    /// (`EncryptedKeySHA1`): of a message that was opened the one that signed it, or else the
    /// only one that deciphered something of it.
    pub session_keys: Vec<([u8; 20], SymmetricKey)>,
    /// Values of its signatures, which the answer may have to confirm.
    pub signature_values: Vec<Vec<u8>>,
    /// Of a message that was secured: whether its signature covers the key of short cipher text,
    /// which some receivers refuse.
    pub signs_session_key: bool,
    /// The user whose password its keys were derived from. The keys of the answer are derived
    /// from the same one.
    pub user: Option<Arc<User>>,
    /// The security context it was secured with.
    pub context: Option<SecurityContext>,
    /// The Kerberos session it was secured with.
    pub kerberos: Option<KerberosSession>,
    /// The proof key of its assertion, where it was secured with that.
    pub proof: Option<ProofKey>,
    /// The assertion that it showed, where that names a certificate of its holder.
    pub held: Option<HeldAssertion>,
    /// Which operation the message is of, where the host has a plan for each: what this number
    /// means is the host's to know. Several where they could not be told apart and are treated
    /// alike.
    pub operations: Vec<usize>,
    /// Of a message that was secured under a key that its receiver holds as well, or that was only
    /// encrypted: what its receiver will know it by ([`Opened::marks`](crate::Opened::marks)).
    /// One that arrives with such a mark was sent back; its receiver has no reason to.
    pub marks: Vec<ReplayKey>,
    /// What the answer has to say of the message. What it means is the host's to know.
    pub relation: Option<Relation>,
}

/// How the answer to a message with a `wsa:MessageID` is known to be its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Relation {
    /// Each `wsa:MessageID` of the message.
    pub message_ids: Vec<String>,
    /// Whether an answer is refused that proves no `wsa:RelatesTo`.
    pub is_demanded: bool,
}
