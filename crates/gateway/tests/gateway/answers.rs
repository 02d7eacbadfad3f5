//! Answers of a service that pass through the hands of somebody on the way: what comes before them,
//! and how long they may take.

use std::net::SocketAddr;

use bytes::Bytes;
use http::StatusCode;
use soapstone_gateway::Running;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Answer, ENVELOPE, Folder, get, post, send, silent_backend, soon};

/// The tables of a side, for a mechanism.
fn tables(us: &str, peer: &str, mechanism: &str) -> String {
    format!(
        "identity = {{ key = \"{us}.key.pem\", certificate = \"{us}.pem\" }}\n\
         peer = {{ certificate = \"{peer}.pem\" }}\ntrust = {{ anchors = [\"ca.pem\"] }}\n\
         security = {{ mechanism = \"{mechanism}\", suite = \"Basic256Sha256\" }}\n"
    )
}

/// A gateway that secures requests to a backend; `more` are keys of its route.
async fn client(folder: &Folder, backend: SocketAddr, mechanism: &str, more: &str) -> Running {
    let side = tables("client", "server", mechanism);
    folder
        .gateway(&format!(
            "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\n{more}\n\
             [routes.outbound]\n{side}"
        ))
        .await
}

/// Reads a request with a length from a connection: its head and its body.
async fn read_request(stream: &mut TcpStream) -> Option<(String, Bytes)> {
    let mut read = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&read).into_owned();
        if let Some((head, _)) = text.split_once("\r\n\r\n") {
            let lower = head.to_ascii_lowercase();
            let length = lower.split_once("content-length: ").map_or(0, |(_, rest)| {
                let digits = rest.split("\r\n").next().unwrap_or_default();
                digits.parse().expect("a length")
            });
            let begins = head.len() + 4;
            if read.len() >= begins + length {
                return Some((head.to_owned(), Bytes::from(read.split_off(begins))));
            }
        }
        if stream.read_buf(&mut read).await.ok()? == 0 {
            return None;
        }
    }
}

async fn failures(gateway: &Running, reason: &str) -> bool {
    let metrics = send(gateway.address(), get("/metrics")).await.body;
    let line = format!("soapstone_failures_total{{route=\"/echo\",reason=\"{reason}\"}} 1");
    metrics.lines().any(|found| found == line)
}

/// What comes of a request to a backend that answers with these octets; and whether it could go on writing `and_then` without end.
async fn flooded(folder: &Folder, begins: String, and_then: Option<String>) -> (Running, Answer) {
    let (address, mut accepted) = silent_backend().await;
    let client = client(folder, address, "none", "").await;
    let (answer, ()) = tokio::join!(
        soon("an answer", send(client.address(), post("/echo", ENVELOPE))),
        async {
            let mut stream = accepted.recv().await.expect("the gateway connects");
            read_request(&mut stream).await.expect("it asks");
            stream
                .write_all(begins.as_bytes())
                .await
                .expect("the gateway reads");
            if let Some(more) = and_then {
                let end = async { while stream.write_all(more.as_bytes()).await.is_ok() {} };
                soon("the end of the connection", end).await;
            }
        }
    );
    (client, answer)
}

/// RFC 9110, 15.2. Case attacks/08.
#[tokio::test]
async fn a_few_interim_answers_are_skipped_and_more_are_a_fault() {
    let folder = Folder::with_keys("answers-interim");
    let early = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n";
    let end = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/xml\r\ncontent-length: {}\r\n\r\n{ENVELOPE}",
        ENVELOPE.len()
    );
    let (_, answer) = flooded(&folder, format!("{}{end}", early.repeat(8)), None).await;
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (StatusCode::OK, ENVELOPE)
    );
    assert!(!answer.headers.contains_key("link"));

    let long = format!(
        "HTTP/1.1 103 Early Hints\r\nlink: {}\r\n\r\n",
        "a".repeat(40_000)
    );
    for begins in [early.repeat(9), long.repeat(2)] {
        let (client, answer) = flooded(&folder, format!("{begins}{end}"), None).await;
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
        assert!(failures(&client, "backend-interim").await);
    }
}

/// Case attacks/08: it kept a processor busy, and the time of the route did not end it.
#[tokio::test]
async fn interim_answers_without_end_are_read_to_no_end() {
    let folder = Folder::with_keys("answers-flood");
    let early = format!(
        "HTTP/1.1 103 Early Hints\r\n{}\r\n",
        "link: <x>\r\n".repeat(80)
    );
    for hint in [
        early.as_str(),
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 199 x\r\n\r\n",
    ] {
        let more = hint.repeat(100);
        let (client, answer) = flooded(&folder, String::new(), Some(more)).await;
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
        assert!(failures(&client, "backend-interim").await, "{hint}");
    }
}
