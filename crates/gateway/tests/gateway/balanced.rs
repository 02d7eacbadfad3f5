//! Routes with several backends: who gets which request, and what becomes of requests that a
//! backend fails.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use soapstone_gateway::{Config, Running};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

use crate::conversations;
use crate::secured;
use crate::support::{
    Answer, Backend, ENVELOPE, Folder, Nobody, config, gateway, get, post, send, silent_backend,
    soon,
};

/// What a member answers with.
#[derive(Clone, Copy)]
enum Manner {
    /// Its own name.
    Names,
    /// The request itself.
    Echoes,
    /// Nothing: the connection is closed once the request has arrived.
    Hangs,
}

/// A backend that counts its requests and can be killed.
struct Member {
    address: SocketAddr,
    requests: Arc<AtomicU32>,
    bodies: Arc<Mutex<Vec<String>>>,
    /// The status of its answers.
    status: Arc<AtomicU16>,
    /// The status of its answers to health checks.
    health: Arc<AtomicU16>,
    serving: JoinSet<()>,
}

impl Member {
    async fn new(name: &'static str, manner: Manner) -> Self {
        Self::with_delay(name, manner, Duration::ZERO).await
    }

    async fn with_delay(name: &'static str, manner: Manner, delay: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        Self::on(listener, name, manner, delay)
    }

    fn on(listener: TcpListener, name: &'static str, manner: Manner, delay: Duration) -> Self {
        let address = listener.local_addr().expect("it is bound");
        let requests = Arc::new(AtomicU32::new(0));
        let bodies = Arc::<Mutex<Vec<String>>>::default();
        let (status, health) = (Arc::new(AtomicU16::new(200)), Arc::new(AtomicU16::new(200)));
        let mut serving = JoinSet::new();
        let known = (
            Arc::clone(&requests),
            Arc::clone(&bodies),
            Arc::clone(&status),
            Arc::clone(&health),
        );
        serving.spawn(async move {
            // Dropped with this task: a killed member closes all of them.
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let known = known.clone();
                let service = service_fn(move |request: Request<Incoming>| {
                    let (requests, bodies, status, health) = known.clone();
                    async move {
                        if request.uri().path() == "/healthz" {
                            return Ok(answer(health.load(Ordering::Relaxed), Bytes::new()));
                        }
                        requests.fetch_add(1, Ordering::Relaxed);
                        let body = request.into_body().collect().await;
                        let body = body.map_err(|error| error.to_string())?.to_bytes();
                        let text = String::from_utf8_lossy(&body).into_owned();
                        bodies.lock().expect("no panic").push(text);
                        tokio::time::sleep(delay).await;
                        match manner {
                            Manner::Hangs => Err("the end".to_owned()),
                            Manner::Echoes => Ok(answer(status.load(Ordering::Relaxed), body)),
                            Manner::Names => {
                                Ok(answer(status.load(Ordering::Relaxed), name.into()))
                            }
                        }
                    }
                });
                let serving = hyper::server::conn::http1::Builder::new()
                    .serve_connection(TokioIo::new(stream), service);
                connections.spawn(async move {
                    // A connection that hangs up ends with an error.
                    let _ = serving.await;
                });
            }
        });
        Self {
            address,
            requests,
            bodies,
            status,
            health,
            serving,
        }
    }

    fn requests(&self) -> u32 {
        self.requests.load(Ordering::Relaxed)
    }

    fn bodies(&self) -> Vec<String> {
        self.bodies.lock().expect("no panic").clone()
    }

    /// Ends it with all of its connections.
    async fn kill(&mut self) {
        self.serving.shutdown().await;
    }
}

fn answer(status: u16, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    let media_type = http::HeaderValue::from_static("text/xml; charset=utf-8");
    response.headers_mut().insert("content-type", media_type);
    response
}

/// The file of a gateway with a route from `/echo` to these backends, each with more keys of its
/// own; and with more lines of the route.
fn file(backends: &[(SocketAddr, &str)], more: &str) -> String {
    let mut text = "LISTEN\n[[routes]]\npath = \"/echo\"\n".to_owned();
    for (address, keys) in backends {
        let keys = keys.replace(", ", "\n");
        writeln!(
            text,
            "[[routes.backends]]\nurl = \"http://{address}/echo\"\n{keys}"
        )
        .expect("a string takes it");
    }
    text.push_str(more);
    text
}

