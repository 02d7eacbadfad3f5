//! Moments of tests, and a clock that a test sets.
//!
//! The rule kept here: a test that is about time reads no real clock.

use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::Timestamp;

/// So many seconds after the moment at which stories of tests begin, 2027-01-15T08:00:00Z.
///
/// # Panics
/// If there is no such moment.
pub fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).expect("a moment")
}

/// The moment that a text in RFC 3339 names.
///
/// # Panics
/// If the text names none.
pub fn moment(text: &str) -> Timestamp {
    let moment = text.parse();
    moment.unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Time that passes only where a test says so. Copies share it.
#[derive(Clone, Debug, Default)]
pub struct Elapsed(Arc<AtomicU64>);

impl Elapsed {
    /// Sets the seconds that have passed.
    ///
    /// # Panics
    /// If the number is negative.
    pub fn set(&self, seconds: impl TryInto<u64, Error: Debug>) {
        let seconds = seconds.try_into().expect("time passes");
        self.0.store(seconds, Ordering::Relaxed);
    }

    /// Lets more seconds pass.
    ///
    /// # Panics
    /// If the number is negative.
    pub fn pass(&self, seconds: impl TryInto<u64, Error: Debug>) {
        let seconds = seconds.try_into().expect("time passes");
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }

    /// The time that has passed.
    pub fn get(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stories_begin_where_the_documentation_says() {
        assert_eq!(at(0), moment("2027-01-15T08:00:00Z"));
    }

    #[test]
    fn copies_of_a_clock_share_its_time() {
        let elapsed = Elapsed::default();
        let copy = elapsed.clone();
        elapsed.set(7);
        copy.pass(2);
        assert_eq!(elapsed.get(), Duration::from_secs(9));
    }
}
