//! The figures of samples.
//!
//! The rule kept here: outliers are shown, not dropped.

use serde::{Deserialize, Serialize};

use super::interval::{mean_interval, median_interval};

/// The figures of samples, in the unit of the samples.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Figures {
    /// How many samples.
    pub n: usize,
    /// The smallest.
    pub best: f64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub median: f64,
    /// 95th percentile: the smallest sample that 95 of 100 do not exceed.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// The largest: outliers are shown, not dropped.
    pub worst: f64,
    /// Standard deviation, of samples from something larger (with `n − 1`).
    pub stdev: f64,
    /// 95 % confidence interval of the mean, by Student's t.
    pub mean_interval: [f64; 2],
    /// 95 % confidence interval of the median, by bootstrap.
    pub median_interval: [f64; 2],
}

impl Figures {
    /// Of no samples: all zero.
    pub const NONE: Self = Self {
        n: 0,
        best: 0.0,
        mean: 0.0,
        median: 0.0,
        p95: 0.0,
        p99: 0.0,
        worst: 0.0,
        stdev: 0.0,
        mean_interval: [0.0; 2],
        median_interval: [0.0; 2],
    };

    /// Of these samples, in any order; `None`, if there are none.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let mut ascending = samples.to_vec();
        ascending.sort_by(f64::total_cmp);
        let n = ascending.len();
        let median_interval = median_interval(&ascending)?;
        let mean = ascending.iter().sum::<f64>() / n as f64;
        let squares: f64 = ascending.iter().map(|it| (it - mean).powi(2)).sum();
        let stdev = (squares / n.max(2).saturating_sub(1) as f64).sqrt();
        let percentile = |percent: usize| ascending[(n * percent).div_ceil(100) - 1];
        Some(Self {
            n,
            best: ascending[0],
            mean,
            median: f64::midpoint(ascending[(n - 1) / 2], ascending[n / 2]),
            p95: percentile(95),
            p99: percentile(99),
            worst: ascending[n - 1],
            stdev,
            mean_interval: mean_interval(n, mean, stdev),
            median_interval,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_known_samples() {
        let samples: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        let figures = Figures::of(&samples).expect("figures");
        assert_eq!(
            (figures.n, figures.best, figures.mean, figures.median),
            (20, 1.0, 10.5, 10.5)
        );
        assert_eq!(
            (figures.p95, figures.p99, figures.worst),
            (19.0, 20.0, 20.0)
        );
        assert!((figures.stdev - 5.916_079_783).abs() < 1e-6);
        assert!((figures.mean_interval[0] - 7.731_2).abs() < 1e-3);
        assert!((figures.mean_interval[1] - 13.268_8).abs() < 1e-3);
    }

    #[test]
    fn one_sample_is_all_of_its_figures_and_none_have_none() {
        let figures = Figures::of(&[7.0]).expect("figures");
        assert_eq!(
            (figures.median, figures.p95, figures.stdev),
            (7.0, 7.0, 0.0)
        );
        assert_eq!(
            (figures.mean_interval, figures.median_interval),
            ([7.0; 2], [7.0; 2])
        );
        assert_eq!(Figures::of(&[]), None);
    }
}
