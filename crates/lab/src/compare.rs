//! Two runs laid side by side, line by line.
//!
//! The rule kept here: a difference is only called one where the intervals of both lie apart, and
//! one sample has no interval. Sizes of messages need none: they are counted, and differ a little
//! by serial numbers and ids that are not of one length.

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
    /// Its interval lies below the other one; of sizes, it is smaller by more than
    /// [`size_tolerance`].
    Less,
    /// The intervals overlap: no difference was shown.
    Overlap,
    /// Its interval lies above the other one; of sizes, it is larger by more than
    /// [`size_tolerance`].
    More,
    /// Sizes that are equal within [`size_tolerance`].
    Same,
    /// One of both is a single sample, which tells nothing of how others would lie.
    OneSample,
}

impl Verdict {
    /// Whether a difference was shown.
    pub const fn is_apart(self) -> bool {
        matches!(self, Self::Less | Self::More)
    }
}

/// Bytes by which the sizes of two calls may differ although nothing has changed: 8, or 0.1 % of
/// the first, whichever is more.
///
/// Certificates are new in each run, and their serial numbers of 38 or 39 digits: both messages of
/// a call name up to two. Ids have the places of elements in them, and other stacks may leave zeros
/// out of times. What a change of suite or of signed parts adds to a call is more than a hundred.
pub fn size_tolerance(octets: f64) -> f64 {
    (octets * 0.001).max(8.0)
}

impl Compared<'_> {
    /// The second median as a multiple of the first; not a number, where both are 0.
    pub fn ratio(&self) -> f64 {
        self.second.figures.median / self.first.figures.median
    }

    /// Between which ratios that one lies: from the lower end of the second median's interval by
    /// the upper end of the first's, to the upper by the lower. Both intervals hold with 95 %,
    /// so that this one, which is as wide as can be, holds with no less than 90 %.
    pub fn interval(&self) -> [f64; 2] {
        let [low, high] = self.second.figures.median_interval;
        let [first_low, first_high] = self.first.figures.median_interval;
        [low / first_high, high / first_low]
    }

    /// Whether the intervals of both medians overlap, or on which side the second lies; of sizes,
    /// whether they are the same.
    pub fn verdict(&self) -> Verdict {
        let (first, second) = (&self.first.figures, &self.second.figures);
        if self.first.quantity.is_counted() {
            let more = second.median - first.median;
            return if more.abs() <= size_tolerance(first.median) {
                Verdict::Same
            } else if more < 0.0 {
                Verdict::Less
            } else {
                Verdict::More
            };
        }
        if first.n.min(second.n) < 2 {
            return Verdict::OneSample;
        }
        let [low, high] = second.median_interval;
        let [first_low, first_high] = first.median_interval;
        if high < first_low {
            Verdict::Less
        } else if low > first_high {
            Verdict::More
        } else {
            Verdict::Overlap
        }
    }
}

/// What is the same of lines that are compared: study, experiment, figure, coordinates, stack, arm,
/// quantity.
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

    fn verdict(quantity: Quantity, first: &[f64], second: &[f64]) -> Verdict {
        let (first, second) = (
            [line("sign", quantity, first)],
            [line("sign", quantity, second)],
        );
        compare(&first, &second).lines[0].verdict()
    }

    #[test]
    fn one_sample_on_either_side_shows_no_difference() {
        let many = about(900.0);
        for quantity in [Quantity::First, Quantity::Floor, Quantity::Memory] {
            assert_eq!(verdict(quantity, &[500.0], &[900.0]), Verdict::OneSample);
            assert_eq!(verdict(quantity, &[500.0], &many), Verdict::OneSample);
            assert_eq!(verdict(quantity, &many, &[500.0]), Verdict::OneSample);
            assert!(!verdict(quantity, &many, &[500.0]).is_apart());
        }
        assert_eq!(verdict(Quantity::First, &many, &many), Verdict::Overlap);
    }

    #[test]
    fn sizes_are_the_same_within_a_few_octets_and_differ_beyond() {
        let secured = |first, second| verdict(Quantity::Secured, &[first], &[second]);
        assert_eq!(secured(5_000.0, 5_008.0), Verdict::Same);
        assert_eq!(secured(5_000.0, 5_009.0), Verdict::More);
        assert_eq!(secured(5_000.0, 4_991.0), Verdict::Less);
        assert_eq!(secured(200_000.0, 200_200.0), Verdict::Same);
        assert_eq!(secured(200_000.0, 200_201.0), Verdict::More);
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
