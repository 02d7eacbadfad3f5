//! Statistics: the figures of samples, intervals, the design of factors, lines of growth, and where
//! costs change places.
//!
//! Everything is a function of the numbers that it is given: there is no random number in it, so
//! that the same lines make the same report everywhere. All samples of a run are kept until its
//! figures are made, so that percentiles are exact: a histogram with logarithmic buckets would save
//! eight bytes for each call, and cost a dependency and digits. The rule kept here: each function
//! is tested against an answer that is published, or that follows from straight lines.

mod beta;
mod crossing;
mod factorial;
mod figures;
mod growth;
mod interval;

pub use crossing::{Crossing, Less, Measured, Place, crossings};
pub use factorial::{DesignError, Effect, Factorial};
pub use figures::Figures;
pub use growth::{Crossover, Growth};
pub use interval::{mean_interval, median_interval, student_t};

/// The confidence of every interval, two-sided.
pub const CONFIDENCE: f64 = 0.95;

/// Half of an interval of that confidence, in deviations of the normal distribution: 1.96.
pub const NORMAL: f64 = 1.959_963_984_540_054;

/// By how many percent `value` is larger than `baseline`: the increment percentage of Rodrigues et
/// al., `(T_wss − T_plain) / T_plain × 100`.
pub fn increment_percent(value: f64, baseline: f64) -> f64 {
    (value - baseline) / baseline * 100.0
}

/// `value` in percent of `baseline`: the impact of McHale et al., `SOAP_wss / SOAP_plain × 100`.
pub fn impact_percent(value: f64, baseline: f64) -> f64 {
    value / baseline * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_increment_is_an_impact_less_what_was_there() {
        assert_eq!(
            (increment_percent(45.0, 10.0), impact_percent(45.0, 10.0)),
            (350.0, 450.0)
        );
        assert_eq!(increment_percent(8.0, 10.0), -20.0);
    }
}
