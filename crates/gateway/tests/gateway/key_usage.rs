//! How much a shared key may encipher (NIST SP 800-67 Rev. 2 section 3.3).

use http::StatusCode;
use soapstone_gateway::Running;
use soapstone_testkit::envelope::with_body;

use crate::support::{Backend, Folder, get, post, send};

/// Under Triple DES a key is used up after 8 MiB.
const TABLES: &str = "shared_key = { hex = \"000102030405060708090a0b0c0d0e0f1011121314151617\" }\n\
    security = { mechanism = \"encrypt\", suite = \"TripleDes\", key_reference = \"key-name\" }\n";

fn envelope(bytes: usize) -> String {
    let text = "x".repeat(bytes);
    with_body(&format!("<e:echo xmlns:e=\"urn:echo\">{text}</e:echo>"))
}

async fn used(gateway: &Running) -> f64 {
    let metrics = send(gateway.address(), get("/metrics")).await.body;
    let line = "soapstone_shared_key_used_ratio{route=\"/echo\",direction=\"outbound\"} ";
    metrics
        .lines()
        .find_map(|found| found.strip_prefix(line))
        .and_then(|ratio| ratio.parse().ok())
        .expect("the ratio is told")
}

#[tokio::test]
async fn a_shared_key_that_is_used_up_enciphers_nothing_more_and_a_reload_does_not_renew_it() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let route = |backend: std::net::SocketAddr, which: &str| {
        format!(
            "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\n[routes.{which}]\n{TABLES}"
        )
    };
    let service = folder.gateway(&route(backend.address, "inbound")).await;
    let file = route(service.address(), "outbound");
    let client = folder.gateway(&file).await;
    let call = async || send(client.address(), post("/echo", envelope(3 << 20))).await;
    assert_eq!(used(&client).await, 0.0);
    assert_eq!(call().await.status, StatusCode::OK);
    let once = used(&client).await;
    assert!((0.37..0.38).contains(&once), "{once}");
    assert_eq!(call().await.status, StatusCode::OK);
    client.reload(folder.config(&file));
    assert_eq!(used(&client).await, 2.0 * once);
    assert_eq!(call().await.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(used(&client).await, 2.0 * once);
}
