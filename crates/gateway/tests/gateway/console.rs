//! The console, and who may see it.

use http::header::{AUTHORIZATION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use soapstone_gateway::Running;

use crate::support::{Answer, Backend, ENVELOPE, Folder, gateway_before, get, post, send};

const TOKEN: &str = "5f0c9d3a7e1b4628a1d2c3b4e5f60718";

async fn asked(gateway: &Running, path: &str, token: Option<&str>) -> Answer {
    let mut request = get(path);
    if let Some(token) = token {
        let value = HeaderValue::from_str(&format!("Bearer {token}")).expect("a value");
        request.headers_mut().insert(AUTHORIZATION, value);
    }
    send(gateway.admin_address().expect("it has one"), request).await
}

async fn with_token(backend: &Backend) -> Running {
    let admin = format!("admin = {{ listen = \"127.0.0.1:0\", token = \"{TOKEN}\" }}");
    gateway_before(backend.address, &admin).await
}

#[tokio::test]
async fn whoever_has_no_token_is_told_of_health_alone() {
    let backend = Backend::echo().await;
    let gateway = with_token(&backend).await;
    for path in [
        "/",
        "/console",
        "/console/page.js",
        "/console/state",
        "/console/events",
        "/metrics",
        "/refused",
        "/refused/1",
        "/elsewhere",
    ] {
        for token in [None, Some("another"), Some(&TOKEN[1..])] {
            let answer = asked(&gateway, path, token).await;
            assert_eq!(answer.status, StatusCode::UNAUTHORIZED, "{path}");
            let expected =
                "the token of `admin` is needed: Authorization: Bearer …, or as a password\n";
            assert_eq!(answer.body, expected);
            assert_eq!(
                answer.headers["www-authenticate"],
                "Basic realm=\"soapstone\", charset=\"UTF-8\""
            );
        }
    }
    for path in ["/healthz", "/readyz"] {
        assert_eq!(
            asked(&gateway, path, None).await.status,
            StatusCode::OK,
            "{path}"
        );
    }
    assert_eq!(
        asked(&gateway, "/metrics", Some(TOKEN)).await.status,
        StatusCode::OK
    );
    assert_eq!(
        asked(&gateway, "/console", Some(TOKEN)).await.status,
        StatusCode::OK
    );
}

#[tokio::test]
async fn the_page_loads_nothing_from_elsewhere() {
    let backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "admin = \"127.0.0.1:0\"").await;
    for (path, media_type) in [
        ("/", "text/html; charset=utf-8"),
        ("/console", "text/html; charset=utf-8"),
        ("/console/page.css", "text/css; charset=utf-8"),
        ("/console/page.js", "text/javascript; charset=utf-8"),
    ] {
        let answer = asked(&gateway, path, None).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}");
        assert_eq!(answer.headers[CONTENT_TYPE], media_type, "{path}");
        let policy = answer.headers[CONTENT_SECURITY_POLICY]
            .to_str()
            .expect("text");
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self';"),
            "{policy}"
        );
        assert!(
            !answer.body.contains("http://") && !answer.body.contains("https://"),
            "{path}"
        );
    }
    let events = asked(&gateway, "/console/events", None).await;
    assert_eq!(events.headers[CONTENT_TYPE], "text/event-stream");
    assert!(
        events.body.starts_with("retry: 2000\ndata: {"),
        "{}",
        events.body
    );
    assert!(events.body.ends_with("}\n\n") && events.body.lines().count() == 3);
}

#[tokio::test]
async fn the_state_has_policies_in_words_and_no_secret() {
    let backend = Backend::echo().await;
    let folder = Folder::with_keys();
    let text = format!(
        "listen = \"127.0.0.1:0\"\nadmin = {{ listen = \"127.0.0.1:0\", token = \"{TOKEN}\" }}\n\
         record = {{ refused = 9 }}\n[[routes]]\nname = \"books\"\npath = \"/books\"\nbackend = \"http://{}/books\"\n\
         [routes.inbound]\nusers = [{{ name = \"alice\", password = \"not for the page\" }}]\n\
         security = {{ mechanism = \"username\", password = \"text\" }}\n",
        backend.address
    );
    let gateway = folder.gateway(&text).await;
    let refused = send(gateway.address(), post("/books", ENVELOPE)).await;
    assert_eq!(refused.status, StatusCode::INTERNAL_SERVER_ERROR);
    let answer = asked(&gateway, "/console/state", Some(TOKEN)).await;
    let state: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
    let route = &state["routes"][0];
    assert_eq!(route["name"], "books");
    assert_eq!(route["inbound"]["mechanism"], "username");
    assert_eq!(route["outbound"], serde_json::Value::Null);
    let words = route["inbound"]["arriving"][0]
        .as_array()
        .expect("sentences");
    assert!(!words.is_empty(), "{route}");
    assert_eq!(state["refused"][0]["reason"], "security-missing");
    let metrics = state["metrics"].as_str().expect("text");
    assert!(
        metrics.contains("soapstone_refused_messages_total{route=\"books\""),
        "{metrics}"
    );
    for secret in ["not for the page", TOKEN] {
        assert!(!answer.body.contains(secret), "{secret}");
    }
}

#[tokio::test]
async fn a_console_that_is_not_wanted_is_not_there() {
    let backend = Backend::echo().await;
    let admin = "admin = { listen = \"127.0.0.1:0\", console = false }";
    let gateway = gateway_before(backend.address, admin).await;
    for path in ["/", "/console", "/console/state"] {
        assert_eq!(
            asked(&gateway, path, None).await.status,
            StatusCode::NOT_FOUND,
            "{path}"
        );
    }
    // Nor beside the routes.
    let beside = gateway_before(backend.address, "").await;
    let answer = send(beside.address(), get("/console/state")).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
}
