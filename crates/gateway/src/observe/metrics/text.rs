//! The lines of the exposition format: families, samples and histograms.
//!
//! The rule kept here: whatever a label's value is made of, it stays in its line.

use std::fmt::{Display, Write};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::RouteMetrics;
use super::times::{BOUNDS, Histogram};
use crate::config::direction::Direction;

/// One metric: its name, its kind and what it says.
type Family = (&'static str, &'static str, &'static str);

pub(super) const GAUGE: &str = "gauge";
pub(super) const COUNTER: &str = "counter";
pub(super) const HISTOGRAM: &str = "histogram";

/// The text so far.
pub(super) struct Exposition(pub(super) String);

impl Exposition {
    /// Begins a metric, whose samples follow.
    pub(super) fn family(&mut self, (name, kind, help): Family) -> Samples<'_> {
        let out = &mut self.0;
        line(out, format_args!("# HELP {name} {help}"));
        line(out, format_args!("# TYPE {name} {kind}"));
        Samples { name, out }
    }

    /// A metric that is one number, without labels.
    pub(super) fn number(&mut self, family: Family, value: impl Display) {
        self.family(family).sample("", value);
    }
}

/// The samples of one metric.
pub(super) struct Samples<'o> {
    name: &'static str,
    out: &'o mut String,
}

impl Samples<'_> {
    pub(super) fn sample(&mut self, labels: &str, value: impl Display) {
        let name = self.name;
        let (open, close) = braces(labels);
        line(
            self.out,
            format_args!("{name}{open}{labels}{close} {value}"),
        );
    }

    /// A number for a route and side.
    pub(super) fn of_sides(&mut self, values: &[(String, Direction, impl Display)]) {
        for (route, side, value) in values {
            let labels = format!("{},direction=\"{}\"", route_label(route), side.name());
            self.sample(&labels, value);
        }
    }

    /// What each route counted: labels, the value of the label `by`, and how many.
    pub(super) fn counts(
        &mut self,
        routes: &[Arc<RouteMetrics>],
        by: &str,
        of: impl Fn(&RouteMetrics) -> Vec<(String, String, u64)>,
    ) {
        for (labels, value, count) in routes.iter().flat_map(|route| of(route)) {
            self.sample(&format!("{labels},{by}=\"{value}\""), count);
        }
    }

    pub(super) fn histogram(&mut self, labels: &str, histogram: &Histogram) {
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

pub(super) fn escape(value: &str) -> String {
    value
        .replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

pub(super) fn route_label(route: &str) -> String {
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

    pub(super) fn is_empty(&self) -> bool {
        self.buckets
            .iter()
            .all(|bucket| bucket.load(Ordering::Relaxed) == 0)
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
}
