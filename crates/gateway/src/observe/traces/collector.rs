//! The collector of traces, and one attempt to hand it spans (OTLP 1.x, "OTLP/HTTP").
//!
//! The rule kept here: each attempt has an end.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Limited};
use tokio::time::Instant;

use super::otlp::{Resource, rejected_spans};
use crate::config::traces::TracesConfig;
use crate::wire::backend::{Backend, BackendError, BackendTimeouts};
use crate::wire::body::Upload;

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
    pub(super) resource: Resource,
}

/// Why a collector did not take spans.
#[derive(Debug)]
pub(super) enum Refused {
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
    pub(super) fn is_passing(&self) -> bool {
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
    pub(super) async fn send(&self, body: Bytes) -> Result<u64, Refused> {
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
