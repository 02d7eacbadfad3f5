//! Traces: which requests are recorded, what their spans say, and what a collector that is slow or
//! away costs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::Full;
use serde_json::Value;
use soapstone_gateway::Running;

use crate::support::{
    Backend, ENVELOPE, Folder, Nobody, Said, Seen, header, post, send, silent_backend, soon,
};

const TABLES: &str = "users = [{ name = \"alice\", password = \"secret\" }]\nsecurity = { mechanism = \"username\" }\n";

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

/// A message of alice.
fn message() -> Vec<u8> {
    Folder::new().secured(TABLES, ENVELOPE)
}

/// Collects what it is sent.
async fn collector() -> Backend {
    Backend::answering(|_| Response::new(Full::from("{}"))).await
}

/// A file whose route is called `books`.
fn file(backend: &Backend, collector: std::net::SocketAddr, rest: &str) -> String {
    format!(
        "LISTEN\n[traces]\ncollector = \"http://{collector}\"\n{rest}\n[[routes]]\nname = \"books\"\npath = \"/echo\"\n\
         backend = \"http://{}/echo\"\n[routes.inbound]\n{TABLES}",
        backend.address
    )
}

/// A request within a trace, with these flags.
fn within_trace(body: Vec<u8>, flags: &str) -> Request<Full<Bytes>> {
    let mut request = post("/echo", body);
    let context = format!("00-{TRACE}-{CALLER}-{flags}");
    let context = context.parse().expect("a value");
    request.headers_mut().insert(header("traceparent"), context);
    request
}

/// The spans of a request to the collector.
fn spans(seen: &Seen) -> Vec<Value> {
    let request: Value = serde_json::from_slice(&seen.body).expect("it is JSON");
    let spans = &request["resourceSpans"][0]["scopeSpans"][0]["spans"];
    spans.as_array().expect("a list").clone()
}

/// What a span says beside its names and times.
fn attributes(span: &Value) -> BTreeMap<String, String> {
    let attributes = span["attributes"].as_array().expect("a list").iter();
    let told = attributes.map(|attribute| {
        let value = attribute["value"].as_object().expect("an object");
        let value = value.values().next().and_then(Value::as_str);
        let name = attribute["key"].as_str().expect("a name");
        (name.to_owned(), value.expect("a text").to_owned())
    });
    told.collect()
}

fn nanoseconds(span: &Value, which: &str) -> u64 {
    let text = span[which].as_str().expect("a text");
    text.parse().expect("a number")
}

/// The value of a metric without labels.
fn counted(gateway: &Running, metric: &str) -> u64 {
    let metrics = gateway.metrics();
    let line = metrics
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{metric} ")));
    line.expect("it is there from the start")
        .parse()
        .expect("a number")
}

#[tokio::test]
async fn each_step_of_a_request_is_a_span_within_the_trace_of_its_client() {
    let (folder, mut collector) = (Folder::new(), collector().await);
    let mut backend = Backend::echo().await;
    let rest = "authorization = \"Bearer hidden\"\nservice = \"shop\"";
    let text = file(&backend, collector.address, rest);
    let gateway = folder.gateway(&text).await;
    let answer = send(gateway.address(), within_trace(message(), "01")).await;
    assert_eq!(answer.status, StatusCode::OK);
    // The end hands over what waits.
    soon("the end", gateway.shutdown()).await;
    let seen = collector.seen.try_recv().expect("spans were exported");
    assert_eq!(seen.uri, "/v1/traces");
    assert_eq!(seen.headers["content-type"], "application/json");
    assert_eq!(seen.headers["authorization"], "Bearer hidden");
    let spans = spans(&seen);
    let by_name = |name: &str| {
        let mut found = spans.iter().filter(|span| span["name"] == name);
        found.next().unwrap_or_else(|| panic!("no span {name}"))
    };
    let server = by_name("POST /echo");
    assert_eq!(
        (&server["kind"], &server["parentSpanId"]),
        (&Value::from(2), &Value::from(CALLER))
    );
    let expected = [
        ("http.request.method", "POST"),
        ("http.response.status_code", "200"),
        ("http.route", "/echo"),
        ("soapstone.route", "books"),
    ];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(attributes(server), BTreeMap::from(expected));
    assert!(server.get("status").is_none(), "{server}");
    for step in ["parse", "authenticate", "replay", "open", "forward"] {
        assert_eq!(attributes(by_name(step))["soapstone.direction"], "inbound");
    }
    let calling = by_name("backend");
    for span in &spans {
        assert_eq!(span["traceId"], TRACE);
        let (begun, ended) = ("startTimeUnixNano", "endTimeUnixNano");
        assert!(
            nanoseconds(span, begun) <= nanoseconds(span, ended),
            "{span}"
        );
        if span["name"] != "POST /echo" {
            assert_eq!(span["parentSpanId"], server["spanId"], "{span}");
            assert!(
                nanoseconds(server, begun) <= nanoseconds(span, begun),
                "{span}"
            );
            assert!(
                nanoseconds(span, ended) <= nanoseconds(server, ended),
                "{span}"
            );
        }
    }
    // The backend goes on with the trace, below the span of the request to it.
    let passed = backend.seen.try_recv().expect("it was passed on");
    let span = calling["spanId"].as_str().expect("a text");
    assert_eq!(
        passed.headers["traceparent"],
        format!("00-{TRACE}-{span}-01")
    );
    let told = String::from_utf8_lossy(&seen.body);
    for secret in ["secret", "alice", "hello", "hidden", "urn:echo"] {
        assert!(!told.contains(secret), "{secret} in {told}");
    }
}

