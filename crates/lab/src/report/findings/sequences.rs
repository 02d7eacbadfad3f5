//! What Novakouski et al. make of sequences of calls: by how much the last are above the least, and
//! which is the first below the mean.
//!
//! The rule kept here: the paper's formulas, on the samples that lines keep in the order of
//! measuring.

use super::super::counted::{Order, besides};
use super::{ECHO, Found, Series, parted, value};
use crate::statistics::Figures;
use crate::study::{Line, Quantity, Stack};

/// How many of the last calls are averaged.
const LAST: usize = 10;

/// Lines of one arm, service and stack that differ in the coordinate along an axis only, with their
/// place along it, in ascending order.
struct Sequence<'l> {
    stack: Stack,
    arm: &'l str,
    besides: Vec<(String, String)>,
    along: Vec<(f64, &'l Line)>,
}

/// By how many percent the mean of the last ten calls at the largest size is above the least time
/// of any size.
pub(super) fn increase(x: &str, lines: &[&Line], order: &Order) -> Vec<Series> {
    let mut found = Found::default();
    for sequence in sequences("characters", Quantity::Time, lines, order) {
        let (along, others) = parted(&sequence.besides, x);
        let along = if along.is_empty() {
            ECHO.to_owned()
        } else {
            along
        };
        let of = found.series(sequence.stack, sequence.arm.to_owned(), others);
        let least = sequence.along.iter().map(|it| it.1.figures.best);
        let least = least.fold(f64::INFINITY, f64::min);
        let Some((_, largest)) = sequence.along.last().filter(|_| sequence.along.len() > 1) else {
            of.blanks.push((along, "one size only".to_owned()));
            continue;
        };
        let last = &largest.samples[largest.samples.len().saturating_sub(LAST)..];
        let figures = Figures::of(last).unwrap_or(largest.figures);
        let percent = |time: f64| (time - least) / least * 100.0;
        let spread = (figures.n > 1).then(|| figures.mean_interval.map(percent));
        let spread = spread.map(|ends| ends.map(|end| end.max(-100.0)));
        of.values.push(value(
            &sequence.besides,
            &along,
            percent(figures.mean),
            spread,
            figures.n,
        ));
    }
    found.series
}

/// The number of the first message of a deployment whose time is no more than the mean of all its
/// messages: the mean of all deployments.
pub(super) fn first_below_mean(x: &str, lines: &[&Line], order: &Order) -> Vec<Series> {
    let mut found = Found::default();
    for sequence in sequences("messages", Quantity::Later, lines, order) {
        let (along, others) = parted(&sequence.besides, x);
        let of = found.series(sequence.stack, sequence.arm.to_owned(), others);
        let mut kept = sequence.along.iter().rev();
        let numbers = kept.find_map(|(messages, later)| {
            let firsts = first_of(later, lines)?;
            numbers(*messages as usize, &later.samples, &firsts.samples)
        });
        match numbers.and_then(|it| Figures::of(&it)) {
            Some(figures) => {
                let spread = (figures.n > 1).then_some(figures.mean_interval);
                // No message has a number below 1.
                let spread = spread.map(|ends| ends.map(|end| end.max(1.0)));
                let value = value(&sequence.besides, &along, figures.mean, spread, figures.n);
                of.values.push(value);
            }
            None => of
                .blanks
                .push((along, "no single messages are kept".to_owned())),
        }
    }
    found.series
}

/// The line of the first messages beside one of later ones.
fn first_of<'l>(later: &Line, lines: &[&'l Line]) -> Option<&'l Line> {
    let mut firsts = lines.iter().copied();
    firsts.find(|it| {
        it.quantity == Quantity::First
            && (it.stack, &it.arm, &it.at) == (later.stack, &later.arm, &later.at)
    })
}

/// The number in each deployment, of whose messages the first and the later ones are given one
/// after the other.
fn numbers(messages: usize, later: &[f64], firsts: &[f64]) -> Option<Vec<f64>> {
    let each = messages.checked_sub(1).filter(|it| *it > 0)?;
    if firsts.is_empty() || later.len() != each * firsts.len() {
        return None;
    }
    let deployments = firsts.iter().zip(later.chunks(each));
    let numbers = deployments.map(|(first, later)| {
        let mean = (first + later.iter().sum::<f64>()) / messages as f64;
        let mut all = [first].into_iter().chain(later);
        all.position(|it| *it <= mean).unwrap_or_default() as f64 + 1.0
    });
    Some(numbers.collect())
}

/// Lines of a quantity, gathered along an axis, in the order of the study.
fn sequences<'l>(
    axis: &str,
    quantity: Quantity,
    lines: &[&'l Line],
    order: &Order,
) -> Vec<Sequence<'l>> {
    let mut all: Vec<Sequence<'l>> = Vec::new();
    for &line in lines.iter().filter(|it| it.quantity == quantity) {
        let Some(place) = line.at.get(axis).and_then(|it| it.parse().ok()) else {
            continue;
        };
        let besides = besides(line, axis);
        let same = |it: &&mut Sequence<'_>| {
            (it.stack, it.arm, &it.besides) == (line.stack, line.arm.as_str(), &besides)
        };
        match all.iter_mut().find(same) {
            Some(sequence) => sequence.along.push((place, line)),
            None => all.push(Sequence {
                stack: line.stack,
                arm: &line.arm,
                besides,
                along: vec![(place, line)],
            }),
        }
    }
    all.sort_by_cached_key(|it| order.series(&it.besides, it.arm, it.stack));
    for sequence in &mut all {
        sequence
            .along
            .sort_by(|one, other| f64::total_cmp(&one.0, &other.0));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_message_below_the_mean_is_counted_in_each_deployment() {
        // Means of 25 and 10: the third and the second message.
        let later = [30.0, 10.0, 10.0, 5.0, 5.0, 5.0];
        assert_eq!(numbers(4, &later, &[50.0, 25.0]), Some(vec![3.0, 2.0]));
        assert_eq!(numbers(4, &later[1..], &[50.0, 25.0]), None);
        assert_eq!(numbers(1, &[], &[50.0]), None);
    }
}
