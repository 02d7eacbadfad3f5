//! Spans as OTLP has them: the JSON encoding of `ExportTraceServiceRequest` (OTLP 1.x, "JSON
//! Protobuf Encoding"): names in lowerCamelCase, ids as hexadecimal digits, enumerations as
//! numbers, 64-bit integers as texts.
//!
//! The rule kept here: what is written can be read by every collector of OTLP 1.0 and later.

use serde_json::{Map, Value as Json, json};

use super::span::{Finished, Span, Value};

/// `Status.StatusCode` of a span that ended with an error.
const STATUS_ERROR: u8 = 2;

/// What sends spans, for all of them.
#[derive(Debug)]
pub(super) struct Resource(Json);

impl Resource {
    pub(super) fn new(service: &str, instance: &str) -> Self {
        Self(json!({ "attributes": [
            attribute("service.name", &Value::Text(service.to_owned())),
            attribute("service.instance.id", &Value::Text(instance.to_owned())),
            attribute("service.version", &Value::Name(env!("CARGO_PKG_VERSION"))),
        ] }))
    }

    /// The request that exports these spans.
    pub(super) fn request(&self, batch: &[Finished]) -> String {
        let spans = batch.iter().flat_map(|finished| {
            let spans = finished.spans.iter();
            spans.map(|span| encoded(finished.trace, span))
        });
        let request = json!({ "resourceSpans": [{
            "resource": self.0,
            "scopeSpans": [{
                "scope": { "name": env!("CARGO_PKG_NAME"), "version": env!("CARGO_PKG_VERSION") },
                "spans": spans.collect::<Vec<Json>>(),
            }],
        }] });
        request.to_string()
    }
}

/// How many spans a collector says that it did not take (`ExportTracePartialSuccess`). What it said
/// is otherwise its own business.
pub(super) fn rejected_spans(response: &[u8]) -> u64 {
    let response: Option<Json> = serde_json::from_slice(response).ok();
    let rejected = response
        .as_ref()
        .map(|response| &response["partialSuccess"]["rejectedSpans"]);
    match rejected {
        Some(Json::String(number)) => number.parse().unwrap_or_default(),
        Some(number) => number.as_u64().unwrap_or_default(),
        None => 0,
    }
}

fn encoded(trace: u128, span: &Span) -> Json {
    let error = span.error.map(|error| ("error.type", Value::Name(error)));
    let attributes = span.attributes.iter().chain(&error);
    let attributes = attributes.map(|(name, value)| attribute(name, value));
    let mut fields = Map::new();
    let mut add = |name: &str, value: Json| fields.insert(name.to_owned(), value);
    add("traceId", format!("{trace:032x}").into());
    add("spanId", format!("{:016x}", span.id).into());
    if let Some(parent) = span.parent {
        add("parentSpanId", format!("{parent:016x}").into());
    }
    add("name", span.name.as_str().into());
    add("kind", (span.kind as u8).into());
    add("startTimeUnixNano", span.begun.to_string().into());
    add("endTimeUnixNano", span.ended.to_string().into());
    add("attributes", attributes.collect());
    if span.error.is_some() {
        add("status", json!({ "code": STATUS_ERROR }));
    }
    Json::Object(fields)
}

fn attribute(name: &str, value: &Value) -> Json {
    let value = match value {
        Value::Text(text) => json!({ "stringValue": text }),
        Value::Name(name) => json!({ "stringValue": name }),
        Value::Number(number) => json!({ "intValue": number.to_string() }),
    };
    json!({ "key": name, "value": value })
}

#[cfg(test)]
mod tests {
    use super::super::span::Kind;
    use super::*;

    /// Written out by hand from the fields of `opentelemetry/proto/trace/v1/trace.proto`.
    #[test]
    fn a_span_is_written_as_the_specification_has_it() {
        let span = Span {
            id: 0xab,
            parent: Some(1),
            kind: Kind::Server,
            name: "POST /books".to_owned(),
            begun: 1_700_000_000_000_000_001,
            ended: 1_700_000_000_000_000_002,
            attributes: vec![("http.response.status_code", Value::Number(500))],
            error: Some("replayed"),
        };
        let request = Resource::new("books", "1").request(&[Finished {
            trace: 0xcd,
            spans: vec![span],
        }]);
        let version = env!("CARGO_PKG_VERSION");
        let expected = json!({ "resourceSpans": [{
            "resource": { "attributes": [
                { "key": "service.name", "value": { "stringValue": "books" } },
                { "key": "service.instance.id", "value": { "stringValue": "1" } },
                { "key": "service.version", "value": { "stringValue": version } },
            ] },
            "scopeSpans": [{
                "scope": { "name": "soapstone-gateway", "version": version },
                "spans": [{
                    "traceId": "000000000000000000000000000000cd",
                    "spanId": "00000000000000ab",
                    "parentSpanId": "0000000000000001",
                    "name": "POST /books",
                    "kind": 2,
                    "startTimeUnixNano": "1700000000000000001",
                    "endTimeUnixNano": "1700000000000000002",
                    "attributes": [
                        { "key": "http.response.status_code", "value": { "intValue": "500" } },
                        { "key": "error.type", "value": { "stringValue": "replayed" } },
                    ],
                    "status": { "code": 2 },
                }],
            }],
        }] });
        assert_eq!(
            serde_json::from_str::<Json>(&request).expect("it is JSON"),
            expected
        );
    }

    #[test]
    fn what_a_collector_did_not_take_is_read_as_text_and_as_number() {
        for (response, rejected) in [
            (
                r#"{"partialSuccess":{"rejectedSpans":"7","errorMessage":"no"}}"#,
                7,
            ),
            (r#"{"partialSuccess":{"rejectedSpans":7}}"#, 7),
            (r#"{"partialSuccess":{}}"#, 0),
            ("{}", 0),
            ("", 0),
            ("<html>", 0),
        ] {
            assert_eq!(rejected_spans(response.as_bytes()), rejected, "{response}");
        }
    }
}
