//! Priority by class: who finds room at a backend that is full of calls.

use http::Response;
use http_body_util::Full;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::*;
use crate::support::{silent_backend, soon};

/// Who calls under which class.
const CLASSES: [(&str, &str); 3] = [
    ("gateway", "bronze"),
    ("mallory", "silver"),
    ("client", "gold"),
];

/// A folder with an agreement of each class.
fn classes() -> Folder {
    let folder = folder("");
    for (client, class) in CLASSES {
        let agreement = format!(
            "service = \"/echo\"\nclass = \"{class}\"\nuntil = 2999-01-01\nwindow = {{ calls = 10 }}\n\
             [client]\nsubject = \"CN={client}\"\n"
        );
        folder.write(format!("{class}.toml"), agreement);
    }
    folder
}

/// A gateway with the three agreements, whose backend has room for so many calls.
async fn limited(folder: &Folder, backend: SocketAddr, limit: u32) -> Running {
    let backends = format!("{{ url = \"http://{backend}/echo\", limit = {limit} }}");
    let files = "\"gold.toml\", \"silver.toml\", \"bronze.toml\"";
    let text = file(&backends, "").replace("\"gold.toml\"", files);
    folder.gateway(&text).await
}

fn message(folder: &Folder, client: &str) -> Vec<u8> {
    let tables = secured::client("sign").replace("client.", &format!("{client}."));
    folder.secured(&tables, ENVELOPE)
}

/// The backend holds every call, and each class calls until there is no room for it: of 20 places
/// bronze leaves a quarter to the others, silver a tenth, and gold has all of them.
#[tokio::test]
async fn a_full_backend_has_room_for_higher_classes() {
    let folder = classes();
    let (backend, mut accepted) = silent_backend().await;
    let gateway = limited(&folder, backend, 20).await;
    let mut held = Vec::new();
    let mut calling = JoinSet::new();
    for ((client, class), expected) in CLASSES.into_iter().zip([15, 18, 20]) {
        let refused = loop {
            let (address, message) = (gateway.address(), message(&folder, client));
            calling.spawn(async move { send(address, post("/echo", message)).await });
            let came = soon("room or an answer", async {
                tokio::select! {
                    stream = accepted.recv() => Ok(stream.expect("it listens")),
                    answer = calling.join_next() => Err(answer.expect("one calls").expect("no panic")),
                }
            });
            match came.await {
                Ok(stream) => held.push(stream),
                Err(answer) => break answer,
            }
        };
        assert_eq!(refused.status, StatusCode::SERVICE_UNAVAILABLE, "{class}");
        assert_eq!(refused.headers["retry-after"], "1", "{class}");
        assert_eq!(held.len(), expected, "{class}");
    }
    let busy = "soapstone_failures_total{route=\"/echo\",reason=\"backends-busy\"} 3";
    let metrics = gateway.metrics();
    assert!(metrics.lines().any(|line| line == busy), "{metrics}");
}

/// Two gold callers, who need no more than what bronze leaves free, beside a flood of bronze calls
/// that never lets up: gold is served each time, and bronze is refused.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_flood_of_a_lower_class_takes_no_call_of_a_higher_one() {
    const GOLD_CALLS: usize = 100;
    let folder = classes();
    let backend = Backend::answering(|seen| {
        std::thread::sleep(std::time::Duration::from_millis(5));
        let mut response = Response::new(Full::new(seen.body.clone()));
        let media_type = seen.headers["content-type"].clone();
        response.headers_mut().insert("content-type", media_type);
        response
    });
    let backend = backend.await;
    // Bronze leaves 2 of 8 free.
    let gateway = limited(&folder, backend.address, 8).await;
    let (tell, mut flooding) = mpsc::unbounded_channel();
    let mut flood = JoinSet::new();
    let bronze = folder.securer(&secured::client("sign").replace("client.", "gateway."));
    let bronze = std::sync::Arc::new(bronze);
    for _ in 0..24 {
        let (address, bronze, tell) = (
            gateway.address(),
            std::sync::Arc::clone(&bronze),
            tell.clone(),
        );
        flood.spawn(async move {
            loop {
                let message = bronze.secure(ENVELOPE).expect("it can be secured").bytes;
                let answer = send(address, post("/echo", message)).await;
                // The test has ended.
                if tell.send(answer.status.as_u16()).is_err() {
                    return;
                }
            }
        });
    }
    soon("the flood", async {
        while flooding.recv().await.expect("it goes on") != 503 {}
    })
    .await;
    let mut gold = JoinSet::new();
    for _ in 0..2 {
        let messages: Vec<_> = (0..GOLD_CALLS / 2)
            .map(|_| message(&folder, "client"))
            .collect();
        let address = gateway.address();
        gold.spawn(async move {
            let mut statuses = Vec::new();
            for message in messages {
                let answer = send(address, post("/echo", message)).await;
                statuses.push(answer.status.as_u16());
            }
            statuses
        });
    }
    let gold: Vec<u16> = gold.join_all().await.into_iter().flatten().collect();
    assert_eq!(gold, [200; GOLD_CALLS]);
    let mut bronze = Vec::new();
    while let Ok(status) = flooding.try_recv() {
        bronze.push(status);
    }
    assert!(bronze.contains(&200) && bronze.contains(&503), "{bronze:?}");
    flood.shutdown().await;
}
