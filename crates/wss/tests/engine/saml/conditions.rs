//! When, for whom and how often an assertion holds (SAML Core 2.0, 2.5; SAML Core 1.1, 2.3.2): what
//! is refused by each rule. Every assertion here is signed by its issuer.

use std::time::Duration;

use soapstone_wss::{AssertionPolicy, Facts, InboundPlan, SamlVersion};
use soapstone_xml::Buffers;

use super::issuing::*;
use super::{Case, refuse_all};
use crate::support::envelope;

/// A message with an assertion that says something else than a right one.
fn saying(version: SamlVersion, change: impl FnOnce(&mut Draft)) -> String {
    let mut draft = Draft::bearer(version);
    change(&mut draft);
    message(&draft.signed())
}

fn with_conditions(version: SamlVersion, conditions: &str) -> String {
    saying(version, |draft| draft.conditions = conditions.to_owned())
}

/// Conditions that hold for ten minutes, with this content.
fn holding(content: &str) -> String {
    let end = in_seconds(600);
    format!("<saml:Conditions NotOnOrAfter=\"{end}\">{content}</saml:Conditions>")
}

/// A refusal without the moments in it.
fn without_moments(refused: String) -> String {
    let words = refused.split(' ');
    let is_moment = |word: &str| {
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        digits > 8 || word.parse::<i64>().is_ok_and(|number| number != 60)
    };
    let told: Vec<&str> = words
        .map(|word| if is_moment(word) { "*" } else { word })
        .collect();
    told.join(" ")
}

#[test]
fn times_are_kept() {
    const EXPIRED: &str = "the assertion, its session or its confirmation ended * s ago, at * (clock skew allowed: 60 s)";
    const FUTURE: &str = "the assertion begins in * s, at * (clock skew allowed: 60 s)";
    let (past, future) = (in_seconds(-61), in_seconds(63));
    let audience = format!(
        "<saml:AudienceRestriction><saml:Audience>{AUDIENCE}</saml:Audience></saml:AudienceRestriction>"
    );
    let audience_11 = format!(
        "<saml:AudienceRestrictionCondition><saml:Audience>{AUDIENCE}</saml:Audience></saml:AudienceRestrictionCondition>"
    );
    let limited = |attributes: &str, audience: &str| {
        format!("<saml:Conditions {attributes}>{audience}</saml:Conditions>")
    };
    let ended = format!("NotOnOrAfter=\"{past}\"");
    let begins = format!("NotBefore=\"{future}\"");
    let authenticated =
        |attributes: &str| format!("<saml:AuthnStatement AuthnInstant=\"{past}\" {attributes}/>");
    let data = |attributes: &str| {
        confirmation(
            SamlVersion::V20,
            "bearer",
            &format!("<saml:SubjectConfirmationData {attributes}/>"),
        )
    };
    let (v11, v20) = (SamlVersion::V11, SamlVersion::V20);
    let cases = [
        (
            "an expired assertion",
            with_conditions(v20, &limited(&ended, &audience)),
            EXPIRED,
        ),
        (
            "an expired assertion of 1.1",
            with_conditions(v11, &limited(&ended, &audience_11)),
            EXPIRED,
        ),
        (
            "an assertion that begins later",
            with_conditions(v20, &limited(&begins, &audience)),
            FUTURE,
        ),
        (
            "an assertion of 1.1 that begins later",
            with_conditions(v11, &limited(&begins, &audience_11)),
            FUTURE,
        ),
        (
            "an assertion made in the future",
            saying(v20, |draft| draft.issued = future.clone()),
            FUTURE,
        ),
        (
            "an assertion of 1.1 made in the future",
            saying(v11, |draft| draft.issued = future.clone()),
            FUTURE,
        ),
        (
            "an old assertion without an end",
            saying(v20, |draft| {
                draft.issued = in_seconds(-1861);
                draft.conditions = limited("", &audience);
            }),
            EXPIRED,
        ),
        (
            "an old assertion of 1.1 without an end",
            saying(v11, |draft| {
                draft.issued = in_seconds(-1861);
                draft.conditions = limited("", &audience_11);
            }),
            EXPIRED,
        ),
        (
            "an ended session",
            saying(v20, |draft| {
                draft.statements = authenticated(&format!("SessionNotOnOrAfter=\"{past}\""))
            }),
            EXPIRED,
        ),
        (
            "one ended session of two",
            saying(v20, |draft| {
                draft.statements = authenticated(&format!("SessionNotOnOrAfter=\"{past}\""))
                    + &authenticated(&format!("SessionNotOnOrAfter=\"{}\"", in_seconds(600)))
            }),
            EXPIRED,
        ),
        (
            "an ended confirmation",
            saying(v20, |draft| draft.confirmation = data(&ended)),
            EXPIRED,
        ),
        (
            "a confirmation that begins later",
            saying(v20, |draft| draft.confirmation = data(&begins)),
            FUTURE,
        ),
    ];
    for (name, message, expected) in cases {
        let refused = open_over_tls(&message).unwrap_err();
        assert_eq!(without_moments(refused.to_string()), expected, "{name}");
        let named = if expected == EXPIRED {
            "assertion-expired"
        } else {
            "assertion-in-future"
        };
        assert_eq!(refused.name(), named, "{name}");
    }
}

