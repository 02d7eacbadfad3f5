//! A shared store that takes its time: its answers are held, and messages are counted meanwhile.

mod answers;
mod requests;

use std::net::SocketAddr;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::StatusCode;
use soapstone_gateway::Running;
use soapstone_testkit::keys::{self, RSA};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::conversations::metric;
use crate::secured::{secured, service};
use crate::support::{Answer, Backend, ENVELOPE, Folder, Redis, post, send, soon};

/// A way to a server that holds answers while it is told to.
struct Way {
    address: SocketAddr,
    holds: watch::Sender<bool>,
    /// How many connections have an answer that is held.
    held: Arc<watch::Sender<usize>>,
}

/// A `redis-server`, and a way to it that holds the answers to scripts: those of marks and tries.
/// Whether the server is well is asked otherwise.
struct Store {
    redis: Redis,
    way: Way,
}

impl std::ops::Deref for Store {
    type Target = Way;

    fn deref(&self) -> &Way {
        &self.way
    }
}

impl Way {
    /// The way to a server. What it holds are answers to questions with this word.
    async fn to(server: SocketAddr, word: &'static [u8]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let (holds, held) = (watch::Sender::new(true), Arc::new(watch::Sender::new(0)));
        let (open, count) = (holds.clone(), Arc::clone(&held));
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(server).await.expect("it listens");
                let (holds, held) = (open.subscribe(), Arc::clone(&count));
                tokio::spawn(passed(client, server, word, holds, held));
            }
        });
        Self {
            address,
            holds,
            held,
        }
    }

    /// Waits until so many answers are held.
    async fn holds_answers(&self, count: usize) {
        let mut held = self.held.subscribe();
        let what = format!("{count} answers at once");
        let found = soon(&what, held.wait_for(|held| *held == count)).await;
        found.expect("it counts");
    }

    fn let_go(&self) {
        self.holds.send_replace(false);
    }
}

impl Store {
    async fn start() -> Self {
        let redis = Redis::start(&[]).await;
        let way = Way::to(([127, 0, 0, 1], redis.1).into(), b"EVAL").await;
        Self { redis, way }
    }

    /// What it has counted of tries: failed, a colon, open.
    fn tallies(&self) -> Vec<String> {
        let ask = |command: &[&str]| {
            let port = self.redis.1.to_string();
            let mut cli = Command::new("redis-cli");
            let output = cli.args(["-p", &port]).args(command).output();
            let output = output.expect("redis-cli comes with redis-server").stdout;
            String::from_utf8(output).expect("it is text")
        };
        let keys = ask(&["KEYS", "*:tried:*"]);
        let keys = keys.lines().filter(|key| !key.is_empty());
        keys.map(|key| ask(&["GET", key]).trim().to_owned())
            .collect()
    }
}

/// Passes on what a client and the server say, and holds the answers to questions with this word.
async fn passed(
    client: TcpStream,
    server: TcpStream,
    word: &'static [u8],
    mut holds: watch::Receiver<bool>,
    held: Arc<watch::Sender<usize>>,
) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let is_held = Arc::new(AtomicBool::new(false));
    let asks = Arc::clone(&is_held);
    let asked = tokio::spawn(async move {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(length @ 1..) = from_client.read(&mut bytes).await {
            let bytes = &bytes[..length];
            let has_word = word.is_empty() || bytes.windows(word.len()).any(|it| it == word);
            asks.store(has_word, Ordering::SeqCst);
            if to_server.write_all(bytes).await.is_err() {
                break;
            }
        }
    });
    let mut bytes = vec![0; 1 << 16];
    while let Ok(length @ 1..) = from_server.read(&mut bytes).await {
        if *holds.borrow() && is_held.load(Ordering::SeqCst) {
            held.send_modify(|held| *held += 1);
            holds.wait_for(|holds| !holds).await.ok();
            held.send_modify(|held| *held -= 1);
        }
        if to_client.write_all(&bytes[..length]).await.is_err() {
            break;
        }
    }
    asked.abort();
}

