//! The text that Prometheus reads (exposition format 0.0.4).
//!
//! The rule kept here: label values come from the configuration and from names in the code, never from a message, so that
//! no peer can make the series grow.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{BOUNDS, GatewayMetrics, Histogram, RouteMetrics, STEPS, Side};

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
        format!("route=\"{}\"", escape(&self.route))
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
