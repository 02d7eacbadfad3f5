//! What is known of one exchange besides its messages, and what is noted of it.
//!
//! The rule kept here: whoever proved to have sent a message is counted before it goes on.

use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, HeaderValue, Response, StatusCode, Version, header, request};
use hyper::body::Body;
use tokio::time::Instant;

use super::connection::Connection;
use super::resources::Resources;
use crate::config::direction::Direction;
use crate::config::limits::Shares;
use crate::config::source::SourceSpec;
use crate::observe::audit::{self, Found, Notes, Sender};
use crate::observe::calls::{Served, Spent};
use crate::observe::metrics::{CountedCall, OperationMetrics};
use crate::observe::traces::{Calling, Observed, Recording};
use crate::route::Route;
use crate::route::balancer::Attempt;
use crate::route::serving::Serving;
use crate::route::upstream::Upstream;
use crate::shares::{Client, Turn};
use crate::wire::budget::Reservation;
use crate::wire::headers::{self, X_REQUEST_ID};
use crate::wire::reply::Reply;

/// Everything that is known of a request besides its body.
pub(crate) struct Exchange<'e> {
    pub(crate) resources: &'e Resources,
    pub(crate) connection: &'e Connection,
    pub(crate) serving: &'e Serving,
    pub(crate) route: &'e Route,
    /// When its head had arrived.
    pub(crate) started: Instant,
    /// What the audit trail and the trace will tell of it, where there is one.
    pub(crate) notes: Option<Notes>,
    /// The trace that it belongs to.
    pub(crate) trace: Option<String>,
    /// The spans of its trace, where these are recorded.
    pub(crate) recording: Option<Arc<Recording>>,
    /// Where its time goes, where the call is logged.
    pub(crate) spent: Option<Arc<Spent>>,
    /// What is counted of its operation, where the route counts by operation.
    pub(crate) counted: Option<Arc<CountedCall>>,
}

