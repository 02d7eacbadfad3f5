//! `soapstone explain --gateway`: from a line of a gateway's log to the cause of the refusal.
#![cfg(unix)]

mod common;
#[path = "common/server.rs"]
mod server;

use std::io::{Read, Write};

use common::{Folder, SOAP11, envelope};
use serde_json::Value;
use server::{Server, free_port, post};

/// A gateway that records, before a service that nobody reaches.
fn gateway(folder: &Folder, record: &str) -> (Server, u16, u16) {
    gateway_for(folder, record, "")
}

/// The same with more in its table `admin`.
fn gateway_for(folder: &Folder, record: &str, more: &str) -> (Server, u16, u16) {
    let (port, admin) = (free_port(), free_port());
    let text = format!(
        "listen = \"127.0.0.1:{port}\"\nadmin = {{ listen = \"127.0.0.1:{admin}\"{more} }}\n{record}\n[log]\nformat = \"json\"\n\
         [[routes]]\npath = \"/echo\"\nbackend = \"http://127.0.0.1:9\"\n[routes.inbound]\n\
         identity = {{ key = \"server.key.pem\", certificate = \"server.cert.pem\" }}\n\
         trust = {{ anchors = [\"ca.cert.pem\"] }}\nsecurity = {{ mechanism = \"sign\", suite = \"Basic256Sha256+RsaSha256\" }}\n"
    );
    folder.write("gateway.toml", text);
    let log = std::fs::File::create(folder.path("log")).expect("a file for the log");
    let mut command = folder.command();
    command
        .args(["gateway", "--config", "gateway.toml"])
        .stderr(log);
    (
        Server::start_command(&mut command, "gateway at"),
        port,
        admin,
    )
}

