//! The risks that a gateway's file takes, as `--check` and the start tell them.

use soapstone_gateway::Config;

use crate::support::Folder;

const WITH_TLS: &str = "tls = { certificate = \"server.cert.pem\", key = \"server.key.pem\" }\n";
const KEYS: &str = "identity = { key = \"server.key.pem\", certificate = \"server.cert.pem\" }\npeer = { certificate = \"client.cert.pem\" }\n";
const PINNED: &str = "trust = { pinned = [\"client.cert.pem\"] }\n";

/// A file with one route and these tables in its endpoint.
fn file(tls: &str, side: &str, backend: &str, tables: &str) -> String {
    format!(
        "listen = \"127.0.0.1:0\"\n{tls}[[routes]]\npath = \"/a\"\nbackend = \"{backend}\"\n[routes.{side}]\n{tables}"
    )
}

/// Names and messages of the warnings of a file.
fn warnings(folder: &Folder, text: &str) -> Vec<(&'static str, u32, String)> {
    let config = Config::from_text(text, &folder.path("gateway.toml"), &|_| None);
    let config = config.unwrap_or_else(|problems| panic!("{problems}\n{text}"));
    let warnings = config.warnings().into_iter();
    let told = warnings.map(|warning| {
        assert!(warning.problem.hint.is_some(), "{warning}");
        (warning.name, warning.problem.line, warning.problem.message)
    });
    told.collect()
}

fn names(folder: &Folder, text: &str) -> Vec<&'static str> {
    let warnings = warnings(folder, text).into_iter();
    warnings.map(|(name, ..)| name).collect()
}

/// Files of keys for their owner alone.
fn folder() -> Folder {
    let folder = Folder::with_keys();
    for key in ["server.key.pem", "client.key.pem"] {
        permit(&folder, key, 0o600);
    }
    folder
}

fn permit(folder: &Folder, name: &str, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    let permissions = std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(folder.path(name), permissions).expect("it is ours");
}

#[test]
fn what_is_safe_is_not_warned_of() {
    let folder = folder();
    let until = "allow_weak_until = { rsa-1_5 = \"2027-01-01\" }";
    for security in [
        "mechanism = \"sign-encrypt\"".to_owned(),
        format!("mechanism = \"encrypt-sign\", suite = \"Basic256Sha256Rsa15+RsaSha256\", {until}"),
        "mechanism = \"sign\", suite = \"Basic256Sha256+RsaSha256\"".to_owned(),
        "mechanism = \"none\"".to_owned(),
    ] {
        let tables = format!("{KEYS}{PINNED}security = {{ {security} }}\n");
        for side in ["inbound", "outbound"] {
            let text = file("", side, "http://127.0.0.1:9/", &tables);
            assert_eq!(warnings(&folder, &text), [], "{security} {side}");
        }
    }
}

#[test]
fn weak_algorithms_are_warned_of_where_messages_may_have_them() {
    let folder = folder();
    for (security, name, told) in [
        (
            "mechanism = \"encrypt-sign\", suite = \"TripleDesRsa15\"",
            "weak-algorithm",
            "weak algorithms are used or accepted: rsa-1_5, rsa-sha1, sha1, tripledes-cbc",
        ),
        (
            "mechanism = \"sign\", suite = \"Basic256\"",
            "weak-algorithm",
            "weak algorithms are used or accepted: rsa-sha1, sha1",
        ),
        (
            "mechanism = \"sign\", suite = \"Basic256Sha256\"",
            "sha1-by-letter",
            "the `…Sha256` suite is read by the letter: signatures are SHA-1",
        ),
    ] {
        let tables = format!("{KEYS}{PINNED}security = {{ {security} }}\n");
        let text = file("", "inbound", "http://127.0.0.1:9/", &tables);
        let expected = (name, 9, told.to_owned());
        assert_eq!(warnings(&folder, &text), [expected], "{security}");
    }
}

#[test]
fn cipher_text_in_cbc_is_warned_of_unless_a_signature_is_around_it() {
    let folder = folder();
    for (mechanism, is_told) in [
        ("encrypt", true),
        ("sign-encrypt", true),
        ("encrypt-sign", false),
    ] {
        for (suite, has_cbc) in [("Basic256Sha256+RsaSha256", true), ("Basic256GCM", false)] {
            let tables = format!(
                "{KEYS}{PINNED}security = {{ mechanism = \"{mechanism}\", suite = \"{suite}\" }}\n"
            );
            let text = file("", "inbound", "http://127.0.0.1:9/", &tables);
            let found = names(&folder, &text).contains(&"cbc");
            assert_eq!(found, is_told && has_cbc, "{mechanism} {suite}");
        }
    }
}

#[test]
fn passwords_that_everybody_on_the_way_can_read_are_warned_of() {
    let folder = folder();
    let tables = "users = [{ name = \"alice\", password = \"opens it\" }]\nsecurity = { mechanism = \"username\", password = \"text\" }\n";
    let digest = tables.replace("text", "digest");
    let told = ["password-in-the-clear"];
    for (tls, side, backend, tables, expected) in [
        ("", "inbound", "http://127.0.0.1:9/", tables, &told[..]),
        (WITH_TLS, "inbound", "http://127.0.0.1:9/", tables, &[]),
        ("", "inbound", "http://127.0.0.1:9/", &digest, &[]),
        ("", "outbound", "http://127.0.0.1:9/", tables, &told),
        ("", "outbound", "https://127.0.0.1:9/", tables, &[]),
    ] {
        let text = file(tls, side, backend, tables);
        assert_eq!(names(&folder, &text), expected, "{text}");
    }
    // TLS that ends before us is said by the address that clients see.
    let public = "public_url = \"https://soap.example.com\"\n";
    let text = file(public, "inbound", "http://127.0.0.1:9/", tables);
    assert_eq!(names(&folder, &text), Vec::<&str>::new());
}

