//! Times in buckets, and what was counted of calls at a moment.
//!
//! The rule kept here: a time is counted once, and nobody waits for that.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds of the buckets, in microseconds: from one symmetric operation on a small message to
/// a backend's patience.
pub(super) const BOUNDS: [u64; 18] = [
    25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000, 10_000_000,
];

/// How long something took, counted in buckets.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    pub(super) buckets: [AtomicU64; BOUNDS.len() + 1],
    pub(super) nanoseconds: AtomicU64,
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
}

/// What a histogram had counted at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct TimesSample {
    pub(crate) buckets: [u64; BOUNDS.len() + 1],
    pub(crate) nanoseconds: u64,
}

impl TimesSample {
    pub(super) fn of(histogram: &Histogram) -> Self {
        let buckets = histogram.buckets.each_ref();
        Self {
            buckets: buckets.map(|count| count.load(Ordering::Relaxed)),
            nanoseconds: histogram.nanoseconds.load(Ordering::Relaxed),
        }
    }

    pub(crate) fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }

    /// The bounds of a bucket, in microseconds. The last one is taken to end at twice its start.
    pub(crate) fn bounds(bucket: usize) -> (f64, f64) {
        let last = BOUNDS[BOUNDS.len() - 1];
        let from = match bucket.checked_sub(1) {
            Some(before) => BOUNDS.get(before).copied().unwrap_or(last),
            None => 0,
        };
        let to = BOUNDS.get(bucket).copied().unwrap_or(last * 2);
        (from as f64, to as f64)
    }
}

/// What a route, or one of its operations, had counted at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CallSample {
    pub(crate) request: TimesSample,
    pub(crate) backend: TimesSample,
    /// Time of all steps of endpoints.
    pub(crate) security_nanoseconds: u64,
    pub(crate) refusals: u64,
    pub(crate) failures: u64,
    pub(crate) in_hand: u64,
}
