//! What becomes of requests that a backend fails, and of the backend.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::StatusCode;
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::task::JoinSet;

use super::{
    IDEMPOTENT, Manner, Member, balanced, becomes, call, callees, counts, file, metric, of_member,
    usable,
};
use crate::support::{ENVELOPE, Nobody, gateway, get, post, send, silent_backend, soon};

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

/// The statuses of calls from eight clients at once, and how often each was there.
async fn statuses(address: SocketAddr) -> BTreeMap<u16, u32> {
    let mut clients = JoinSet::new();
    for _ in 0..8 {
        clients.spawn(async move {
            let mut statuses = Vec::new();
            for _ in 0..20 {
                let answer = send(address, post("/echo", ENVELOPE)).await;
                statuses.push(answer.status.as_u16());
            }
            statuses
        });
    }
    let answers = soon("all answers", clients.join_all()).await;
    let mut counts = BTreeMap::new();
    for status in answers.into_iter().flatten() {
        *counts.entry(status).or_insert(0) += 1;
    }
    counts
}

/// The lines of the metrics that tell of a backend that is none of the members.
fn of_split(name: &str, address: SocketAddr) -> String {
    format!("soapstone_balanced_{name}{{route=\"/echo\",backend=\"{address}\"}}")
}

const SPLIT: &str = "[routes.balance]\nselection = \"round-robin\"\nejection = { time = \"1h\", longest = \"1h\" }\n";

/// A split after the connection: it is taken, and nothing comes back. The calls that went there are
/// answered once the time is over, and no other call is.
#[tokio::test]
async fn a_backend_that_takes_requests_and_is_silent_is_ejected_and_harms_no_other_call() {
    let (silent, mut accepted) = silent_backend().await;
    let others = [
        Member::new("a", Manner::Names).await,
        Member::new("b", Manner::Names).await,
    ];
    let backends = [
        (silent, ""),
        (others[0].address, ""),
        (others[1].address, ""),
    ];
    let text = file(&backends, SPLIT);
    let gateway =
        gateway(&text.replace("LISTEN", "LISTEN\ntimeouts = { response = \"1s\" }")).await;
    let counts = statuses(gateway.address()).await;
    let mut held = Vec::new();
    while let Ok(stream) = accepted.try_recv() {
        held.push(stream);
    }
    let went_there = u32::try_from(held.len()).expect("few");
    assert!((1..160).contains(&went_there), "{went_there}");
    assert_eq!(
        counts,
        BTreeMap::from([(200, 160 - went_there), (504, went_there)])
    );
    assert_eq!(
        others[0].requests() + others[1].requests(),
        160 - went_there
    );
    assert_eq!(metric(&gateway, &of_split("usable", silent)).await, 0);
    assert_eq!(
        metric(&gateway, &of_split("ejections_total", silent)).await,
        1
    );
    // Nothing goes there any more.
    callees(&gateway, 50).await;
    assert!(accepted.try_recv().is_err());
}

/// A split before the connection: its system drops each SYN, as that of a server does whose queue
/// of connections is full. Nothing of a request has left, and so no call is lost.
#[tokio::test]
async fn a_backend_that_takes_no_connection_is_ejected_and_no_call_is_lost() {
    let socket = TcpSocket::new_v4().expect("a socket");
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    socket.bind(any).expect("a free port");
    let full = socket.listen(0).expect("it listens");
    let split = full.local_addr().expect("it is bound");
    let mut waiting = Vec::new();
    let patience = Duration::from_millis(200);
    soon("a full queue", async {
        while let Ok(stream) = tokio::time::timeout(patience, TcpStream::connect(split)).await {
            waiting.push(stream.expect("it is in the queue"));
        }
    })
    .await;
    let others = [
        Member::new("a", Manner::Names).await,
        Member::new("b", Manner::Names).await,
    ];
    let backends = [
        (split, ""),
        (others[0].address, ""),
        (others[1].address, ""),
    ];
    let text = file(&backends, SPLIT);
    let gateway =
        gateway(&text.replace("LISTEN", "LISTEN\ntimeouts = { connect = \"500ms\" }")).await;
    let counts = statuses(gateway.address()).await;
    assert_eq!(counts, BTreeMap::from([(200, 160)]));
    assert_eq!(others[0].requests() + others[1].requests(), 160);
    assert_eq!(metric(&gateway, &of_split("usable", split)).await, 0);
    let failed = metric(&gateway, &of_split("failed_total", split)).await;
    assert!(failed > 0, "{failed}");
    callees(&gateway, 50).await;
    assert_eq!(
        metric(&gateway, &of_split("failed_total", split)).await,
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

/// Otherwise calls that could go nowhere else would leave the next ones no other attempt.
#[tokio::test]
async fn a_call_that_no_other_backend_can_take_costs_no_repetition() {
    let busy = Member::new("busy", Manner::Names).await;
    let other = Member::new("other", Manner::Names).await;
    busy.status.store(503, Ordering::Relaxed);
    other.health.store(503, Ordering::Relaxed);
    let backends = [(busy.address, ""), (other.address, "backup = true")];
    let more = format!(
        "{IDEMPOTENT}ejection = false\n[routes.balance.check]\npath = \"/healthz\"\ninterval = \"5ms\"\nfall = 1\nrise = 1\n"
    );
    let gateway = gateway(&file(&backends, &more)).await;
    becomes(&gateway, &other, false).await;
    // More than may be repeated in a row, until nothing would be left for the next one.
    for _ in 0..22 {
        let answer = call(&gateway).await;
        assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    }
    other.health.store(200, Ordering::Relaxed);
    becomes(&gateway, &other, true).await;
    assert_eq!(callees(&gateway, 1).await, counts([("other", 1)]));
    assert_eq!((busy.requests(), other.requests()), (23, 1));
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
