//! What begins no conversation, what is no part of one, and what it costs to ask for one in vain.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use soapstone_gateway::{Config, Running};

use super::between::{Door, Lets, Way, between};
use super::{
    ESTABLISHED, FAILED, HELD, RESENT, call, called, client_file, metric, service, tables,
};
use crate::support::{
    Backend, ENVELOPE, ENVELOPE_12, Folder, Nobody, post, post_12, reason, send, soon,
};

/// A service with its backend, and the gateway of a client that comes to it over something between.
struct Parties<W> {
    _folder: Folder,
    backend: Backend,
    service: Running,
    way: W,
    client: Running,
}

/// All of them; `way` makes what stands before the address of the service.
async fn parties<W: Way>(way: impl AsyncFnOnce(SocketAddr) -> W) -> Parties<W> {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let service = service(&folder, &backend, "").await;
    let way = way(service.address()).await;
    let client = folder.gateway(&client_file(way.address(), "")).await;
    Parties {
        _folder: folder,
        backend,
        service,
        way,
        client,
    }
}

#[tokio::test]
async fn a_message_secured_by_the_bootstrap_is_refused_and_the_backend_not_reached() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let service = service(&folder, &backend, "").await;
    let bootstrap = tables("client", "server", "").replace("secure-conversation", "sign-encrypt");
    let message = folder.secured(&bootstrap, ENVELOPE);
    let answer = send(service.address(), post("/echo", message)).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(
        answer.body.contains(">wsse:InvalidSecurity<"),
        "{}",
        answer.body
    );
    assert!(backend.seen.try_recv().is_err());
    let refusal = "soapstone_refusals_total{route=\"/echo\",direction=\"inbound\",mechanism=\"secure-conversation\",reason=\"not-in-conversation\"}";
    assert_eq!(metric(&service, refusal).await, 1);
}

#[tokio::test]
async fn a_plain_message_gets_no_context_and_does_not_reach_the_backend() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let service = service(&folder, &backend, "").await;
    let answer = send(service.address(), post("/echo", ENVELOPE)).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(
        answer.body.contains(">wsse:InvalidSecurity<"),
        "{}",
        answer.body
    );
    assert!(backend.seen.try_recv().is_err());
    assert_eq!(metric(&service, HELD).await, 0);
}

#[tokio::test]
async fn a_service_that_is_not_there_costs_a_handshake_and_no_hanging() {
    let folder = Folder::with_keys();
    let nobody = Nobody::new();
    let client = folder.gateway(&client_file(nobody.address, "")).await;
    let answer = soon("an answer", call(&client)).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    assert_eq!(metric(&client, FAILED).await, 1);
    let failure = "soapstone_failures_total{route=\"/echo\",reason=\"backend-unreachable\"}";
    assert_eq!(metric(&client, failure).await, 1);
}

#[tokio::test]
async fn a_service_that_refuses_the_handshake_is_named_with_its_fault() {
    let folder = Folder::with_keys();
    let backend = Backend::answering(|_| {
        let fault = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body><s:Fault>\
                     <faultcode xmlns:t=\"http://docs.oasis-open.org/ws-sx/ws-trust/200512\">t:RequestFailed</faultcode>\
                     <faultstring>no</faultstring></s:Fault></s:Body></s:Envelope>";
        let mut response = Response::new(Full::new(Bytes::from_static(fault.as_bytes())));
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        response
            .headers_mut()
            .insert("content-type", "text/xml".parse().expect("a value"));
        response
    })
    .await;
    let client = folder.gateway(&client_file(backend.address, "")).await;
    let answer = call(&client).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    assert_eq!(
        reason(&answer.body),
        "The service behind this gateway gave no usable answer"
    );
    let failure = "soapstone_failures_total{route=\"/echo\",reason=\"handshake-refused\"}";
    assert_eq!(metric(&client, failure).await, 1);
}

