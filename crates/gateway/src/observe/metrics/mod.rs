//! What the gateway counts and times.
//!
//! Everything with a known set of labels is an atomic that exists before the first request; only
//! what is named by what happens (a refusal's reason, an algorithm) is kept in a map, off the
//! common path.
//!
//! The rule kept here: counting never fails, and on the common path it waits for nobody.

mod agreements;
mod balanced;
mod exposition;
mod gateway;
mod operations;
mod process;
mod routes;
mod snapshot;
mod text;
mod times;
mod weak;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use soapstone::endpoint::Step;
use soapstone::trust::TrustFaultCode;
use soapstone_broker::Reason;
use tokio::time::Instant;

use crate::config::direction::Direction;

pub(crate) use agreements::AgreementsSnapshot;
pub(crate) use exposition::expose;
pub(crate) use operations::{CountedCall, OperationMetrics, Operations};
pub(crate) use snapshot::{Detail, Snapshot};
use times::Histogram;
pub(crate) use times::{CallSample, TimesSample};
use weak::{PartnerUses, WeakUses};
pub(crate) use weak::{WeakPartner, WeakUse};

/// Every step of an endpoint's work on a message.
const STEPS: [Step; 7] = [
    Step::Parse,
    Step::Contexts,
    Step::Authenticate,
    Step::Replay,
    Step::Open,
    Step::Forward,
    Step::Secure,
];

/// Counts by name, for what happens seldom.
#[derive(Debug)]
struct Tally<K>(Mutex<BTreeMap<K, u64>>);

impl<K> Default for Tally<K> {
    fn default() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }
}

impl<K: Ord + Clone> Tally<K> {
    fn add(&self, key: K) {
        *self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .entry(key)
            .or_insert(0) += 1;
    }

    fn entries(&self) -> Vec<(K, u64)> {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts
            .iter()
            .map(|(key, count)| (key.clone(), *count))
            .collect()
    }
}

/// What is known of one route.
#[derive(Debug)]
pub(crate) struct RouteMetrics {
    route: String,
    mechanisms: [Option<String>; 2],
    responses: [AtomicU64; 5],
    request_time: Histogram,
    backend_time: Histogram,
    steps: [[Histogram; STEPS.len()]; 2],
    /// Bytes: from the client, to the backend, from the backend, to the client.
    octets: [AtomicU64; 4],
    /// By side, class (the code of the fault that the peer is told) and reason.
    refusals: Tally<(Direction, &'static str, &'static str)>,
    failures: Tally<&'static str>,
    /// Requests that no role let through, by the rule.
    denials: Tally<&'static str>,
    /// By prefix and local name.
    faults: Tally<(&'static str, &'static str)>,
    weak: WeakUses,
    /// The same by whom they come from.
    weak_partners: PartnerUses,
    /// Items of Security headers that were not read, by side.
    ignored: Tally<(Direction, &'static str)>,
    /// Messages that were let through although they break a rule of the Basic Security Profile, by
    /// rule.
    bsp_breaches: Tally<(Direction, &'static str)>,
    /// Messages that are passed on with header blocks which nothing proves.
    unproven_blocks: [AtomicU64; 2],
    /// Messages that are passed on with attachments which nothing covers.
    uncovered_parts: [AtomicU64; 2],
    /// Answers that nothing proves, by what they have.
    unsecured_answers: Tally<(Direction, &'static str)>,
    /// What became of the contexts of clients.
    contexts: Tally<&'static str>,
    /// What became of requests for assertions.
    assertions: Tally<&'static str>,
    /// Contexts asked for at the backend: established, failed.
    handshakes: [AtomicU64; 2],
    handshake_time: Histogram,
    /// Assertions asked for at token services: issued, failed.
    token_requests: [AtomicU64; 2],
    token_request_time: Histogram,
    /// Requests sent again because the backend had lost their context.
    resent: AtomicU64,
    /// Choices among several backends, by the position of their reason's name.
    choices: [AtomicU64; Reason::NAMES.len()],
    /// Requests that went to another backend, by how the one before failed.
    retries: Tally<&'static str>,
    /// Requests in hand.
    in_hand: AtomicU64,
    /// The same by operation, where an endpoint faces the client.
    operations: Option<Operations>,
}

/// An answer that nothing proves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsecured {
    /// It has nothing at all.
    Plain,
    /// It has a Timestamp that nobody signed.
    Timestamp,
    /// It is a fault in the place of a secured answer.
    Fault,
}

impl Unsecured {
    const fn name(self) -> &'static str {
        match self {
            Self::Plain => "plain",
            Self::Timestamp => "timestamp",
            Self::Fault => "fault",
        }
    }
}

/// Which way bytes went.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Flow {
    FromClient,
    ToBackend,
    FromBackend,
    ToClient,
}

