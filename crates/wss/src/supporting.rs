//! Tokens beside those of the binding (WS-SecurityPolicy 1.3, 8).

use crate::binding::{KeyBinding, KeyReference, context_reference};
use crate::conversation::DerivedKeyPolicy;
use crate::kerberos::KerberosPolicy;
use crate::part::Part;
use crate::token::AssertionPolicy;
use crate::username::{PasswordKeyPolicy, UsernamePolicy};

/// A token beside those of the binding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SupportingToken {
    /// A `wsse:UsernameToken`. Whether it is signed or encrypted, the parts of the policy say.
    Username(UsernamePolicy),
    /// A token whose key endorses the message.
    Endorsing(EndorsingToken),
    /// A SAML assertion about the sender. Whether it is signed or encrypted with the message, the
    /// parts of the policy say.
    Assertion(AssertionPolicy),
    /// A Kerberos token about the sender, whose key does nothing.
    Kerberos(KerberosPolicy),
}

impl SupportingToken {
    /// The demands of a `wsse:UsernameToken`, if it is one.
    pub const fn username(&self) -> Option<&UsernamePolicy> {
        match self {
            Self::Username(username) => Some(username),
            Self::Endorsing(_) | Self::Assertion(_) | Self::Kerberos(_) => None,
        }
    }

    /// What is accepted of assertions, if it is one.
    pub const fn assertion(&self) -> Option<&AssertionPolicy> {
        match self {
            Self::Assertion(assertion) => Some(assertion),
            Self::Username(_) | Self::Endorsing(_) | Self::Kerberos(_) => None,
        }
    }
}

/// A token whose key signs the message's own signature (WS-SecurityPolicy 1.3, 8.3:
/// `EndorsingSupportingTokens`), or the Timestamp where the connection protects the message.
///
/// Where there are several, one signature meets one of these demands, and one key does, unless the
/// policy's [`same_endorser`](crate::Policy::same_endorser) says otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EndorsingToken {
    /// The key.
    pub key: EndorsingKey,
    /// What it signs beside the message's signature, or the Timestamp (8.3: `SignedParts` and
    /// `SignedElements` inside of the assertion): parts of the message itself, all of them,
    /// whenever they are in it.
    pub parts: Vec<Part>,
    /// Whether its signature covers the token itself, where the message has it
    /// (WS-SecurityPolicy 1.3, 8.9: `ProtectTokens`). It cannot cover one inside of the
    /// reference to it.
    pub covers_token: bool,
    /// Whether the message's signature covers the token, where the message has it (8.4:
    /// `SignedEndorsingSupportingTokens`). A connection that protects the message protects the
    /// token.
    pub signed: bool,
    /// Whether the token is encrypted with the key of the binding, where the message has it (8.7:
    /// `EndorsingEncryptedSupportingTokens`). A connection that protects the message protects the
    /// token.
    pub encrypted: bool,
}

/// The key of a token that endorses, and how messages that we make name it. Inbound, every kind of
/// reference is understood; but where the message's signature is to cover the token and messages
/// carry it, a message that only names it is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EndorsingKey {
    /// The private key of a certificate.
    Certificate(KeyReference),
    /// The key of a security context.
    Context {
        /// Whether messages carry its token, instead of naming it.
        carried: bool,
        /// Whether the key that signs is derived from that of the context, instead of being it.
        derived_keys: Option<DerivedKeyPolicy>,
    },
    /// The session key of a Kerberos token.
    Kerberos {
        /// The token.
        token: KerberosPolicy,
        /// Whether the key that signs is derived from that of the session.
        derived_keys: Option<DerivedKeyPolicy>,
    },
    /// The proof key of the assertion that messages have: its holder endorses.
    Assertion {
        /// Whether messages name the assertion by a reference to its place in them, instead of by
        /// its id.
        by_place: bool,
        /// Whether the key that signs is derived from the proof key.
        derived_keys: Option<DerivedKeyPolicy>,
    },
    /// A key that is derived from the password of a user. Messages carry its token.
    Password {
        /// How it is derived.
        keys: PasswordKeyPolicy,
        /// As with a context.
        derived_keys: Option<DerivedKeyPolicy>,
    },
}

impl EndorsingToken {
    /// A token of which nothing is demanded but its signature.
    pub const fn by(key: EndorsingKey) -> Self {
        Self {
            key,
            parts: Vec::new(),
            covers_token: false,
            signed: false,
            encrypted: false,
        }
    }

    /// A certificate of which nothing is demanded but its signature.
    pub const fn by_certificate(reference: KeyReference) -> Self {
        Self::by(EndorsingKey::Certificate(reference))
    }

    /// A security context of which nothing is demanded but its signature.
    pub const fn by_context(carried: bool, derived_keys: Option<DerivedKeyPolicy>) -> Self {
        Self::by(EndorsingKey::Context {
            carried,
            derived_keys,
        })
    }
}

impl EndorsingKey {
    /// The kind of the key.
    pub const fn kind(&self) -> KeyBinding {
        match self {
            Self::Certificate(_) => KeyBinding::Certificate,
            Self::Context { .. } => KeyBinding::Context,
            Self::Kerberos { .. } => KeyBinding::Kerberos,
            Self::Assertion { .. } => KeyBinding::Assertion,
            Self::Password { .. } => KeyBinding::Password,
        }
    }

    /// Whether it is a symmetric key.
    pub const fn is_secret(&self) -> bool {
        !matches!(self, Self::Certificate(_))
    }

    /// How messages name it.
    pub const fn reference(&self) -> KeyReference {
        match self {
            Self::Certificate(reference) => *reference,
            Self::Context { carried, .. } => context_reference(*carried),
            Self::Kerberos { token, .. } => context_reference(token.carried),
            Self::Assertion { by_place, .. } => context_reference(*by_place),
            Self::Password { .. } => KeyReference::Direct,
        }
    }

    /// How keys are derived from it.
    pub const fn derived_keys(&self) -> Option<DerivedKeyPolicy> {
        match self {
            Self::Certificate(_) => None,
            Self::Context { derived_keys, .. }
            | Self::Kerberos { derived_keys, .. }
            | Self::Assertion { derived_keys, .. }
            | Self::Password { derived_keys, .. } => *derived_keys,
        }
    }
}
