//! The list of hypotheses, each with a message of these tests that it is the cause of.
//!
//! The rule kept here: a kind of cause that the engine tells fails without a broken message. So
//! does a hypothesis without a kind.

use std::collections::BTreeSet;
use std::path::Path;

use crate::cases::{Case, Cases};
use crate::support::{first_causes, told_with};

/// What senders, proxies and libraries are known to do, and the name of a message that has it. Its
/// case says which kind is told.
const HYPOTHESES: &[(&str, &str)] = &[
    ("white space between elements", "indented"),
    ("white space of base64", "base64 in lines of 76"),
    ("white space of SignedInfo", "SignedInfo indented"),
    ("CR LF", "CR LF"),
    ("another canonicalization", "SignedInfo inclusive"),
    ("comments", "with comments"),
    (
        "a prefix list that is announced and not used",
        "a prefix list announced and not used",
    ),
    (
        "a prefix list that is used and not announced",
        "a prefix list not announced",
    ),
    ("a prefix declared further up", "a declaration further up"),
    ("a prefix declared further down", "a declaration left out"),
    ("another prefix", "the prefix renamed"),
    ("the content in place of the element", "the content alone"),
    ("digested before the id was there", "before the id"),
    (
        "digested before mustUnderstand was there",
        "before mustUnderstand",
    ),
    (
        "digested before an attribute was there",
        "before an attribute",
    ),
    ("> as it is", "> as it is"),
    ("quotes written otherwise", "quotes in text escaped"),
    ("character references", "decimal references"),
    ("the order of attributes", "attributes by name"),
    ("the default of an attribute", "mustUnderstand true"),
    ("empty elements written anew", "empty tags"),
    ("attributes in other quotes", "single quotes"),
    ("not canonicalized", "not canonicalized"),
    ("an XML declaration in front", "an XML declaration"),
    ("Latin-1 taken for UTF-8", "ISO-8859-1 taken for UTF-8"),
    ("a byte order mark", "a byte order mark"),
    ("another normalization form", "normalization form D"),
    (
        "the wrong hash under the right name",
        "SHA-512 signed under the name of SHA-256",
    ),
    ("SHA-1 for SHA-256", "SHA-1 under the name of SHA-256"),
    ("digested twice", "digested twice"),
    ("a digest in hexadecimal", "a digest in hexadecimal"),
    ("digests of two parts swapped", "digests swapped"),
    ("another element", "another block"),
    (
        "a digest that was changed",
        "a digest changed after signing",
    ),
    ("r and s in DER", "ECDSA in DER"),
    ("s in front of r", "ECDSA with s first"),
    ("a code that is cut", "HMAC cut short"),
    ("the key decoded", "HMAC: the key decoded"),
    ("the key in hexadecimal", "HMAC: the key in hexadecimal"),
    ("the key in base64", "HMAC: the key in base64"),
    ("the key hashed", "HMAC: the key hashed"),
    (
        "a method named anew in SignedInfo",
        "SignedInfo with another digest method",
    ),
    ("derived with another label", "derived with another label"),
    (
        "derived with the text of the nonce",
        "derived from the text of the nonce",
    ),
    (
        "derived with the generation as an offset",
        "derived with the generation taken for an offset",
    ),
    ("another certificate", "another certificate"),
    ("another key", "an unknown key"),
    (
        "another method of the same key",
        "PSS under the name of PKCS#1",
    ),
    (
        "a padding that no verifier accepts",
        "RSA: a block that is not padded as it should be",
    ),
    (
        "a session key under another padding",
        "PKCS#1 v1.5 under the name of OAEP",
    ),
    ("the nonce as text", "a digest of the text of the nonce"),
    ("the hashed password", "a digest of the hashed password"),
    ("another password", "another password"),
    ("a moment that was changed", "another end"),
    (
        "a moment in another form",
        "a Timestamp without milliseconds",
    ),
];

