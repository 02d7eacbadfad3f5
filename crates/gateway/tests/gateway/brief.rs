//! What small messages without a key pair cost: no seat, and so no waiting for one.

use http::StatusCode;
use soapstone_testkit::envelope::with_body;

use crate::support::{Backend, Folder, post, send};

const USER: &str = "users = [{ name = \"alice\", password = \"secret\" }]\nsecurity = { mechanism = \"username\" }\n";
const SHARED: &str = "shared_key = { hex = \"000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\" }\n\
    security = { mechanism = \"sign-encrypt\", key_reference = \"key-name\" }\n";
const CERTIFICATES: &str = "identity = { key = \"client.key.pem\", certificate = \"client.cert.pem\" }\n\
    peer = { certificate = \"client.cert.pem\" }\ntrust = { anchors = [\"ca.cert.pem\"] }\n\
    security = { mechanism = \"sign-encrypt\" }\n";

/// An envelope whose Body holds so many bytes of text.
fn envelope(bytes: usize) -> String {
    let text = "x".repeat(bytes);
    with_body(&format!("<e:echo xmlns:e=\"urn:echo\">{text}</e:echo>"))
}

/// How often something took a seat in each of two gateways for one call: that before the backend,
/// that behind the client.
async fn seats_taken(folder: &Folder, tables: &str, octets: usize) -> [u64; 2] {
    let backend = Backend::echo().await;
    let route = |backend: std::net::SocketAddr, which: &str| {
        format!(
            "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\n[routes.{which}]\n{tables}"
        )
    };
    let service = folder.gateway(&route(backend.address, "inbound")).await;
    let client = folder.gateway(&route(service.address(), "outbound")).await;
    let answer = send(client.address(), post("/echo", envelope(octets))).await;
    assert_eq!(answer.status, StatusCode::OK, "{tables}: {}", answer.body);
    let mut counts = [0; 2];
    for (gateway, count) in [&service, &client].into_iter().zip(&mut counts) {
        let metrics = gateway.metrics();
        let line = "soapstone_crypto_wait_seconds_count ";
        let found = metrics.lines().find_map(|found| found.strip_prefix(line));
        *count = found
            .and_then(|count| count.parse().ok())
            .expect("it is counted");
    }
    counts
}

#[tokio::test]
async fn small_messages_without_a_key_pair_take_none() {
    let folder = Folder::with_keys();
    for tables in [USER, SHARED] {
        assert_eq!(seats_taken(&folder, tables, 10).await, [0, 0], "{tables}");
    }
}

#[tokio::test]
async fn key_pairs_and_large_messages_take_a_seat() {
    let folder = Folder::with_keys();
    assert_eq!(
        seats_taken(&folder, CERTIFICATES, 10).await,
        [2, 2],
        "a request and its answer"
    );
    assert_eq!(
        seats_taken(&folder, SHARED, 100_000).await,
        [2, 2],
        "a request and its answer"
    );
}
