//! One measurement: what was run, how often, and how long it took.
//!
//! The line of JSON is the same from every stack, so that results can be laid side by side.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// What was measured, and the figures. Times are in microseconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The stack: `soapstone`, or a peer.
    pub stack: Cow<'static, str>,
    /// `secure`, `open`, or a part of them: `part-scan`, `part-digest`, …
    pub op: Cow<'static, str>,
    /// The mechanism.
    pub mechanism: Cow<'static, str>,
    /// The algorithm suite.
    pub suite: String,
    /// Which keys: `certificate` or `shared`.
    pub binding: Cow<'static, str>,
    /// Kind of payload.
    pub payload: Cow<'static, str>,
    /// Records in the payload; for `echo`, characters.
    pub items: usize,
    /// Size of the plain envelope.
    pub bytes: usize,
    /// Size of the secured envelope; for parts, of what the part worked on.
    pub secured_bytes: usize,
    /// Concurrent clients.
    pub clients: usize,
    /// Repetitions counted.
    pub n: usize,
    /// Mean.
    pub mean_us: f64,
    /// Median.
    pub median_us: f64,
    /// 95th percentile.
    pub p95_us: f64,
    /// Standard deviation.
    pub stdev_us: f64,
    /// Operations per second at the median.
    pub per_s: f64,
    /// Optimisations in force.
    pub tuning: Tuning,
}

impl Measurement {
    /// Name of the case that was measured.
    pub fn case(&self) -> String {
        if self.mechanism == "parts" {
            return format!("parts/{}/{}", self.payload, self.items);
        }
        format!(
            "{}/{}/{}/{}/{}",
            self.mechanism, self.suite, self.binding, self.payload, self.items
        )
    }
}

/// The optimisations in force, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tuning {
    /// Whole runs of canonical source go to the digest as they are.
    pub canonical_runs: bool,
}

/// How long to repeat one case.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Time to spend on each case, warm-up apart.
    pub time: Duration,
    /// Fewest repetitions, however long they take.
    pub least: usize,
    /// Most repetitions, however short they are.
    pub most: usize,
}

impl Effort {
    /// A glance: all cases of the engine within a minute or two.
    pub const QUICK: Self = Self {
        time: Duration::from_millis(60),
        least: 5,
        most: 2_000,
    };
    /// Enough for medians that repeat.
    pub const FULL: Self = Self {
        time: Duration::from_millis(500),
        least: 15,
        most: 20_000,
    };
}

/// Times of single repetitions.
#[derive(Clone, Debug, Default)]
pub struct Samples(Vec<f64>);

impl FromIterator<f64> for Samples {
    /// Of times in microseconds.
    fn from_iter<I: IntoIterator<Item = f64>>(times: I) -> Self {
        Self(times.into_iter().collect())
    }
}

/// The figures of [`Samples`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Figures {
    /// Repetitions.
    pub n: usize,
    /// The shortest, microseconds.
    pub best: f64,
    /// Mean, microseconds.
    pub mean: f64,
    /// Median, microseconds.
    pub median: f64,
    /// 95th percentile, microseconds.
    pub p95: f64,
    /// Standard deviation, microseconds.
    pub stdev: f64,
}

impl Samples {
    /// Repeats `run`, which does one operation and is told nothing. The first tenth of the time is warm-up and not counted.
    pub fn of(effort: Effort, mut run: impl FnMut()) -> Self {
        let mut samples = Self::default();
        samples.extend(effort, || (), |()| run());
        samples
    }

    /// Repeats `run` on what `prepare` makes, which is not timed.
    pub fn of_prepared<T>(effort: Effort, prepare: impl FnMut() -> T, run: impl FnMut(T)) -> Self {
        let mut samples = Self::default();
        samples.extend(effort, prepare, run);
        samples
    }

    fn extend<T>(
        &mut self,
        effort: Effort,
        mut prepare: impl FnMut() -> T,
        mut run: impl FnMut(T),
    ) {
        let warm_up = Instant::now();
        loop {
            run(prepare());
            if warm_up.elapsed() * 10 > effort.time {
                break;
            }
        }
        let begin = Instant::now();
        while (self.0.len() < effort.least || begin.elapsed() < effort.time)
            && self.0.len() < effort.most
        {
            let prepared = prepare();
            let start = Instant::now();
            run(prepared);
            self.0.push(start.elapsed().as_secs_f64() * 1e6);
        }
    }

    /// Mean, median and spread.
    pub fn figures(mut self) -> Figures {
        self.0.sort_by(f64::total_cmp);
        let n = self.0.len();
        if n == 0 {
            return Figures {
                n,
                best: 0.0,
                mean: 0.0,
                median: 0.0,
                p95: 0.0,
                stdev: 0.0,
            };
        }
        let mean = self.0.iter().sum::<f64>() / n as f64;
        let variance = self
            .0
            .iter()
            .map(|sample| (sample - mean).powi(2))
            .sum::<f64>()
            / n.max(2).saturating_sub(1) as f64;
        let median = if n % 2 == 1 {
            self.0[n / 2]
        } else {
            (self.0[n / 2 - 1] + self.0[n / 2]) / 2.0
        };
        let p95 = self.0[(n * 95).div_ceil(100) - 1];
        Figures {
            n,
            best: self.0[0],
            mean,
            median,
            p95,
            stdev: variance.sqrt(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_known_samples() {
        let figures = Samples((1..=20).map(f64::from).collect()).figures();
        assert_eq!(
            (
                figures.n,
                figures.best,
                figures.mean,
                figures.median,
                figures.p95
            ),
            (20, 1.0, 10.5, 10.5, 19.0)
        );
        assert!((figures.stdev - 5.916_079_783).abs() < 1e-6);
    }

    #[test]
    fn the_least_number_of_repetitions_is_kept_however_short_the_time() {
        let effort = Effort {
            time: Duration::ZERO,
            least: 7,
            most: 100,
        };
        assert_eq!(Samples::of(effort, || ()).figures().n, 7);
    }
}