/// Kinds that are no hypothesis here, and the file of the tests that tell them of a message.
const ELSEWHERE: [(&str, &str); 19] = [
    ("attribute-removed", "unseen/singles.rs"),
    ("clock", "causes/main.rs"),
    ("content-changed", "causes/main.rs"),
    ("data-cipher", "unseen/keys/encrypted.rs"),
    ("digest-length", "causes/main.rs"),
    ("element-order", "unseen/wire.rs"),
    ("key-kind", "causes/main.rs"),
    ("key-of-another-message", "causes/main.rs"),
    ("namespace-renamed", "unseen/singles.rs"),
    ("other-order", "unseen/keys/encrypted.rs"),
    ("other-secret", "unseen/keys/secrets.rs"),
    ("password-kind", "unseen/keys/passwords.rs"),
    ("signed-info-changed", "causes/main.rs"),
    ("processing-instruction", "unseen/wire.rs"),
    ("reference-order", "unseen/wire.rs"),
    ("str-transform", "unseen/keys/tokens.rs"),
    ("text-only", "unseen/singles.rs"),
    ("transform-order", "unseen/singles.rs"),
    ("xop-include", "mtom.rs"),
];

#[test]
fn every_kind_of_the_engine_has_a_hypothesis_or_a_test_elsewhere() {
    let told = crate::kinds::of_the_engine();
    let cases = all_cases();
    let listed = kinds_of_hypotheses(&cases);
    let elsewhere: BTreeSet<&str> = ELSEWHERE.iter().map(|(kind, _)| *kind).collect();
    let all: BTreeSet<&str> = listed.union(&elsewhere).copied().collect();
    let told: BTreeSet<&str> = told.iter().map(String::as_str).collect();
    let untested: Vec<&&str> = told.difference(&all).collect();
    assert!(untested.is_empty(), "no message has {untested:?}");
    let untold: Vec<&&str> = elsewhere.difference(&told).collect();
    assert!(untold.is_empty(), "the engine tells no {untold:?}");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    for (kind, file) in ELSEWHERE {
        let text = std::fs::read_to_string(tests.join(file)).expect("a test");
        assert!(text.contains(&format!("\"{kind}\"")), "{file}: {kind}");
    }
}

fn all_cases() -> Vec<Case> {
    let mut cases = Cases::default();
    crate::all(&mut cases);
    cases.0
}

/// The kinds of the messages that hypotheses name.
fn kinds_of_hypotheses(cases: &[Case]) -> BTreeSet<&'static str> {
    let is_named = |case: &&Case| HYPOTHESES.iter().any(|(_, name)| *name == case.name);
    let named = cases.iter().filter(is_named);
    named.flat_map(|case| case.kinds.iter().copied()).collect()
}

/// Every hypothesis has a broken message, whose first cause it is.
#[test]
fn every_hypothesis_has_a_message_that_it_explains() {
    let cases = all_cases();
    let listed = kinds_of_hypotheses(&cases);
    let broken: BTreeSet<&str> = cases
        .iter()
        .flat_map(|case| case.kinds.iter().copied())
        .collect();
    let mut tried = BTreeSet::new();
    let mut missing = Vec::new();
    for case in cases {
        let mut named = HYPOTHESES.iter().filter(|(_, name)| *name == case.name);
        let Some((what, name)) = named.next() else {
            continue;
        };
        let told = told_with(&case.message, case.known);
        let causes = first_causes(&told);
        if !causes.iter().any(|cause| cause.kinds == case.kinds) {
            missing.push(format!("{what}: `{name}` is told to be {causes:#?}"));
        }
        tried.insert(*name);
    }
    let without = HYPOTHESES.iter().filter(|(_, name)| !tried.contains(name));
    missing.extend(without.map(|(what, name)| format!("{what}: no message `{name}`")));
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    let unlisted: Vec<&&str> = broken.difference(&listed).collect();
    assert!(unlisted.is_empty(), "no hypothesis names {unlisted:?}");
}
