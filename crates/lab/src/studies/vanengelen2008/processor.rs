//! Processor time: that of the thread that works, so that what else the machine does is not
//! counted.
//!
//! The rule kept here: what is compared is measured in turns, one repetition of each after the
//! other.

use rustix::time::{ClockId, clock_gettime};

use crate::study::{Line, Quantity, Stack};

/// Processor time that this thread has taken, µs.
fn now() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// The processor time of `work`, µs, and what came of it.
pub(super) fn time<T>(work: impl FnOnce() -> T) -> (f64, T) {
    let begun = now();
    let done = work();
    (now() - begun, done)
}

/// One thing that is compared: its name, and a repetition of it, which says what it took.
pub(super) struct Arm<'a> {
    name: String,
    repeat: Box<dyn FnMut() -> f64 + 'a>,
    samples: Vec<f64>,
}

impl<'a> Arm<'a> {
    /// An arm.
    pub(super) fn new(name: impl Into<String>, repeat: impl FnMut() -> f64 + 'a) -> Self {
        Self {
            name: name.into(),
            repeat: Box::new(repeat),
            samples: Vec::new(),
        }
    }
}

/// Repeats all arms in turns, after some repetitions that are not counted, and hands out their
/// lines.
pub(super) fn in_turns(mut arms: Vec<Arm<'_>>, repetitions: usize, emit: &mut dyn FnMut(Line)) {
    let warm_up = repetitions.div_ceil(5);
    for repetition in 0..warm_up + repetitions {
        for arm in &mut arms {
            let sample = (arm.repeat)();
            if repetition >= warm_up {
                arm.samples.push(sample);
            }
        }
    }
    for arm in arms {
        hand_out(&arm.name, &arm.samples, emit);
    }
}

/// Hands out the line of an arm.
pub(super) fn hand_out(arm: &str, samples: &[f64], emit: &mut dyn FnMut(Line)) {
    if let Some(line) = Line::of(Stack::Soapstone, arm, Quantity::Processor, samples) {
        emit(line);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn sleeping_takes_no_processor_time_and_working_does() {
        let (asleep, ()) = time(|| std::thread::sleep(Duration::from_millis(30)));
        assert!(asleep < 10_000.0, "{asleep}");
        let (awake, _) = time(|| {
            let begun = std::time::Instant::now();
            let mut sum = 0_u64;
            while begun.elapsed() < Duration::from_millis(30) {
                sum = std::hint::black_box(sum.wrapping_add(1));
            }
            sum
        });
        assert!(awake > asleep, "{awake} {asleep}");
    }

    #[test]
    fn every_arm_has_as_many_samples_as_there_are_repetitions() {
        let mut order = Vec::new();
        let order_of = std::cell::RefCell::new(&mut order);
        let arm = |name: &'static str, value: f64| {
            let order_of = &order_of;
            Arm::new(name, move || {
                order_of.borrow_mut().push(name);
                value
            })
        };
        let mut lines = Vec::new();
        in_turns(vec![arm("a", 1.0), arm("b", 2.0)], 5, &mut |line| {
            lines.push(line);
        });
        let found: Vec<_> = lines
            .iter()
            .map(|line| (line.arm.as_str(), line.figures.n, line.figures.mean))
            .collect();
        assert_eq!(found, [("a", 5, 1.0), ("b", 5, 2.0)]);
        assert_eq!(order.len(), 12);
        assert_eq!(order[..4], ["a", "b", "a", "b"]);
    }
}
