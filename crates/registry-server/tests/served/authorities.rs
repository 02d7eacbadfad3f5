//! A registry that trusts two authorities: each may certify one subject.

use soapstone_testkit::keys::{authority, identity_by};

use super::*;

/// A registry's file with this rule, and a folder with the keys of two that are called p1.
fn two(rule: &str) -> (Folder, String) {
    let folder = folder();
    folder.write(
        "other.cert.pem",
        authority("CN=other").certificates_to_pem(),
    );
    folder.write_identity("namesake", &identity_by("CN=other", "CN=p1", P256));
    let text = SERVER
        .replace(
            "anchors = [\"ca.cert.pem\"]",
            "anchors = [\"ca.cert.pem\", \"other.cert.pem\"]",
        )
        .replace("subject = \"*\"", rule);
    (folder, text)
}

#[test]
fn a_rule_without_an_issuer_is_refused_where_two_authorities_are_trusted() {
    let said = |rule: &str| {
        let (folder, text) = two(rule);
        let read = config(&folder, &text).map(drop);
        read.err().map(|problems| problems.to_string())
    };
    let found = said("subject = \"CN=p1\"").expect("it is ambiguous");
    let expected = "`subject` is that of several certificates: `trust` believes 2 issuers, and each may issue one\n    \
                    hint: say whose it is: issuer = \"CN=authority,O=Example\"";
    assert!(found.contains(expected), "{found}");
    assert_eq!(said("subject = \"CN=p1\"\nissuer = \"CN=ca\""), None);
    assert_eq!(said("subject = \"*\""), None);
    // What is no name would be nobody's.
    for (rule, key) in [
        ("subject = \"p1\"\nissuer = \"CN=ca\"", "subject"),
        ("subject = \"CN=p1\"\nissuer = \"ca\"", "issuer"),
        ("subject = \"*\"\nissuer = \"\"", "issuer"),
    ] {
        let found = said(rule).expect("no name");
        let expected = format!("`{key}` must be a distinguished name, found another text");
        assert!(found.contains(&expected), "{found}");
    }
    // Half a name, and a name with its issuer, would be nobody's as well.
    for (rule, key, column) in [
        ("subject = \"CN=p1 of authority\"", "subject", 11),
        ("subject = \"CN=p1 of CN=ca\"", "subject", 11),
        (
            "subject = \"CN=p1\"\nissuer = \"CN=ca of Acme\"",
            "issuer",
            10,
        ),
    ] {
        let (folder, text) = two(rule);
        let line = text
            .lines()
            .position(|line| line.starts_with(&format!("{key} = ")));
        let line = line.expect("the rule") + 1;
        let found = said(rule).expect("half a name");
        let expected = format!(
            "{}:{line}:{column}: `{key}` must be a distinguished name, found a text with \" of \" outside of quotes\n    \
             hint: say `issuer` by itself; a value with the word stands in quotes: 'CN=\"Bank of Books\"'",
            folder
                .path("registry.toml")
                .file_name()
                .expect("a name")
                .display()
        );
        assert!(found.contains(&expected), "{found}");
    }
    assert_eq!(
        said("subject = 'CN=\"Bank of Books\"'\nissuer = \"CN=ca\""),
        None
    );
    // With one authority there is one of the name.
    let alone = SERVER.replace("subject = \"*\"", "subject = \"CN=p1\"");
    assert!(config(&folder(), &alone).is_ok());
}

/// A certificate that is believed by itself is of its own subject alone.
#[test]
fn a_rule_without_an_issuer_is_refused_where_its_subject_is_pinned_of_two_issuers() {
    let folder = folder();
    for (name, issuer, subject) in [
        ("namesake", "CN=other", "CN=p1"),
        ("another", "CN=other", "CN=p2"),
        ("own", "CN=ca", "CN=p1"),
    ] {
        folder.write_identity(name, &identity_by(issuer, subject, P256));
    }
    let said = |trust: &str| {
        let text = SERVER
            .replace("anchors = [\"ca.cert.pem\"]", trust)
            .replace("subject = \"*\"", "subject = \"CN=p1\"");
        let read = config(&folder, &text).map(drop);
        read.err().map(|problems| problems.to_string())
    };
    let expected = "`subject` is that of several certificates: `trust` believes 2 issuers, and each may issue one";
    for trust in [
        "pinned = [\"own.cert.pem\", \"namesake.cert.pem\"]",
        "anchors = [\"ca.cert.pem\"], pinned = [\"namesake.cert.pem\"]",
        "anchors = [\"own.cert.pem\"], pinned = [\"namesake.cert.pem\"]",
    ] {
        let found = said(trust).expect("it is ambiguous");
        assert!(found.contains(expected), "{trust}: {found}");
    }
    for trust in [
        "anchors = [\"ca.cert.pem\"], pinned = [\"another.cert.pem\"]",
        "anchors = [\"ca.cert.pem\"], pinned = [\"own.cert.pem\", \"another.cert.pem\"]",
        "pinned = [\"own.cert.pem\", \"another.cert.pem\"]",
    ] {
        assert_eq!(said(trust), None, "{trust}");
    }
}

#[tokio::test]
async fn a_namesake_of_another_authority_publishes_nothing_by_the_rule_of_an_owner() {
    // However the names are written.
    let (folder, text) = two("subject = \"cn= p1\"\nissuer = \" CN = ca\"");
    let config = config(&folder, &text).unwrap_or_else(|problems| panic!("{problems}"));
    let running = start(config)
        .await
        .unwrap_or_else(|error| panic!("{error}"));
    let address = running.address();
    waiting(move || {
        let body = uddi::write_request(&business(HOME));
        let (_, status, answer) = call(address, &client(&folder, "namesake"), &body);
        assert_eq!(status, 500, "{answer}");
        let refused = "this certificate may not publish anything";
        assert!(answer.contains(refused), "{answer}");
        let (_, status, answer) = call(address, &client(&folder, "p1"), &body);
        assert_eq!(status, 200, "{answer}");
    })
    .await;
    running.shutdown().await;
}
