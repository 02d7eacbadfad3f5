//! WS-SecureConversation as far as single messages go: security contexts, the tokens that name
//! them, and keys derived from them.
//!
//! How a context comes to be, is renewed and cancelled is WS-Trust's matter, above this crate. Here
//! a context is a fact: whoever asks the engine to open or secure a message looks it up.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use soapstone_crypto::{Certificate, CryptoError, DataEncryption, SecretBytes, SymmetricKey};

use crate::known_certificate::KnownCertificate;
use crate::token::{AssertionAttribute, NameIdentifier};

/// A version of WS-SecureConversation, by its namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ConversationVersion {
    /// February 2005.
    February2005,
    /// 1.3 and 1.4, which share a namespace.
    V13,
}

impl ConversationVersion {
    /// Both.
    pub const ALL: [Self; 2] = [Self::V13, Self::February2005];

    /// Namespace of `SecurityContextToken` and `DerivedKeyToken`.
    pub const fn namespace(self) -> &'static str {
        match self {
            Self::February2005 => "http://schemas.xmlsoap.org/ws/2005/02/sc",
            Self::V13 => "http://docs.oasis-open.org/ws-sx/ws-secureconversation/200512",
        }
    }

    /// Namespace of the WS-Trust that goes with it.
    pub const fn trust_namespace(self) -> &'static str {
        match self {
            Self::February2005 => "http://schemas.xmlsoap.org/ws/2005/02/trust",
            Self::V13 => "http://docs.oasis-open.org/ws-sx/ws-trust/200512",
        }
    }

    /// Token type of a `SecurityContextToken` (WS-SecureConversation 1.4, 2).
    pub const fn token_type(self) -> &'static str {
        match self {
            Self::February2005 => "http://schemas.xmlsoap.org/ws/2005/02/sc/sct",
            Self::V13 => "http://docs.oasis-open.org/ws-sx/ws-secureconversation/200512/sct",
        }
    }

    /// Token type of a `DerivedKeyToken` (WS-SecureConversation 1.4, 7.1).
    pub const fn derived_key_type(self) -> &'static str {
        match self {
            Self::February2005 => "http://schemas.xmlsoap.org/ws/2005/02/sc/dk",
            Self::V13 => "http://docs.oasis-open.org/ws-sx/ws-secureconversation/200512/dk",
        }
    }

    /// The derivation algorithm P_SHA1 (WS-SecureConversation 1.4, 7.2).
    pub const fn p_sha1(self) -> &'static str {
        match self {
            Self::February2005 => "http://schemas.xmlsoap.org/ws/2005/02/sc/dk/p_sha1",
            Self::V13 => "http://docs.oasis-open.org/ws-sx/ws-secureconversation/200512/dk/p_sha1",
        }
    }

    /// The version with this namespace.
    pub fn from_namespace(namespace: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|version| version.namespace() == namespace)
    }
}

/// Which context a message names. Unproven: anybody can write a name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ContextName {
    /// Version of the token.
    pub version: ConversationVersion,
    /// `wsc:Identifier`, an absolute URI.
    pub identifier: String,
    /// `wsc:Instance`: which of the keys that the context had in the course of renewals.
    pub instance: Option<String>,
}

impl fmt::Display for ContextName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the security context `{}`", self.identifier)?;
        match &self.instance {
            Some(instance) => write!(out, " instance `{instance}`"),
            None => Ok(()),
        }
    }
}

/// Who was proven to be at the other end when the context was made.
#[derive(Clone, Debug)]
pub enum ContextOwner {
    /// The holder of this certificate's private key.
    Certificate(Certificate),
    /// A user with a password.
    User(String),
    /// The client of a Kerberos ticket: no user, whatever the names.
    Kerberos {
        /// Its principal, with the realm.
        client: String,
        /// The end of the ticket, which the context does not outlive.
        ends: Timestamp,
    },
    /// The subject of an assertion: no user, and no subject of another issuer, whatever the names.
    Subject(Arc<AssertedOwner>),
    /// Nobody in particular: whoever made the context knows its key, and that is all.
    Anonymous,
}

/// The subject of an assertion that began a context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssertedOwner {
    /// Who made the assertion.
    pub issuer: String,
    /// The certificate by which the issuer signed it, where the issuer did.
    pub signed_by: Option<KnownCertificate>,
    /// Whom it is about, with the format and the domain of the name.
    pub subject: NameIdentifier,
    /// The id of the assertion, by which it is cancelled.
    pub id: String,
    /// The end of the assertion as its receiver has it, which the context does not outlive.
    pub ends: Timestamp,
    /// What the issuer says of the subject.
    pub attributes: Vec<AssertionAttribute>,
    /// Whoever vouched for the subject, where somebody did.
    pub attester: Option<Attester>,
}

/// Whoever vouched for the subject of an assertion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attester {
    /// Whose certificate signed the message.
    pub certificate: KnownCertificate,
    /// The end of the certificate, which the context does not outlive.
    pub ends: Timestamp,
}

impl Attester {
    /// The attester with this certificate, which the trust rules knew by `root`
    /// ([`KnownCertificate::root`]).
    #[must_use]
    pub fn of(certificate: &Certificate, root: [u8; 32]) -> Self {
        Self {
            certificate: KnownCertificate::new(certificate, root),
            ends: certificate.not_after(),
        }
    }
}

