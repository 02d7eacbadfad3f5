//! The audit trail and the trace of a request.

use http::StatusCode;
use serde_json::Value;

use crate::support::{Backend, ENVELOPE, Folder, get, header, post, send};

const TABLES: &str = "users = [{ name = \"alice\", password = \"secret\" }]\nsecurity = { mechanism = \"username\" }\n";

fn message() -> Vec<u8> {
    Folder::new().secured(TABLES, ENVELOPE)
}

fn lines(text: &str) -> Vec<Value> {
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a line is JSON"))
        .collect()
}

const TRACE: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[tokio::test]
async fn each_message_has_a_line_with_who_sent_it_and_what_became_of_it() {
    let folder = Folder::new();
    let mut backend = Backend::echo().await;
    let text = format!(
        "LISTEN\n[audit]\nfile = \"audit.jsonl\"\n[[routes]]\nname = \"books\"\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n\
         [routes.inbound]\n{TABLES}",
        backend.address
    );
    let gateway = folder.gateway(&text).await;
    let message = message();
    let mut request = post("/echo", message.clone());
    let trace = TRACE.parse().expect("a value");
    request.headers_mut().insert(header("traceparent"), trace);
    let answer = send(gateway.address(), request).await;
    assert_eq!(answer.status, StatusCode::OK);
    let seen = backend.seen.recv().await.expect("it was passed on");
    assert_eq!(seen.headers["traceparent"], TRACE);
    // The same again is a replay.
    let again = send(gateway.address(), post("/echo", message.clone())).await;
    assert_eq!(again.status, StatusCode::INTERNAL_SERVER_ERROR);
    // The file is moved away, as a rotation does.
    let (file, moved) = (folder.path("audit.jsonl"), folder.path("audit.jsonl.1"));
    let written = |file: &std::path::Path, count: usize| {
        let file = file.to_path_buf();
        crate::support::soon("the lines", async move {
            loop {
                let text = std::fs::read_to_string(&file).unwrap_or_default();
                if text.lines().count() == count && text.ends_with('\n') {
                    return text;
                }
                tokio::task::yield_now().await;
            }
        })
    };
    let text = written(&file, 2).await;
    std::fs::rename(&file, &moved).expect("it is ours");
    gateway.reopen_audit();
    send(gateway.address(), get("/echo")).await;
    let third = written(&file, 1).await;
    assert_eq!(std::fs::read_to_string(&moved).expect("it is there"), text);

    let [accepted, refused] = lines(&text).try_into().expect("two lines");
    for (key, expected) in [
        ("route", Value::from("books")),
        ("client", Value::from("127.0.0.1")),
        ("sender", Value::from("alice")),
        ("proven_by", Value::from("user")),
        ("operation", Value::from("urn:echo")),
        ("verdict", Value::from("accepted")),
        ("status", Value::from(200)),
        ("trace", Value::from("0af7651916cd43dd8448eb211c80319c")),
        ("request_bytes", Value::from(message.len())),
        ("response_bytes", Value::from(answer.body.len())),
    ] {
        assert_eq!(accepted[key], expected, "{key} of {accepted}");
    }
    assert!(accepted["microseconds"].is_u64(), "{accepted}");
    assert!(accepted["time"].is_string() && accepted.get("reason").is_none());
    assert_eq!(
        accepted["request"],
        answer.headers["x-request-id"].to_str().expect("text")
    );
    for (key, expected) in [
        ("verdict", Value::from("refused")),
        ("reason", Value::from("replayed")),
        ("status", Value::from(500)),
        ("sender", Value::Null),
    ] {
        assert_eq!(refused[key], expected, "{key} of {refused}");
    }
    assert_eq!(lines(&third)[0]["status"], 405);
}

#[tokio::test]
async fn a_context_of_a_trace_that_cannot_be_read_does_not_pass_on() {
    let mut backend = Backend::echo().await;
    let gateway = crate::support::gateway_before(backend.address, "").await;
    for (value, passes) in [
        (TRACE, true),
        ("00-0af7651916cd43dd8448eb211c80319c-1-01", false),
    ] {
        let mut request = post("/echo", ENVELOPE);
        let headers = request.headers_mut();
        headers.insert(header("traceparent"), value.parse().expect("a value"));
        headers.insert(header("tracestate"), "a=b".parse().expect("a value"));
        send(gateway.address(), request).await;
        let seen = backend.seen.recv().await.expect("it was passed on");
        assert_eq!(seen.headers.contains_key("traceparent"), passes);
        assert_eq!(seen.headers.contains_key("tracestate"), passes);
    }
}

#[tokio::test]
async fn a_trail_that_cannot_be_written_is_told_at_the_start() {
    let folder = Folder::new();
    let text = "LISTEN\naudit = { file = \"absent/audit.jsonl\" }\n[[routes]]\npath = \"/\"\nbackend = \"http://127.0.0.1:9\"\n";
    let error = soapstone_gateway::Gateway::start(folder.config(text))
        .await
        .expect_err("there is no such folder");
    let expected = format!(
        "the audit trail {} cannot be written: No such file or directory (os error 2)",
        folder.path("absent/audit.jsonl").display()
    );
    assert_eq!(error.to_string(), expected);
}
