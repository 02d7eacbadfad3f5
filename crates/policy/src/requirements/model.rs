//! The types of what one alternative demands.
//!
//! They are in one file since they hold each other: a token may say in its bootstrap policy how
//! the messages are protected that make it. Each kind of assertion is read in a file of its own.

use std::sync::Arc;

use soapstone_wss::{ConversationVersion, KerberosForm, Layout, ProtectionOrder, SamlVersion};

use super::issued::IssuedToken;
use super::options::{Trust, Wss};
use super::parts::{ElementsDemand, PartsDemand};
use super::suite::AlgorithmSuite;
use crate::alternative::Assertion;
use crate::names::{Name, SecurityPolicyVersion};
use crate::node::Place;
use crate::notice::Notice;

/// What one alternative demands.
#[derive(Clone, Debug, Default)]
pub struct Requirements {
    /// How messages are protected.
    pub binding: Option<Binding>,
    /// Tokens beside those of the binding.
    pub supporting: Vec<SupportingTokens>,
    /// `sp:SignedParts`.
    pub signed_parts: Vec<PartsDemand>,
    /// `sp:EncryptedParts`.
    pub encrypted_parts: Vec<PartsDemand>,
    /// `sp:RequiredParts`.
    pub required_parts: Vec<PartsDemand>,
    /// `sp:SignedElements`.
    pub signed_elements: Vec<ElementsDemand>,
    /// `sp:EncryptedElements`.
    pub encrypted_elements: Vec<ElementsDemand>,
    /// `sp:ContentEncryptedElements`.
    pub content_encrypted_elements: Vec<ElementsDemand>,
    /// `sp:RequiredElements`.
    pub required_elements: Vec<ElementsDemand>,
    /// `sp:Wss10` or `sp:Wss11`.
    pub wss: Option<Wss>,
    /// `sp:Trust10` or `sp:Trust13`.
    pub trust: Option<Trust>,
    /// Messages carry WS-Addressing headers.
    pub addressing: bool,
    /// Those headers are of August 2004, as no assertion asks for those of 1.0.
    pub addressing_2004: bool,
    /// A user and a password of HTTP are demanded beside a transport binding, as Microsoft writes
    /// it.
    pub http_basic: Option<(Name, Place)>,
    /// Assertions that say nothing about messages: ignorable ones, and the configuration of other
    /// stacks.
    pub passed_over: Vec<(Name, Place)>,
    /// What is to be known of assertions that are obeyed.
    pub notices: Vec<Notice>,
}

impl Requirements {
    /// Whether nothing is demanded at all.
    pub fn is_empty(&self) -> bool {
        self.binding.is_none()
            && self.supporting.is_empty()
            && self.wss.is_none()
            && self.trust.is_none()
            && !self.addressing
            && self.protections().all(|(list, _)| list.is_empty())
            && self.element_lists().all(|(list, _)| list.is_empty())
    }

    /// Whether something in the binding is among the problems.
    pub(crate) fn is_incomplete(&self) -> bool {
        let binding = self.binding.as_ref();
        binding.is_some_and(|binding| binding.properties().incomplete)
    }

    /// The lists of parts with the names of their assertions.
    pub(crate) fn protections(&self) -> impl Iterator<Item = (&Vec<PartsDemand>, &'static str)> {
        [
            (&self.signed_parts, "SignedParts"),
            (&self.encrypted_parts, "EncryptedParts"),
            (&self.required_parts, "RequiredParts"),
        ]
        .into_iter()
    }

    /// The lists of elements with the names of their assertions.
    pub(crate) fn element_lists(
        &self,
    ) -> impl Iterator<Item = (&Vec<ElementsDemand>, &'static str)> {
        [
            (&self.signed_elements, "SignedElements"),
            (&self.encrypted_elements, "EncryptedElements"),
            (&self.content_encrypted_elements, "ContentEncryptedElements"),
            (&self.required_elements, "RequiredElements"),
        ]
        .into_iter()
    }
}

/// How messages are protected.
#[derive(Clone, Debug)]
pub enum Binding {
    /// By the connection they travel on (7.3).
    Transport(TransportBinding),
    /// By one key for both directions (7.4).
    Symmetric(SymmetricBinding),
    /// By the keys of certificates (7.5).
    Asymmetric(Box<AsymmetricBinding>),
}

/// `sp:TransportBinding`.
#[derive(Clone, Debug)]
pub struct TransportBinding {
    /// `sp:TransportToken`.
    pub token: Option<Token>,
    /// Everything else.
    pub properties: BindingProperties,
}

/// `sp:SymmetricBinding`.
#[derive(Clone, Debug)]
pub struct SymmetricBinding {
    /// `sp:ProtectionToken` or `sp:EncryptionToken`.
    pub encryption: Option<Token>,
    /// `sp:ProtectionToken` or `sp:SignatureToken`.
    pub signature: Option<Token>,
    /// Everything else.
    pub properties: BindingProperties,
}