/// Has the gateway refuse a message that a proxy indented, and returns the id of its record.
fn refused(folder: &Folder, port: u16) -> String {
    let good = folder.read("good.xml");
    post(
        &format!("http://127.0.0.1:{port}/echo"),
        &good.replace("><", ">\n<"),
    );
    let begun = std::time::Instant::now();
    while begun.elapsed() < std::time::Duration::from_secs(20) {
        let log = folder.read("log");
        let lines = log
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let mut records = lines.filter_map(|line: Value| Some(line["record"].as_str()?.to_owned()));
        if let Some(id) = records.next() {
            return id;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    panic!("no record is in the log:\n{}", folder.read("log"));
}

fn prepared() -> Folder {
    let folder = Folder::new();
    folder.run("keys new ca --ca").succeeds();
    folder.run("keys new client --signed-by ca").succeeds();
    folder.run("keys new server --signed-by ca").succeeds();
    let security = "[security]\nmechanism = \"sign\"\nsuite = \"Basic256Sha256+RsaSha256\"\n";
    folder.write(
        "client.toml",
        format!("identity = {{ key = \"client.key.pem\", certificate = \"client.cert.pem\" }}\n{security}"),
    );
    folder.write(
        "server.toml",
        format!("trust = {{ anchors = [\"ca.cert.pem\"] }}\n{security}"),
    );
    folder.write("plain.xml", envelope(SOAP11));
    folder
        .run("secure --config client.toml plain.xml -o good.xml")
        .succeeds();
    folder
}

#[test]
fn a_refused_message_is_explained_by_the_id_in_the_log() {
    let folder = prepared();
    let record = "record = { refused = 10, plaintext = true }";
    let (_server, port, admin) = gateway(&folder, record);
    let id = refused(&folder, port);
    let run = folder.run(&format!(
        "explain --gateway http://127.0.0.1:{admin} --config server.toml {id}"
    ));
    assert_eq!(run.status, 2, "{}", run.err);
    let text = String::from_utf8_lossy(&run.out).into_owned();
    assert!(text.starts_with(&format!("{id}: SOAP 1.1, ")), "{text}");
    assert!(text.contains("[white-space]"), "{text}");
    assert!(text.contains("not judged: `Body` signed: "), "{text}");
    let run = folder.run(&format!(
        "explain --gateway http://127.0.0.1:{admin} none-r1"
    ));
    assert_eq!(run.status, 1);
    assert!(run.err.contains("answered 404"), "{}", run.err);
    let run = folder.run(&format!(
        "explain --gateway http://127.0.0.1:{admin} ../metrics"
    ));
    assert!(run.err.contains("is no id of a record"), "{}", run.err);
}

#[test]
fn a_sealed_message_takes_the_key_of_the_file() {
    let folder = prepared();
    folder.write("seal.key", "07".repeat(32));
    folder.write("other.key", "08".repeat(32));
    let record = "record = { refused = 10, plaintext = true, seal_key_file = \"seal.key\" }";
    let (_server, port, admin) = gateway(&folder, record);
    let id = refused(&folder, port);
    let explain = |key: &str| {
        folder.run(&format!(
            "explain --gateway http://127.0.0.1:{admin} {key}{id}"
        ))
    };
    let run = explain("");
    assert_eq!(run.status, 1);
    assert!(run.err.contains("--seal-key FILE"), "{}", run.err);
    let run = explain("--seal-key other.key ");
    assert_eq!(run.status, 1);
    assert!(run.err.contains("not the key that sealed"), "{}", run.err);
    let run = explain("--seal-key seal.key ");
    assert_eq!(run.status, 2, "{}", run.err);
    let text = String::from_utf8_lossy(&run.out).into_owned();
    assert!(text.contains("[white-space]"), "{text}");
}

#[test]
fn content_in_the_clear_that_was_not_kept_is_told() {
    let folder = prepared();
    let (_server, port, admin) = gateway(&folder, "record = { refused = 10 }");
    let id = refused(&folder, port);
    let run = folder.run(&format!("explain --gateway http://127.0.0.1:{admin} {id}"));
    assert_eq!(run.status, 1);
    assert!(
        run.err
            .contains("was not kept: it holds content in the clear"),
        "{}",
        run.err
    );
}

#[test]
fn a_gateway_with_a_token_tells_whoever_has_it() {
    let folder = prepared();
    folder.write("token", "0f1e2d3c4b5a69788796a5b4c3d2e1f0\n");
    let record = "record = { refused = 10, plaintext = true }";
    let (_gateway, port, admin) = gateway_for(&folder, record, ", token_file = \"token\"");
    let id = refused(&folder, port);
    let address = format!("http://127.0.0.1:{admin}");
    folder
        .run(&format!(
            "explain --config server.toml --gateway {address} {id}"
        ))
        .fails("wants the token of its `admin`");
    folder.write("other", "0f1e2d3c4b5a69788796a5b4c3d2e1f1");
    folder
        .run(&format!(
            "explain --config server.toml --gateway {address} --token-file other {id}"
        ))
        .fails("wants the token of its `admin`");
    folder
        .run(&format!(
            "explain --config server.toml --gateway {address} --token-file token {id}"
        ))
        .refuses_somehow();
}

#[test]
fn a_gateway_with_client_certificates_tells_whoever_it_names() {
    let folder = prepared();
    folder.run("keys new other --signed-by ca").succeeds();
    folder
        .run("keys new admin --signed-by ca --san localhost")
        .succeeds();
    folder.run("keys new stranger --ca").succeeds();
    let record = "record = { refused = 10, plaintext = true }";
    let more = ", subjects = [\"CN=client\"], tls = { certificate = \"admin.cert.pem\", key = \"admin.key.pem\", \
                client_ca = \"ca.cert.pem\" }";
    let (_gateway, port, admin) = gateway_for(&folder, record, more);
    let id = refused(&folder, port);
    let explain = |scheme: &str, shown: &str| {
        folder.run(&format!(
            "explain --gateway {scheme}://localhost:{admin} {shown} {id}"
        ))
    };
    let client = "--cert client.cert.pem --key client.key.pem";
    explain("https", &format!("--ca ca.cert.pem {client}")).refuses_somehow();
    explain(
        "https",
        "--ca ca.cert.pem --cert other.cert.pem --key other.key.pem",
    )
    .fails("the client certificate is of nobody whom `admin.subjects` names");
    // The listener is another one than it should be.
    explain("https", &format!("--ca stranger.cert.pem {client}")).fails("certificate");
    explain("http", "--json").fails("this port speaks TLS");
    explain("http", client).fails("speaks no TLS, and certificates are named");
    explain(
        "https",
        "--ca ca.cert.pem --cert client.cert.pem --key plain.xml",
    )
    .fails("expected a private key in PEM without a password");
}

#[test]
fn the_console_tells_what_the_command_tells() {
    let folder = prepared();
    let record = "record = { refused = 10, plaintext = true }";
    let (_gateway, port, admin) = gateway(&folder, record);
    let id = refused(&folder, port);
    let run = folder.run(&format!("explain --gateway http://127.0.0.1:{admin} {id}"));
    assert_eq!(run.status, 2, "{}", run.err);
    let mut stream = std::net::TcpStream::connect(("127.0.0.1", admin)).expect("it listens");
    let request = format!("GET /console/explained/{id} HTTP/1.0\r\n\r\n");
    stream.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let (head, told) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.contains(" 200 "), "{head}");
    assert_eq!(told, String::from_utf8_lossy(&run.out));
    assert!(told.contains("[white-space]"), "{told}");
}
