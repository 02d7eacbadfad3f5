//! Figures of a route and of its operations since the last report.
//!
//! The rule kept here: times are of the calls since the last report that had some, and counts are
//! since the gateway began.

use soapstone_registry::{Figures, Operation, Times};

use crate::observe::metrics::{CallSample, TimesSample};

/// The figures of a route, from what it counted until now and until the last report.
pub(super) fn figures(
    binding_key: &str,
    now: &CallSample,
    last: Option<&CallSample>,
    queue: usize,
) -> Figures {
    let unknown = CallSample::default();
    let last = last.unwrap_or(&unknown);
    Figures {
        binding_key: binding_key.to_owned(),
        in_hand: now.in_hand as f64,
        queue: queue as f64,
        calls: now.request.count() as f64,
        errors: now.failures as f64,
        refusals: now.refusals as f64,
        security_share: security_share(now, last),
        service: times(&now.request, &last.request),
        backend: times(&now.backend, &last.backend),
        operations: Vec::new(),
    }
}

/// The figures of an operation, from what it counted until now and until the last report.
pub(in crate::server) fn operation(
    name: &str,
    now: &CallSample,
    last: Option<&CallSample>,
) -> Operation {
    let unknown = CallSample::default();
    let last = last.unwrap_or(&unknown);
    Operation {
        name: name.to_owned(),
        in_hand: now.in_hand as f64,
        calls: now.request.count() as f64,
        errors: now.failures as f64,
        refusals: now.refusals as f64,
        security_share: security_share(now, last),
        service: times(&now.request, &last.request),
        backend: times(&now.backend, &last.backend),
    }
}

/// The share of security steps in the time of the calls since the last report.
fn security_share(now: &CallSample, last: &CallSample) -> f64 {
    let busy = now
        .request
        .nanoseconds
        .saturating_sub(last.request.nanoseconds);
    let secured = now
        .security_nanoseconds
        .saturating_sub(last.security_nanoseconds);
    match busy {
        0 => 0.0,
        busy => (secured as f64 / busy as f64).min(1.0),
    }
}

/// Most bytes that the operations of one report have: a registry takes requests of 1 MiB.
const LARGEST: usize = 500_000;

/// Bytes of an operation in a report beside its name, and of a character that is written as an
/// entity (`&quot;`).
const FRAME: usize = 600;
const ESCAPED: usize = 6;

/// Leaves operations out of a report that is too large for a registry: the ones with the fewest
/// calls of each binding.
pub(super) fn fit(bindings: &mut [Figures]) {
    let count = bindings.len().max(1);
    for figures in bindings {
        let by_calls = |one: &Operation, other: &Operation| other.calls.total_cmp(&one.calls);
        figures.operations.sort_by(by_calls);
        let mut left = LARGEST / count;
        let fitting = figures.operations.iter().take_while(|operation| {
            let size = FRAME + operation.name.len() * ESCAPED;
            let fits = size <= left;
            left = left.saturating_sub(size);
            fits
        });
        let fitting = fitting.count();
        figures.operations.truncate(fitting);
    }
}

fn times(now: &TimesSample, last: &TimesSample) -> Times {
    let buckets = now.buckets.iter().zip(&last.buckets);
    let buckets: Vec<u64> = buckets
        .map(|(now, last)| now.saturating_sub(*last))
        .collect();
    let count: u64 = buckets.iter().sum();
    if count == 0 {
        return Times::default();
    }
    let nanoseconds = now.nanoseconds.saturating_sub(last.nanoseconds);
    Times {
        mean: nanoseconds as f64 / count as f64 / 1e6,
        p50: percentile(&buckets, count, 50),
        p95: percentile(&buckets, count, 95),
    }
}

/// The time that so many percent of the calls do not exceed, in milliseconds. Calls are taken to be
/// spread evenly in their bucket.
fn percentile(buckets: &[u64], count: u64, percent: u64) -> f64 {
    let wanted = (count * percent) as f64 / 100.0;
    let mut below = 0.0;
    for (bucket, calls) in buckets.iter().enumerate() {
        let calls = *calls as f64;
        if calls > 0.0 && below + calls >= wanted {
            let (from, to) = TimesSample::bounds(bucket);
            let share = (wanted - below) / calls;
            return (from + (to - from) * share) / 1e3;
        }
        below += calls;
    }
    0.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_of_the_calls_since_the_last_report() {
        let mut last = CallSample::default();
        // A thousand calls of up to 25 µs, of which nothing is said any more.
        last.request.buckets[0] = 1_000;
        let mut now = last.clone();
        // Up to 1 ms, and up to 10 ms.
        now.request.buckets[5] = 90;
        now.request.buckets[8] = 10;
        now.request.nanoseconds = 100_000_000;
        now.security_nanoseconds = 25_000_000;
        let figures = figures("k", &now, Some(&last), 3);
        assert_eq!(figures.calls, 1_100.0);
        assert_eq!(figures.service.mean, 1.0);
        assert!(
            figures.service.p50 > 0.5 && figures.service.p50 <= 1.0,
            "{figures:?}"
        );
        assert!(
            figures.service.p95 > 5.0 && figures.service.p95 <= 10.0,
            "{figures:?}"
        );
        assert_eq!(figures.security_share, 0.25);
        assert_eq!(figures.queue, 3.0);
        let quiet = self::figures("k", &now, Some(&now), 0);
        assert_eq!(quiet.service, Times::default());
        assert_eq!(quiet.security_share, 0.0);
        let of_operation = operation("{urn:b}get", &now, Some(&last));
        assert_eq!(of_operation.calls, 1_100.0);
        assert_eq!(of_operation.service, figures.service);
        assert_eq!(of_operation.security_share, 0.25);
    }

    /// A registry that refused a report for its size would take the provider for away.
    #[test]
    fn a_report_is_no_larger_than_a_registry_takes() {
        let named = |number: usize| Operation {
            name: format!("{{{}}}o{number}", "&".repeat(240)),
            calls: number as f64,
            ..Operation::default()
        };
        let binding = |key: usize| Figures {
            binding_key: format!("uddi:{key}"),
            operations: (0..64).map(named).collect(),
            ..Figures::default()
        };
        for count in [1, 40, 900] {
            let mut bindings: Vec<Figures> = (0..count).map(binding).collect();
            fit(&mut bindings);
            let report = soapstone_registry::Report {
                bindings: bindings.clone(),
                ..soapstone_registry::Report::default()
            };
            let request = soapstone_registry::Request::Report(report);
            let written = soapstone_registry::uddi::write_request(&request);
            let without = 700 * count;
            assert!(written.len() <= LARGEST + without, "{}", written.len());
            let first = bindings[0].operations.first();
            // The busiest are told of as long as there is room.
            let told = first.map(|it| it.calls);
            assert_eq!(told, (count < 900).then_some(63.0), "{count}");
        }
    }
}
