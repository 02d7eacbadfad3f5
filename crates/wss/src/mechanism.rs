//! The presets: seven names for common policies, six of them for single messages and one for
//! conversations.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::binding::{
    AsymmetricBinding, Binding, EncryptionToken, KeyReference, Layout, ProtectionOrder,
    SymmetricBinding, SymmetricToken,
};
use crate::conversation::{ConversationVersion, DerivedKeyForm, DerivedKeyPolicy};
use crate::freshness::TimestampPolicy;
use crate::limits::SecurityLimits;
use crate::part::{EncryptedPart, Part};
use crate::policy::{HeaderPolicy, PartsPolicy, Policy};
use crate::suite::Suite;
use crate::supporting::SupportingToken;
use crate::tuning::Tuning;
use crate::username::{PasswordKind, UsernamePolicy};

/// A preset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mechanism {
    /// No security header.
    None,
    /// A `UsernameToken`.
    Username,
    /// Body and Timestamp signed.
    Sign,
    /// The content of the Body encrypted.
    Encrypt,
    /// Signed, then encrypted.
    SignEncrypt,
    /// Encrypted, then signed.
    EncryptSign,
    /// Signed, then encrypted, with keys derived from a security context.
    SecureConversation,
}

impl Mechanism {
    /// All of them, in order of cost.
    pub const ALL: [Self; 7] = [
        Self::None,
        Self::Username,
        Self::Sign,
        Self::Encrypt,
        Self::SignEncrypt,
        Self::EncryptSign,
        Self::SecureConversation,
    ];

    /// Those whose messages stand for themselves: no conversation is needed before them.
    pub const SINGLE: [Self; 6] = [
        Self::None,
        Self::Username,
        Self::Sign,
        Self::Encrypt,
        Self::SignEncrypt,
        Self::EncryptSign,
    ];

    /// The name used in configuration, metrics and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Username => "username",
            Self::Sign => "sign",
            Self::Encrypt => "encrypt",
            Self::SignEncrypt => "sign-encrypt",
            Self::EncryptSign => "encrypt-sign",
            Self::SecureConversation => "secure-conversation",
        }
    }

    /// Whether messages carry a signature.
    pub const fn signs(self) -> bool {
        matches!(
            self,
            Self::Sign | Self::SignEncrypt | Self::EncryptSign | Self::SecureConversation
        )
    }

    /// Whether messages carry encrypted parts.
    pub const fn encrypts(self) -> bool {
        matches!(
            self,
            Self::Encrypt | Self::SignEncrypt | Self::EncryptSign | Self::SecureConversation
        )
    }

    /// The policy of this preset with the algorithms of `suite`: certificates as keys, or keys
    /// derived from a security context, Body and Timestamp signed, the content of the Body
    /// encrypted. A Timestamp is demanded where it can be signed, and checked if present elsewhere.
    pub fn policy(self, suite: Suite) -> Policy {
        let freshness = TimestampPolicy::default();
        let derived_keys = DerivedKeyPolicy {
            version: ConversationVersion::V13,
            form: DerivedKeyForm::Explicit,
            exclusive: false,
            signature_length: suite.derived_signature_length(),
        };
        let order = match self {
            Self::EncryptSign => ProtectionOrder::EncryptBeforeSigning,
            _ => ProtectionOrder::SignBeforeEncrypting,
        };
        let encryption = EncryptionToken::wrapped(KeyReference::IssuerSerial);
        let username = (self == Self::Username)
            .then(|| UsernamePolicy::with_passwords(vec![PasswordKind::Digest]));
        Policy {
            suite,
            header: HeaderPolicy {
                actor: None,
                intermediary: None,
                must_understand: true,
                layout: Layout::Lax,
                order: Vec::new(),
                timestamp: (self != Self::None).then_some(TimestampPolicy {
                    required: self.signs(),
                    ..freshness
                }),
                signature_confirmation: false,
                ignored: Vec::new(),
            },
            binding: match self {
                Self::None | Self::Username => Binding::None,
                Self::SecureConversation => Binding::Symmetric(SymmetricBinding {
                    key: SymmetricToken::Context { carried: true },
                    derived_keys: Some(derived_keys),
                    order,
                }),
                _ => Binding::Asymmetric(AsymmetricBinding {
                    signature: self.signs().then_some(KeyReference::Direct),
                    encryption: self.encrypts().then_some(encryption),
                    order,
                }),
            },
            supporting: username
                .map(SupportingToken::Username)
                .into_iter()
                .collect(),
            same_endorser: false,
            parts: PartsPolicy {
                signed: match self.signs() {
                    true => vec![Part::Body, Part::Timestamp],
                    false => Vec::new(),
                },
                encrypted: match self.encrypts() {
                    true => vec![EncryptedPart::customary(Part::Body)],
                    false => Vec::new(),
                },
                ..PartsPolicy::default()
            },
            refuse_own_signatures: false,
            retirements: Vec::new(),
            limits: SecurityLimits::default(),
            tuning: Tuning::default(),
        }
    }
}

impl Policy {
    /// Sets the freshness of Timestamps and of `UsernameToken`s alike.
    pub fn set_freshness(&mut self, ttl: Duration, skew: Duration) {
        if let Some(timestamp) = &mut self.header.timestamp {
            timestamp.ttl = ttl;
            timestamp.skew = skew;
        }
        if let Some(username) = self.username_mut() {
            username.ttl = ttl;
            username.skew = skew;
        }
    }
}

impl fmt::Display for Mechanism {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// A text that names no mechanism.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownMechanism {
    /// What was found.
    pub found: String,
}

impl fmt::Display for UnknownMechanism {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("expected one of ")?;
        for (position, mechanism) in Mechanism::ALL.iter().enumerate() {
            write!(
                out,
                "{}`{mechanism}`",
                if position == 0 { "" } else { ", " }
            )?;
        }
        write!(out, ", found `{}`", self.found)
    }
}

impl std::error::Error for UnknownMechanism {}

impl FromStr for Mechanism {
    type Err = UnknownMechanism;

    fn from_str(text: &str) -> Result<Self, UnknownMechanism> {
        Self::ALL
            .into_iter()
            .find(|mechanism| mechanism.name() == text)
            .ok_or_else(|| UnknownMechanism {
                found: text.to_owned(),
            })
    }
}
