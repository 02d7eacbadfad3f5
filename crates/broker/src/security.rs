//! The security index: what the policy between gateway and backend gives, property by property.
//!
//! The host computes it from the policy that it enforces, never from what a backend says of itself.
//! A backend whose answers are weaker than that is refused by the same policy.
//!
//! The rule kept here: what is not known to be given is not given.

use std::fmt;

use crate::needs::{Needs, Property};

/// How a property is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// It is not.
    #[default]
    None,
    /// By the connection: from point to point.
    Connection,
    /// In the message.
    Message,
    /// In the message, by the token of an authority, and the answer confirms it.
    Confirmed,
}

impl Level {
    /// A stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Connection => "connection",
            Self::Message => "message",
            Self::Confirmed => "confirmed",
        }
    }
}

/// A property as it is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// How.
    pub level: Level,
    /// The least strength of the algorithms and keys that carry it, in bits (NIST SP 800-57 part
    /// 1, tables 2 and 3).
    pub bits: u16,
}

/// What a policy gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SecurityIndex {
    given: [Given; Property::ALL.len()],
    /// The short names of the algorithms that it uses.
    pub algorithms: Vec<String>,
    /// Whether nobody here knows which algorithms are used, since messages pass as they come.
    pub unseen: bool,
    /// The parts that it encrypts in the message.
    pub encrypted: Vec<String>,
}

/// The strength of connections by TLS: its weakest cipher suite here.
const OF_TLS: u16 = 128;

/// Why a policy does not cover needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shortfall {
    /// The property is not given, or only by the connection where end to end is needed.
    Missing(Property),
    /// The property is weaker than needed.
    Weak {
        /// Which.
        property: Property,
        /// What it has.
        bits: u16,
        /// What is needed.
        needed: u16,
    },
    /// It uses an algorithm that is not accepted.
    Algorithm(String),
    /// An algorithm is not accepted, and those that are used are not known.
    UnknownAlgorithms,
    /// The part is not encrypted.
    Plain(String),
}

impl fmt::Display for Shortfall {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(property) => write!(out, "no {property}"),
            Self::Weak {
                property,
                bits,
                needed,
            } => write!(out, "{property} of {bits} bits, needed {needed}"),
            Self::Algorithm(name) => write!(out, "uses {name}"),
            Self::UnknownAlgorithms => out.write_str("its algorithms are not known"),
            Self::Plain(part) => write!(out, "{part} is not encrypted"),
        }
    }
}

impl SecurityIndex {
    /// How a property is given.
    pub fn of(&self, property: Property) -> Given {
        self.given[property as usize]
    }

    /// Gives a property.
    pub fn give(&mut self, property: Property, level: Level, bits: u16) {
        self.given[property as usize] = Given { level, bits };
    }

    /// What both of two policies give: those of a request and its answer, or of two operations.
    #[must_use]
    pub fn both(&self, other: &Self) -> Self {
        let mut both = Self::default();
        for property in Property::ALL {
            let (one, other) = (self.of(property), other.of(property));
            let level = one.level.min(other.level);
            let bits = match level {
                Level::None => 0,
                _ => one.bits.min(other.bits),
            };
            both.give(property, level, bits);
        }
        both.algorithms = [&self.algorithms[..], &other.algorithms].concat();
        both.algorithms.sort();
        both.algorithms.dedup();
        both.unseen = self.unseen || other.unseen;
        let is_in_other = |part: &&String| other.encrypted.contains(part);
        both.encrypted = self.encrypted.iter().filter(is_in_other).cloned().collect();
        both
    }

    /// The same over TLS, which gives from point to point what the message does not. With `mutual`,
    /// both sides show certificates.
    #[must_use]
    pub fn over_tls(mut self, mutual: bool) -> Self {
        use Property::{Authentication, Confidentiality, Freshness, Integrity};
        for property in [Authentication, Confidentiality, Freshness, Integrity] {
            let is_given = property != Authentication || mutual;
            if self.of(property).level == Level::None && is_given {
                self.give(property, Level::Connection, OF_TLS);
            }
        }
        self
    }

    /// Where it does not cover needs; nothing where it does.
    pub fn shortfalls(&self, needs: &Needs) -> Vec<Shortfall> {
        let least = match needs.properties.contains(&Property::EndToEnd) {
            true => Level::Message,
            false => Level::Connection,
        };
        let of_property = |property: &Property| {
            let given = self.of(*property);
            if given.level < least {
                Some(Shortfall::Missing(*property))
            } else if given.bits < needs.bits {
                Some(Shortfall::Weak {
                    property: *property,
                    bits: given.bits,
                    needed: needs.bits,
                })
            } else {
                None
            }
        };
        let properties = needs.properties.iter().filter_map(of_property);
        // Strength alone is needed of what is given, and something must be.
        let anything = (needs.properties.is_empty() && needs.bits > 0)
            .then(|| of_property(&Property::Integrity))
            .flatten();
        let refused = needs.refused_algorithms.iter();
        let refused = refused.filter(|name| self.algorithms.contains(name));
        let unknown = (self.unseen && !needs.refused_algorithms.is_empty())
            .then_some(Shortfall::UnknownAlgorithms);
        let plain = needs.encrypted.iter();
        let plain = plain.filter(|part| !self.encrypted.contains(part));
        properties
            .chain(anything)
            .chain(refused.cloned().map(Shortfall::Algorithm))
            .chain(unknown)
            .chain(plain.cloned().map(Shortfall::Plain))
            .collect()
    }

