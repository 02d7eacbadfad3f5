//! Requests that were let in and go on while no new request finds room: their marks are taken, or a
//! backend has had them.

use http::{Response, StatusCode};
use http_body_util::Full;

use super::answers::{ANY, NO_PLACE, NO_SHARE, all_answered, fill, gateway};
use super::{Store, Way, send_all};
use crate::conversations::{self, metric, tables};
use crate::secured::{client, service};
use crate::support::{Backend, ENVELOPE, Folder, post, send, soon};

/// A message that proves who sent it waits for the context of its conversation. It is large, so
/// that what is done with it waits for a worker.
async fn goes_on(limits: &str, reason: &str) {
    let folder = Folder::with_keys();
    let (store, backend) = (Store::start().await, Backend::echo().await);
    let behind = conversations::service(&folder, &backend, "").await;
    let way = Way::to(behind.address(), ANY).await;
    let route = format!(
        "[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n{}[routes.outbound]\n{}",
        way.address,
        service("sign"),
        tables("client", "server", "")
    );
    let gateway = gateway(&folder, &store, &backend, limits, &route).await;
    let large = ENVELOPE.replace(">hello<", &format!(">{}<", "hello ".repeat(20_000)));
    let large = folder.secured(&client("sign"), &large);
    let asked = send_all(&gateway, "/echo", &[large]);
    way.holds_answers(1).await;
    let waiting = fill(&folder, &store, &gateway, reason).await;
    way.let_go();
    for answer in soon("an answer", asked.join_all()).await {
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }
    all_answered(&store, waiting).await;
}

#[tokio::test]
async fn a_request_whose_mark_is_taken_finds_a_place_in_a_full_queue() {
    goes_on(NO_PLACE, "queue-full").await;
}

#[tokio::test]
async fn a_request_whose_mark_is_taken_passes_where_its_client_has_its_share() {
    goes_on(NO_SHARE, "client-queue").await;
}

/// The first backend has had the request, and its repetition is paid for.
#[tokio::test]
async fn a_request_that_goes_to_another_backend_finds_a_place_in_a_full_queue() {
    let folder = Folder::with_keys();
    let (store, backend) = (Store::start().await, Backend::echo().await);
    let busy = Backend::answering(|_| {
        let mut response = Response::new(Full::from("not now"));
        *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        response
    });
    let way = Way::to(busy.await.address, ANY).await;
    let other = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n{}",
        backend.address,
        service("sign")
    );
    let other = folder.gateway(&other).await;
    let route = format!(
        "[[routes]]\npath = \"/echo\"\n[[routes.backends]]\nurl = \"http://{}/echo\"\n\
         [[routes.backends]]\nurl = \"http://{}/echo\"\nbackup = true\n\
         [routes.balance]\nidempotent = [\"echo\"]\n[routes.outbound]\n{}",
        way.address,
        other.address(),
        client("sign")
    );
    let gateway = gateway(&folder, &store, &backend, NO_PLACE, &route).await;
    let asked = send_all(&gateway, "/echo", &[ENVELOPE.as_bytes().to_vec()]);
    way.holds_answers(1).await;
    let waiting = fill(&folder, &store, &gateway, "queue-full").await;
    way.let_go();
    for answer in soon("an answer", asked.join_all()).await {
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }
    let retried = "soapstone_retries_total{route=\"/echo\",failed=\"unavailable\"}";
    assert_eq!(metric(&gateway, retried).await, 1);
    all_answered(&store, waiting).await;
}

/// The backend has lost the conversation, and the next one begins when there is no room for new
/// requests.
#[tokio::test]
async fn a_request_that_is_sent_again_in_another_conversation_finds_a_place_in_a_full_queue() {
    let folder = Folder::with_keys();
    let (store, backend) = (Store::start().await, Backend::echo().await);
    let file = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n{}",
        backend.address,
        tables("server", "client", "")
    );
    let first = folder.gateway(&file).await;
    let address = first.address();
    let way = Way::to(address, b"/RST/SCT").await;
    way.let_go();
    let route = format!(
        "[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.outbound]\n{}",
        way.address,
        tables("client", "server", "")
    );
    let gateway = gateway(&folder, &store, &backend, NO_PLACE, &route).await;
    let answer = send(gateway.address(), post("/echo", ENVELOPE)).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    first.shutdown().await;
    let again = file.replace("LISTEN", &format!("listen = \"{address}\""));
    let _second = folder.gateway(&again).await;
    way.holds.send_replace(true);
    let asked = send_all(&gateway, "/echo", &[ENVELOPE.as_bytes().to_vec()]);
    way.holds_answers(1).await;
    let waiting = fill(&folder, &store, &gateway, "queue-full").await;
    way.let_go();
    for answer in soon("an answer", asked.join_all()).await {
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    }
    let resent = "soapstone_resent_requests_total{route=\"/echo\"}";
    assert_eq!(metric(&gateway, resent).await, 1);
    all_answered(&store, waiting).await;
}
