//! Refused messages that a gateway keeps for `soapstone explain --gateway`.

use std::path::Path;

use http::StatusCode;
use serde_json::Value;
use soapstone::crypto::base64;
use soapstone_gateway::{Config, Running};

use crate::secured::{client, secured, service};
use crate::support::{Backend, ENVELOPE, Folder, Said, get, post, send, to_admin};

async fn gateway(folder: &Folder, backend: &Backend, record: &str, mechanism: &str) -> Running {
    let text = format!(
        "LISTEN\nadmin = \"127.0.0.1:0\"\n{record}\n[[routes]]\nname = \"books\"\npath = \"/echo\"\n\
         backend = \"http://{}/echo\"\n[routes.inbound]\n{}",
        backend.address,
        service(mechanism)
    );
    folder.gateway(&text).await
}

async fn asked(gateway: &Running, path: &str) -> (StatusCode, Value) {
    let admin = gateway.admin_address().expect("it is configured");
    let answer = send(admin, to_admin(path)).await;
    let body = serde_json::from_str(&answer.body).unwrap_or(Value::Null);
    (answer.status, body)
}

/// The records, the last one first.
async fn records(gateway: &Running) -> Vec<Value> {
    let (status, body) = asked(gateway, "/refused").await;
    assert_eq!(status, StatusCode::OK);
    body.as_array().expect("a list").clone()
}

/// A message with another letter in its last cipher text.
fn changed(message: &[u8]) -> Vec<u8> {
    let text = String::from_utf8(message.to_vec()).expect("UTF-8");
    let place = text.rfind("</xenc:CipherValue>").expect("cipher text") - 8;
    let letter = if text.as_bytes()[place] == b'A' {
        "B"
    } else {
        "A"
    };
    format!("{}{letter}{}", &text[..place], &text[place + 1..]).into_bytes()
}

#[tokio::test]
async fn a_refused_message_is_kept_as_it_arrived_and_the_log_names_its_record() {
    let (folder, backend) = (Folder::with_keys(), Backend::echo().await);
    let (said, _guard) = Said::listen();
    let record = "record = { refused = 10 }";
    let gateway = gateway(&folder, &backend, record, "sign-encrypt").await;
    let message = secured(&folder, "sign-encrypt");
    let accepted = send(gateway.address(), post("/echo", message.clone())).await;
    assert_eq!(accepted.status, StatusCode::OK);
    assert_eq!(records(&gateway).await, [Value::Null; 0]);
    let refused = changed(&secured(&folder, "sign-encrypt"));
    let answer = send(gateway.address(), post("/echo", refused.clone())).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    let listed = records(&gateway).await;
    assert_eq!(listed.len(), 1);
    let id = listed[0]["id"].as_str().expect("an id");
    assert!(
        said.to_string().contains(&format!("record=\"{id}\"")),
        "{said}"
    );
    assert!(!answer.body.contains(id), "{}", answer.body);
    let (_, record) = asked(&gateway, &format!("/refused/{id}")).await;
    assert_eq!(record["message"], base64::encode(&refused));
    assert_eq!(record["route"], "books");
    assert_eq!(record["direction"], "inbound");
    assert_eq!(record["bytes"], refused.len());
    let answered = answer.headers["x-request-id"].to_str().expect("text");
    assert_eq!(record["request"], answered);
}

#[tokio::test]
async fn a_message_in_the_clear_is_named_and_not_kept_unless_the_file_says_so() {
    let (folder, backend) = (Folder::with_keys(), Backend::echo().await);
    let message = String::from_utf8(secured(&folder, "sign")).expect("UTF-8");
    let message = message.replace(">hello<", ">hallo<");
    for (record, is_kept) in [
        ("record = { refused = 10 }", false),
        ("record = { refused = 10, plaintext = true }", true),
    ] {
        let gateway = gateway(&folder, &backend, record, "sign").await;
        send(gateway.address(), post("/echo", message.clone())).await;
        let listed = records(&gateway).await;
        let id = listed[0]["id"].as_str().expect("an id");
        let (_, found) = asked(&gateway, &format!("/refused/{id}")).await;
        assert_eq!(found.get("message").is_some(), is_kept, "{record}");
        assert_eq!(found.get("not_kept").is_none(), is_kept, "{record}");
        assert_eq!(found["cause"], "digest-mismatch");
    }
}