#[test]
fn clocks_may_differ_by_the_skew() {
    let conditions = holding(&format!(
        "<saml:AudienceRestriction><saml:Audience>{AUDIENCE}</saml:Audience></saml:AudienceRestriction>"
    ));
    let (past, future) = (in_seconds(-50), in_seconds(50));
    let ended = conditions.replace(&in_seconds(600)[..16], &past[..16]);
    assert!(ended != conditions || past[..16] == in_seconds(600)[..16]);
    let begins = saying(SamlVersion::V20, |draft| draft.issued = future);
    open_over_tls(&begins).unwrap();
    let ends = saying(SamlVersion::V20, |draft| {
        draft.conditions = draft.conditions.replace(&in_seconds(600), &past);
        draft.conditions = draft.conditions.replace(&in_seconds(-30), &in_seconds(-90));
    });
    open_over_tls(&ends).unwrap();
}

#[test]
fn every_condition_holds_and_is_understood() {
    let (v11, v20) = (SamlVersion::V11, SamlVersion::V20);
    let audience = |names: &[&str]| {
        let names = names
            .iter()
            .map(|name| format!("<saml:Audience>{name}</saml:Audience>"));
        names.collect::<String>()
    };
    let of_20 = |names: &[&str]| {
        format!(
            "<saml:AudienceRestriction>{}</saml:AudienceRestriction>",
            audience(names)
        )
    };
    let of_11 = |names: &[&str]| {
        format!(
            "<saml:AudienceRestrictionCondition>{}</saml:AudienceRestrictionCondition>",
            audience(names)
        )
    };
    let for_us = of_20(&[AUDIENCE]);
    let cases: Vec<Case> = vec![
        ("another audience", with_conditions(v20, &holding(&of_20(&["https://other.example"]))), "audience-mismatch: expected an assertion for an audience of this endpoint, found one for `https://other.example`"),
        ("another audience of 1.1", with_conditions(v11, &holding(&of_11(&["https://other.example"]))), "audience-mismatch: expected an assertion for an audience of this endpoint, found one for `https://other.example`"),
        ("an audience that begins like ours", with_conditions(v20, &holding(&of_20(&["https://service.example.evil"]))), "audience-mismatch: expected an assertion for an audience of this endpoint, found one for `https://service.example.evil`"),
        ("no audience", with_conditions(v20, &holding("")), "audience-mismatch: expected an assertion for an audience of this endpoint, found one for `none`"),
        ("no conditions", with_conditions(v20, ""), "audience-mismatch: expected an assertion for an audience of this endpoint, found one for `none`"),
        ("no conditions of 1.1", with_conditions(v11, ""), "audience-mismatch: expected an assertion for an audience of this endpoint, found one for `none`"),
        // SAML Core 2.0, 2.5.1.4: several restrictions hold together.
        ("a second restriction for others", with_conditions(v20, &holding(&(for_us.clone() + &of_20(&["urn:a", "urn:b"])))), "audience-mismatch: expected an assertion for an audience of this endpoint, found one for `urn:a, urn:b`"),
        ("a second restriction of 1.1 for others", with_conditions(v11, &holding(&(of_11(&[AUDIENCE]) + &of_11(&["urn:a"])))), "audience-mismatch: expected an assertion for an audience of this endpoint, found one for `urn:a`"),
        ("a restriction without an audience", with_conditions(v20, &holding(&of_20(&[]))), "malformed: `saml:Assertion`: expected an `Audience` in the restriction"),
        ("a condition of a stranger", with_conditions(v20, &holding(&(for_us.clone() + "<x:Only xmlns:x=\"urn:x\"/>"))), "condition-unknown: the assertion has a condition that is not understood, `{urn:x}Only`"),
        ("an abstract condition", with_conditions(v20, &holding(&(for_us.clone() + "<saml:Condition xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xmlns:x=\"urn:x\" xsi:type=\"x:Only\"/>"))), "condition-unknown: the assertion has a condition that is not understood, `{urn:oasis:names:tc:SAML:2.0:assertion}Condition`"),
        ("a condition of 2.0 in 1.1", with_conditions(v11, &holding(&(of_11(&[AUDIENCE]) + "<saml:OneTimeUse/>"))), "condition-unknown: the assertion has a condition that is not understood, `{urn:oasis:names:tc:SAML:1.0:assertion}OneTimeUse`"),
        ("one use, said twice", with_conditions(v20, &holding(&(for_us.clone() + "<saml:OneTimeUse/><saml:OneTimeUse/>"))), "malformed: `saml:Assertion`: expected a condition once, found it twice"),
        ("one use with content", with_conditions(v20, &holding(&(for_us.clone() + "<saml:OneTimeUse><x/></saml:OneTimeUse>"))), "malformed: `saml:Assertion`: expected no `x` in this place"),
        ("conditions of another type", with_conditions(v20, &holding(&for_us).replace("<saml:Conditions ", "<saml:Conditions xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:type=\"x:Lax\" ")), "malformed: `saml:Assertion`: expected no attribute `xsi:type` in `Conditions`"),
        ("an unknown limit", with_conditions(v20, &holding(&for_us).replace("NotOnOrAfter", "NotAfter")), "malformed: `saml:Assertion`: expected no attribute `NotAfter` in `Conditions`"),
        ("a time without a zone", with_conditions(v20, &holding(&for_us).replace("Z\"", "\"")), ""),
        ("text among the conditions", with_conditions(v20, &holding(&format!("{for_us}unless"))), "malformed: `saml:Assertion`: expected no text in `Conditions`"),
        ("an end before the beginning", with_conditions(v20, &format!("<saml:Conditions NotBefore=\"{}\" NotOnOrAfter=\"{}\">{for_us}</saml:Conditions>", in_seconds(20), in_seconds(10))), "malformed: `saml:Assertion`: expected `NotBefore` before `NotOnOrAfter`"),
    ];
    let (unzoned, cases): (Vec<Case>, Vec<Case>) = cases
        .into_iter()
        .partition(|(_, _, expected)| expected.is_empty());
    for (name, message, _) in unzoned {
        let refused = open_over_tls(&message).unwrap_err().to_string();
        assert!(
            refused.starts_with(
                "`saml:Assertion`: expected `NotOnOrAfter` as xsd:dateTime with a time zone, four digits of the year and an hour below 24"
            ),
            "{name}: {refused}"
        );
    }
    refuse_all(cases, open_over_tls);
    // Where no audience is ours, one that names nobody is for everybody, and no other.
    let everybody = adjusted(&by_connection(), |accepted| accepted.audiences.clear());
    let open = |message: &str| open_as(&everybody, message, &Facts::default());
    open(&with_conditions(v20, &holding(""))).unwrap();
    let cases = vec![(
        "an audience where none is ours",
        with_conditions(v20, &holding(&for_us)),
        "audience-mismatch: expected an assertion for an audience of this endpoint, found one for `https://service.example`",
    )];
    refuse_all(cases, open);
}

