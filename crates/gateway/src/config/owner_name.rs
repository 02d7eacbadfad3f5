//! Owners of a registry's entries, as a file names them.
//!
//! The rule kept here: a subject is somebody's with its issuer alone. Where the file names no
//! issuer, only one owner may have the subject. Names are compared as those of certificates are,
//! however they are written.

use std::fmt;

use soapstone::crypto::{DistinguishedName, NameStyle};
use soapstone_registry::Owner;

/// Between subject and issuer, as the registry writes owners.
const OF: &str = " of ";

/// Every certificate that the registry trusts.
const EVERYBODY: &str = "*";

/// `"CN=p1"`, `"CN=p1 of CN=authority"` or `"*"`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OwnerName {
    subject: String,
    issuer: Option<String>,
}

impl OwnerName {
    pub(crate) fn parse(text: &str) -> Self {
        let is_name = |text: &str| read(text).is_some();
        // A subject may have the word in it, as CN=Bank of Books has.
        let mut parts = text.match_indices(OF).map(|(at, _)| {
            let (subject, rest) = text.split_at(at);
            (subject, &rest[OF.len()..])
        });
        let named = parts.find(|(subject, issuer)| is_name(subject) && is_name(issuer));
        let (subject, issuer) = named.map_or((text, None), |(subject, it)| (subject, Some(it)));
        Self {
            subject: subject.to_owned(),
            issuer: issuer.map(str::to_owned),
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
        self.subject == EVERYBODY
    }

    /// Whether it is every owner, or can be the name of one.
    pub(crate) fn is_possible(&self) -> bool {
        self.is_everybody() || read(&self.subject).is_some()
    }

    /// Its subject as certificates are read, by which a registry is asked.
    pub(crate) fn subject(&self) -> String {
        let read = read(&self.subject);
        read.map_or_else(|| self.subject.clone(), |it| it.to_text(NameStyle::Rfc2253))
    }

    /// Whether both are one name, however they are written.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.has_issuer() == other.has_issuer() && self.overlaps(other)
    }

    /// Whether it says whose subject it is.
    pub(crate) fn has_issuer(&self) -> bool {
        self.issuer.is_some()
    }

    /// Whether it may be the name of an owner. Without an issuer it may be that of several.
    pub(crate) fn is_of(&self, owner: &Owner) -> bool {
        let is_issuer = |it: &String| is_one(it, &owner.issuer);
        is_one(&self.subject, &owner.subject) && self.issuer.as_ref().is_none_or(is_issuer)
    }

    /// Whether both may be the name of one owner.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        let is_apart = match (&self.issuer, &other.issuer) {
            (Some(one), Some(other)) => !is_one(one, other),
            _ => false,
        };
        is_one(&self.subject, &other.subject) && !is_apart
    }
}

/// Reads the name of somebody.
fn read(text: &str) -> Option<DistinguishedName> {
    let name = DistinguishedName::parse(text).ok()?;
    (!name.is_empty()).then_some(name)
}

/// Whether both are one name. What is no name is itself alone.
fn is_one(one: &str, other: &str) -> bool {
    let is_one = || Some(read(one)?.matches(&read(other)?));
    one == other || is_one().unwrap_or(false)
}

impl fmt::Display for OwnerName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.issuer {
            None => out.write_str(&self.subject),
            Some(issuer) => write!(out, "{}{OF}{issuer}", self.subject),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(subject: &str, issuer: &str) -> Owner {
        Owner {
            subject: subject.to_owned(),
            issuer: issuer.to_owned(),
        }
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
            let found = (name.subject.as_str(), name.issuer.as_deref());
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
        assert!(written.is_of(&own) && written.is_same(&read) && written.overlaps(&read));
        assert!(!written.is_same(&OwnerName::parse("CN=p1,O=Acme")));
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
}