impl RouteMetrics {
    /// For a route, with the names of its endpoints' mechanisms where it has them.
    pub(crate) fn new(route: &str, inbound: Option<&str>, outbound: Option<&str>) -> Arc<Self> {
        Arc::new(Self {
            route: route.to_owned(),
            mechanisms: [inbound.map(str::to_owned), outbound.map(str::to_owned)],
            responses: Default::default(),
            request_time: Histogram::default(),
            backend_time: Histogram::default(),
            steps: Default::default(),
            octets: Default::default(),
            refusals: Tally::default(),
            failures: Tally::default(),
            denials: Tally::default(),
            faults: Tally::default(),
            weak: WeakUses::default(),
            weak_partners: PartnerUses::default(),
            ignored: Tally::default(),
            bsp_breaches: Tally::default(),
            unproven_blocks: Default::default(),
            uncovered_parts: Default::default(),
            unsecured_answers: Tally::default(),
            contexts: Tally::default(),
            assertions: Tally::default(),
            handshakes: Default::default(),
            handshake_time: Histogram::default(),
            token_requests: Default::default(),
            token_request_time: Histogram::default(),
            resent: AtomicU64::new(0),
            choices: Default::default(),
            retries: Tally::default(),
            in_hand: AtomicU64::new(0),
            operations: inbound.map(|_| Operations::default()),
        })
    }

    /// What it counts by operation. `None`: nothing opens its requests.
    pub(crate) fn operations(&self) -> Option<&Operations> {
        self.operations.as_ref()
    }

    /// Whether these are the numbers of a route of that name with those mechanisms.
    pub(crate) fn is_for(
        &self,
        route: &str,
        inbound: Option<&str>,
        outbound: Option<&str>,
    ) -> bool {
        self.route == route
            && self.mechanisms[Direction::Inbound as usize].as_deref() == inbound
            && self.mechanisms[Direction::Outbound as usize].as_deref() == outbound
    }

    /// Whose numbers they are.
    pub(crate) fn route(&self) -> &str {
        &self.route
    }

