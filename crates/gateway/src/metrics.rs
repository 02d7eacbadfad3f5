//! What the gateway counts and times, and its exposition for Prometheus (text format 0.0.4).
//!
//! Everything with a known set of labels is an atomic that exists before the first request; only what is named by what
//! happens (a refusal's reason, an algorithm) is kept in a map, off the common path.
//!
//! The rule kept here: label values come from the configuration and from names in the code, never from a message, so that
//! no peer can make the series grow.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use soapstone::endpoint::Step;

/// Which of a route's endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Side {
    /// The one that faces the client.
    Inbound,
    /// The one that faces the backend.
    Outbound,
}

impl Side {
    pub(crate) const ALL: [Self; 2] = [Self::Inbound, Self::Outbound];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Inbound => "inbound",
            Self::Outbound => "outbound",
        }
    }
}

/// Every step of an endpoint's work on a message.
const STEPS: [Step; 5] = [
    Step::Parse,
    Step::Open,
    Step::Replay,
    Step::Forward,
    Step::Secure,
];

/// Upper bounds of the buckets, in microseconds: from one symmetric operation on a small message to a backend's patience.
const BOUNDS: [u64; 18] = [
    25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000, 10_000_000,
];

/// How long something took, counted in buckets.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    buckets: [AtomicU64; BOUNDS.len() + 1],
    nanoseconds: AtomicU64,
}

impl Histogram {
    pub(crate) fn record(&self, took: Duration) {
        let microseconds = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        let bucket = BOUNDS.partition_point(|bound| *bound < microseconds);
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        self.nanoseconds.fetch_add(
            u64::try_from(took.as_nanos()).unwrap_or(u64::MAX),
            Ordering::Relaxed,
        );
    }

    fn write(&self, name: &str, labels: &str, out: &mut String) {
        let separator = if labels.is_empty() { "" } else { "," };
        let mut count = 0;
        for (bucket, bound) in self
            .buckets
            .iter()
            .zip(BOUNDS.iter().map(Some).chain([None]))
        {
            count += bucket.load(Ordering::Relaxed);
            let bound = bound.map_or("+Inf".to_owned(), |bound| (*bound as f64 / 1e6).to_string());
            line(
                out,
                format_args!("{name}_bucket{{{labels}{separator}le=\"{bound}\"}} {count}"),
            );
        }
        let braces = if labels.is_empty() {
            String::new()
        } else {
            format!("{{{labels}}}")
        };
        let seconds = self.nanoseconds.load(Ordering::Relaxed) as f64 / 1e9;
        line(out, format_args!("{name}_sum{braces} {seconds}"));
        line(out, format_args!("{name}_count{braces} {count}"));
    }

    fn is_empty(&self) -> bool {
        self.buckets
            .iter()
            .all(|bucket| bucket.load(Ordering::Relaxed) == 0)
    }
}

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
    /// Octets: from the client, to the backend, from the backend, to the client.
    octets: [AtomicU64; 4],
    refusals: Tally<(Side, &'static str)>,
    failures: Tally<&'static str>,
    faults: Tally<&'static str>,
    weak: Tally<(Side, &'static str)>,
}

/// Which way octets went.
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
            faults: Tally::default(),
            weak: Tally::default(),
        })
    }

    /// Whether these are the numbers of a route of that name with those mechanisms.
    pub(crate) fn is_for(
        &self,
        route: &str,
        inbound: Option<&str>,
        outbound: Option<&str>,
    ) -> bool {
        self.route == route
            && self.mechanisms[Side::Inbound as usize].as_deref() == inbound
            && self.mechanisms[Side::Outbound as usize].as_deref() == outbound
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

    pub(crate) fn step(&self, side: Side, step: Step, took: Duration) {
        if let Some(position) = STEPS.iter().position(|known| *known == step) {
            self.steps[side as usize][position].record(took);
        }
    }

    pub(crate) fn octets(&self, flow: Flow, count: u64) {
        self.octets[flow as usize].fetch_add(count, Ordering::Relaxed);
    }

    /// A message was refused, for a reason that the engine names.
    pub(crate) fn refusal(&self, side: Side, reason: &'static str) {
        self.refusals.add((side, reason));
    }

    /// A request failed for a reason other than its security.
    pub(crate) fn failure(&self, reason: &'static str) {
        self.failures.add(reason);
    }

    /// The gateway answered with a fault of its own.
    pub(crate) fn fault(&self, code: &'static str) {
        self.faults.add(code);
    }

    /// A weak algorithm was used because the plan names it.
    pub(crate) fn weak_algorithm(&self, side: Side, algorithm: &'static str) {
        self.weak.add((side, algorithm));
    }

    fn side_labels(&self, side: Side) -> String {
        let mechanism = self.mechanisms[side as usize].as_deref().unwrap_or("none");
        format!(
            "{},direction=\"{}\",mechanism=\"{}\"",
            self.label(),
            side.name(),
            escape(mechanism)
        )
    }

    fn label(&self) -> String {
        format!("route=\"{}\"", escape(&self.route))
    }
}

