//! Beginning, changing and ending.

use std::sync::Arc;

use http::StatusCode;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

use soapstone_gateway::Gateway;

use crate::support::{
    Backend, ENVELOPE, config, exchange, gateway_before, post, request_in_flight, send,
    silent_backend, soon,
};

#[tokio::test]
async fn a_port_in_use_is_named_with_a_hint() {
    let taken = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a free port");
    let address = taken.local_addr().expect("it is bound");
    let text = format!(
        "listen = \"{address}\"\n[[routes]]\npath = \"/\"\nbackend = \"http://127.0.0.1:9\"\n"
    );
    let error = Gateway::start(config(&text))
        .await
        .expect_err("the port is taken");
    assert_eq!(
        error.to_string(),
        format!("cannot listen on {address}: another program listens there")
    );
    assert_eq!(error.hint(), Some("stop it, or choose another port"));
}

#[tokio::test]
async fn a_request_in_hand_is_finished_before_the_gateway_ends() {
    let (address, mut accepted) = silent_backend().await;
    let gateway = gateway_before(address, "").await;
    let gateway_address = gateway.address();
    let client = tokio::spawn(async move { send(gateway_address, post("/echo", ENVELOPE)).await });
    let mut at_backend = soon("the request", accepted.recv())
        .await
        .expect("the gateway connects");
    let ending = tokio::spawn(gateway.shutdown());
    // The listener is gone as soon as the gateway drains.
    soon("the end of the listener", async {
        while TcpStream::connect(gateway_address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert!(!ending.is_finished());
    at_backend
        .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")
        .await
        .expect("the gateway reads");
    let answer = soon("the answer", client).await.expect("no panic");
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (StatusCode::OK, "done")
    );
    assert_eq!(soon("the end", ending).await.expect("no panic"), 0);
}

#[tokio::test]
async fn what_is_not_finished_in_the_drain_time_is_dropped_and_counted() {
    let (address, mut accepted) = silent_backend().await;
    let gateway = gateway_before(address, "timeouts = { drain = \"50ms\" }").await;
    let _held = request_in_flight(&gateway, &mut accepted).await;
    assert_eq!(soon("the end", gateway.shutdown()).await, 1);
}

#[tokio::test]
async fn an_idle_connection_does_not_keep_the_gateway_from_ending() {
    let backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "").await;
    let mut client = TcpStream::connect(gateway.address())
        .await
        .expect("it listens");
    let request = b"POST /echo HTTP/1.1\r\nHost: g\r\nContent-Length: 2\r\n\r\nhi";
    exchange(&mut client, request, |text| text.ends_with("hi")).await;
    assert_eq!(soon("the end", gateway.shutdown()).await, 0);
}

#[tokio::test]
async fn another_configuration_serves_the_next_request_of_an_open_connection() {
    let (one, other) = (Backend::echo().await, Backend::echo().await);
    let gateway = Arc::new(gateway_before(one.address, "").await);
    let mut client = TcpStream::connect(gateway.address())
        .await
        .expect("it listens");
    let request = b"POST /echo HTTP/1.1\r\nHost: g\r\nContent-Length: 2\r\n\r\nhi";
    exchange(&mut client, request, |text| text.ends_with("hi")).await;
    gateway.reload(config(&format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n",
        other.address
    )));
    exchange(&mut client, request, |text| text.ends_with("hi")).await;
    let (mut one, mut other) = (one, other);
    one.seen.recv().await.expect("the first request");
    other.seen.recv().await.expect("the second request");
    assert!(one.seen.try_recv().is_err());
}
