//! Assertions that are not as their schema has them: refused before a key is looked at, although
//! their issuer has signed them.

use soapstone_wss::{Facts, SamlVersion};

use super::issuing::*;
use super::{Case, refuse_all};

fn signed(unsigned: &str) -> String {
    message(&sign(unsigned, &SignatureForm::of(ID), &IDP))
}

/// A message with a right assertion of SAML 2.0, in which one text is another one before it is
/// signed.
fn replaced(from: &str, to: &str) -> String {
    replaced_in(SamlVersion::V20, from, to)
}

fn replaced_in(version: SamlVersion, from: &str, to: &str) -> String {
    let unsigned = Draft::bearer(version).unsigned();
    assert!(unsigned.contains(from), "{from} in {unsigned}");
    signed(&unsigned.replacen(from, to, 1))
}

fn without_issuer() -> String {
    let unsigned = Draft::bearer(SamlVersion::V20).unsigned();
    unsigned.replace("<saml:Issuer>https://idp.example</saml:Issuer>", "")
}

#[test]
fn the_schema_is_kept() {
    let v11 = SamlVersion::V11;
    let subject_11 = {
        let unsigned = Draft::bearer(v11).unsigned();
        let start = unsigned.find("<saml:Subject>").unwrap();
        let end = unsigned.find("</saml:Subject>").unwrap() + "</saml:Subject>".len();
        unsigned[start..end].to_owned()
    };
    let second_statement = |subject: &str| {
        format!(
            "</saml:AttributeStatement><saml:AuthenticationStatement AuthenticationMethod=\"urn:a\" AuthenticationInstant=\"{}\">{subject}</saml:AuthenticationStatement></saml:Assertion>",
            in_seconds(-5)
        )
    };
    let ending_11 = "</saml:AttributeStatement></saml:Assertion>";
    let cases: Vec<Case> = vec![
        (
            "another version",
            replaced("Version=\"2.0\"", "Version=\"2.1\""),
            "malformed: `saml:Assertion`: expected `Version` 2.0",
        ),
        (
            "SAML 1.0",
            replaced_in(v11, "MinorVersion=\"1\"", "MinorVersion=\"0\""),
            "malformed: `saml:Assertion`: expected `MajorVersion` and `MinorVersion` 1.1",
        ),
        (
            "no issuer",
            message(&sign(&without_issuer(), &SignatureForm::of(ID), &IDP)),
            "malformed: `saml:Assertion`: expected `Issuer` in `Assertion`, found `{urn:oasis:names:tc:SAML:2.0:assertion}Subject`",
        ),
        (
            "an issuer without a name",
            replaced(">https://idp.example<", "> <"),
            "malformed: `saml:Assertion`: expected a short text in `Issuer`",
        ),
        // SAML Core 2.0, 8.3.6.
        (
            "an issuer with a qualifier",
            replaced("<saml:Issuer>", "<saml:Issuer NameQualifier=\"x\">"),
            "malformed: `saml:Assertion`: expected no attribute `NameQualifier` in `Issuer`",
        ),
        (
            "an issuer with elements",
            replaced(
                ">https://idp.example<",
                ">https://idp.example<saml:Issuer/><",
            ),
            "malformed: `saml:Assertion`: expected text alone in `Issuer`",
        ),
        (
            "a subject in front of the issuer",
            replaced("<saml:Issuer>", "<saml:Subject/><saml:Issuer>"),
            "malformed: `saml:Assertion`: expected `Issuer` in `Assertion`, found `{urn:oasis:names:tc:SAML:2.0:assertion}Subject`",
        ),
        (
            "no subject",
            replaced("<saml:Subject>", "<saml:Advice/><saml:Subject>"),
            "malformed: `saml:Assertion`: expected `Subject` in `Assertion`, found `{urn:oasis:names:tc:SAML:2.0:assertion}Advice`",
        ),
        (
            "two subjects",
            replaced(
                "</saml:Subject>",
                "</saml:Subject><saml:Subject><saml:NameID>mallory</saml:NameID></saml:Subject>",
            ),
            "malformed: `saml:Assertion`: expected no `{urn:oasis:names:tc:SAML:2.0:assertion}Subject` in this place",
        ),
        (
            "two identifiers",
            replaced(
                "<saml:NameID>",
                "<saml:NameID>mallory</saml:NameID><saml:NameID>",
            ),
            "malformed: `saml:Assertion`: expected no `{urn:oasis:names:tc:SAML:2.0:assertion}NameID` in this place",
        ),
        (
            "no identifier",
            replaced("<saml:NameID>alice</saml:NameID>", ""),
            "malformed: `saml:Assertion`: expected `NameID` in `Subject`, found `{urn:oasis:names:tc:SAML:2.0:assertion}SubjectConfirmation`",
        ),
        (
            "an identifier of no type",
            replaced("<saml:NameID>alice</saml:NameID>", "<saml:BaseID/>"),
            "malformed: `saml:Assertion`: expected `NameID` in `Subject`, found `{urn:oasis:names:tc:SAML:2.0:assertion}BaseID`",
        ),
        (
            "an encrypted identifier",
            replaced("<saml:NameID>alice</saml:NameID>", "<saml:EncryptedID/>"),
            "malformed: `saml:Assertion`: expected no cipher text inside of an assertion",
        ),
        (
            "an encrypted attribute",
            replaced(
                "<saml:Attribute ",
                "<saml:EncryptedAttribute/><saml:Attribute ",
            ),
            "malformed: `saml:Assertion`: expected no cipher text inside of an assertion",
        ),
        (
            "cipher text in a value",
            replaced(
                ">reader<",
                "><xenc:EncryptedData xmlns:xenc=\"http://www.w3.org/2001/04/xmlenc#\"/><",
            ),
            "malformed: `saml:Assertion`: expected no cipher text inside of an assertion",
        ),
        (
            "a decision on authorization",
            replaced(
                "<saml:AttributeStatement>",
                "<saml:AuthzDecisionStatement Resource=\"x\" Decision=\"Deny\"/><saml:AttributeStatement>",
            ),
            "malformed: `saml:Assertion`: expected no `{urn:oasis:names:tc:SAML:2.0:assertion}AuthzDecisionStatement` in this place",
        ),
        (
            "a statement of a stranger",
            replaced(
                "<saml:AttributeStatement>",
                "<saml:Statement xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:type=\"x:y\"/><saml:AttributeStatement>",
            ),
            "malformed: `saml:Assertion`: expected no `{urn:oasis:names:tc:SAML:2.0:assertion}Statement` in this place",
        ),
        (
            "an assertion of another type",
            replaced(
                "<saml:Assertion",
                "<saml:Assertion xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xsi:type=\"saml:AdviceType\"",
            ),
            "malformed: `saml:Assertion`: expected no attribute `xsi:type` in `Assertion`",
        ),
        (
            "an assertion of a stranger's type",
            replaced(
                "<saml:Assertion",
                "<saml:Assertion xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" xmlns:x=\"urn:x\" xsi:type=\"x:AssertionType\"",
            ),
            "malformed: `saml:Assertion`: expected no attribute `xsi:type` in `Assertion`",
        ),
        (
            "conditions behind a statement",
            replaced(
                "</saml:AttributeStatement>",
                "</saml:AttributeStatement><saml:Conditions/>",
            ),
            "malformed: `saml:Assertion`: expected no `{urn:oasis:names:tc:SAML:2.0:assertion}Conditions` in this place",
        ),
        (
            "two conditions",
            replaced("</saml:Conditions>", "</saml:Conditions><saml:Conditions/>"),
            "malformed: `saml:Assertion`: expected no `{urn:oasis:names:tc:SAML:2.0:assertion}Conditions` in this place",
        ),
        (
            "an attribute that is there twice",
            replaced(
                "</saml:Attribute>",
                "</saml:Attribute><saml:Attribute Name=\"role\"><saml:AttributeValue>admin</saml:AttributeValue></saml:Attribute>",
            ),
            "malformed: `saml:Assertion`: the attribute `role` is there twice",
        ),
        (
            "an attribute in a second statement",
            replaced(
                "</saml:AttributeStatement>",
                "</saml:AttributeStatement><saml:AttributeStatement><saml:Attribute Name=\"role\"><saml:AttributeValue>admin</saml:AttributeValue></saml:Attribute></saml:AttributeStatement>",
            ),
            "malformed: `saml:Assertion`: the attribute `role` is there twice",
        ),
        (
            "something else among the values",
            replaced(
                "</saml:AttributeValue>",
                "</saml:AttributeValue><saml:Value>admin</saml:Value>",
            ),
            "malformed: `saml:Assertion`: expected no `{urn:oasis:names:tc:SAML:2.0:assertion}Value` in this place",
        ),
        // CVE-2025-66567: an attribute in two namespaces is two attributes.
        (
            "a second id, with a prefix",
            replaced(
                "ID=\"_assertion\"",
                "ID=\"_assertion\" xmlns:x=\"urn:x\" x:ID=\"_other\"",
            ),
            "malformed: `saml:Assertion`: expected no attribute `x:ID` in `Assertion`",
        ),
        (
            "an attribute of no schema",
            replaced("Version=\"2.0\"", "Version=\"2.0\" Id=\"_x\""),
            "malformed: `saml:Assertion`: expected no attribute `Id` in `Assertion`",
        ),
        (
            "no moment of its making",
            replaced("IssueInstant", "xmlns:x=\"urn:x\" IssueTime"),
            "malformed: `saml:Assertion`: expected no attribute `IssueTime` in `Assertion`",
        ),
        (
            "no subject in 1.1",
            replaced_in(v11, &subject_11, ""),
            "malformed: `saml:Assertion`: expected `Subject` in `AttributeStatement`, found `{urn:oasis:names:tc:SAML:1.0:assertion}Attribute`",
        ),
        (
            "two subjects in 1.1",
            replaced_in(
                v11,
                ending_11,
                &second_statement(&subject_11.replace("alice", "mallory")),
            ),
            "malformed: `saml:Assertion`: expected one subject, found several",
        ),
        (
            "a subject confirmed in two ways in 1.1",
            replaced_in(
                v11,
                ending_11,
                &second_statement(&subject_11.replace("bearer", "sender-vouches")),
            ),
            "malformed: `saml:Assertion`: expected one subject, found several",
        ),
        (
            "a subject without a confirmation method in 1.1",
            replaced_in(
                v11,
                "<saml:ConfirmationMethod>urn:oasis:names:tc:SAML:1.0:cm:bearer</saml:ConfirmationMethod>",
                "",
            ),
            "malformed: `saml:Assertion`: expected a `ConfirmationMethod`, found none",
        ),
        (
            "a decision on authorization in 1.1",
            replaced_in(
                v11,
                "<saml:AttributeStatement>",
                "<saml:AuthorizationDecisionStatement Resource=\"x\" Decision=\"Deny\"/><saml:AttributeStatement>",
            ),
            "malformed: `saml:Assertion`: expected no `{urn:oasis:names:tc:SAML:1.0:assertion}AuthorizationDecisionStatement` in this place",
        ),
        (
            "an element of 2.0 in 1.1",
            replaced_in(
                v11,
                "<saml:AttributeStatement>",
                "<s2:Advice xmlns:s2=\"urn:oasis:names:tc:SAML:2.0:assertion\"/><saml:AttributeStatement>",
            ),
            "malformed: `saml:Assertion`: expected no `{urn:oasis:names:tc:SAML:2.0:assertion}Advice` in this place",
        ),
    ];
    let cases = cases
        .into_iter()
        .filter(|(_, _, expected)| !expected.is_empty());
    refuse_all(cases.collect(), open_over_tls);
    // What is right in two statements is right.
    open_over_tls(&replaced_in(v11, ending_11, &second_statement(&subject_11))).unwrap();
}

