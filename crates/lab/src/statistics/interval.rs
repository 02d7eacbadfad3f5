//! Intervals of confidence: of the mean by Student's t, of the median by the bootstrap.
//!
//! The rule kept here: the bootstrap is computed, not drawn. What share of all resamples has its
//! median at or below a sample is a binomial probability, and so the interval that more and more
//! resamples come near to is known exactly, for a hundred samples or a million.

use super::CONFIDENCE;
use super::beta::regularized;

/// The `t` that Student's distribution with so many degrees of freedom exceeds with a chance of `(1
/// − confidence) / 2`.
///
/// Not a number for no degrees of freedom, or a confidence that is not between 0 and 1.
pub fn student_t(degrees: usize, confidence: f64) -> f64 {
    if degrees == 0 || !(confidence > 0.0 && confidence < 1.0) {
        return f64::NAN;
    }
    let degrees = degrees as f64;
    // The chance that |T| exceeds t is I_{v/(v+t²)}(v/2, 1/2), which falls with t.
    let beyond = |t: f64| regularized(degrees / (degrees + t * t), degrees / 2.0, 0.5);
    let wanted = 1.0 - confidence;
    let mut most = 2.0;
    while beyond(most) > wanted {
        most *= 2.0;
    }
    let (mut least, mut most) = (0.0, most);
    for _ in 0..60 {
        let middle = f64::midpoint(least, most);
        if beyond(middle) > wanted {
            least = middle;
        } else {
            most = middle;
        }
    }
    f64::midpoint(least, most)
}

/// The 95 % confidence interval of a mean of `n` samples with this standard deviation, by Student's
/// t. Of one sample nothing is known but itself: both ends are the mean.
pub fn mean_interval(n: usize, mean: f64, stdev: f64) -> [f64; 2] {
    if n < 2 {
        return [mean, mean];
    }
    let half = student_t(n - 1, CONFIDENCE) * stdev / (n as f64).sqrt();
    [mean - half, mean + half]
}

/// The 95 % confidence interval of the median of samples in ascending order, by the bootstrap's
/// percentiles (Efron 1979): where the middle 95 % of the medians of all resamples lie. For an even
/// number of samples the lower end is that of the lower of the two middle samples, the upper end
/// that of the upper one, which errs on the wide side. `None` without samples.
pub fn median_interval(ascending: &[f64]) -> Option<[f64; 2]> {
    let n = ascending.len();
    if n == 0 {
        return None;
    }
    let tail = (1.0 - CONFIDENCE) / 2.0;
    let lower_middle = n.div_ceil(2);
    let upper_middle = n / 2 + 1;
    let least = sample_at(n, lower_middle, tail);
    let most = sample_at(n, upper_middle, 1.0 - tail);
    Some([ascending[least], ascending[most]])
}

/// The place of the first sample at or below which the `rank`-th of a resample lies with a chance
/// of at least `chance`.
fn sample_at(n: usize, rank: usize, chance: f64) -> usize {
    // The rank-th of a resample is at or below the k-th sample if at least `rank` of n draws are,
    // each with a chance of k/n: I_{k/n}(rank, n − rank + 1) (DLMF 8.17.5).
    let chance_at = |place: usize| {
        let share = (place + 1) as f64 / n as f64;
        regularized(share, rank as f64, (n - rank + 1) as f64)
    };
    let (mut least, mut most) = (0, n - 1);
    while least < most {
        let middle = usize::midpoint(least, most);
        if chance_at(middle) >= chance {
            most = middle;
        } else {
            least = middle + 1;
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn student_s_t_is_that_of_the_tables() {
        // Two-sided 95 %: NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2.
        for (degrees, expected) in [
            (1, 12.706),
            (2, 4.303),
            (4, 2.776),
            (9, 2.262),
            (29, 2.045),
            (100, 1.984),
            (1_000_000, 1.960),
        ] {
            let t = student_t(degrees, 0.95);
            assert!((t - expected).abs() < 0.000_5, "{degrees}: {t}");
        }
        assert!((student_t(8, 0.90) - 1.860).abs() < 0.000_5);
        assert!(student_t(0, 0.95).is_nan());
    }

    #[test]
    fn the_interval_of_a_mean_is_that_of_the_handbook() {
        // NIST/SEMATECH e-Handbook 1.3.5.2, ZARR13.DAT: 195 samples with mean 9.261460 and
        // deviation 0.022789 have 9.258242 to 9.264679.
        let [least, most] = mean_interval(195, 9.261_460, 0.022_789);
        assert!((least - 9.258_242).abs() < 2e-6, "{least}");
        assert!((most - 9.264_679).abs() < 2e-6, "{most}");
        assert_eq!(mean_interval(1, 5.0, 0.0), [5.0, 5.0]);
    }

    #[test]
    fn the_interval_of_a_median_is_where_medians_of_resamples_lie() {
        let ascending: Vec<f64> = (0..41).map(|step| f64::from(step * step)).collect();
        let computed = median_interval(&ascending).expect("samples");
        let mut random = 0x2545_f491_4f6c_dd1d_u64;
        let mut medians: Vec<f64> = (0..40_000)
            .map(|_| {
                let mut resample: Vec<f64> = (0..ascending.len())
                    .map(|_| {
                        random ^= random << 13;
                        random ^= random >> 7;
                        random ^= random << 17;
                        ascending[(random >> 33) as usize % ascending.len()]
                    })
                    .collect();
                resample.sort_by(f64::total_cmp);
                resample[20]
            })
            .collect();
        medians.sort_by(f64::total_cmp);
        assert_eq!(computed, [medians[1_000], medians[38_999]]);
    }

    #[test]
    fn the_interval_of_a_median_has_its_median_in_it_and_narrows_with_more_samples() {
        let width = |n: u32| {
            let ascending: Vec<f64> = (0..n).map(|step| f64::from(step) / f64::from(n)).collect();
            let [least, most] = median_interval(&ascending).expect("samples");
            assert!(least <= 0.5 && 0.5 - 1.0 / f64::from(n) <= most);
            most - least
        };
        let widths = [10, 100, 1_000, 100_000].map(width);
        assert!(widths.is_sorted_by(|a, b| a > b), "{widths:?}");
        assert_eq!(median_interval(&[]), None);
        assert_eq!(median_interval(&[3.0]), Some([3.0, 3.0]));
        assert_eq!(median_interval(&[3.0, 4.0]), Some([3.0, 4.0]));
    }
}