/// A handshake costs both sides operations with private keys: neither many clients nor a peer that
/// refuses them all may ask for one each.
#[tokio::test]
async fn a_service_that_grants_nothing_is_asked_after_a_moment_and_not_with_every_request() {
    let parties = parties(Door::closed).await;
    let (door, client) = (&parties.way, &parties.client);
    let begun = Instant::now();
    for _ in 0..40 {
        let answer = soon("an answer", call(client)).await;
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    }
    // Pauses of 100, 200, 400 and 800 ms, and then of a second each.
    let most = 5 + begun.elapsed().as_secs();
    let failed = metric(client, FAILED).await;
    assert!((1..=most).contains(&failed), "{failed} of {most}");

    door.open.store(true, Ordering::SeqCst);
    soon("a conversation", async {
        while call(client).await.status != StatusCode::OK {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    called(client).await;
    assert_eq!(metric(client, ESTABLISHED).await, 1);
}

/// Nobody who speaks a version of SOAP that the service refuses keeps the others out.
#[tokio::test]
async fn a_pause_after_soap_12_is_none_for_clients_of_soap_11() {
    let parties = parties(|to| between(to, Lets::Soap11)).await;
    let client = &parties.client;
    let answer = send(client.address(), post_12("/echo", ENVELOPE_12)).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
    called(client).await;
    assert_eq!(metric(client, FAILED).await, 1);
}

#[tokio::test]
async fn a_service_that_never_knows_the_context_is_asked_twice_and_not_again() {
    // Lets handshakes through, and says of every other message that its context is unknown.
    let mut parties = parties(|to| between(to, Lets::Handshakes)).await;
    let client = &parties.client;
    let answer = soon("an answer", call(client)).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
    assert!(answer.body.contains("BadContextToken"), "{}", answer.body);
    assert_eq!(metric(client, RESENT).await, 1);
    assert_eq!(metric(client, ESTABLISHED).await, 2);
    assert!(parties.backend.seen.try_recv().is_err());
}

/// WS-SecureConversation 1.4, 5 and 6: who has the key of a context sign for it renews and cancels
/// it. Those who have a gateway speak for them do not, though they know the name of its context.
#[tokio::test]
async fn nobody_behind_a_gateway_renews_or_cancels_its_context() {
    let parties = parties(|to| between(to, Lets::Everything)).await;
    let (service, way, client) = (&parties.service, &parties.way, &parties.client);
    called(client).await;
    let passed = way.last.lock().expect("no panic").clone();
    let name = passed.split_once(":Identifier>").expect("it has a token").1;
    let name = name.split_once('<').expect("a name").0;
    let trust = "http://docs.oasis-open.org/ws-sx/ws-trust/200512";
    let conversation = "http://docs.oasis-open.org/ws-sx/ws-secureconversation/200512";
    for operation in ["Renew", "Cancel"] {
        let body = format!(
            "<t:RequestSecurityToken xmlns:t=\"{trust}\"><t:RequestType>{trust}/{operation}</t:RequestType><t:{operation}Target>\
             <c:SecurityContextToken xmlns:c=\"{conversation}\"><c:Identifier>{name}</c:Identifier></c:SecurityContextToken>\
             </t:{operation}Target></t:RequestSecurityToken>"
        );
        let echo = "<e:echo xmlns:e=\"urn:echo\">hello</e:echo>";
        // Some services listen to a second element of the Body (WS-I Basic Profile 1.1, R9981).
        for content in [body.clone(), format!("{echo}{body}")] {
            let plain = ENVELOPE.replace(echo, &content);
            let answer = send(client.address(), post("/echo", plain)).await;
            assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
            assert!(answer.body.contains(":Client<"), "{}", answer.body);
        }
    }
    for event in ["renewed", "cancelled", "refused"] {
        let line = format!("soapstone_contexts_total{{route=\"/echo\",event=\"{event}\"}}");
        assert_eq!(metric(service, &line).await, 0, "{event}");
    }
    assert_eq!(metric(service, HELD).await, 1);
}

/// WS-Trust 1.4, 12: what a context's key is made of must not travel in the clear, whatever the
/// backend grants.
#[tokio::test]
async fn a_conversation_that_begins_in_the_clear_needs_a_backend_behind_https() {
    let folder = Folder::with_keys();
    let address: std::net::SocketAddr = "127.0.0.1:9".parse().expect("an address");
    let file =
        client_file(address, "bootstrap = \"sign\"").replace("LISTEN", "listen = \"127.0.0.1:0\"");
    let read = |file: &str| Config::from_text(file, &folder.path("gateway.toml"), &|_| None);
    let problems = read(&file).expect_err("it is a mistake");
    assert_eq!(problems.0.len(), 1, "{problems}");
    assert_eq!(
        problems.0[0].message,
        "conversations begin with messages that hide no keys, and http://127.0.0.1:9/echo is not https"
    );
    assert!(read(&file.replace("http://", "https://")).is_ok());
}

#[tokio::test]
async fn a_conversation_that_begins_in_the_clear_needs_clients_that_come_through_tls() {
    let folder = Folder::with_keys();
    let file = "listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/echo\"\nbackend = \"http://127.0.0.1:9/\"\n[routes.inbound]\n\
                identity = { key = \"server.key.pem\", certificate = \"server.cert.pem\" }\ntrust = { anchors = [\"ca.cert.pem\"] }\n\
                security = { mechanism = \"secure-conversation\", conversations = { bootstrap = \"sign\" } }\n";
    let read = |file: &str| Config::from_text(file, &folder.path("gateway.toml"), &|_| None);
    let problems = read(file).expect_err("nobody could begin one").to_string();
    let expected = "gateway.toml:8:79: conversations begin with messages that hide no keys, and clients do not come through TLS\n    \
                    hint: give the gateway a certificate, [tls], or name a bootstrap that encrypts";
    assert!(problems.ends_with(expected), "{problems}");
    assert_eq!(problems.lines().count(), 2, "{problems}");
    let tls = "listen = \"127.0.0.1:0\"\ntls = { certificate = \"server.cert.pem\", key = \"server.key.pem\" }";
    assert!(read(&file.replace("listen = \"127.0.0.1:0\"", tls)).is_ok());
    assert!(read(&file.replace("\"sign\"", "\"sign-encrypt\"")).is_ok());
}
