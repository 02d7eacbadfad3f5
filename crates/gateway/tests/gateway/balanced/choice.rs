//! Which backend gets which request while all of them serve.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tokio::task::JoinSet;

use super::{Manner, Member, balanced, call, callees, counts, file, metric};
use crate::support::{ENVELOPE, gateway, post, send, silent_backend, soon};

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
