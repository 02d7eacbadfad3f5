//! Figures of samples, computed by other code than the report's.

use soapstone_lab::study::Estimate;

use super::recomputed::SAMPLES;

/// Two-sided 95 % of Student's t with six degrees of freedom.
const T_OF_SIX: f64 = 2.446_912;

/// A value and its interval.
pub(super) type Estimated = (f64, Option<[f64; 2]>);

pub(super) fn estimated(samples: &[f64], by: Estimate) -> Estimated {
    let n = samples.len() as f64;
    let mut ascending = samples.to_vec();
    ascending.sort_by(f64::total_cmp);
    let median = ascending[SAMPLES / 2];
    let mean = samples.iter().sum::<f64>() / n;
    let deviation = (samples.iter().map(|it| it * it).sum::<f64>() - n * mean * mean) / (n - 1.0);
    let half = T_OF_SIX * (deviation / n).sqrt();
    match by {
        Estimate::Best => (ascending[0], Some([ascending[0], median])),
        Estimate::Median => (median, Some(bootstrapped(&ascending))),
        Estimate::Mean => (mean, Some([mean - half, mean + half])),
        Estimate::Deviation => (deviation.sqrt(), None),
    }
}

/// Where the medians of the middle 95 % of resamples lie: a resample's median is no more than the
/// k-th of seven samples if four draws or more are.
fn bootstrapped(ascending: &[f64]) -> [f64; 2] {
    let chance = |count: usize| {
        let share = count as f64 / SAMPLES as f64;
        let choose = [1.0, 7.0, 21.0, 35.0, 35.0, 21.0, 7.0, 1.0];
        let draws = 4..=SAMPLES;
        let of = draws.map(|it| {
            choose[it] * share.powi(it as i32) * (1.0 - share).powi((SAMPLES - it) as i32)
        });
        of.sum::<f64>()
    };
    [0.025, 0.975].map(|wanted| {
        let place = (1..=SAMPLES).find(|count| chance(*count) >= wanted);
        ascending[place.expect("a sample") - 1]
    })
}

/// A ratio: errors on the logarithmic scale add as squares; of best times, up to the ratio of
/// medians.
pub(super) fn ratio(above: &[f64], below: &[f64], by: Estimate) -> Estimated {
    let ((a, a_ends), (b, b_ends)) = (estimated(above, by), estimated(below, by));
    let value = a / b;
    if by == Estimate::Best {
        let medians = estimated(above, Estimate::Median).0 / estimated(below, Estimate::Median).0;
        return (value, Some([value.min(medians), value.max(medians)]));
    }
    let (Some(a_ends), Some(b_ends)) = (a_ends, b_ends) else {
        return (value, None);
    };
    let errors = |a_end: f64, b_end: f64| {
        ((a_end.ln() - a.ln()).powi(2) + (b_end.ln() - b.ln()).powi(2)).sqrt()
    };
    let (down, up) = (errors(a_ends[0], b_ends[1]), errors(a_ends[1], b_ends[0]));
    (value, Some([value / down.exp(), value * up.exp()]))
}
