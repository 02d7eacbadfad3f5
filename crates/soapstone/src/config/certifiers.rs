//! Who may have issued the certificate of a subject, as a `[trust]` table has it.
//!
//! The rule kept here: an authority may certify every subject. A certificate that the table has by
//! itself is of its own subject alone.

use soapstone_crypto::{Certificate, DistinguishedName, HolderName};

use super::document::LoadedFile;
use super::trust::TrustConfig;

/// Whoever may have issued certificates that are believed.
#[derive(Clone, Debug, Default)]
pub struct Certifiers {
    /// The names of the authorities.
    authorities: Vec<DistinguishedName>,
    /// Subject and issuer of each certificate that the table has.
    certificates: Vec<(DistinguishedName, DistinguishedName)>,
}

impl TrustConfig {
    /// Who may have issued certificates that are believed. A file that cannot be read is reported
    /// elsewhere.
    pub fn certifiers(&self) -> Certifiers {
        let read = |file: &LoadedFile| {
            Certificate::from_file_contents(file.bytes.expose()).unwrap_or_default()
        };
        let anchors: Vec<_> = self.anchors.iter().flat_map(read).collect();
        let pinned: Vec<_> = self.pinned.iter().flat_map(read).collect();
        Certifiers::new(&anchors, &pinned)
    }
}

impl Certifiers {
    /// Those of anchors, and of certificates that are believed by themselves.
    #[must_use]
    pub fn new(anchors: &[Certificate], pinned: &[Certificate]) -> Self {
        let authorities = anchors.iter().filter(|it| it.may_certify());
        let names = |it: &Certificate| (it.subject_name().clone(), it.issuer_name().clone());
        Self {
            authorities: authorities.map(|it| it.subject_name().clone()).collect(),
            certificates: anchors.iter().chain(pinned).map(names).collect(),
        }
    }

    /// Those of two tables, either of which may be asked.
    #[must_use]
    pub fn or(mut self, other: &Self) -> Self {
        self.authorities.extend_from_slice(&other.authorities);
        self.certificates.extend_from_slice(&other.certificates);
        self
    }

    /// The names of those who may have issued a certificate of this subject, each once.
    pub fn of(&self, subject: &DistinguishedName) -> Vec<&DistinguishedName> {
        let own = self.certificates.iter();
        let own = own.filter(|(it, _)| it.matches(subject));
        let issuers = own.map(|(_, issuer)| issuer);
        let mut names: Vec<&DistinguishedName> = Vec::new();
        for name in self.authorities.iter().chain(issuers) {
            if !names.iter().any(|known| known.matches(name)) {
                names.push(name);
            }
        }
        names
    }

    /// What is wrong with a name where several may have issued a certificate of its subject, and
    /// the name says none of them. The words follow `is` or `has`.
    pub fn ambiguity(&self, holder: &HolderName) -> Option<String> {
        let count = self.of(holder.subject()).len();
        (!holder.has_issuer() && count > 1).then(|| {
            format!(
                "that of several certificates: `trust` believes {count} issuers, and each may issue one"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use soapstone_crypto::Identity;
    use soapstone_testkit::keys::{P256, authority, identity_by};

    use super::*;
    use crate::config::{Confidential, Place};

    /// A table with these certificates.
    fn certifiers(anchors: &[&Arc<Identity>], pinned: &[&Arc<Identity>]) -> Certifiers {
        let files = |of: &[&Arc<Identity>]| {
            let file = |it: &&Arc<Identity>| LoadedFile {
                path: PathBuf::new(),
                bytes: Confidential::new(it.certificate().der().to_vec()),
                place: Place::default(),
            };
            of.iter().map(file).collect()
        };
        let trust = TrustConfig {
            anchors: files(anchors),
            pinned: files(pinned),
            ..TrustConfig::default()
        };
        trust.certifiers()
    }

    fn count(certifiers: &Certifiers, subject: &str) -> usize {
        let subject = DistinguishedName::parse(subject).expect("a name");
        certifiers.of(&subject).len()
    }

    #[test]
    fn a_pinned_certificate_makes_its_own_subject_ambiguous_alone() {
        let (ca, other) = (authority("CN=ca"), identity_by("CN=other", "CN=p2", P256));
        let found = certifiers(&[&ca], &[&other]);
        assert_eq!(count(&found, "CN=p1"), 1);
        assert_eq!(count(&found, "cn = P2"), 2);
        // Its own authority knows one of the name.
        let own = identity_by("CN=ca", "CN=p2", P256);
        assert_eq!(count(&certifiers(&[&ca], &[&own]), "CN=p2"), 1);
    }

    #[test]
    fn two_pinned_certificates_of_one_subject_are_those_of_two_issuers() {
        let (own, other) = (
            identity_by("CN=ca", "CN=p1", P256),
            identity_by("CN=other", "CN=p1", P256),
        );
        for found in [
            certifiers(&[], &[&own, &other]),
            certifiers(&[&own], &[&other]),
            certifiers(&[&own, &other], &[]),
        ] {
            assert_eq!(count(&found, "CN=p1"), 2);
            assert_eq!(count(&found, "CN=p2"), 0);
        }
        assert_eq!(count(&certifiers(&[], &[&own, &own]), "CN=p1"), 1);
    }

    #[test]
    fn each_of_two_authorities_may_certify_every_subject() {
        let found = certifiers(&[&authority("CN=ca"), &authority("CN=other")], &[]);
        assert_eq!(count(&found, "CN=anybody"), 2);
        let ambiguity = |text: &str| found.ambiguity(&HolderName::parse(text).expect("a name"));
        let expected =
            "that of several certificates: `trust` believes 2 issuers, and each may issue one";
        assert_eq!(ambiguity("CN=p1").as_deref(), Some(expected));
        assert_eq!(ambiguity("CN=p1 of CN=ca"), None);
    }
}
