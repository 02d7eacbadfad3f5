//! What an operator says about trust.
//!
//! The one rule: the defaults trust nobody, and every weaker choice is a field.

use super::revocation_rules::RevocationRules;
use crate::certificate::{Certificate, KeyPurpose};
use crate::name::DistinguishedName;

/// What a [`TrustStore`](super::TrustStore) is made from. Start from [`TrustRules::default`], which
/// trusts nobody.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct TrustRules {
    /// Authorities: a path to one of them is enough. A certificate that is one of them itself is
    /// trusted too, so that the self-signed certificate of a peer can stand here.
    pub anchors: Vec<Certificate>,
    /// Certificates that are trusted by themselves, without any path.
    pub pinned: Vec<Certificate>,
    /// More certificates to build paths from, not trusted by themselves.
    pub intermediates: Vec<Certificate>,
    /// Who may sign, such as `CN=client,O=Acme`: a subject must match one of these. Empty: anybody
    /// who is trusted.
    pub subjects: Vec<String>,
    /// When a subject matches one of `subjects`.
    pub subject_match: SubjectMatch,
    /// Purposes one of which a certificate must name as an extended key usage. Empty: none is
    /// asked for, and only a critical extension must allow the signing of messages (see
    /// [`KeyPurpose::covers_messages`]).
    pub extended_key_usage: Vec<KeyPurpose>,
    /// Revocation lists, PEM or DER. A certificate whose issuer has none among them is refused,
    /// unless this is empty.
    pub revocation_lists: Vec<Vec<u8>>,
    /// Whom to ask about revocation beside these lists; nobody where there is nothing.
    pub revocation: Option<RevocationRules>,
    /// Fewest bits of an RSA or DSA key, in the certificate and everywhere on its path.
    pub min_rsa_bits: u32,
    /// Whether certificates may be signed with SHA-1.
    pub allow_sha1_certificates: bool,
    /// Whether end entities of version 1 and end entities that claim to be authorities are taken,
    /// and signatures with MD5 and DSA. Paths are then built by OpenSSL, which knows how,
    /// instead of the stricter validator.
    pub allow_legacy_certificates: bool,
    /// Whether a certificate that restricts the usage of its key, or the purposes by a critical
    /// extension, must allow signatures.
    pub require_key_usage: bool,
    /// Whether times do not matter. For examining old documents by hand.
    pub ignore_validity: bool,
}

impl Default for TrustRules {
    fn default() -> Self {
        Self {
            anchors: Vec::new(),
            pinned: Vec::new(),
            intermediates: Vec::new(),
            subjects: Vec::new(),
            subject_match: SubjectMatch::default(),
            extended_key_usage: Vec::new(),
            revocation_lists: Vec::new(),
            revocation: None,
            min_rsa_bits: 2048,
            allow_sha1_certificates: false,
            allow_legacy_certificates: false,
            require_key_usage: true,
            ignore_validity: false,
        }
    }
}

/// When a subject is the one that is expected.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SubjectMatch {
    /// It is the same name: the same attributes in the same order, or in the opposite one.
    #[default]
    Whole,
    /// It has all attributes that are named, and of their types no others: `CN=client` matches
    /// `CN=client,O=Acme`, and neither `CN=evil,CN=client` nor `CN=evil+CN=client`.
    Contains,
}

impl SubjectMatch {
    pub(super) fn accepts(self, subject: &DistinguishedName, expected: &DistinguishedName) -> bool {
        match self {
            Self::Whole => subject.matches(expected),
            Self::Contains => subject.contains(expected),
        }
    }
}