#[tokio::test]
async fn a_refused_answer_is_kept_with_its_direction() {
    let folder = Folder::with_keys();
    // A backend whose answer nothing secures.
    let backend = Backend::echo().await;
    let text = format!(
        "LISTEN\nadmin = \"127.0.0.1:0\"\nrecord = {{ refused = 10, plaintext = true }}\n\
         [[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.outbound]\n{}",
        backend.address,
        client("sign")
    );
    let gateway = folder.gateway(&text).await;
    let answer = send(gateway.address(), post("/echo", ENVELOPE)).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    let listed = records(&gateway).await;
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["direction"], "outbound");
}

#[tokio::test]
async fn nothing_is_recorded_beside_the_routes_or_without_a_word_of_the_file() {
    let (folder, backend) = (Folder::with_keys(), Backend::echo().await);
    let gateway_without = gateway(&folder, &backend, "", "sign").await;
    assert_eq!(
        asked(&gateway_without, "/refused").await.0,
        StatusCode::NOT_FOUND
    );
    let recording = gateway(&folder, &backend, "record = { refused = 1 }", "sign").await;
    let beside = send(recording.address(), get("/refused")).await;
    assert_eq!(beside.status, StatusCode::NOT_FOUND);
    assert_eq!(
        asked(&recording, "/refused/none-r1").await.0,
        StatusCode::NOT_FOUND
    );
    let text = "listen = \":0\"\nrecord = { refused = 1 }\n[[routes]]\npath = \"/echo\"\nbackend = \"http://127.0.0.1:1/echo\"\n";
    let config = Config::from_text(text, Path::new("gateway.toml"), &|_| None);
    let problems = config.expect_err("a listener is missing").to_string();
    assert!(problems.contains("`record` needs `admin`"), "{problems}");
}

#[tokio::test]
async fn copies_are_given_back_with_the_messages() {
    let (folder, backend) = (Folder::with_keys(), Backend::echo().await);
    let record = "record = { refused = 10 }";
    let gateway = gateway(&folder, &backend, record, "sign-encrypt").await;
    for _ in 0..3 {
        let message = secured(&folder, "sign-encrypt");
        send(gateway.address(), post("/echo", changed(&message))).await;
        send(gateway.address(), post("/echo", message)).await;
    }
    let metrics = gateway.metrics();
    let line = "soapstone_buffered_bytes 0";
    assert!(metrics.lines().any(|found| found == line), "{metrics}");
}

/// Answers to refusals of different kinds are the same with recording and without: the head but for
/// its date and name, and the body.
#[tokio::test]
async fn recording_shows_in_no_answer() {
    let (folder, backend) = (Folder::with_keys(), Backend::echo().await);
    let mut answers: Vec<Vec<(StatusCode, Vec<String>, String)>> = Vec::new();
    for record in ["", "record = { refused = 10, plaintext = true }"] {
        let gateway = gateway(&folder, &backend, record, "encrypt-sign").await;
        let mut seen = Vec::new();
        for kind in 0..3 {
            let message = secured(&folder, "encrypt-sign");
            let text = String::from_utf8(message.clone()).expect("UTF-8");
            let message = match kind {
                0 => changed(&message),
                1 => text
                    .replacen("<ds:SignatureValue>", "<ds:SignatureValue>AAAA", 1)
                    .into_bytes(),
                _ => text
                    .replacen("<ds:DigestValue>", "<ds:DigestValue>AAAA", 1)
                    .into_bytes(),
            };
            let answer = send(gateway.address(), post("/echo", message)).await;
            let heads = answer.headers.iter();
            let heads = heads.filter(|(name, _)| !matches!(name.as_str(), "date" | "x-request-id"));
            let heads = heads.map(|(name, value)| format!("{name}: {value:?}"));
            seen.push((answer.status, heads.collect(), answer.body));
        }
        answers.push(seen);
    }
    assert_eq!(answers[0], answers[1]);
}

#[tokio::test]
async fn the_hint_of_the_log_comes_from_the_form_of_the_message() {
    let (folder, backend) = (Folder::with_keys(), Backend::echo().await);
    let (said, _guard) = Said::listen();
    let record = "record = { refused = 10 }";
    let gateway = gateway(&folder, &backend, record, "sign").await;
    let message = String::from_utf8(secured(&folder, "sign")).expect("UTF-8");
    send(
        gateway.address(),
        post("/echo", message.replace("><", ">\n<")),
    )
    .await;
    let hint = "hint=\"likely: a proxy or a logger indented the message";
    assert!(said.to_string().contains(hint), "{said}");
}
