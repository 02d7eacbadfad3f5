//! The presets: seven names for common policies, six of them for single messages and one for
//! conversations.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::binding::{KeyBinding, KeyReference, Layout, ProtectionOrder, Recipient};
use crate::conversation::{ConversationVersion, DerivedKeyForm, DerivedKeyPolicy};
use crate::freshness::TimestampPolicy;
use crate::limits::SecurityLimits;
use crate::part::{EncryptedPart, Part};
use crate::policy::{EncryptionPolicy, Policy, SignaturePolicy};
use crate::suite::Suite;
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
        let (key, signing_reference, encrypting_reference) = if self == Self::SecureConversation {
            (
                KeyBinding::Context,
                KeyReference::Direct,
                KeyReference::Direct,
            )
        } else {
            (
                KeyBinding::Certificate,
                KeyReference::Direct,
                KeyReference::IssuerSerial,
            )
        };
        let derived_keys = (self == Self::SecureConversation).then(|| DerivedKeyPolicy {
            version: ConversationVersion::V13,
            form: DerivedKeyForm::Explicit,
            exclusive: false,
            signature_length: suite.derived_signature_length(),
        });
        Policy {
            suite,
            timestamp: (self != Self::None).then_some(TimestampPolicy {
                required: self.signs(),
                ..freshness
            }),
            username: (self == Self::Username).then(|| UsernamePolicy {
                passwords: vec![PasswordKind::Digest],
                ttl: freshness.ttl,
                skew: freshness.skew,
            }),
            signature: self.signs().then(|| SignaturePolicy {
                parts: vec![Part::Body, Part::Timestamp],
                key,
                reference: signing_reference,
            }),
            encryption: self.encrypts().then(|| EncryptionPolicy {
                parts: vec![EncryptedPart::customary(Part::Body)],
                key,
                reference: encrypting_reference,
                recipient: Recipient::Peer,
            }),
            order: if self == Self::EncryptSign {
                ProtectionOrder::EncryptBeforeSigning
            } else {
                ProtectionOrder::SignBeforeEncrypting
            },
            actor: None,
            must_understand: true,
            refuse_own_signatures: false,
            retirements: Vec::new(),
            derived_keys,
            endorsing: Vec::new(),
            same_endorser: false,
            include_certificate: false,
            signature_confirmation: false,
            required: Vec::new(),
            only_entire_headers_and_body: false,
            transport_protected: false,
            layout: Layout::Lax,
            limits: SecurityLimits::default(),
            tuning: Tuning::default(),
        }
    }
}

impl Policy {
    /// Sets the freshness of Timestamps and of `UsernameToken`s alike.
    pub fn set_freshness(&mut self, ttl: Duration, skew: Duration) {
        if let Some(timestamp) = &mut self.timestamp {
            timestamp.ttl = ttl;
            timestamp.skew = skew;
        }
        if let Some(username) = &mut self.username {
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
