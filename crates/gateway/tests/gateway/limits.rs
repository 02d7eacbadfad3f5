//! What is too large, too slow, or gone.

use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use crate::support::{
    Backend, ENVELOPE, Nobody, exchange, gateway_before, get, post, reason, request_in_flight,
    send, silent_backend, soon,
};

#[tokio::test]
async fn a_body_that_says_it_is_too_large_is_refused_before_it_is_read() {
    let mut backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "limits = { body = 10 }").await;
    let answer = send(gateway.address(), post("/echo", "12345678901")).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(
        reason(&answer.body),
        "The message is larger than this service accepts"
    );
    assert!(backend.seen.try_recv().is_err());
    let answer = send(gateway.address(), post("/echo", "1234567890")).await;
    assert_eq!(answer.status, StatusCode::OK);
}

#[tokio::test]
async fn a_body_that_turns_out_too_large_is_refused() {
    let mut backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "limits = { body = 10 }").await;
    let mut stream = TcpStream::connect(gateway.address())
        .await
        .expect("it listens");
    let request = "POST /echo HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\nContent-Type: application/soap+xml\r\n\r\n\
                   6\r\n123456\r\n6\r\n123456\r\n0\r\n\r\n";
    let answer = exchange(&mut stream, request.as_bytes(), |text| {
        text.ends_with("Envelope>")
    })
    .await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(
        answer.contains("http://www.w3.org/2003/05/soap-envelope"),
        "the fault is of the request's version: {answer}"
    );
    assert!(backend.seen.try_recv().is_err());
}

#[tokio::test]
async fn a_backend_that_is_down_is_a_fault_at_once() {
    let nobody = Nobody::new();
    let free = nobody.address;
    let gateway = gateway_before(free, "").await;
    let answer = soon("a fault", send(gateway.address(), post("/echo", ENVELOPE))).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    assert_eq!(
        reason(&answer.body),
        "The service behind this gateway gave no usable answer"
    );
    assert_eq!(answer.headers["content-type"], "text/xml; charset=utf-8");
    assert!(
        !answer.body.contains(&free.to_string()),
        "the peer does not learn where the backend is"
    );
}

#[tokio::test]
async fn a_backend_that_does_not_answer_is_a_fault_within_its_time() {
    let (address, _accepted) = silent_backend().await;
    let gateway = gateway_before(address, "timeouts = { response = \"50ms\" }").await;
    let answer = soon("a fault", send(gateway.address(), post("/echo", ENVELOPE))).await;
    assert_eq!(answer.status, StatusCode::GATEWAY_TIMEOUT);
    assert_eq!(
        reason(&answer.body),
        "The service behind this gateway did not answer in time"
    );
}

#[tokio::test]
async fn a_backend_that_does_not_accept_is_a_fault_within_its_time() {
    // Listening with the smallest queue and accepting nothing: once it is full, connecting hangs.
    let listener = tokio::net::TcpSocket::new_v4().expect("a socket");
    listener
        .bind("127.0.0.1:0".parse().expect("an address"))
        .expect("a free port");
    let listener = listener.listen(1).expect("it listens");
    let address = listener.local_addr().expect("it is bound");
    let mut waiting = Vec::new();
    loop {
        let connecting = tokio::time::timeout(
            std::time::Duration::from_millis(100),
            TcpStream::connect(address),
        );
        match connecting.await {
            Ok(stream) => waiting.push(stream),
            Err(_) => break,
        }
    }
    let gateway = gateway_before(address, "timeouts = { connect = \"50ms\" }").await;
    let answer = soon("a fault", send(gateway.address(), post("/echo", ENVELOPE))).await;
    assert_eq!(answer.status, StatusCode::GATEWAY_TIMEOUT);
}

#[tokio::test]
async fn a_backend_that_speaks_no_http_is_a_fault() {
    let (address, mut accepted) = silent_backend().await;
    let gateway = gateway_before(address, "").await;
    let (answer, ()) = tokio::join!(
        soon("a fault", send(gateway.address(), post("/echo", ENVELOPE))),
        async {
            let mut stream = accepted.recv().await.expect("the gateway connects");
            stream
                .write_all(b"220 mail.example ESMTP\r\n")
                .await
                .expect("the gateway reads");
        }
    );
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
}

#[tokio::test]
async fn a_client_that_goes_takes_its_request_to_the_backend_with_it() {
    let (address, mut accepted) = silent_backend().await;
    let gateway = gateway_before(address, "").await;
    let (client, mut at_backend) = request_in_flight(&gateway, &mut accepted).await;
    let mut read = Vec::new();
    while !read.ends_with(b"hi") {
        soon("the request", at_backend.read_buf(&mut read))
            .await
            .expect("the gateway writes");
    }
    drop(client);
    let rest = soon(
        "the end of the backend's connection",
        at_backend.read_buf(&mut read),
    )
    .await;
    assert_eq!(rest.unwrap_or(0), 0);
}

#[tokio::test]
async fn a_head_that_trickles_in_is_cut_off() {
    let backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "timeouts = { header = \"200ms\" }").await;
    let mut client = TcpStream::connect(gateway.address())
        .await
        .expect("it listens");
    let (mut read, mut write) = client.split();
    let mut buffer = [0; 64];
    let closed = soon("the end of the connection", async {
        loop {
            tokio::select! {
                end = read.read(&mut buffer) => return end.unwrap_or(0),
                () = tokio::time::sleep(std::time::Duration::from_millis(20)) => {
                    // Once the gateway has closed, writing may fail before reading says so.
                    let _ = write.write_all(b"X").await;
                }
            }
        }
    });
    assert_eq!(closed.await, 0);
}

