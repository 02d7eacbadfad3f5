//! Whether the load of conversations sees what it is there to see: a node that keeps everything,
//! and nodes that do not.

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::client::legacy::Client;
use hyper_util::rt::{TokioExecutor, TokioIo};
use jiff::Timestamp;
use soapstone::attempts::{self, Attempts, KeyName, Tally};
use soapstone::config::EndpointConfig;
use soapstone::conversation::{ContextStore, StoreUnavailable};
use soapstone::endpoint::{Endpoint, Fixed};
use soapstone::replay::{ForgetfulReplayCache, ReplayCache, ReplayError};
use soapstone::wss::{ContextName, FirstSeen, ReplayKey, SecurityContext};
use soapstone::{Arrived, Memory, ReceiveError, Service};
use soapstone_lab::conversations::{self, ConversationsError, Options, Outcome, Phase};
use soapstone_store::{MemoryContexts, MemoryReplay};
use soapstone_testkit::Folder;
use soapstone_testkit::keys::RSA;

/// What a node can be made to do wrong.
#[derive(Debug, Default)]
struct Faults {
    /// Accepts whatever it has seen before.
    forgets_messages: AtomicBool,
    /// Knows no context.
    forgets_contexts: AtomicBool,
    /// Answers nothing.
    down: AtomicBool,
}

/// A node before the service at `backend`.
struct Node {
    endpoint: Service,
    replay: MemoryReplay,
    contexts: MemoryContexts,
    faults: Arc<Faults>,
    backend: SocketAddr,
}

impl std::fmt::Debug for Node {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Node")
    }
}

impl ReplayCache for Node {
    fn first_seen(&self, marks: &[ReplayKey], now: Timestamp) -> Result<FirstSeen, ReplayError> {
        if self.faults.forgets_messages.load(Ordering::Relaxed) {
            return Ok(FirstSeen::assertion(marks));
        }
        self.replay.first_seen(marks, now)
    }
}

impl Attempts for Node {
    fn begin(
        &self,
        marks: &[ReplayKey],
        names: &[KeyName],
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(FirstSeen, Vec<Tally>), ReplayError> {
        if self.faults.forgets_messages.load(Ordering::Relaxed) {
            return ForgetfulReplayCache.begin(marks, names, until, now);
        }
        self.replay.begin(marks, names, until, now)
    }

    fn end(
        &self,
        names: &[KeyName],
        outcome: attempts::Outcome,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<Tally>, ReplayError> {
        self.replay.end(names, outcome, until, now)
    }
}

impl ContextStore for Node {
    fn find(
        &self,
        scope: &str,
        name: &ContextName,
        now: Timestamp,
    ) -> Result<Option<SecurityContext>, StoreUnavailable> {
        if self.faults.forgets_contexts.load(Ordering::Relaxed) {
            return Ok(None);
        }
        self.contexts.find(scope, name, now)
    }

    fn insert(&self, scope: &str, context: &SecurityContext) -> Result<(), StoreUnavailable> {
        self.contexts.insert(scope, context)
    }

    fn renew(
        &self,
        scope: &str,
        context: &SecurityContext,
        grace: Duration,
        now: Timestamp,
    ) -> Result<bool, StoreUnavailable> {
        self.contexts.renew(scope, context, grace, now)
    }

    fn amend(
        &self,
        scope: &str,
        before: &SecurityContext,
        after: &SecurityContext,
    ) -> Result<bool, StoreUnavailable> {
        self.contexts.amend(scope, before, after)
    }

    fn cancel(&self, scope: &str, identifier: &str) -> Result<bool, StoreUnavailable> {
        self.contexts.cancel(scope, identifier)
    }
}

impl Node {
    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let body = request.into_body().collect().await;
        if self.faults.down.load(Ordering::Relaxed) {
            return response(StatusCode::SERVICE_UNAVAILABLE, Vec::new());
        }
        let body = body.expect("a whole request").to_bytes();
        let memory = Memory {
            replay: self,
            contexts: self,
        };
        let opened = match self.endpoint.receive(Vec::from(body), memory) {
            Ok(Arrived::Message(opened)) => opened,
            Ok(Arrived::Answered(answer)) => return response(StatusCode::OK, answer.bytes),
            Err(ReceiveError::Rejected(rejected)) => {
                let fault = format!(
                    "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body><s:Fault>\
                     <faultcode xmlns:p=\"{}\">p:{}</faultcode><faultstring/></s:Fault></s:Body></s:Envelope>",
                    soapstone::wss::ConversationVersion::V13.namespace(),
                    rejected.fault().local()
                );
                return response(StatusCode::INTERNAL_SERVER_ERROR, fault.into_bytes());
            }
            Err(error) => panic!("{error:?}"),
        };
        let forwarded = Request::post(format!("http://{}/echo", self.backend))
            .body(Full::new(Bytes::from(opened.bytes)))
            .expect("a request");
        let service = Client::builder(TokioExecutor::new()).build_http();
        let said = service.request(forwarded).await.expect("the service runs");
        let said = said.into_body().collect().await.expect("a whole answer");
        let secured = self
            .endpoint
            .answer(Vec::from(said.to_bytes()), &opened.receipt)
            .expect("an answer that can be secured");
        response(StatusCode::OK, secured.bytes)
    }
}

fn response(status: StatusCode, body: Vec<u8>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response
}

/// Both sides' endpoints.
fn endpoints() -> (soapstone::Client, Service) {
    let folder = Folder::with_keys(RSA, &["client", "server"]);
    let text = |name: &str, more: &str| {
        format!(
            "[identity]\nkey = \"{name}.key.pem\"\ncertificate = \"{name}.cert.pem\"\n[trust]\nanchors = [\"ca.cert.pem\"]\n{more}\
             [security]\nmechanism = \"secure-conversation\"\nsuite = \"Basic128GCM\"\n"
        )
    };
    let peer = "[peer]\ncertificate = \"server.cert.pem\"\n";
    (
        endpoint(&folder, &text("client", peer)),
        endpoint(&folder, &text("server", "")),
    )
}

/// The endpoint of a file with this text in the folder.
fn endpoint<P: Fixed>(folder: &Folder, text: &str) -> Endpoint<P> {
    EndpointConfig::from_text(text, &folder.path("endpoint.toml"), &|_| None)
        .and_then(|config| Endpoint::from_config(&config))
        .unwrap_or_else(|problems| panic!("{problems}"))
}

/// How many times as long everything takes here and now as on a machine that has nothing else to
/// do: a load that cannot keep its rate shows nothing of what it is there to show.
#[derive(Clone, Copy)]
struct Pace(u32);

impl Pace {
    /// What a machine that has nothing else to do needs for the contexts of all conversations, at
    /// most.
    const QUIET: Duration = Duration::from_millis(120);

