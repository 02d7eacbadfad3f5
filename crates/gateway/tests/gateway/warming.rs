//! Warm-ups: what a gateway sends before it says that it is ready.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use soapstone_gateway::{Config, Running};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::conversations::{metric, tables};
use crate::secured::{client, service};
use crate::support::{
    Backend, ENVELOPE, Folder, Nobody, Said, exchange, free_address, get, post, send,
    silent_backend, soon,
};

/// A folder with keys, and with a request in `ping.xml`.
fn folder() -> Folder {
    let folder = Folder::with_keys();
    folder.write("ping.xml", ENVELOPE);
    folder
}

fn route(backend: SocketAddr, tables: &str) -> String {
    format!("LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\n{tables}")
}

const WARM_UP: &str = "warm_up = { request = \"ping.xml\", action = \"urn:echo\" }\n";

/// Status and text of `/readyz`.
async fn readiness(gateway: &Running) -> (StatusCode, String) {
    let answer = send(gateway.address(), get("/readyz")).await;
    (answer.status, answer.body)
}

/// Waits until no route is warming up, and tells what `/readyz` says then.
async fn warmed(gateway: &Running) -> (StatusCode, String) {
    let over = async {
        loop {
            let (status, text) = readiness(gateway).await;
            if !text.contains("warming up: ") {
                return (status, text);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    soon("the end of the warm-up", over).await
}

/// The next request at a silent backend, and its connection. `/readyz` opens connections without a
/// request, and closes them.
async fn arrived(accepted: &mut UnboundedReceiver<TcpStream>) -> (TcpStream, String) {
    let request = async {
        loop {
            let mut stream = accepted.recv().await.expect("the backend listens");
            let text = exchange(&mut stream, b"", |text| text.contains("</s:Envelope>")).await;
            if !text.is_empty() {
                return (stream, text);
            }
        }
    };
    soon("a request", request).await
}

async fn answer(stream: &mut TcpStream) {
    let length = ENVELOPE.len();
    let answer = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: {length}\r\n\r\n{ENVELOPE}"
    );
    let written = stream.write_all(answer.as_bytes()).await;
    written.expect("the gateway waits");
}

/// That a warm-up left no trace in the numbers of clients, and no mark of a request.
fn assert_uncounted(gateway: &Running) {
    let metrics = gateway.metrics();
    assert!(metrics.contains("\nsoapstone_requests_total{"), "{metrics}");
    for part in [
        "soapstone_requests_total{",
        "soapstone_refusals_total{",
        "soapstone_failures_total{",
        "soapstone_bytes_total{",
        "soapstone_step_seconds_count{",
        "soapstone_replay_marks{route=\"/echo\",direction=\"inbound\"",
    ] {
        for line in metrics.lines().filter(|line| line.starts_with(part)) {
            assert!(line.ends_with(" 0"), "{line}");
        }
    }
}

#[tokio::test]
async fn a_gateway_is_not_ready_before_its_request_came_back_through_all_steps() {
    let folder = folder();
    let (address, mut accepted) = silent_backend().await;
    let inbound = format!("[routes.inbound]\n{}", service("sign-encrypt"));
    let before_service = folder.gateway(&route(address, &inbound)).await;
    let outbound = format!("{WARM_UP}[routes.outbound]\n{}", client("sign-encrypt"));
    let text = route(before_service.address(), &outbound);
    let behind_client = folder.gateway(&text).await;

    let (mut stream, request) = arrived(&mut accepted).await;
    assert!(request.starts_with("POST /echo HTTP/1.1\r\n"), "{request}");
    assert!(
        request.contains("soapaction: \"urn:echo\"\r\n"),
        "{request}"
    );
    assert!(request.contains(">hello</e:echo>"), "{request}");
    let cold = "ready: false\ndraining: false\n/echo: reachable\nwarming up: /echo\n";
    let expected = (StatusCode::SERVICE_UNAVAILABLE, cold.to_owned());
    assert_eq!(readiness(&behind_client).await, expected);

    answer(&mut stream).await;
    let warm = "ready: true\ndraining: false\n/echo: reachable\n";
    let expected = (StatusCode::OK, warm.to_owned());
    assert_eq!(warmed(&behind_client).await, expected);
    assert_uncounted(&behind_client);
}

#[tokio::test]
async fn an_inbound_route_opens_the_request_of_a_client_and_marks_nothing() {
    let folder = folder();
    for mechanism in ["username", "sign", "sign-encrypt"] {
        let (said, _listening) = Said::listen();
        let (address, mut accepted) = silent_backend().await;
        let tables = format!(
            "[routes.inbound]\n{}[routes.warm_up]\nrequest = \"ping.xml\"\ntimes = 2\n[routes.warm_up.client]\n{}",
            service(mechanism),
            client(mechanism)
        );
        let gateway = folder.gateway(&route(address, &tables)).await;
        let (mut stream, request) = arrived(&mut accepted).await;
        assert!(request.contains(">hello</e:echo>"), "{request}");
        assert_eq!(
            readiness(&gateway).await.0,
            StatusCode::SERVICE_UNAVAILABLE,
            "{mechanism}"
        );
        answer(&mut stream).await;
        let again = exchange(&mut stream, b"", |text| text.contains("</s:Envelope>"));
        let again = soon("the second request", again).await;
        assert!(again.contains(">hello</e:echo>"), "{again}");
        answer(&mut stream).await;
        assert_eq!(warmed(&gateway).await.0, StatusCode::OK, "{mechanism}");
        assert_eq!(said.times("the route is warm"), 1, "{said}");
        assert_uncounted(&gateway);
    }
}

/// A gateway cannot make a client's signature.
#[tokio::test]
async fn without_a_client_nothing_reaches_what_an_inbound_route_protects() {
    let folder = folder();
    let (said, _listening) = Said::listen();
    let mut backend = Backend::echo().await;
    let tables = format!("{WARM_UP}[routes.inbound]\n{}", service("sign-encrypt"));
    let gateway = folder.gateway(&route(backend.address, &tables)).await;
    assert_eq!(warmed(&gateway).await.0, StatusCode::OK);
    assert_eq!(said.times("the route is warm"), 1, "{said}");
    assert!(backend.seen.try_recv().is_err());
    assert_uncounted(&gateway);
}

#[tokio::test]
async fn a_client_that_the_route_refuses_reaches_no_backend() {
    let folder = folder();
    let (said, _listening) = Said::listen();
    let mut backend = Backend::echo().await;
    let tables = format!(
        "[routes.inbound]\n{}[routes.warm_up]\nrequest = \"ping.xml\"\n[routes.warm_up.client]\n{}",
        service("username"),
        client("username").replace("secret", "guess")
    );
    let gateway = folder.gateway(&route(backend.address, &tables)).await;
    assert_eq!(warmed(&gateway).await.0, StatusCode::OK);
    assert_eq!(said.times("the warm-up failed"), 1, "{said}");
    assert_eq!(said.times("inbound refuses: "), 1, "{said}");
    assert!(backend.seen.try_recv().is_err());
    assert_uncounted(&gateway);
}

#[tokio::test]
async fn a_warm_up_that_fails_or_takes_too_long_is_told_and_over() {
    let folder = folder();
    let (said, _listening) = Said::listen();
    let brief = WARM_UP.replace("action", "within = \"300ms\", action");
    let nobody = Nobody::new();
    let gateway = folder.gateway(&route(nobody.address, &brief)).await;
    let (status, text) = warmed(&gateway).await;
    assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE, "{text}");
    let address = nobody.address;
    let reason = format!("it was not over within 300ms: no connection to the backend {address}");
    assert_eq!(said.times(&reason), 1, "{said}");

    let (address, _accepted) = silent_backend().await;
    let gateway = folder.gateway(&route(address, &brief)).await;
    assert_eq!(warmed(&gateway).await.0, StatusCode::OK);
    assert_eq!(said.times("it was not over within 300ms"), 2, "{said}");
    assert_eq!(said.times("the warm-up failed"), 2, "{said}");

    let refusing = Backend::answering(|_| {
        let mut response = Response::new(Full::new(Bytes::from_static(ENVELOPE.as_bytes())));
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
    });
    let address = refusing.await.address;
    let gateway = folder.gateway(&route(address, WARM_UP)).await;
    assert_eq!(warmed(&gateway).await.0, StatusCode::OK);
    let reason = "the backend answered 500 Internal Server Error";
    assert_eq!(said.times(reason), 1, "{said}");
}

/// Of services that start beside the gateway, some listen later.
#[tokio::test]
async fn a_backend_that_listens_later_is_waited_for() {
    let folder = folder();
    let (said, _listening) = Said::listen();
    let address = free_address();
    let gateway = folder.gateway(&route(address, WARM_UP)).await;
    assert_eq!(readiness(&gateway).await.0, StatusCode::SERVICE_UNAVAILABLE);
    let backend = TcpListener::bind(address).await.expect("it was free");
    let (mut stream, request) = loop {
        let (mut stream, _) = soon("a connection", backend.accept())
            .await
            .expect("it is ours");
        let request = exchange(&mut stream, b"", |text| text.contains("</s:Envelope>")).await;
        if !request.is_empty() {
            break (stream, request);
        }
    };
    assert!(request.contains(">hello</e:echo>"), "{request}");
    answer(&mut stream).await;
    let over = async {
        while said.times("the route is warm") == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    soon("the end of the warm-up", over).await;
}

/// What the first client waits for, counted: with a conversation, its message and a handshake.
#[tokio::test]
async fn the_first_client_finds_the_conversation_that_the_warm_up_began() {
    let folder = folder();
    const ARRIVED: &str = "soapstone_requests_total{route=\"/echo\",status=\"2xx\"}";
    for (warm_up, made_by_the_first) in [("", 2), (WARM_UP, 1)] {
        let backend = Backend::echo().await;
        let inbound = format!("[routes.inbound]\n{}", tables("server", "client", ""));
        let before_service = folder.gateway(&route(backend.address, &inbound)).await;
        let outbound = format!(
            "{warm_up}[routes.outbound]\n{}",
            tables("client", "server", "")
        );
        let text = route(before_service.address(), &outbound);
        let behind_client = folder.gateway(&text).await;
        assert_eq!(warmed(&behind_client).await.0, StatusCode::OK);
        let before = metric(&before_service, ARRIVED).await;
        let answer = send(behind_client.address(), post("/echo", ENVELOPE)).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let made = metric(&before_service, ARRIVED).await - before;
        assert_eq!(made, made_by_the_first, "{warm_up}");
    }
}

#[test]
fn what_is_wrong_with_a_warm_up_is_told() {
    let folder = folder();
    folder.write("text.xml", "<no-envelope/>");
    let problems = |tables: &str| {
        let text = route(([127, 0, 0, 1], 9).into(), tables).replace("LISTEN", "listen = \":0\"");
        let read = Config::from_text(&text, &folder.path("gateway.toml"), &|_| None);
        let told = read.expect_err("the text is wrong").to_string();
        told.replace(&format!("{}/", folder.root().display()), "")
    };
    const EXAMPLE: &str = "    hint: name a file with a plain message: request = \"ping.xml\"";
    for (tables, expected) in [
        (
            "warm_up = { request = \"absent.xml\" }",
            "gateway.toml:5:23: `request` names absent.xml, which cannot be read: No such file or directory (os error 2)\n    \
             hint: relative paths start at the folder of this file"
                .to_owned(),
        ),
        (
            "warm_up = {}",
            format!("gateway.toml:5:11: `request` is missing in [routes.warm_up]\n{EXAMPLE}"),
        ),
        (
            "warm_up = { request = \"text.xml\" }",
            format!(
                "gateway.toml:5:23: `request` names a file that is no SOAP message\n{EXAMPLE}"
            ),
        ),
        (
            "warm_up = { request = \"ping.xml\", within = \"0s\", times = 0 }",
            "gateway.toml:5:44: `within` must be longer than nothing, found 0\n\
             gateway.toml:5:58: `times` must be a whole number from 1 to 1000, found a smaller number"
                .to_owned(),
        ),
        (
            "warm_up = { request = \"ping.xml\", client = { security = { mechanism = \"none\" } } }",
            "gateway.toml:5:44: `client` is for a route with `inbound`: it secures what that opens"
                .to_owned(),
        ),
    ] {
        assert_eq!(problems(tables), expected, "{tables}");
    }
    let conversation = format!(
        "{WARM_UP}[routes.inbound]\n{}",
        service("secure-conversation")
    );
    let expected = "gateway.toml:5:11: `warm_up` begins no conversation with `inbound`\n    \
                    hint: leave it out: the first client begins one";
    assert_eq!(problems(&conversation), expected);
}