impl AssertedOwner {
    /// Whether both are the same subject. A name that an issuer gives for a login may be another
    /// subject's in another assertion (SAML Core 2.0, 8.3.8); and what one attester says of a
    /// subject, no other one says.
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        let attester = |owner: &Self| {
            let attester = owner.attester.as_ref();
            attester.map(|one| one.certificate.thumbprint)
        };
        self.issuer == other.issuer
            && self.subject == other.subject
            && attester(self) == attester(other)
            && (self.subject.is_lasting() || self.id == other.id)
    }

    /// About how many bytes the owner takes, as long as the context is kept.
    #[must_use]
    pub fn size(&self) -> usize {
        let subject = &self.subject;
        let optional = [
            &subject.format,
            &subject.qualifier,
            &subject.service_qualifier,
        ];
        let named = [&self.issuer, &self.id, &subject.value];
        let attester = self.attester.iter().map(|one| &one.certificate);
        let certificates = self.signed_by.iter().chain(attester);
        let certificates = certificates.flat_map(|one| [&one.subject, &one.issuer]);
        let attributes = self.attributes.iter().flat_map(|attribute| {
            let format = attribute.format.iter();
            let texts = std::iter::once(&attribute.name).chain(format);
            texts.chain(&attribute.values)
        });
        let texts = named.into_iter().chain(optional.into_iter().flatten());
        let texts = texts.chain(certificates).chain(attributes);
        texts.map(|text| text.len() + size_of::<String>()).sum()
    }
}

impl fmt::Display for ContextOwner {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificate(certificate) => out.write_str(certificate.subject()),
            Self::User(name) | Self::Kerberos { client: name, .. } => out.write_str(name),
            Self::Subject(owner) => write!(out, "{} of {}", owner.subject.value, owner.issuer),
            Self::Anonymous => out.write_str("anonymous"),
        }
    }
}

/// An established security context (WS-SecureConversation 1.4, 2).
#[derive(Clone, Debug)]
pub struct SecurityContext {
    /// Version of its tokens.
    pub version: ConversationVersion,
    /// `wsc:Identifier`.
    pub identifier: String,
    /// `wsc:Instance`; none before the first renewal.
    pub instance: Option<String>,
    /// The secret that both sides hold, 16 to 64 bytes. Clones share it.
    pub secret: SymmetricKey,
    /// When it was made.
    pub created: Timestamp,
    /// From then on it is refused.
    pub expires: Timestamp,
    /// Who is at the other end.
    pub owner: ContextOwner,
}

impl SecurityContext {
    /// Its name in messages.
    pub fn name(&self) -> ContextName {
        ContextName {
            version: self.version,
            identifier: self.identifier.clone(),
            instance: self.instance.clone(),
        }
    }
}

/// Whether each derived key has a token of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DerivedKeyForm {
    /// A `wsc:DerivedKeyToken` in the header (WS-SecureConversation 1.4, 7.1).
    Explicit,
    /// `wsc:Nonce` and `wsc:Length` on the `SecurityTokenReference` (WS-SecureConversation 1.4,
    /// 7.4).
    Implied,
}

/// That keys are derived from the key of the token instead of being used as they are
/// (WS-SecurityPolicy 1.3, 5.3: `RequireDerivedKeys`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DerivedKeyPolicy {
    /// Version of the derived key tokens.
    pub version: ConversationVersion,
    /// How messages that we make say it.
    pub form: DerivedKeyForm,
    /// Whether messages that say it in the other form are refused (`RequireExplicitDerivedKeys`,
    /// `RequireImpliedDerivedKeys`).
    pub exclusive: bool,
    /// Bytes of signature keys; of encryption keys, the algorithm says it.
    pub signature_length: usize,
}

/// The label of derivations that name none (WS-SecureConversation 1.4, 7.1): the default of client
/// and service, one behind the other.
pub const DEFAULT_LABEL: &str = "WS-SecureConversationWS-SecureConversation";

/// Shortest derived key that is accepted, bytes: stacks have written 2 and 4 bytes for
/// signatures.
pub(crate) const SHORTEST_KEY: usize = 16;

/// Longest derived key, bytes.
pub(crate) const LONGEST_KEY: usize = 64;

/// Longest nonce of a derivation, bytes.
pub(crate) const LONGEST_NONCE: usize = 128;

/// The key that encrypts with the secret of a context as it is, without derivation: its first
/// bytes, as many as the algorithm wants. The specifications are silent about a secret that is
/// longer; WSS4J and with it CXF do so. Not so with GCM: there they encipher with another algorithm
/// than the one they name, and the secret has to have the right length.
pub(crate) fn encryption_key(
    secret: &SymmetricKey,
    algorithm: DataEncryption,
) -> Result<SymmetricKey, CryptoError> {
    match secret.expose().get(..algorithm.key_length()) {
        Some(first) if first.len() < secret.len() && !algorithm.is_authenticated() => {
            SymmetricKey::from_secret(SecretBytes::copy_of(first))
        }
        _ => Ok(secret.clone()),
    }
}
