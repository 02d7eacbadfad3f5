//! What a call needs of the backend that serves it.
//!
//! Needs come from several sides: from the route, from the class of the client, from the message.
//! [`Needs::and`] joins them.
//!
//! The rule kept here: joined needs are never weaker than any of theirs. A message can ask for more
//! than its route, and not for less.

use std::fmt;
use std::time::Duration;

/// A property of security.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Property {
    /// Both sides prove who they are.
    Authentication,
    /// What is said cannot be changed on the way.
    Integrity,
    /// What is said cannot be read on the way.
    Confidentiality,
    /// What is said counts once, and soon.
    Freshness,
    /// A third party can be shown who said it.
    NonRepudiation,
    /// The other properties hold from end to end, whoever passes the message on.
    EndToEnd,
}

impl Property {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Authentication,
        Self::Integrity,
        Self::Confidentiality,
        Self::Freshness,
        Self::NonRepudiation,
        Self::EndToEnd,
    ];

    /// Its name in files and messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Authentication => "authentication",
            Self::Integrity => "integrity",
            Self::Confidentiality => "confidentiality",
            Self::Freshness => "freshness",
            Self::NonRepudiation => "non-repudiation",
            Self::EndToEnd => "end-to-end",
        }
    }

    /// The property of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }
}

impl fmt::Display for Property {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

/// What a call needs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Properties of security, each once, in their order.
    pub properties: Vec<Property>,
    /// Least strength of every needed property, in bits.
    pub bits: u16,
    /// Algorithms that are not accepted, by their short names.
    pub refused_algorithms: Vec<String>,
    /// Parts that must be encrypted in the message: `Body`, or `{namespace}name` of a header
    /// block.
    pub encrypted: Vec<String>,
    /// Longest time to the answer.
    pub time: Option<Duration>,
    /// Least share of calls that are answered, in hundredths.
    pub availability: u8,
}

impl Needs {
    /// Nothing.
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Whether security is needed.
    pub fn has_security(&self) -> bool {
        !self.properties.is_empty()
            || self.bits > 0
            || !self.refused_algorithms.is_empty()
            || !self.encrypted.is_empty()
    }

    /// These, and others: what covers both covers each.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        fn union<T: Clone + Ord>(one: &[T], other: &[T]) -> Vec<T> {
            let mut all = [one, other].concat();
            all.sort();
            all.dedup();
            all
        }
        Self {
            properties: union(&self.properties, &other.properties),
            bits: self.bits.max(other.bits),
            refused_algorithms: union(&self.refused_algorithms, &other.refused_algorithms),
            encrypted: union(&self.encrypted, &other.encrypted),
            time: match (self.time, other.time) {
                (Some(one), Some(other)) => Some(one.min(other)),
                (one, other) => one.or(other),
            },
            availability: self.availability.max(other.availability),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn joined_needs_are_the_stricter_ones() {
        let route = Needs {
            properties: vec![Property::Integrity],
            bits: 112,
            refused_algorithms: vec!["rsa-1_5".to_owned()],
            encrypted: Vec::new(),
            time: Some(Duration::from_millis(500)),
            availability: 99,
        };
        let message = Needs {
            properties: vec![Property::Integrity, Property::Authentication],
            bits: 80,
            encrypted: vec!["Body".to_owned()],
            time: Some(Duration::from_secs(60)),
            ..Needs::nothing()
        };
        let joined = route.and(&message);
        assert_eq!(joined, message.and(&route));
        assert_eq!(
            joined,
            Needs {
                properties: vec![Property::Authentication, Property::Integrity],
                bits: 112,
                refused_algorithms: vec!["rsa-1_5".to_owned()],
                encrypted: vec!["Body".to_owned()],
                time: Some(Duration::from_millis(500)),
                availability: 99,
            }
        );
        assert_eq!(route.and(&Needs::nothing()), route);
    }

    #[test]
    fn every_property_is_found_by_its_name() {
        for property in Property::ALL {
            assert_eq!(Property::named(property.name()), Some(property));
        }
        assert_eq!(Property::named("Integrity"), None);
    }
}
