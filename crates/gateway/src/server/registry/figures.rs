//! Figures of a route since the last report.
//!
//! The rule kept here: times are of the calls since the last report that had some, and counts are
//! since the gateway began.

use soapstone_registry::{Figures, Times};

use crate::observe::metrics::{RouteSample, TimesSample};

/// The figures of a route, from what it counted until now and until the last report.
pub(super) fn figures(
    binding_key: &str,
    now: &RouteSample,
    last: Option<&RouteSample>,
    queue: usize,
) -> Figures {
    let unknown = RouteSample::default();
    let last = last.unwrap_or(&unknown);
    let busy = now
        .request
        .nanoseconds
        .saturating_sub(last.request.nanoseconds);
    let secured = now
        .security_nanoseconds
        .saturating_sub(last.security_nanoseconds);
    let share = match busy {
        0 => 0.0,
        busy => (secured as f64 / busy as f64).min(1.0),
    };
    Figures {
        binding_key: binding_key.to_owned(),
        in_hand: now.in_hand as f64,
        queue: queue as f64,
        calls: now.request.count() as f64,
        errors: now.failures as f64,
        refusals: now.refusals as f64,
        security_share: share,
        service: times(&now.request, &last.request),
        backend: times(&now.backend, &last.backend),
        operations: Vec::new(),
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
        let mut last = RouteSample::default();
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
    }
}
