//! Whose messages use weak algorithms, and since when.

use http::StatusCode;
use serde_json::Value;
use soapstone_gateway::Running;

use crate::secured::{secured, service};
use crate::support::{Backend, Folder, post, send, to_admin};

async fn told(gateway: &Running, path: &str) -> Value {
    let address = gateway.admin_address().expect("it has one");
    let answer = send(address, to_admin(path)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    serde_json::from_str(&answer.body).expect("JSON")
}

async fn gateway(folder: &Folder, backend: &Backend, more: &str) -> Running {
    let tables = service("sign");
    let (keys, security) = tables.split_once("security").expect("its table");
    let security = security.replacen(" }\n", &format!("{more} }}\n"), 1);
    let text = format!(
        "LISTEN\nadmin = \"127.0.0.1:0\"\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n{keys}security{security}",
        backend.address
    );
    folder.gateway(&text).await
}

#[tokio::test]
async fn weak_algorithms_are_told_by_the_partner_whose_message_was_verified() {
    let (folder, backend) = (Folder::with_keys(), Backend::echo().await);
    let until = ", allow_weak_until = { rsa-sha1 = \"2199-01-01\" }";
    let gateway = gateway(&folder, &backend, until).await;
    assert_eq!(
        told(&gateway, "/weak-algorithms").await["uses"],
        serde_json::json!([])
    );

    let message = String::from_utf8(secured(&folder, "sign")).expect("it is UTF-8");
    // A forged message names a partner too, and proves nothing.
    let forged = message.replacen("hello", "jello", 1);
    assert_ne!(forged, message);
    let refused = send(gateway.address(), post("/echo", forged)).await;
    assert_eq!(refused.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(
        told(&gateway, "/weak-algorithms").await["uses"],
        serde_json::json!([])
    );

    let taken = send(gateway.address(), post("/echo", message.clone())).await;
    assert_eq!(taken.status, StatusCode::OK, "{}", taken.body);
    let replayed = send(gateway.address(), post("/echo", message)).await;
    assert_eq!(replayed.status, StatusCode::INTERNAL_SERVER_ERROR);
    let uses = told(&gateway, "/weak-algorithms").await["uses"].clone();
    let [used] = &uses.as_array().expect("uses")[..] else {
        panic!("one use, found {uses}");
    };
    for (name, expected) in [
        ("route", "/echo"),
        ("direction", "inbound"),
        ("proven_by", "certificate"),
        ("partner", "CN=client"),
        ("algorithm", "rsa-sha1"),
        ("until", "2199-01-01T00:00:00Z"),
    ] {
        assert_eq!(used[name], expected, "{used}");
    }
    assert_eq!(used["uses"], 1);
    assert!(
        used["first"].is_string() && used["first"] == used["last"],
        "{used}"
    );

    // The console has the same; metrics have the number of partners, and no name.
    let state = told(&gateway, "/console/state").await;
    assert_eq!(state["weak"], uses);
    let metrics = state["metrics"].as_str().expect("text");
    let line = "soapstone_weak_algorithm_partners{route=\"/echo\",direction=\"inbound\",mechanism=\"sign\",algorithm=\"rsa-sha1\"} 1";
    assert!(metrics.lines().any(|it| it == line), "{metrics}");
    assert!(!metrics.contains("CN=client"), "{metrics}");
}
