//! Agreements under load: many calls at once, counted on both sides.
//!
//! No test here has a bound of its own on the time that it takes: what is admitted is compared with
//! the time that was measured.

use std::time::{Duration, Instant};

use tokio::sync::Mutex;
use tokio::task::JoinSet;

use super::*;

/// Clients that call at once.
const CLIENTS: usize = 32;

/// So many messages of the client, each signed by itself.
async fn signed(folder: &Folder, count: usize) -> Vec<Vec<u8>> {
    let securer = folder.securer(&secured::client("sign"));
    let signing = tokio::task::spawn_blocking(move || {
        let message = |_| securer.secure(ENVELOPE).expect("it can be secured").bytes;
        (0..count).map(message).collect()
    });
    signing.await.expect("it ends")
}

/// Sends all messages from all clients at once. Returns how many answers had each status, and how
/// long all of it took.
async fn load(gateway: &Running, messages: Vec<Vec<u8>>) -> (BTreeMap<u16, u64>, Duration) {
    let left = std::sync::Arc::new(Mutex::new(messages));
    let begun = Instant::now();
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let (left, address) = (std::sync::Arc::clone(&left), gateway.address());
        clients.spawn(async move {
            let mut statuses = Vec::new();
            while let Some(message) = { left.lock().await.pop() } {
                let answer = send(address, post("/echo", message)).await;
                statuses.push(answer.status.as_u16());
            }
            statuses
        });
    }
    let statuses = clients.join_all().await;
    let took = begun.elapsed();
    let mut counts = BTreeMap::new();
    for status in statuses.into_iter().flatten() {
        *counts.entry(status).or_insert(0) += 1;
    }
    (counts, took)
}

fn asked(backend: &mut Backend) -> u64 {
    let mut asked = 0;
    while backend.seen.try_recv().is_ok() {
        asked += 1;
    }
    asked
}

const RATE: u32 = 40;
const BURST: u32 = 50;

/// Of 3000 calls, 32 at once, at most 2 % more are admitted than the agreement has room for in the
/// time that they took. The backend saw the admitted ones, and the records have each refused one.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn under_load_no_more_is_admitted_than_agreed_and_each_excess_is_recorded() {
    const CALLS: u64 = 3000;
    let folder = folder(&format!(
        "service = \"/echo\"\nuntil = 2999-01-01\nwindow = {{ time = \"1s\" }}\n\
         [client]\nsubject = \"CN=client\"\nrate = \"{RATE}/s\"\nburst = {BURST}\n"
    ));
    let mut service = Backend::echo().await;
    let gateway = folder.gateway(&file(&backend("one", &service), "")).await;
    let messages = signed(&folder, CALLS as usize).await;
    let (statuses, took) = load(&gateway, messages).await;
    let of = |status: u16| statuses.get(&status).copied().unwrap_or_default();
    let (admitted, refused) = (of(200), of(429));
    assert_eq!(admitted + refused, CALLS, "{statuses:?}");
    assert_eq!(asked(&mut service), admitted);
    let agreed = f64::from(RATE) * took.as_secs_f64() + f64::from(BURST);
    let share = admitted as f64 / agreed;
    assert!(share <= 1.02, "{admitted} of {agreed} in {took:?}");
    assert!(admitted >= u64::from(BURST), "{admitted}");
    assert!(refused > 0, "the load was none in {took:?}");
    let shown = told(&gateway).await;
    let counts = (&shown["admitted"], &shown["refused"]);
    assert_eq!(counts, (&admitted.into(), &refused.into()), "{shown}");
    let metrics = gateway.metrics();
    let none_lost = "soapstone_violation_records_lost_total 0";
    assert!(metrics.lines().any(|line| line == none_lost), "{metrics}");
    let records = records(&folder, gateway).await;
    assert_eq!(violating(&records), BTreeMap::from([("rate", refused)]));
}

/// A provider that answers two calls of three, each too late: whichever windows its calls are
/// measured in, the records have each failure and each late call once.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn under_load_each_call_that_a_provider_fails_is_recorded_once() {
    // Each window is full at the end.
    const CALLS: u64 = 600;
    let folder = folder(
        "service = \"/echo\"\nuntil = 2999-01-01\nwindow = { calls = 10 }\n\
         [client]\nsubject = \"CN=client\"\n\
         [provider]\ntime = \"0s\"\nquantile = \"100%\"\navailability = \"100%\"\n",
    );
    let number = std::sync::atomic::AtomicU64::new(0);
    let service = Backend::answering(move |seen| {
        let number = number.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let mut response = http::Response::new(http_body_util::Full::new(seen.body.clone()));
        let media_type = seen.headers["content-type"].clone();
        response.headers_mut().insert("content-type", media_type);
        if number.is_multiple_of(3) {
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
        }
        response
    });
    let service = service.await;
    let text = file(
        &backend("one", &service),
        "[routes.balance]\nejection = false\n",
    );
    let gateway = folder.gateway(&text).await;
    let (statuses, _) = load(&gateway, signed(&folder, CALLS as usize).await).await;
    assert_eq!(statuses.get(&200), Some(&(CALLS / 3 * 2)), "{statuses:?}");
    let records = records(&folder, gateway).await;
    let expected = [("availability", CALLS / 3), ("response-time", CALLS)];
    assert_eq!(violating(&records), BTreeMap::from(expected));
}

/// Beside an honest provider one whose answers nobody signed: each of them is a violation.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn under_load_each_answer_that_is_weaker_than_agreed_is_recorded_once() {
    const CALLS: u64 = 300;
    let folder = folder(
        "service = \"/echo\"\nuntil = 2999-01-01\nwindow = { calls = 7 }\n\
         [client]\nsubject = \"CN=client\"\n\
         [provider]\nsecurity = { properties = [\"integrity\"] }\n",
    );
    let mut lying = Backend::echo().await;
    let (_service, honest) = signing_provider(&folder).await;
    let backends = signing("lying", lying.address) + &signing("honest", honest.address());
    let more = "[routes.balance]\nselection = \"round-robin\"\nejection = false\n";
    let gateway = folder.gateway(&file(&backends, more)).await;
    let (statuses, _) = load(&gateway, signed(&folder, CALLS as usize).await).await;
    let lies = asked(&mut lying);
    assert_eq!(statuses, BTreeMap::from([(200, CALLS - lies), (502, lies)]));
    assert!(lies > 0);
    let records = records(&folder, gateway).await;
    assert_eq!(violating(&records), BTreeMap::from([("security", lies)]));
}
