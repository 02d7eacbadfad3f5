//! The items of security headers: those that the engine reads, in its order, in words.

mod support;

use soapstone::crypto::base64;
use soapstone::wss::names::{DS, WSSE, WSSE11, WSU, XENC};
use soapstone_explain::{Explanation, Known, Options, Severity, explain};
use support::{NOW, PLAIN};

fn explained(headers: &str) -> Explanation {
    let declared = format!(
        "<soap:Header xmlns:wsse=\"{WSSE}\" xmlns:wsse11=\"{WSSE11}\" xmlns:wsu=\"{WSU}\" xmlns:ds=\"{DS}\" xmlns:xenc=\"{XENC}\">{headers}"
    );
    let message = PLAIN.replacen("<soap:Header>", &declared, 1);
    let options = Options {
        now: Some(NOW.parse().expect("a moment")),
        ..Options::default()
    };
    explain(message.into_bytes(), &options).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn each_item_of_every_header_is_told_in_order() {
    let told = explained(
        "<wsse:Security><wsu:Timestamp wsu:Id=\"T\"><wsu:Created>2026-11-21T16:02:29Z</wsu:Created></wsu:Timestamp>\
         <wsse:BinarySecurityToken ValueType=\"urn:types#Own\">QUJD</wsse:BinarySecurityToken>\
         <wsse:UsernameToken><wsse:Username>alice</wsse:Username></wsse:UsernameToken>\
         <xenc:EncryptedKey><xenc:EncryptionMethod Algorithm=\"urn:a/rsa\"/><xenc:ReferenceList><xenc:DataReference URI=\"#D\"/></xenc:ReferenceList></xenc:EncryptedKey>\
         <ds:Signature><ds:SignedInfo><ds:Reference URI=\"#T\"/></ds:SignedInfo></ds:Signature></wsse:Security>\
         <wsse:Security><xenc:ReferenceList><xenc:DataReference URI=\"#D\"/></xenc:ReferenceList>\
         <wsse11:SignatureConfirmation Value=\"QUJD\"/><wsse11:SignatureConfirmation/><q:odd xmlns:q=\"urn:q\"/></wsse:Security>",
    );
    let items: Vec<(&str, &str)> = told
        .header
        .iter()
        .map(|item| (item.name.as_str(), item.says.as_str()))
        .collect();
    let expected = [
        (
            "wsu:Timestamp",
            "created 2026-11-21T16:02:29Z, expires never",
        ),
        ("wsse:BinarySecurityToken", "a token of type Own"),
        ("wsse:UsernameToken", "user `alice`, no password"),
        ("xenc:EncryptedKey", "a session key (rsa), cipher texts: 1"),
        ("ds:Signature", "signs `#T`"),
        ("xenc:ReferenceList", "cipher texts: 1"),
        (
            "wsse11:SignatureConfirmation",
            "confirms a signature of the request",
        ),
        (
            "wsse11:SignatureConfirmation",
            "says that the request had no signature",
        ),
        ("q:odd", ""),
    ];
    assert_eq!(items, expected);
    assert_eq!(told.header[0].id.as_deref(), Some("T"));
}

/// An endpoint takes such a message until its end, and an error would say that it is refused.
#[test]
fn an_end_before_the_beginning_is_a_warning() {
    let told = explained(
        "<wsse:Security><wsu:Timestamp><wsu:Created>2026-11-21T16:07:29Z</wsu:Created>\
         <wsu:Expires>2026-11-21T16:05:29Z</wsu:Expires></wsu:Timestamp></wsse:Security>",
    );
    let malformed = |finding: &&soapstone_explain::Finding| finding.kind == "timestamp-malformed";
    let found: Vec<_> = told.findings.iter().filter(malformed).collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].severity, Severity::Warning);
}

