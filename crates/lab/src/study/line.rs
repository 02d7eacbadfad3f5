//! What a run leaves, as lines of JSON: one for each quantity of each arm at each point, one for each arm that was left out, and one
//! when a point is done.
//!
//! The rule kept here: a line holds what was measured, and nothing that is computed from other lines; the report does that.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::call::Stack;
use super::order::Order;
use crate::studies;

/// One line of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Record {
    /// What was measured.
    Line(Line),
    /// What was not.
    LeftOut(LeftOut),
    /// The point whose lines stand before it is whole.
    Done(Done),
}

/// An arm that a stack cannot do.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The study.
    pub study: Cow<'static, str>,
    /// The number of the experiment.
    pub experiment: u8,
    /// The figure or table of the paper.
    pub shown_in: Cow<'static, str>,
    /// The point's coordinates.
    pub at: BTreeMap<Cow<'static, str>, String>,
    /// Which stack.
    pub stack: Stack,
    /// Which arm.
    pub arm: String,
    /// Why.
    pub left_out: String,
}

/// A point that was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Done {
    /// Its name: [`Task::name`](super::Task::name).
    pub done: String,
    /// How long it took.
    pub seconds: f64,
}

/// A line that none of our runs left.
#[derive(Debug)]
#[non_exhaustive]
pub enum LineError {
    /// It is no JSON, or has not what a line of a study has.
    Form {
        /// Which, from 1.
        line: usize,
        /// What is wrong with it.
        source: serde_json::Error,
    },
    /// No study has such a figure.
    Unknown {
        /// Which, from 1.
        line: usize,
        /// Study, experiment and figure.
        found: String,
    },
}

impl fmt::Display for LineError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Form { line, source } => {
                write!(out, "line {line} is no measurement of a study: {source}")
            }
            Self::Unknown { line, found } => write!(
                out,
                "line {line}: expected a figure of a known study, found {found}"
            ),
        }
    }
}

impl std::error::Error for LineError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Form { source, .. } => Some(source),
            Self::Unknown { .. } => None,
        }
    }
}

/// Reads lines of JSON; empty ones are none.
///
/// # Errors
/// The first that is no line of a known study's run.
pub fn read(lines: &str) -> Result<Vec<Record>, LineError> {
    let mut records = Vec::new();
    for (index, text) in lines.lines().enumerate() {
        let line = index + 1;
        if text.trim().is_empty() {
            continue;
        }
        let record = parse(text).map_err(|source| LineError::Form { line, source })?;
        let place = match &record {
            Record::Line(it) => Some((&it.study, it.experiment, &it.shown_in)),
            Record::LeftOut(it) => Some((&it.study, it.experiment, &it.shown_in)),
            Record::Done(_) => None,
        };
        if let Some((study, experiment, shown_in)) = place {
            let known = studies::named(study)
                .is_some_and(|study| study.figure(experiment, shown_in).is_some());
            if !known {
                let found = format!("{study}/{experiment}/{shown_in}");
                return Err(LineError::Unknown { line, found });
            }
        }
        records.push(record);
    }
    Ok(records)
}

/// By the field that only it has, so that what is wrong with the others is told.
fn parse(text: &str) -> Result<Record, serde_json::Error> {
    let value: serde_json::Value = serde_json::from_str(text)?;
    if value.get("done").is_some() {
        serde_json::from_value(value).map(Record::Done)
    } else if value.get("left_out").is_some() {
        serde_json::from_value(value).map(Record::LeftOut)
    } else {
        serde_json::from_value(value).map(Record::Line)
    }
}

/// How many of the records, from the first, belong to points that are whole: a run that was killed left the rest.
pub fn whole(records: &[Record]) -> usize {
    let last = records
        .iter()
        .rposition(|record| matches!(record, Record::Done(_)));
    last.map_or(0, |last| last + 1)
}

/// One line.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// The study.
    pub study: Cow<'static, str>,
    /// The number of the experiment.
    pub experiment: u8,
    /// The figure or table of the paper.
    pub shown_in: Cow<'static, str>,
    /// The point's coordinates.
    pub at: BTreeMap<Cow<'static, str>, String>,
    /// Who answered.
    pub stack: Stack,
    /// What is compared: `none`, `sign-encrypt/Basic256`, `prehashed`.
    pub arm: String,
    /// What was measured.
    pub quantity: Quantity,
    /// Its figures.
    pub figures: Figures,
    /// The samples that the figures are of, in the order of measuring; none, if they were more than [`Line::SAMPLES`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<f64>,
}

impl Line {
    /// The most samples that a line keeps.
    pub const SAMPLES: usize = 1_000;

    /// The line of these samples, without its place; `None`, if there are no samples.
    pub fn of(stack: Stack, arm: &str, quantity: Quantity, samples: &[f64]) -> Option<Self> {
        let kept = if samples.len() > Self::SAMPLES {
            &[][..]
        } else {
            samples
        };
        Some(Self {
            study: Cow::Borrowed(""),
            experiment: 0,
            shown_in: Cow::Borrowed(""),
            at: BTreeMap::new(),
            stack,
            arm: arm.to_owned(),
            quantity,
            figures: Figures::of(samples)?,
            samples: kept.to_vec(),
        })
    }
}

