//! The text that Prometheus reads (exposition format 0.0.4).
//!
//! The rule kept here: label values come from the configuration and from names in the code, never from a message, so that
//! no peer can make the series grow.

use std::collections::BTreeMap;
use std::fmt::{Display, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{BOUNDS, GatewayMetrics, Histogram, RouteMetrics, STEPS, Side};

/// What is measured when asked for.
#[derive(Debug, Default)]
pub(crate) struct Snapshot {
    pub(crate) queued: usize,
    pub(crate) workers: usize,
    pub(crate) buffered: u64,
    /// Lines of the log that were lost.
    pub(crate) lost_lines: u64,
    /// Route and side, with the number of replay marks held.
    pub(crate) replay_marks: Vec<(String, Side, u64)>,
    /// Route and side, with the number of conversations held.
    pub(crate) conversations: Vec<(String, Side, u64)>,
    /// Route, side and what was asked for, with the number of questions that a shared store did not answer.
    pub(crate) unanswered: Vec<(String, Side, &'static str, u64)>,
    /// Route and side, with the number of messages that were accepted without the shared store's word.
    pub(crate) decided_alone: Vec<(String, Side, u64)>,
    /// What certificates and revocation lists are there for, with the second at which the first of them expires.
    pub(crate) expiries: BTreeMap<ExpiryLabels, i64>,
    /// Route, and whether its backend could last be reached.
    pub(crate) backends: Vec<(String, bool)>,
}

/// Route and side (none of `[tls]`), and what the certificate or list is there for.
type ExpiryLabels = (Option<(String, Side)>, &'static str);

/// One metric: its name, its kind and what it says.
type Family = (&'static str, &'static str, &'static str);

const GAUGE: &str = "gauge";
const COUNTER: &str = "counter";
const HISTOGRAM: &str = "histogram";

/// Writes everything in Prometheus' text format.
pub(crate) fn expose(
    gateway: &GatewayMetrics,
    routes: &[Arc<RouteMetrics>],
    snapshot: &Snapshot,
) -> String {
    let mut out = Exposition(String::with_capacity(16 * 1024));
    of_the_gateway(gateway, snapshot, &mut out);
    of_backends(snapshot, &mut out);
    of_expiries(snapshot, &mut out);
    of_requests(routes, &mut out);
    of_security(routes, &mut out);
    of_conversations(routes, snapshot, &mut out);
    of_times(routes, &mut out);
    out.0
}

fn of_the_gateway(gateway: &GatewayMetrics, snapshot: &Snapshot, out: &mut Exposition) {
    let version = format!("version=\"{}\"", env!("CARGO_PKG_VERSION"));
    out.family(("soapstone_build_info", GAUGE, "The running version."))
        .sample(&version, 1);
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let connections = (
        "soapstone_connections",
        GAUGE,
        "Open connections from clients.",
    );
    let refused_connections = (
        "soapstone_refused_connections_total",
        COUNTER,
        "Connections turned away because there were too many.",
    );
    let in_flight = ("soapstone_requests_in_flight", GAUGE, "Requests in hand.");
    let unrouted = (
        "soapstone_unrouted_total",
        COUNTER,
        "Requests for a path without a route.",
    );
    let reloads = (
        "soapstone_reloads_total",
        COUNTER,
        "Configurations taken into use after the first.",
    );
    let failed_reloads = (
        "soapstone_failed_reloads_total",
        COUNTER,
        "Changed configurations with problems.",
    );
    let queued = (
        "soapstone_crypto_queue",
        GAUGE,
        "Messages that wait for a crypto worker.",
    );
    let workers = ("soapstone_crypto_workers", GAUGE, "Crypto workers.");
    let buffered = (
        "soapstone_buffered_octets",
        GAUGE,
        "Octets of messages in hand.",
    );
    let lost_lines = (
        "soapstone_log_lines_lost_total",
        COUNTER,
        "Lines of the log that were lost, because its reader stood still or there was no room.",
    );
    for (family, value) in [
        (connections, load(&gateway.connections)),
        (refused_connections, load(&gateway.refused_connections)),
        (in_flight, load(&gateway.in_flight)),
        (unrouted, load(&gateway.unrouted)),
        (reloads, load(&gateway.reloads)),
        (failed_reloads, load(&gateway.failed_reloads)),
        (queued, snapshot.queued as u64),
        (workers, snapshot.workers as u64),
        (buffered, snapshot.buffered),
        (lost_lines, snapshot.lost_lines),
    ] {
        out.family(family).sample("", value);
    }
    let wait = "Time that messages waited for a crypto worker.";
    out.family(("soapstone_crypto_wait_seconds", HISTOGRAM, wait))
        .histogram("", &gateway.queue_wait);
}

fn of_backends(snapshot: &Snapshot, out: &mut Exposition) {
    let help = "Whether the backend could last be reached.";
    let mut samples = out.family(("soapstone_backend_up", GAUGE, help));
    for (route, up) in &snapshot.backends {
        samples.sample(&route_label(route), u8::from(*up));
    }
    let help = "Replay marks held.";
    out.family(("soapstone_replay_marks", GAUGE, help))
        .of_sides(&snapshot.replay_marks);
    let help = "Messages accepted by this node alone, because the shared store did not answer.";
    out.family(("soapstone_replay_decided_alone_total", COUNTER, help))
        .of_sides(&snapshot.decided_alone);
    let help = "Questions that a shared store did not answer.";
    let mut samples = out.family(("soapstone_store_unanswered_total", COUNTER, help));
    for (route, side, about, count) in &snapshot.unanswered {
        let (route, side) = (route_label(route), side.name());
        samples.sample(
            &format!("{route},direction=\"{side}\",about=\"{about}\""),
            count,
        );
    }
}

fn of_expiries(snapshot: &Snapshot, out: &mut Exposition) {
    let help =
        "When the first certificate or revocation list of its use expires, in seconds since 1970.";
    let mut samples = out.family(("soapstone_certificate_expires_seconds", GAUGE, help));
    for ((place, usage), seconds) in &snapshot.expiries {
        let place = place.as_ref().map_or_else(String::new, |(route, side)| {
            format!("{},direction=\"{}\",", route_label(route), side.name())
        });
        samples.sample(&format!("{place}use=\"{usage}\""), seconds);
    }
}

fn of_requests(routes: &[Arc<RouteMetrics>], out: &mut Exposition) {
    const FLOWS: [&str; 4] = ["from-client", "to-backend", "from-backend", "to-client"];
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let help = "Responses to clients, by class of status.";
    out.family(("soapstone_requests_total", COUNTER, help))
        .counts(routes, "status", |route| {
            let classes = (1_u8..).zip(&route.responses);
            classes
                .map(|(class, count)| (route.label(), format!("{class}xx"), load(count)))
                .collect()
        });
    let help = "Octets of bodies, by where they came from or went to.";
    out.family(("soapstone_octets_total", COUNTER, help))
        .counts(routes, "flow", |route| {
            let flows = FLOWS.iter().zip(&route.octets);
            flows
                .map(|(flow, count)| (route.label(), (*flow).to_owned(), load(count)))
                .collect()
        });
}

fn of_security(routes: &[Arc<RouteMetrics>], out: &mut Exposition) {
    let of_sides = |route: &RouteMetrics, entries: Vec<((Side, &'static str), u64)>| {
        let entries = entries.into_iter();
        let labelled = entries.map(|((side, name), count)| {
            let labels = route.side_labels(side);
            (labels, name.to_owned(), count)
        });
        labelled.collect()
    };
    let of_route = |route: &RouteMetrics, entries: Vec<(&'static str, u64)>| {
        let entries = entries.into_iter();
        entries
            .map(|(name, count)| (route.label(), name.to_owned(), count))
            .collect()
    };
    let help = "Messages refused for their security, by reason.";
    out.family(("soapstone_refusals_total", COUNTER, help))
        .counts(routes, "reason", |route| {
            of_sides(route, route.refusals.entries())
        });
    let help = "Requests that failed for another reason.";
    out.family(("soapstone_failures_total", COUNTER, help))
        .counts(routes, "reason", |route| {
            of_route(route, route.failures.entries())
        });
    let help = "SOAP faults that the gateway answered with, by code.";
    out.family(("soapstone_faults_total", COUNTER, help))
        .counts(routes, "code", |route| {
            let entries = route.faults.entries().into_iter();
            entries
                .map(|((prefix, local), count)| (route.label(), format!("{prefix}:{local}"), count))
                .collect()
        });
    let help = "Uses of weak algorithms that a plan allows.";
    out.family(("soapstone_weak_algorithm_uses_total", COUNTER, help))
        .counts(routes, "algorithm", |route| {
            of_sides(route, route.weak.entries())
        });
}

fn of_conversations(routes: &[Arc<RouteMetrics>], snapshot: &Snapshot, out: &mut Exposition) {
    const OUTCOMES: [&str; 2] = ["established", "failed"];
    let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
    let help = "Conversations with clients that are held.";
    out.family(("soapstone_conversations", GAUGE, help))
        .of_sides(&snapshot.conversations);
    let help = "Security contexts of clients: issued, renewed, amended, cancelled, refused.";
    out.family(("soapstone_contexts_total", COUNTER, help))
        .counts(routes, "event", |route| {
            let entries = route.contexts.entries().into_iter();
            entries
                .map(|(what, count)| (route.label(), what.to_owned(), count))
                .collect()
        });
    let converses = |route: &&Arc<RouteMetrics>| !route.handshake_time.is_empty();
    let help = "Security contexts asked for at the backend, by outcome.";
    out.family(("soapstone_handshakes_total", COUNTER, help))
        .counts(routes, "outcome", |route| {
            let outcomes = OUTCOMES.iter().zip(&route.handshakes);
            let outcomes = outcomes.map(|(outcome, count)| (*outcome, load(count)));
            outcomes
                .filter(|(_, count)| *count > 0)
                .map(|(outcome, count)| (route.label(), outcome.to_owned(), count))
                .collect()
        });
    let help = "From asking for a security context to having it, or not.";
    let mut samples = out.family(("soapstone_handshake_seconds", HISTOGRAM, help));
    for route in routes.iter().filter(converses) {
        samples.histogram(&route.label(), &route.handshake_time);
    }
    let help = "Requests sent again because the backend had lost their conversation.";
    let mut samples = out.family(("soapstone_resent_requests_total", COUNTER, help));
    for route in routes.iter().filter(converses) {
        samples.sample(&route.label(), load(&route.resent));
    }
}

fn of_times(routes: &[Arc<RouteMetrics>], out: &mut Exposition) {
    let help = "From a request's head to its response's.";
    let mut samples = out.family(("soapstone_request_seconds", HISTOGRAM, help));
    for route in routes {
        samples.histogram(&route.label(), &route.request_time);
    }
    let help = "From sending a request to the head of its response.";
    let mut samples = out.family(("soapstone_backend_seconds", HISTOGRAM, help));
    for route in routes {
        samples.histogram(&route.label(), &route.backend_time);
    }
    let help = "Steps of the work on a message.";
    let mut samples = out.family(("soapstone_step_seconds", HISTOGRAM, help));
    for (route, side) in routes
        .iter()
        .flat_map(|route| Side::ALL.map(|side| (route, side)))
    {
        for (step, histogram) in STEPS.iter().zip(&route.steps[side as usize]) {
            if !histogram.is_empty() {
                let labels = format!("{},step=\"{}\"", route.side_labels(side), step.name());
                samples.histogram(&labels, histogram);
            }
        }
    }
}

/// The text so far.
struct Exposition(String);

impl Exposition {
    /// Begins a metric, whose samples follow.
    fn family(&mut self, (name, kind, help): Family) -> Samples<'_> {
        let out = &mut self.0;
        line(out, format_args!("# HELP {name} {help}"));
        line(out, format_args!("# TYPE {name} {kind}"));
        Samples { name, out }
    }
}

/// The samples of one metric.
struct Samples<'o> {
    name: &'static str,
    out: &'o mut String,
}

impl Samples<'_> {
    fn sample(&mut self, labels: &str, value: impl Display) {
        let name = self.name;
        let (open, close) = braces(labels);
        line(
            self.out,
            format_args!("{name}{open}{labels}{close} {value}"),
        );
    }

    /// A number for a route and side.
    fn of_sides(&mut self, values: &[(String, Side, u64)]) {
        for (route, side, value) in values {
            let labels = format!("{},direction=\"{}\"", route_label(route), side.name());
            self.sample(&labels, value);
        }
    }

    /// What each route counted: labels, the value of the label `by`, and how many.
    fn counts(
        &mut self,
        routes: &[Arc<RouteMetrics>],
        by: &str,
        of: impl Fn(&RouteMetrics) -> Vec<(String, String, u64)>,
    ) {
        for (labels, value, count) in routes.iter().flat_map(|route| of(route)) {
            self.sample(&format!("{labels},{by}=\"{value}\""), count);
        }
    }

    fn histogram(&mut self, labels: &str, histogram: &Histogram) {
        histogram.write(self.name, labels, self.out);
    }
}

fn braces(labels: &str) -> (&'static str, &'static str) {
    if labels.is_empty() {
        ("", "")
    } else {
        ("{", "}")
    }
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

fn route_label(route: &str) -> String {
    format!("route=\"{}\"", escape(route))
}

impl Histogram {
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
        let (open, close) = braces(labels);
        let seconds = self.nanoseconds.load(Ordering::Relaxed) as f64 / 1e9;
        line(
            out,
            format_args!("{name}_sum{open}{labels}{close} {seconds}"),
        );
        line(
            out,
            format_args!("{name}_count{open}{labels}{close} {count}"),
        );
    }

    fn is_empty(&self) -> bool {
        self.buckets
            .iter()
            .all(|bucket| bucket.load(Ordering::Relaxed) == 0)
    }
}

impl RouteMetrics {
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
        route_label(&self.route)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

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
