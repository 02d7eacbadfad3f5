//! Answers that come while no new request finds room: whoever answered has done what was asked.
//!
//! The runtime of these tests has one thread. So heavy work waits for a worker always, and comes
//! into a queue that has no room.

use std::sync::atomic::{AtomicBool, Ordering};

use http::{Response, StatusCode};
use http_body_util::Full;
use soapstone::crypto::base64;
use soapstone_gateway::Running;
use tokio::task::JoinSet;

use super::{Store, Way, send_all};
use crate::conversations::{self, metric, tables};
use crate::issued::{self, Sts};
use crate::secured::{secured, service};
use crate::support::{Answer, Backend, ENVELOPE, Folder, post, send, soon};

/// Every question has it.
pub(super) const ANY: &[u8] = b"";

pub(super) const NO_PLACE: &str = "queue = 1, per_client = { queue = 100 }";
pub(super) const NO_SHARE: &str = "queue = 100, per_client = { queue = 1 }";

/// A gateway with one worker. Signed messages at `/shared` have their marks in the store, and go on
/// to the backend; another route is as told.
pub(super) async fn gateway(
    folder: &Folder,
    store: &Store,
    backend: &Backend,
    limits: &str,
    other: &str,
) -> Running {
    let inbound = service("sign").replace("suite =", "replay = { store = \"redis\" }, suite =");
    let text = format!(
        "LISTEN\nlimits = {{ workers = 1, {limits} }}\n\
         [[routes]]\npath = \"/shared\"\nbackend = \"http://{}/\"\n[routes.inbound]\n\
         store = {{ url = \"redis://{}\", timeout = \"60s\" }}\n{inbound}{other}",
        backend.address, store.address
    );
    folder.gateway(&text).await
}

/// Has two messages wait for the store, one after the other. There is no room for a third one.
pub(super) async fn fill(
    folder: &Folder,
    store: &Store,
    gateway: &Running,
    reason: &str,
) -> JoinSet<Answer> {
    let mut waiting = JoinSet::new();
    for held in 1..=2 {
        let (address, message) = (gateway.address(), secured(folder, "sign"));
        waiting.spawn(async move { send(address, post("/shared", message)).await });
        store.holds_answers(held).await;
    }
    let further = send_all(gateway, "/shared", &[secured(folder, "sign")]);
    let further = soon("a refusal", further.join_all()).await;
    assert_eq!(further[0].status, StatusCode::SERVICE_UNAVAILABLE);
    let refusal = format!("reason=\"{reason}\"}} 1");
    assert!(gateway.metrics().contains(&refusal), "{reason}");
    waiting
}

/// The waiting messages go on, and are answered.
pub(super) async fn all_answered(store: &Store, waiting: JoinSet<Answer>) {
    assert_eq!(*store.held.borrow(), 2, "they waited all the time");
    store.let_go();
    for answer in soon("all answers", waiting.join_all()).await {
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }
}

