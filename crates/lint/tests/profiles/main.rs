//! The rules of the Basic Profiles, of policies, of Digikoppeling, of AS4 and of packages, each
//! with a change of a good document that breaks it, and what the whole crate promises of hostile
//! input.

mod addressing;
mod as4;
mod descriptions;
mod digikoppeling;
mod envelopes;
mod findings;
mod packages;
mod policies;
mod rules_of_as4;

use std::collections::BTreeSet;

use descriptions::DESCRIPTIONS;
use digikoppeling::WUS;
use envelopes::{ENVELOPES, FAULTS};
use policies::POLICIES;
use soapstone_lint::{Choice, Profile, Profiles, lint, rules_table};

const SERVICE: &str = include_str!("../samples/service.wsdl");

const OTHER: &str = "<wsdl:definitions xmlns:wsdl=\"http://schemas.xmlsoap.org/wsdl/\" targetNamespace=\"urn:other\"/>";

/// Rule, what is replaced, by what, and the rules that are broken besides.
type Sample = (
    &'static str,
    &'static str,
    &'static str,
    &'static [&'static str],
);

fn beside(uri: &str) -> Option<Vec<u8>> {
    match uri {
        "other.wsdl" => Some(OTHER.as_bytes().to_vec()),
        "schema.xsd" => Some(b"<schema xmlns=\"http://www.w3.org/2001/XMLSchema\"/>".to_vec()),
        _ => None,
    }
}

fn broken(source: &str, choice: Choice) -> BTreeSet<&'static str> {
    let report = lint(source.as_bytes().to_vec(), &choice, &beside).expect("a document");
    report
        .findings
        .iter()
        .map(|finding| finding.rule.id)
        .collect()
}

fn compare(base: &str, samples: &[Sample], profiles: Profiles) {
    let choice = Choice::Of(profiles);
    assert_eq!(broken(base, choice), BTreeSet::new(), "the base");
    let mut problems = Vec::new();
    for (rule, from, to, besides) in samples {
        assert!(base.contains(from), "{rule}: the base does not hold {from}");
        let expected: BTreeSet<&str> = besides.iter().copied().chain([*rule]).collect();
        let found = broken(&base.replacen(from, to, 1), choice);
        if found != expected {
            problems.push(format!("{rule}: expected {expected:?}, found {found:?}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_rule_outside_of_the_security_profile_has_its_sample() {
    let of_as4 = [
        as4::OF_USER_MESSAGES,
        as4::OF_BODIES,
        as4::OF_PULL_REQUESTS,
        as4::OF_RECEIPTS,
        as4::OF_ERRORS,
        packages::OF_ENCRYPTED,
        packages::OF_SIGNED,
        packages::OF_MTOM,
    ];
    let sampled: BTreeSet<&str> = [ENVELOPES, FAULTS, DESCRIPTIONS, POLICIES, WUS]
        .into_iter()
        .chain(of_as4)
        .chain(addressing::ALL)
        .collect::<Vec<_>>()
        .concat()
        .iter()
        .map(|sample| sample.0)
        .collect();
    let rules = rules_table()
        .iter()
        .filter(|rule| !rule.profiles.has(Profile::Bsp));
    let rules = rules.map(|rule| rule.id);
    // What passes that bound is made by a test of its own.
    let rules: BTreeSet<&str> = rules.filter(|id| *id != "wsdl-not-looked-at").collect();
    assert_eq!(sampled, rules);
}
