//! Sends spans to the collector: in batches, again where the collector asks for patience, and not
//! for ever (OTLP 1.x, "OTLP/HTTP").
//!
//! The rule kept here: one batch is on its way at a time, and each attempt has an end.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Limited};
use tokio::time::Instant;

use super::otlp::{Resource, rejected_spans};
use super::{Finished, Target, Traces, TracesConfig};
use crate::route::backend::{Backend, BackendError, BackendTimeouts};
use crate::wire::body::Upload;

/// Spans of a batch that does not wait for more.
const BATCH: usize = 512;

/// How long spans wait for others to go with them.
const DELAY: Duration = Duration::from_secs(1);

/// How often a batch is sent at most. The waits between are 1, 2 and 4 s.
const ATTEMPTS: u32 = 4;

/// Longest wait that a collector may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// Most bytes of a collector's answer that are read.
const ANSWER: usize = 64 << 10;

/// How long a collector may take. Ten seconds for an answer are the default of OTLP exporters.
const TIMEOUTS: BackendTimeouts = BackendTimeouts {
    connect: Duration::from_secs(5),
    response: Duration::from_secs(10),
    idle: Duration::from_secs(60),
};

/// A collector of traces.
pub(super) struct Collector {
    backend: Arc<Backend>,
    target: Uri,
    authorization: Option<HeaderValue>,
    resource: Resource,
}

/// Why a collector did not take spans.
#[derive(Debug)]
enum Refused {
    /// There was no answer.
    Unanswered(BackendError),
    /// It was no success.
    Status {
        status: StatusCode,
        /// How long it asks to wait.
        wait: Option<Duration>,
    },
    /// The answer broke off, or came late.
    Unread,
}

impl Refused {
    /// Whether the same may be sent again. ("Retryable Response Codes"; without an answer,
    /// "OTLP/HTTP Connection".)
    fn is_passing(&self) -> bool {
        match self {
            Self::Unanswered(_) => true,
            Self::Status { status, .. } => matches!(status.as_u16(), 429 | 502 | 503 | 504),
            // It may have been taken.
            Self::Unread => false,
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unanswered(error) => write!(formatter, "{error}"),
            Self::Status { status, .. } => write!(formatter, "the collector answered {status}"),
            Self::Unread => formatter.write_str("the answer of the collector did not end"),
        }
    }
}

impl Collector {
    /// `None` when the URL has no host.
    pub(super) fn new(config: TracesConfig, instance: &str) -> Option<Self> {
        let backend = Backend::new(&config.collector, config.tls, TIMEOUTS)?;
        let path = match backend.path() {
            "/" => "/v1/traces",
            path => path,
        };
        Some(Self {
            target: path.parse().ok()?,
            backend,
            authorization: config.authorization,
            resource: Resource::new(&config.service, instance),
        })
    }

    /// Sends a request once. Says how many of its spans the collector did not take.
    async fn send(&self, body: Bytes) -> Result<u64, Refused> {
        let mut request = Request::new(Upload::whole(body));
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = self.target.clone();
        let headers = request.headers_mut();
        headers.insert(header::HOST, self.backend.authority().clone());
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        if let Some(authorization) = &self.authorization {
            headers.insert(header::AUTHORIZATION, authorization.clone());
        }
        let now = Instant::now();
        let response = self.backend.send(request, now).await;
        let (head, body) = response.map_err(Refused::Unanswered)?.into_parts();
        let reading = Limited::new(body, ANSWER).collect();
        let read = tokio::time::timeout_at(now + TIMEOUTS.response, reading).await;
        if !head.status.is_success() {
            let wait = head.headers.get(header::RETRY_AFTER);
            let wait = wait.and_then(|wait| wait.to_str().ok()?.parse().ok());
            return Err(Refused::Status {
                status: head.status,
                wait: wait.map(Duration::from_secs),
            });
        }
        match read {
            Ok(Ok(body)) => Ok(rejected_spans(&body.to_bytes())),
            _ => Err(Refused::Unread),
        }
    }
}

impl fmt::Debug for Collector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Collector")
            .field("target", &self.target)
            .finish_non_exhaustive()
    }
}

impl Traces {
    /// Exports what is handed in, for as long as the gateway runs.
    pub(crate) async fn export(&self) {
        let mut was_lost = false;
        loop {
            let batch = self.batch().await;
            let count = batch.iter().map(|finished| finished.spans.len()).sum();
            // With the spans that are lost here those that find no room are told.
            let refused = match self.target() {
                Some(target) => self.deliver(&target, &batch, count).await,
                None => {
                    self.lose(count);
                    None
                }
            };
            match &refused {
                Some(why) if !was_lost => tracing::warn!(
                    spans = count,
                    detail = %why,
                    "spans are lost: the collector does not take them"
                ),
                None if was_lost => {
                    tracing::info!(lost = self.counts().lost, "the collector takes spans again")
                }
                _ => {}
            }
            was_lost = refused.is_some();
            self.queue().leaving = 0;
            self.emptied.notify_waiters();
        }
    }

    /// Waits for spans, and for others to go with them.
    async fn batch(&self) -> Vec<Finished> {
        loop {
            let arrived = self.arrived.notified();
            let waiting = self.queue().spans;
            if waiting > 0 {
                break;
            }
            arrived.await;
        }
        let due = Instant::now() + DELAY;
        while self.queue().spans < BATCH && !self.ending.load(Ordering::Relaxed) {
            let arrived = self.arrived.notified();
            if tokio::time::timeout_at(due, arrived).await.is_err() {
                break;
            }
        }
        let mut queue = self.queue();
        let mut count = 0;
        let fitting = queue.finished.iter().take_while(|finished| {
            let fits = count < BATCH;
            count += finished.spans.len();
            fits
        });
        let fitting = fitting.count();
        let batch: Vec<Finished> = queue.finished.drain(..fitting).collect();
        queue.leaving = batch.iter().map(|finished| finished.spans.len()).sum();
        queue.spans -= queue.leaving;
        batch
    }

    /// Sends a batch until the collector takes it. Why it is lost, if it is.
    async fn deliver(&self, target: &Target, batch: &[Finished], count: usize) -> Option<Refused> {
        let collector = &target.collector;
        let body = Bytes::from(collector.resource.request(batch));
        let mut attempt = 1;
        loop {
            let refused = match collector.send(body.clone()).await {
                Ok(rejected) => {
                    let rejected = rejected.min(count as u64);
                    let taken = count as u64 - rejected;
                    self.exported.fetch_add(taken, Ordering::Relaxed);
                    self.lost.fetch_add(rejected, Ordering::Relaxed);
                    return None;
                }
                Err(refused) => refused,
            };
            let is_last = attempt == ATTEMPTS || self.ending.load(Ordering::Relaxed);
            if is_last || !refused.is_passing() {
                self.lose(count);
                return Some(refused);
            }
            let wait = match &refused {
                Refused::Status {
                    wait: Some(wait), ..
                } => (*wait).min(LONGEST_WAIT),
                _ => Duration::from_secs(1 << (attempt - 1)),
            };
            self.pause(wait).await;
            attempt += 1;
        }
    }

    /// Waits, but not when the gateway ends.
    async fn pause(&self, wait: Duration) {
        let until = Instant::now() + wait;
        while !self.ending.load(Ordering::Relaxed) {
            let arrived = self.arrived.notified();
            if tokio::time::timeout_at(until, arrived).await.is_err() {
                return;
            }
        }
    }
}
