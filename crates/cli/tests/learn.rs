//! `soapstone learn`: files from messages, and what is told of them.

mod common;
#[path = "common/endpoints.rs"]
mod endpoints;

use common::{Folder, SOAP11, envelope, key};
use endpoints::Endpoint;

const SUITE: &str = "suite = \"Basic256Sha256\"";

/// A folder with both sides of a mechanism and a message of the client.
fn folder(mechanism: &'static str) -> Folder {
    let folder = Folder::new();
    Endpoint::client(mechanism, SUITE).write(&folder, "client.toml");
    Endpoint::server(mechanism, SUITE).write(&folder, "server.toml");
    folder.write("plain.xml", envelope(SOAP11));
    folder
        .run("secure --config client.toml plain.xml -o sample.xml")
        .succeeds();
    folder
}

#[test]
fn what_was_learned_opens_the_sample_and_secures_one_like_it() {
    for mechanism in ["sign", "sign-encrypt", "encrypt-sign", "encrypt"] {
        let folder = folder(mechanism);
        let told = folder
            .run("learn --keys server.toml --sender-keys client.toml -o receiver.toml --sender sender.toml sample.xml")
            .succeeds();
        assert!(
            told.err.contains("soapstone: the file opens the sample\n"),
            "{mechanism}"
        );
        let learned = folder.read("receiver.toml");
        assert!(
            learned.contains(&format!("mechanism = \"{mechanism}\"")),
            "{learned}"
        );
        folder
            .run("open --config receiver.toml sample.xml")
            .succeeds();
        folder
            .run("secure --config sender.toml plain.xml -o again.xml")
            .succeeds();
        folder.run("open --config server.toml again.xml").succeeds();
        let told = folder
            .run("learn --keys server.toml --diff sender.toml sample.xml")
            .succeeds();
        assert_eq!(told.text(), "no difference but in values\n", "{mechanism}");
    }
}

#[test]
fn a_file_without_keys_has_places_for_them() {
    let folder = folder("sign-encrypt");
    let told = folder.run("learn sample.xml").succeeds();
    assert!(
        told.text().contains("key = \"our.key.pem\""),
        "{}",
        told.text()
    );
    assert!(
        told.text().contains("anchors = [\"ca.cert.pem\"]"),
        "{}",
        told.text()
    );
    assert!(
        told.err.contains("the file was not tried: no --keys"),
        "{}",
        told.err
    );
}

#[test]
fn a_file_that_opens_no_sample_is_told_with_its_reason() {
    let folder = folder("sign");
    let keys = format!(
        "trust = {{ anchors = [\"{}\"] }}\n",
        key("other-ca.cert.pem")
    );
    folder.write("keys.toml", keys);
    let told = folder
        .run("learn --keys keys.toml --check sample.xml")
        .refuses_somehow();
    assert!(
        told.err.contains("does not open the samples: untrusted"),
        "{}",
        told.err
    );
    assert_eq!(told.text(), "");
}

/// The file is strict, and its partner is not.
#[test]
fn a_file_that_opens_no_sample_is_told_with_the_setting_that_would() {
    let folder = folder("encrypt-sign");
    let unsigned = format!("{SUITE}\nencryption = {{ sign_session_key = false }}");
    Endpoint::client("encrypt-sign", &unsigned).write(&folder, "client.toml");
    let short = format!(
        "<soap:Envelope xmlns:soap=\"{SOAP11}\"><soap:Body><a/></soap:Body></soap:Envelope>"
    );
    folder.write("plain.xml", short);
    folder
        .run("secure --config client.toml plain.xml -o short.xml")
        .succeeds();
    let told = folder
        .run("learn --keys server.toml --check short.xml")
        .refuses_somehow();
    for part in [
        "does not open the samples: short-cipher-text",
        "`allow_short_cipher_text = true`",
    ] {
        assert!(told.err.contains(part), "{}", told.err);
    }
}

#[test]
fn the_samples_are_tried_at_the_moment_that_is_named() {
    let folder = folder("sign");
    let told = folder
        .run("learn --keys server.toml --check --at 1990-01-31T12:00:00Z sample.xml")
        .refuses_somehow();
    assert!(
        told.err.contains("does not open the samples: "),
        "{}",
        told.err
    );
    folder
        .run("learn --at 1990-01-31T12:00:00Z sample.xml")
        .fails("--keys");
}

#[test]
fn messages_of_two_kinds_are_told_apart() {
    let folder = folder("sign");
    Endpoint::client("encrypt", SUITE).write(&folder, "other.toml");
    folder
        .run("secure --config other.toml plain.xml -o other.xml")
        .succeeds();
    folder
        .run("learn sample.xml other.xml")
        .fails("message 2: expected protection as in the first message, sign, found encrypt");
    folder
        .run("learn plain.xml")
        .fails("message 1: expected a `wsse:Security` header, found none");
}

#[test]
fn a_difference_is_told_in_words() {
    let folder = folder("sign");
    let tables = folder
        .read("client.toml")
        .replace("[security]", "[security]\nkey_reference = \"thumbprint\"");
    folder.write("ours.toml", tables);
    let told = folder
        .run("learn --keys server.toml --diff ours.toml sample.xml")
        .refuses_somehow();
    assert!(
        told.text().contains("Header/Security: the sample holds "),
        "{}",
        told.text()
    );
}

#[test]
fn answers_and_a_description_are_learned_from_as_well() {
    let folder = folder("sign");
    // The plain form of an answer has no Security header.
    folder.write("answer.xml", envelope(SOAP11));
    let told = folder
        .run("learn --keys server.toml --sender-keys client.toml --answer answer.xml --sender sender.toml sample.xml")
        .succeeds();
    assert!(
        told.err
            .contains("soapstone: the sender's file opens the answers\n"),
        "{}",
        told.err
    );
    assert!(told.err.contains("answers prove less"), "{}", told.err);
    for text in [told.text(), folder.read("sender.toml").as_str()] {
        assert!(text.contains("[answers]\nmechanism = \"plain\""), "{text}");
    }
    folder.write(
        "shop.wsdl",
        "<definitions xmlns=\"http://schemas.xmlsoap.org/wsdl/\" targetNamespace=\"urn:x\"/>",
    );
    let told = folder
        .run("learn --keys server.toml --wsdl shop.wsdl sample.xml")
        .succeeds();
    assert!(
        told.err
            .contains("soapstone: description: differs: message 1 holds"),
        "{}",
        told.err
    );
}
