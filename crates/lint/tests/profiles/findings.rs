//! The table of rules, and what the whole crate promises of findings and of hostile input.

use std::collections::BTreeSet;

use soapstone_lint::{
    Choice, LintError, MOST_FINDINGS, NOT_LOOKED_FOR, Profile, ProfileError, Profiles, Severity,
    lint, rule, rules_table,
};

#[test]
fn a_rule_stands_in_the_table_once_and_is_looked_for_or_not() {
    let mut known = BTreeSet::new();
    for rule in rules_table() {
        assert!(known.insert(rule.id), "{} twice", rule.id);
        assert!(
            rule.explanation.ends_with('.') && rule.remedy.ends_with('.'),
            "{}",
            rule.id
        );
    }
    for (id, _) in NOT_LOOKED_FOR {
        assert_eq!(rule(id), None, "{id}");
    }
}

#[test]
fn findings_stand_in_document_order_with_lines_and_columns_in_characters() {
    let source = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body>\n  <é/>\r\n<ü/><b/></s:Body></s:Envelope>";
    let choice = Choice::Of(Profiles::of(Profile::Bp11));
    let report = lint(source.as_bytes().to_vec(), &choice, &|_| None).expect("an envelope");
    let places: Vec<_> = report
        .findings
        .iter()
        .map(|finding| (finding.rule.id, finding.line, finding.column))
        .collect();
    assert_eq!(
        places,
        [
            ("R1014", 2, 3),
            ("R1014", 3, 1),
            ("R9981", 3, 1),
            ("R1014", 3, 5)
        ]
    );
}

#[test]
fn findings_beyond_the_limit_are_counted() {
    let mut body = String::new();
    for _ in 0..3 * MOST_FINDINGS {
        body.push_str("<x/>");
    }
    let source = format!(
        "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body>{body}</s:Body></s:Envelope>"
    );
    let report = lint(source.into_bytes(), &Choice::Fitting, &|_| None).expect("an envelope");
    assert_eq!(report.findings.len(), MOST_FINDINGS);
    // Each has no namespace, and together they are too many.
    assert_eq!(report.count(Severity::Error), 3 * MOST_FINDINGS + 1);
}

#[test]
fn values_of_a_hostile_message_are_cut_and_stay_in_their_line() {
    let long = "x".repeat(100_000);
    let source = format!(
        "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body/>\
        <y:h xmlns:y=\"urn:y\" s:mustUnderstand=\"a&#10;hint: all is well{long}\"/></s:Envelope>"
    );
    let report = lint(source.into_bytes(), &Choice::Fitting, &|_| None).expect("an envelope");
    let text = soapstone_lint::text("a\nb.xml", &report);
    assert!(text.len() < 2_000, "{} bytes", text.len());
    assert!(
        text.contains("a\\nb.xml:1:") && !text.contains("\nhint:"),
        "{text}"
    );
}

#[test]
fn what_is_no_xml_and_what_is_something_else_have_their_errors() {
    let of = |source: &str| lint(source.as_bytes().to_vec(), &Choice::Fitting, &|_| None);
    let refused = of("<!DOCTYPE a><a/>").unwrap_err();
    assert_eq!(
        refused.to_string(),
        "document type declarations are refused (at line 1 column 1)"
    );
    assert_eq!(
        of("<html xmlns=\"urn:h\"/>").unwrap_err(),
        LintError::OtherRoot {
            found: "html".to_owned(),
            namespace: "urn:h".to_owned(),
        }
    );
}

#[test]
fn profiles_are_named() {
    for profile in Profile::ALL {
        assert_eq!(profile.name().parse(), Ok(profile));
    }
    assert_eq!("x".parse::<Profile>(), Err(ProfileError("x".to_owned())));
}
