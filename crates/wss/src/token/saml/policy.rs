//! What a plan accepts of assertions.
//!
//! The one rule: the defaults accept the least. Every method, audience and weak algorithm is one
//! that was written down.

use std::time::Duration;

use soapstone_crypto::{DigestAlgorithm, SignatureAlgorithm};

use super::version::{ConfirmationMethod, SamlVersion};

/// The assertions that messages must have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct AssertionPolicy {
    /// The versions.
    pub versions: Vec<SamlVersion>,
    /// The methods that confirm the subject.
    pub methods: Vec<ConfirmationMethod>,
    /// What the key of the holder does, where holder-of-key is the one method.
    pub holder: HolderUse,
    /// What protects the message of a bearer, or of somebody who vouches.
    pub protection: AssertionProtection,
    /// Who we are to issuers. An assertion that names audiences names one of these in each of its
    /// restrictions; one without a restriction is refused, unless this is empty.
    pub audiences: Vec<String>,
    /// The addresses that a confirmation may name as its `Recipient`.
    pub recipients: Vec<String>,
    /// What a confirmation may say that nothing is compared with.
    pub ignored_confirmation: Vec<ConfirmationPart>,
    /// Who may vouch for others, as [`HolderName`](soapstone_crypto::HolderName) reads it: the
    /// subject of a certificate, or subject and issuer.
    pub attesters: Vec<String>,
    /// Difference of clocks that is forgiven.
    pub skew: Duration,
    /// The longest age of an assertion that does not say when it ends.
    pub most_age: Duration,
    /// Whether each assertion is accepted once, also if it does not ask for that.
    pub once: bool,
    /// Whether the assertions are ID cards of DGWS, which are no assertions as SAML has them.
    /// Their holders are bearers, and all of them have one id.
    pub id_cards: bool,
    /// Whether the assertion is in cipher text of its own, for its receiver. Inbound, one that
    /// anybody could read is refused then, and one in cipher text of its own otherwise.
    pub encrypted: bool,
    /// Whether a message may name an assertion that stands elsewhere. Its host fetches it, in the
    /// clear: a plan that wants it `encrypted` as well is refused.
    pub by_reference: bool,
    /// The authority that has the assertion, where a sender names it and does not carry it (SAML
    /// Token Profile 1.1.1, 3.3): an address that begins with `https://`, without a query.
    pub authority: Option<String>,
    /// Whether the assertion goes on to whoever the message is for, as a header block.
    pub forwarded: bool,
    /// Whether a sender takes it out of the plain message, where it is a header block.
    pub from_message: bool,
    /// Signature algorithms of issuers.
    pub signature: Vec<SignatureAlgorithm>,
    /// Digest algorithms of issuers.
    pub digest: Vec<DigestAlgorithm>,
}

/// What an issuer says of the way in which its subject came (SAML Core 2.0, 2.4.1.2). Of a message
/// nothing is known to compare it with, so a confirmation that says it confirms nobody, unless the
/// policy ignores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConfirmationPart {
    /// `Address`: from where the subject shows the assertion. Addresses change on the way to a
    /// service.
    Address,
    /// `InResponseTo`: the request of a protocol that the assertion answers.
    InResponseTo,
}

impl ConfirmationPart {
    /// Its name in endpoint files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Address => "address",
            Self::InResponseTo => "in-response-to",
        }
    }
}

/// What the use of a confirmation is called of which something is ignored, where it is counted
/// ([`Evidence::weak`](crate::Evidence::weak)) and where it ends
/// ([`Retirement`](crate::Retirement)).
pub const IGNORED_CONFIRMATION: &str = "ignored-confirmation";

/// What the key of an assertion's holder does in a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HolderUse {
    /// It makes the message's own signature, which names the assertion.
    Signs,
    /// It endorses, by a signature that names the assertion.
    Endorses,
    /// Nothing that names the assertion: a certificate with the key signs, or the connection has
    /// it.
    Beside,
    /// Nothing in the message: the client proved it while the connection was made.
    Connects,
}

impl HolderUse {
    /// Whether a signature with the key names the assertion.
    pub(crate) const fn names_assertion(self) -> bool {
        matches!(self, Self::Signs | Self::Endorses)
    }
}

/// What protects a message whose assertion proves nothing of its sender by a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AssertionProtection {
    /// The connection. Nothing here can see it; whoever writes this sees to it.
    Connection,
    /// One signature of the message over the assertion and the Body.
    Signature,
}

impl Default for AssertionPolicy {
    /// Assertions of SAML 2.0, whose holders sign, and no audience.
    fn default() -> Self {
        Self {
            versions: vec![SamlVersion::V20],
            methods: vec![ConfirmationMethod::HolderOfKey],
            holder: HolderUse::Signs,
            protection: AssertionProtection::Signature,
            audiences: Vec::new(),
            recipients: Vec::new(),
            ignored_confirmation: Vec::new(),
            attesters: Vec::new(),
            skew: Duration::from_secs(60),
            // What WSS4J accepts.
            most_age: Duration::from_secs(30 * 60),
            once: false,
            id_cards: false,
            encrypted: false,
            by_reference: false,
            authority: None,
            forwarded: false,
            from_message: false,
            signature: vec![
                SignatureAlgorithm::RsaSha256,
                SignatureAlgorithm::RsaSha384,
                SignatureAlgorithm::RsaSha512,
                SignatureAlgorithm::EcdsaSha256,
                SignatureAlgorithm::EcdsaSha384,
                SignatureAlgorithm::EcdsaSha512,
                SignatureAlgorithm::Ed25519,
            ],
            digest: vec![
                DigestAlgorithm::Sha256,
                DigestAlgorithm::Sha384,
                DigestAlgorithm::Sha512,
            ],
        }
    }
}

impl AssertionPolicy {
    /// Whether a method is accepted.
    pub fn accepts(&self, method: ConfirmationMethod) -> bool {
        self.methods.contains(&method)
    }
}
