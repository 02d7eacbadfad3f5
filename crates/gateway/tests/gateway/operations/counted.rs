//! Figures by operation: which calls count for which operation, and who can make a new one.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode};
use http_body_util::Full;
use serde_json::Value;
use soapstone_gateway::Running;

use super::bank::{GCM, Site, a_bank, bank, element, envelope_with};
use crate::secured::{client, service};
use crate::support::{Backend, Folder, get, post, send, to_admin};

fn envelope(operation: &str) -> String {
    format!(
        "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body>\
         <e:{operation} xmlns:e=\"urn:echo\">hello</e:{operation}></s:Body></s:Envelope>"
    )
}

async fn gateway(folder: &Folder, backend: &Backend, tables: &str) -> Running {
    let text = format!(
        "LISTEN\nadmin = \"127.0.0.1:0\"\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n\
         [routes.inbound]\n{tables}",
        backend.address
    );
    folder.gateway(&text).await
}

async fn called(gateway: &Running, body: impl Into<Bytes>) -> StatusCode {
    send(gateway.address(), post("/echo", body)).await.status
}

/// What `/operations` tells of a route: names, and the figures of each; `*` is all others.
async fn told(gateway: &Running) -> Vec<(String, Value)> {
    let admin = gateway.admin_address().expect("it has one");
    let answer = send(admin, to_admin("/operations")).await;
    let told: Value = serde_json::from_str(&answer.body).expect("JSON");
    let operations = told["routes"][0]["operations"].as_array().expect("a list");
    let named = operations.iter().map(|one| {
        let name = one["name"].as_str().unwrap_or("*");
        (name.to_owned(), one.clone())
    });
    named.collect()
}

/// The number of a metric of one operation.
fn metric(gateway: &Running, name: &str, operation: &str) -> Option<f64> {
    let sample =
        format!("soapstone_operation_{name}{{route=\"/echo\",operation=\"{operation}\"}} ");
    let metrics = gateway.metrics();
    let mut lines = metrics.lines();
    let value = lines.find_map(|line| line.strip_prefix(&sample))?;
    Some(value.parse().expect("a number"))
}

#[tokio::test]
async fn a_call_counts_for_the_element_in_its_proven_body() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let gateway = gateway(&folder, &backend, &service("sign-encrypt")).await;
    let secured = |operation: &str| folder.secured(&client("sign-encrypt"), &envelope(operation));
    for operation in ["buy", "buy", "sell"] {
        assert_eq!(called(&gateway, secured(operation)).await, StatusCode::OK);
    }
    // A copy, and a message of nobody: their operations are nobody's word.
    let copied = secured("buy");
    assert_eq!(called(&gateway, copied.clone()).await, StatusCode::OK);
    for refused in [copied, envelope("evil").into_bytes()] {
        let status = called(&gateway, refused).await;
        assert_eq!(status, StatusCode::INTERNAL_SERVER_ERROR);
    }
    let told = told(&gateway).await;
    let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["{urn:echo}buy", "{urn:echo}sell", "*"]);
    let of = |index: usize, field: &str| told[index].1[field].as_f64().expect("a number");
    for (index, calls, refusals) in [(0, 3.0, 0.0), (1, 1.0, 0.0), (2, 2.0, 2.0)] {
        assert_eq!(
            (of(index, "calls"), of(index, "refusals")),
            (calls, refusals)
        );
        assert_eq!((of(index, "in_hand"), of(index, "errors")), (0.0, 0.0));
    }
    let share = of(0, "security_share");
    assert!(share > 0.0 && share < 1.0, "{told:?}");
    let p95 = |index: usize, times: &str| told[index].1[times]["p95_ms"].as_f64();
    assert!(p95(0, "service") >= p95(0, "backend"), "{told:?}");
    assert!(p95(0, "backend") > Some(0.0), "{told:?}");
    assert_eq!(p95(2, "backend"), Some(0.0), "nothing refused got there");
    for (name, operation, expected) in [
        ("seconds_count", "{urn:echo}buy", 3.0),
        ("backend_seconds_count", "{urn:echo}buy", 3.0),
        ("seconds_count", "*", 2.0),
        ("refusals_total", "*", 2.0),
        ("in_hand", "{urn:echo}sell", 0.0),
    ] {
        assert_eq!(metric(&gateway, name, operation), Some(expected), "{name}");
    }
    assert!(metric(&gateway, "security_seconds_total", "{urn:echo}buy") > Some(0.0));
}

/// A backend that answers what the Body holds: nothing of SOAP where that has `broken`, a fault
/// where it has `evil` or, with a status of success, `odd`, and otherwise the request.
async fn choosy() -> Backend {
    let fault = "<s:Envelope xmlns:s=\"http://schemas.xmlsoap.org/soap/envelope/\"><s:Body><s:Fault>\
                 <faultcode>s:Client</faultcode><faultstring>no such operation</faultstring>\
                 </s:Fault></s:Body></s:Envelope>";
    Backend::answering(move |seen| {
        let body = String::from_utf8_lossy(&seen.body).into_owned();
        let (status, media_type, answer) = if body.contains("broken") {
            (StatusCode::OK, "text/plain", "no".to_owned())
        } else if body.contains("evil") {
            (
                StatusCode::INTERNAL_SERVER_ERROR,
                "text/xml",
                fault.to_owned(),
            )
        } else if body.contains("odd") {
            (StatusCode::OK, "text/xml", fault.to_owned())
        } else {
            (StatusCode::OK, "text/xml", body)
        };
        let mut response = Response::new(Full::new(Bytes::from(answer)));
        *response.status_mut() = status;
        let media_type = HeaderValue::from_static(media_type);
        response.headers_mut().insert("content-type", media_type);
        response
    })
    .await
}

