//! Token buckets: so many at once, and so many in a time.
//!
//! A bucket is the moment at which it will be full again (the generic cell rate algorithm, ITU-T
//! I.371 annex A): one number that is moved on by each token.
//!
//! The rule kept here: a token that is refused costs nothing, so that whoever waits as told gets
//! one.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::rate::Rate;

/// A bucket of tokens, full at first.
#[derive(Debug, Default)]
pub struct Bucket {
    /// When it is full again: nanoseconds since [`nanoseconds`] began to count.
    full: AtomicU64,
}

impl Bucket {
    /// Takes a token.
    ///
    /// # Errors
    ///
    /// How long to wait for one.
    pub fn take(&self, rate: Rate, now: Instant) -> Result<(), Duration> {
        let now = nanoseconds(now);
        let next = |full: u64| {
            let next = full.max(now).saturating_add(rate.each);
            (next - now <= rate.depth).then_some(next)
        };
        self.full
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next)
            .map(drop)
            .map_err(|full| {
                let missing = full.max(now).saturating_add(rate.each) - now - rate.depth;
                Duration::from_nanos(missing)
            })
    }

    /// One with as many tokens as this one, for another rate. It is full again after no more than
    /// the time that this rate takes to fill it: what was taken at a slower one is not owed.
    #[must_use]
    pub fn at(&self, rate: Rate, now: Instant) -> Self {
        let most = nanoseconds(now).saturating_add(rate.depth);
        let full = self.full.load(Ordering::Relaxed).min(most);
        Self {
            full: AtomicU64::new(full),
        }
    }

    /// Takes a token, or what there is of one.
    pub fn drain(&self, rate: Rate, now: Instant) {
        let now = nanoseconds(now);
        let next = |full: u64| {
            let next = full.max(now).saturating_add(rate.each);
            Some(next.min(now.saturating_add(rate.depth)))
        };
        // It always says how it goes on.
        let _ = self
            .full
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
    }

    /// Whether there is a token.
    pub fn has_one(&self, rate: Rate, now: Instant) -> bool {
        let now = nanoseconds(now);
        let full = self.full.load(Ordering::Relaxed).max(now);
        full.saturating_add(rate.each) - now <= rate.depth
    }

    /// Whether nobody has to wait for it.
    pub fn is_full(&self, now: Instant) -> bool {
        self.full.load(Ordering::Relaxed) <= nanoseconds(now)
    }
}

/// Since the first look at a bucket: small numbers that no clock sets back.
fn nanoseconds(now: Instant) -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let since = now.saturating_duration_since(*START.get_or_init(|| now));
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_gives_its_burst_and_then_one_at_a_time() {
        let rate = Rate::parse("10/s", Some(3)).expect("a rate");
        let (bucket, start) = (Bucket::default(), Instant::now());
        for _ in 0..3 {
            bucket.take(rate, start).expect("the burst");
        }
        assert!(!bucket.is_full(start));
        assert_eq!(bucket.take(rate, start), Err(Duration::from_millis(100)));
        let later = start + Duration::from_millis(40);
        assert_eq!(bucket.take(rate, later), Err(Duration::from_millis(60)));
        let later = start + Duration::from_millis(100);
        bucket.take(rate, later).expect("it waited as told");
        assert_eq!(bucket.take(rate, later), Err(Duration::from_millis(100)));
        assert!(bucket.is_full(start + Duration::from_millis(400)));
    }

    /// A rate that was raised counts at once: what was taken at the former one is not owed at it.
    #[test]
    fn another_rate_keeps_a_bucket_empty_for_no_longer_than_it_takes_to_fill() {
        let slow = Rate::parse("1/h", Some(3)).expect("a rate");
        let fast = Rate::parse("100/s", Some(200)).expect("a rate");
        let (bucket, start) = (Bucket::default(), Instant::now());
        for _ in 0..3 {
            bucket.take(slow, start).expect("the burst");
        }
        let each = Duration::from_millis(10);
        let bucket = bucket.at(fast, start);
        assert!(!bucket.has_one(fast, start));
        assert!(bucket.has_one(fast, start + each));
        assert_eq!(bucket.take(fast, start), Err(each));
        bucket.take(fast, start + each).expect("it waited as told");
    }

    #[test]
    fn what_drains_a_bucket_keeps_it_empty_for_no_longer_than_it_takes_to_fill() {
        let rate = Rate::parse("1/s", Some(2)).expect("a rate");
        let (bucket, start) = (Bucket::default(), Instant::now());
        assert!(bucket.has_one(rate, start));
        for _ in 0..100 {
            bucket.drain(rate, start);
        }
        assert!(!bucket.has_one(rate, start));
        assert!(bucket.has_one(rate, start + Duration::from_secs(1)));
        assert!(bucket.is_full(start + Duration::from_secs(2)));
    }
}