async fn balanced(members: &[&Member], more: &str) -> Running {
    let backends: Vec<_> = members.iter().map(|member| (member.address, "")).collect();
    gateway(&file(&backends, more)).await
}

async fn call(gateway: &Running) -> Answer {
    send(gateway.address(), post("/echo", ENVELOPE)).await
}

/// Who answers so many calls, one after the other.
async fn callees(gateway: &Running, calls: usize) -> BTreeMap<String, u32> {
    let mut found = BTreeMap::new();
    for _ in 0..calls {
        let answer = call(gateway).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        *found.entry(answer.body).or_insert(0) += 1;
    }
    found
}

fn counts<const N: usize>(of: [(&str, u32); N]) -> BTreeMap<String, u32> {
    of.map(|(name, count)| (name.to_owned(), count)).into()
}

/// The value of a line of a gateway's metrics; 0 where there is no such line.
async fn metric(gateway: &Running, line: &str) -> u64 {
    conversations::metric(gateway, line).await
}

fn of_member(name: &str, member: &Member) -> String {
    format!(
        "soapstone_balanced_{name}{{route=\"/echo\",backend=\"{}\"}}",
        member.address
    )
}

async fn usable(gateway: &Running, member: &Member) -> bool {
    metric(gateway, &of_member("usable", member)).await == 1
}

