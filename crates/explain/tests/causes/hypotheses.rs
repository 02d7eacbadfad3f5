//! The list of hypotheses, each with a message of these tests that it is the cause of.
//!
//! The rule kept here: a kind of cause that the engine tells fails without a broken message. So
//! does a hypothesis without a kind.

use std::collections::BTreeSet;
use std::path::Path;

use crate::cases::Cases;
use crate::support::{first_causes, told_with};

/// What senders, proxies and libraries are known to do, the kind that is told of it, and a message
/// that has it.
const HYPOTHESES: &[(&str, &str, &str)] = &[
    ("white space between elements", "white-space", "indented"),
    (
        "white space of base64",
        "base64-white-space",
        "base64 in lines of 76",
    ),
    (
        "white space of SignedInfo",
        "white-space",
        "SignedInfo indented",
    ),
    ("CR LF", "line-ends", "CR LF"),
    (
        "another canonicalization",
        "canonicalization",
        "SignedInfo inclusive",
    ),
    ("comments", "comments", "with comments"),
    (
        "a prefix list that is announced and not used",
        "prefix-list",
        "a prefix list announced and not used",
    ),
    (
        "a prefix list that is used and not announced",
        "prefix-list",
        "a prefix list not announced",
    ),
    (
        "a prefix declared further up",
        "prefix-declaration",
        "a declaration further up",
    ),
    (
        "a prefix declared further down",
        "prefix-declaration",
        "a declaration left out",
    ),
    ("another prefix", "prefix-renamed", "the prefix renamed"),
    (
        "the content in place of the element",
        "content-only",
        "the content alone",
    ),
    (
        "digested before the id was there",
        "before-id",
        "before the id",
    ),
    (
        "digested before mustUnderstand was there",
        "before-must-understand",
        "before mustUnderstand",
    ),
    (
        "digested before an attribute was there",
        "before-attribute",
        "before an attribute",
    ),
    ("> as it is", "escaping", "> as it is"),
    (
        "quotes written otherwise",
        "escaping",
        "quotes in text escaped",
    ),
    ("character references", "escaping", "decimal references"),
    (
        "the order of attributes",
        "attribute-order",
        "attributes by name",
    ),
    (
        "the default of an attribute",
        "attribute-value",
        "mustUnderstand true",
    ),
    (
        "empty elements written anew",
        "empty-element-tags",
        "empty tags",
    ),
    ("attributes in other quotes", "quotes", "single quotes"),
    (
        "not canonicalized",
        "not-canonicalized",
        "not canonicalized",
    ),
    (
        "an XML declaration in front",
        "declaration",
        "an XML declaration",
    ),
    (
        "Latin-1 taken for UTF-8",
        "encoding",
        "ISO-8859-1 taken for UTF-8",
    ),
    ("a byte order mark", "byte-order-mark", "a byte order mark"),
    (
        "another normalization form",
        "unicode-form",
        "normalization form D",
    ),
    (
        "the wrong hash under the right name",
        "other-hash",
        "SHA-512 signed under the name of SHA-256",
    ),
    (
        "SHA-1 for SHA-256",
        "other-hash",
        "SHA-1 under the name of SHA-256",
    ),
    ("digested twice", "digested-twice", "digested twice"),
    (
        "a digest in hexadecimal",
        "digest-encoding",
        "a digest in hexadecimal",
    ),
    (
        "digests of two parts swapped",
        "digest-swapped",
        "digests swapped",
    ),
    ("another element", "other-element", "another block"),
    (
        "a digest that was changed",
        "digest-value-changed",
        "a digest changed after signing",
    ),
    ("r and s in DER", "signature-encoding", "ECDSA in DER"),
    (
        "s in front of r",
        "signature-encoding",
        "ECDSA with s first",
    ),
    ("a code that is cut", "hmac-truncated", "HMAC cut short"),
    ("the key decoded", "key-as-text", "HMAC: the key decoded"),
    (
        "the key in hexadecimal",
        "key-in-hexadecimal",
        "HMAC: the key in hexadecimal",
    ),
    (
        "the key in base64",
        "key-in-base64",
        "HMAC: the key in base64",
    ),
    ("the key hashed", "key-hashed", "HMAC: the key hashed"),
    (
        "a method named anew in SignedInfo",
        "algorithm-renamed",
        "SignedInfo with another digest method",
    ),
    (
        "derived with another label",
        "derived-otherwise",
        "derived with another label",
    ),
    (
        "derived with the text of the nonce",
        "derived-otherwise",
        "derived from the text of the nonce",
    ),
    (
        "derived with the generation as an offset",
        "derived-otherwise",
        "derived with the generation taken for an offset",
    ),
    (
        "another certificate",
        "other-certificate",
        "another certificate",
    ),
    ("another key", "other-key", "an unknown key"),
    (
        "another method of the same key",
        "other-method",
        "PSS under the name of PKCS#1",
    ),
    (
        "a padding that no verifier accepts",
        "padding",
        "RSA: a block that is not padded as it should be",
    ),
    (
        "a session key under another padding",
        "key-transport",
        "PKCS#1 v1.5 under the name of OAEP",
    ),
    (
        "the nonce as text",
        "username-digest",
        "a digest of the text of the nonce",
    ),
    (
        "the hashed password",
        "username-digest",
        "a digest of the hashed password",
    ),
    ("another password", "password", "another password"),
    (
        "a moment that was changed",
        "timestamp-changed",
        "another end",
    ),
    (
        "a moment in another form",
        "timestamp-format",
        "a Timestamp without milliseconds",
    ),
];