/// A service that fails is told of where its operation is, once it has served one.
#[tokio::test]
async fn a_backend_that_fails_is_an_error_of_the_operation() {
    let folder = Folder::with_keys();
    let gateway = gateway(&folder, &choosy().await, &service("sign")).await;
    let broken = envelope("buy").replace("hello", "broken");
    let failures = |operation| metric(&gateway, "failures_total", operation);
    for (body, status) in [
        (broken.clone(), StatusCode::BAD_GATEWAY),
        (envelope("buy"), StatusCode::OK),
        (broken, StatusCode::BAD_GATEWAY),
    ] {
        let message = folder.secured(&client("sign"), &body);
        assert_eq!(called(&gateway, message).await, status);
    }
    assert_eq!(failures("{urn:echo}buy"), Some(1.0));
    assert_eq!(failures("*"), Some(1.0));
}

/// A client whose messages are proven invents operations: they take no place of what is real.
#[tokio::test]
async fn operations_that_no_backend_serves_are_not_counted_apart() {
    let folder = Folder::with_keys();
    let gateway = gateway(&folder, &choosy().await, &service("sign")).await;
    let invented = (0..65).map(|number| format!("evil{number}"));
    for operation in invented.chain(["odd".to_owned()]) {
        let message = folder.secured(&client("sign"), &envelope(&operation));
        called(&gateway, message).await;
    }
    let message = folder.secured(&client("sign"), &envelope("buy"));
    assert_eq!(called(&gateway, message).await, StatusCode::OK);
    let told = told(&gateway).await;
    let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["{urn:echo}buy", "*"]);
    for (operation, calls) in [("{urn:echo}buy", 1.0), ("*", 66.0)] {
        for name in ["seconds_count", "backend_seconds_count"] {
            let counted = metric(&gateway, name, operation);
            assert_eq!(counted, Some(calls), "{name} {operation}");
        }
    }
}

/// Nobody proves anything on such a route: whatever strangers send, no operation becomes known.
#[tokio::test]
async fn strangers_make_no_operations() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let gateway = gateway(&folder, &backend, "security = { mechanism = \"none\" }\n").await;
    for number in 0..5 {
        let status = called(&gateway, envelope(&format!("o{number}"))).await;
        assert_eq!(status, StatusCode::OK);
    }
    let names: Vec<String> = told(&gateway)
        .await
        .into_iter()
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["*"]);
    assert_eq!(metric(&gateway, "seconds_count", "*"), Some(5.0));
    assert!(!gateway.metrics().contains("operation=\"{urn:echo}o"));
}

/// What the policy names is counted from the start, whoever calls it.
#[tokio::test]
async fn operations_of_the_policy_are_known_before_the_first_call() {
    let site = Site::new(&bank(GCM), a_bank(None).await).await;
    let count = |operation: &str| {
        let sample = format!(
            "soapstone_operation_seconds_count{{route=\"/bank\",operation=\"{operation}\"}} "
        );
        let metrics = site.service.metrics();
        let mut lines = metrics.lines();
        lines.find_map(|line| line.strip_prefix(&sample).map(str::to_owned))
    };
    for operation in ["Pay", "Transfer", "Ask", "Hello"] {
        let counted = count(&format!("{{urn:bank}}{operation}"));
        assert_eq!(counted.as_deref(), Some("0"), "{operation}");
    }
    let hello = envelope_with("", &element("Hello"));
    let answer = site.send(&["urn:bank:Hello"], &hello).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.body);
    let counted = count("{urn:bank}Hello");
    assert_eq!(counted.as_deref(), Some("1"));
}

/// A partner may name as many operations as he likes, and has his key: the series have their end.
#[tokio::test]
async fn a_client_makes_no_more_operations_than_are_counted() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let gateway = gateway(&folder, &backend, &service("sign")).await;
    for number in 0..70 {
        let message = folder.secured(&client("sign"), &envelope(&format!("o{number}")));
        assert_eq!(called(&gateway, message).await, StatusCode::OK);
    }
    assert_eq!(told(&gateway).await.len(), 65);
    assert_eq!(metric(&gateway, "seconds_count", "*"), Some(6.0));
    assert_eq!(
        metric(&gateway, "seconds_count", "{urn:echo}o63"),
        Some(1.0)
    );
    assert_eq!(metric(&gateway, "seconds_count", "{urn:echo}o64"), None);
}

/// Beside the routes, where strangers may read, nothing is told of operations.
#[tokio::test]
async fn strangers_are_told_nothing_of_operations() {
    let folder = Folder::with_keys();
    let backend = Backend::echo().await;
    let text = format!(
        "LISTEN\n[[routes]]\npath = \"/echo\"\nbackend = \"http://{}/echo\"\n[routes.inbound]\n{}",
        backend.address,
        service("sign")
    );
    let gateway = folder.gateway(&text).await;
    let message = folder.secured(&client("sign"), &envelope("buy"));
    assert_eq!(called(&gateway, message).await, StatusCode::OK);
    let metrics = send(gateway.address(), get("/metrics")).await;
    assert_eq!(metrics.status, StatusCode::OK);
    assert!(!metrics.body.contains("soapstone_operation"));
    let answer = send(gateway.address(), get("/operations")).await;
    assert_eq!(answer.status, StatusCode::NOT_FOUND);
}
