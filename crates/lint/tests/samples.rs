//! Each rule of the Basic Security Profile with a message that breaks it and one that keeps it.
//!
//! The messages are changes of one good message (`samples/base.xml`), one line for each rule
//! (`samples/bsp.txt`). Each message breaks the rules that its line names, and no other one.

use std::collections::BTreeSet;

use soapstone_lint::{Choice, Profile, Profiles, lint, rules_table};

const BASE: &str = include_str!("samples/base.xml");
const SAMPLES: &str = include_str!("samples/bsp.txt");

/// What words in braces stand for. Later ones may stand in earlier ones.
const WORDS: &[(&str, &str)] = &[
    (
        "{str-ek}",
        "<wsse:SecurityTokenReference wsse11:TokenType=\"{ek}\"><wsse:Reference URI=\"#EK\"/>{/str}",
    ),
    ("{str}", "<wsse:SecurityTokenReference>"),
    ("{/str}", "</wsse:SecurityTokenReference>"),
    (
        "{cipher}",
        "<xenc:CipherData><xenc:CipherValue>AAAA</xenc:CipherValue></xenc:CipherData>",
    ),
    (
        "{digest}",
        "<ds:DigestMethod Algorithm=\"{xenc}sha256\"/><ds:DigestValue>AAAA</ds:DigestValue>",
    ),
    ("{sha1}", "AAAAAAAAAAAAAAAAAAAAAAAAAAA="),
    // Of the base's token, MAQwAqAA.
    ("{bst-thumbprint}", "GvmSOEdsjp0dhn7dxaUJnpWBkqI="),
    ("{soap}", "http://schemas.xmlsoap.org/soap/envelope/"),
    (
        "{wsse}",
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd",
    ),
    (
        "{wsse11}",
        "http://docs.oasis-open.org/wss/oasis-wss-wssecurity-secext-1.1.xsd",
    ),
    (
        "{wsu}",
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd",
    ),
    ("{exc}", "http://www.w3.org/2001/10/xml-exc-c14n#"),
    ("{c14n}", "http://www.w3.org/TR/2001/REC-xml-c14n-20010315"),
    ("{saml1}", "urn:oasis:names:tc:SAML:1.0:assertion"),
    ("{saml2}", "urn:oasis:names:tc:SAML:2.0:assertion"),
    ("{rel}", "urn:mpeg:mpeg21:2003:01-REL-R-NS"),
    ("{xsi}", "http://www.w3.org/2001/XMLSchema-instance"),
    ("{xsd}", "http://www.w3.org/2001/XMLSchema#"),
    ("{b64}", "{message-security}Base64Binary"),
    ("{str-transform}", "{message-security}STR-Transform"),
    (
        "{message-security}",
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-soap-message-security-1.0#",
    ),
    ("{thumbprint}", "{message-security-1.1}ThumbprintSHA1"),
    ("{ek}", "{message-security-1.1}EncryptedKey"),
    ("{ek-sha1}", "{message-security-1.1}EncryptedKeySHA1"),
    (
        "{message-security-1.1}",
        "http://docs.oasis-open.org/wss/oasis-wss-soap-message-security-1.1#",
    ),
    ("{x509v3}", "{x509}X509v3"),
    ("{pkcs7}", "{x509}PKCS7"),
    ("{pkipath}", "{x509}X509PKIPathv1"),
    ("{ski}", "{x509}X509SubjectKeyIdentifier"),
    (
        "{x509}",
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#",
    ),
    ("{username}", "{username-profile}UsernameToken"),
    ("{digest-password}", "{username-profile}PasswordDigest"),
    (
        "{username-profile}",
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-username-token-profile-1.0#",
    ),
    ("{saml1-token}", "{saml-profile}1.1#SAMLV1.1"),
    ("{saml2-token}", "{saml-profile}1.1#SAMLV2.0"),
    ("{saml1-id}", "{saml-profile}1.0#SAMLAssertionID"),
    ("{saml2-id}", "{saml-profile}1.1#SAMLID"),
    (
        "{saml-profile}",
        "http://docs.oasis-open.org/wss/oasis-wss-saml-token-profile-",
    ),
    (
        "{kerberos}",
        "http://docs.oasis-open.org/wss/oasis-wss-kerberos-token-profile-1.1#",
    ),
    (
        "{rel-license}",
        "http://docs.oasis-open.org/wss/oasis-wss-rel-token-profile-1.0.pdf#license",
    ),
    ("{enveloped}", "{ds}enveloped-signature"),
    ("{filter2}", "http://www.w3.org/2002/06/xmldsig-filter2"),
    ("{rsa-sha256}", "{more}rsa-sha256"),
    ("{more}", "http://www.w3.org/2001/04/xmldsig-more#"),
    ("{aes}", "http://www.w3.org/2009/xmlenc11#aes128-gcm"),
    ("{oaep}", "{xenc}rsa-oaep-mgf1p"),
    ("{xenc}", "http://www.w3.org/2001/04/xmlenc#"),
    ("{ds}", "http://www.w3.org/2000/09/xmldsig#"),
];

