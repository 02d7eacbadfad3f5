//! One measurement: what was run, how often, and how long it took.
//!
//! The line of JSON is the same from every stack, so that results can be laid side by side.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::Payload;

pub(crate) use crate::statistics::Figures;

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
    /// An operation of ours on a payload, by one client, with certificates and the optimisations that are the default.
    pub(crate) fn ours(
        op: &'static str,
        mechanism: &'static str,
        payload: Payload,
        figures: &Figures,
    ) -> Self {
        Self {
            stack: "soapstone".into(),
            op: op.into(),
            mechanism: mechanism.into(),
            suite: String::new(),
            binding: "certificate".into(),
            payload: payload.kind().into(),
            items: payload.items(),
            bytes: 0,
            secured_bytes: 0,
            clients: 1,
            n: figures.n,
            mean_us: figures.mean,
            median_us: figures.median,
            p95_us: figures.p95,
            stdev_us: figures.stdev,
            per_s: 1e6 / figures.median,
            tuning: Tuning {
                canonical_runs: true,
            },
        }
    }

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

    /// Them, in the order of measuring, in microseconds.
    pub(crate) fn times(&self) -> &[f64] {
        &self.0
    }

    /// Their figures; [`Figures::NONE`], if nothing was repeated.
    pub fn figures(self) -> Figures {
        Figures::of(&self.0).unwrap_or(Figures::NONE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
