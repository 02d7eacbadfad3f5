//! What `soapstone open` refuses, each with its own reason, and nothing written.

#[path = "common/attacks.rs"]
mod attacks;
mod common;
#[path = "common/endpoints.rs"]
mod endpoints;

use attacks::{Place, doubled_id, doubled_timestamp, moved_body, tamper};
use common::{Folder, Run, SOAP11, envelope, key};
use endpoints::{Endpoint, trust};

/// A folder with `secured.xml`, made by a client, and `server.toml`.
fn secured(client: &Endpoint, server: &Endpoint) -> Folder {
    let folder = Folder::new();
    client.write(&folder, "client.toml");
    server.write(&folder, "server.toml");
    folder.write("plain.xml", envelope(SOAP11));
    folder
        .run("secure --config client.toml plain.xml -o secured.xml")
        .succeeds();
    folder
}

fn with(mechanism: &'static str) -> Folder {
    secured(
        &Endpoint::client(mechanism, ""),
        &Endpoint::server(mechanism, ""),
    )
}

/// Opens `secured.xml`; a refusal must leave nothing behind.
fn open(folder: &Folder) -> Run {
    let run = folder.run("open --config server.toml secured.xml -o opened.xml");
    assert_eq!(folder.exists("opened.xml"), run.status == 0);
    run
}

fn alter(folder: &Folder, change: impl FnOnce(String) -> String) {
    let message = folder.read("secured.xml");
    let altered = change(message.clone());
    assert_ne!(altered, message, "the change must change something");
    folder.write("secured.xml", altered);
}

#[test]
fn an_altered_body_is_refused() {
    let folder = with("sign");
    alter(&folder, |message| {
        message.replace("<b:price>100<", "<b:price>001<")
    });
    let refused = open(&folder).refuses("digest-mismatch");
    assert!(refused.err.contains("\nhint: "), "{}", refused.err);
    let verdict = folder.run("open --config server.toml secured.xml --json");
    assert_eq!(verdict.status, 2);
    let json = verdict.json();
    assert_eq!(json["outcome"], "refused");
    assert_eq!(json["reason"], "digest-mismatch");
    assert_eq!(json["fault"], "wsse:FailedCheck");
    assert!(
        json["message"].as_str().unwrap().len() > 20 && json["hint"].is_string(),
        "{json}"
    );
    assert!(
        verdict
            .err
            .starts_with("soapstone: refused (digest-mismatch): "),
        "{}",
        verdict.err
    );
}

#[test]
fn an_altered_signature_is_refused() {
    let folder = with("sign");
    alter(&folder, |message| {
        tamper(&message, "SignatureValue>", "</ds:SignatureValue>")
    });
    open(&folder).refuses("signature-mismatch");
}

#[test]
fn a_name_in_a_message_cannot_forge_a_line_of_what_is_said() {
    let folder = with("sign");
    alter(&folder, |message| {
        message.replace(
            "SignatureMethod Algorithm=\"",
            "SignatureMethod Algorithm=\"urn:x&#xA;soapstone: accepted&#x9B;\" X=\"",
        )
    });
    let refused = open(&folder).refuses("algorithm-not-allowed");
    assert!(
        refused.err.contains(r"urn:x\nsoapstone: accepted\u{9b}"),
        "{}",
        refused.err
    );
    assert_eq!(refused.err.matches("\nsoapstone: ").count(), 0);
}

#[test]
fn an_altered_cipher_text_is_refused() {
    let folder = with("encrypt");
    alter(&folder, |message| {
        tamper(&message, "CipherValue>", "</xenc:CipherValue>")
    });
    open(&folder).refuses("decryption-failed");
}

#[test]
fn a_message_without_what_the_plan_wants_is_refused() {
    for mechanism in [
        "username",
        "sign",
        "encrypt",
        "sign-encrypt",
        "encrypt-sign",
    ] {
        let folder = secured(
            &Endpoint::client("none", ""),
            &Endpoint::server(mechanism, ""),
        );
        open(&folder).refuses("security-missing");
    }
    let folder = secured(
        &Endpoint::client("sign", ""),
        &Endpoint::server("sign-encrypt", ""),
    );
    open(&folder).refuses("unencrypted");
    let folder = secured(
        &Endpoint::client("encrypt", ""),
        &Endpoint::server("sign-encrypt", ""),
    );
    open(&folder).refuses("signature-missing");
    let folder = secured(
        &Endpoint::client("encrypt-sign", ""),
        &Endpoint::server("sign-encrypt", ""),
    );
    open(&folder).refuses("wrong-order");
}

