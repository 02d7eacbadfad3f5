//! Answers of a service that pass through the hands of somebody on the way: what comes before them,
//! and how long they may take.

use std::net::SocketAddr;

use bytes::Bytes;
use http::StatusCode;
use soapstone_gateway::Running;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Answer, ENVELOPE, Folder, get, post, reason, send, silent_backend, soon};

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

const DESCRIPTION: &str = "<w:definitions xmlns:w=\"http://schemas.xmlsoap.org/wsdl/\"/>";

/// Sends the head of an answer, and its body when it is told to.
async fn in_two_pieces(stream: &mut TcpStream, body: &str, go_on: impl Future<Output = ()>) {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/xml\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream
        .write_all(head.as_bytes())
        .await
        .expect("the gateway reads");
    go_on.await;
    // The gateway may have given up.
    let _ = stream.write_all(body.as_bytes()).await;
}

/// Case attacks/06.
#[tokio::test]
async fn the_time_of_a_route_bounds_the_whole_answer() {
    let folder = Folder::with_keys("answers-time");
    for (mechanism, request) in [
        ("sign", post("/echo", ENVELOPE)),
        ("secure-conversation", post("/echo", ENVELOPE)),
        ("sign", get("/echo?wsdl")),
    ] {
        let (address, mut accepted) = silent_backend().await;
        let short = "timeouts = { response = \"100ms\" }";
        let client = client(&folder, address, mechanism, short).await;
        let way = async {
            let mut stream = accepted.recv().await.expect("the gateway connects");
            read_request(&mut stream).await.expect("it asks");
            in_two_pieces(&mut stream, DESCRIPTION, std::future::pending()).await;
        };
        let asked = soon("an answer", send(client.address(), request));
        let answer = tokio::select! {
            answer = asked => answer,
            () = way => unreachable!("it goes on for ever"),
        };
        let (status, told) = (answer.status, reason(&answer.body));
        let late = "The service behind this gateway did not answer in time";
        assert_eq!((status, told), (StatusCode::GATEWAY_TIMEOUT, late));
    }
}

/// Case attacks/06.
#[tokio::test]
async fn a_route_may_give_an_answer_more_time_than_the_gateway_does() {
    let folder = Folder::with_keys("answers-longer");
    let (address, mut accepted) = silent_backend().await;
    let client = folder
        .gateway(&format!(
            "LISTEN\ntimeouts = {{ response = \"50ms\" }}\n[[routes]]\npath = \"/echo\"\n\
             backend = \"http://{address}/echo\"\ntimeouts = {{ response = \"60s\" }}\n\
             [routes.outbound]\n{}",
            tables("client", "server", "sign")
        ))
        .await;
    let (answer, ()) = tokio::join!(
        soon("an answer", send(client.address(), get("/echo?wsdl"))),
        async {
            let mut stream = accepted.recv().await.expect("the gateway connects");
            read_request(&mut stream).await.expect("it asks");
            let pause = tokio::time::sleep(std::time::Duration::from_millis(300));
            in_two_pieces(&mut stream, DESCRIPTION, pause).await;
        }
    );
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);

    let (answer, ()) = tokio::join!(
        soon("an answer", send(client.address(), post("/echo", ENVELOPE))),
        async {
            let mut stream = match accepted.try_recv() {
                Ok(stream) => stream,
                Err(_) => accepted.recv().await.expect("the gateway connects"),
            };
            read_request(&mut stream).await.expect("it asks");
            let pause = tokio::time::sleep(std::time::Duration::from_millis(300));
            in_two_pieces(&mut stream, ENVELOPE, pause).await;
        }
    );
    // It came in time, and proves nothing.
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
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