/// What can be measured, and its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Quantity {
    /// Time of a call, µs.
    Time,
    /// Time of the first call at the point, which is not among the others, µs.
    First,
    /// Time of a call after the first of a new deployment, µs.
    Later,
    /// Processor time of an operation, µs.
    Processor,
    /// Octets of both messages, as the client sends and gets them.
    Size,
    /// Octets of both messages, as they travel secured.
    Secured,
    /// Calls in a second.
    Rate,
    /// Memory, octets.
    Memory,
    /// Time that private keys take alone for such a call, µs: what no implementation can be faster than.
    Floor,
}

/// The figures of samples.
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
    /// 95th percentile.
    pub p95: f64,
    /// 99th percentile.
    pub p99: f64,
    /// The largest: outliers are shown, not dropped.
    pub worst: f64,
    /// Standard deviation.
    pub stdev: f64,
    /// 95 % confidence interval of the mean, by Student's t.
    pub mean_interval: [f64; 2],
    /// 95 % confidence interval of the median, by bootstrap.
    pub median_interval: [f64; 2],
}

impl Figures {
    /// Resamples of the bootstrap.
    const RESAMPLES: usize = 1_000;
    /// What they are drawn with: the same samples have the same interval.
    const SEED: u64 = 95;

    /// Of these samples; `None`, if there are none.
    pub fn of(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let (&best, &worst) = (sorted.first()?, sorted.last()?);
        let mean = sorted.iter().sum::<f64>() / n as f64;
        let squares = sorted.iter().map(|it| (it - mean).powi(2)).sum::<f64>();
        let stdev = (squares / n.saturating_sub(1).max(1) as f64).sqrt();
        let half = if n > 1 {
            student_t(n - 1) * stdev / (n as f64).sqrt()
        } else {
            0.0
        };
        Some(Self {
            n,
            best,
            mean,
            median: median(&sorted),
            p95: percentile(&sorted, 95),
            p99: percentile(&sorted, 99),
            worst,
            stdev,
            mean_interval: [mean - half, mean + half],
            median_interval: Self::bootstrap(&sorted),
        })
    }

    fn bootstrap(sorted: &[f64]) -> [f64; 2] {
        let mut order = Order(Self::SEED);
        let mut medians: Vec<f64> = (0..Self::RESAMPLES)
            .map(|_| {
                // Places in a sorted row: the middle ones are the median's.
                let mut drawn: Vec<usize> =
                    sorted.iter().map(|_| order.below(sorted.len())).collect();
                let middle = drawn.len() / 2;
                let (below, at, _) = drawn.select_nth_unstable(middle);
                let upper = sorted[*at];
                match below.iter().max() {
                    Some(&lower) if sorted.len().is_multiple_of(2) => (sorted[lower] + upper) / 2.0,
                    _ => upper,
                }
            })
            .collect();
        medians.sort_by(f64::total_cmp);
        let cut = Self::RESAMPLES / 40;
        [medians[cut], medians[Self::RESAMPLES - 1 - cut]]
    }
}

fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len().is_multiple_of(2) {
        (sorted[middle - 1] + sorted[middle]) / 2.0
    } else {
        sorted[middle]
    }
}

/// The smallest sample that so many percent of all are not above.
fn percentile(sorted: &[f64], percent: usize) -> f64 {
    sorted[(sorted.len() * percent).div_ceil(100) - 1]
}

/// The 97.5th percentile of Student's t: from tables up to 10 degrees of freedom, beyond by the expansion of Cornish and Fisher, which is
/// right to four digits there.
fn student_t(degrees: usize) -> f64 {
    const TABLE: [f64; 10] = [
        12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646, 2.3060, 2.2622, 2.2281,
    ];
    if let Some(value) = TABLE.get(degrees.saturating_sub(1)) {
        return *value;
    }
    let (z, v) = (1.959_964_f64, degrees as f64);
    z + (z.powi(3) + z) / (4.0 * v)
        + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * v.powi(2))
        + (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / (384.0 * v.powi(3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_of_known_samples() {
        let samples: Vec<f64> = (1..=20).rev().map(f64::from).collect();
        let figures = Figures::of(&samples).expect("figures");
        let Figures {
            n,
            best,
            mean,
            median,
            p95,
            p99,
            worst,
            ..
        } = figures;
        assert_eq!(
            (n, best, mean, median, p95, p99, worst),
            (20, 1.0, 10.5, 10.5, 19.0, 20.0, 20.0)
        );
        assert!((figures.stdev - 5.916_079_783).abs() < 1e-6);
        // t of 19 degrees of freedom is 2.0930.
        let half = 2.0930 * figures.stdev / 20_f64.sqrt();
        assert!((figures.mean_interval[1] - 10.5 - half).abs() < 1e-3);
        let [low, high] = figures.median_interval;
        assert!(
            low < 10.5 && 10.5 < high && low > 4.0 && high < 17.0,
            "{low} to {high}"
        );
        assert_eq!(Figures::of(&[]), None);
        let alone = Figures::of(&[7.0]).expect("figures");
        assert_eq!(
            (alone.stdev, alone.mean_interval, alone.median_interval),
            (0.0, [7.0; 2], [7.0; 2])
        );
    }

    #[test]
    fn what_is_wrong_with_a_line_is_told_with_its_number() {
        let wrong = |text: &str| read(text).expect_err("a wrong line").to_string();
        assert!(
            wrong("\n{\"stack\":\"soapstone\"}")
                .starts_with("line 2 is no measurement of a study: missing field")
        );
        assert_eq!(
            wrong(
                r#"{"study":"mchale2012","experiment":9,"shown_in":"figure-1","at":{},"stack":"cxf","arm":"sign","left_out":"why"}"#
            ),
            "line 1: expected a figure of a known study, found mchale2012/9/figure-1"
        );
    }
}