/// A gateway with one worker: signed messages at `/shared` have their marks in the store, and those
/// at `/own` in memory.
async fn gateway(folder: &Folder, store: &Store, backend: &Backend, limits: &str) -> Running {
    let route = |name: &str, mechanism: &str, replay: &str| {
        format!(
            "[[routes]]\npath = \"/{name}\"\nbackend = \"http://{}/\"\n[routes.inbound]\n\
             identity = {{ key = \"server.key.pem\", certificate = \"server.cert.pem\" }}\n\
             peer = {{ certificate = \"client.cert.pem\" }}\ntrust = {{ anchors = [\"ca.cert.pem\"] }}\n\
             store = {{ url = \"redis://{}\", timeout = \"60s\" }}\n\
             security = {{ mechanism = \"{mechanism}\", suite = \"Basic256Sha256\", replay = {{ store = \"{replay}\" }} }}\n",
            backend.address, store.address
        )
    };
    let (shared, own) = (
        route("shared", "sign", "redis"),
        route("own", "sign", "memory"),
    );
    let encrypted = route("encrypted", "encrypt", "redis");
    let text = format!("LISTEN\nlimits = {{ workers = 1{limits} }}\n{shared}{own}{encrypted}");
    folder.gateway(&text).await
}

fn send_all(gateway: &Running, path: &'static str, messages: &[Vec<u8>]) -> JoinSet<Answer> {
    let address = gateway.address();
    let mut answers = JoinSet::new();
    for message in messages {
        let request = post(path, message.clone());
        answers.spawn(async move { send(address, request).await });
    }
    answers
}