#[test]
fn a_signed_body_that_was_moved_away_is_refused() {
    let folder = with("sign");
    alter(&folder, |message| moved_body(&message, Place::Header));
    open(&folder).refuses("unsigned");
}

#[test]
fn an_id_that_stands_twice_is_refused() {
    let folder = with("sign");
    alter(&folder, |message| doubled_id(&message));
    open(&folder).refuses("duplicate-id");
}

#[test]
fn a_stranger_is_refused() {
    let mut client = Endpoint::client("sign", "");
    client.own = "stranger";
    let folder = secured(&client, &Endpoint::server("sign", ""));
    open(&folder).refuses("untrusted");
    let mut server = Endpoint::server("sign", "");
    server.trust.push_str("\nsubjects = [\"CN=somebody else\"]");
    let folder = secured(&Endpoint::client("sign", ""), &server);
    let refused = open(&folder).refuses("subject-not-allowed");
    assert!(refused.err.contains("CN=client"), "{}", refused.err);
}

#[test]
fn an_expired_certificate_is_refused() {
    let time = "time = \"2099-01-01T00:00:00Z\"";
    let folder = secured(
        &Endpoint::client("sign", time),
        &Endpoint::server("sign", time),
    );
    open(&folder).refuses("certificate-expired");
}

#[test]
fn another_suite_is_refused() {
    let gcm = Endpoint::client("sign-encrypt", "suite = \"Basic256GCM\"");
    let folder = secured(
        &gcm,
        &Endpoint::server("sign-encrypt", "suite = \"Basic256\""),
    );
    let refused = open(&folder).refuses("algorithm-not-allowed");
    assert!(refused.err.contains("hint: "), "{}", refused.err);
}

#[test]
fn a_message_of_another_time_is_refused() {
    let server = |time: &str| {
        Endpoint::server(
            "sign",
            &format!("time = \"{time}\"\ntimestamp = {{ ttl = \"5m\", skew = \"60s\" }}"),
        )
    };
    let client = Endpoint::client("sign", "time = \"2026-12-01T12:00:00Z\"");
    let with_authority_valid_then = |time| {
        let folder = secured(&client, &server(time));
        open(&folder)
    };
    with_authority_valid_then("2026-12-01T12:05:30Z").succeeds();
    with_authority_valid_then("2026-12-01T12:06:30Z").refuses("timestamp-expired");
    with_authority_valid_then("2026-12-01T11:59:30Z").succeeds();
    with_authority_valid_then("2026-12-01T11:58:30Z").refuses("timestamp-in-future");
}

#[test]
fn a_timestamp_that_is_missing_or_stands_twice_is_refused() {
    let folder = secured(
        &Endpoint::client("sign", "timestamp = false\nsigned = [\"Body\"]"),
        &Endpoint::server("sign", ""),
    );
    open(&folder).refuses("timestamp-missing");
    let folder = with("sign");
    alter(&folder, |message| doubled_timestamp(&message));
    open(&folder).refuses("timestamp-duplicated");
}

#[test]
fn a_replayed_message_is_refused_across_calls() {
    for mechanism in ["sign", "username", "sign-encrypt"] {
        let server = Endpoint::server(mechanism, "replay = { store = \"file\", path = \"marks\" }");
        let folder = secured(&Endpoint::client(mechanism, ""), &server);
        open(&folder).succeeds();
        std::fs::remove_file(folder.path("opened.xml")).unwrap();
        open(&folder).refuses("replayed");
    }
}

#[test]
fn a_wrong_password_is_refused() {
    for form in ["digest", "text"] {
        let security = format!("password = \"{form}\"");
        let mut server = Endpoint::server("username", &security);
        server.password = "PATH";
        let folder = secured(&Endpoint::client("username", &security), &server);
        let refused = open(&folder).refuses("authentication-failed");
        assert!(!refused.err.contains("correct horse"), "{}", refused.err);
    }
}

