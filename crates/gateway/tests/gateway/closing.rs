//! Answers to clients that still send, and what a backend's status says.

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{Backend, ENVELOPE, gateway, post, reason, send, soon};

/// The case `reliability/06`: the connection was reset while the client still sent, and took the
/// answer with it.
#[tokio::test]
async fn a_client_that_sends_all_before_it_reads_gets_its_413() {
    let backend = Backend::echo().await;
    let text = format!(
        "LISTEN\nlimits = {{ body = \"1MB\" }}\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/\"\n[routes.inbound]\n\
         users = [{{ name = \"alice\", password = \"secret\" }}]\nsecurity = {{ mechanism = \"username\" }}\n",
        backend.address
    );
    let gateway = gateway(&text).await;
    // More than sockets hold on both sides.
    let length = 24 << 20;
    let mut client = TcpStream::connect(gateway.address())
        .await
        .expect("it listens");
    let head = format!(
        "POST /echo HTTP/1.1\r\nHost: g\r\nContent-Type: text/xml\r\nContent-Length: {length}\r\n\r\n"
    );
    client.write_all(head.as_bytes()).await.expect("it reads");
    let piece = vec![b'x'; 1 << 16];
    let sent = async {
        for _ in 0..length / piece.len() {
            client.write_all(&piece).await?;
        }
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.map(|_| answer)
    };
    let answer = soon("an answer", sent).await.expect("no reset");
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

/// A gateway behind a client, before a backend that answers with that status.
async fn answered(status: StatusCode, body: &'static str) -> crate::support::Answer {
    let backend = Backend::answering(move |_| {
        let mut response = Response::new(Full::new(Bytes::from_static(body.as_bytes())));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        headers.insert("content-type", "text/xml".parse().expect("a value"));
        headers.insert("retry-after", "86400".parse().expect("a value"));
        response
    })
    .await;
    let text = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/\"\n[routes.outbound]\n\
         shared_key = {{ hex = \"{}\" }}\nsecurity = {{ mechanism = \"sign\", key_reference = \"key-name\" }}\n",
        backend.address,
        "0f".repeat(32)
    );
    let gateway = gateway(&text).await;
    send(gateway.address(), post("/echo", ENVELOPE)).await
}

const FAULT: &str = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body><s:Fault>\
                     <faultcode>s:Server</faultcode><faultstring>told by nobody</faultstring></s:Fault></s:Body></s:Envelope>";

#[tokio::test]
async fn a_peer_that_is_busy_or_waited_in_vain_is_told_as_such_in_our_own_words() {
    for body in [FAULT, ""] {
        let busy = answered(StatusCode::SERVICE_UNAVAILABLE, body).await;
        assert_eq!(busy.status, StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(reason(&busy.body), "The gateway is busy; try again later");
        assert_eq!(busy.headers["retry-after"], "1");
        let late = answered(StatusCode::GATEWAY_TIMEOUT, body).await;
        assert_eq!(late.status, StatusCode::GATEWAY_TIMEOUT);
        assert_eq!(
            reason(&late.body),
            "The service behind this gateway did not answer in time"
        );
        assert!(!late.headers.contains_key("retry-after"));
    }
    let other = answered(StatusCode::BAD_GATEWAY, FAULT).await;
    assert_eq!(other.status, StatusCode::BAD_GATEWAY);
}
