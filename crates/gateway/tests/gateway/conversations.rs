//! Two gateways in conversation: how it begins, goes on, is lost and found again; and what is
//! refused.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::Full;
use soapstone_gateway::{Config, Running};
use tokio::task::JoinSet;

use crate::support::{
    Answer, Backend, ENVELOPE, ENVELOPE_12, Folder, Nobody, post, reason, send, soon,
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
        let mut request = post("/echo", envelope);
        request
            .headers_mut()
            .insert("content-type", media_type.parse().expect("a value"));
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
    let mut request = post("/echo", ENVELOPE_12);
    let media_type = "application/soap+xml; charset=utf-8";
    request
        .headers_mut()
        .insert("content-type", media_type.parse().expect("a value"));
    let answer = send(client.address(), request).await;
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
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let service = service(&folder, &backend, "").await;
    let door = Door::closed(service.address()).await;
    let client = folder.gateway(&client_file(door.address, "")).await;
    let begun = Instant::now();
    for _ in 0..40 {
        let answer = soon("an answer", call(&client)).await;
        assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    }
    // Pauses of 100, 200, 400 and 800 ms, and then of a second each.
    let most = 5 + begun.elapsed().as_secs();
    let failed = metric(&client, FAILED).await;
    assert!((1..=most).contains(&failed), "{failed} of {most}");

    door.open.store(true, Ordering::SeqCst);
    soon("a conversation", async {
        while call(&client).await.status != StatusCode::OK {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    called(&client).await;
    assert_eq!(metric(&client, ESTABLISHED).await, 1);
}

/// Nobody who speaks a version of SOAP that the service refuses keeps the others out.
#[tokio::test]
async fn a_pause_after_soap_12_is_none_for_clients_of_soap_11() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let service = service(&folder, &backend, "").await;
    let way = between(service.address(), Lets::Soap11).await;
    let client = folder.gateway(&client_file(way.address, "")).await;
    let mut request = post("/echo", ENVELOPE_12);
    let media_type = "application/soap+xml; charset=utf-8";
    request
        .headers_mut()
        .insert("content-type", media_type.parse().expect("a value"));
    let answer = send(client.address(), request).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
    called(&client).await;
    assert_eq!(metric(&client, FAILED).await, 1);
}

#[tokio::test]
async fn a_service_that_never_knows_the_context_is_asked_twice_and_not_again() {
    let folder = Folder::with_keys();
    let mut backend = Backend::echo().await;
    let service = service(&folder, &backend, "").await;
    let to = service.address();
    // Lets handshakes through, and says of every other message that its context is unknown.
    let forgetful = between(to, Lets::Handshakes).await;
    let client = folder.gateway(&client_file(forgetful.address, "")).await;
    let answer = soon("an answer", call(&client)).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY, "{}", answer.body);
    assert!(answer.body.contains("BadContextToken"), "{}", answer.body);
    assert_eq!(metric(&client, RESENT).await, 1);
    assert_eq!(metric(&client, ESTABLISHED).await, 2);
    assert!(backend.seen.try_recv().is_err());
}

/// WS-SecureConversation 1.4, 5 and 6: who has the key of a context sign for it renews and cancels
/// it. Those who have a gateway speak for them do not, though they know the name of its context.
#[tokio::test]
async fn nobody_behind_a_gateway_renews_or_cancels_its_context() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let service = service(&folder, &backend, "").await;
    let way = between(service.address(), Lets::Everything).await;
    let client = folder.gateway(&client_file(way.address, "")).await;
    called(&client).await;
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
        assert_eq!(metric(&service, &line).await, 0, "{event}");
    }
    assert_eq!(metric(&service, HELD).await, 1);
}

/// The way to a service, which lets nobody through until it is open.
struct Door {
    address: std::net::SocketAddr,
    open: Arc<AtomicBool>,
}

impl Door {
    async fn closed(to: std::net::SocketAddr) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let open = Arc::new(AtomicBool::new(false));
        let is_open = Arc::clone(&open);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                if is_open.load(Ordering::SeqCst) {
                    tokio::spawn(async move {
                        let mut onward = tokio::net::TcpStream::connect(to).await?;
                        tokio::io::copy_bidirectional(&mut stream, &mut onward).await
                    });
                }
            }
        });
        Self { address, open }
    }
}

/// Somebody before a service.
struct Between {
    address: std::net::SocketAddr,
    /// The last message of a conversation.
    last: Arc<Mutex<String>>,
}

/// What somebody before a service lets through; of all else he says that its context is unknown.
#[derive(Clone, Copy, PartialEq)]
enum Lets {
    Handshakes,
    Soap11,
    Everything,
}

async fn between(to: std::net::SocketAddr, lets: Lets) -> Between {
    use http_body_util::BodyExt;
    use hyper_util::rt::TokioIo;
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let last = Arc::new(Mutex::new(String::new()));
    let kept = Arc::clone(&last);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let kept = Arc::clone(&kept);
            let service = hyper::service::service_fn(
                move |request: http::Request<hyper::body::Incoming>| {
                    let kept = Arc::clone(&kept);
                    async move {
                        let (head, body) = request.into_parts();
                        let body = body.collect().await?.to_bytes();
                        let asks = head.headers.get("soapaction").is_some_and(|action| {
                            action.to_str().unwrap_or_default().contains("/RST/SCT")
                        });
                        if !asks {
                            *kept.lock().expect("no panic") =
                                String::from_utf8_lossy(&body).into_owned();
                        }
                        let passes = match lets {
                            Lets::Handshakes => asks,
                            Lets::Soap11 => head.headers["content-type"]
                                .to_str()
                                .is_ok_and(|media| media.starts_with("text/xml")),
                            Lets::Everything => true,
                        };
                        if passes {
                            let answer =
                                send(to, http::Request::from_parts(head, Full::new(body))).await;
                            let mut response = Response::new(Full::new(Bytes::from(answer.body)));
                            *response.status_mut() = answer.status;
                            response
                                .headers_mut()
                                .insert("content-type", answer.headers["content-type"].clone());
                            return Ok::<_, hyper::Error>(response);
                        }
                        let fault = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body><s:Fault>\
                         <faultcode xmlns:c=\"http://docs.oasis-open.org/ws-sx/ws-secureconversation/200512\">c:BadContextToken</faultcode>\
                         <faultstring>unknown</faultstring></s:Fault></s:Body></s:Envelope>";
                        let mut response = Response::new(Full::new(Bytes::from(fault)));
                        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
                        response
                            .headers_mut()
                            .insert("content-type", "text/xml".parse().expect("a value"));
                        Ok(response)
                    }
                },
            );
            tokio::spawn(
                hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service),
            );
        }
    });
    Between { address, last }
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
