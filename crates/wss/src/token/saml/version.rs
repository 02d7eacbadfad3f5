//! The versions of assertions, and the names that each of them has for the same things.

use crate::names::{SAML11, SAML11_ID, SAML11_TOKEN, SAML20, SAML20_ID, SAML20_TOKEN};

/// A version of SAML.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SamlVersion {
    /// SAML 1.1.
    V11,
    /// SAML 2.0.
    V20,
}

impl SamlVersion {
    /// Both, the newer one first.
    pub const ALL: [Self; 2] = [Self::V20, Self::V11];

    /// The namespace of its assertions.
    pub const fn namespace(self) -> &'static str {
        match self {
            Self::V11 => SAML11,
            Self::V20 => SAML20,
        }
    }

    /// The version whose assertions have this namespace.
    pub fn from_namespace(namespace: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|version| version.namespace() == namespace)
    }

    /// The name in configuration files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::V11 => "1.1",
            Self::V20 => "2.0",
        }
    }

    /// The attribute that has the id of an assertion.
    pub const fn id_attribute(self) -> &'static str {
        match self {
            Self::V11 => "AssertionID",
            Self::V20 => "ID",
        }
    }

    /// `wsse11:TokenType` of references, and `wst:TokenType` of requests.
    pub const fn token_type(self) -> &'static str {
        match self {
            Self::V11 => SAML11_TOKEN,
            Self::V20 => SAML20_TOKEN,
        }
    }

    /// The version that a `wst:TokenType` asks for. Some stacks write the namespace.
    pub fn from_token_type(token_type: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|version| [version.token_type(), version.namespace()].contains(&token_type))
    }

    /// `ValueType` of the `wsse:KeyIdentifier`s that name an assertion.
    pub const fn identifier_type(self) -> &'static str {
        match self {
            Self::V11 => SAML11_ID,
            Self::V20 => SAML20_ID,
        }
    }

    /// What the URIs of confirmation methods begin with (SAML Token Profile 1.1.1, 3.5).
    const fn methods(self) -> &'static str {
        match self {
            Self::V11 => "urn:oasis:names:tc:SAML:1.0:cm:",
            Self::V20 => "urn:oasis:names:tc:SAML:2.0:cm:",
        }
    }
}

/// How it is confirmed that a message is of the subject of an assertion (SAML Token Profile 1.1.1,
/// 3.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ConfirmationMethod {
    /// Whoever has the assertion is the subject.
    Bearer,
    /// Whoever has the key that the assertion names is the subject.
    HolderOfKey,
    /// Whoever sends the message says that it is of the subject.
    SenderVouches,
}

impl ConfirmationMethod {
    /// All of them, the strongest one first.
    pub const ALL: [Self; 3] = [Self::HolderOfKey, Self::SenderVouches, Self::Bearer];

    /// The name in configuration files and reports, and the end of its URIs.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bearer => "bearer",
            Self::HolderOfKey => "holder-of-key",
            Self::SenderVouches => "sender-vouches",
        }
    }

    /// Its URI in assertions of a version.
    pub fn uri(self, version: SamlVersion) -> String {
        format!("{}{}", version.methods(), self.name())
    }

    /// The method of a URI; none, if it is not known.
    pub(super) fn from_uri(version: SamlVersion, uri: &str) -> Option<Self> {
        let name = uri.strip_prefix(version.methods())?;
        Self::ALL.into_iter().find(|method| method.name() == name)
    }
}
