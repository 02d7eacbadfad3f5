//! Heads of requests and responses that can be read in two ways, or ask for what a gateway does not
//! do.

use http::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::support::{
    Backend, ENVELOPE, exchange, gateway_before, get, post, send, silent_backend, soon,
};

/// What the gateway answers to these bytes, until it is silent at the end of a text or closes.
async fn answer_to(gateway: std::net::SocketAddr, octets: &str) -> String {
    let mut stream = TcpStream::connect(gateway).await.expect("it listens");
    let all = exchange(&mut stream, octets.as_bytes(), |text| {
        text.ends_with('\n') && text.contains("\r\n\r\n") && !text.ends_with("\r\n\r\n")
    });
    soon("an answer", all).await
}

#[tokio::test]
async fn a_request_that_names_no_host_or_two_is_not_passed_on() {
    let mut backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "").await;
    for head in [
        "GET /echo HTTP/1.1\r\n",
        "GET /echo HTTP/1.1\r\nHost: a\r\nHost: b\r\n",
        "GET /echo HTTP/1.1\r\nHost: a b/c\r\n",
        "GET http://user@a/echo HTTP/1.1\r\nHost: a\r\n",
        &format!("GET /echo HTTP/1.1\r\nHost: {}\r\n", "a".repeat(300)),
    ] {
        let answer = answer_to(gateway.address(), &format!("{head}\r\n")).await;
        assert!(
            answer.starts_with("HTTP/1.1 400 Bad Request\r\n")
                && answer.ends_with("a request names its host, once and without a user\n"),
            "{head:?}: {answer}"
        );
    }
    assert!(backend.seen.try_recv().is_err());
}

#[tokio::test]
async fn the_host_of_a_request_in_absolute_form_is_that_of_its_target() {
    let mut backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "").await;
    let mut stream = TcpStream::connect(gateway.address())
        .await
        .expect("it listens");
    let request = "GET http://meant.example/echo HTTP/1.1\r\nHost: other.example\r\n\r\n";
    exchange(&mut stream, request.as_bytes(), |text| {
        text.ends_with("\r\n\r\n")
    })
    .await;
    let seen = soon("the request", backend.seen.recv()).await;
    let seen = seen.expect("it arrived");
    assert_eq!(seen.headers["x-forwarded-host"], "meant.example");
}

#[tokio::test]
async fn no_tunnel_is_made() {
    let mut backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "").await;
    for target in ["/echo", "http://a/echo", "a:80"] {
        let request = format!("CONNECT {target} HTTP/1.1\r\nHost: a\r\n\r\n");
        let answer = answer_to(gateway.address(), &request).await;
        assert!(
            answer.starts_with("HTTP/1.1 501 Not Implemented\r\n"),
            "{answer}"
        );
    }
    assert!(backend.seen.try_recv().is_err());
}

#[tokio::test]
async fn a_body_with_another_coding_than_chunked_is_not_passed_on_without_its_name() {
    let mut backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "").await;
    for codings in ["gzip, chunked", "chunked, chunked"] {
        let request = format!(
            "POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: {codings}\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
        );
        let answer = answer_to(gateway.address(), &request).await;
        assert!(
            answer.starts_with("HTTP/1.1 501 Not Implemented\r\n"),
            "{codings}: {answer}"
        );
    }
    assert!(backend.seen.try_recv().is_err());
}

#[tokio::test]
async fn an_answer_that_switches_protocols_or_has_an_unknown_coding_is_a_fault() {
    for head in [
        "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
    ] {
        let (address, mut accepted) = silent_backend().await;
        let gateway = gateway_before(address, "").await;
        let mut request = post("/echo", ENVELOPE);
        for (name, value) in [("connection", "upgrade"), ("upgrade", "websocket")] {
            request
                .headers_mut()
                .insert(name, value.parse().expect("a value"));
        }
        let (answer, _stream) =
            tokio::join!(soon("a fault", send(gateway.address(), request)), async {
                let mut stream = accepted.recv().await.expect("the gateway connects");
                stream
                    .write_all(head.as_bytes())
                    .await
                    .expect("the gateway reads");
                stream
            });
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{head}");
    }
}

#[tokio::test]
async fn what_a_backend_says_of_its_connection_stays_there() {
    let (address, mut accepted) = silent_backend().await;
    let gateway = gateway_before(address, "").await;
    let (answer, ()) = tokio::join!(
        soon("an answer", send(gateway.address(), get("/echo"))),
        async {
            let mut stream = accepted.recv().await.expect("the gateway connects");
            let head = "HTTP/1.1 200 OK\r\nConnection: x-one\r\nConnection: x-two\r\nX-One: 1\r\nX-Two: 2\r\nX-Three: 3\r\n\
                        Content-Length: 0\r\n\r\n";
            stream
                .write_all(head.as_bytes())
                .await
                .expect("the gateway reads");
        }
    );
    assert_eq!(answer.headers["x-three"], "3");
    for name in ["x-one", "x-two"] {
        assert!(!answer.headers.contains_key(name), "{name}");
    }
}

#[tokio::test]
async fn fields_that_a_request_says_are_its_connections_are_not_judged_by_either() {
    let mut backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "").await;
    let mut request = post("/echo", ENVELOPE);
    for (name, value) in [
        ("connection", "x-one"),
        ("connection", "x-request-id, x-two"),
        ("x-one", "1"),
        ("x-two", "2"),
        ("x-request-id", "mine"),
    ] {
        request
            .headers_mut()
            .append(name, value.parse().expect("a value"));
    }
    send(gateway.address(), request).await;
    let seen = backend.seen.recv().await.expect("it arrived");
    for name in ["x-one", "x-two", "x-request-id"] {
        assert!(!seen.headers.contains_key(name), "{name}");
    }
}

#[tokio::test]
async fn an_answer_over_http10_leaves_as_the_gateways_own_version() {
    // The one is streamed, the other one is read.
    for path in ["/echo", "/echo?wsdl"] {
        let (address, mut accepted) = silent_backend().await;
        let gateway = gateway_before(address, "").await;
        let mut client = TcpStream::connect(gateway.address())
            .await
            .expect("it listens");
        let request = format!("GET {path} HTTP/1.1\r\nHost: g\r\nConnection: close\r\n\r\n");
        client
            .write_all(request.as_bytes())
            .await
            .expect("the gateway reads");
        let mut stream = accepted.recv().await.expect("the gateway connects");
        exchange(&mut stream, b"", |text| text.ends_with("\r\n\r\n")).await;
        stream
            .write_all(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\nold")
            .await
            .expect("the gateway reads");
        drop(stream);
        let mut answer = String::new();
        soon("the answer", client.read_to_string(&mut answer))
            .await
            .expect("it is text");
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    }
}
