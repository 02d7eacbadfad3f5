//! Messages of other projects: what each breaks of the Basic Security Profile or of AS4, and why
//! that agrees with the verdict that its project gives.
//!
//! WSS4J is the project whose verdicts know the profile: it refuses two security headers for one
//! actor. Its other messages are older than its checks, or are read with the checks switched off.

use std::collections::BTreeSet;

use soapstone_lint::{Choice, Profile, Profiles, lint};

/// A message, the rules that it breaks, and the reason.
const BROKEN: &[(&str, &[&str], &str)] = &[
    (
        "wss4j-inline/DUPLICATE_NULL_ACTOR_MSG_SecurityHeaderTest",
        &["R3206"],
        "the message is refused for that",
    ),
    (
        "wss4j-inline/DUPLICATE_ACTOR_MSG_SecurityHeaderTest",
        &["R3210"],
        "the message is refused for that",
    ),
    (
        "wss4j-inline/SOAPUTMSG_WCFUsernameTokenTest",
        &["R4201"],
        "WCF leaves the type of a password out, and WSS4J reads that with its checks off",
    ),
    (
        "wss4j-inline/plain-soap-encryptedHeader",
        &["R3059"],
        "a reference to a derived key without a type",
    ),
    ("cxf-wss/encrypted_body_content", CXF, CXF_WHY),
    ("cxf-wss/encrypted_missing_enc_body", CXF, CXF_WHY),
    (
        "cxf-wss/encrypted_body_element",
        &["R3069", "R3228", "R5607", "R5614"],
        CXF_WHY,
    ),
    (
        "cxf-wss/encrypted_body_content_signed",
        CXF_SIGNED,
        CXF_SIGNED_WHY,
    ),
    (
        "cxf-wss/encrypted_body_content_signed_missing_signed_header",
        CXF_SIGNED,
        CXF_SIGNED_WHY,
    ),
    (
        "cxf-wss/encrypted_body_content_signed_with_encrypted_header",
        &["R3058", "R3069", "R3204", "R5205"],
        "one wsu:Id on two elements, and the signature in front of its token",
    ),
    (
        "cxf-wss/wss-242",
        &["R3004", "R3069", "R3228", "R5215", "R5614"],
        "a header of before EncryptedHeader, and a certificate path without its TokenType",
    ),
    (
        "cxf-wss/wss-242-with-encryptedheader",
        &["R3004", "R3069", "R5215"],
        "a certificate path without its TokenType",
    ),
    (
        "rampart-msgs/req02",
        &["R3058", "R3069"],
        "the type of an encrypted key as a draft of the SAML profile has it",
    ),
    ("rampart-msgs/req09", &["R3069"], RAMPART_WHY),
    ("rampart-msgs/res03", &["R3069"], RAMPART_WHY),
    ("rampart-msgs/cres04", &["R3059"], RAMPART_WHY),
    ("rampart-msgs/res04", &["R3059"], RAMPART_WHY),
    ("rampart-msgs/rstr04", &["R3059", "R3069"], RAMPART_WHY),
    (
        "signxml/request",
        &["R5402", "R5407"],
        "two children of KeyInfo, and an empty list of prefixes",
    ),
    (
        "signer/output_5_with_x509_data",
        &["R5417"],
        "the certificate stands in the KeyInfo itself, as the name says",
    ),
    (
        "wstrust-adal/RST",
        &["R3217", "R3223", "R4201"],
        "words stand in place of times, and the password has no type",
    ),
    (
        "wstrust-adal/common.rstr",
        &["R6610"],
        "WCF names an assertion of the message by its identifier",
    ),
    (
        "phase4-as4/WrongSigningDigestAlgorithm",
        &["R5420"],
        "the algorithm is what is wrong, as the name says",
    ),
    (
        "phase4-as4/WrongSigningAlgorithm",
        &["R5421"],
        "the algorithm is what is wrong, as the name says",
    ),
];

const CXF: &[&str] = &["R3069", "R3228", "R5614"];
const CXF_WHY: &str = "messages of WSS4J 1.5, of before EncryptedHeader and TokenType";
const CXF_SIGNED: &[&str] = &["R3058", "R3069", "R3228", "R5205", "R5614"];
const CXF_SIGNED_WHY: &str =
    "messages of WSS4J 1.5, of before EncryptedHeader and TokenType; the token stands last";
const RAMPART_WHY: &str = "Rampart leaves TokenType and ValueType out";

