//! A paper's tables as results: the lines that the lab would have left, had it measured what the
//! paper did.
//!
//! The rule kept here: figures that a table does not print follow from those that it prints.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::{Tags, Value};
use crate::statistics::{Figures, mean_interval};
use crate::study::{Line, Quantity, Record, Stack, Study};

/// Which numbers of a paper are results of a figure of the lab.
#[derive(Clone, Copy, Debug)]
pub struct Results {
    /// The number of the lab's experiment.
    pub experiment: u8,
    /// Its figure.
    pub shown_in: &'static str,
    /// The paper's source.
    pub source: &'static str,
    /// Tags of the numbers that count.
    pub with: Tags,
    /// What they are values of.
    pub quantity: Quantity,
    /// Of how many samples each is made.
    pub n: usize,
    /// What follows the names of secured arms in the lab: `/Basic256`.
    pub suffix: &'static str,
}

/// The lines of a paper's tables, as if the stack of the paper had been measured by the lab.
pub fn lines(study: &Study) -> Vec<Record> {
    let all = study.results.iter().flat_map(|it| of(study, it));
    all.map(Record::Line).collect()
}

/// Statistics of one arm at one point.
type Cell = (String, Vec<(&'static str, &'static str)>);

fn of(study: &Study, results: &Results) -> Vec<Line> {
    let mut cells: BTreeMap<Cell, Vec<Value>> = BTreeMap::new();
    let source = study.numbers.source(results.source);
    let values = source.into_iter().flat_map(|it| it.values());
    for value in values.filter(|it| it.has(results.with)) {
        let mut arm = value.tag("arm").unwrap_or_default().to_owned();
        if !["none", "username", "https"].contains(&&*arm) {
            arm.push_str(results.suffix);
        }
        let at = value.at();
        cells.entry((arm, at)).or_default().push(value);
    }
    let lines = cells.into_iter().filter_map(|((arm, at), values)| {
        let (figures, samples) = figures(&values, results.n)?;
        Some(Line {
            study: Cow::Borrowed(study.name),
            experiment: results.experiment,
            shown_in: Cow::Borrowed(results.shown_in),
            at: at
                .into_iter()
                .map(|(axis, value)| (Cow::Borrowed(axis), value.to_owned()))
                .collect(),
            stack: Stack::Soapstone,
            arm,
            quantity: results.quantity,
            figures,
            samples,
        })
    });
    lines.collect()
}

/// The figures of so many samples with these statistics, and such samples where they are few.
fn figures(values: &[Value], n: usize) -> Option<(Figures, Vec<f64>)> {
    let of = |statistic: &str| {
        let value = values
            .iter()
            .find(|it| it.tag("statistic") == Some(statistic))?;
        let scale = match value.tag("unit") {
            Some("s") => 1e6,
            Some("ms") => 1e3,
            _ => 1.0,
        };
        Some(value.printed.least * scale)
    };
    let mean = of("mean").or_else(|| of("best")).or_else(|| of("size"))?;
    let median = of("median").unwrap_or(mean);
    let stdev = of("deviation").unwrap_or(0.0);
    let samples = if n <= Line::SAMPLES && stdev > 0.0 {
        around(n, mean, stdev)
    } else {
        Vec::new()
    };
    let least = samples.first().copied().unwrap_or(mean);
    let most = samples.last().copied().unwrap_or(mean);
    let figures = Figures {
        n,
        best: of("best").unwrap_or(least),
        mean,
        median,
        p95: most,
        p99: most,
        worst: most,
        stdev,
        mean_interval: mean_interval(n, mean, stdev),
        median_interval: [median; 2],
    };
    Some((figures, samples))
}

/// So many samples with this mean and this deviation, in ascending order: half of them on each
/// side, and the mean itself among an odd number.
fn around(n: usize, mean: f64, stdev: f64) -> Vec<f64> {
    let half = n / 2;
    let away = if n.is_multiple_of(2) {
        stdev * ((n - 1) as f64 / n as f64).sqrt()
    } else {
        stdev
    };
    let mut samples = vec![mean - away; half];
    samples.extend(vec![mean; n % 2]);
    samples.extend(vec![mean + away; half]);
    samples
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_have_the_mean_and_the_deviation_that_they_are_made_for() {
        for n in [2, 3, 30, 101] {
            let figures = Figures::of(&around(n, 283.68, 38.021_540_17)).expect("samples");
            assert_eq!(figures.n, n);
            assert!((figures.mean - 283.68).abs() < 1e-9, "{figures:?}");
            assert!((figures.stdev - 38.021_540_17).abs() < 1e-9, "{figures:?}");
        }
    }
}