/// `sp:AsymmetricBinding`.
#[derive(Clone, Debug)]
pub struct AsymmetricBinding {
    /// `sp:InitiatorToken` or `sp:InitiatorSignatureToken`: signs requests.
    pub initiator_signature: Option<Token>,
    /// `sp:InitiatorToken` or `sp:InitiatorEncryptionToken`: responses are encrypted for it.
    pub initiator_encryption: Option<Token>,
    /// `sp:RecipientToken` or `sp:RecipientSignatureToken`: signs responses.
    pub recipient_signature: Option<Token>,
    /// `sp:RecipientToken` or `sp:RecipientEncryptionToken`: requests are encrypted for it.
    pub recipient_encryption: Option<Token>,
    /// Everything else.
    pub properties: BindingProperties,
}

/// What all bindings have.
#[derive(Clone, Debug)]
pub struct BindingProperties {
    /// The binding's name.
    pub name: Name,
    /// Where it stands.
    pub place: Place,
    /// `sp:AlgorithmSuite`.
    pub suite: Option<AlgorithmSuite>,
    /// `sp:Layout`; lax if nothing is said (6.7).
    pub layout: Layout,
    /// `sp:IncludeTimestamp`.
    pub include_timestamp: bool,
    /// `sp:EncryptBeforeSigning`; otherwise signatures come first (6.3).
    pub order: ProtectionOrder,
    /// `sp:EncryptSignature`.
    pub encrypt_signature: bool,
    /// `sp:ProtectTokens`.
    pub protect_tokens: bool,
    /// `sp:OnlySignEntireHeadersAndBody`.
    pub only_entire_headers_and_body: bool,
    /// Something in it is among the problems: what seems to be missing may be that.
    pub(crate) incomplete: bool,
    /// Assertions in it that belong beside it.
    pub(super) misplaced: Vec<Arc<Assertion>>,
    /// A text that two bindings share if they say the same.
    pub(super) canonical: String,
}

impl BindingProperties {
    /// The Body as a part, on behalf of the binding.
    pub(crate) fn body(&self) -> PartsDemand {
        PartsDemand {
            body: true,
            headers: Vec::new(),
            name: self.name.clone(),
            place: self.place.clone(),
            everything: false,
        }
    }
}

impl Binding {
    /// What all bindings have.
    pub fn properties(&self) -> &BindingProperties {
        match self {
            Self::Transport(binding) => &binding.properties,
            Self::Symmetric(binding) => &binding.properties,
            Self::Asymmetric(binding) => &binding.properties,
        }
    }

    /// A text that two bindings share if they say the same.
    pub(crate) fn canonical(&self) -> &str {
        &self.properties().canonical
    }
}

/// A token assertion.
#[derive(Clone, Debug)]
pub struct Token {
    /// Which kind of token.
    pub kind: TokenKind,
    /// In which messages it is (5.1).
    pub inclusion: Inclusion,
    /// Whether keys are derived from it (5.3).
    pub derived_keys: Option<DerivedKeyDemand>,
    /// How messages must name it.
    pub references: Vec<ReferenceDemand>,
    /// Whether it must have particular claims or a particular issuer, which are not checked here.
    pub issuer: Option<Place>,
    /// The assertion.
    pub name: Name,
    /// Its version.
    pub version: SecurityPolicyVersion,
    /// Where it stands.
    pub place: Place,
}

/// Kinds of tokens.
#[derive(Clone, Debug)]
pub enum TokenKind {
    /// `sp:UsernameToken` (5.4.1).
    Username {
        /// Which password it has.
        password: PasswordDemand,
        /// `sp13:Created`: there is a creation time, whatever the password.
        created: bool,
        /// `sp13:Nonce`: there is a nonce, whatever the password.
        nonce: bool,
    },
    /// `sp:X509Token` (5.4.3), with the name of the token type demanded.
    X509 {
        /// Such as `WssX509V3Token10`.
        form: Option<String>,
    },
    /// `sp:SecureConversationToken` (5.4.7).
    SecureConversation {
        /// Version of the token.
        version: ConversationVersion,
        /// `sp:BootstrapPolicy`: how the messages that make and end the conversation are
        /// protected.
        bootstrap: Option<Box<Requirements>>,
        /// `sp:MustNotSendCancel`.
        must_not_cancel: bool,
        /// `sp:MustNotSendAmend`.
        must_not_amend: bool,
        /// `sp:MustNotSendRenew`.
        must_not_renew: bool,
    },
    /// `sp:SecurityContextToken` (5.4.6): a context that both sides have already.
    SecurityContext {
        /// Version of the token.
        version: ConversationVersion,
    },
    /// `sp:HttpsToken` (5.4.10).
    Https {
        /// `sp:RequireClientCertificate`.
        client_certificate: bool,
        /// `sp:HttpBasicAuthentication` or `sp:HttpDigestAuthentication`, with its place.
        authentication: Option<(Name, Place)>,
    },
    /// `sp:SamlToken` (5.4.8).
    Saml {
        /// The versions that are named; none, where any will do.
        versions: Vec<SamlVersion>,
    },
    /// `sp:IssuedToken` (5.4.2).
    Issued(Box<IssuedToken>),
    /// `sp:KerberosToken` (5.4.4).
    Kerberos {
        /// The form that is named.
        form: Option<KerberosForm>,
    },
    /// `sp:KeyValueToken` (5.4.11): a key that is written out in the references to it.
    KeyValue {
        /// Whether it has to be an RSA key.
        rsa: bool,
    },
    /// A kind that is read and not supported: Rel, SpnegoContext.
    Other,
}