/// What concerns the whole gateway.
#[derive(Debug, Default)]
pub(crate) struct GatewayMetrics {
    /// Open connections from clients.
    pub(crate) connections: AtomicU64,
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
}

/// What is measured when asked for.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) queued: usize,
    pub(crate) workers: usize,
    pub(crate) buffered: u64,
    /// Route and side, with the number of replay marks held.
    pub(crate) replay_marks: Vec<(String, Side, u64)>,
    /// Route, and whether its backend could last be reached.
    pub(crate) backends: Vec<(String, bool)>,
}

/// Writes everything in Prometheus' text format.
pub(crate) fn expose(
    gateway: &GatewayMetrics,
    routes: &[Arc<RouteMetrics>],
    snapshot: &Snapshot,
) -> String {
    let mut out = String::with_capacity(16 * 1024);
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);

    family(
        &mut out,
        "soapstone_build_info",
        "gauge",
        "The running version.",
    );
    line(
        &mut out,
        format_args!(
            "soapstone_build_info{{version=\"{}\"}} 1",
            env!("CARGO_PKG_VERSION")
        ),
    );
    for (name, kind, help, value) in [
        (
            "soapstone_connections",
            "gauge",
            "Open connections from clients.",
            load(&gateway.connections),
        ),
        (
            "soapstone_refused_connections_total",
            "counter",
            "Connections turned away because there were too many.",
            load(&gateway.refused_connections),
        ),
        (
            "soapstone_requests_in_flight",
            "gauge",
            "Requests in hand.",
            load(&gateway.in_flight),
        ),
        (
            "soapstone_unrouted_total",
            "counter",
            "Requests for a path without a route.",
            load(&gateway.unrouted),
        ),
        (
            "soapstone_reloads_total",
            "counter",
            "Configurations taken into use after the first.",
            load(&gateway.reloads),
        ),
        (
            "soapstone_failed_reloads_total",
            "counter",
            "Changed configurations with problems.",
            load(&gateway.failed_reloads),
        ),
        (
            "soapstone_crypto_queue",
            "gauge",
            "Messages that wait for a crypto worker.",
            snapshot.queued as u64,
        ),
        (
            "soapstone_crypto_workers",
            "gauge",
            "Crypto workers.",
            snapshot.workers as u64,
        ),
        (
            "soapstone_buffered_octets",
            "gauge",
            "Octets of messages in hand.",
            snapshot.buffered,
        ),
    ] {
        family(&mut out, name, kind, help);
        line(&mut out, format_args!("{name} {value}"));
    }
    family(
        &mut out,
        "soapstone_crypto_wait_seconds",
        "histogram",
        "Time that messages waited for a crypto worker.",
    );
    gateway
        .queue_wait
        .write("soapstone_crypto_wait_seconds", "", &mut out);

    family(
        &mut out,
        "soapstone_backend_up",
        "gauge",
        "Whether the backend could last be reached.",
    );
    for (route, up) in &snapshot.backends {
        line(
            &mut out,
            format_args!(
                "soapstone_backend_up{{route=\"{}\"}} {}",
                escape(route),
                u8::from(*up)
            ),
        );
    }
    family(
        &mut out,
        "soapstone_replay_marks",
        "gauge",
        "Replay marks held.",
    );
    for (route, side, marks) in &snapshot.replay_marks {
        let (route, side) = (escape(route), side.name());
        line(
            &mut out,
            format_args!(
                "soapstone_replay_marks{{route=\"{route}\",direction=\"{side}\"}} {marks}"
            ),
        );
    }

    family(
        &mut out,
        "soapstone_requests_total",
        "counter",
        "Responses to clients, by class of status.",
    );
    for route in routes {
        for (class, count) in (1_u8..).zip(&route.responses) {
            let count = load(count);
            line(
                &mut out,
                format_args!(
                    "soapstone_requests_total{{{},status=\"{class}xx\"}} {count}",
                    route.label()
                ),
            );
        }
    }
    family(
        &mut out,
        "soapstone_octets_total",
        "counter",
        "Octets of bodies, by where they came from or went to.",
    );
    for route in routes {
        for (flow, count) in ["from-client", "to-backend", "from-backend", "to-client"]
            .iter()
            .zip(&route.octets)
        {
            let count = load(count);
            line(
                &mut out,
                format_args!(
                    "soapstone_octets_total{{{},flow=\"{flow}\"}} {count}",
                    route.label()
                ),
            );
        }
    }
    family(
        &mut out,
        "soapstone_refusals_total",
        "counter",
        "Messages refused for their security, by reason.",
    );
    for route in routes {
        for ((side, reason), count) in route.refusals.entries() {
            let labels = route.side_labels(side);
            line(
                &mut out,
                format_args!("soapstone_refusals_total{{{labels},reason=\"{reason}\"}} {count}"),
            );
        }
    }
    family(
        &mut out,
        "soapstone_failures_total",
        "counter",
        "Requests that failed for another reason.",
    );
    for route in routes {
        for (reason, count) in route.failures.entries() {
            line(
                &mut out,
                format_args!(
                    "soapstone_failures_total{{{},reason=\"{reason}\"}} {count}",
                    route.label()
                ),
            );
        }
    }
    family(
        &mut out,
        "soapstone_faults_total",
        "counter",
        "SOAP faults that the gateway answered with, by code.",
    );
    for route in routes {
        for (code, count) in route.faults.entries() {
            line(
                &mut out,
                format_args!(
                    "soapstone_faults_total{{{},code=\"{code}\"}} {count}",
                    route.label()
                ),
            );
        }
    }
    family(
        &mut out,
        "soapstone_weak_algorithm_uses_total",
        "counter",
        "Uses of weak algorithms that a plan allows.",
    );
    for route in routes {
        for ((side, algorithm), count) in route.weak.entries() {
            let labels = route.side_labels(side);
            line(
                &mut out,
                format_args!(
                    "soapstone_weak_algorithm_uses_total{{{labels},algorithm=\"{algorithm}\"}} {count}"
                ),
            );
        }
    }
    family(
        &mut out,
        "soapstone_request_seconds",
        "histogram",
        "From a request's head to its response's.",
    );
    for route in routes {
        route
            .request_time
            .write("soapstone_request_seconds", &route.label(), &mut out);
    }
    family(
        &mut out,
        "soapstone_backend_seconds",
        "histogram",
        "From sending a request to the head of its response.",
    );
    for route in routes {
        route
            .backend_time
            .write("soapstone_backend_seconds", &route.label(), &mut out);
    }
    family(
        &mut out,
        "soapstone_step_seconds",
        "histogram",
        "Steps of the work on a message.",
    );
    for route in routes {
        for side in Side::ALL {
            for (step, histogram) in STEPS.iter().zip(&route.steps[side as usize]) {
                if !histogram.is_empty() {
                    let labels = format!("{},step=\"{}\"", route.side_labels(side), step.name());
                    histogram.write("soapstone_step_seconds", &labels, &mut out);
                }
            }
        }
    }
    out
}