#[test]
fn trust_in_everybody_of_an_authority_is_warned_of() {
    let folder = folder();
    for (trust, expected) in [
        ("anchors = [\"ca.cert.pem\"]", &["no-subjects"][..]),
        (
            "anchors = [\"ca.cert.pem\"], subjects = [\"CN=client\"]",
            &[],
        ),
        ("pinned = [\"client.cert.pem\"]", &[]),
    ] {
        let tables = format!(
            "{KEYS}trust = {{ {trust} }}\nsecurity = {{ mechanism = \"sign\", suite = \"Basic256GCM\" }}\n"
        );
        let text = file("", "inbound", "http://127.0.0.1:9/", &tables);
        assert_eq!(names(&folder, &text), expected, "{trust}");
    }
}

#[test]
fn marks_of_one_route_alone_are_warned_of_unless_messages_say_whom_they_are_for() {
    let folder = folder();
    for (more, expected) in [
        ("", &["replay-by-route"][..]),
        (", addressing = { to = [\"urn:service\"] }", &[]),
    ] {
        let tables = format!(
            "{KEYS}{PINNED}security = {{ mechanism = \"sign\", replay = {{ scope = \"route\" }}{more} }}\n"
        );
        let text = file("", "inbound", "http://127.0.0.1:9/", &tables);
        assert_eq!(names(&folder, &text), expected, "{more}");
    }
}

#[test]
fn a_secret_that_leaves_the_host_without_tls_is_warned_of() {
    let folder = folder();
    let expected = |key: &str, host: &str| format!("`{key}` goes to {host} in the clear");
    for (collector, told) in [
        ("http://collector.example:4318", Some("collector.example")),
        ("http://[2001:db8::1]:4318", Some("2001:db8::1")),
        ("http://localhost:4318", None),
        ("http://[::1]:4318", None),
        ("https://collector.example:4318", None),
    ] {
        let top =
            format!("traces = {{ collector = \"{collector}\", authorization = \"Bearer x\" }}\n");
        let tables = format!("{KEYS}{PINNED}security = {{ mechanism = \"sign\" }}\n");
        let found = warnings(
            &folder,
            &file(&top, "inbound", "http://127.0.0.1:9/", &tables),
        );
        let told = told.map(|host| ("secret-in-the-clear", 2, expected("authorization", host)));
        assert_eq!(found, Vec::from_iter(told), "{collector}");
    }
    for (store, told) in [
        ("url = \"redis://:x@redis.example\"", &["redis.example"][..]),
        (
            "nodes = [\"a.example\", \"127.0.0.1\"], password = \"x\"",
            &["a.example"],
        ),
        ("url = \"rediss://:x@redis.example\"", &[]),
        ("url = \"redis://redis.example\"", &[]),
    ] {
        let tables = format!(
            "{KEYS}{PINNED}store = {{ {store} }}\nsecurity = {{ mechanism = \"sign\", replay = {{ store = \"redis\" }} }}\n"
        );
        let found = warnings(
            &folder,
            &file("", "inbound", "http://127.0.0.1:9/", &tables),
        );
        let found: Vec<String> = found.into_iter().map(|(_, _, message)| message).collect();
        let told: Vec<String> = told.iter().map(|host| expected("password", host)).collect();
        assert_eq!(found, told, "{store}");
    }
}

#[test]
fn a_key_that_everybody_on_the_host_can_read_is_warned_of_where_it_is_named() {
    let folder = folder();
    let tables = format!("{KEYS}{PINNED}security = {{ mechanism = \"sign\" }}\n");
    let text = file(WITH_TLS, "inbound", "http://127.0.0.1:9/", &tables);
    assert_eq!(names(&folder, &text), Vec::<&str>::new());
    permit(&folder, "server.key.pem", 0o644);
    let found = warnings(&folder, &text);
    let lines: Vec<(&str, u32)> = found.iter().map(|(name, line, _)| (*name, *line)).collect();
    assert_eq!(lines, [("readable-secret", 2), ("readable-secret", 7)]);
    assert!(
        found[0].2.starts_with("every user of this host can read ")
            && found[0].2.ends_with("server.key.pem"),
        "{found:?}"
    );
}

#[test]
fn a_route_around_a_protected_one_is_warned_of_with_its_place() {
    let folder = folder();
    let tables = format!("{KEYS}{PINNED}security = {{ mechanism = \"sign\" }}\n");
    let text = file("", "inbound", "http://127.0.0.1:9/x", &tables)
        + "[[routes]]\npath = \"/b\"\nbackend = \"http://127.0.0.1:9/x\"\n";
    let found = warnings(&folder, &text);
    let expected =
        "route /b is without protection: it leads to what is protected on the route /a".to_owned();
    assert_eq!(found, [("leads-around", 10, expected)]);
}
