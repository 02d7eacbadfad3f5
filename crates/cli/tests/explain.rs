//! `soapstone explain`: what people and programs read, and how it ends.

mod common;

use common::{Folder, SOAP11, envelope};
use serde_json::Value;

/// Keys, endpoint files, and a signed message.
fn prepared() -> Folder {
    let folder = Folder::new();
    folder.run("keys new ca --ca").succeeds();
    folder.run("keys new client --signed-by ca").succeeds();
    folder.write(
        "client.toml",
        "identity = { key = \"client.key.pem\", certificate = \"client.cert.pem\" }\n\
         [security]\nmechanism = \"sign\"\nsuite = \"Basic256Sha256+RsaSha256\"\n",
    );
    folder.write(
        "server.toml",
        "trust = { anchors = [\"ca.cert.pem\"] }\n\
         [security]\nmechanism = \"sign\"\nsuite = \"Basic256Sha256+RsaSha256\"\n",
    );
    folder.write("plain.xml", envelope(SOAP11));
    folder
        .run("secure --config client.toml plain.xml -o good.xml")
        .succeeds();
    folder
}

/// The message with white space between its tags, as a proxy writes it.
fn indented(folder: &Folder) {
    let good = folder.read("good.xml");
    folder.write("indented.xml", good.replace("><", ">\n<"));
}

#[test]
fn a_good_message_ends_with_exit_code_0() {
    let folder = prepared();
    let run = folder.run("explain good.xml").succeeds();
    assert!(
        run.text().contains("\nNothing wrong was found.\n"),
        "{}",
        run.text()
    );
    let run = folder
        .run("explain --config server.toml good.xml")
        .succeeds();
    assert!(run.text().contains("\naccepted: "), "{}", run.text());
}

#[test]
fn the_cause_of_a_broken_message_is_named_with_its_proof() {
    let folder = prepared();
    indented(&folder);
    let run = folder.run("explain indented.xml");
    assert_eq!(run.status, 2);
    let text = String::from_utf8_lossy(&run.out).into_owned();
    assert!(
        text.contains("cause: with the white space between the tags left out (the message was indented after it was signed), the sha256 digest is the one in the message [white-space]"),
        "{text}"
    );
    let run = folder.run("explain --config server.toml indented.xml");
    assert_eq!(run.status, 2);
    let text = String::from_utf8_lossy(&run.out).into_owned();
    assert!(
        text.contains("\nrefused (digest-mismatch): ")
            || text.contains("\nrefused (signature-mismatch): "),
        "{text}"
    );
    assert!(text.contains("NOT MET: `Body` signed: "), "{text}");
}

#[test]
fn json_has_the_fields_of_the_guide() {
    let folder = prepared();
    indented(&folder);
    let run = folder.run("explain --json --against good.xml indented.xml");
    assert_eq!(run.status, 2);
    let told: Value = serde_json::from_slice(&run.out).expect("JSON");
    assert_eq!(told["refused"], true);
    assert_eq!(told["file"], "indented.xml");
    assert_eq!(told["findings"][0]["kind"], "digest-mismatch");
    assert_eq!(told["findings"][0]["causes"][0]["kinds"][0], "white-space");
    assert_eq!(told["findings"][0]["causes"][0]["certain"], true);
    assert_eq!(told["signatures"][0]["references"][0]["state"], "differs");
    let differences = told["differences"].as_array().expect("a list");
    assert!(!differences.is_empty());
}

#[test]
fn canonical_bytes_are_written_where_they_are_wanted() {
    let folder = prepared();
    folder.run("explain --dump bytes good.xml").succeeds();
    let info = folder.read("bytes/signature-1-signed-info.c14n");
    assert!(info.starts_with("<ds:SignedInfo "), "{info}");
    assert!(folder.exists("bytes/signature-1-reference-1.c14n"));
}

#[test]
fn a_file_that_is_no_message_is_refused_with_what_was_done_to_it() {
    let folder = prepared();
    let good = folder.read("good.xml");
    folder.write("wrapped.xml", format!("HTTP/1.1 200 OK\r\n\r\n{good}"));
    let run = folder.run("explain wrapped.xml");
    assert_eq!(run.status, 2);
    assert!(run.err.contains("inside of something else"), "{}", run.err);
    assert_eq!(folder.run("explain missing.xml").status, 1);
}

#[test]
fn a_request_that_is_not_the_one_that_is_answered_is_told() {
    let folder = prepared();
    let addressed = |block: &str| {
        format!(
            "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Header>\
             <a:{block} xmlns:a=\"http://www.w3.org/2005/08/addressing\">urn:uuid:{}</a:{block}></s:Header><s:Body/></s:Envelope>",
            block.len()
        )
    };
    folder.write("request.xml", addressed("MessageID"));
    folder.write(
        "answer.xml",
        addressed("RelatesToOther").replace("RelatesToOther", "RelatesTo"),
    );
    let run = folder.run("explain --response-to request.xml answer.xml");
    assert_eq!(run.status, 2);
    let text = String::from_utf8_lossy(&run.out).into_owned();
    assert!(text.contains("(answer-to-another-request)"), "{text}");
}

#[test]
fn the_endpoint_file_that_is_sketched_opens_the_message() {
    let folder = prepared();
    let run = folder.run("explain --json good.xml").succeeds();
    let told: Value = serde_json::from_slice(&run.out).expect("JSON");
    folder.write("sketch.toml", told["sketch"].as_str().expect("a sketch"));
    folder
        .run("open --config sketch.toml good.xml -o opened.xml")
        .succeeds();
}