/// Case `reliability/05`: whoever waits for the store leaves the worker to others.
#[tokio::test(flavor = "multi_thread")]
async fn messages_wait_for_a_store_together_while_the_one_worker_works_for_others() {
    let folder = Folder::with_keys();
    let (store, mut backend) = (Store::start().await, Backend::echo().await);
    let gateway = gateway(&folder, &store, &backend, "").await;
    let messages: Vec<Vec<u8>> = (0..8).map(|_| secured(&folder, "sign")).collect();
    let mut answers = send_all(&gateway, "/shared", &messages);
    store.holds_answers(messages.len()).await;
    assert_eq!(metric(&gateway, "soapstone_store_waiting").await, 8);
    assert_eq!(metric(&gateway, "soapstone_crypto_queue").await, 0);
    assert!(metric(&gateway, "soapstone_buffered_bytes").await > 8 * ENVELOPE.len() as u64);
    let other = send(gateway.address(), post("/own", secured(&folder, "sign")));
    let other = soon("an answer without the store", other).await;
    assert_eq!(other.status, StatusCode::OK, "{}", other.body);
    assert_eq!(*store.held.borrow(), 8);
    backend.seen.recv().await.expect("the other one");
    assert!(backend.seen.is_empty(), "nothing passes without its mark");
    store.let_go();
    while let Some(answer) = soon("all answers", answers.join_next()).await {
        let answer = answer.expect("no panic");
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }
    assert_eq!(metric(&gateway, "soapstone_store_waiting").await, 0);
    assert_eq!(
        metric(&gateway, "soapstone_store_wait_seconds_count").await,
        8
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn messages_at_a_store_count_as_waiting_and_those_beyond_the_queue_are_told_to_come_again() {
    let folder = Folder::with_keys();
    let (store, backend) = (Store::start().await, Backend::echo().await);
    let gateway = gateway(
        &folder,
        &store,
        &backend,
        ", queue = 2, per_client = { queue = 100 }",
    )
    .await;
    let messages: Vec<Vec<u8>> = (0..3).map(|_| secured(&folder, "sign")).collect();
    let mut answers = send_all(&gateway, "/shared", &messages);
    // The worker's and two of the queue.
    store.holds_answers(3).await;
    let further = secured(&folder, "sign");
    let refused = soon(
        "a refusal",
        send(gateway.address(), post("/shared", further.clone())),
    );
    assert_eq!(refused.await.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(gateway.metrics().contains("reason=\"queue-full\"} 1"));
    store.let_go();
    while let Some(answer) = soon("all answers", answers.join_next()).await {
        assert_eq!(answer.expect("no panic").status, StatusCode::OK);
    }
    // It was refused before its mark was taken.
    let again = soon(
        "an answer",
        send(gateway.address(), post("/shared", further)),
    );
    assert_eq!(again.await.status, StatusCode::OK);
}

/// A gateway with one worker and one place in its queue. What clients of `/echo` may do is counted
/// in the store, and its messages have their marks in memory, as those of `/own` have.
async fn counting_together(folder: &Folder, store: &Store, backend: &Backend) -> Running {
    folder.write_identity("gateway", &keys::identity("CN=gateway", RSA));
    folder.write(
        "gold.toml",
        "service = \"/echo\"\nuntil = 2999-01-01\nwindow = { calls = 1000 }\n\
         [client]\nsubject = \"CN=client\"\nrate = \"1/h\"\nburst = 50\n",
    );
    let route = |path: &str| {
        let (service, address) = (service("sign"), backend.address);
        format!(
            "[[routes]]\npath = \"{path}\"\nbackends = [{{ url = \"http://{address}/\" }}]\n[routes.inbound]\n{service}"
        )
    };
    let text = format!(
        "LISTEN\nlimits = {{ workers = 1, queue = 1, per_client = {{ queue = 100 }} }}\n[agreements]\n\
         files = [\"gold.toml\"]\nrecords = \"violations.xml\"\n\
         identity = {{ key = \"gateway.key.pem\", certificate = \"gateway.cert.pem\" }}\n\
         store = {{ url = \"redis://{}\", timeout = \"60s\" }}\n{}{}",
        store.address,
        route("/echo"),
        route("/own")
    );
    folder.gateway(&text).await
}

/// The queue bounds what waits for the store of rates, where the route's own stores are in memory.
#[tokio::test(flavor = "multi_thread")]
async fn messages_at_the_store_of_rates_count_as_waiting() {
    let folder = Folder::with_keys();
    let (store, backend) = (Store::start().await, Backend::echo().await);
    let gateway = counting_together(&folder, &store, &backend).await;
    let messages: Vec<Vec<u8>> = (0..2).map(|_| secured(&folder, "sign")).collect();
    let mut answers = send_all(&gateway, "/echo", &messages);
    // The worker's and that of the queue.
    store.holds_answers(2).await;
    let further: Vec<Vec<u8>> = (0..10).map(|_| secured(&folder, "sign")).collect();
    let mut refused = send_all(&gateway, "/echo", &further);
    while let Some(answer) = soon("refusals", refused.join_next()).await {
        let answer = answer.expect("no panic");
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    }
    assert!(gateway.metrics().contains("reason=\"queue-full\"} 10"));
    assert_eq!(metric(&gateway, "soapstone_store_waiting").await, 2);
    let own = send(gateway.address(), post("/own", secured(&folder, "sign")));
    let own = soon("an answer without the store", own).await;
    assert_eq!(own.status, StatusCode::OK, "{}", own.body);
    assert_eq!(*store.held.borrow(), 2);
    store.let_go();
    while let Some(answer) = soon("all answers", answers.join_next()).await {
        let answer = answer.expect("no panic");
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }
    // They were refused before their marks were taken.
    for message in further {
        let again = send(gateway.address(), post("/echo", message));
        let again = soon("an answer", again).await;
        assert_eq!(again.status, StatusCode::OK, "{}", again.body);
    }
}

/// Waits until the gateway has nothing in hand any more.
async fn all_over(gateway: &Running) {
    let over = async {
        while metric(gateway, "soapstone_buffered_bytes").await > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    soon("the end of all work", over).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_goes_away_leaves_its_mark_and_the_try_of_its_key() {
    let folder = Folder::with_keys();
    let (store, mut backend) = (Store::start().await, Backend::echo().await);
    let gateway = gateway(&folder, &store, &backend, "").await;
    let message = String::from_utf8(secured(&folder, "encrypt")).expect("it is XML");
    // The last cipher value is that of the Body.
    let (before, after) = message
        .rsplit_once("CipherValue>")
        .expect("it is encrypted");
    let (before, cipher_text) = before.rsplit_once('>').expect("it begins");
    let other = match cipher_text.starts_with('A') {
        true => 'B',
        false => 'A',
    };
    let changed = format!("{before}>{other}{}CipherValue>{after}", &cipher_text[1..]);
    let mut answers = send_all(&gateway, "/encrypted", &[changed.clone().into_bytes()]);
    store.holds_answers(1).await;
    answers.shutdown().await;
    let in_flight = async {
        while metric(&gateway, "soapstone_requests_in_flight").await > 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    soon("the end of the request", in_flight).await;
    let held = metric(&gateway, "soapstone_buffered_bytes").await;
    assert!(held >= changed.len() as u64, "it keeps its place: {held}");
    store.let_go();
    all_over(&gateway).await;
    assert_eq!(
        store.tallies(),
        ["1:0"],
        "one failed try, and none that is open"
    );
    let copy = send(gateway.address(), post("/encrypted", changed)).await;
    assert_eq!(copy.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(gateway.metrics().contains("reason=\"replayed\"} 1"));
    assert!(backend.seen.try_recv().is_err(), "nothing passes");
}