#[tokio::test]
async fn the_span_of_a_refused_message_ends_with_the_time_that_hides_the_reason() {
    let (folder, mut collector) = (Folder::new(), collector().await);
    let backend = Backend::echo().await;
    let gateway = folder.gateway(&file(&backend, collector.address, "")).await;
    let message = message();
    send(gateway.address(), post("/echo", message.clone())).await;
    let again = send(gateway.address(), post("/echo", message)).await;
    assert_eq!(again.status, StatusCode::INTERNAL_SERVER_ERROR);
    soon("the end", gateway.shutdown()).await;
    let mut all = Vec::new();
    while let Ok(seen) = collector.seen.try_recv() {
        all.extend(spans(&seen));
    }
    let servers = all.iter().filter(|span| span["name"] == "POST /echo");
    let [accepted, refused]: [&Value; 2] = servers
        .collect::<Vec<_>>()
        .try_into()
        .expect("a span of each");
    assert_ne!(accepted["traceId"], refused["traceId"]);
    assert_eq!(refused["status"]["code"], 2);
    assert_eq!(attributes(refused)["error.type"], "replayed");
    assert!(refused.get("parentSpanId").is_none(), "{refused}");
    // Both were answered, the refused one at a multiple of 50 ms.
    let took = nanoseconds(refused, "endTimeUnixNano") - nanoseconds(refused, "startTimeUnixNano");
    assert!(took >= 50_000_000, "{took} ns");
    // The steps up to the one that refused it.
    let steps = all
        .iter()
        .filter(|span| span["parentSpanId"] == refused["spanId"]);
    let names: Vec<&str> = steps.filter_map(|span| span["name"].as_str()).collect();
    assert!(names.contains(&"authenticate"), "{names:?}");
    assert!(!names.contains(&"open"), "{names:?}");
    assert!(!names.contains(&"backend"), "{names:?}");
}

#[tokio::test]
async fn the_flag_of_the_client_decides_otherwise_chance_and_the_rate_above_all() {
    let (folder, collector) = (Folder::new(), collector().await);
    let mut backend = Backend::echo().await;
    let waiting = |gateway: &Running| {
        let (waiting, exported) = ("soapstone_spans_waiting", "soapstone_spans_exported_total");
        counted(gateway, waiting) + counted(gateway, exported)
    };
    // A request in a thousand million begins a trace of its own.
    let rest = "one_in = 1000000000\nrate = \"1/h\"";
    let gateway = folder
        .gateway(&file(&backend, collector.address, rest))
        .await;
    send(gateway.address(), post("/echo", message())).await;
    let passed = backend.seen.recv().await.expect("it was passed on");
    assert!(!passed.headers.contains_key("traceparent"));
    send(gateway.address(), within_trace(message(), "00")).await;
    let passed = backend.seen.recv().await.expect("it was passed on");
    let unchanged = format!("00-{TRACE}-{CALLER}-00");
    assert_eq!(passed.headers["traceparent"], unchanged);
    assert_eq!(waiting(&gateway), 0);
    send(gateway.address(), within_trace(message(), "01")).await;
    let recorded = waiting(&gateway);
    assert!(recorded > 5, "{recorded} spans");
    // Whoever may send requests may set the flag (Trace Context, 7.2).
    assert_eq!(counted(&gateway, "soapstone_traces_over_rate_total"), 0);
    send(gateway.address(), within_trace(message(), "01")).await;
    assert_eq!(counted(&gateway, "soapstone_traces_over_rate_total"), 1);
    assert_eq!(waiting(&gateway), recorded);
}

