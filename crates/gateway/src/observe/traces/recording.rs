//! The spans of one request, while they are recorded.
//!
//! The rule kept here: a span that was begun is ended, whatever its request comes to; of a request
//! whose client has gone, too.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::{HeaderMap, StatusCode};
use soapstone::crypto::random;
use soapstone::endpoint::{Step, UnsecuredFault};
use soapstone::wss::{Envelope, Verified};
use soapstone::xml::Buffers;
use tokio::time::Instant;

use super::span::{Kind, Span, Value, status_attribute};
use crate::config::direction::Direction;
use crate::observe::calls::Spent;
use crate::observe::metrics::{CountedCall, RouteMetrics};
use crate::observe::trace_context::TraceContext;

/// Most spans of one request; those of a bridge that has to begin a conversation anew are 21.
const MOST_SPANS: usize = 64;

/// The spans of a request.
#[derive(Debug)]
pub(crate) struct Recording {
    pub(super) trace: u128,
    /// The span of all of it.
    pub(super) span: u64,
    pub(super) parent: Option<u64>,
    pub(super) started: Instant,
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

    /// Records the choice of one of several backends.
    pub(crate) fn chosen(&self, told: &ToldChoice) {
        let number = |count: usize| Value::Number(count as u64);
        let age = told.age.map(|age| {
            let age = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
            ("soapstone.source.age_ms", Value::Number(age))
        });
        let attributes = [
            ("soapstone.backends", number(told.known)),
            ("soapstone.backends.covering", number(told.covering)),
            ("soapstone.chosen", Value::Name(told.reason)),
        ];
        let attributes = attributes.into_iter().chain(age);
        self.with("choose", attributes.collect(), told.begun, told.ended);
    }

    fn internal(
        &self,
        name: &'static str,
        side: Option<Direction>,
        begun: Instant,
        ended: Instant,
    ) {
        let direction = side.map(|side| ("soapstone.direction", Value::Name(side.name())));
        self.with(name, direction.into_iter().collect(), begun, ended);
    }

    fn with(
        &self,
        name: &'static str,
        attributes: Vec<(&'static str, Value)>,
        begun: Instant,
        ended: Instant,
    ) {
        self.add(Span {
            id: new_span(),
            parent: Some(self.span),
            kind: Kind::Internal,
            name: name.to_owned(),
            begun: self.nanoseconds(begun),
            ended: self.nanoseconds(ended),
            attributes,
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

    pub(super) fn steps(&self) -> MutexGuard<'_, Vec<Span>> {
        self.steps.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A moment, since 1970: on the clock that does not jump.
    pub(super) fn nanoseconds(&self, moment: Instant) -> u64 {
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

/// What is told of the choice of one of several backends. Their names are their providers' words,
/// and are in no trace.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ToldChoice {
    pub(crate) begun: Instant,
    pub(crate) ended: Instant,
    /// Backends that are known.
    pub(crate) known: usize,
    /// Those of them whose security covers the needs of the request.
    pub(crate) covering: usize,
    /// Why this one.
    pub(crate) reason: &'static str,
    /// How long ago the registry last told of them, where it has.
    pub(crate) age: Option<Duration>,
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

/// What observes the steps of a message: the numbers of its route, and its spans where they are
/// recorded.
pub(crate) struct Observed {
    pub(crate) metrics: Arc<RouteMetrics>,
    pub(crate) recording: Option<Arc<Recording>>,
    /// Where the time of its call goes, where that is logged.
    pub(crate) spent: Option<Arc<Spent>>,
    /// What is counted of its operation, where its route counts by operation.
    pub(crate) counted: Option<Arc<CountedCall>>,
}

impl Observed {
    /// Work on the message waited for something.
    pub(crate) fn waited(&self, name: &'static str, begun: Instant, ended: Instant) {
        if let Some(recording) = &self.recording {
            recording.part(name, begun, ended);
        }
    }

    /// A request was opened: from now on it counts for its operation. One that is new and whose
    /// sender is proven is counted apart once a backend has served it. A Body that holds several
    /// elements is of none: it is not known which of them the backend looks at.
    pub(crate) fn opened(&self, message: &Verified<Envelope>) {
        let (Some(counted), Some(operations)) = (&self.counted, self.metrics.operations()) else {
            return;
        };
        let mut held = message.envelope().body().children();
        let (Some(only), None) = (held.next(), held.next()) else {
            return;
        };
        let evidence = message.evidence();
        let is_proven = !evidence.signatures.is_empty() || evidence.user.is_some();
        let (namespace, local) = (only.namespace(), only.local());
        if let Some(operation) = operations.find(namespace, local) {
            counted.is_of(operation);
        } else if let (true, Some(name)) = (is_proven, operations.new_name(namespace, local)) {
            counted.is_of_new(name, operations);
        }
    }

    /// An answer goes to the client. A fault does not say that its operation is one, not even with
    /// a status of success.
    pub(crate) fn answers(&self, octets: &[u8], buffers: &mut Buffers) {
        let new = self.counted.as_ref().filter(|counted| counted.is_new());
        if let Some(counted) = new
            && UnsecuredFault::read(octets.to_vec(), buffers).is_some()
        {
            counted.is_answered_by_fault();
        }
    }

    /// The name of the operation of a request that was opened, where it is counted apart.
    pub(crate) fn operation(&self) -> Option<Arc<str>> {
        let counted = self.counted.as_ref()?;
        counted
            .operation()
            .map(|operation| Arc::clone(operation.name()))
    }

    /// A step has ended.
    pub(crate) fn step(&self, side: Direction, step: Step, begun: Instant, ended: Instant) {
        self.metrics.step(side, step, ended - begun);
        if let Some(spent) = &self.spent {
            spent.secured(ended - begun);
        }
        if let Some(counted) = &self.counted {
            counted.secured(ended - begun);
        }
        if let Some(recording) = &self.recording {
            recording.internal(step.name(), Some(side), begun, ended);
        }
    }
}