    fn of(handshakes: Duration) -> Self {
        let times = handshakes.as_secs_f64() / Self::QUIET.as_secs_f64();
        Self((times.ceil() as u32).clamp(1, 12))
    }

    fn time(self, milliseconds: u64) -> Duration {
        Duration::from_millis(milliseconds) * self.0
    }

    fn rate(self, each_second: u32) -> u32 {
        (each_second / self.0).max(1)
    }
}

/// Where a service can listen later. Each has a loopback address of its own, where no connection of
/// another test takes the port meanwhile.
fn free_address() -> SocketAddr {
    static TAKEN: AtomicU8 = AtomicU8::new(1);
    let own = Ipv4Addr::new(127, 0, 1, TAKEN.fetch_add(1, Ordering::Relaxed));
    TcpListener::bind((own, 0))
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
}

/// A client, and the node that it calls.
struct Pair {
    client: Arc<soapstone::Client>,
    faults: Arc<Faults>,
    address: SocketAddr,
    backend: SocketAddr,
}

impl Pair {
    async fn new() -> Self {
        let (client, server) = endpoints();
        let backend = free_address();
        let faults = Arc::new(Faults::default());
        let node = Arc::new(Node {
            endpoint: server,
            replay: MemoryReplay::new(10_000),
            contexts: MemoryContexts::new(100),
            faults: Arc::clone(&faults),
            backend,
        });
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
        let listener = listener.expect("a free port");
        let address = listener.local_addr().expect("an address");
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let node = Arc::clone(&node);
                let service = service_fn(move |request| {
                    let node = Arc::clone(&node);
                    async move { Ok::<_, Infallible>(node.answer(request).await) }
                });
                let http = hyper::server::conn::http1::Builder::new();
                tokio::spawn(http.serve_connection(TokioIo::new(stream), service));
            }
        });
        Self {
            client: Arc::new(client),
            faults,
            address,
            backend,
        }
    }

    async fn run(&self, pace: Pace, milliseconds: u64, tell: &mut dyn FnMut(Phase)) -> Outcome {
        let options = Options {
            endpoint: Arc::clone(&self.client),
            replay: Arc::new(MemoryReplay::new(10_000)),
            url: format!("http://{}/echo", self.address)
                .parse()
                .expect("an address"),
            conversations: 4,
            load: pace.time(milliseconds),
            rate: pace.rate(60),
            connections: 4,
            replay_every: 3,
            begin_every: 10,
            patience: Duration::from_secs(20),
            service: Some(self.backend),
        };
        let outcome = conversations::run(options, tell).await;
        outcome.expect("conversations begin")
    }
}

