//! Bounds on packages.

use http::StatusCode;
use soapstone::mime::Packaged;
use soapstone::wss::SoapVersion;

use super::{gateway, opening, packed, part, plain, request, request_with, secured, securing};
use crate::support::{Backend, Folder, Said, send};

fn has(metrics: &str, line: &str) {
    assert!(metrics.lines().any(|found| found == line), "{metrics}");
}

#[tokio::test]
async fn attachments_beyond_the_limit_of_the_endpoint_are_refused() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let (said, _guard) = Said::listen();
    let large = vec![part("a@x", "application/gzip", &[0xff; 2000])];
    let (side, tables) = opening("sign", "{}");
    let limited = format!("{tables}limits = {{ attachments = \"1kB\" }}\n");
    let service = gateway(&folder, backend.address, "", &[(side, limited)]).await;
    let message = secured(&folder, "sign", "{}", large.clone());
    let answer = send(service.address(), request_with(&message)).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(said.caused("too-large"), 1, "{said}");
    let (side, tables) = securing("sign", "{}");
    let limited = format!("{tables}limits = {{ attachments = \"1kB\" }}\n");
    let client = gateway(&folder, backend.address, "", &[(side, limited)]).await;
    let answer = send(client.address(), request_with(&message)).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(backend.seen.try_recv().is_err());
}

/// Each of the empty elements is written with the namespace that it uses (Exclusive XML
/// Canonicalization 1.0, 3).
#[tokio::test]
async fn a_part_that_grows_in_canonical_form_is_bounded() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let (said, _guard) = Said::listen();
    let (side, tables) = opening("sign", "{}");
    let limited = format!("{tables}limits = {{ attachments = \"20kB\" }}\n");
    let service = gateway(&folder, backend.address, "", &[(side, limited)]).await;
    let name = "n".repeat(60);
    let xml = format!("<r xmlns:p=\"urn:{name}\">{}</r>", "<p:e/>".repeat(1000));
    let grows = vec![part("a@x", "text/xml", xml.as_bytes())];
    let message = secured(&folder, "sign", "{}", grows);
    let answer = send(service.address(), request_with(&message)).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(said.caused("attachment-malformed"), 1, "{said}");
    assert!(backend.seen.try_recv().is_err());
}

#[tokio::test]
async fn parts_and_their_headers_are_bounded() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let client = gateway(&folder, backend.address, "", &[securing("sign", "{}")]).await;
    let many = |count: usize| {
        let parts =
            (0..count).map(|number| format!("--b\r\nContent-ID: <{number}@x>\r\n\r\nx\r\n"));
        parts.collect::<String>()
    };
    let root = format!(
        "--b\r\nContent-Type: text/xml\r\n\r\n{}\r\n",
        crate::support::ENVELOPE
    );
    let long = format!(
        "--b\r\nContent-ID: <a@x>\r\nX: {}\r\n\r\nx\r\n",
        "x".repeat(66_000)
    );
    let fields = "X: 1\r\n".repeat(129);
    let fields = format!("--b\r\nContent-ID: <a@x>\r\n{fields}\r\nx\r\n");
    for parts in [many(256), long, fields] {
        let body = format!("{root}{parts}--b--\r\n");
        let content_type = "multipart/related; type=\"text/xml\"; boundary=b";
        let answer = send(client.address(), request(content_type, body)).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    }
    let line = "soapstone_failures_total{route=\"/echo\",reason=\"package\"} 3";
    has(&client.metrics(), line);
    assert!(backend.seen.try_recv().is_err());
}

#[tokio::test]
async fn a_package_has_the_room_of_a_message_and_gives_it_back() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let sides = [securing("sign", "{}")];
    let limits = "limits = { body = 3000 }";
    let small = gateway(&folder, backend.address, limits, &sides).await;
    let message = soapstone::mime::Message {
        root: crate::support::ENVELOPE.into(),
        parts: vec![part("a@x", "application/gzip", &[0xff; 4000])],
    };
    let Packaged { content_type, body } = packed(&message, SoapVersion::V11);
    let answer = send(small.address(), request(&content_type, body.clone())).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    // No package may be larger, whatever the file says.
    let wide = "limits = { body = \"80MB\", buffered = \"400MB\" }";
    let wide = gateway(&folder, backend.address, wide, &sides).await;
    let large = vec![b'x'; soapstone::mime::LARGEST_PACKAGE + 1];
    let answer = send(wide.address(), request(&content_type, large)).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    // Room for it as it came, and none for its parts.
    let room = format!("limits = {{ buffered = {} }}", body.len() + 1000);
    let full = gateway(&folder, backend.address, &room, &sides).await;
    let answer = send(full.address(), request(&content_type, body)).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    has(&full.metrics(), "soapstone_buffered_bytes 0");
    let service = gateway(&folder, backend.address, "", &[opening("sign", "{}")]).await;
    let wide = gateway(&folder, service.address(), "", &sides).await;
    let Packaged { content_type, body } = plain(SoapVersion::V11);
    let answer = send(wide.address(), request(&content_type, body)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    for gateway in [&wide, &service] {
        has(&gateway.metrics(), "soapstone_buffered_bytes 0");
    }
}