/// CVE-2017-11427, CVE-2017-11428, CVE-2018-0489, CVE-2025-29775: canonicalization leaves comments
/// out, and readers of text end at them.
#[test]
fn no_comment_cuts_a_value() {
    const HIDDEN: &str =
        "malformed: `saml:Assertion`: expected no comments and no processing instructions";
    let assertion = Draft {
        subject: "alice.evil".to_owned(),
        ..Draft::bearer(SamlVersion::V20)
    }
    .signed();
    let put = |from: &str, to: &str| {
        assert!(assertion.contains(from), "{from} in {assertion}");
        message(&assertion.replacen(from, to, 1))
    };
    let cases = vec![
        (
            "a comment in the subject",
            put("alice.evil", "alice<!---->.evil"),
            HIDDEN,
        ),
        (
            "a processing instruction in the subject",
            put("alice.evil", "alice<?x?>.evil"),
            HIDDEN,
        ),
        (
            "a comment in front of the subject",
            put("alice.evil", "<!--x-->alice.evil"),
            HIDDEN,
        ),
        (
            "a comment in the issuer",
            put("https://idp.example", "https://idp<!---->.example"),
            HIDDEN,
        ),
        (
            "a comment in the audience",
            put(
                "https://service.example<",
                "https://service.example<!--x--><",
            ),
            HIDDEN,
        ),
        (
            "a comment in an attribute value",
            put("reader", "rea<!---->der"),
            HIDDEN,
        ),
        (
            "a comment between elements",
            put("<saml:Subject>", "<!--x--><saml:Subject>"),
            HIDDEN,
        ),
        (
            "a comment in the digest",
            put("<ds:DigestValue>", "<ds:DigestValue><!--x-->"),
            HIDDEN,
        ),
        (
            "a comment in the value of the signature",
            put("<ds:SignatureValue>", "<ds:SignatureValue><!--x-->"),
            HIDDEN,
        ),
    ];
    refuse_all(cases, open_over_tls);
}

