//! Two gateways in conversation: how it begins, goes on, is lost and found again.

pub(crate) mod between;
mod refused;

use std::time::Duration;

use http::{Response, StatusCode};
use http_body_util::Full;
use soapstone_gateway::Running;
use tokio::task::JoinSet;

use crate::support::{
    Answer, Backend, ENVELOPE, ENVELOPE_12, Folder, post, post_12, post_as, send, soon,
};

/// The tables of a side; `conversations` are the keys of that table.
pub(crate) fn tables(us: &str, peer: &str, conversations: &str) -> String {
    format!(
        "identity = {{ key = \"{us}.key.pem\", certificate = \"{us}.cert.pem\" }}\npeer = {{ certificate = \"{peer}.cert.pem\" }}\n\
         trust = {{ anchors = [\"ca.cert.pem\"] }}\n\
         security = {{ mechanism = \"secure-conversation\", suite = \"Basic256Sha256\", conversations = {{ {conversations} }} }}\n"
    )
}

fn route(backend: std::net::SocketAddr, more: &str) -> String {
    format!("LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{backend}/echo\"\n{more}")
}

fn service_file(backend: &Backend, conversations: &str) -> String {
    let side = tables("server", "client", conversations);
    route(backend.address, &format!("[routes.inbound]\n{side}"))
}

fn client_file(service: std::net::SocketAddr, conversations: &str) -> String {
    let side = tables("client", "server", conversations);
    route(service, &format!("[routes.outbound]\n{side}"))
}

pub(crate) async fn service(folder: &Folder, backend: &Backend, conversations: &str) -> Running {
    folder.gateway(&service_file(backend, conversations)).await
}

async fn client(folder: &Folder, service: &Running, conversations: &str) -> Running {
    folder
        .gateway(&client_file(service.address(), conversations))
        .await
}

async fn call(client: &Running) -> Answer {
    send(client.address(), post("/echo", ENVELOPE)).await
}

async fn called(client: &Running) {
    let answer = call(client).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    assert!(answer.body.contains(">hello<"), "{}", answer.body);
}

/// The value of a line of a gateway's metrics; 0 where there is no such line.
pub(crate) async fn metric(gateway: &Running, line: &str) -> u64 {
    let body = gateway.metrics();
    let value = body
        .lines()
        .find_map(|found| found.strip_prefix(line)?.strip_prefix(' '));
    value.map_or(0, |value| value.parse().expect("a count"))
}

const ESTABLISHED: &str = "soapstone_handshakes_total{route=\"/echo\",outcome=\"established\"}";
const FAILED: &str = "soapstone_handshakes_total{route=\"/echo\",outcome=\"failed\"}";
const RESENT: &str = "soapstone_resent_requests_total{route=\"/echo\"}";
const HELD: &str = "soapstone_conversations{route=\"/echo\",direction=\"inbound\"}";
const ISSUED: &str = "soapstone_contexts_total{route=\"/echo\",event=\"issued\"}";

#[tokio::test]
async fn requests_of_both_versions_share_one_context() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let service = service(&folder, &backend, "").await;
    let client = client(&folder, &service, "").await;
    for (envelope, media_type) in [
        (ENVELOPE, "text/xml; charset=utf-8"),
        (
            ENVELOPE_12,
            "application/soap+xml; charset=utf-8; action=\"urn:echo\"",
        ),
        (ENVELOPE, "text/xml; charset=utf-8"),
    ] {
        let request = post_as("/echo", media_type, envelope);
        let answer = send(client.address(), request).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        assert!(answer.body.contains(">hello<"), "{}", answer.body);
        let seen = backend.seen.recv().await.expect("it arrived");
        let body = String::from_utf8(seen.body.to_vec()).expect("it is UTF-8");
        assert!(
            body.contains(">hello<") && !body.contains("Security"),
            "{body}"
        );
    }
    assert!(
        backend.seen.try_recv().is_err(),
        "the handshake is not the backend's"
    );
    assert_eq!(metric(&client, ESTABLISHED).await, 1);
    assert_eq!(metric(&service, ISSUED).await, 1);
    assert_eq!(metric(&service, HELD).await, 1);
}