/// Waits until a backend gets calls, or gets none.
async fn becomes(gateway: &Running, member: &Member, expected: bool) {
    soon("the other state", async {
        while usable(gateway, member).await != expected {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

const IDEMPOTENT: &str = "[routes.balance]\nidempotent = [\"{urn:echo}echo\", \"echo\"]\n";

#[tokio::test]
async fn backends_get_requests_in_turn_as_their_weights_say() {
    let (one, other) = (
        Member::new("one", Manner::Names).await,
        Member::new("other", Manner::Names).await,
    );
    let backends = [(one.address, "weight = 3"), (other.address, "")];
    let more = "[routes.balance]\nselection = \"round-robin\"\n";
    let gateway = gateway(&file(&backends, more)).await;
    let found = callees(&gateway, 8).await;
    assert_eq!(found, counts([("one", 6), ("other", 2)]));
    let line = "soapstone_choices_total{route=\"/echo\",reason=\"turn\"}";
    assert_eq!(metric(&gateway, line).await, 8);
}

#[tokio::test]
async fn every_selection_reaches_every_backend() {
    let (one, other) = (
        Member::new("one", Manner::Names).await,
        Member::new("other", Manner::Names).await,
    );
    for selection in ["random", "round-robin", "least-load"] {
        let more = format!("[routes.balance]\nselection = \"{selection}\"\n");
        let gateway = balanced(&[&one, &other], &more).await;
        let found = callees(&gateway, 40).await;
        assert_eq!(found.len(), 2, "{selection}: {found:?}");
    }
}

#[tokio::test]
async fn no_call_is_lost_when_a_backend_is_killed_and_traffic_to_it_ends() {
    let mut dying = Member::with_delay("dying", Manner::Names, Duration::from_millis(2)).await;
    let others = [
        Member::with_delay("a", Manner::Names, Duration::from_millis(2)).await,
        Member::with_delay("b", Manner::Names, Duration::from_millis(2)).await,
    ];
    let more = format!("{IDEMPOTENT}ejection = {{ time = \"1h\", longest = \"1h\" }}\n");
    let gateway = balanced(&[&dying, &others[0], &others[1]], &more).await;
    let address = gateway.address();
    let mut clients = JoinSet::new();
    for _ in 0..8 {
        clients.spawn(async move {
            let mut answers = Vec::new();
            for _ in 0..50 {
                let answer = send(address, post("/echo", ENVELOPE)).await;
                answers.push((answer.status, answer.body));
            }
            answers
        });
    }
    soon("its share of the calls", async {
        while dying.requests() < 30 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    dying.kill().await;
    let answers: Vec<_> = clients.join_all().await.into_iter().flatten().collect();
    let lost = answers
        .iter()
        .filter(|(status, _)| *status != StatusCode::OK);
    assert_eq!(
        lost.collect::<Vec<_>>(),
        Vec::<&(StatusCode, String)>::new()
    );
    assert_eq!(answers.len(), 400);
    assert!(!usable(&gateway, &dying).await);
    // Nothing tries it any more.
    let failed = metric(&gateway, &of_member("failed_total", &dying)).await;
    assert!(failed >= 2, "{failed}");
    callees(&gateway, 50).await;
    assert_eq!(
        metric(&gateway, &of_member("failed_total", &dying)).await,
        failed
    );
}

#[tokio::test]
async fn a_backend_that_comes_back_gets_calls_again() {
    let mut dying = Member::new("dying", Manner::Names).await;
    let other = Member::new("other", Manner::Names).await;
    let more = "[routes.balance]\nselection = \"round-robin\"\nejection = { time = \"10ms\", longest = \"10ms\" }\n";
    let gateway = balanced(&[&dying, &other], more).await;
    dying.kill().await;
    let found = callees(&gateway, 10).await;
    assert_eq!(found, counts([("other", 10)]));
    let ejections = of_member("ejections_total", &dying);
    assert!(metric(&gateway, &ejections).await > 0);
    let listener = soon("its port", async {
        loop {
            match TcpListener::bind(dying.address).await {
                Ok(listener) => break listener,
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    })
    .await;
    let back = Member::on(listener, "back", Manner::Names, Duration::ZERO);
    soon("its first call", async {
        while back.requests() == 0 {
            callees(&gateway, 1).await;
        }
    })
    .await;
    assert_eq!(
        callees(&gateway, 10).await,
        counts([("back", 5), ("other", 5)])
    );
    let line = "soapstone_choices_total{route=\"/echo\",reason=\"trial\"}";
    assert!(metric(&gateway, line).await > 0);
}

#[tokio::test]
async fn a_slow_backend_gets_less_under_load() {
    let slow = Member::with_delay("slow", Manner::Names, Duration::from_millis(100)).await;
    let fast = Member::with_delay("fast", Manner::Names, Duration::from_millis(2)).await;
    let gateway = balanced(&[&slow, &fast], "").await;
    let address = gateway.address();
    let mut clients = JoinSet::new();
    for _ in 0..6 {
        clients.spawn(async move {
            for _ in 0..30 {
                send(address, post("/echo", ENVELOPE)).await;
            }
        });
    }
    clients.join_all().await;
    let (slow, fast) = (slow.requests(), fast.requests());
    assert_eq!(slow + fast, 180);
    assert!(slow * 2 < fast, "{slow} and {fast}");
}

/// A request may have been obeyed when its connection breaks.
#[tokio::test]
async fn a_request_that_left_goes_to_another_backend_only_if_its_operation_may_be_done_twice() {
    for (more, method, status, reached) in [
        ("", "POST", StatusCode::BAD_GATEWAY, 0),
        (
            "[routes.balance]\nidempotent = [\"other\"]\n",
            "POST",
            StatusCode::BAD_GATEWAY,
            0,
        ),
        (
            "[routes.balance]\nidempotent = [\"{urn:other}echo\"]\n",
            "POST",
            StatusCode::BAD_GATEWAY,
            0,
        ),
        (IDEMPOTENT, "POST", StatusCode::OK, 1),
        (
            "[routes.balance]\nidempotent = [\"echo\"]\nretries = 0\n",
            "POST",
            StatusCode::BAD_GATEWAY,
            0,
        ),
        // An empty request by a safe method (RFC 9110 section 9.2.2).
        ("", "GET", StatusCode::OK, 1),
    ] {
        let hanging = Member::new("hanging", Manner::Hangs).await;
        let other = Member::new("other", Manner::Names).await;
        let backends = [(hanging.address, ""), (other.address, "backup = true")];
        let gateway = gateway(&file(&backends, more)).await;
        let request = match method {
            "GET" => get("/echo"),
            _ => post("/echo", ENVELOPE),
        };
        // The first is alone in its rank, and has failed too seldom to be ejected.
        let answer = send(gateway.address(), request).await;
        let found = (answer.status, hanging.requests(), other.requests());
        assert_eq!(found, (status, 1, reached), "{method} {more}");
    }
}

/// Nothing of a request has left where there was no connection: any operation may go on.
#[tokio::test]
async fn a_streamed_request_goes_to_another_backend_where_there_is_no_connection() {
    let nobody = Nobody::new();
    let other = Member::new("other", Manner::Echoes).await;
    let backends = [(nobody.address, ""), (other.address, "")];
    let more = "[routes.balance]\nselection = \"round-robin\"\nejection = false\n";
    let gateway = gateway(&file(&backends, more)).await;
    for _ in 0..6 {
        let answer = call(&gateway).await;
        assert_eq!(
            (answer.status, answer.body.as_str()),
            (StatusCode::OK, ENVELOPE)
        );
    }
    assert_eq!(other.requests(), 6);
    let line = "soapstone_retries_total{route=\"/echo\",failed=\"unreachable\"}";
    assert_eq!(metric(&gateway, line).await, 3);
}

#[tokio::test]
async fn a_fault_of_the_service_is_an_answer_and_ejects_nobody() {
    let one = Member::new("one", Manner::Names).await;
    let other = Member::new("other", Manner::Names).await;
    one.status.store(500, Ordering::Relaxed);
    other.status.store(500, Ordering::Relaxed);
    let more = format!("{IDEMPOTENT}ejection = {{ failures = 1, calls = 1 }}\n");
    let gateway = balanced(&[&one, &other], &more).await;
    for _ in 0..10 {
        let answer = call(&gateway).await;
        assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR);
    }
    assert_eq!(one.requests() + other.requests(), 10);
    assert!(usable(&gateway, &one).await && usable(&gateway, &other).await);
}

#[tokio::test]
async fn a_backend_that_cannot_serve_is_ejected_and_its_calls_go_on_if_they_may() {
    let busy = Member::new("busy", Manner::Names).await;
    let other = Member::new("other", Manner::Names).await;
    busy.status.store(503, Ordering::Relaxed);
    let more =
        format!("{IDEMPOTENT}ejection = {{ failures = 3, time = \"1h\", longest = \"1h\" }}\n");
    let gateway = balanced(&[&busy, &other], &more).await;
    let found = callees(&gateway, 30).await;
    assert_eq!(found, counts([("other", 30)]));
    assert_eq!(busy.requests(), 3);
    let line = "soapstone_retries_total{route=\"/echo\",failed=\"unavailable\"}";
    assert_eq!(metric(&gateway, line).await, 3);
}

/// The work of one client, perhaps: requests that no backend survives.
#[tokio::test]
async fn failing_requests_leave_half_of_the_backends_in_use() {
    let members = [
        Member::new("a", Manner::Hangs).await,
        Member::new("b", Manner::Hangs).await,
        Member::new("c", Manner::Hangs).await,
        Member::new("d", Manner::Hangs).await,
    ];
    let gateway = balanced(&members.each_ref(), "").await;
    for _ in 0..80 {
        call(&gateway).await;
    }
    let mut left = 0;
    for member in &members {
        left += u32::from(usable(&gateway, member).await);
    }
    assert_eq!(left, 2);
}

#[tokio::test]
async fn health_checks_take_a_backend_out_and_bring_it_back() {
    let one = Member::new("one", Manner::Names).await;
    let other = Member::new("other", Manner::Names).await;
    let check =
        "[routes.balance.check]\npath = \"/healthz\"\ninterval = \"5ms\"\nfall = 2\nrise = 2\n";
    let more = format!("[routes.balance]\nselection = \"round-robin\"\n{check}");
    let gateway = balanced(&[&one, &other], &more).await;
    one.health.store(503, Ordering::Relaxed);
    becomes(&gateway, &one, false).await;
    assert_eq!(callees(&gateway, 6).await, counts([("other", 6)]));
    other.health.store(500, Ordering::Relaxed);
    becomes(&gateway, &other, false).await;
    let answer = call(&gateway).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    let down = "soapstone_failures_total{route=\"/echo\",reason=\"backends-down\"}";
    assert_eq!(metric(&gateway, down).await, 1);
    one.health.store(204, Ordering::Relaxed);
    becomes(&gateway, &one, true).await;
    assert_eq!(callees(&gateway, 3).await, counts([("one", 3)]));
}

#[tokio::test]
async fn a_check_without_a_path_tries_a_connection() {
    let mut one = Member::new("one", Manner::Names).await;
    let other = Member::new("other", Manner::Names).await;
    let more = "[routes.balance.check]\ninterval = \"5ms\"\n";
    let gateway = balanced(&[&one, &other], more).await;
    one.kill().await;
    becomes(&gateway, &one, false).await;
    assert_eq!(callees(&gateway, 5).await, counts([("other", 5)]));
    assert_eq!(metric(&gateway, &of_member("failed_total", &one)).await, 0);
}

#[tokio::test]
async fn a_backend_has_no_more_in_hand_than_its_limit() {
    let (one, mut at_one) = silent_backend().await;
    let (other, mut at_other) = silent_backend().await;
    let backends = [(one, "limit = 1"), (other, "limit = 1")];
    let gateway = Arc::new(gateway(&file(&backends, "")).await);
    let held: Vec<_> = (0..2)
        .map(|_| {
            let gateway = Arc::clone(&gateway);
            tokio::spawn(async move { call(&gateway).await })
        })
        .collect();
    let _open = soon("both requests", async {
        let (one, other) = (at_one.recv().await, at_other.recv().await);
        one.zip(other).expect("the gateway connects")
    })
    .await;
    let answer = call(&gateway).await;
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(answer.headers["retry-after"], "1");
    let busy = "soapstone_failures_total{route=\"/echo\",reason=\"backends-busy\"}";
    assert_eq!(metric(&gateway, busy).await, 1);
    held.iter().for_each(tokio::task::JoinHandle::abort);
}

#[tokio::test]
async fn calls_of_one_address_stay_together() {
    let members = [
        Member::new("a", Manner::Names).await,
        Member::new("b", Manner::Names).await,
        Member::new("c", Manner::Names).await,
    ];
    let gateway = balanced(
        &members.each_ref(),
        "[routes.balance]\nsticky = \"client\"\n",
    )
    .await;
    assert_eq!(callees(&gateway, 20).await.len(), 1);
    let line = "soapstone_choices_total{route=\"/echo\",reason=\"sticky\"}";
    assert_eq!(metric(&gateway, line).await, 20);
}

#[tokio::test]
async fn calls_of_one_conversation_stay_together() {
    let folder = Folder::with_keys();
    let members = [
        Member::new("a", Manner::Echoes).await,
        Member::new("b", Manner::Echoes).await,
        Member::new("c", Manner::Echoes).await,
    ];
    let backends: Vec<_> = members.iter().map(|member| (member.address, "")).collect();
    let inbound = conversations::tables("server", "client", "");
    let more = format!("[routes.balance]\nsticky = \"conversation\"\n[routes.inbound]\n{inbound}");
    let service = folder.gateway(&file(&backends, &more)).await;
    let outbound = conversations::tables("client", "server", "");
    let text = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.outbound]\n{outbound}",
        service.address()
    );
    let mut homes = Vec::new();
    for _ in 0..6 {
        let client = folder.gateway(&text).await;
        let before: Vec<u32> = members.iter().map(Member::requests).collect();
        for _ in 0..5 {
            let answer = call(&client).await;
            assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        }
        let served: Vec<u32> = (members.iter().zip(before))
            .map(|(member, before)| member.requests() - before)
            .collect();
        assert!(served.contains(&5), "{served:?}");
        homes.push(served);
    }
}

/// Each backend has a conversation of its own with the gateway.
#[tokio::test]
async fn a_conversation_with_a_backend_that_is_gone_is_replaced_by_another() {
    let folder = Folder::with_keys();
    let echo = [Backend::echo().await, Backend::echo().await];
    let one = conversations::service(&folder, &echo[0], "").await;
    let other = conversations::service(&folder, &echo[1], "").await;
    let outbound = conversations::tables("client", "server", "");
    let backends = [(one.address(), ""), (other.address(), "")];
    let more = format!(
        "[routes.balance]\nselection = \"round-robin\"\nidempotent = [\"echo\"]\n[routes.outbound]\n{outbound}"
    );
    let client = folder.gateway(&file(&backends, &more)).await;
    for _ in 0..4 {
        let answer = call(&client).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }
    let established = "soapstone_handshakes_total{route=\"/echo\",outcome=\"established\"}";
    assert_eq!(metric(&client, established).await, 2);
    drop(one);
    for _ in 0..10 {
        let answer = call(&client).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        assert!(answer.body.contains(">hello<"), "{}", answer.body);
    }
}

/// Backends that share what they remember would take the same message for a replay.
#[tokio::test]
async fn a_request_that_goes_to_another_backend_is_secured_anew() {
    let folder = Folder::with_keys();
    let members = [
        Member::new("a", Manner::Hangs).await,
        Member::new("b", Manner::Hangs).await,
    ];
    let backends: Vec<_> = members.iter().map(|member| (member.address, "")).collect();
    let outbound = secured::client("sign");
    let more = format!("{IDEMPOTENT}[routes.outbound]\n{outbound}");
    let gateway = folder.gateway(&file(&backends, &more)).await;
    let answer = call(&gateway).await;
    assert_eq!(answer.status, StatusCode::BAD_GATEWAY);
    let (first, second) = (members[0].bodies(), members[1].bodies());
    assert_eq!((first.len(), second.len()), (1, 1));
    let value = |body: &str| {
        let (_, after) = body.split_once("SignatureValue>").expect("it is signed");
        after.split_once('<').expect("it ends").0.to_owned()
    };
    assert_ne!(value(&first[0]), value(&second[0]));
}

#[tokio::test]
async fn a_secured_request_whose_backend_is_gone_goes_to_another_one() {
    let folder = Folder::with_keys();
    let echo = Backend::echo().await;
    let inbound = secured::service("sign-encrypt");
    let text = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n{inbound}",
        echo.address
    );
    let service = folder.gateway(&text).await;
    let nobody = Nobody::new();
    let backends = [(nobody.address, ""), (service.address(), "")];
    let outbound = secured::client("sign-encrypt");
    let more =
        format!("[routes.balance]\nselection = \"round-robin\"\n[routes.outbound]\n{outbound}");
    let gateway = folder.gateway(&file(&backends, &more)).await;
    for _ in 0..6 {
        let answer = call(&gateway).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        assert!(answer.body.contains(">hello<"), "{}", answer.body);
    }
}

#[tokio::test]
async fn a_backend_whose_answers_are_not_proven_is_ejected() {
    let folder = Folder::with_keys();
    let lying = Member::new("lying", Manner::Echoes).await;
    let echo = Backend::echo().await;
    let inbound = secured::service("sign");
    let text = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n{inbound}",
        echo.address
    );
    let honest = folder.gateway(&text).await;
    let backends = [(lying.address, ""), (honest.address(), "")];
    let outbound = secured::client("sign");
    let more = format!(
        "{IDEMPOTENT}selection = \"round-robin\"\nejection = {{ failures = 2, time = \"1h\", longest = \"1h\" }}\n[routes.outbound]\n{outbound}"
    );
    let gateway = folder.gateway(&file(&backends, &more)).await;
    let mut refused = 0;
    for _ in 0..12 {
        let answer = call(&gateway).await;
        refused += u32::from(answer.status != StatusCode::OK);
    }
    // What is refused is never tried elsewhere: the first backend may have obeyed it.
    assert_eq!((refused, lying.requests()), (2, 2));
    assert!(!usable(&gateway, &lying).await);
}

#[tokio::test]
async fn a_reload_keeps_what_is_known_of_backends_that_stay() {
    let stays = Member::new("stays", Manner::Hangs).await;
    let goes = Member::new("goes", Manner::Names).await;
    let more = "[routes.balance]\nselection = \"round-robin\"\nslow_start = \"1h\"\nejection = { failures = 2, time = \"1h\", longest = \"1h\" }\n";
    let gateway = balanced(&[&stays, &goes], more).await;
    for _ in 0..4 {
        call(&gateway).await;
    }
    assert!(!usable(&gateway, &stays).await);
    let comes = Member::new("comes", Manner::Names).await;
    let backends = [(comes.address, ""), (stays.address, "")];
    gateway.reload(config(&file(&backends, more)));
    assert!(!usable(&gateway, &stays).await);
    assert_eq!(callees(&gateway, 5).await, counts([("comes", 5)]));
    let starting = format!(
        "soapstone_balanced_state{{route=\"/echo\",backend=\"{}\",state=\"starting\"}}",
        comes.address
    );
    assert_eq!(metric(&gateway, &starting).await, 1);
    assert_eq!(stays.requests(), 2);
}

#[tokio::test]
async fn operators_see_each_backend_and_clients_see_none() {
    let one = Member::new("one", Manner::Names).await;
    let nobody = Nobody::new();
    let backends = [
        (one.address, "name = \"first\", weight = 3"),
        (nobody.address, ""),
    ];
    let text = file(&backends, "[routes.balance]\nselection = \"round-robin\"\n");
    let gateway = gateway(&text.replace("LISTEN", "LISTEN\nadmin = \"127.0.0.1:0\"")).await;
    assert_eq!(callees(&gateway, 8).await, counts([("one", 8)]));
    let admin = gateway.admin_address().expect("it is configured");
    let page = send(admin, get("/backends")).await;
    assert_eq!(page.headers["content-type"], "application/json");
    let page: serde_json::Value = serde_json::from_str(&page.body).expect("it is JSON");
    let backends = &page["routes"][0]["backends"];
    assert_eq!(page["routes"][0]["selection"], "round-robin");
    assert_eq!(backends[0]["name"], "first");
    assert_eq!(backends[0]["answered"], 8);
    assert_eq!(backends[0]["weight"], 3);
    assert_eq!(backends[0]["state"], "up");
    assert_eq!(backends[1]["name"], nobody.address.to_string());
    assert_eq!(backends[1]["state"], "ejected");
    let ready = send(admin, get("/readyz")).await;
    assert_eq!(ready.status, StatusCode::OK);
    assert!(
        ready.body.contains("/echo first: reachable\n"),
        "{}",
        ready.body
    );

    // Without a listener of its own, the page is not there, and metrics name no backend.
    let backends = [(one.address, ""), (nobody.address, "")];
    let gateway = crate::support::gateway(&file(&backends, "")).await;
    let page = send(gateway.address(), get("/backends")).await;
    assert_eq!(page.status, StatusCode::NOT_FOUND);
    let metrics = send(gateway.address(), get("/metrics")).await.body;
    assert!(!metrics.contains(&one.address.to_string()), "{metrics}");
}

#[tokio::test]
async fn a_description_names_no_backend_whichever_it_is_of() {
    let describing = || {
        |seen: &crate::support::Seen| {
            let host = seen.headers["host"].to_str().expect("a text").to_owned();
            let path = seen.uri.path();
            let text = format!(
                "<definitions xmlns=\"http://schemas.xmlsoap.org/wsdl/\" xmlns:s=\"http://schemas.xmlsoap.org/wsdl/soap/\">\
                 <import namespace=\"urn:i\" location=\"http://{host}{path}?wsdl=i\"/>\
                 <service name=\"S\"><port name=\"P\"><s:address location=\"http://{host}{path}\"/></port></service></definitions>"
            );
            answer(200, text.into())
        }
    };
    let one = Backend::answering(describing()).await;
    let other = Backend::answering(describing()).await;
    let nobody = Nobody::new();
    let text = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackends = [{{ url = \"http://{}/first\" }}, {{ url = \"http://{}/second\" }}, {{ url = \"http://{}/third\" }}]\n\
         balance = {{ selection = \"round-robin\", ejection = false }}\n",
        one.address, other.address, nobody.address
    );
    let gateway = gateway(&text).await;
    for _ in 0..6 {
        let answer = send(gateway.address(), get("/echo?wsdl")).await;
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        let gateways = "location=\"http://gateway.example:8443/echo";
        assert!(
            answer.body.contains(&format!("{gateways}\"")),
            "{}",
            answer.body
        );
        assert!(
            answer.body.contains(&format!("{gateways}?wsdl=i\"")),
            "{}",
            answer.body
        );
        assert!(!answer.body.contains("127.0.0.1"), "{}", answer.body);
    }
}

#[test]
fn mistakes_in_backends_are_told_where_they_are() {
    const BACKENDS: &str = "backends = [{ url = \"http://127.0.0.1:1\" }]\n";
    for (text, expected) in [
        (
            format!("backend = \"http://127.0.0.1:9\"\n{BACKENDS}"),
            "g.toml:4:11: `backend` and `backends` say the same: keep one",
        ),
        (
            "backends = []\n".to_owned(),
            "g.toml:4:12: `backends` names no backend\n    hint: for example backends = [{ url = \"http://127.0.0.1:9000/books\" }]",
        ),
        (
            "backends = [{ url = \"http://127.0.0.1:1/a\" }, { url = \"http://127.0.0.1:1/b\" }]\n"
                .to_owned(),
            "g.toml:4:47: two backends have the same name; the first is on line 4\n    hint: without `name` it is host and port of the URL: give one of them a `name`",
        ),
        (
            "backends = [{ url = \"127.0.0.1:1\" }]\n".to_owned(),
            "g.toml:4:21: `url` must be an http or https URL without a query and without a user, found a text without http:// or https://\n    hint: for example url = \"http://127.0.0.1:9000/books\"",
        ),
        (
            "backends = [{ url = \"http://127.0.0.1:1\", tls = { ca = [] } }]\n".to_owned(),
            "g.toml:4:49: `tls` is for a backend behind https, and this one is behind http",
        ),
        (
            format!("{BACKENDS}tls = {{ ca = [] }}\n"),
            "g.toml:5:7: with `backends`, each of them has its own `tls`",
        ),
        (
            "backend = \"http://127.0.0.1:9\"\nbalance = { retries = 1 }\n".to_owned(),
            "g.toml:5:11: `balance` is for a route with `backends`, and this one has one `backend`",
        ),
        (
            format!("{BACKENDS}balance = {{ sticky = \"partner\" }}\n"),
            "g.toml:5:22: `sticky` is \"partner\", and without `inbound` nobody proves to be one\n    hint: sticky = \"client\" keeps calls of an address together",
        ),
        (
            format!("{BACKENDS}balance = {{ sticky = \"conversation\" }}\n"),
            "g.toml:5:22: `sticky` is \"conversation\", and clients begin none with this route\n    hint: sticky = \"partner\" keeps calls of a certificate or user together",
        ),
        (
            format!("{BACKENDS}balance = {{ ejection = {{ time = \"9s\", longest = \"8s\" }} }}\n"),
            "g.toml:5:49: `longest` must be no shorter than `time`",
        ),
        (
            format!("{BACKENDS}balance = {{ idempotent = [\"b:getBooks\"] }}\n"),
            "g.toml:5:27: `idempotent` holds names of elements in the Body, found another text\n    hint: for example \"getBooks\" or \"{urn:example:books}getBooks\"",
        ),
        (
            format!(
                "{BACKENDS}balance = {{ check = {{ path = \"healthz\", interval = \"0s\" }} }}\n"
            ),
            "g.toml:5:30: `path` must be a path with its query, and begin with /\n    hint: for example path = \"/healthz\"\ng.toml:5:52: `interval` must be longer than nothing, found 0",
        ),
    ] {
        let text = format!("listen = \"127.0.0.1:0\"\n[[routes]]\npath = \"/b\"\n{text}");
        let told = Config::from_text(&text, "g.toml".as_ref(), &|_| None);
        assert_eq!(told.expect_err("a mistake").to_string(), expected);
    }
}

#[test]
fn a_route_without_protection_is_told_if_one_of_its_backends_is_protected_elsewhere() {
    let folder = Folder::new();
    let text = format!(
        "LISTEN\n[[routes]]\npath = \"/open\"\nbackends = [{{ url = \"http://a/open\" }}, {{ url = \"http://b/books\" }}]\n\
         [[routes]]\npath = \"/books\"\nbackends = [{{ url = \"http://c/books\" }}, {{ url = \"http://b/books\" }}]\n[routes.inbound]\n{}",
        secured::service("username")
    );
    let warnings = folder.config(&text).warnings();
    let names: Vec<&str> = warnings.iter().map(|warning| warning.name).collect();
    assert!(names.contains(&"leads-around"), "{names:?}");
}
