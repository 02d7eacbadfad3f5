//! What means say beside each other: where they are least, what is left of sums, and by how much
//! they change from one place to another.
//!
//! The rule kept here: intervals go with the values that they are of, and what one sample is made
//! of has none.

use super::super::shown::{Series, Value, is_arm};
use super::super::values::ratio_ends;
use super::{Found, measured, parted, points, value};
use crate::statistics::Place;
use crate::study::{Quantity, Stack};

/// The place along an axis where each arm has the least, and the places that are as good.
pub(super) fn least(x: &str, quantity: Quantity, all: &[Series]) -> Found {
    let mut found = Found::default();
    for series in all {
        let (place, others) = parted(&series.besides, x);
        let least =
            points(series).min_by(|one, other| f64::total_cmp(&one.1.value, &other.1.value));
        let Some((at, best)) = least else { continue };
        let is_as_good = |it: &(f64, &Value)| {
            let beside = Place {
                at: it.0,
                first: measured(best, quantity),
                second: measured(it.1, quantity),
            };
            beside.less().is_none()
        };
        let good: Vec<f64> = points(series).filter(is_as_good).map(|it| it.0).collect();
        let ends = [
            good.iter().copied().fold(at, f64::min),
            good.iter().copied().fold(at, f64::max),
        ];
        let value = value(&series.besides, &place, at, Some(ends), best.n);
        let of = found.series(series.stack, series.arm.clone(), others);
        of.values.push(value);
    }
    found
}

/// What is left when some times are taken from others, at each place of each stack.
pub(super) fn remainder(x: &str, (plus, minus): (&[&str], &[&str]), all: &[Series]) -> Found {
    let name = format!("{} − {}", plus.join(" + "), minus.join(" − "));
    let mut found = Found::default();
    let mut stacks: Vec<Stack> = all.iter().map(|it| it.stack).collect();
    stacks.dedup();
    for stack in stacks {
        let of = |arm: &str| {
            let mut of_stack = all.iter().filter(|it| it.stack == stack);
            of_stack.find(|it| is_arm(arm, &it.arm))
        };
        let terms = |arms: &[&str], sign: f64| {
            let terms = arms.iter().map(|arm| Some((of(arm)?, sign)));
            terms.collect::<Option<Vec<_>>>()
        };
        let (Some(added), Some(taken)) = (terms(plus, 1.0), terms(minus, -1.0)) else {
            continue;
        };
        let terms = [added, taken].concat();
        let Some((first, _)) = terms.first() else {
            continue;
        };
        for own in &first.values {
            let values = terms.iter().map(|(series, sign)| {
                let mut values = series.values.iter();
                Some((values.find(|it| it.x == own.x)?, *sign))
            });
            let Some(values) = values.collect::<Option<Vec<_>>>() else {
                continue;
            };
            let sum: f64 = values.iter().map(|(value, sign)| sign * value.value).sum();
            let squares = values.iter().map(|(value, _)| {
                let [low, high] = value.known()?;
                Some(((high - low) / 2.0).powi(2))
            });
            let half = squares.sum::<Option<f64>>().map(f64::sqrt);
            let besides: Vec<(String, String)> = own.at.clone().into_iter().collect();
            let (_, mut others) = parted(&besides, x);
            others.retain(|it| first.besides.contains(it));
            let spread = half.map(|half| [sum - half, sum + half]);
            let made = value(&besides, &own.x, sum, spread, own.n);
            found.series(stack, name.clone(), others).values.push(made);
        }
    }
    found
}

/// By how many percent the second place has more than the first, for each arm.
pub(super) fn change([from, to]: [&str; 2], all: &[Series]) -> Found {
    let mut found = Found::default();
    for series in all.iter().filter(|it| !it.baseline) {
        let at = |wanted: &str| series.values.iter().find(|it| it.x == wanted);
        let (Some(low), Some(high)) = (at(from), at(to)) else {
            continue;
        };
        let percent = |ratio: f64| 100.0 * (ratio - 1.0);
        let ends = high.known().zip(low.known()).map(|(of_high, of_low)| {
            ratio_ends((high.value, of_high), (low.value, of_low)).map(percent)
        });
        let changed = percent(high.value / low.value);
        let (besides, n) = (&series.besides, low.n.min(high.n));
        let made = value(besides, PLACE, changed, ends, n);
        let of = found.series(series.stack, series.arm.clone(), besides.clone());
        of.values.push(made);
    }
    found
}

/// Where values stand that are made of two places.
const PLACE: &str = "Sum";