/// A message of more than 64 KiB and a package with such a part, and their media types.
fn large() -> [(&'static str, String); 2] {
    let filler = base64::encode(&[7; 100_000]);
    let message = ENVELOPE.replace(">hello<", &format!(">{filler}<"));
    let package = format!(
        "--b\r\nContent-ID: <root@sender>\r\nContent-Type: text/xml; charset=utf-8\r\n\r\n{ENVELOPE}\r\n\
         --b\r\nContent-ID: <one@sender>\r\nContent-Type: text/plain\r\n\r\n{filler}\r\n--b--\r\n"
    );
    let related = "multipart/related; type=\"text/xml\"; start=\"<root@sender>\"; boundary=b";
    [("text/xml; charset=utf-8", message), (related, package)]
}

/// The backend answers one request with a large message and one with a large package, and both come
/// once there is no room for a new request.
async fn answers_pass(limits: &str, reason: &str) {
    let folder = Folder::with_keys();
    let (answers, is_second) = (large(), AtomicBool::new(false));
    let large = Backend::answering(move |_| {
        let number = usize::from(is_second.fetch_or(true, Ordering::SeqCst));
        let (media_type, body) = answers[number].clone();
        let mut response = Response::new(Full::from(body));
        let media_type = media_type.parse().expect("a value");
        response.headers_mut().insert("content-type", media_type);
        response
    });
    let way = Way::to(large.await.address, ANY).await;
    let (store, backend) = (Store::start().await, Backend::echo().await);
    let tables = service("sign").replace("suite =", "attachments = {}, suite =");
    let route = format!(
        "[[routes]]\npath = \"/large\"\nbackend = \"http://{}/\"\n[routes.inbound]\n{tables}",
        way.address
    );
    let gateway = gateway(&folder, &store, &backend, limits, &route).await;
    let mut answers = JoinSet::new();
    for held in 1..=2 {
        let (address, message) = (gateway.address(), secured(&folder, "sign"));
        answers.spawn(async move { send(address, post("/large", message)).await });
        way.holds_answers(held).await;
    }
    let waiting = fill(&folder, &store, &gateway, reason).await;
    way.let_go();
    for answer in soon("large answers", answers.join_all()).await {
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
        assert!(answer.bytes.len() > 64 * 1024);
    }
    all_answered(&store, waiting).await;
}

#[tokio::test]
async fn answers_and_packages_of_answers_find_a_place_in_a_full_queue() {
    answers_pass(NO_PLACE, "queue-full").await;
}

#[tokio::test]
async fn answers_and_packages_of_answers_pass_where_their_client_has_its_share() {
    answers_pass(NO_SHARE, "client-queue").await;
}

/// The gateway has asked itself, and the other side keeps the context that it gave.
#[tokio::test]
async fn the_answer_that_begins_a_conversation_finds_a_place_in_a_full_queue() {
    let folder = Folder::with_keys();
    let (store, backend) = (Store::start().await, Backend::echo().await);
    let service = conversations::service(&folder, &backend, "").await;
    let way = Way::to(service.address(), ANY).await;
    let side = tables("client", "server", "");
    let route = format!(
        "[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.outbound]\n{side}",
        way.address
    );
    let gateway = gateway(&folder, &store, &backend, NO_PLACE, &route).await;
    let asked = send_all(&gateway, "/echo", &[ENVELOPE.as_bytes().to_vec()]);
    way.holds_answers(1).await;
    let waiting = fill(&folder, &store, &gateway, "queue-full").await;
    way.let_go();
    for answer in soon("an answer", asked.join_all()).await {
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }
    let established = "soapstone_handshakes_total{route=\"/echo\",outcome=\"established\"}";
    assert_eq!(metric(&gateway, established).await, 1);
    all_answered(&store, waiting).await;
}

/// A token that was made for the gateway is kept, though its request finds no place any more.
#[tokio::test]
async fn the_answer_that_brings_a_token_finds_a_place_in_a_full_queue() {
    let folder = issued::folder();
    let (store, backend) = (Store::start().await, Backend::echo().await);
    let sts = Sts::honest(&folder, true, false).await;
    let way = Way::to(sts.backend.address, ANY).await;
    let file = issued::file(backend.address, way.address, "bearer", "");
    let route = file.strip_prefix("LISTEN\n").expect("its first line");
    let gateway = gateway(&folder, &store, &backend, NO_PLACE, route).await;
    let asked = send_all(&gateway, "/echo", &[ENVELOPE.as_bytes().to_vec()]);
    way.holds_answers(1).await;
    let waiting = fill(&folder, &store, &gateway, "queue-full").await;
    way.let_go();
    soon("an answer", asked.join_all()).await;
    assert_eq!(metric(&gateway, issued::ISSUED).await, 1);
    assert_eq!(sts.asked(), 1);
    all_answered(&store, waiting).await;
}
