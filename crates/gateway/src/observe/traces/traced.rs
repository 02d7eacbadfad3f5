//! A request that is recorded: its span ends with it, and all of its spans are queued.
//!
//! The rule kept here: the spans of a request are queued when its answer is ready, never before.

use std::sync::Arc;

use http::{Method, StatusCode};
use tokio::time::Instant;

use super::Traces;
use super::recording::Recording;
use super::span::{Finished, Kind, Span, Value, status_attribute};

/// A request that is recorded, to its end.
pub(crate) struct Traced {
    traces: Arc<Traces>,
    recording: Arc<Recording>,
    /// What requests of its kind are called.
    name: String,
    attributes: Vec<(&'static str, Value)>,
    status: Option<StatusCode>,
    reason: Option<&'static str>,
}

impl Traced {
    /// Of a route with that path.
    pub(crate) fn new(
        traces: &Arc<Traces>,
        recording: &Arc<Recording>,
        method: &Method,
        (route, path): (&str, &str),
    ) -> Self {
        // Others are a stranger's words (semantic conventions for HTTP spans, "HTTP request
        // methods").
        let method = match *method {
            Method::POST => "POST",
            Method::GET => "GET",
            Method::HEAD => "HEAD",
            _ => "_OTHER",
        };
        let name = match method {
            "_OTHER" => format!("HTTP {path}"),
            method => format!("{method} {path}"),
        };
        Self {
            traces: Arc::clone(traces),
            recording: Arc::clone(recording),
            name,
            attributes: vec![
                ("http.request.method", Value::Name(method)),
                ("http.route", Value::Text(path.to_owned())),
                ("soapstone.route", Value::Text(route.to_owned())),
            ],
            status: None,
            reason: None,
        }
    }

    /// Notes how the client is answered, and the stable name of what went wrong.
    pub(crate) fn answered(&mut self, status: StatusCode, reason: Option<&'static str>) {
        self.status = Some(status);
        self.reason = reason;
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        let recording = &self.recording;
        let error = match (self.reason, self.status) {
            (Some(reason), _) => Some(reason),
            (None, None) => Some("client-gone"),
            (None, Some(status)) => status.is_server_error().then_some("status"),
        };
        let mut attributes = std::mem::take(&mut self.attributes);
        attributes.extend(self.status.map(status_attribute));
        let mut spans = std::mem::take(&mut *recording.steps());
        spans.push(Span {
            id: recording.span,
            parent: recording.parent,
            kind: Kind::Server,
            name: std::mem::take(&mut self.name),
            begun: recording.nanoseconds(recording.started),
            ended: recording.nanoseconds(Instant::now()),
            attributes,
            error,
        });
        self.traces.push(Finished {
            trace: recording.trace,
            spans,
        });
    }
}
