//! The processor time of work: what a busy machine does not change.
//!
//! The rule kept here: a bound on work is a multiple of other work in the same run, never a time.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// What work gives, and the time that this thread was on a processor for it.
pub fn processor_time<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let before = on_processor();
    let made = work();
    (made, on_processor().saturating_sub(before))
}

/// How long this thread has been on a processor.
fn on_processor() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_sleeps_is_on_no_processor() {
        let asleep = Duration::from_millis(200);
        let work = |rounds: u64| {
            let (sum, time) = processor_time(|| {
                std::thread::sleep(asleep);
                (0..rounds).fold(1_u64, |sum, next| {
                    std::hint::black_box(sum.rotate_left(7) ^ next)
                })
            });
            std::hint::black_box(sum);
            time
        };
        assert!(work(1_000) < asleep);
        assert!(work(4_000_000) > work(1_000));
    }
}
