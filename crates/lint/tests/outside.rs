//! Messages of other projects: what each breaks of the Basic Security Profile, and why that agrees
//! with the verdict that its project gives.
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