/// A Timestamp that stands elsewhere says nothing of the message's life.
#[test]
fn a_timestamp_is_judged_where_it_is_an_item() {
    let ended = "<wsu:Timestamp><wsu:Created>2026-11-20T16:02:29Z</wsu:Created><wsu:Expires>2026-11-20T16:07:29Z</wsu:Expires></wsu:Timestamp>";
    let kinds = |headers: &str| -> Vec<&'static str> {
        let told = explained(headers);
        let findings = told.findings.iter();
        let warnings = findings.filter(|finding| finding.severity == Severity::Warning);
        warnings.map(|finding| finding.kind).collect()
    };
    let item = format!("<wsse:Security>{ended}</wsse:Security>");
    assert_eq!(kinds(&item), ["timestamp-expired"]);
    let inside = format!("<wsse:Security><q:odd xmlns:q=\"urn:q\">{ended}</q:odd></wsse:Security>");
    assert_eq!(kinds(&inside), [""; 0]);
    let alike = inside
        .replace("<wsu:Timestamp>", "")
        .replace("</wsu:Timestamp>", "");
    assert_eq!(kinds(&alike), [""; 0]);
    let elsewhere = format!("<q:odd xmlns:q=\"urn:q\">{item}</q:odd>");
    assert_eq!(kinds(&elsewhere), [""; 0]);
}

#[test]
fn an_envelope_with_two_bodies_is_an_error() {
    let message = PLAIN.replace("</soap:Body>", "</soap:Body><soap:Body/>");
    let told = explain(message.into_bytes(), &Options::default())
        .unwrap_or_else(|error| panic!("{error}"));
    let found = told
        .findings
        .iter()
        .find(|finding| finding.kind == "not-soap");
    let found = found.expect("a finding");
    assert_eq!(found.severity, Severity::Error);
    assert_eq!(
        found.says,
        "expected an optional `Header` and one `Body` in the `Envelope`, found `{http://schemas.xmlsoap.org/soap/envelope/}Body` in line 2"
    );
}

/// A signed message with another text in its `wsse:BinarySecurityToken`.
fn with_token(change: impl FnOnce(&str) -> String) -> Explanation {
    let message = support::signed();
    let start = message.find("<wsse:BinarySecurityToken ").expect("a token");
    let start = start + message[start..].find('>').expect("a tag") + 1;
    let end = start + message[start..].find('<').expect("an end");
    let token = change(&message[start..end]);
    let message = [&message[..start], &token, &message[end..]].concat();
    explained_beside_our_own(message)
}