/// Names of the places in the base where pieces go.
const SLOTS: [&str; 7] = [
    "[[blocks]]",
    "[[tokens]]",
    "[[behind]]",
    "[[signed]]",
    "[[object]]",
    "[[end]]",
    "[[body]]",
];

/// The base with a change, all words written out.
fn changed(change: &str) -> String {
    let mut message = BASE.to_owned();
    for one in change.split(" && ").filter(|one| *one != "-") {
        let (from, to) = one
            .split_once(" =>")
            .unwrap_or_else(|| panic!("no change: {one}"));
        let to = to.strip_prefix(' ').unwrap_or(to);
        assert!(message.contains(from), "the base does not hold {from}");
        message = message.replacen(from, to, 1);
    }
    for slot in SLOTS {
        message = message.replace(slot, "");
    }
    while let Some((before, rest)) = message.split_once("{sig:") {
        let (uri, behind) = rest.split_once('}').expect("an end");
        message = format!(
            "{before}<ds:Reference URI=\"{uri}\"><ds:Transforms><ds:Transform Algorithm=\"{{exc}}\"/>\
             </ds:Transforms>{{digest}}</ds:Reference>{behind}"
        );
    }
    for (word, meaning) in WORDS {
        message = message.replace(word, meaning);
    }
    assert!(
        !message.contains('{'),
        "a word without a meaning: {message}"
    );
    message
}

fn broken(message: String) -> BTreeSet<&'static str> {
    let choice = Choice::Of(Profiles::of(Profile::Bsp));
    let report = lint(message.into_bytes(), &choice, &|_| None).expect("an envelope");
    report
        .findings
        .iter()
        .map(|finding| finding.rule.id)
        .collect()
}

fn words(column: &str) -> impl Iterator<Item = &str> {
    column.split(' ').filter(|word| *word != "-")
}

fn samples() -> Vec<Vec<&'static str>> {
    let lines = SAMPLES.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.split(" | ").collect()).collect()
}

#[test]
fn the_base_of_all_samples_keeps_every_rule() {
    assert_eq!(broken(changed("-")), BTreeSet::new());
}

#[test]
fn each_rule_is_found_in_the_message_that_breaks_it_and_not_in_the_one_that_keeps_it() {
    let mut problems = Vec::new();
    for sample in samples() {
        let [rule, kept, breaking, besides, still] = sample[..] else {
            panic!("expected five columns: {sample:?}");
        };
        let expected: BTreeSet<&str> = words(besides).chain([rule]).collect();
        let found = broken(changed(breaking));
        if found != expected {
            problems.push(format!(
                "{rule} broken: expected {expected:?}, found {found:?}"
            ));
        }
        let expected: BTreeSet<&str> = words(still).collect();
        let found = broken(changed(kept));
        if found != expected {
            problems.push(format!(
                "{rule} kept: expected {expected:?}, found {found:?}"
            ));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

#[test]
fn every_rule_of_the_profile_has_its_sample() {
    let sampled: BTreeSet<&str> = samples().iter().map(|sample| sample[0]).collect();
    let rules = rules_table().iter();
    let rules: BTreeSet<&str> = rules
        .filter(|rule| rule.profiles.has(Profile::Bsp))
        .map(|rule| rule.id)
        .collect();
    assert_eq!(sampled, rules);
    assert!(rules.len() >= 120, "{} rules", rules.len());
}
