//! Packages through gateways (SOAP Messages with Attachments): taken, carried both ways, bounded.

mod attacks;
mod carried;
mod chosen;
mod limited;

use bytes::Bytes;
use http::{HeaderMap, Request};
use http_body_util::Full;
use soapstone::Securer;
use soapstone::config::EndpointConfig;
use soapstone::mime::{Attachment, MediaType, Message, Package, Packaged, Packaging};
use soapstone::wss::SoapVersion;
use soapstone_gateway::Running;

use crate::secured::{client, service};
use crate::support::{ENVELOPE, ENVELOPE_12, Folder, Seen, post_as};

/// Bytes that are neither text nor canonical in any form.
const BYTES: &[u8] = b"\x1f\x8b\x08 bytes \xff\r\n";

fn part(id: &str, content_type: &str, content: &[u8]) -> Attachment {
    Attachment::new(id, content_type, content.to_vec()).expect("an attachment")
}

/// Attachments that opening leaves as they are.
fn parts() -> Vec<Attachment> {
    vec![
        part("plan@sender", "application/gzip", BYTES),
        part(
            "sum@sender",
            "text/xml",
            b"<i:sum xmlns:i=\"urn:i\">7</i:sum>",
        ),
    ]
}

/// The tables of an endpoint with a word for attachments.
fn with(tables: &str, attachments: &str) -> String {
    let word = format!("attachments = {attachments}, suite =");
    tables.replace("suite =", &word)
}

/// A gateway with these tables before a backend, and more before its route.
async fn gateway(
    folder: &Folder,
    backend: std::net::SocketAddr,
    before: &str,
    sides: &[(&str, String)],
) -> Running {
    let sides = sides.iter();
    let sides: String = sides
        .map(|(side, tables)| format!("[routes.{side}]\n{tables}"))
        .collect();
    let text = format!(
        "LISTEN\n{before}\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\n{sides}"
    );
    folder.gateway(&text).await
}

/// A package that a client of that mechanism secured.
fn secured(folder: &Folder, mechanism: &str, attachments: &str, parts: Vec<Attachment>) -> Message {
    let tables = with(&client(mechanism), attachments);
    let config = EndpointConfig::from_text(&tables, &folder.path("client.toml"), &|_| None);
    let securer = config
        .and_then(|config| Securer::from_config(&config))
        .unwrap_or_else(|problems| panic!("{problems}"));
    let root = ENVELOPE.as_bytes().to_vec();
    let secured = securer.secure(Message { root, parts });
    let secured = secured.expect("it can be secured");
    Message {
        root: secured.bytes,
        parts: secured.parts,
    }
}

fn packed(message: &Message, version: SoapVersion) -> Packaged {
    let packaging = Packaging {
        root_type: version.media_type(),
        parameters: &[],
    };
    packaging.write(message)
}

/// A plain package with a message of that version.
fn plain(version: SoapVersion) -> Packaged {
    let root = match version {
        SoapVersion::V11 => ENVELOPE,
        SoapVersion::V12 => ENVELOPE_12,
    };
    let message = Message {
        root: root.as_bytes().to_vec(),
        parts: parts(),
    };
    packed(&message, version)
}

fn request(content_type: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    post_as("/echo", content_type, body)
}

fn request_with(message: &Message) -> Request<Full<Bytes>> {
    let Packaged { content_type, body } = packed(message, SoapVersion::V11);
    request(&content_type, body)
}

/// What a package of HTTP holds. Its head and its root are looked at.
fn read(headers: &HeaderMap, body: &[u8], version: SoapVersion) -> Message {
    let content_type = headers["content-type"].to_str().expect("text");
    let related = MediaType::parse(content_type).expect("a media type");
    assert_eq!(related.parameter("type"), Some(version.media_type()));
    let package = Package::of_body(content_type, body).expect("a package");
    let start = related.parameter("start").expect("RFC 2387, 3.2");
    let (id, _) = package.root.header.field("Content-ID").expect("its id");
    assert_eq!(id, start);
    let root = package.root.media_type().expect("a media type");
    assert_eq!(root.essence(), version.media_type());
    assert_eq!(root.parameter("charset"), Some("utf-8"));
    // SOAP Messages with Attachments, 3: a reader may take the first part for the root.
    let mut attachments = package.attachments.iter();
    assert!(attachments.all(|it| package.root.offset < it.offset));
    package.into_message().expect("a message")
}

fn of_backend(seen: &Seen, version: SoapVersion) -> Message {
    read(&seen.headers, &seen.body, version)
}

/// Content-IDs and contents of attachments.
fn contents(parts: &[Attachment]) -> Vec<(&str, &[u8])> {
    let parts = parts.iter();
    parts.map(|part| (part.id(), part.content())).collect()
}

/// The tables of the side before the service, with a word for attachments.
fn opening(mechanism: &str, attachments: &str) -> (&'static str, String) {
    ("inbound", with(&service(mechanism), attachments))
}

/// The tables of the side behind the client, with a word for attachments.
fn securing(mechanism: &str, attachments: &str) -> (&'static str, String) {
    ("outbound", with(&client(mechanism), attachments))
}
