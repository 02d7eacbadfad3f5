//! Normal forms, and what is made of them.

use soapstone_policy::{IntersectionMode, NormalPolicy, PolicyDocument, PolicyError, PolicyLimits};

use crate::support::*;

fn normal(assertions: &str) -> NormalPolicy {
    document(&policy(assertions)).normal_form().unwrap()
}

/// Names of assertions, one list per alternative, nested ones in parentheses.
fn names(policy: &NormalPolicy) -> Vec<String> {
    fn of(alternative: &soapstone_policy::Alternative) -> String {
        let names: Vec<String> = alternative
            .assertions
            .iter()
            .map(|assertion| match assertion.nested() {
                Some(nested) => format!("{}({})", assertion.name().local, of(nested)),
                None => assertion.name().local.to_string(),
            })
            .collect();
        names.join(" ")
    }
    policy.alternatives.iter().map(of).collect()
}

#[test]
fn nested_alternatives_become_alternatives_of_the_whole() {
    let policy = normal(
        "<a xmlns='urn:a'><wsp:Policy><wsp:ExactlyOne><b/><c wsp:Optional='1'/></wsp:ExactlyOne></wsp:Policy></a><d xmlns='urn:a'/>",
    );
    assert_eq!(names(&policy), ["a(b) d", "a(c) d", "a() d"]);
}

#[test]
fn a_nested_policy_that_allows_nothing_allows_nothing() {
    let policy = normal("<a xmlns='urn:a'><wsp:Policy><wsp:ExactlyOne/></wsp:Policy></a>");
    assert!(policy.alternatives.is_empty());
}

#[test]
fn references_are_replaced_by_what_they_mean_by_id_and_by_name() {
    let source = format!(
        "<x><wsp:Policy xmlns:wsp='{WSP}'><wsp:PolicyReference URI='#b'/><wsp:PolicyReference URI='http://example.org/c'/></wsp:Policy>\
         <wsp:Policy xmlns:wsp='{WSP}' xml:id='b'><b xmlns='urn:a'/></wsp:Policy>\
         <wsp:Policy xmlns:wsp='{WSP}' Name='http://example.org/c'><c xmlns='urn:a'/></wsp:Policy></x>"
    );
    assert_eq!(names(&document(&source).normal_form().unwrap()), ["b c"]);
}

#[test]
fn a_policy_of_another_document_is_asked_for_by_its_uri() {
    let source = policy("<wsp:PolicyReference URI='more/other.xml#there'/>");
    let other = format!(
        "<x xmlns:wsp='{WSP}'><wsp:Policy xml:id='there'><wsp:PolicyReference URI='third.xml'/></wsp:Policy></x>"
    );
    let third = policy("<a xmlns='urn:a'/>");
    let resolver = |uri: &str| match uri {
        "more/other.xml" => Some(other.clone().into_bytes()),
        "more/third.xml" => Some(third.clone().into_bytes()),
        _ => None,
    };
    let document =
        PolicyDocument::parse_with(source.into_bytes(), &PolicyLimits::default(), &resolver)
            .unwrap();
    assert_eq!(names(&document.normal_form().unwrap()), ["a"]);
}

#[test]
fn a_reference_that_leads_nowhere_or_to_two_policies_is_refused() {
    match normal_error(&policy("\n <wsp:PolicyReference URI='#gone'/>")) {
        PolicyError::UnknownReference { uri, place } => {
            assert_eq!((uri.as_str(), place.line, place.column), ("#gone", 2, 2));
        }
        other => panic!("{other:?}"),
    }
    let twice =
        policy("<wsp:PolicyReference URI='#a'/><wsp:Policy u:Id='a'/>\n<wsp:Policy u:Id='a'/>");
    match normal_error(&twice) {
        PolicyError::AmbiguousReference { uri, first, second } => {
            assert_eq!((uri.as_str(), first.line, second.line), ("#a", 1, 2));
        }
        other => panic!("{other:?}"),
    }
}

