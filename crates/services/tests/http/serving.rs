//! How the server behaves as a server: health, keep-alive, slow and broken clients, stopping.

use std::time::{Duration, Instant};

use crate::support::Http;
use http::StatusCode;
use soapstone_services::SoapVersion::Soap11;
use soapstone_services::{Config, Service, Services, StartError, requests, serve};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

#[tokio::test]
async fn health_and_index_are_served() {
    let services = Services::start(Config::default()).await.unwrap();
    let http = Http::one();
    let health = http
        .get(&format!("http://{}/healthz", services.addr()))
        .await;
    assert_eq!((health.status, health.text()), (StatusCode::OK, "ok\n"));
    let index = http.get(&format!("http://{}/", services.addr())).await;
    for service in Service::ALL {
        assert!(
            index
                .text()
                .contains(&format!("{}?wsdl", services.url(service)))
        );
    }
    services.shutdown().await;
}

#[tokio::test]
async fn http_2_is_spoken_to_those_who_begin_with_it() {
    let services = Services::start(Config::default()).await.unwrap();
    let url = services.url(Service::Sum);
    let answer = Http::two()
        .call(Soap11, &url, requests::sum(Soap11, 1, 2))
        .await;
    assert_eq!(
        (answer.version, answer.status),
        (http::Version::HTTP_2, StatusCode::OK)
    );
    services.shutdown().await;
}

/// Sends one request on `stream` and reads the answer, which has a Content-Length.
async fn exchange(stream: &mut TcpStream, extra: &str, chunked: bool) -> String {
    let message = requests::sum(Soap11, 1, 2);
    let (framing, message) = if chunked {
        let framed = format!("{:x}\r\n{message}\r\n0\r\n\r\n", message.len());
        ("Transfer-Encoding: chunked".to_owned(), framed)
    } else {
        (format!("Content-Length: {}", message.len()), message)
    };
    let request = format!(
        "POST /sum HTTP/1.1\r\nHost: x\r\nContent-Type: text/xml\r\n{extra}{framing}\r\n\r\n{message}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    while !answer.ends_with(b"</soap:Envelope>") {
        assert_ne!(
            stream.read_buf(&mut answer).await.unwrap(),
            0,
            "the connection ended"
        );
    }
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn a_connection_is_kept_for_further_requests() {
    let services = Services::start(Config::default()).await.unwrap();
    let mut stream = TcpStream::connect(services.addr()).await.unwrap();
    for chunked in [false, true, false] {
        let answer = exchange(&mut stream, "", chunked).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    }
    services.shutdown().await;
}

#[tokio::test]
async fn an_offer_to_upgrade_to_http_2_is_answered_in_http_1() {
    // As Java's HTTP client, and CXF with it, begins: with a chunked body.
    let services = Services::start(Config::default()).await.unwrap();
    let mut stream = TcpStream::connect(services.addr()).await.unwrap();
    let offer = "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\n";
    let answer = exchange(&mut stream, offer, true).await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    services.shutdown().await;
}

#[tokio::test]
async fn a_message_that_does_not_arrive_is_not_waited_for_for_ever() {
    let services = Services::start(Config {
        patience: Duration::from_millis(100),
        ..Config::default()
    })
    .await
    .unwrap();
    let mut stream = TcpStream::connect(services.addr()).await.unwrap();
    stream
        .write_all(b"POST /sum HTTP/1.1\r\nHost: x\r\nContent-Type: text/xml\r\nContent-Length: 100\r\n\r\n<soap:")
        .await
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 408 Request Timeout\r\n"),
        "{answer}"
    );
    services.shutdown().await;
}

#[tokio::test]
async fn a_client_that_leaves_in_the_middle_harms_nobody_else() {
    let services = Services::start(Config::default()).await.unwrap();
    for _ in 0..20 {
        let mut stream = TcpStream::connect(services.addr()).await.unwrap();
        let message = requests::get_books(Soap11, 25_000);
        let request = format!(
            "POST /books HTTP/1.1\r\nHost: x\r\nContent-Type: text/xml\r\nContent-Length: {}\r\n\r\n{message}",
            message.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        drop(stream);
    }
    let answer = Http::one()
        .call(
            Soap11,
            &services.url(Service::Books),
            requests::get_books(Soap11, 1),
        )
        .await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text());
    services.shutdown().await;
}

#[tokio::test]
async fn a_stop_lets_the_request_in_progress_end() {
    let services = Services::start(Config::default()).await.unwrap();
    let address = services.addr();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let message = requests::sum(Soap11, 20, 22);
    let (first, second) = message.split_at(50);
    let head = format!(
        "POST /sum HTTP/1.1\r\nHost: x\r\nContent-Type: text/xml\r\nContent-Length: {}\r\n\r\n{first}",
        message.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // The server has to have begun with the request; a stop before that may close the connection.
    tokio::time::sleep(Duration::from_millis(200)).await;
    let stopping = tokio::spawn(services.shutdown());
    tokio::time::sleep(Duration::from_millis(200)).await;
    TcpStream::connect(address)
        .await
        .expect_err("no new connection after the stop");
    stream.write_all(second.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains("<sum>42</sum>"), "{answer}");
    stopping.await.unwrap();
}

#[tokio::test]
async fn a_stop_does_not_wait_for_clients_that_are_idle_or_never_end() {
    let services = Services::start(Config {
        grace: Duration::from_millis(300),
        ..Config::default()
    })
    .await
    .unwrap();
    let _silent = TcpStream::connect(services.addr()).await.unwrap();
    let mut idle = TcpStream::connect(services.addr()).await.unwrap();
    exchange(&mut idle, "", false).await;
    let mut endless = TcpStream::connect(services.addr()).await.unwrap();
    endless
        .write_all(b"POST /sum HTTP/1.1\r\nHost: x\r\nContent-Type: text/xml\r\nContent-Length: 100\r\n\r\n<")
        .await
        .unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let stopping = Instant::now();
    services.shutdown().await;
    assert!(
        stopping.elapsed() < Duration::from_secs(5),
        "{:?}",
        stopping.elapsed()
    );
}

#[tokio::test]
async fn a_port_in_use_is_told_with_the_address() {
    let services = Services::start(Config::default()).await.unwrap();
    let taken = Config {
        listen: services.addr(),
        ..Config::default()
    };
    let error = serve(taken, std::future::pending()).await.unwrap_err();
    assert!(matches!(&error, StartError::Listen { address, .. } if *address == services.addr()));
    assert!(
        error
            .to_string()
            .starts_with(&format!("cannot listen on {}: ", services.addr())),
        "{error}"
    );
    services.shutdown().await;
}

#[tokio::test]
async fn serving_ends_when_it_is_told_to() {
    serve(Config::default(), async {}).await.unwrap();
}