/// Kinds that are no hypothesis here, and the file of the tests that tell them of a message.
const ELSEWHERE: [(&str, &str); 15] = [
    ("attribute-removed", "unseen/singles.rs"),
    ("clock", "causes/main.rs"),
    ("content-changed", "causes/main.rs"),
    ("data-cipher", "unseen/keys/encrypted.rs"),
    ("digest-length", "causes/main.rs"),
    ("key-kind", "causes/main.rs"),
    ("key-of-another-message", "causes/main.rs"),
    ("namespace-renamed", "unseen/singles.rs"),
    ("other-order", "unseen/keys/encrypted.rs"),
    ("other-secret", "unseen/keys/secrets.rs"),
    ("password-kind", "unseen/keys/passwords.rs"),
    ("signed-info-changed", "causes/main.rs"),
    ("str-transform", "unseen/keys/tokens.rs"),
    ("text-only", "unseen/singles.rs"),
    ("transform-order", "unseen/singles.rs"),
];

#[test]
fn every_kind_of_the_engine_has_a_hypothesis_or_a_test_elsewhere() {
    let told = crate::kinds::of_the_engine();
    let listed: BTreeSet<&str> = HYPOTHESES.iter().map(|(_, kind, _)| *kind).collect();
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

/// Every hypothesis has a broken message, whose first cause it is.
#[test]
fn every_hypothesis_has_a_message_that_it_explains() {
    let mut cases = Cases::default();
    crate::all(&mut cases);
    let mut tried = BTreeSet::new();
    let broken: BTreeSet<&str> = cases
        .0
        .iter()
        .flat_map(|case| case.kinds.iter().copied())
        .collect();
    let mut missing = Vec::new();
    for case in cases.0 {
        let mut named = HYPOTHESES.iter().filter(|(_, _, name)| *name == case.name);
        let Some((what, kind, name)) = named.next() else {
            continue;
        };
        let told = told_with(&case.message, case.known);
        let causes = first_causes(&told);
        if !causes.iter().any(|cause| cause.kinds == [*kind]) {
            missing.push(format!("{what}: `{name}` is told to be {causes:#?}"));
        }
        tried.insert(*name);
    }
    let without = HYPOTHESES
        .iter()
        .filter(|(_, _, name)| !tried.contains(name));
    missing.extend(without.map(|(what, _, name)| format!("{what}: no message `{name}`")));
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    let listed: BTreeSet<&str> = HYPOTHESES.iter().map(|(_, kind, _)| *kind).collect();
    let unlisted: Vec<&str> = broken.difference(&listed).copied().collect();
    assert!(unlisted.is_empty(), "no hypothesis names {unlisted:?}");
}
