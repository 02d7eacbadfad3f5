//! The log of calls: told by messages, read by operators, bounded.

use soapstone_registry::calls::{Call, CallEntry, CallPage, Calls, Logged, Outcome, Overhead};

use super::*;

/// The file of a registry with a log of that table's keys.
fn file(database: &str, log: &str) -> String {
    format!("{database}{SERVER}\n[calls]\nlisten = \"127.0.0.1:0\"\n{log}")
}

async fn begin(folder: &Folder, text: &str) -> Running {
    let config = config(folder, text).unwrap_or_else(|problems| panic!("{problems}"));
    start(config)
        .await
        .unwrap_or_else(|error| panic!("{error}"))
}

/// A call that a provider served.
fn served(name: &str, number: u64) -> Call {
    Call {
        number,
        time: jiff::Timestamp::now().as_millisecond(),
        route: "/books".to_owned(),
        service: Some("Books".to_owned()),
        binding_key: Some(format!("uddi:{name}:binding")),
        provider: Some(HOME.to_owned()),
        client: Some(format!("CN=client of {name}")),
        total: 1_000,
        backend: 800,
        security: 150,
        attempts: 1,
        status: 200,
        ..Call::default()
    }
}

/// The business of a publisher, under its own keys.
fn of(name: &str) -> String {
    uddi::write_request(&business(HOME)).replace("uddi:p1", &format!("uddi:{name}"))
}

/// Tells the registry of calls; what it answers.
fn tell(address: SocketAddr, client: &Client, calls: Vec<Call>) -> (u16, String) {
    let source = "gateway-1".to_owned();
    let told = Request::LogCalls(Calls { source, calls });
    let (_, status, body) = call(address, client, &uddi::write_request(&told));
    (status, body)
}

fn logged(calls: u64) -> (u16, String) {
    let logged = Logged { calls, unknown: 0 };
    (200, uddi::write_answer(&Answer::Logged(logged)))
}

/// What operators are told.
fn read(log: SocketAddr, path: &str, head: &str) -> (u16, String) {
    let get = format!("GET {path} HTTP/1.1\r\nhost: r\r\n{head}connection: close\r\n\r\n");
    let (status, body) = exchange(log, get.as_bytes());
    (status, String::from_utf8(body).expect("text"))
}

fn page(log: SocketAddr, query: &str) -> CallPage {
    let (status, body) = read(log, &format!("/calls{query}"), "");
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).expect("a page")
}

fn numbers(calls: &[CallEntry]) -> Vec<u64> {
    calls.iter().map(|entry| entry.call.number).collect()
}

/// What holds of a log in any database.
fn examine(folder: &Folder, address: SocketAddr, log: SocketAddr) {
    let (p1, mallory) = (client(folder, "p1"), client(folder, "mallory"));
    for (owner, name) in [(&p1, "p1"), (&mallory, "mallory")] {
        let (_, status, body) = call(address, owner, &of(name));
        assert_eq!(status, 200, "{body}");
    }
    let refused = Call {
        outcome: Outcome::Refused,
        reason: Some("replayed".to_owned()),
        ..served("p1", 2)
    };
    let told = vec![served("p1", 0), served("p1", 1), refused.clone()];
    assert_eq!(tell(address, &p1, told.clone()), logged(3));
    // The gateway did not get the answer, and tells of them again in another message.
    assert_eq!(tell(address, &p1, told.clone()), logged(3));
    let found = page(log, "");
    assert_eq!((numbers(&found.calls), found.before), (vec![2, 1, 0], None));
    let [last, ..] = &found.calls[..] else {
        panic!("three calls");
    };
    assert_eq!((last.owner.as_str(), &last.call), ("CN=p1", &refused));
    // Nobody else tells of its entry.
    let (status, body) = tell(address, &mallory, told);
    assert_eq!(status, 500);
    assert!(body.contains("errCode=\"E_userMismatch\""), "{body}");
    // The same number of another owner is another call.
    let own = Call {
        service: Some("Books".to_owned()),
        ..served("mallory", 0)
    };
    assert_eq!(tell(address, &mallory, vec![own]), logged(1));
    assert_eq!(page(log, "").calls.len(), 4);
    // By what it is about, and a page after the other.
    let of_client = page(log, "?client=CN%3Dclient%20of%20mallory");
    assert_eq!(of_client.calls.len(), 1);
    assert_eq!(page(log, "?owner=CN%3Dmallory").calls, of_client.calls);
    assert_eq!(numbers(&page(log, "?outcome=refused").calls), [2]);
    assert_eq!(page(log, "?service=Payments"), CallPage::default());
    assert_eq!(page(log, "?until=5"), CallPage::default());
    let first = page(log, "?owner=CN%3Dp1&limit=2");
    assert_eq!(numbers(&first.calls), [2, 1]);
    let before = first.before.expect("there are more");
    let next = page(log, &format!("?owner=CN%3Dp1&limit=2&before={before}"));
    assert_eq!((numbers(&next.calls), next.before), (vec![0], None));
    assert_eq!(read(log, "/calls?limit=1001", "").0, 400);
    assert_eq!(read(log, "/entries", "").0, 404);
    let (_, body) = read(
        log,
        "/calls/overhead?provider=http%3A%2F%2F127.0.0.1%3A9001%2Fbooks",
        "",
    );
    let overhead: Overhead = serde_json::from_str(&body).expect("the overhead");
    let [group] = &overhead.groups[..] else {
        panic!("one group: {body}");
    };
    // One of the four was refused.
    assert_eq!((overhead.calls, group.calls), (4, 3));
    assert_eq!(
        group.overhead.map(|it| format!("{it:.2}")).as_deref(),
        Some("0.20")
    );
    // The log holds five calls. The oldest ones of who has most go first.
    let more = (3..13).map(|number| served("p1", number)).collect();
    assert_eq!(tell(address, &p1, more), logged(10));
    assert_eq!(numbers(&page(log, "").calls), [12, 11, 10, 9, 0]);
    assert_eq!(page(log, "?owner=CN%3Dmallory").calls, of_client.calls);
}

