//! A backend whose clock is off, as cameras have them: requests have their times by its clock.
//!
//! Case `sectors/10-peer-clock-offset`.

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use jiff::{SignedDuration, Timestamp};
use soapstone::wss::parse_date_time;
use soapstone_gateway::{Config, Running};

use crate::support::{Backend, ENVELOPE, Folder, get, post, send};

const OFFSET: SignedDuration = SignedDuration::from_mins(45);

/// A backend whose clock is ahead by that much.
async fn backend(ahead: SignedDuration) -> Backend {
    Backend::answering(move |_| {
        let now = Timestamp::now().checked_add(ahead).expect("a time");
        let date = now.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
        let created = now.strftime("%Y-%m-%dT%H:%M:%SZ");
        let header = format!(
            "<s:Header><w:Security xmlns:w=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-secext-1.0.xsd\">\
             <u:Timestamp xmlns:u=\"http://docs.oasis-open.org/wss/2004/01/oasis-200401-wss-wssecurity-utility-1.0.xsd\">\
             <u:Created>{created}</u:Created></u:Timestamp></w:Security></s:Header><s:Body>"
        );
        let body = ENVELOPE.replace("<s:Body>", &header);
        let mut response = Response::new(Full::new(Bytes::from(body)));
        let headers = response.headers_mut();
        headers.insert("date", date.parse().expect("a value"));
        headers.insert("content-type", "text/xml".parse().expect("a value"));
        response
    })
    .await
}

fn text(backend: &str, clock: &str) -> String {
    format!(
        "LISTEN\n[[routes]]\npath = \"/onvif\"\nbackend = \"{backend}/onvif\"\n[routes.outbound]\n\
         users = [{{ name = \"admin\", password = \"pw\" }}]\n\
         security = {{ mechanism = \"username\", timestamp = false, clock = {{ {clock} }} }}\n"
    )
}

/// How far the `Created` of the next request is ahead of our clock, in seconds.
async fn ahead(gateway: &Running, backend: &mut Backend) -> i64 {
    let answer = send(gateway.address(), post("/onvif", ENVELOPE)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let seen = backend.seen.recv().await.expect("a request");
    let body = String::from_utf8(seen.body.to_vec()).expect("text");
    let created = body.split("<wsu:Created>").nth(1).expect("a time");
    let created = created.split('<').next().and_then(parse_date_time);
    let apart = created.expect("a time").duration_since(Timestamp::now());
    (apart.as_millis() as f64 / 1_000.0).round() as i64
}

async fn told(gateway: &Running) -> Option<f64> {
    let metrics = send(gateway.address(), get("/metrics")).await.body;
    let of = "soapstone_peer_clock_offset_seconds{route=\"/onvif\",direction=\"outbound\"} ";
    let line = metrics.lines().find_map(|line| line.strip_prefix(of));
    line.map(|value| value.parse().expect("a number"))
}

fn close(found: i64, expected: i64) {
    assert!(
        (found - expected).abs() <= 2,
        "{found}, expected {expected}"
    );
}

#[tokio::test]
async fn requests_have_their_times_by_the_clock_of_the_backend() {
    let folder = Folder::new();
    for offset in [OFFSET, -OFFSET] {
        let seconds = offset.as_secs();
        for (clock, first, second) in [
            (format!("offset = \"{seconds}s\""), seconds, seconds),
            ("offset = \"auto\"".to_owned(), 0, seconds),
            ("offset = \"auto\", from = \"date\"".to_owned(), 0, seconds),
            (
                "offset = \"auto\", from = \"timestamp\"".to_owned(),
                0,
                seconds,
            ),
            // More than is believed.
            ("offset = \"auto\", limit = \"30m\"".to_owned(), 0, 0),
        ] {
            let mut backend = backend(offset).await;
            let address = format!("http://{}", backend.address);
            let gateway = folder.gateway(&text(&address, &clock)).await;
            close(ahead(&gateway, &mut backend).await, first);
            close(ahead(&gateway, &mut backend).await, second);
            let metric = told(&gateway).await.expect("a metric");
            close(metric.round() as i64, second);
        }
    }
}

#[test]
fn a_clock_that_answers_are_judged_by_is_learnt_over_tls_alone() {
    let folder = Folder::with_keys();
    let read = |backend: &str, mechanism: &str| {
        let text = format!(
            "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/a\"\nbackend = \"{backend}\"\n[routes.outbound]\n\
             identity = {{ key = \"client.key.pem\", certificate = \"client.cert.pem\" }}\ntrust = {{ pinned = [\"server.cert.pem\"] }}\n\
             users = [{{ name = \"admin\", password = \"pw\" }}]\n\
             security = {{ mechanism = \"{mechanism}\", clock = {{ offset = \"auto\" }} }}\n"
        );
        let config = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        config
            .err()
            .map(|problems| problems.to_string())
            .unwrap_or_default()
    };
    for (backend, mechanism, is_refused) in [
        ("http://127.0.0.1:9", "sign", true),
        ("https://127.0.0.1:9", "sign", false),
        ("http://127.0.0.1:9", "username", false),
    ] {
        let found = read(backend, mechanism);
        let told = "a clock is learnt without TLS, and answers are judged by it";
        assert_eq!(
            found.contains(told),
            is_refused,
            "{backend} {mechanism}: {found}"
        );
        assert_eq!(found.is_empty(), !is_refused, "{found}");
    }
}