#[tokio::test]
async fn a_handshake_in_soap_12_begins_a_conversation_too() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let service = service(&folder, &backend, "version = \"2005-02\"").await;
    let client = client(&folder, &service, "version = \"2005-02\"").await;
    let answer = send(client.address(), post_12("/echo", ENVELOPE_12)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    called(&client).await;
    assert_eq!(metric(&client, ESTABLISHED).await, 1);
}

#[tokio::test]
async fn every_bootstrap_that_hides_keys_begins_a_conversation() {
    let folder = Folder::with_keys();
    // What does not encrypt the answer would show its key: without TLS, neither `username` nor
    // `sign` can begin a conversation.
    for bootstrap in ["sign-encrypt", "encrypt-sign"] {
        let backend = Backend::echo().await;
        let keys = format!("bootstrap = \"{bootstrap}\"");
        let service = service(&folder, &backend, &keys).await;
        let client = client(&folder, &service, &keys).await;
        called(&client).await;
        assert_eq!(metric(&client, ESTABLISHED).await, 1, "{bootstrap}");
    }
}

#[tokio::test]
async fn many_clients_at_once_wait_for_one_handshake() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let service = service(&folder, &backend, "").await;
    let client = client(&folder, &service, "").await;
    let mut calls = JoinSet::new();
    let address = client.address();
    for _ in 0..32 {
        calls.spawn(async move { send(address, post("/echo", ENVELOPE)).await.status });
    }
    for status in calls.join_all().await {
        assert_eq!(status, StatusCode::OK);
    }
    assert_eq!(metric(&client, ESTABLISHED).await, 1);
    assert_eq!(metric(&service, HELD).await, 1);
}

#[tokio::test]
async fn a_service_that_lost_its_contexts_is_called_in_another_conversation() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let file = service_file(&backend, "");
    let first = folder.gateway(&file).await;
    let address = first.address();
    let client = client(&folder, &first, "").await;
    called(&client).await;
    backend.seen.recv().await.expect("it arrived");
    first.shutdown().await;
    let again = file.replace("LISTEN", &format!("listen = \"{address}\""));
    let second = folder.gateway(&again).await;
    called(&client).await;
    backend.seen.recv().await.expect("it arrived");
    assert!(backend.seen.try_recv().is_err(), "it arrived once");
    assert_eq!(metric(&client, ESTABLISHED).await, 2);
    assert_eq!(metric(&client, RESENT).await, 1);
    let unknown = "soapstone_refusals_total{route=\"/echo\",direction=\"inbound\",mechanism=\"secure-conversation\",reason=\"context-unknown\"}";
    assert_eq!(metric(&second, unknown).await, 1);
}

#[tokio::test]
async fn a_conversation_that_is_ended_is_held_by_nobody_and_followed_by_another() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let service = service(&folder, &backend, "").await;
    let client = client(&folder, &service, "").await;
    client.end_conversations().await;
    assert_eq!(metric(&client, ESTABLISHED).await, 0, "there was none");
    called(&client).await;
    assert_eq!(metric(&service, HELD).await, 1);
    client.end_conversations().await;
    assert_eq!(metric(&service, HELD).await, 0);
    called(&client).await;
    assert_eq!(metric(&client, ESTABLISHED).await, 2);
    assert_eq!(metric(&client, RESENT).await, 0);
}

#[tokio::test]
async fn a_reload_ends_no_conversation_of_clients() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let service = service(&folder, &backend, "").await;
    let client = client(&folder, &service, "").await;
    called(&client).await;
    service.reload(folder.config(&service_file(&backend, "")));
    called(&client).await;
    assert_eq!(metric(&client, RESENT).await, 0);
    assert_eq!(metric(&client, ESTABLISHED).await, 1);
}

