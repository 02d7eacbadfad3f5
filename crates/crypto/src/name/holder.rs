//! Holders of certificates, as files name them: a subject alone, or a subject of one issuer.
//!
//! The rule kept here: a subject is somebody's with its issuer alone. Names are compared by what
//! they mean, never as text.

use super::DistinguishedName;
use super::parse::malformed;
use crate::certificate::Certificate;
use crate::error::CryptoError;

/// Between subject and issuer.
const OF: &str = " of ";

/// `CN=p1`, or `CN=p1 of CN=authority`.
#[derive(Clone, Debug)]
pub struct HolderName {
    subject: DistinguishedName,
    issuer: Option<DistinguishedName>,
}

impl HolderName {
    /// The holder of certificates with this subject, of this issuer or of any.
    #[must_use]
    pub fn new(subject: DistinguishedName, issuer: Option<DistinguishedName>) -> Self {
        Self { subject, issuer }
    }

    /// Reads a subject, or a subject and an issuer with ` of ` between them.
    ///
    /// # Errors
    ///
    /// [`CryptoError::Malformed`] if the text, or either of its halves, is the name of nobody.
    pub fn parse(text: &str) -> Result<Self, CryptoError> {
        let (subject, issuer) = Self::split(text);
        let nobody = || malformed("the name of nobody".to_owned());
        let read = |text: &str| {
            let name = DistinguishedName::parse(text)?;
            (!name.is_empty()).then_some(name).ok_or_else(nobody)
        };
        Ok(Self {
            subject: read(subject)?,
            issuer: issuer.map(read).transpose()?,
        })
    }

    /// The texts of subject and issuer. Without two names around an ` of ` the whole text is the
    /// subject: a name may have the word in it, as `CN=Bank of Books` has.
    #[must_use]
    pub fn split(text: &str) -> (&str, Option<&str>) {
        let is_name = |text| DistinguishedName::parse(text).is_ok_and(|it| !it.is_empty());
        let mut parts = text.match_indices(OF).map(|(at, _)| {
            let (subject, rest) = text.split_at(at);
            (subject, &rest[OF.len()..])
        });
        let named = parts.find(|(subject, issuer)| is_name(subject) && is_name(issuer));
        named.map_or((text, None), |(subject, issuer)| (subject, Some(issuer)))
    }

    /// Whether the text of a name has ` of ` outside of quotes: people read it as a subject and its
    /// issuer. `CN="Bank of Books"` and `CN=Bank\ of Books` are one name to everybody.
    #[must_use]
    pub fn reads_as_two(name: &str) -> bool {
        let (mut is_quoted, mut is_escaped) = (false, false);
        for (at, character) in name.char_indices() {
            if !is_quoted && !is_escaped && name[at..].starts_with(OF) {
                return true;
            }
            is_quoted ^= character == '"' && !is_escaped;
            is_escaped = character == '\\' && !is_escaped;
        }
        false
    }

    /// Whether the text of a holder has a half [that reads as two](Self::reads_as_two): an issuer
    /// that is no name, perhaps.
    #[must_use]
    pub fn has_half_a_name(text: &str) -> bool {
        let (subject, issuer) = Self::split(text);
        std::iter::once(subject)
            .chain(issuer)
            .any(Self::reads_as_two)
    }

    /// The subject.
    #[must_use]
    pub fn subject(&self) -> &DistinguishedName {
        &self.subject
    }

    /// Whose subject it is, where that is said.
    #[must_use]
    pub fn issuer(&self) -> Option<&DistinguishedName> {
        self.issuer.as_ref()
    }

    /// Whether it says whose subject it is.
    #[must_use]
    pub fn has_issuer(&self) -> bool {
        self.issuer.is_some()
    }

    /// Whether a certificate with this subject and this issuer is one of the holder. Where nobody
    /// knows the issuer, it is none of a holder that is named with one.
    #[must_use]
    pub fn is(&self, subject: &DistinguishedName, issuer: Option<&DistinguishedName>) -> bool {
        let is_issuer = |own: &DistinguishedName| issuer.is_some_and(|it| own.matches(it));
        self.subject.matches(subject) && self.issuer.as_ref().is_none_or(is_issuer)
    }

    /// Whether a certificate is one of the holder.
    #[must_use]
    pub fn has(&self, certificate: &Certificate) -> bool {
        self.is(certificate.subject_name(), Some(certificate.issuer_name()))
    }
}