#[tokio::test]
async fn calls_are_in_the_log_once_and_the_oldest_go_first() {
    let folder = folder();
    let running = begin(&folder, &file("", "rows = 5\n")).await;
    let (address, log) = (running.address(), running.calls().expect("a log"));
    waiting(move || examine(&folder, address, log)).await;
    running.shutdown().await;
}

#[tokio::test]
async fn postgresql_keeps_a_log_as_sqlite_does() {
    let server = match DatabaseServer::postgresql() {
        Ok(server) => server,
        Err(missing @ NoServer::NotInstalled { .. }) if std::env::var_os("CI").is_none() => {
            eprintln!("skipped: {missing}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let url = match server.location() {
        DatabaseLocation::Postgres(url) => url.clone(),
        other => panic!("{other:?}"),
    };
    let folder = folder();
    let database = format!("database = \"{url}\"\n");
    let running = begin(&folder, &file(&database, "rows = 5\n")).await;
    let (address, log) = (running.address(), running.calls().expect("a log"));
    waiting(move || examine(&folder, address, log)).await;
    running.shutdown().await;
}

#[tokio::test]
async fn calls_that_are_too_old_are_not_shown_and_are_deleted() {
    let folder = folder();
    let running = begin(&folder, &file("", "age = \"2s\"\n")).await;
    let (address, log) = (running.address(), running.calls().expect("a log"));
    let own = client(&folder, "p1");
    waiting(move || {
        call(address, &own, &of("p1"));
        assert_eq!(tell(address, &own, vec![served("p1", 0)]), logged(1));
        while !page(log, "").calls.is_empty() {
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
    })
    .await;
    running.shutdown().await;
    // A registry deletes them when it starts, and later each minute.
    let longer = begin(&folder, &file("", "age = \"2s\"\n")).await;
    longer.shutdown().await;
    let running = begin(&folder, &file("", "age = \"1d\"\n")).await;
    let log = running.calls().expect("a log");
    waiting(move || assert_eq!(page(log, ""), CallPage::default())).await;
    running.shutdown().await;
}

#[tokio::test]
async fn the_log_is_read_with_its_token_or_on_this_machine_alone() {
    let folder = folder();
    let token = "0123456789abcdef0123456789abcdef";
    folder.write("calls.token", token);
    let running = begin(&folder, &file("", "token_file = \"calls.token\"\n")).await;
    let (inquiry, log) = (running.inquiry(), running.calls().expect("a log"));
    waiting(move || {
        assert_eq!(read(log, "/healthz", "").0, 200);
        for path in ["/calls", "/calls/overhead"] {
            assert_eq!(read(log, path, "").0, 401);
            let wrong = format!("authorization: Bearer {}\r\n", token.replace('0', "1"));
            assert_eq!(read(log, path, &wrong).0, 401);
            let right = format!("authorization: Bearer {token}\r\n");
            assert_eq!(read(log, path, &right).0, 200);
            let post = format!("POST {path} HTTP/1.1\r\nhost: r\r\n{right}content-length: 0\r\nconnection: close\r\n\r\n");
            assert_eq!(exchange(log, post.as_bytes()).0, 405, "{path}");
        }
        // Whoever may ask for providers does not read it.
        assert_eq!(read(inquiry.expect("inquiries"), "/calls", "").0, 405);
    })
    .await;
    running.shutdown().await;
    let open = file("", "").replace(
        "[calls]\nlisten = \"127.0.0.1:0\"",
        "[calls]\nlisten = \"0.0.0.0:8702\"",
    );
    let Err(problems) = config(&folder, &open) else {
        panic!("anybody could read who called what");
    };
    let expected = "beyond this machine it takes a token to read";
    assert!(problems.to_string().contains(expected), "{problems}");
}
