//! The spans of one request, while they are recorded.
//!
//! The rule kept here: a span that was begun is ended, whatever its request comes to; of a request
//! whose client has gone, too.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, Method, StatusCode};
use soapstone::crypto::random;
use soapstone::endpoint::Step;
use tokio::time::Instant;

use super::{Finished, Traces};
use crate::config::direction::Direction;
use crate::observe::metrics::RouteMetrics;
use crate::observe::trace_context::TraceContext;

/// Most spans of one request; those of a bridge that has to begin a conversation anew are 21.
const MOST_SPANS: usize = 64;

/// Kinds of spans (`Span.SpanKind` of OTLP).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Internal = 1,
    Server = 2,
    Client = 3,
}

/// A span that has ended.
#[derive(Debug)]
pub(super) struct Span {
    pub(super) id: u64,
    pub(super) parent: Option<u64>,
    pub(super) kind: Kind,
    pub(super) name: String,
    /// Nanoseconds since 1970.
    pub(super) begun: u64,
    pub(super) ended: u64,
    pub(super) attributes: Vec<(&'static str, Value)>,
    /// The stable name of what went wrong.
    pub(super) error: Option<&'static str>,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    Name(&'static str),
    Number(u64),
}

/// The spans of a request.
#[derive(Debug)]
pub(crate) struct Recording {
    trace: u128,
    /// The span of all of it.
    span: u64,
    parent: Option<u64>,
    started: Instant,
    /// The same moment, since 1970.
    since_epoch: Duration,
    /// Those of its steps that have ended.
    steps: Mutex<Vec<Span>>,
}

impl Recording {
    pub(super) fn new(context: Option<TraceContext>, started: Instant) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            trace: context.map_or_else(new_trace, |context| context.trace),
            span: new_span(),
            parent: context.map(|context| context.span),
            started,
            since_epoch: now.unwrap_or_default().saturating_sub(started.elapsed()),
            steps: Mutex::default(),
        }
    }

    /// The name of its trace.
    pub(crate) fn trace(&self) -> u128 {
        self.trace
    }

    /// Records a part of the work on the request.
    pub(crate) fn part(&self, name: &'static str, begun: Instant, ended: Instant) {
        self.internal(name, None, begun, ended);
    }

    fn internal(
        &self,
        name: &'static str,
        side: Option<Direction>,
        begun: Instant,
        ended: Instant,
    ) {
        let direction = side.map(|side| ("soapstone.direction", Value::Name(side.name())));
        self.add(Span {
            id: new_span(),
            parent: Some(self.span),
            kind: Kind::Internal,
            name: name.to_owned(),
            begun: self.nanoseconds(begun),
            ended: self.nanoseconds(ended),
            attributes: direction.into_iter().collect(),
            error: None,
        });
    }

    /// Begins the span of a request to the backend, which is told of it.
    pub(crate) fn call<'r>(&'r self, headers: &mut HeaderMap) -> Calling<'r> {
        let span = new_span();
        let context = TraceContext {
            trace: self.trace,
            span,
            sampled: true,
        };
        context.write(headers);
        Calling {
            recording: self,
            span,
            begun: Instant::now(),
            status: None,
        }
    }

    fn add(&self, span: Span) {
        let mut steps = self.steps();
        if steps.len() < MOST_SPANS {
            steps.push(span);
        }
    }

    fn steps(&self) -> MutexGuard<'_, Vec<Span>> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A moment, since 1970: on the clock that does not jump.
    fn nanoseconds(&self, moment: Instant) -> u64 {
        let at = self.since_epoch + moment.saturating_duration_since(self.started);
        u64::try_from(at.as_nanos()).unwrap_or(u64::MAX)
    }
}

fn new_trace() -> u128 {
    u128::from_ne_bytes(random::bytes()).max(1)
}

fn new_span() -> u64 {
    u64::from_ne_bytes(random::bytes()).max(1)
}

/// A request to the backend, until its response is there or it is given up.
pub(crate) struct Calling<'r> {
    recording: &'r Recording,
    span: u64,
    begun: Instant,
    status: Option<StatusCode>,
}

impl Calling<'_> {
    /// Notes what the backend answered with.
    pub(crate) fn answered(&mut self, status: StatusCode) {
        self.status = Some(status);
    }
}

impl Drop for Calling<'_> {
    fn drop(&mut self) {
        let recording = self.recording;
        let status = self.status;
        recording.add(Span {
            id: self.span,
            parent: Some(recording.span),
            kind: Kind::Client,
            name: "backend".to_owned(),
            begun: recording.nanoseconds(self.begun),
            ended: recording.nanoseconds(Instant::now()),
            attributes: status.map(status_attribute).into_iter().collect(),
            error: match status {
                None => Some("no-response"),
                Some(status) => status.is_server_error().then_some("status"),
            },
        });
    }
}

fn status_attribute(status: StatusCode) -> (&'static str, Value) {
    let number = Value::Number(status.as_u16().into());
    ("http.response.status_code", number)
}

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

/// What observes the steps of a message: the numbers of its route, and its spans where they are
/// recorded.
#[derive(Clone)]
pub(crate) struct Observed {
    pub(crate) metrics: Arc<RouteMetrics>,
    pub(crate) recording: Option<Arc<Recording>>,
}

impl Observed {
    /// Work on the message waited for something.
    pub(crate) fn waited(&self, name: &'static str, begun: Instant, ended: Instant) {
        if let Some(recording) = &self.recording {
            recording.part(name, begun, ended);
        }
    }

    /// A step has ended.
    pub(crate) fn step(&self, side: Direction, step: Step, begun: Instant, ended: Instant) {
        self.metrics.step(side, step, ended - begun);
        if let Some(recording) = &self.recording {
            recording.internal(step.name(), Some(side), begun, ended);
        }
    }
}