/// Runs a load of one second and a half (or as many times as long as everything takes) against one
/// node; `during` is told what the node does wrong when the load begins.
async fn run(during: impl FnOnce(Arc<Faults>, Pace)) -> Outcome {
    let before = Pair::new().await;
    let begun = Instant::now();
    // Without a load, contexts are begun and nothing else.
    before.run(Pace(1), 0, &mut |_| ()).await;
    let pace = Pace::of(begun.elapsed());
    let pair = Pair::new().await;
    let mut during = Some(during);
    pair.run(pace, 1500, &mut |phase| {
        if phase == Phase::Load
            && let Some(during) = during.take()
        {
            during(Arc::clone(&pair.faults), pace);
        }
    })
    .await
}

/// Switches a fault on for a while.
fn for_a_while(faults: Arc<Faults>, pace: Pace, fault: fn(&Faults) -> &AtomicBool) {
    tokio::spawn(async move {
        tokio::time::sleep(pace.time(500)).await;
        fault(&faults).store(true, Ordering::Relaxed);
        tokio::time::sleep(pace.time(400)).await;
        fault(&faults).store(false, Ordering::Relaxed);
    });
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_keeps_everything_is_called_so() {
    let outcome = run(|_, _| ()).await;
    assert!(outcome.holds(), "{outcome:?}");
    assert!(outcome.failed.is_empty(), "{:?}", outcome.failed);
    // Each of them went on with a second context at the least.
    assert!(outcome.handshakes.n >= 8, "{:?}", outcome.handshakes);
    assert!(outcome.disturbances.is_empty());
    let (replays, delivered) = (&outcome.replays, outcome.delivered.expect("it was run"));
    assert!(replays.sent >= 8, "{replays:?}");
    let refused = replays.refused.get("FailedAuthentication");
    assert_eq!(refused, Some(&replays.sent), "{replays:?}");
    assert_eq!(delivered.messages, outcome.answered.n);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_accepts_a_message_twice_is_found_out() {
    let outcome =
        run(|faults, pace| for_a_while(faults, pace, |faults| &faults.forgets_messages)).await;
    assert!(outcome.replays.accepted > 0, "{:?}", outcome.replays);
    assert!(outcome.replays.accepted < outcome.replays.sent);
    assert!(outcome.delivered.expect("it was run").repeated > 0);
    assert!(!outcome.holds());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_loses_conversations_is_found_out_and_its_clients_begin_new_ones() {
    let outcome =
        run(|faults, pace| for_a_while(faults, pace, |faults| &faults.forgets_contexts)).await;
    assert!(!outcome.lost.is_empty(), "{outcome:?}");
    assert_eq!(outcome.lost[0].reason, "BadContextToken");
    assert!(outcome.handshakes.n >= 4 + outcome.lost.len());
    // None was lost in the audit: the new ones were answered.
    let last = outcome.lost.last().expect("some were lost").second;
    assert!(last < outcome.seconds, "{outcome:?}");
    assert!(!outcome.holds());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_without_answers_is_measured_and_loses_nothing() {
    let outcome = run(|faults, pace| for_a_while(faults, pace, |faults| &faults.down)).await;
    assert!(outcome.holds(), "{outcome:?}");
    let [disturbance] = outcome.disturbances.as_slice() else {
        panic!("{:?}", outcome.disturbances)
    };
    assert!(disturbance.seconds > 0.2, "{disturbance:?}");
    assert!(disturbance.seconds < outcome.seconds, "{disturbance:?}");
    assert!(disturbance.failed.contains_key("http 503"));
    // A call that was under way when it began may be answered yet.
    assert!(disturbance.silence > 0.1, "{disturbance:?}");
    assert!(outcome.longest_silence >= disturbance.silence);
    // What was never seen is accepted when it comes again, and then not once more.
    assert!(outcome.resent.sent > 0);
    assert_eq!(outcome.resent.accepted, outcome.resent.sent);
    let delivered = outcome.delivered.expect("it was run");
    let accepted = outcome.answered.n as u64 + outcome.resent.accepted;
    assert_eq!(
        (delivered.messages as u64, delivered.repeated),
        (accepted, 0)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_without_conversations_is_refused() {
    let text = "security = { mechanism = \"none\" }\n";
    let options = Options {
        endpoint: Arc::new(endpoint(&Folder::new(), text)),
        replay: Arc::new(MemoryReplay::new(10)),
        url: "http://127.0.0.1:1/".parse().expect("an address"),
        conversations: 1,
        load: Duration::ZERO,
        rate: 1,
        connections: 1,
        replay_every: 1,
        begin_every: 1,
        patience: Duration::from_secs(1),
        service: None,
    };
    let refused = conversations::run(options, &mut |_| ()).await;
    assert!(
        matches!(refused, Err(ConversationsError::NoConversation)),
        "{refused:?}"
    );
}
