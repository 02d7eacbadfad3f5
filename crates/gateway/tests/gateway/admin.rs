//! Health, readiness and metrics.

use std::sync::atomic::Ordering;

use http::StatusCode;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use crate::support::{
    Backend, ENVELOPE, Nobody, Redis, gateway, gateway_before, get, post, send, soon, to_admin,
};

#[tokio::test]
async fn health_and_metrics_are_beside_the_routes_unless_they_have_an_address() {
    let backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "").await;
    let answer = send(gateway.address(), get("/healthz")).await;
    assert_eq!(
        (answer.status, answer.body.as_str()),
        (StatusCode::OK, "ok\n")
    );

    let apart = gateway_before(backend.address, "admin = \"127.0.0.1:0\"").await;
    assert_eq!(
        send(apart.address(), get("/healthz")).await.status,
        StatusCode::NOT_FOUND
    );
    let admin = apart.admin_address().expect("it is configured");
    assert_eq!(send(admin, get("/healthz")).await.status, StatusCode::OK);
    assert_eq!(
        send(admin, post("/healthz", "")).await.status,
        StatusCode::METHOD_NOT_ALLOWED
    );
    assert_eq!(
        send(admin, to_admin("/echo")).await.status,
        StatusCode::NOT_FOUND
    );
}

#[tokio::test]
async fn readiness_says_which_backend_cannot_be_reached() {
    let backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "").await;
    let answer = send(gateway.address(), get("/readyz")).await;
    assert_eq!(answer.status, StatusCode::OK);
    assert_eq!(
        answer.body,
        "ready: true\ndraining: false\n/echo: reachable\n"
    );

    let nobody = Nobody::new();
    let free = nobody.address;
    let gateway = gateway_before(free, "").await;
    let answer = send(gateway.address(), get("/readyz")).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    let expected = format!(
        "ready: false\ndraining: false\n/echo: no connection to the backend {free}: Connection refused (os error 111)\n"
    );
    assert_eq!(answer.body, expected);
}

#[tokio::test]
async fn requests_bytes_and_failures_are_counted() {
    let backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "limits = { body = 1000 }").await;
    send(gateway.address(), post("/echo", ENVELOPE)).await;
    send(gateway.address(), post("/echo", vec![b'x'; 1001])).await;
    let answer = send(gateway.address(), get("/metrics")).await;
    assert_eq!(answer.headers["content-type"], "text/plain; version=0.0.4");
    let bytes = ENVELOPE.len();
    for line in [
        "soapstone_requests_total{route=\"/echo\",status=\"2xx\"} 1".to_owned(),
        "soapstone_requests_total{route=\"/echo\",status=\"4xx\"} 1".to_owned(),
        "soapstone_failures_total{route=\"/echo\",reason=\"too-large\"} 1".to_owned(),
        "soapstone_faults_total{route=\"/echo\",code=\"soap:Client\"} 1".to_owned(),
        format!("soapstone_bytes_total{{route=\"/echo\",flow=\"from-client\"}} {bytes}"),
        format!("soapstone_bytes_total{{route=\"/echo\",flow=\"to-client\"}} {bytes}"),
        format!("soapstone_octets_total{{route=\"/echo\",flow=\"to-client\"}} {bytes}"),
        "soapstone_backend_up{route=\"/echo\"} 1".to_owned(),
        "soapstone_request_seconds_count{route=\"/echo\"} 2".to_owned(),
        "soapstone_requests_in_flight 0".to_owned(),
    ] {
        assert!(
            answer.body.lines().any(|found| found == line),
            "expected {line} in\n{}",
            answer.body
        );
    }
}

#[tokio::test]
async fn asking_for_readiness_again_and_again_opens_no_further_connections() {
    let backend = Backend::echo().await;
    let gateway = gateway_before(backend.address, "").await;
    let begun = std::time::Instant::now();
    for _ in 0..50 {
        let answer = send(gateway.address(), get("/readyz")).await;
        assert_eq!(answer.status, StatusCode::OK);
    }
    let seconds = u32::try_from(begun.elapsed().as_secs()).expect("it did not take that long");
    let opened = backend.connections.load(Ordering::Relaxed);
    assert!(
        opened <= 1 + seconds,
        "{opened} connections in {seconds} seconds"
    );
}

