//! Lines of growth: what something costs at first and for each further one, how well that is known,
//! and where two such lines cross.
//!
//! The rule kept here: a crossover is told only where costs are positive numbers of things.

use super::CONFIDENCE;
use super::interval::student_t;

/// Cost that grows along a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Cost of none.
    pub fixed: f64,
    /// Cost of each.
    pub each: f64,
}

/// Where the cheaper of two becomes the dearer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Crossover {
    /// Nowhere: the first is never dearer.
    FirstAlways,
    /// Nowhere: the second is never dearer.
    SecondAlways,
    /// The first is cheaper below so many, the second above.
    FirstThenSecond(f64),
    /// The second is cheaper below so many, the first above.
    SecondThenFirst(f64),
}

impl Growth {
    /// The line through points of count and cost with the least squares; `None` for fewer than two
    /// counts.
    pub fn through(points: &[(f64, f64)]) -> Option<Self> {
        let n = points.len() as f64;
        let mean_count = points.iter().map(|it| it.0).sum::<f64>() / n;
        let mean_cost = points.iter().map(|it| it.1).sum::<f64>() / n;
        let spread: f64 = points.iter().map(|it| (it.0 - mean_count).powi(2)).sum();
        if points.is_empty() || spread == 0.0 {
            return None;
        }
        let together: f64 = points
            .iter()
            .map(|it| (it.0 - mean_count) * (it.1 - mean_cost))
            .sum();
        let each = together / spread;
        Some(Self {
            fixed: mean_cost - each * mean_count,
            each,
        })
    }

    /// The 95 % confidence interval of the cost of each, by how far the points lie from the line
    /// (Student's t); `None` for fewer than three points, of which nothing is known but the
    /// line.
    pub fn each_interval(&self, points: &[(f64, f64)]) -> Option<[f64; 2]> {
        let degrees = points.len().checked_sub(2).filter(|it| *it > 0)?;
        let half = student_t(degrees, CONFIDENCE) * self.each_error(points, degrees);
        Some([self.each - half, self.each + half])
    }

    /// The standard error of the cost of each.
    fn each_error(&self, points: &[(f64, f64)], degrees: usize) -> f64 {
        let mean_count = points.iter().map(|it| it.0).sum::<f64>() / points.len() as f64;
        let spread: f64 = points.iter().map(|it| (it.0 - mean_count).powi(2)).sum();
        let left = points.iter().map(|it| (it.1 - self.at(it.0)).powi(2));
        (left.sum::<f64>() / degrees as f64 / spread).sqrt()
    }

    /// Cost of so many.
    pub fn at(&self, count: f64) -> f64 {
        self.fixed + self.each * count
    }

    /// Where it and another cross, from 0 upwards.
    pub fn crossover(&self, second: &Self) -> Crossover {
        let (fixed, each) = (second.fixed - self.fixed, self.each - second.each);
        // Equal at `fixed / each`.
        if fixed >= 0.0 && each <= 0.0 {
            Crossover::FirstAlways
        } else if fixed <= 0.0 && each >= 0.0 {
            Crossover::SecondAlways
        } else if fixed > 0.0 {
            Crossover::FirstThenSecond(fixed / each)
        } else {
            Crossover::SecondThenFirst(fixed / each)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(fixed: f64, each: f64) -> Growth {
        Growth { fixed, each }
    }

    #[test]
    fn a_line_through_norris_s_points_is_that_of_nist() {
        // NIST Statistical Reference Datasets, Norris: intercept -0.262323073774029, slope
        // 1.00211681802045.
        let points = [
            (0.2, 0.1),
            (337.4, 338.8),
            (118.2, 118.1),
            (884.6, 888.0),
            (10.1, 9.2),
            (226.5, 228.1),
            (666.3, 668.5),
            (996.3, 998.5),
            (448.6, 449.1),
            (777.0, 778.9),
            (558.2, 559.2),
            (0.4, 0.3),
            (0.6, 0.1),
            (775.5, 778.1),
            (666.9, 668.8),
            (338.0, 339.3),
            (447.5, 448.9),
            (11.6, 10.8),
            (556.0, 557.7),
            (228.1, 228.3),
            (995.8, 998.0),
            (887.6, 888.8),
            (120.2, 119.6),
            (0.3, 0.3),
            (0.3, 0.6),
            (556.8, 557.6),
            (339.1, 339.3),
            (887.2, 888.0),
            (999.0, 998.5),
            (779.0, 778.9),
            (11.1, 10.2),
            (118.3, 117.6),
            (229.2, 228.9),
            (669.1, 668.4),
            (448.9, 449.2),
            (0.5, 0.2),
        ];
        let growth = Growth::through(&points).expect("a line");
        assert!(
            (growth.fixed + 0.262_323_073_774_029).abs() < 1e-9,
            "{growth:?}"
        );
        assert!(
            (growth.each - 1.002_116_818_020_45).abs() < 1e-12,
            "{growth:?}"
        );
        // The standard deviation of the slope there: 0.000429796848199937; t of 34 degrees of
        // freedom: 2.032.
        let error = growth.each_error(&points, points.len() - 2);
        assert!((error - 0.000_429_796_848_199_937).abs() < 1e-12, "{error}");
        let [least, most] = growth.each_interval(&points).expect("an interval");
        assert!(
            (growth.each - least - 2.032 * error).abs() < 1e-6,
            "{least}"
        );
        assert!((most - growth.each - 2.032 * error).abs() < 1e-6, "{most}");
    }

    #[test]
    fn one_count_makes_no_line() {
        assert_eq!(Growth::through(&[(1.0, 2.0), (1.0, 3.0)]), None);
        assert_eq!(Growth::through(&[]), None);
        let two = [(1.0, 2.0), (2.0, 3.0)];
        assert_eq!(line(1.0, 1.0).each_interval(&two), None);
    }

    #[test]
    fn lines_cross_where_both_cost_the_same() {
        let (cheap_start, cheap_each) = (line(10.0, 5.0), line(100.0, 2.0));
        assert_eq!(
            cheap_start.crossover(&cheap_each),
            Crossover::FirstThenSecond(30.0)
        );
        assert_eq!(
            cheap_each.crossover(&cheap_start),
            Crossover::SecondThenFirst(30.0)
        );
        assert_eq!((cheap_start.at(30.0), cheap_each.at(30.0)), (160.0, 160.0));
    }

    #[test]
    fn lines_that_part_do_not_cross() {
        assert_eq!(
            line(1.0, 1.0).crossover(&line(2.0, 2.0)),
            Crossover::FirstAlways
        );
        assert_eq!(
            line(3.0, 3.0).crossover(&line(2.0, 2.0)),
            Crossover::SecondAlways
        );
    }
}