    /// Whether it covers needs.
    pub fn covers(&self, needs: &Needs) -> bool {
        self.shortfalls(needs).is_empty()
    }

    /// The least strength of the properties that it gives; 0 where it gives none.
    pub fn bits(&self) -> u16 {
        let given = self.given.iter().filter(|given| given.level > Level::None);
        given.map(|given| given.bits).min().unwrap_or(0)
    }

    /// One number for people and for weighing: the least strength of the needed properties that are
    /// given, times their share of those needed. Without needs, all properties count.
    pub fn score(&self, needs: &Needs) -> f64 {
        let all = match needs.properties.is_empty() {
            true => &Property::ALL[..],
            false => &needs.properties,
        };
        let given = all.iter().map(|property| self.of(*property));
        let given: Vec<Given> = given.filter(|given| given.level > Level::None).collect();
        let least = given.iter().map(|given| given.bits).min().unwrap_or(0);
        f64::from(least) * given.len() as f64 / all.len() as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Property::{Authentication, Confidentiality, EndToEnd, Integrity, NonRepudiation};

    fn signed() -> SecurityIndex {
        let mut index = SecurityIndex::default();
        index.give(Integrity, Level::Confirmed, 112);
        index.give(Authentication, Level::Confirmed, 112);
        index.give(EndToEnd, Level::Message, 112);
        index.algorithms = vec!["rsa-sha256".to_owned()];
        index
    }

    fn needs(properties: &[Property], bits: u16) -> Needs {
        Needs {
            properties: properties.to_vec(),
            bits,
            ..Needs::nothing()
        }
    }

    #[test]
    fn a_policy_covers_what_it_gives_and_nothing_else() {
        for (index, needs, expected) in [
            (SecurityIndex::default(), Needs::nothing(), vec![]),
            (
                SecurityIndex::default(),
                needs(&[Integrity], 0),
                vec![Shortfall::Missing(Integrity)],
            ),
            // Strength of nothing is none.
            (
                SecurityIndex::default(),
                needs(&[], 1),
                vec![Shortfall::Missing(Integrity)],
            ),
            (signed(), needs(&[Integrity, Authentication], 112), vec![]),
            (
                signed(),
                needs(&[Integrity], 128),
                vec![Shortfall::Weak {
                    property: Integrity,
                    bits: 112,
                    needed: 128,
                }],
            ),
            (
                signed(),
                needs(&[Confidentiality], 0),
                vec![Shortfall::Missing(Confidentiality)],
            ),
            (
                signed().over_tls(false),
                needs(&[Confidentiality], 128),
                vec![],
            ),
            (
                signed().over_tls(false),
                needs(&[Confidentiality, EndToEnd], 0),
                vec![Shortfall::Missing(Confidentiality)],
            ),
            (
                SecurityIndex::default().over_tls(false),
                needs(&[Authentication], 0),
                vec![Shortfall::Missing(Authentication)],
            ),
            (
                SecurityIndex::default().over_tls(true),
                needs(&[Authentication, Integrity], 128),
                vec![],
            ),
            (
                signed(),
                Needs {
                    refused_algorithms: vec!["rsa-sha256".to_owned()],
                    encrypted: vec!["Body".to_owned()],
                    ..Needs::nothing()
                },
                vec![
                    Shortfall::Algorithm("rsa-sha256".to_owned()),
                    Shortfall::Plain("Body".to_owned()),
                ],
            ),
        ] {
            assert_eq!(index.shortfalls(&needs), expected, "{needs:?}");
            assert_eq!(index.covers(&needs), expected.is_empty());
        }
    }

    #[test]
    fn a_refused_algorithm_is_not_covered_where_nobody_knows_those_that_are_used() {
        let unseen = SecurityIndex {
            unseen: true,
            ..SecurityIndex::default()
        };
        let needs = Needs {
            refused_algorithms: vec!["rsa-sha1".to_owned()],
            ..Needs::nothing()
        };
        for index in [
            unseen.clone(),
            unseen.clone().over_tls(true),
            signed().both(&unseen),
            unseen.both(&signed()),
        ] {
            let expected = [Shortfall::UnknownAlgorithms];
            assert_eq!(index.shortfalls(&needs), expected);
            assert!(index.covers(&Needs::nothing()));
        }
        // A policy that uses none is known.
        assert!(SecurityIndex::default().covers(&needs));
    }

    #[test]
    fn two_policies_give_what_both_give() {
        let mut other = signed();
        other.give(Integrity, Level::Message, 128);
        other.give(Authentication, Level::None, 0);
        other.encrypted = vec!["Body".to_owned()];
        let both = signed().both(&other);
        let level = Level::Message;
        assert_eq!(both.of(Integrity), Given { level, bits: 112 });
        assert_eq!(both.of(Authentication), Given::default());
        assert_eq!(both.encrypted, Vec::<String>::new());
        assert_eq!(both.algorithms, ["rsa-sha256"]);
    }

    #[test]
    fn the_score_is_strength_by_the_share_of_needs() {
        let score = |needs: &Needs| signed().score(needs);
        assert_eq!(score(&needs(&[Integrity, Authentication], 0)), 112.0);
        assert_eq!(score(&needs(&[Integrity, NonRepudiation], 0)), 56.0);
        assert_eq!(score(&Needs::nothing()), 56.0);
        assert_eq!(SecurityIndex::default().score(&Needs::nothing()), 0.0);
        assert_eq!((signed().bits(), SecurityIndex::default().bits()), (112, 0));
    }
}