    /// Counts a request as in hand until the guard is dropped.
    pub(crate) fn in_hand(&self) -> InFlightGuard<'_> {
        self.in_hand.fetch_add(1, Ordering::Relaxed);
        InFlightGuard(&self.in_hand)
    }

    /// What it has counted until now.
    pub(crate) fn sample(&self) -> CallSample {
        let steps = self.steps.iter().flatten();
        let steps = steps.map(|step| step.nanoseconds.load(Ordering::Relaxed));
        let refusals = self.refusals.entries();
        let failures = self.failures.entries();
        CallSample {
            request: TimesSample::of(&self.request_time),
            backend: TimesSample::of(&self.backend_time),
            security_nanoseconds: steps.sum(),
            refusals: refusals.iter().map(|(_, count)| count).sum(),
            failures: failures.iter().map(|(_, count)| count).sum(),
            in_hand: self.in_hand.load(Ordering::Relaxed),
        }
    }

    /// A response left for the client.
    pub(crate) fn response(&self, status: http::StatusCode, started: Instant) {
        let class = usize::from(status.as_u16() / 100).clamp(1, 5) - 1;
        self.responses[class].fetch_add(1, Ordering::Relaxed);
        self.request_time.record(started.elapsed());
    }

    /// The backend's response head arrived.
    pub(crate) fn backend(&self, took: Duration) {
        self.backend_time.record(took);
    }

    pub(crate) fn step(&self, side: Direction, step: Step, took: Duration) {
        if let Some(position) = STEPS.iter().position(|known| *known == step) {
            self.steps[side as usize][position].record(took);
        }
    }

    pub(crate) fn octets(&self, flow: Flow, count: u64) {
        self.octets[flow as usize].fetch_add(count, Ordering::Relaxed);
    }

    /// A message was refused, for a reason that the engine names. `class` is the code of the fault
    /// that the peer is told.
    pub(crate) fn refusal(&self, side: Direction, class: &'static str, reason: &'static str) {
        self.refusals.add((side, class, reason));
    }

    /// No role let a request through, by the rule of the nearest role.
    pub(crate) fn denial(&self, rule: &'static str) {
        self.denials.add(rule);
    }

    /// A request failed for a reason other than its security.
    pub(crate) fn failure(&self, reason: &'static str) {
        self.failures.add(reason);
    }

    /// A client's context was issued, renewed, amended or cancelled, or its request for it refused.
    pub(crate) fn context(&self, what: &'static str) {
        self.contexts.add(what);
    }

    /// An assertion was issued, renewed or cancelled, or a request for that refused.
    pub(crate) fn assertion(&self, what: &'static str) {
        self.assertions.add(what);
    }

    /// A handshake with the backend came to its end.
    pub(crate) fn handshake(&self, established: bool, took: Duration) {
        self.handshakes[usize::from(!established)].fetch_add(1, Ordering::Relaxed);
        self.handshake_time.record(took);
    }

    /// A question to a token service came to its end.
    pub(crate) fn token_request(&self, issued: bool, took: Duration) {
        self.token_requests[usize::from(!issued)].fetch_add(1, Ordering::Relaxed);
        self.token_request_time.record(took);
    }

    /// A request was sent again in another conversation.
    pub(crate) fn resent(&self) {
        self.resent.fetch_add(1, Ordering::Relaxed);
    }

    /// A backend was chosen among several.
    pub(crate) fn chosen(&self, reason: Reason) {
        let name = reason.name();
        if let Some(position) = Reason::NAMES.iter().position(|known| *known == name) {
            self.choices[position].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A request went to another backend.
    pub(crate) fn retried(&self, failed: &'static str) {
        self.retries.add(failed);
    }

    /// The gateway answered with a fault of its own.
    pub(crate) fn fault(&self, code: &'static str) {
        self.faults.add(code.split_once(':').unwrap_or(("", code)));
    }

    /// A request for a token was answered with a fault.
    pub(crate) fn token_fault(&self, code: TrustFaultCode) {
        self.faults.add((code.prefix(), code.local()));
    }

    /// A message is passed on with header blocks that nothing proves.
    pub(crate) fn unproven_blocks(&self, side: Direction) {
        self.unproven_blocks[side as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// A message is passed on with attachments that nothing covers.
    pub(crate) fn uncovered_parts(&self, side: Direction) {
        self.uncovered_parts[side as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// An answer was accepted, or sent, that nothing proves.
    pub(crate) fn unsecured_answer(&self, side: Direction, kind: Unsecured) {
        self.unsecured_answers.add((side, kind.name()));
    }

    /// A weak algorithm was used because the plan names it.
    pub(crate) fn weak_algorithm(&self, side: Direction, algorithm: &'static str) {
        self.weak.add(side, algorithm, Timestamp::now());
    }

    /// Messages of that partner, which were verified, use these weak algorithms.
    pub(crate) fn weak_algorithms_of(
        &self,
        side: Direction,
        partner: &WeakPartner,
        algorithms: &[&'static str],
    ) {
        for algorithm in algorithms {
            let now = Timestamp::now();
            self.weak_partners
                .add(side, algorithm, partner.clone(), now);
        }
    }

    /// Who has used weak algorithms, and when.
    pub(crate) fn weak_uses(&self) -> Vec<WeakUse> {
        self.weak_partners.all()
    }

    /// An item of a Security header was not read because the plan ignores it.
    pub(crate) fn ignored_item(&self, side: Direction, item: &'static str) {
        self.ignored.add((side, item));
    }

    /// A message that breaks a rule of the Basic Security Profile was let through.
    pub(crate) fn bsp_breach(&self, side: Direction, rule: &'static str) {
        self.bsp_breaches.add((side, rule));
    }
}

/// What concerns the whole gateway.
#[derive(Debug, Default)]
pub(crate) struct GatewayMetrics {
    /// Open connections from clients.
    pub(crate) connections: AtomicU64,
    /// Open connections to the listener of health and metrics.
    pub(crate) admin_connections: AtomicU64,
    /// Connections turned away because there were too many.
    pub(crate) refused_connections: AtomicU64,
    /// Requests in hand.
    pub(crate) in_flight: AtomicU64,
    /// Requests for a path that no route serves.
    pub(crate) unrouted: AtomicU64,
    /// Configurations taken into use after the first, and those that were not fit for it.
    pub(crate) reloads: AtomicU64,
    pub(crate) failed_reloads: AtomicU64,
    /// How long work waited for a crypto worker.
    pub(crate) queue_wait: Histogram,
    /// Messages that wait for the answer of a store.
    pub(crate) store_waiting: AtomicU64,
    /// How long they waited.
    pub(crate) store_wait: Histogram,
    /// What became of questions about revocation: how it was asked, and the outcome.
    revocation: Tally<(&'static str, &'static str)>,
}

impl GatewayMetrics {
    /// Counts a question about revocation by what became of it.
    pub(crate) fn count_revocation(&self, kind: &'static str, outcome: &'static str) {
        self.revocation.add((kind, outcome));
    }

    /// Counts a request as in hand until the guard is dropped.
    pub(crate) fn in_flight(&self) -> InFlightGuard<'_> {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
        InFlightGuard(&self.in_flight)
    }

    /// Whether nothing but the request of whoever asks is in hand.
    pub(crate) fn has_one_in_hand(&self) -> bool {
        self.in_flight.load(Ordering::Relaxed) <= 1
    }
}

/// A request in hand.
pub(crate) struct InFlightGuard<'m>(&'m AtomicU64);

impl Drop for InFlightGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