#[tokio::test]
async fn a_collector_that_is_away_or_silent_costs_spans_and_keeps_nobody_waiting() {
    let folder = Folder::new();
    let backend = Backend::echo().await;
    let (nobody, (silent, _held)) = (Nobody::new(), silent_backend().await);
    for address in [nobody.address, silent] {
        let (said, _listening) = Said::listen();
        let gateway = folder.gateway(&file(&backend, address, "")).await;
        for _ in 0..3 {
            let answer = send(gateway.address(), post("/echo", message())).await;
            assert_eq!(answer.status, StatusCode::OK);
        }
        assert_eq!(counted(&gateway, "soapstone_spans_exported_total"), 0);
        soon("the end", gateway.shutdown()).await;
        let told = match address == silent {
            true => "spans were lost at the end: the collector did not take them in time",
            false => "spans are lost: the collector does not take them",
        };
        assert_eq!(said.times(told), 1, "{said}");
    }
}

#[tokio::test]
async fn a_collector_that_asks_for_patience_gets_the_spans_again() {
    let folder = Folder::new();
    let backend = Backend::echo().await;
    let asked = Arc::new(AtomicU32::new(0));
    let asking = Arc::clone(&asked);
    let collector = Backend::answering(move |_| {
        let mut response = Response::new(Full::from("{}"));
        if asking.fetch_add(1, Ordering::Relaxed) == 0 {
            *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
            let wait = "0".parse().expect("a value");
            response.headers_mut().insert("retry-after", wait);
        } else {
            let partial = "{\"partialSuccess\":{\"rejectedSpans\":\"2\"}}";
            *response.body_mut() = Full::from(partial);
        }
        response
    })
    .await;
    let gateway = folder.gateway(&file(&backend, collector.address, "")).await;
    send(gateway.address(), post("/echo", message())).await;
    let recorded = counted(&gateway, "soapstone_spans_waiting");
    soon("the second attempt", async {
        while counted(&gateway, "soapstone_spans_waiting") > 0 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(asked.load(Ordering::Relaxed), 2);
    let exported = counted(&gateway, "soapstone_spans_exported_total");
    assert_eq!(exported, recorded - 2);
    assert_eq!(counted(&gateway, "soapstone_spans_lost_total"), 2);
}

#[tokio::test]
async fn spans_that_the_collector_will_never_take_are_lost_at_once_and_told_once() {
    let folder = Folder::new();
    let backend = Backend::echo().await;
    let collector = Backend::answering(|_| {
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::UNAUTHORIZED;
        response
    })
    .await;
    let (said, _listening) = Said::listen();
    let gateway = folder.gateway(&file(&backend, collector.address, "")).await;
    for _ in 0..2 {
        send(gateway.address(), post("/echo", message())).await;
        soon("the refusal", async {
            while counted(&gateway, "soapstone_spans_waiting") > 0 {
                tokio::task::yield_now().await;
            }
        })
        .await;
    }
    assert!(counted(&gateway, "soapstone_spans_lost_total") > 10);
    assert_eq!(said.times("the collector answered 401 Unauthorized"), 1);
}

#[tokio::test]
async fn a_reload_begins_and_ends_recording() {
    let (folder, collector) = (Folder::new(), collector().await);
    let backend = Backend::echo().await;
    let with = file(&backend, collector.address, "");
    let table = format!("[traces]\ncollector = \"http://{}\"\n", collector.address);
    let without = with.replace(&table, "");
    assert!(!without.contains("traces"));
    let gateway = folder.gateway(&without).await;
    let mut recorded = Vec::new();
    for text in [&without, &with, &without] {
        gateway.reload(folder.config(text));
        send(gateway.address(), within_trace(message(), "01")).await;
        let (waiting, exported) = ("soapstone_spans_waiting", "soapstone_spans_exported_total");
        let lost = counted(&gateway, "soapstone_spans_lost_total");
        recorded.push(counted(&gateway, waiting) + counted(&gateway, exported) + lost);
    }
    assert_eq!(recorded[0], 0);
    assert!(recorded[1] > 5, "{recorded:?}");
    assert_eq!(recorded[2], recorded[1]);
}