/// Whoever connects and is silent holds a descriptor: for the time of a head, and not for that of
/// an idle connection.
#[tokio::test]
async fn a_connection_that_never_sends_a_byte_is_closed() {
    let backend = Backend::echo().await;
    let more = "timeouts = { header = \"200ms\", idle = \"1h\" }";
    let gateway = gateway_before(backend.address, more).await;
    let mut client = TcpStream::connect(gateway.address())
        .await
        .expect("it listens");
    let mut rest = Vec::new();
    soon("the end of the connection", client.read_to_end(&mut rest))
        .await
        .expect("it ends");
    assert!(rest.is_empty());
}

#[tokio::test]
async fn an_idle_connection_is_closed() {
    let backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "timeouts = { idle = \"100ms\" }").await;
    let mut client = TcpStream::connect(gateway.address())
        .await
        .expect("it listens");
    let request = b"POST /echo HTTP/1.1\r\nHost: g\r\nContent-Length: 2\r\n\r\nhi";
    let answer = exchange(&mut client, request, |text| text.ends_with("hi")).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    let mut rest = Vec::new();
    soon("the end of the connection", client.read_to_end(&mut rest))
        .await
        .expect("it ends");
    assert!(rest.is_empty());
}

#[tokio::test]
async fn what_is_not_http_is_answered_with_400_and_the_connection_closed() {
    let backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "").await;
    let mut client = TcpStream::connect(gateway.address())
        .await
        .expect("it listens");
    let answer = soon(
        "an answer",
        exchange(&mut client, b"\x16\x03\x01 nonsense\r\n\r\n", |_| false),
    )
    .await;
    assert!(answer.starts_with("HTTP/1.1 400 Bad Request"), "{answer}");
}

#[tokio::test]
async fn a_response_that_says_it_is_too_large_is_a_fault() {
    let backend = Backend::answering(|_| Response::new(Full::from("12345678901"))).await;
    let gateway = gateway_before(backend.address, "limits = { body = 10 }").await;
    let answer = send(gateway.address(), post("/echo", "")).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    let backend = Backend::answering(|_| Response::new(Full::from("1234567890"))).await;
    let gateway = gateway_before(backend.address, "limits = { body = 10 }").await;
    let answer = send(gateway.address(), post("/echo", "")).await;
    assert_eq!(answer.body, "1234567890");
}

#[tokio::test]
async fn a_response_that_turns_out_too_large_is_broken_off() {
    let (address, mut accepted) = silent_backend().await;
    let gateway = gateway_before(address, "limits = { body = 10 }").await;
    let (mut client, mut at_backend) = request_in_flight(&gateway, &mut accepted).await;
    let (head, rest) = (
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n6\r\n123456\r\n",
        "6\r\n123456\r\n0\r\n\r\n",
    );
    at_backend
        .write_all(head.as_bytes())
        .await
        .expect("the gateway reads");
    let begun = exchange(&mut client, b"", |text| text.ends_with("123456\r\n")).await;
    assert!(begun.starts_with("HTTP/1.1 200 OK\r\n"), "{begun}");
    at_backend
        .write_all(rest.as_bytes())
        .await
        .expect("the gateway reads");
    // Without the last chunk, by which the client would know that it is whole.
    let end = soon("the end", exchange(&mut client, b"", |_| false)).await;
    assert_eq!(end, "");
}

#[tokio::test]
async fn a_response_is_not_cut_off_because_the_next_request_has_come() {
    let (address, mut accepted) = silent_backend().await;
    let gateway = gateway_before(address, "timeouts = { header = \"200ms\" }").await;
    let (mut client, mut at_backend) = request_in_flight(&gateway, &mut accepted).await;
    at_backend
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n")
        .await
        .expect("the gateway reads");
    let head = exchange(&mut client, b"", |text| text.ends_with("\r\n\r\n")).await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    client
        .write_all(b"POST /echo HTTP/1.1\r\n")
        .await
        .expect("the gateway reads");
    for _ in 0..6 {
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        at_backend
            .write_all(b"ab")
            .await
            .expect("the gateway has not closed");
    }
    let body = soon(
        "the body",
        exchange(&mut client, b"", |text| text.len() == 12),
    )
    .await;
    assert_eq!(body, "abababababab");
}

/// Whoever asks and does not read holds an answer in memory (over HTTP/2 one in each stream,
/// CVE-2019-9517).
#[tokio::test]
async fn an_answer_takes_its_room_until_its_client_has_read_it() {
    let filling = "x".repeat(7 << 20);
    let backend = Backend::answering(move |_| {
        let text = format!("<schema xmlns=\"http://www.w3.org/2001/XMLSchema\" id=\"{filling}\"/>");
        let mut response = Response::new(Full::new(Bytes::from(text)));
        let headers = response.headers_mut();
        headers.insert("content-type", "text/xml".parse().expect("a value"));
        response
    })
    .await;
    let gateway = gateway_before(backend.address, "limits = { buffered = \"10MiB\" }").await;
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("it is new");
    let client = socket.connect(gateway.address()).await;
    let mut client = client.expect("it listens");
    let question = b"GET /echo?xsd HTTP/1.1\r\nHost: g\r\n\r\n";
    client.write_all(question).await.expect("it reads");
    client.readable().await.expect("it answers");
    let ask = || send(gateway.address(), get("/echo?xsd"));
    assert_eq!(ask().await.status, StatusCode::SERVICE_UNAVAILABLE);
    drop(client);
    soon("room", async {
        while ask().await.status != StatusCode::OK {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
}