#[tokio::test]
async fn a_context_is_followed_by_another_before_it_ends() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let service = service(&folder, &backend, "lifetime = \"4s\"").await;
    let client = client(&folder, &service, "").await;
    called(&client).await;
    let two = async {
        while metric(&client, ESTABLISHED).await < 2 {
            called(&client).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    soon("the next context", two).await;
    called(&client).await;
    assert_eq!(metric(&client, RESENT).await, 0);
    assert_eq!(metric(&client, FAILED).await, 0);
}

#[tokio::test]
async fn keys_are_computed_as_both_sides_are_told() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let computed = |names: &str| format!("computed_keys = [{names}], key_size = 384");
    for (granted, asked, agree) in [
        ("\"P_SHA1\", \"P_SHA256\"", "\"P_SHA256\"", true),
        ("\"P_SHA256\"", "\"P_SHA256\"", true),
        ("\"P_SHA256\"", "\"P_SHA1\"", false),
        ("\"P_SHA1\"", "\"P_SHA256\"", false),
    ] {
        let service = service(&folder, &backend, &computed(granted)).await;
        let client = client(&folder, &service, &computed(asked)).await;
        let answer = call(&client).await;
        assert_eq!(answer.status == StatusCode::OK, agree, "{}", answer.body);
        assert_eq!(metric(&client, ESTABLISHED).await, u64::from(agree));
        assert_eq!(metric(&service, ISSUED).await, u64::from(agree));
    }
}

/// WS-Trust 1.4, 4.1: the scope of a token.
#[tokio::test]
async fn contexts_are_made_for_the_addresses_that_are_listed() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let elsewhere = "applies_to = [\"https://example.org/books\"]";
    let refusing = service(&folder, &backend, elsewhere).await;
    let stranded = client(&folder, &refusing, "").await;
    assert_eq!(call(&stranded).await.status, StatusCode::BAD_GATEWAY);
    assert!(backend.seen.try_recv().is_err());
    assert_eq!(metric(&refusing, ISSUED).await, 0);

    // The address that the client's gateway knows it by, which is known once it listens.
    let service = service(&folder, &backend, "").await;
    let address = format!("http://{}/echo", service.address());
    let here = service_file(&backend, &format!("applies_to = [\"{address}\"]"));
    service.reload(folder.config(&here));
    called(&client(&folder, &service, "").await).await;
}

#[tokio::test]
async fn a_context_is_renewed_where_the_service_renews_for_its_owner() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let service = service(&folder, &backend, "lifetime = \"4s\", owner_alone = true").await;
    let client = client(&folder, &service, "").await;
    let renewed = "soapstone_contexts_total{route=\"/echo\",event=\"renewed\"}";
    called(&client).await;
    let twice = async {
        while metric(&service, renewed).await < 2 {
            called(&client).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    soon("two renewals", twice).await;
    called(&client).await;
    assert_eq!(metric(&service, ISSUED).await, 1);
    assert_eq!(metric(&service, HELD).await, 1);
    assert_eq!(metric(&client, FAILED).await, 0);
    client.shutdown().await;
    assert_eq!(metric(&service, HELD).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 8)]
async fn a_context_that_is_always_in_use_is_not_renewed_but_followed_by_a_new_one() {
    let folder = Folder::with_keys();
    let backend = Backend::answering(|seen| {
        std::thread::sleep(Duration::from_millis(400));
        let mut response = Response::new(Full::new(seen.body.clone()));
        let media_type = seen.headers["content-type"].clone();
        response.headers_mut().insert("content-type", media_type);
        response
    })
    .await;
    let service = service(&folder, &backend, "lifetime = \"4s\", owner_alone = true").await;
    let client = client(&folder, &service, "").await;
    let address = client.address();
    let begun = std::time::Instant::now();
    let mut callers = JoinSet::new();
    for number in 0..3 {
        callers.spawn(async move {
            tokio::time::sleep(Duration::from_millis(130 * number)).await;
            while begun.elapsed() < Duration::from_secs(6) {
                let answer = send(address, post("/echo", ENVELOPE)).await;
                assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
            }
        });
    }
    callers.join_all().await;
    let renewed = "soapstone_contexts_total{route=\"/echo\",event=\"renewed\"}";
    assert_eq!(metric(&service, renewed).await, 0);
    assert!(metric(&service, ISSUED).await >= 2);
    assert_eq!(metric(&client, RESENT).await, 0);
}