/// The keys that a replay cache is asked about.
fn marks(message: &str, change: impl Fn(&mut AssertionPolicy)) -> Vec<([u8; 32], bool)> {
    let policy = adjusted(&by_connection(), change);
    let plan = InboundPlan::compile(policy, knowing_issuers()).unwrap();
    let facts = Facts::default();
    let opened = plan.open_unmarked(envelope(message), &facts, moment(), &mut Buffers::default());
    let opened = opened.unwrap();
    let remembered = moment().as_second() + 600;
    let marks = opened.marks().iter();
    marks
        .map(|mark| (mark.key, mark.until.as_second() >= remembered))
        .collect()
}

#[test]
fn an_assertion_for_one_use_is_remembered_until_it_ends() {
    for version in SamlVersion::ALL {
        let condition = match version {
            SamlVersion::V20 => "<saml:OneTimeUse/>",
            SamlVersion::V11 => "<saml:DoNotCacheCondition/>",
        };
        let once = saying(version, |draft| {
            draft.conditions = conditions(version, condition)
        });
        let again = once
            .replace("<e:echo ", "<e:other ")
            .replace("</e:echo>", "</e:other>");
        let other = saying(version, |draft| {
            draft.conditions = conditions(version, condition);
            draft.id = "_other".to_owned();
        });
        let other = other.replace("#_assertion", "#_other");
        let [(first, remembered)] = marks(&once, |_| {})[..] else {
            panic!("expected one mark");
        };
        assert!(remembered);
        // The message around it does not matter.
        assert_eq!(marks(&again, |_| {}), [(first, true)]);
        assert_ne!(marks(&other, |_| {}), [(first, true)]);
        let often = saying(version, |_| {});
        assert_eq!(marks(&often, |_| {}), []);
        assert_eq!(
            marks(&often, |accepted| accepted.once = true),
            [(first, true)]
        );
    }
}

/// The life of an assertion ends its memory, and nothing does before.
#[test]
fn an_assertion_without_an_end_is_remembered_for_its_longest_age() {
    let restriction = format!(
        "<saml:AudienceRestriction><saml:Audience>{AUDIENCE}</saml:Audience></saml:AudienceRestriction><saml:OneTimeUse/>"
    );
    let message = with_conditions(
        SamlVersion::V20,
        &format!("<saml:Conditions>{restriction}</saml:Conditions>"),
    );
    let short = marks(&message, |accepted| {
        accepted.most_age = Duration::from_secs(120)
    });
    assert!(!short[0].1);
    assert!(marks(&message, |_| {})[0].1);
}