impl Exchange<'_> {
    /// A place in the room for the request and its response.
    pub(crate) fn reserve(&self) -> Reservation {
        let limits = &self.serving.limits;
        self.connection.reserve(&self.resources.memory, limits)
    }

    /// A name for this request in logs: the one it came with, or a new one.
    pub(crate) fn request_id(&self, given: Option<&HeaderValue>) -> HeaderValue {
        match given {
            Some(given) if given.len() <= 128 && given.to_str().is_ok() => given.clone(),
            _ => self.resources.requests.next(),
        }
    }

    /// What observes the work on its messages.
    pub(crate) fn observed(&self) -> Observed {
        Observed {
            metrics: Arc::clone(&self.route.metrics),
            recording: self.recording.clone(),
            spent: self.spent.clone(),
            counted: self.counted.clone(),
        }
    }

    /// What is counted of its operation, where the route counts by operation.
    fn operation(&self) -> Option<&OperationMetrics> {
        let (counted, operations) = (self.counted.as_ref()?, self.route.metrics.operations()?);
        Some(counted.operation().unwrap_or(operations.other()))
    }

    /// Counts the head of a backend's response, which arrived.
    pub(super) fn backend_answered(&self, took: Duration) {
        let metrics = &self.route.metrics;
        metrics.backend(took);
        if let (Some(counted), Some(operations)) = (&self.counted, metrics.operations()) {
            counted.backend(operations, took);
        }
    }

    /// Counts that it failed, for that reason.
    pub(super) fn count_failure(&self, reason: &'static str) {
        self.route.metrics.failure(reason);
        if let Some(operation) = self.operation() {
            operation.failure();
        }
    }

    /// Counts that one of its messages was refused. `class` is the code of the fault that the peer
    /// is told.
    pub(super) fn count_refusal(&self, side: Direction, class: &'static str, reason: &'static str) {
        self.route.metrics.refusal(side, class, reason);
        if let Some(operation) = self.operation() {
            operation.refusal();
        }
        self.resources.changes.tell();
    }

    /// Counts the response, which leaves.
    pub(super) fn count_response(&self, status: StatusCode) {
        let metrics = &self.route.metrics;
        metrics.response(status, self.started);
        if let (Some(counted), Some(operations)) = (&self.counted, metrics.operations()) {
            counted.answered(operations, status.is_success(), self.started.elapsed());
        }
    }

    /// Records a part of the work that ends now.
    pub(crate) fn record(&self, name: &'static str, begun: Instant) {
        if let Some(recording) = &self.recording {
            recording.part(name, begun, Instant::now());
        }
    }

    /// Records the request to the backend with that head, until what is returned is dropped.
    pub(crate) fn call(&self, headers: &mut HeaderMap) -> Option<Calling<'_>> {
        let recording = self.recording.as_ref()?;
        Some(recording.call(headers))
    }

    /// Notes something for the audit trail and the trace.
    pub(crate) fn note(&self, note: impl FnOnce(&mut Found)) {
        if let Some(notes) = &self.notes {
            note(&mut notes.lock());
        }
    }

    /// Notes which of several backends gets the request.
    pub(crate) fn note_attempt(&self, attempt: &Attempt) {
        self.note(|found| {
            let reason = attempt.reason().name();
            found.backend = Some((attempt.backend().to_owned(), reason));
            found.agreement = attempt.agreement().map(str::to_owned);
            found.class = attempt.class();
        });
        if let Some(spent) = &self.spent {
            spent.chose(attempt.choosing());
        }
        if let Some(recording) = &self.recording {
            recording.chosen(&attempt.told());
        }
    }

    /// Notes that a backend was waited for until now.
    pub(crate) fn waited_for_backend(&self, since: Instant) {
        if let Some(spent) = &self.spent {
            spent.waited(since.elapsed());
        }
    }

    /// Writes the line of the audit trail, and takes the call into the log of calls.
    pub(super) fn tell(&self, response: &Response<Reply>) {
        let Some(notes) = &self.notes else {
            return;
        };
        let mut found = notes.lock();
        if found.response_bytes.is_none() {
            found.response_bytes = response.body().size_hint().exact();
        }
        let id = response.headers().get(X_REQUEST_ID);
        let request = id.and_then(|id| id.to_str().ok());
        let (status, took) = (response.status(), self.started.elapsed());
        if let Some(audit) = &self.resources.audit {
            audit.write(&audit::Line {
                route: &self.route.name,
                request,
                trace: self.trace.as_deref(),
                client: self.connection.peer.ip(),
                status,
                microseconds: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
                found: &found,
            });
        }
        if let (Some(calls), Some(spent)) = (&self.resources.calls, &self.spent) {
            let balancer = self.route.balancer.as_ref();
            let source = balancer.and_then(|balancer| balancer.source.as_ref());
            calls.push(&Served {
                route: &self.route.name,
                provided: self.route.provides.as_ref(),
                service: source.and_then(SourceSpec::service),
                request,
                status,
                took,
                outcome: found.outcome(),
                found: &found,
                spent,
            });
        }
    }

    /// Counts a message of whoever proved to have sent it, and holds its place for them; otherwise
    /// why it does not go on, and how long to wait.
    pub(crate) fn admit(
        &self,
        sender: Option<&Sender>,
        reservation: &mut Reservation,
    ) -> Result<(), (&'static str, Duration)> {
        let Some(Sender { by, name, .. }) = sender else {
            return Ok(());
        };
        let shares = &self.serving.limits.per_partner;
        let partner = self.resources.clients.partner(by, name);
        // Whose certificate made the connection was counted before.
        let is_counted = |known: &Arc<Client>| Arc::ptr_eq(known, &partner);
        if !self.connection.partner.as_ref().is_some_and(is_counted) {
            let rate = partner.request(shares.rate);
            rate.map_err(|wait| ("partner-rate", wait))?;
        }
        match reservation.hold_for(&partner, shares.buffered) {
            true => Ok(()),
            false => Err(("partner-room", Duration::from_secs(1))),
        }
    }

    /// Counts a request of the client in work, once it is its turn; `None` where its share is full.
    pub(crate) async fn turn(&self) -> Option<Turn> {
        let workers = self.serving.limits.workers;
        self.connection.client.turn(self.shares(), workers).await
    }

    /// Notes that a message of the client was refused.
    pub(crate) fn note_refused(&self) {
        self.connection.client.refused(self.shares());
    }

    /// What the client may have.
    fn shares(&self) -> &Shares {
        let address = self.connection.peer.ip();
        self.serving.limits.of_client(address)
    }

    /// Counts a request of the client, of the partner whose certificate it shows, and of the route.
    /// Otherwise whose rate it exceeds, and how long to wait.
    pub(super) fn within_rates(&self) -> Result<(), (&'static str, Duration)> {
        let limits = &self.serving.limits;
        let connection = self.connection;
        let client = connection.client.request(self.shares().rate);
        client.map_err(|wait| ("client-rate", wait))?;
        if let Some(partner) = &connection.partner {
            let partner = partner.request(limits.per_partner.rate);
            partner.map_err(|wait| ("partner-rate", wait))?;
        }
        match &self.route.rate {
            Some((rate, bucket)) => bucket
                .take(*rate, Instant::now().into_std())
                .map_err(|wait| ("route-rate", wait)),
            None => Ok(()),
        }
    }

    /// Turns a client's request head into one for the backend.
    pub(crate) fn head_for_backend(&self, head: &mut request::Parts, upstream: &Upstream) {
        let asked = std::mem::take(&mut head.uri);
        head.uri = upstream.target(self.route.path(), &asked);
        head.version = Version::HTTP_11;
        headers::join_lines(&mut head.headers);
        headers::remove_namesakes(&mut head.headers);
        headers::mark_unproven(&mut head.headers, &[]);
        // Whoever polls the body has had it sent; the backend need not be asked again.
        head.headers.remove(header::EXPECT);
        self.connection
            .forwarded
            .apply(&mut head.headers, upstream.backend.authority());
        if let Some(authorization) = upstream.authorization() {
            head.headers.insert(header::AUTHORIZATION, authorization);
        }
        if let Some(identity) = &self.route.identity {
            // Nothing is proven yet.
            identity.apply(&mut head.headers, None, None);
        }
    }
}
