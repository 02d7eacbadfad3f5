//! Routes without endpoints: requests and responses pass as they are.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::{Method, Response, StatusCode};
use http_body_util::Full;
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::support::{
    Backend, ENVELOPE, exchange, gateway, gateway_before, get, header, post, send, send_over,
    send_over_http2, soon,
};

#[tokio::test]
async fn a_request_and_its_response_pass_unchanged() {
    let mut backend = Backend::answering(|seen| {
        let mut response = Response::new(Full::new(seen.body.clone()));
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
            .headers_mut()
            .insert("x-mine", "kept".parse().expect("a value"));
        response
    })
    .await;
    let gateway = gateway_before(backend.address, "").await;
    let mut request = post("/echo?source=memory", ENVELOPE);
    let traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    request
        .headers_mut()
        .insert("traceparent", traceparent.parse().expect("a value"));
    let answer = send(gateway.address(), request).await;
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (StatusCode::INTERNAL_SERVER_ERROR, ENVELOPE)
    );
    assert_eq!(answer.headers[header("x-mine")], "kept");
    let seen = backend.seen.recv().await.expect("it arrived");
    assert_eq!(
        (seen.method, seen.uri.to_string().as_str()),
        (Method::POST, "/echo?source=memory")
    );
    assert_eq!(seen.body, ENVELOPE);
    assert_eq!(seen.headers["soapaction"], "\"urn:echo\"");
    assert_eq!(seen.headers["content-type"], "text/xml; charset=utf-8");
    assert_eq!(seen.headers["traceparent"], traceparent);
    assert_eq!(seen.headers["host"], backend.address.to_string());
    assert_eq!(seen.headers["x-forwarded-for"], "127.0.0.1");
    assert_eq!(seen.headers["x-forwarded-proto"], "http");
    assert_eq!(seen.headers["x-forwarded-host"], "gateway.example:8443");
}

#[tokio::test]
async fn a_connection_to_the_backend_serves_one_request_after_another() {
    let backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "").await;
    let mut stream = TcpStream::connect(gateway.address())
        .await
        .expect("it listens");
    for round in 0..5 {
        let request = format!("POST /echo HTTP/1.1\r\nHost: g\r\nContent-Length: 1\r\n\r\n{round}");
        let answer = exchange(&mut stream, request.as_bytes(), |text| {
            text.ends_with(&format!("\r\n\r\n{round}"))
        })
        .await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    }
    assert_eq!(backend.connections.load(Ordering::Relaxed), 1);
}

/// RFC 4559, 6: the next client would be taken for the one who authenticated.
#[tokio::test]
async fn a_connection_that_a_client_authenticated_serves_nobody_else() {
    for (authorization, connections) in [
        ("Basic YTpi", 1),
        ("Bearer negotiate", 1),
        ("NTLM TlRMTVNTUAAB", 2),
        ("negotiate YIIB", 2),
    ] {
        let backend = Backend::echo().await;
        let gateway = gateway_before(backend.address, "").await;
        let mut request = post("/echo", ENVELOPE);
        let value = authorization.parse().expect("a value");
        request.headers_mut().insert("authorization", value);
        for request in [request, post("/echo", ENVELOPE)] {
            let answer = send(gateway.address(), request).await;
            assert_eq!(answer.status, StatusCode::OK);
        }
        let opened = backend.connections.load(Ordering::Relaxed);
        assert_eq!(opened, connections, "{authorization}");
    }
}

#[tokio::test]
async fn idle_connections_to_the_backend_are_closed_when_that_is_asked_for() {
    let backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "").await;
    for connections in [1, 1, 2] {
        if connections == 2 {
            gateway.close_idle();
        }
        let answer = send(gateway.address(), post("/echo", ENVELOPE)).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(backend.connections.load(Ordering::Relaxed), connections);
    }
}

#[tokio::test]
async fn a_connection_that_its_other_end_may_be_about_to_close_is_not_used_again() {
    let backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "timeouts = { idle = \"1600ms\" }").await;
    for connections in [1, 2] {
        let answer = send(gateway.address(), post("/echo", ENVELOPE)).await;
        assert_eq!(answer.status, StatusCode::OK);
        assert_eq!(backend.connections.load(Ordering::Relaxed), connections);
        tokio::time::sleep(std::time::Duration::from_millis(1450)).await;
    }
}

#[tokio::test]
async fn a_connection_that_the_backend_closed_is_replaced_unnoticed() {
    let backend = Backend::answering(|seen| {
        let mut response = Response::new(Full::new(seen.body.clone()));
        response
            .headers_mut()
            .insert("connection", "close".parse().expect("a value"));
        response
    })
    .await;
    let gateway = gateway_before(backend.address, "").await;
    for _ in 0..3 {
        let answer = send(gateway.address(), post("/echo", ENVELOPE)).await;
        assert_eq!(
            (answer.status, answer.body.as_str()),
            (StatusCode::OK, ENVELOPE)
        );
        assert!(!answer.headers.contains_key("connection"));
    }
    assert_eq!(backend.connections.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn http2_with_prior_knowledge_is_served() {
    let mut backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "").await;
    let stream = TcpStream::connect(gateway.address())
        .await
        .expect("it listens");
    let request = post(&format!("http://{}/echo", gateway.address()), ENVELOPE);
    let answer = send_over_http2(stream, request).await.expect("an answer");
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (StatusCode::OK, ENVELOPE)
    );
    let seen = backend.seen.recv().await.expect("it arrived");
    assert_eq!(seen.headers["host"], backend.address.to_string());
    assert_eq!(
        seen.headers["x-forwarded-host"],
        gateway.address().to_string()
    );
}