impl TokenKind {
    /// Whether it is a certificate, or the key of one that the endpoint knows.
    pub(crate) fn is_certificate(&self) -> bool {
        matches!(self, Self::X509 { .. } | Self::KeyValue { .. })
    }

    /// Whether it is an assertion of SAML, wherever that comes from.
    pub(crate) fn is_assertion(&self) -> bool {
        matches!(self, Self::Saml { .. } | Self::Issued(_))
    }

    /// Whether it is a security context, however that comes about.
    pub(crate) fn is_context(&self) -> bool {
        matches!(
            self,
            Self::SecureConversation { .. } | Self::SecurityContext { .. }
        )
    }
}

/// Which password a `UsernameToken` has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PasswordDemand {
    /// The password itself.
    Text,
    /// `sp:HashPassword`.
    Hash,
    /// `sp:NoPassword`.
    None,
}

/// In which messages a token is (WS-SecurityPolicy 1.3, 5.1.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inclusion {
    /// In none: messages name it.
    Never,
    /// In the first message to the recipient.
    Once,
    /// In requests.
    AlwaysToRecipient,
    /// In responses.
    AlwaysToInitiator,
    /// In all.
    Always,
}

impl Inclusion {
    /// Whether requests carry the token.
    pub fn in_requests(self) -> bool {
        matches!(self, Self::Once | Self::AlwaysToRecipient | Self::Always)
    }

    /// Whether responses carry the token.
    pub fn in_responses(self) -> bool {
        matches!(self, Self::AlwaysToInitiator | Self::Always)
    }
}

/// Whether each derived key has a token of its own (WS-SecurityPolicy 1.3, 5.3.4 to 5.3.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DerivedKeyDemand {
    /// `sp:RequireDerivedKeys`: as the sender likes.
    Either,
    /// `sp:RequireExplicitDerivedKeys`.
    Explicit,
    /// `sp:RequireImpliedDerivedKeys`.
    Implied,
}

/// A way in which a token must be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceDemand {
    /// `sp:RequireKeyIdentifierReference`.
    KeyIdentifier,
    /// `sp:RequireIssuerSerialReference`.
    IssuerSerial,
    /// `sp:RequireEmbeddedTokenReference`.
    Embedded,
    /// `sp:RequireThumbprintReference`.
    Thumbprint,
    /// `sp:RequireExternalUriReference`, `sp:RequireExternalReference`.
    External,
    /// `sp:RequireInternalReference`.
    Internal,
}

/// What is done to supporting tokens, and what they do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SupportingKind {
    /// The message's signature covers them.
    pub signed: bool,
    /// They are encrypted.
    pub encrypted: bool,
    /// They sign the message's signature, or the Timestamp where there is none.
    pub endorsing: bool,
}

impl SupportingKind {
    /// The kind that an assertion of this name means.
    pub fn named(local: &str) -> Option<Self> {
        let mut rest = local.strip_suffix("SupportingTokens")?;
        let mut has = |prefix: &str| match rest.strip_prefix(prefix) {
            Some(behind) => {
                rest = behind;
                true
            }
            None => false,
        };
        let kind = Self {
            signed: has("Signed"),
            endorsing: has("Endorsing"),
            encrypted: has("Encrypted"),
        };
        rest.is_empty().then_some(kind)
    }
}

/// One assertion of supporting tokens.
#[derive(Clone, Debug)]
pub struct SupportingTokens {
    /// Which kind.
    pub kind: SupportingKind,
    /// The tokens.
    pub tokens: Vec<Token>,
    /// A suite for the signatures of the tokens alone.
    pub suite: Option<AlgorithmSuite>,
    /// Parts that the tokens sign in particular.
    pub signed_parts: Vec<PartsDemand>,
    /// Elements that the tokens sign in particular.
    pub signed_elements: Vec<ElementsDemand>,
    /// The assertion.
    pub name: Name,
    /// Where it stands.
    pub place: Place,
}
