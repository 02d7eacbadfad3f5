//! Owners of a registry's entries, as a file names them.
//!
//! The rule kept here: a subject is somebody's with its issuer alone. Where the file names no
//! issuer, only one owner may have the subject. Names are compared as those of certificates are,
//! however they are written.

use std::fmt;

use soapstone::crypto::HolderName;
use soapstone_registry::{Owner, WrittenName};

/// Between subject and issuer, as the registry writes owners.
const OF: &str = " of ";

/// Every certificate that the registry trusts.
const EVERYBODY: &str = "*";

/// `"CN=p1"`, `"CN=p1 of CN=authority"` or `"*"`. Two are one where their names are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OwnerName {
    subject: WrittenName,
    issuer: Option<WrittenName>,
}

impl OwnerName {
    pub(crate) fn parse(text: &str) -> Self {
        let (subject, issuer) = HolderName::split(text);
        Self {
            subject: WrittenName::new(subject),
            issuer: issuer.map(WrittenName::new),
        }
    }

    /// The name of an owner with its issuer. `None` where it reads as that of another one.
    pub(crate) fn of(owner: &Owner) -> Option<Self> {
        let name = Self {
            subject: owner.subject.clone(),
            issuer: Some(owner.issuer.clone()),
        };
        (Self::parse(&name.to_string()) == name).then_some(name)
    }

    /// Whether it is every owner.
    pub(crate) fn is_everybody(&self) -> bool {
        self.subject.as_str() == EVERYBODY
    }

    /// Whether it is every owner, or can be the name of one.
    pub(crate) fn is_possible(&self) -> bool {
        self.is_everybody() || self.subject.is_name()
    }

    /// Whether one of its names is read by people as a subject and its issuer.
    pub(crate) fn reads_as_two(&self) -> bool {
        let mut names = std::iter::once(&self.subject).chain(&self.issuer);
        names.any(|name| HolderName::reads_as_two(name.as_str()))
    }

    /// Its subject as certificates are read, by which a registry is asked.
    pub(crate) fn subject(&self) -> String {
        self.subject.to_rfc2253()
    }

    /// As certificates are read.
    pub(crate) fn to_rfc2253(&self) -> String {
        let subject = self.subject();
        match &self.issuer {
            None => subject,
            Some(issuer) => format!("{subject}{OF}{}", issuer.to_rfc2253()),
        }
    }

    /// Whether it says whose subject it is.
    pub(crate) fn has_issuer(&self) -> bool {
        self.issuer.is_some()
    }

    /// Whether it may be the name of an owner. Without an issuer it may be that of several.
    pub(crate) fn is_of(&self, owner: &Owner) -> bool {
        let is_issuer = |it: &WrittenName| *it == owner.issuer;
        self.subject == owner.subject && self.issuer.as_ref().is_none_or(is_issuer)
    }

    /// Whether both may be the name of one owner.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let is_apart = match (&self.issuer, &other.issuer) {
            (Some(one), Some(other)) => one != other,
            _ => false,
        };
        self.subject == other.subject && !is_apart
    }
}

impl fmt::Display for OwnerName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.issuer {
            None => out.write_str(self.subject.as_str()),
            Some(issuer) => write!(out, "{}{OF}{issuer}", self.subject),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(subject: &str, issuer: &str) -> Owner {
        Owner::new(subject, issuer)
    }

    #[test]
    fn an_owner_is_named_with_its_issuer_or_without() {
        for (text, subject, issuer) in [
            ("CN=p1", "CN=p1", None),
            ("CN=p1 of CN=ca,O=Acme", "CN=p1", Some("CN=ca,O=Acme")),
            ("CN=Bank of Books,O=B", "CN=Bank of Books,O=B", None),
            (
                "CN=Bank of Books of CN=ca",
                "CN=Bank of Books",
                Some("CN=ca"),
            ),
            ("*", "*", None),
        ] {
            let name = OwnerName::parse(text);
            let issuer_text = name.issuer.as_ref().map(WrittenName::as_str);
            let found = (name.subject.as_str(), issuer_text);
            assert_eq!(found, (subject, issuer));
            assert!(name.is_possible());
            assert_eq!(name.to_string(), text);
        }
    }

    #[test]
    fn a_name_with_an_issuer_is_of_nobody_else_with_the_subject() {
        let (own, other) = (owner("CN=p1", "CN=a"), owner("CN=p1", "CN=b"));
        let with = OwnerName::parse("CN=p1 of CN=a");
        assert_eq!((with.is_of(&own), with.is_of(&other)), (true, false));
        let without = OwnerName::parse("CN=p1");
        assert_eq!((without.is_of(&own), without.is_of(&other)), (true, true));
        assert!(with.overlaps(&without) && without.overlaps(&with));
        assert!(!with.overlaps(&OwnerName::parse("CN=p1 of CN=b")));
    }

    /// As parties of agreements are.
    #[test]
    fn an_owner_is_one_however_its_name_is_written() {
        let own = owner("CN=p1,O=Acme", "CN=ca,O=Acme");
        let written = OwnerName::parse("cn=P1, o=acme of CN=CA; O=Acme");
        let read = OwnerName::parse("CN=p1,O=Acme of CN=ca,O=Acme");
        assert!(written.is_of(&own) && written.overlaps(&read));
        assert_eq!(written, read);
        assert_ne!(written, OwnerName::parse("CN=p1,O=Acme"));
        assert!(!written.is_of(&owner("CN=p1,O=Acme", "CN=ca,O=Other")));
        assert_eq!(OwnerName::parse("cn=p1, o=Acme").subject(), "CN=p1,O=Acme");
        // Backends are named as the file names their owners.
        assert_eq!(written.to_string(), "cn=P1, o=acme of CN=CA; O=Acme");
        assert!(!OwnerName::parse("p1").is_possible());
        assert!(!OwnerName::parse("").is_possible());
    }

    /// An authority that is called so might else be taken for another one.
    #[test]
    fn an_owner_has_no_name_that_reads_as_that_of_another_one() {
        let name = |subject, issuer| OwnerName::of(&owner(subject, issuer));
        let known = name("CN=p1", "CN=a");
        assert_eq!(known, Some(OwnerName::parse("CN=p1 of CN=a")));
        assert_eq!(name("CN=p1 of CN=a", "CN=b"), None);
        assert!(name("CN=Bank of Books", "CN=b").is_some());
    }

    #[test]
    fn half_a_name_reads_as_two() {
        let reads = |text: &str| OwnerName::parse(text).reads_as_two();
        assert!(reads("CN=p1 of authority"));
        assert!(reads("CN=p1 of CN=a of authority"));
        assert!(!reads("CN=p1 of CN=a"));
        assert!(!reads("CN=\"Bank of Books\" of CN=a"));
        assert!(!reads("*"));
    }
}
