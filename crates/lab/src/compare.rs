//! Two runs laid side by side, line by line.
//!
//! The rule kept here: a difference is only called one where the intervals of both lie apart.

use std::collections::BTreeMap;

use crate::study::{Line, Quantity, Record, Stack};

/// A line that both runs have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compared<'r> {
    /// Of the first run.
    pub first: &'r Line,
    /// Of the second.
    pub second: &'r Line,
}

/// What both runs have, in the order of the first, and how much only one has.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison<'r> {
    /// Lines that both have.
    pub lines: Vec<Compared<'r>>,
    /// Lines that only the first has.
    pub only_first: usize,
    /// Lines that only the second has.
    pub only_second: usize,
}

/// Where the second run stands beside the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Its interval lies below the other one.
    Less,
    /// The intervals overlap: no difference was shown.
    Overlap,
    /// Its interval lies above the other one.
    More,
}

impl Compared<'_> {
    /// The second median as a multiple of the first; not a number, where both are 0.
    pub fn ratio(&self) -> f64 {
        self.second.figures.median / self.first.figures.median
    }

    /// Between which ratios that one lies: from the lower end of the second median's interval by the upper end of the first's, to the upper
    /// by the lower. Both intervals hold with 95 %, so that this one, which is as wide as can be, holds with no less than 90 %.
    pub fn interval(&self) -> [f64; 2] {
        let [low, high] = self.second.figures.median_interval;
        let [first_low, first_high] = self.first.figures.median_interval;
        [low / first_high, high / first_low]
    }

    /// Whether the intervals of both medians overlap, or on which side the second lies.
    pub fn verdict(&self) -> Verdict {
        let [low, high] = self.second.figures.median_interval;
        let [first_low, first_high] = self.first.figures.median_interval;
        if high < first_low {
            Verdict::Less
        } else if low > first_high {
            Verdict::More
        } else {
            Verdict::Overlap
        }
    }
}

/// What is the same of lines that are compared: study, experiment, figure, coordinates, stack, arm, quantity.
type Key<'r> = (
    &'r str,
    u8,
    &'r str,
    Vec<(&'r str, &'r str)>,
    Stack,
    &'r str,
    Quantity,
);

fn key(line: &Line) -> Key<'_> {
    let at = line.at.iter();
    (
        &line.study,
        line.experiment,
        &line.shown_in,
        at.map(|(axis, value)| (axis.as_ref(), value.as_str()))
            .collect(),
        line.stack,
        &line.arm,
        line.quantity,
    )
}

/// By what is the same; where a run has a line twice, the later one counts.
fn lines(records: &[Record]) -> BTreeMap<Key<'_>, (usize, &Line)> {
    let lines = records.iter().enumerate();
    let lines = lines.filter_map(|(place, record)| match record {
        Record::Line(line) => Some((key(line), (place, line))),
        _ => None,
    });
    lines.collect()
}

/// Compares the lines of two runs.
pub fn compare<'r>(first: &'r [Record], second: &'r [Record]) -> Comparison<'r> {
    let (first, second) = (lines(first), lines(second));
    let mut both: Vec<(usize, Compared<'r>)> = first
        .iter()
        .filter_map(|(key, (place, first))| {
            let (_, second) = second.get(key)?;
            Some((*place, Compared { first, second }))
        })
        .collect();
    both.sort_by_key(|(place, _)| *place);
    Comparison {
        only_first: first.len() - both.len(),
        only_second: second.len() - both.len(),
        lines: both.into_iter().map(|(_, compared)| compared).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(arm: &str, quantity: Quantity, samples: &[f64]) -> Record {
        Record::Line(Line::of(Stack::Soapstone, arm, quantity, samples).expect("samples"))
    }

    /// So many samples about a middle.
    fn about(middle: f64) -> Vec<f64> {
        (0..21)
            .map(|step| middle + f64::from(step) - 10.0)
            .collect()
    }

    #[test]
    fn lines_of_both_are_compared_in_the_order_of_the_first_and_others_counted() {
        let first = [
            line("sign", Quantity::Time, &about(1_000.0)),
            line("sign", Quantity::Size, &[500.0]),
            line("none", Quantity::Time, &about(200.0)),
            line("encrypt", Quantity::Time, &about(900.0)),
        ];
        let second = [
            line("none", Quantity::Time, &about(100.0)),
            line("username", Quantity::Time, &[7.0]),
            line("sign", Quantity::Time, &[1.0]),
            line("sign", Quantity::Time, &about(1_500.0)),
            line("encrypt", Quantity::Time, &about(901.0)),
        ];
        let comparison = compare(&first, &second);
        let told: Vec<_> = comparison
            .lines
            .iter()
            .map(|it| (&*it.first.arm, it.ratio(), it.verdict()))
            .collect();
        assert_eq!(
            told,
            [
                ("sign", 1.5, Verdict::More),
                ("none", 0.5, Verdict::Less),
                ("encrypt", 901.0 / 900.0, Verdict::Overlap),
            ]
        );
        assert_eq!((comparison.only_first, comparison.only_second), (1, 1));
    }

    #[test]
    fn the_interval_of_a_ratio_is_between_the_ends_of_both() {
        let (first, second) = (
            [line("none", Quantity::Time, &about(200.0))],
            [line("none", Quantity::Time, &about(300.0))],
        );
        let comparison = compare(&first, &second);
        let [low, high] = comparison.lines[0].interval();
        assert!(low < 1.5 && 1.5 < high, "{low} to {high}");
        let [a, b] = comparison.lines[0].first.figures.median_interval;
        let [c, d] = comparison.lines[0].second.figures.median_interval;
        assert_eq!([low, high], [c / b, d / a]);
    }
}