#[test]
fn an_assertion_is_bounded() {
    let v20 = SamlVersion::V20;
    let statement = |content: &str| {
        message(
            &Draft {
                statements: format!("<saml:AttributeStatement>{content}</saml:AttributeStatement>"),
                ..Draft::bearer(v20)
            }
            .signed(),
        )
    };
    let attributes: String = (0..257)
        .map(|number| format!("<saml:Attribute Name=\"{number}\"/>"))
        .collect();
    let values = "<saml:AttributeValue/>".repeat(1025);
    let elements = format!(
        "<saml:AttributeValue>{}</saml:AttributeValue>",
        "<a/>".repeat(4096)
    );
    let confirmations = Draft {
        confirmation: confirmation(v20, "bearer", "").repeat(9),
        ..Draft::bearer(v20)
    };
    let audiences = format!(
        "<saml:AudienceRestriction>{}</saml:AudienceRestriction>",
        "<saml:Audience>x</saml:Audience>".repeat(64)
    );
    let cases = vec![
        (
            "attributes",
            statement(&attributes),
            "too-many: more than 256 attributes of an assertion in one message",
        ),
        (
            "values",
            statement(&format!(
                "<saml:Attribute Name=\"a\">{values}</saml:Attribute>"
            )),
            "too-many: more than 1024 attribute values of an assertion in one message",
        ),
        (
            "elements",
            statement(&format!(
                "<saml:Attribute Name=\"a\">{elements}</saml:Attribute>"
            )),
            "too-many: more than 4096 elements of an assertion in one message",
        ),
        (
            "confirmations",
            message(&confirmations.signed()),
            "too-many: more than 8 confirmations of a subject in one message",
        ),
        (
            "audiences",
            message(
                &Draft {
                    conditions: conditions(v20, &audiences),
                    ..Draft::bearer(v20)
                }
                .signed(),
            ),
            "too-many: more than 64 audiences of an assertion in one message",
        ),
        (
            "a long subject",
            message(
                &Draft {
                    subject: "x".repeat(5000),
                    ..Draft::bearer(v20)
                }
                .signed(),
            ),
            "malformed: `saml:Assertion`: expected a short text in `NameID`",
        ),
        (
            "two assertions",
            message(
                &(Draft::bearer(v20).signed()
                    + &Draft {
                        id: "_second".to_owned(),
                        ..Draft::bearer(v20)
                    }
                    .signed()),
            ),
            "too-many: more than 1 `saml:Assertion` in one message",
        ),
    ];
    refuse_all(cases, open_over_tls);
}

#[test]
fn a_version_that_is_not_accepted_is_refused() {
    for version in SamlVersion::ALL {
        let policy = adjusted(&by_connection(), |accepted| {
            accepted.versions = vec![version]
        });
        let open = |message: &str| open_as(&policy, message, &Facts::default());
        open(&message(&Draft::bearer(version).signed())).unwrap();
        let [other, expected] = match version {
            SamlVersion::V20 => [
                message(&Draft::bearer(SamlVersion::V11).signed()),
                "token-unsupported: token or key reference not accepted: an assertion of SAML 1.1"
                    .to_owned(),
            ],
            SamlVersion::V11 => [
                message(&Draft::bearer(SamlVersion::V20).signed()),
                "token-unsupported: token or key reference not accepted: an assertion of SAML 2.0"
                    .to_owned(),
            ],
        };
        let refused = open(&other).unwrap_err();
        assert_eq!(format!("{}: {refused}", refused.name()), expected);
    }
}