/// A message of AS4, the rules that it breaks, and the reason.
const OF_AS4: &[(&str, &[&str], &str)] = &[
    (
        "phase4-as4/external/soap11test/BundledMessage",
        &["eb-error-reference"],
        AS4_ERRORS,
    ),
    (
        "phase4-as4/external/soap11test/EmptyMessaging",
        &["eb-messaging-content"],
        "no message unit, as the name says",
    ),
    (
        "phase4-as4/external/soap11test/ErrorMessage",
        &["eb-error-reference"],
        AS4_ERRORS,
    ),
    (
        "phase4-as4/external/soap11test/MessageInfoImaginaryTimestamp",
        &["eb-timestamp"],
        "the thirtieth month, as the name says",
    ),
    (
        "phase4-as4/external/soap12test/test-2023-03-15",
        &["eb-message-id", "eb-timestamp"],
        "local time, and a UUID without a domain",
    ),
    (
        "phase4-as4/UserMessageWithoutWSSE",
        &["eb-party-id-uri"],
        AS4_PARTY,
    ),
    (
        "phase4-as4/testfiles/ErrorMessageNoRefToMessageID",
        &["eb-error-reference", "eb-must-understand"],
        "the error names an empty id, and nothing must be understood",
    ),
    (
        "phase4-as4/testfiles/NoResponder",
        &["eb-party-info"],
        "no receiver, as the name says",
    ),
    (
        "phase4-as4/testfiles/TestReceipt11",
        &["as4-receipt-content", "as4-signed-messaging"],
        "an old receipt: the whole envelope is copied, and the Body alone is signed",
    ),
    (
        "phase4-as4/testfiles/TestReceipt12",
        &["as4-messaging-id"],
        "the header is signed by its wsu:Id, as every product does",
    ),
    (
        "phase4-as4/testfiles/TwoUserMessages",
        &[
            "eb-must-understand",
            "eb-one-user-message",
            "eb-party-id-uri",
            "eb-timestamp",
        ],
        "two user messages, as the name says, in local time and with the marks of an old example",
    ),
    (
        "phase4-as4/testfiles/UserMessageNoPartyID",
        &["eb-empty-value", "eb-must-understand", "eb-timestamp"],
        "empty ids of parties, as the name says, in local time",
    ),
    (
        "phase4-as4/testfiles/WrongSigningAlgorithm",
        &["as4-signed-messaging", "eb-party-id-uri", "eb-timestamp"],
        AS4_OLD,
    ),
    (
        "phase4-as4/testfiles/WrongSigningDigestAlgorithm",
        &["as4-signed-messaging", "eb-party-id-uri", "eb-timestamp"],
        AS4_OLD,
    ),
];

const AS4_ERRORS: &str = "errors about messages that their signal does not name, as the sample of the specification has them";
const AS4_PARTY: &str = "ids of parties without a type, which are no URIs";
const AS4_OLD: &str =
    "local time, ids of parties without a type, and a signature over the Body alone";

#[test]
fn messages_of_as4_break_the_rules_that_are_listed_and_no_others() {
    let Some(cases) = soapstone_testkit::outside_cases() else {
        return;
    };
    let mut problems = Vec::new();
    let mut looked_at = BTreeSet::new();
    for case in cases.iter().filter(|case| case.suite == "phase4-as4") {
        let name = case.id.as_str();
        looked_at.insert(name);
        let listed = OF_AS4.iter().find(|(known, ..)| *known == name);
        let expected: BTreeSet<&str> = listed
            .into_iter()
            .flat_map(|(_, rules, _)| *rules)
            .copied()
            .collect();
        let choice = Choice::Of(Profiles::of(Profile::As4));
        let report = lint(case.input(), &choice, &|_| None);
        let report = report.unwrap_or_else(|error| panic!("{}: {error}", case.id));
        let found: BTreeSet<&str> = report.findings.iter().map(|one| one.rule.id).collect();
        if found != expected {
            problems.push(format!("{name}: expected {expected:?}, found {found:?}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    assert_eq!(looked_at.len(), 19);
    for (name, ..) in OF_AS4 {
        assert!(looked_at.contains(name), "{name} is no case");
    }
}

#[test]
fn messages_of_other_projects_break_the_rules_that_are_listed_and_no_others() {
    let mut problems = Vec::new();
    for case in ["wss-open", "wss-policy", "wss-parse"]
        .iter()
        .flat_map(|kind| soapstone_testkit::cases(kind))
    {
        let stem = case.file.rsplit('/').next().unwrap_or(&case.file);
        let stem = stem.rsplit_once('.').map_or(stem, |(stem, _)| stem);
        let name = format!("{}/{stem}", case.suite);
        let listed = BROKEN.iter().find(|(known, ..)| *known == name);
        let expected: BTreeSet<&str> = listed
            .into_iter()
            .flat_map(|(_, rules, _)| *rules)
            .copied()
            .collect();
        let choice = Choice::Of(Profiles::of(Profile::Bsp));
        let report = lint(case.input(), &choice, &|_| None);
        let report = report.unwrap_or_else(|error| panic!("{}: {error}", case.id));
        let found: BTreeSet<&str> = report.findings.iter().map(|one| one.rule.id).collect();
        if found != expected {
            problems.push(format!("{name}: expected {expected:?}, found {found:?}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}