fn family(out: &mut String, name: &str, kind: &str, help: &str) {
    line(out, format_args!("# HELP {name} {help}"));
    line(out, format_args!("# TYPE {name} {kind}"));
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{text}");
}

fn escape(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_in_its_bucket_and_in_all_above() {
        let histogram = Histogram::default();
        histogram.record(Duration::from_micros(25));
        histogram.record(Duration::from_micros(26));
        histogram.record(Duration::from_secs(60));
        let mut out = String::new();
        histogram.write("h", "route=\"r\"", &mut out);
        assert!(out.starts_with(
            "h_bucket{route=\"r\",le=\"0.000025\"} 1\nh_bucket{route=\"r\",le=\"0.00005\"} 2\n"
        ));
        assert!(
            out.contains(
                "h_bucket{route=\"r\",le=\"10\"} 2\nh_bucket{route=\"r\",le=\"+Inf\"} 3\n"
            )
        );
        assert!(out.ends_with("h_sum{route=\"r\"} 60.000051\nh_count{route=\"r\"} 3\n"));
    }

    #[test]
    fn refusals_are_counted_by_route_direction_mechanism_and_reason() {
        let route = RouteMetrics::new("/books", Some("sign"), None);
        route.refusal(Side::Inbound, "replayed");
        route.refusal(Side::Inbound, "replayed");
        let text = expose(&GatewayMetrics::default(), &[route], &Snapshot::default());
        let expected = "soapstone_refusals_total{route=\"/books\",direction=\"inbound\",mechanism=\"sign\",reason=\"replayed\"} 2";
        assert!(text.lines().any(|line| line == expected), "{text}");
    }
}