#[tokio::test]
async fn cookies_that_come_one_by_one_over_http2_leave_as_one_field() {
    let mut backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "").await;
    let stream = TcpStream::connect(gateway.address())
        .await
        .expect("it listens");
    let mut request = post(&format!("http://{}/echo", gateway.address()), ENVELOPE);
    for cookie in ["a=1", "b=2"] {
        request
            .headers_mut()
            .append("cookie", cookie.parse().expect("a value"));
    }
    send_over_http2(stream, request).await.expect("an answer");
    let seen = backend.seen.recv().await.expect("it arrived");
    let cookies: Vec<_> = seen.headers.get_all("cookie").iter().collect();
    assert_eq!(cookies, ["a=1; b=2"]);
}

#[tokio::test]
async fn an_upgrade_to_h2c_with_a_chunked_body_is_served_as_http11() {
    let mut backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "").await;
    let mut stream = TcpStream::connect(gateway.address())
        .await
        .expect("it listens");
    let request = "POST /echo HTTP/1.1\r\nHost: g\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n\
                   HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\nContent-Type: text/xml\r\n\
                   Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n";
    let answer = exchange(&mut stream, request.as_bytes(), |text| {
        text.ends_with("hello world")
    })
    .await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    let seen = backend.seen.recv().await.expect("it arrived");
    assert_eq!(seen.body, "hello world");
    assert!(!seen.headers.contains_key("upgrade") && !seen.headers.contains_key("http2-settings"));
    let second = exchange(
        &mut stream,
        b"GET /echo HTTP/1.1\r\nHost: g\r\n\r\n",
        |text| text.ends_with("\r\n\r\n"),
    )
    .await;
    assert!(second.starts_with("HTTP/1.1 200 OK\r\n"), "{second}");
}

#[tokio::test]
async fn a_client_that_waits_for_100_continue_gets_it() {
    let backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "").await;
    let mut stream = TcpStream::connect(gateway.address())
        .await
        .expect("it listens");
    let head =
        b"POST /echo HTTP/1.1\r\nHost: g\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n";
    let word = soon(
        "100 Continue",
        exchange(&mut stream, head, |text| text.ends_with("\r\n\r\n")),
    )
    .await;
    assert_eq!(word, "HTTP/1.1 100 Continue\r\n\r\n");
    let answer = exchange(&mut stream, b"hello", |text| text.ends_with("hello")).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
}

#[tokio::test]
async fn a_large_body_streams_both_ways() {
    let backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "").await;
    let body = Bytes::from(vec![b'x'; 5 << 20]);
    let answer = send(gateway.address(), post("/echo", body.clone())).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(answer.body.len(), body.len());
}

#[tokio::test]
async fn a_path_without_a_route_is_not_found() {
    let backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "").await;
    let answer = send(gateway.address(), get("/echoes")).await;
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (StatusCode::NOT_FOUND, "no route serves /echoes\n")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn two_hundred_clients_at_once_are_all_served() {
    let backend = Backend::echo().await;
    let gateway = Arc::new(gateway_before(backend.address, "").await);
    let mut clients = JoinSet::new();
    for client in 0..200 {
        let address = gateway.address();
        clients.spawn(async move {
            for round in 0..5 {
                let body = format!("{client}-{round}");
                let stream = TcpStream::connect(address).await.expect("it listens");
                let answer = send_over(stream, post("/echo", body.clone()))
                    .await
                    .expect("an answer");
                assert_eq!((answer.status, answer.body), (StatusCode::OK, body));
            }
        });
    }
    while let Some(client) = soon("all clients", clients.join_next()).await {
        client.expect("a client was not served");
    }
}

#[tokio::test]
async fn each_route_leads_to_its_backend() {
    let (one, other) = (
        Backend::answering(|_| Response::new(Full::from("one"))).await,
        Backend::answering(|_| Response::new(Full::from("other"))).await,
    );
    let gateway = gateway(&format!(
        "LISTEN\n[[routes]]\npath = \"/a\"\nbackend = \"http://{}/\"\n[[routes]]\npath = \"/a/b\"\nbackend = \"http://{}/x\"\n",
        one.address, other.address
    ))
    .await;
    assert_eq!(send(gateway.address(), get("/a/c")).await.body, "one");
    assert_eq!(send(gateway.address(), get("/a/b")).await.body, "other");
    let mut other = other;
    assert_eq!(other.seen.recv().await.expect("it arrived").uri, "/x");
}