#[tokio::test]
async fn a_gateway_that_has_all_its_clients_still_says_that_it_is_well() {
    let backend = Backend::echo().await;
    let more = "admin = \"127.0.0.1:0\"\nlimits = { connections = 2 }";
    let gateway = gateway_before(backend.address, more).await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        let client = TcpStream::connect(gateway.address()).await;
        clients.push(client.expect("it listens"));
    }
    // The third one is turned away.
    let mut end = Vec::new();
    let read = clients[2].read_to_end(&mut end);
    assert_eq!(soon("the end", read).await.unwrap_or(0), 0);
    let admin = gateway.admin_address().expect("it is configured");
    let answer = soon("an answer", send(admin, get("/metrics"))).await;
    for line in [
        "soapstone_connections 2",
        "soapstone_refused_connections_total 1",
    ] {
        assert!(
            answer.body.lines().any(|found| found == line),
            "expected {line} in\n{}",
            answer.body
        );
    }
}

/// A node that its store does not let in serves nobody; the others may be let in.
#[tokio::test]
async fn a_wrong_password_of_the_store_makes_a_node_unready() {
    let backend = Backend::echo().await;
    let redis = Redis::start(&["--requirepass", "sesame"]).await;
    let port = redis.1;
    let node = async |password: &str| {
        let file = format!(
            "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n\
             users = [{{ name = \"alice\", password = \"secret\" }}]\n\
             store = {{ url = \"redis://:{password}@127.0.0.1:{port}\", timeout = \"5s\" }}\n\
             security = {{ mechanism = \"username\", replay = {{ store = \"redis\" }} }}\n",
            backend.address
        );
        let gateway = crate::support::gateway(&file).await;
        let answer = send(gateway.address(), get("/readyz")).await;
        (answer.status, answer.body)
    };
    let ready = "ready: true\ndraining: false\n/echo: reachable\n".to_owned();
    assert_eq!(node("sesame").await, (StatusCode::OK, ready.clone()));
    let (status, body) = node("guessed").await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
    let expected = format!(
        "ready: false\ndraining: false\n/echo: reachable\nstore: 127.0.0.1:{port}: WRONGPASS "
    );
    assert!(body.starts_with(&expected), "{body}");
    // One that does not answer is away for all nodes.
    drop(redis);
    let (status, body) = node("sesame").await;
    assert_eq!(status, StatusCode::OK);
    let expected = format!("{ready}store: 127.0.0.1:{port}: ");
    assert!(body.starts_with(&expected), "{body}");
}

/// Reasons of refusals and their steps help whoever tries out what a message holds.
#[tokio::test]
async fn strangers_read_no_reasons_where_metrics_are_beside_the_routes() {
    let backend = Backend::echo().await;
    let route = format!(
        "[[routes]]\npath = \"/u\"\nbackend = \"http://{}/\"\n[routes.inbound]\n\
         users = [{{ name = \"alice\", password = \"secret\" }}]\nsecurity = {{ mechanism = \"username\" }}\n",
        backend.address
    );
    let beside = gateway(&format!("LISTEN\n{route}")).await;
    let apart = gateway(&format!("LISTEN\nadmin = \"127.0.0.1:0\"\n{route}")).await;
    let admin = apart.admin_address().expect("it is configured");
    let told = |address| async move { send(address, get("/metrics")).await.body };
    for gateway in [&beside, &apart] {
        let answer = send(gateway.address(), post("/u", ENVELOPE)).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    }
    let (strangers, operators) = (told(beside.address()).await, told(admin).await);
    let labels = "route=\"/u\",direction=\"inbound\",mechanism=\"username\"";
    let class = format!("soapstone_refusals_total{{{labels},class=\"wsse:InvalidSecurity\"}} 1");
    assert!(strangers.contains(&class), "{strangers}");
    for hidden in [
        "security-missing",
        "soapstone_step_seconds",
        "soapstone_store_wait",
        "process_",
    ] {
        assert!(!strangers.contains(hidden), "{hidden}");
        assert!(operators.contains(hidden), "{hidden} in {operators}");
    }
}
