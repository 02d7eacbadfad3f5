//! The console, and who may see it.

use http::header::{AUTHORIZATION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use soapstone_gateway::Running;

use crate::support::{
    Answer, Backend, ENVELOPE, Folder, gateway_before, get, post, send, to_admin,
};

const TOKEN: &str = "5f0c9d3a7e1b4628a1d2c3b4e5f60718";

async fn asked(gateway: &Running, path: &str, token: Option<&str>) -> Answer {
    let mut request = to_admin(path);
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

/// What the page shows of the choice is the answer of `/candidates`, and no key is in it.
#[tokio::test]
async fn the_state_has_the_candidates_of_each_balanced_route_with_both_indices_and_why() {
    let (folder, backend) = (Folder::with_keys(), Backend::echo().await);
    let outbound = crate::secured::client("sign");
    let text = format!(
        "listen = \"127.0.0.1:0\"\nadmin = {{ listen = \"127.0.0.1:0\", token = \"{TOKEN}\" }}\n\
         [[routes]]\npath = \"/alone\"\nbackend = \"http://{0}/echo\"\n\
         [[routes]]\npath = \"/echo\"\n\
         [[routes.backends]]\nname = \"plain\"\nurl = \"http://{0}/echo\"\n\
         [[routes.backends]]\nname = \"signed\"\nurl = \"http://127.0.0.1:9/echo\"\n[routes.backends.outbound]\n{outbound}\
         [routes.balance]\nneeds = {{ properties = [\"integrity\"] }}\nretries = 0\n\
         ejection = {{ failures = 1, time = \"1h\", longest = \"1h\" }}\n",
        backend.address
    );
    let gateway = folder.gateway(&text).await;
    let failed = send(gateway.address(), post("/echo", ENVELOPE)).await;
    assert_eq!(failed.status, StatusCode::BAD_GATEWAY);
    let answer = asked(&gateway, "/console/state", Some(TOKEN)).await;
    let state: serde_json::Value = serde_json::from_str(&answer.body).expect("JSON");
    let routes = state["selection"].as_array().expect("routes");
    assert_eq!(routes.len(), 1, "{routes:?}");
    let [plain, signed] = &routes[0]["candidates"].as_array().expect("two")[..] else {
        panic!("two candidates, found {}", routes[0]);
    };
    assert_eq!(plain["eligible"], false);
    let short = "it does not cover the needs: no integrity";
    assert_eq!(plain["why"], short);
    assert_eq!(plain["security_index"], 0.0);
    assert_eq!(signed["state"], "ejected");
    assert_eq!(signed["security"]["integrity"]["level"], "message");
    assert_eq!(signed["predicted_ms"], serde_json::Value::Null);
    let why = signed["why"].as_str().expect("text");
    assert!(
        why.contains("the last resort: it is ejected for another "),
        "{why}"
    );
    let told = asked(&gateway, "/candidates", Some(TOKEN)).await;
    let told: serde_json::Value = serde_json::from_str(&told.body).expect("JSON");
    let of_each = |routes: &serde_json::Value| routes[0]["candidates"][0].clone();
    assert_eq!(of_each(&told["routes"]), of_each(&state["selection"]));
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

/// A gateway that records refused messages in the clear, and the id of the message that it has
/// refused.
async fn with_a_record(more: &str) -> (Running, String, Folder, Backend) {
    let (folder, backend) = (Folder::with_keys(), Backend::echo().await);
    let text = format!(
        "listen = \"127.0.0.1:0\"\nadmin = {{ listen = \"127.0.0.1:0\", token = \"{TOKEN}\" }}\n\
         record = {{ refused = 9, plaintext = true{more} }}\n[[routes]]\npath = \"/books\"\nbackend = \"http://{}/books\"\n\
         [routes.inbound]\nusers = [{{ name = \"alice\", password = \"not for the page\" }}]\n\
         security = {{ mechanism = \"username\", password = \"text\" }}\n",
        backend.address
    );
    let gateway = folder.gateway(&text).await;
    send(gateway.address(), post("/books", ENVELOPE)).await;
    let listed = asked(&gateway, "/refused", Some(TOKEN)).await;
    let listed: serde_json::Value = serde_json::from_str(&listed.body).expect("JSON");
    let id = listed[0]["id"].as_str().expect("an id").to_owned();
    (gateway, id, folder, backend)
}

async fn explained(gateway: &Running, id: &str, token: Option<&str>) -> Answer {
    asked(gateway, &format!("/console/explained/{id}"), token).await
}

#[tokio::test]
async fn a_recorded_message_is_explained_to_whoever_may_have_it_and_to_nobody_else() {
    let (gateway, id, _folder, _backend) = with_a_record("").await;
    let unable = explained(&gateway, &id, Some(TOKEN)).await;
    assert_eq!(unable.status, StatusCode::NOT_FOUND);
    gateway.explain_with(|message| {
        let text = String::from_utf8_lossy(&message.bytes).into_owned();
        format!("explained {}: {text}", message.id)
    });
    let told = explained(&gateway, &id, Some(TOKEN)).await;
    assert_eq!(told.status, StatusCode::OK);
    assert_eq!(told.body, format!("explained {id}: {ENVELOPE}"));
    // It has markup of a stranger in it, which is no page.
    assert_eq!(told.headers[CONTENT_TYPE], "text/plain; charset=utf-8");
    assert_eq!(told.headers["x-content-type-options"], "nosniff");
    assert_eq!(told.headers["cache-control"], "no-store");
    for token in [None, Some("another")] {
        let answer = explained(&gateway, &id, token).await;
        assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
        assert!(!answer.body.contains(&id), "{}", answer.body);
    }
    let unknown = explained(&gateway, "p-r1", Some(TOKEN)).await;
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
    // The address of the routes has no console.
    let beside = send(gateway.address(), get(&format!("/console/explained/{id}"))).await;
    assert_eq!(beside.status, StatusCode::NOT_FOUND);
    let mut asking = post(&format!("/console/explained/{id}"), "");
    let bearer = HeaderValue::from_str(&format!("Bearer {TOKEN}")).expect("a value");
    asking.headers_mut().insert(AUTHORIZATION, bearer);
    let admin = gateway.admin_address().expect("it has one");
    assert_eq!(
        send(admin, asking).await.status,
        StatusCode::METHOD_NOT_ALLOWED
    );
}

#[tokio::test]
async fn a_sealed_record_is_explained_to_the_holder_of_its_key_alone() {
    let key = "ab".repeat(32);
    let (gateway, id, _folder, _backend) = with_a_record(&format!(", seal_key = \"{key}\"")).await;
    gateway.explain_with(|_| panic!("it is not asked"));
    let answer = explained(&gateway, &id, Some(TOKEN)).await;
    assert_eq!(answer.status, StatusCode::CONFLICT);
    let expected = "the message is not explained here: it is sealed with `record.seal_key`\n";
    assert_eq!(answer.body, expected);
    let state = asked(&gateway, "/console/state", Some(TOKEN)).await;
    assert!(state.body.contains("\"explains\":false"), "{}", state.body);
}

#[tokio::test]
async fn a_second_message_waits_for_no_explanation_of_the_first_and_no_worker_does() {
    let (gateway, id, _folder, _backend) = with_a_record("").await;
    let (begun, mut has_begun) = tokio::sync::mpsc::unbounded_channel();
    let (goes_on, waits) = std::sync::mpsc::channel::<()>();
    let waits = std::sync::Mutex::new(waits);
    gateway.explain_with(move |_| {
        let _ = begun.send(());
        let _ = waits.lock().expect("it is ours").recv();
        "explained".to_owned()
    });
    let gateway = std::sync::Arc::new(gateway);
    let first = {
        let (gateway, id) = (std::sync::Arc::clone(&gateway), id.clone());
        tokio::spawn(async move { explained(&gateway, &id, Some(TOKEN)).await })
    };
    has_begun.recv().await.expect("it begins");
    let second = explained(&gateway, &id, Some(TOKEN)).await;
    assert_eq!(second.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(
        second.body,
        "another message is being explained; ask again\n"
    );
    // Messages are worked on meanwhile.
    let refused = send(gateway.address(), post("/books", ENVELOPE)).await;
    assert_eq!(refused.status, StatusCode::INTERNAL_SERVER_ERROR);
    goes_on.send(()).expect("it waits");
    assert_eq!(first.await.expect("it ends").body, "explained");
}
