//! The console's server-sent events: what has one sent, who is told, and until when.

use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{HeaderValue, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use soapstone_gateway::Running;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::support::{
    Backend, ENVELOPE, Folder, Nobody, config, gateway_before, post, send, soon, to_admin,
};

const TOKEN: &str = "5f0c9d3a7e1b4628a1d2c3b4e5f60718";
const OTHER_TOKEN: &str = "00112233445566778899aabbccddeeff";

/// How many pages are told of changes at once.
const MOST_WATCHING: usize = 16;

/// A page that watches.
struct Page {
    body: Incoming,
    driver: JoinHandle<Result<(), hyper::Error>>,
    read: String,
}

/// One event: why it comes, when the browser is to ask again, and what is known.
struct Event {
    why: String,
    again: String,
    state: Value,
}

impl Page {
    async fn open(gateway: &Running) -> Self {
        let address = gateway.admin_address().expect("it has one");
        let stream = TcpStream::connect(address).await.expect("it listens");
        let made = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await;
        let (mut sender, connection) = made.expect("HTTP");
        let driver = tokio::spawn(connection);
        let mut request = to_admin("/console/events");
        let bearer = HeaderValue::from_str(&format!("Bearer {TOKEN}")).expect("a value");
        request.headers_mut().insert(AUTHORIZATION, bearer);
        let answer = soon("the head", sender.send_request(request)).await;
        let answer = answer.expect("an answer");
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()[CONTENT_TYPE], "text/event-stream");
        assert_eq!(answer.headers()["cache-control"], "no-store");
        Self {
            body: answer.into_body(),
            driver,
            read: String::new(),
        }
    }

    /// The next event; `None` at the end, however that comes.
    async fn event(&mut self) -> Option<Event> {
        loop {
            if let Some((event, rest)) = self.read.split_once("\n\n") {
                let lines: Vec<&str> = event.lines().collect();
                let [why, again, data] = lines[..] else {
                    panic!("a comment, `retry` and `data`, found {event}");
                };
                let of = |line: &str, name: &str| {
                    let value = line.strip_prefix(name);
                    value
                        .unwrap_or_else(|| panic!("{name} in {line}"))
                        .to_owned()
                };
                let found = Event {
                    why: of(why, ": "),
                    again: of(again, "retry: "),
                    state: serde_json::from_str(&of(data, "data: ")).expect("JSON"),
                };
                self.read = rest.to_owned();
                return Some(found);
            }
            let frame = soon("more of the answer", self.body.frame()).await?;
            let data = frame.ok()?.into_data().expect("no trailers");
            self.read
                .push_str(std::str::from_utf8(&data).expect("text"));
        }
    }

    /// The first event that a change caused, and that shows it.
    async fn change(&mut self, shows: impl Fn(&Value) -> bool) -> Event {
        loop {
            let event = self.event().await.expect("an event");
            if shows(&event.state) {
                assert_eq!(event.why, "change");
                return event;
            }
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

/// A gateway whose console wants a token, and records what it refuses.
async fn recording(folder: &Folder, backend: &Backend) -> Running {
    folder.gateway(&text(backend, TOKEN, "/books")).await
}

fn text(backend: &Backend, token: &str, path: &str) -> String {
    format!(
        "listen = \"127.0.0.1:0\"\nadmin = {{ listen = \"127.0.0.1:0\", token = \"{token}\" }}\n\
         record = {{ refused = 9 }}\n[[routes]]\npath = \"{path}\"\nbackend = \"http://{}/books\"\n\
         [routes.inbound]\nusers = [{{ name = \"alice\", password = \"not for the page\" }}]\n\
         security = {{ mechanism = \"username\", password = \"text\" }}\n",
        backend.address
    )
}

#[tokio::test]
async fn a_refused_message_is_told_when_it_is_refused() {
    let (folder, backend) = (Folder::with_keys(), Backend::echo().await);
    let gateway = recording(&folder, &backend).await;
    let mut page = Page::open(&gateway).await;
    let first = page.event().await.expect("an event");
    assert_eq!((&*first.why, &*first.again), ("begin", "2000"));
    assert_eq!(first.state["refused"], serde_json::json!([]));
    let refused = send(gateway.address(), post("/books", ENVELOPE)).await;
    assert_eq!(refused.status, StatusCode::INTERNAL_SERVER_ERROR);
    let told = page.change(|state| !state["refused"][0].is_null()).await;
    assert_eq!(told.state["refused"][0]["reason"], "security-missing");
    // In the same event as its counter.
    let counted = "soapstone_refused_messages_total{route=\"/books\",direction=\"inbound\",mechanism=\"username\"} 1";
    let metrics = told.state["metrics"].as_str().expect("text");
    assert!(metrics.lines().any(|line| line == counted), "{metrics}");
}

#[tokio::test]
async fn a_backend_that_is_gone_is_told_when_that_is_known() {
    let nobody = Nobody::new();
    let admin = format!("admin = {{ listen = \"127.0.0.1:0\", token = \"{TOKEN}\" }}");
    let gateway = gateway_before(nobody.address, &admin).await;
    let mut page = Page::open(&gateway).await;
    let is_up = |state: &Value, up: u8| {
        let metrics = state["metrics"].as_str().expect("text");
        let mut lines = metrics.lines();
        let line = lines.find(|line| line.starts_with("soapstone_backend_up{"));
        line.is_some_and(|line| line.ends_with(&format!("}} {up}")))
    };
    let first = page.event().await.expect("an event");
    assert!(is_up(&first.state, 1));
    let failed = send(gateway.address(), post("/echo", ENVELOPE)).await;
    assert_eq!(failed.status, StatusCode::BAD_GATEWAY);
    page.change(|state| is_up(state, 0)).await;
}

#[tokio::test]
async fn a_configuration_is_told_when_it_is_taken_into_use() {
    let (folder, backend) = (Folder::with_keys(), Backend::echo().await);
    let gateway = recording(&folder, &backend).await;
    let mut page = Page::open(&gateway).await;
    assert_eq!(
        page.event().await.map(|it| it.why),
        Some("begin".to_owned())
    );
    gateway.reload(config(&text(&backend, TOKEN, "/maps")));
    page.change(|state| state["routes"][0]["path"] == "/maps")
        .await;
}

/// The token of an operator who left opens nothing, not even what is open.
#[tokio::test]
async fn who_is_not_let_in_any_more_is_told_nothing_more() {
    let (folder, backend) = (Folder::with_keys(), Backend::echo().await);
    let gateway = recording(&folder, &backend).await;
    let mut page = Page::open(&gateway).await;
    assert!(page.event().await.is_some());
    gateway.reload(config(&text(&backend, OTHER_TOKEN, "/books")));
    assert!(page.event().await.is_none());
}

#[tokio::test]
async fn the_drain_is_told_and_ends_the_events() {
    let (folder, backend) = (Folder::with_keys(), Backend::echo().await);
    let gateway = recording(&folder, &backend).await;
    let mut page = Page::open(&gateway).await;
    let first = page.event().await.expect("an event");
    assert_eq!(first.state["draining"], false);
    gateway.announce_end();
    page.change(|state| state["draining"] == true).await;
    assert!(page.event().await.is_none());
    // Whoever asks from then on is told once.
    let mut late = Page::open(&gateway).await;
    let only = late.event().await.expect("an event");
    assert_eq!((&*only.why, &*only.again), ("begin", "10000"));
    assert!(late.event().await.is_none());
}

#[tokio::test]
async fn pages_that_watch_do_not_keep_the_gateway_from_ending() {
    let (folder, backend) = (Folder::with_keys(), Backend::echo().await);
    let gateway = recording(&folder, &backend).await;
    let mut page = Page::open(&gateway).await;
    assert!(page.event().await.is_some());
    assert_eq!(soon("the end", gateway.shutdown()).await, 0);
}

#[tokio::test]
async fn so_many_pages_are_told_at_once_and_the_next_one_is_told_once() {
    let (folder, backend) = (Folder::with_keys(), Backend::echo().await);
    let gateway = recording(&folder, &backend).await;
    let mut pages = Vec::new();
    for _ in 0..MOST_WATCHING {
        let mut page = Page::open(&gateway).await;
        let first = page.event().await.expect("an event");
        assert_eq!(first.again, "2000");
        pages.push(page);
    }
    let mut next = Page::open(&gateway).await;
    let only = next.event().await.expect("an event");
    assert_eq!((&*only.why, &*only.again), ("begin", "10000"));
    assert!(next.event().await.is_none());
    // A page that is closed leaves its place to another one.
    drop(pages.pop());
    soon("a place", async {
        loop {
            let mut page = Page::open(&gateway).await;
            let first = page.event().await.expect("an event");
            if first.again == "2000" {
                return;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    })
    .await;
}