/// What a receiver is told whose own certificate is another one.
fn explained_beside_our_own(message: String) -> Explanation {
    let options = Options {
        known: Known {
            certificates: vec![("`identity`".to_owned(), support::certificate("server"))],
            ..Known::default()
        },
        now: Some(NOW.parse().expect("a moment")),
        ..Options::default()
    };
    explain(message.into_bytes(), &options).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn a_token_that_cannot_be_read_is_found_and_no_other_key_is_blamed() {
    let pem = |base64: &str| {
        format!("-----BEGIN CERTIFICATE-----\n{base64}\n-----END CERTIFICATE-----\n")
    };
    let told = [
        (
            with_token(pem),
            "PEM lines inside; expected base64 of DER alone",
        ),
        (
            with_token(|text| base64::encode(pem(text).as_bytes())),
            "base64 of a PEM file; expected base64 of DER alone",
        ),
        (
            with_token(|text| format!("!!{text}")),
            "expected base64, found other characters or an end in the middle",
        ),
        (
            with_token(|text| text[..100].to_owned()),
            "expected base64 of a certificate, found 75 bytes that are none: cut off, perhaps",
        ),
    ];
    for (told, says) in told {
        let mut findings = told.findings.iter();
        let found = findings
            .find(|finding| finding.kind == "token-malformed")
            .unwrap_or_else(|| panic!("{says}: {:#?}", told.findings));
        assert_eq!(
            (found.says.as_str(), found.severity),
            (says, Severity::Error)
        );
        let mut findings = told.findings.iter();
        let blamed = findings.find(|finding| finding.kind == "signature-mismatch");
        assert_eq!(blamed, None, "{says}");
    }
}

/// A token of another type may have any text, cipher text is none, and the application's tokens are
/// its own.
#[test]
fn no_token_is_called_malformed_that_no_certificate_is_expected_in() {
    let jwt = "<wsse:BinarySecurityToken ValueType=\"urn:ietf:params:oauth:token-type:jwt\">eyJh.eyJz.c2ln</wsse:BinarySecurityToken>";
    let x509 =
        "http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-x509-token-profile-1.0#X509v3";
    let certificate = |content: &str| {
        format!(
            "<wsse:BinarySecurityToken ValueType=\"{x509}\">{content}</wsse:BinarySecurityToken>"
        )
    };
    let malformed = |told: &Explanation| {
        let kinds = told.findings.iter().map(|finding| finding.kind);
        kinds.filter(|kind| *kind == "token-malformed").count()
    };
    for (token, expected) in [
        (jwt.to_owned(), 0),
        (certificate("<xenc:EncryptedData/>"), 0),
        (certificate("a.b"), 1),
    ] {
        let told = explained(&format!("<wsse:Security>{token}</wsse:Security>"));
        assert_eq!(malformed(&told), expected, "{token}");
    }
    let token = certificate("a.b").replacen(' ', &format!(" xmlns:wsse=\"{WSSE}\" "), 1);
    let message = PLAIN.replacen("<inner ", &format!("{token}<inner "), 1);
    let told = explain(message.into_bytes(), &Options::default());
    assert_eq!(malformed(&told.expect("an explanation")), 0);
}

#[test]
fn a_token_that_is_not_there_is_told() {
    let message = support::signed();
    let start = message.find("<wsse:BinarySecurityToken ").expect("a token");
    let end = message.find("</wsse:BinarySecurityToken>").expect("an end");
    let end = end + "</wsse:BinarySecurityToken>".len();
    let message = [&message[..start], &message[end..]].concat();
    let told = explained_beside_our_own(message);
    let [found] = &told.findings[..] else {
        panic!("expected one finding, found {:#?}", told.findings);
    };
    assert_eq!(
        (found.kind, found.severity),
        ("key-not-found", Severity::Error)
    );
    assert!(
        found.says.contains(
            "it is none of those at hand (1): none of them made it; no element of the message is `#"
        ),
        "{}",
        found.says
    );
}

#[test]
fn a_header_that_a_receiver_passes_over_is_found() {
    let message = support::signed();
    let found = |message: String| {
        let told = explain(message.into_bytes(), &Options::default())
            .unwrap_or_else(|error| panic!("{error}"));
        let mut findings = told.findings.into_iter();
        let found = findings.find(|finding| finding.kind == "security-missing");
        found.map(|found| (found.severity, found.says))
    };
    assert_eq!(found(message.clone()), None);
    let addressed = |actor: &str| {
        message.replacen(
            "<wsse:Security ",
            &format!("<wsse:Security soap:actor=\"{actor}\" "),
            1,
        )
    };
    assert_eq!(found(addressed("")), None);
    assert_eq!(
        found(addressed("urn:someone")),
        Some((
            Severity::Warning,
            "it is for the actor `urn:someone` alone: an endpoint file that opens it says so with `actor`"
                .to_owned()
        ))
    );
    let others = [
        (
            "http://schemas.xmlsoap.org/ws/2002/07/secext",
            Severity::Warning,
        ),
        (
            "http://schemas.xmlsoap.org/ws/2002/12/secext",
            Severity::Error,
        ),
    ];
    for (namespace, severity) in others {
        let says = format!(
            "expected the namespace `{WSSE}`, found `{namespace}`: receivers find no wsse:Security header"
        );
        let message = message.replace(WSSE, namespace);
        assert_eq!(found(message), Some((severity, says)));
    }
}
