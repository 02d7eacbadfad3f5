//! Owners of a registry's entries, as a file names them.
//!
//! The rule kept here: a subject is somebody's with its issuer alone. Where the file names no
//! issuer, only one owner may have the subject.

use std::fmt;

use soapstone::crypto::DistinguishedName;
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
        let is_name = |text: &str| DistinguishedName::parse(text).is_ok_and(|it| !it.is_empty());
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

    /// Its subject, by which a registry is asked.
    pub(crate) fn subject(&self) -> &str {
        &self.subject
    }

    /// Whether it says whose subject it is.
    pub(crate) fn has_issuer(&self) -> bool {
        self.issuer.is_some()
    }

    /// Whether it may be the name of an owner. Without an issuer it may be that of several.
    pub(crate) fn is_of(&self, owner: &Owner) -> bool {
        self.subject == owner.subject && self.issuer.as_ref().is_none_or(|it| *it == owner.issuer)
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
            assert_eq!((name.subject(), name.issuer.as_deref()), (subject, issuer));
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