/// WS-Policy 1.5, 4.2: a policy's name is its own. Which of two documents is looked into first must
/// not decide what is demanded.
#[test]
fn a_name_that_policies_of_two_documents_have_is_refused() {
    let source = policy(
        "<wsp:PolicyReference URI='a.xml#a'/><wsp:PolicyReference URI='b.xml#b'/><wsp:PolicyReference URI='urn:p'/>",
    );
    let normal = |first: &str, second: &str| {
        let other = |id: &str, name: &str| {
            let id = format!("<wsp:Policy xml:id='{id}'/>");
            let named = format!("<wsp:Policy Name='urn:p'><{name} xmlns='urn:a'/></wsp:Policy>");
            Some(format!("<x xmlns:wsp='{WSP}'>{id}{named}</x>").into_bytes())
        };
        let resolver = |uri: &str| match uri {
            "a.xml" => other("a", first),
            "b.xml" => other("b", second),
            _ => None,
        };
        let source = source.clone().into_bytes();
        PolicyDocument::parse_with(source, &PolicyLimits::default(), &resolver)
            .unwrap()
            .normal_form()
    };
    assert_eq!(names(&normal("one", "one").unwrap()), ["one"]);
    match normal("strong", "weak").unwrap_err() {
        PolicyError::AmbiguousReference { uri, first, second } => {
            assert_eq!(uri, "urn:p");
            assert_eq!(first.document.as_deref(), Some("a.xml"));
            assert_eq!(second.document.as_deref(), Some("b.xml"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn malformed_policies_are_refused_for_what_is_wrong() {
    assert!(matches!(
        normal_error(&policy("<wsp:PolicyReference URI='#a' Digest='AAAA'/>")),
        PolicyError::Digest { .. }
    ));
    assert!(matches!(
        normal_error(&policy("<wsp:AppliesTo/>")),
        PolicyError::Unexpected { .. }
    ));
    assert!(matches!(
        normal_error(&policy("<a xmlns='urn:a'><wsp:Policy/><wsp:Policy/></a>")),
        PolicyError::SecondPolicy { .. }
    ));
    match normal_error(&policy("<a xmlns='urn:a' wsp:Optional='maybe'/>")) {
        PolicyError::Value {
            attribute, found, ..
        } => assert_eq!((attribute, found.as_str()), ("Optional", "maybe")),
        other => panic!("{other:?}"),
    }
    let none = PolicyDocument::parse(b"<html/>".to_vec(), &PolicyLimits::default()).unwrap_err();
    assert!(matches!(none, PolicyError::NoPolicy { .. }));
    let doctype = PolicyDocument::parse(b"<!DOCTYPE x><x/>".to_vec(), &PolicyLimits::default());
    assert!(matches!(doctype.unwrap_err(), PolicyError::NotXml { .. }));
}

#[test]
fn ignorable_assertions_count_only_in_a_strict_intersection() {
    let plain = normal("<a xmlns='urn:a'/>");
    let logged = normal("<a xmlns='urn:a'/><log xmlns='urn:a' wsp:Ignorable='true'/>");
    let limits = PolicyLimits::default();
    let strict = plain
        .intersect(&logged, IntersectionMode::Strict, &limits)
        .unwrap();
    assert!(strict.alternatives.is_empty());
    let lax = plain
        .intersect(&logged, IntersectionMode::Lax, &limits)
        .unwrap();
    assert_eq!(names(&lax), ["a a log"]);
}

#[test]
fn what_is_written_reads_back_with_the_prefixes_that_its_values_use() {
    let source = policy(
        "<sp:SignedElements xmlns:e='urn:echo'><sp:XPath>//e:echo[@k='&lt;']</sp:XPath></sp:SignedElements>\
         <a xmlns='urn:a' xmlns:b='urn:b' b:type='b:c' wsp:Ignorable='true'>text<inner xmlns=''/></a>",
    );
    let first = document(&source).normal_form().unwrap();
    let written = first.to_xml();
    assert!(written.contains("xmlns:e=\"urn:echo\"") && written.contains("[@k='&lt;']"));
    let again = document(&written).normal_form().unwrap();
    assert!(first.is_equivalent(&again), "{written}");
    assert_eq!(again.to_xml(), written);
}
