//! Header blocks that no signature covers and that are passed on: a field of HTTP names them.

use http::{HeaderValue, StatusCode};
use soapstone::Client;
use soapstone::config::EndpointConfig;
use soapstone::endpoint::Endpoint;
use soapstone_testkit::envelope::{HELLO, SOAP11, with_header};

use crate::support::{Backend, Folder, get, header, post, send};

const UNPROVEN: &str = "x-soapstone-unproven";

fn tables(us: &str, peer: &str) -> String {
    format!(
        "identity = {{ key = \"{us}.key.pem\", certificate = \"{us}.cert.pem\" }}\n\
         peer = {{ certificate = \"{peer}.cert.pem\" }}\ntrust = {{ anchors = [\"ca.cert.pem\"] }}\n"
    )
}

/// A signed message with these header blocks, unsigned.
fn message(folder: &Folder, headers: &str) -> Vec<u8> {
    let text = tables("client", "server") + "security = { mechanism = \"sign\" }\n";
    let config = EndpointConfig::from_text(&text, &folder.path("client.toml"), &|_| None);
    let client: Client = config
        .and_then(|config| Endpoint::from_config(&config))
        .expect("a client");
    let plain = with_header(SOAP11, headers, HELLO).into_bytes();
    client.secure(plain).expect("it is secured").bytes
}

#[tokio::test]
async fn a_backend_is_told_what_nothing_proves() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let gateway = folder
        .gateway(&format!(
            "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n{}\
             security = {{ mechanism = \"sign\", unsigned = [\"{{urn:app}}Routing\", \"{{urn:app}}Trace\"] }}\n",
            backend.address,
            tables("server", "client")
        ))
        .await;
    let block = |name: &str| format!("<r:{name} xmlns:r=\"urn:app\">a</r:{name}>");
    for (headers, told) in [
        (String::new(), None),
        (block("Other"), None),
        (block("Routing"), Some("{urn:app}Routing")),
        (
            block("Routing") + &block("Trace") + &block("Routing"),
            Some("{urn:app}Routing, {urn:app}Trace"),
        ),
    ] {
        let mut request = post("/echo", message(&folder, &headers));
        // What a client says of it counts for nothing.
        for name in [UNPROVEN, "x_soapstone_unproven"] {
            let value = HeaderValue::from_static("{urn:app}Forged");
            request.headers_mut().insert(header(name), value);
        }
        let answer = send(gateway.address(), request).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let seen = backend.seen.recv().await.expect("a request");
        let found = seen.headers.get_all(UNPROVEN).into_iter();
        let found: Vec<&str> = found.map(|value| value.to_str().expect("text")).collect();
        assert_eq!(found, Vec::from_iter(told), "{headers}");
        assert!(!seen.headers.contains_key("x_soapstone_unproven"));
        let body = String::from_utf8(seen.body.to_vec()).expect("text");
        assert_eq!(body.contains("Routing"), told.is_some(), "{body}");
    }
    let metrics = send(gateway.address(), get("/metrics")).await.body;
    let of = "soapstone_unproven_header_messages_total{route=\"/echo\",direction=\"inbound\",mechanism=\"sign\"} 2";
    assert!(metrics.lines().any(|line| line == of), "{metrics}");
}
