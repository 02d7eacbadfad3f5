//! What an assertion says of its subject: the name, and attributes.
//!
//! The one rule: these are data alone. Whoever holds them knows nothing of how they were proven.

/// The identifier of a subject.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct NameIdentifier {
    /// The identifier.
    pub value: String,
    /// What kind of identifier it is.
    pub format: Option<String>,
    /// The domain that it is unique in (`NameQualifier`).
    pub qualifier: Option<String>,
    /// The service for which alone the subject has this identifier (`SPNameQualifier`).
    pub service_qualifier: Option<String>,
}

/// `Format` of names that an issuer gives for a login, and then perhaps to another subject (SAML
/// Core 2.0, 8.3.8).
pub const TRANSIENT_NAMES: &str = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient";

impl NameIdentifier {
    /// Whether the name means the same subject with the next login.
    #[must_use]
    pub fn is_lasting(&self) -> bool {
        self.format.as_deref() != Some(TRANSIENT_NAMES)
    }

    /// The domain of the identifier: that of its `issuer`, where it names no other one.
    #[must_use]
    pub fn domain<'n>(&'n self, issuer: &'n str) -> &'n str {
        self.other_domain(issuer).unwrap_or(issuer)
    }

    /// The domain of the identifier, where it is another one than that of its `issuer`.
    #[must_use]
    pub fn other_domain(&self, issuer: &str) -> Option<&str> {
        self.qualifier.as_deref().filter(|domain| *domain != issuer)
    }
}

/// An attribute of a subject.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AssertionAttribute {
    /// Its name.
    pub name: String,
    /// `NameFormat`, or the `AttributeNamespace` of SAML 1.1.
    pub format: Option<String>,
    /// Its values, as far as they are text. A value that holds elements is in the assertion alone.
    pub values: Vec<String>,
}

impl AssertionAttribute {
    /// An attribute with these values.
    #[must_use]
    pub const fn new(name: String, format: Option<String>, values: Vec<String>) -> Self {
        Self {
            name,
            format,
            values,
        }
    }
}
