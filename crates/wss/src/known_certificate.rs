//! What is kept of a certificate that a trust store knew, where the certificate itself is not.
//!
//! The rule kept here: whether it is still known is asked of the rules of today.

use soapstone_crypto::{Certificate, DistinguishedName, TrustStore};

/// What is kept of a certificate that a trust store knew.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownCertificate {
    /// Its SHA-256.
    pub thumbprint: [u8; 32],
    /// SHA-256 of the certificate of the rules that vouched for it: its own where it was pinned,
    /// otherwise that of the authority at the end of its path.
    pub root: [u8; 32],
    /// Its subject, as RFC 2253 writes it.
    pub subject: String,
    /// Its issuer, written as the subject is.
    pub issuer: String,
}

impl KnownCertificate {
    /// That with this root, which [`TrustStore::root_of`] told.
    #[must_use]
    pub fn new(certificate: &Certificate, root: [u8; 32]) -> Self {
        Self {
            thumbprint: certificate.thumbprint_sha256(),
            root,
            subject: certificate.subject().to_owned(),
            issuer: certificate.issuer().to_owned(),
        }
    }

    /// The subject, for comparison. `None` for what is no name.
    #[must_use]
    pub fn name(&self) -> Option<DistinguishedName> {
        DistinguishedName::parse(&self.subject).ok()
    }

    /// The issuer, for comparison. `None` for what is no name.
    #[must_use]
    pub fn issuer_name(&self) -> Option<DistinguishedName> {
        DistinguishedName::parse(&self.issuer).ok()
    }

    /// Whether a trust store may still know it: neither the certificate nor its authority was taken
    /// out of the rules, and its subject is allowed.
    #[must_use]
    pub fn may_be_known_to(&self, trust: &TrustStore) -> bool {
        let name = self.name();
        name.is_some_and(|name| trust.may_know(&name, &self.thumbprint, &self.root))
    }
}