#[test]
fn what_no_parser_should_read_is_refused() {
    let folder = with("none");
    let message = folder.read("secured.xml");
    let deep = "<a>".repeat(300) + &"</a>".repeat(300);
    // Half a character: 0xc3 begins two bytes.
    let broken: Vec<u8> = message.bytes().filter(|octet| *octet != 0xa9).collect();
    let dtd = format!("<!DOCTYPE a [<!ENTITY b \"c\">]>{message}");
    let nested = message.replace("</soap:Body>", &format!("{deep}</soap:Body>"));
    for (reason, hostile) in [
        ("dtd", dtd.into_bytes()),
        ("too-deep", nested.into_bytes()),
        (
            "not-well-formed",
            message.replace("tajn", "tajn\u{1}").into_bytes(),
        ),
        ("malformed-encoding", broken),
        ("not-an-envelope", b"<a/>".to_vec()),
        ("not-an-envelope", Vec::new()),
    ] {
        folder.write("secured.xml", hostile);
        open(&folder).refuses(reason);
    }
}

#[test]
fn a_message_that_is_too_large_is_refused_and_not_read_to_its_end() {
    let folder = with("none");
    let text = folder.read("server.toml");
    folder.write("server.toml", text + "[limits]\nmessage = \"200B\"\n");
    let refused = open(&folder).refuses("too-large");
    assert!(refused.err.contains("200"), "{}", refused.err);
}

#[test]
fn all_problems_of_a_configuration_are_told_at_once_with_their_places() {
    let folder = Folder::new();
    folder.write(
        "bad.toml",
        "[identity]\nkey = \"nowhere.key.pem\"\ncertificate = \"nowhere.cert.pem\"\n[security]\nmechanism = \"sing\"\nsuit = \"Basic256\"\n\
         timestamp = { ttl = \"5 minutes\" }\n",
    );
    for command in ["secure", "open"] {
        let run = folder
            .run(&format!("{command} --config bad.toml -"))
            .fails("problems in the configuration");
        for place in [
            "bad.toml:2:",
            "bad.toml:3:",
            "bad.toml:5:",
            "bad.toml:6:",
            "bad.toml:7:",
        ] {
            assert!(run.err.contains(place), "{place} is not in\n{}", run.err);
        }
        assert!(
            run.err.contains("hint: ") && run.err.contains("suite"),
            "{}",
            run.err
        );
        assert_eq!(run.out, b"");
    }
}

#[test]
fn keys_that_do_not_belong_together_are_told_by_the_configuration() {
    let folder = Folder::new();
    let mismatched = Endpoint::client("sign", "")
        .text()
        .replace("client.cert.pem", "server.cert.pem");
    folder.write("client.toml", mismatched);
    folder
        .run("secure --config client.toml -")
        .fails("client.toml:");
    let mut server = Endpoint::server("sign", "");
    server.trust = format!("anchors = [\"{}\"]", key("client.key.pem"));
    server.write(&folder, "server.toml");
    folder
        .run("open --config server.toml -")
        .fails("server.toml:");
    server.trust = trust("ca");
    server.write(&folder, "server.toml");
    folder.write("plain.xml", "<a/>");
    folder
        .run("open --config server.toml plain.xml")
        .refuses("not-an-envelope");
}

#[test]
fn a_variable_that_is_not_set_is_told_by_its_place_and_not_quoted() {
    let folder = Folder::new();
    let mut client = Endpoint::client("username", "");
    // Somebody may have written the password itself here.
    client.password = "NOBODY_SET_THIS";
    client.write(&folder, "client.toml");
    let run = folder.run("secure --config client.toml -").fails(
        "client.toml:6:16: the environment variable that `password_env` names is not set\n    hint: set it, or use ",
    );
    assert!(!run.err.contains("NOBODY_SET_THIS"), "{}", run.err);
}

#[test]
fn a_message_that_cannot_be_secured_is_our_own_failure() {
    let folder = Folder::new();
    Endpoint::client("sign", "").write(&folder, "client.toml");
    folder.write("plain.xml", "<a/>");
    folder
        .run("secure --config client.toml plain.xml -o secured.xml")
        .fails("the message cannot be secured");
    assert!(!folder.exists("secured.xml"));
    folder.write("plain.xml", envelope(SOAP11));
    folder
        .run("secure --config client.toml plain.xml -o secured.xml")
        .succeeds();
    folder
        .run("secure --config client.toml secured.xml")
        .fails("has a `wsse:Security` header");
}
