//! The values that lines make: series along the axis, each value with its spread.
//!
//! The rule kept here: a value is made of lines of one point and stack only.

use super::counted::{Order, along, besides};
use super::shown::{At, Series, Value};
use crate::statistics::{self, Factorial, Figures};
use crate::study::{Estimate, Factor, Figure, Finding, Level, Line, Quantity, Shows, Stack};

/// The quantity that a figure shows, which figure of its samples, and the arm that others are
/// compared with.
pub(super) fn shows(shows: &Shows) -> (Quantity, Estimate, Option<&'static str>) {
    match *shows {
        Shows::Itself(of, by)
        | Shows::Share { of, by, .. }
        | Shows::Portion { of, by, .. }
        | Shows::Parts { of, by, .. } => (of, by, None),
        Shows::Allocation { of, .. } => (of, Estimate::Mean, None),
        Shows::Impact { of, by, baseline }
        | Shows::Increment { of, by, baseline }
        | Shows::Overhead { of, by, baseline }
        | Shows::Added { of, by, baseline }
        | Shows::Factor { of, by, baseline }
        | Shows::Modelled {
            of, by, baseline, ..
        } => (of, by, Some(baseline)),
        Shows::Drawn { finding, .. } => match finding {
            Finding::Crossovers { of } | Finding::Least { of } | Finding::Even { of, .. } => {
                (of, Estimate::Mean, None)
            }
            Finding::Remainder { .. } | Finding::Change { .. } => {
                (Quantity::Time, Estimate::Mean, None)
            }
            Finding::Convergence { .. } => (Quantity::Total, Estimate::Mean, None),
            Finding::Rates | Finding::Increase => (Quantity::Time, Estimate::Mean, None),
            Finding::FirstBelowMean => (Quantity::Later, Estimate::Mean, None),
            Finding::Spread => (Quantity::Later, Estimate::Deviation, None),
        },
    }
}

/// Everything that the figure shows of these lines, in order.
pub(super) fn series(figure: &Figure, lines: &[&Line], order: &Order) -> Vec<Series> {
    if let Shows::Allocation { of, factors } = figure.shows {
        return allocations(of, factors, lines);
    }
    let (quantity, _, baseline) = shows(&figure.shows);
    let mut all: Vec<Series> = Vec::new();
    for &line in lines.iter().filter(|it| it.quantity == quantity) {
        let Some((value, spread)) = evaluate(figure, line, lines) else {
            continue;
        };
        let besides = besides(line, figure.x);
        let value = Value {
            at: line
                .at
                .iter()
                .map(|(axis, value)| (axis.to_string(), value.clone()))
                .collect(),
            x: along(line, figure.x).to_owned(),
            value,
            spread,
            floor: floor(figure, line, lines),
            n: line.figures.n,
        };
        let same = |it: &&mut Series| {
            it.stack == line.stack && it.arm == line.arm && it.besides == besides
        };
        match all.iter_mut().find(same) {
            Some(series) => series.values.push(value),
            None => all.push(Series {
                stack: line.stack,
                arm: line.arm.clone(),
                baseline: baseline == Some(line.arm.as_str()),
                besides,
                values: vec![value],
                blanks: Vec::new(),
            }),
        }
    }
    all.sort_by_cached_key(|it| order.series(&it.besides, &it.arm, it.stack));
    for series in &mut all {
        series.values.sort_by_cached_key(|it| order.x(&it.x));
    }
    all
}

/// For each stack, the share of the variation of all samples that each factor and all of them
/// together explain, and what is left to errors. A stack that lacks a combination of levels has
/// none.
fn allocations(of: Quantity, factors: &[Factor], lines: &[&Line]) -> Vec<Series> {
    let mut stacks: Vec<Stack> = lines.iter().map(|it| it.stack).collect();
    stacks.sort_unstable();
    stacks.dedup();
    let named = named_factors(lines);
    let names: Vec<&str> = match factors {
        [] => named.iter().map(|it| it.0).collect(),
        factors => factors.iter().map(|it| it.name).collect(),
    };
    let is_high = |line: &Line, place: usize| match factors.get(place) {
        Some(factor) => match factor.high {
            Level::Arms(arms) => arms.contains(&line.arm.as_str()),
            Level::At(axis, value) => line.at.get(axis).is_some_and(|it| it == value),
        },
        None => named_levels(line).any(|it| it == named[place]),
    };
    let mut all = Vec::new();
    for stack in stacks {
        let of_stack = |line: &&&Line| line.stack == stack && line.quantity == of;
        let own = lines.iter().filter(of_stack).copied();
        let Some(responses) = responses(names.len(), is_high, own) else {
            continue;
        };
        let Ok(design) = Factorial::of(&names, &responses) else {
            continue;
        };
        let n = design.replications * responses.len();
        let effects = design.effects.iter();
        let shares = effects.map(|it| {
            let spread = it.interval.map(|ends| share_between(&design, ends));
            (it.factors.join(" × "), it.variation, spread)
        });
        let errors = [("errors".to_owned(), design.errors, None)];
        all.extend(shares.chain(errors).map(|(arm, variation, spread)| Series {
            stack,
            arm,
            besides: Vec::new(),
            baseline: false,
            values: vec![Value {
                at: At::new(),
                x: String::new(),
                value: design.percent(variation),
                spread,
                floor: None,
                n,
            }],
            blanks: Vec::new(),
        }));
    }
    all
}

/// From where to where the share of an effect lies whose estimate is between these ends.
fn share_between(design: &Factorial, [least, most]: [f64; 2]) -> [f64; 2] {
    let (near, far) = if least <= 0.0 && most >= 0.0 {
        (0.0, least.abs().max(most))
    } else {
        (least.abs().min(most.abs()), least.abs().max(most.abs()))
    };
    [near, far].map(|estimate| design.percent(design.variation(estimate)))
}

/// Names and levels that a line says itself: its coordinates, and those in the name of its arm,
/// such as `rsa=1024 suite=Basic128`.
fn named_levels(line: &Line) -> impl Iterator<Item = (&str, &str)> {
    let at = line
        .at
        .iter()
        .map(|(axis, value)| (&**axis, value.as_str()));
    at.chain(line.arm.split(' ').filter_map(|it| it.split_once('=')))
}

/// The factors that lines name, in the order of naming, each with its high level: the larger
/// number, or the later name. What has one level only is none.
fn named_factors<'l>(lines: &[&'l Line]) -> Vec<(&'l str, &'l str)> {
    let mut all: Vec<(&str, Vec<&str>)> = Vec::new();
    for (name, level) in lines.iter().flat_map(|it| named_levels(it)) {
        match all.iter_mut().find(|it| it.0 == name) {
            Some((_, levels)) if levels.contains(&level) => {}
            Some((_, levels)) => levels.push(level),
            None => all.push((name, vec![level])),
        }
    }
    let number = |level: &&str| level.parse::<f64>().unwrap_or(f64::NAN);
    let high = all.into_iter().filter_map(|(name, mut levels)| {
        levels.sort_by(|one, other| {
            let by_number = number(one).partial_cmp(&number(other));
            by_number.unwrap_or_else(|| one.cmp(other))
        });
        match levels.as_slice() {
            [_, high] => Some((name, *high)),
            _ => None,
        }
    });
    high.collect()
}

/// The samples of each combination of levels, as many of each.
fn responses<'l>(
    factors: usize,
    is_high: impl Fn(&Line, usize) -> bool,
    lines: impl Iterator<Item = &'l Line>,
) -> Option<Vec<Vec<f64>>> {
    let mut responses = vec![Vec::new(); 1 << factors];
    for line in lines {
        let high = (0..factors).filter(|place| is_high(line, *place));
        let combination: usize = high.map(|place| 1 << place).sum();
        let of: &mut Vec<f64> = &mut responses[combination];
        if line.samples.is_empty() {
            of.push(line.figures.mean);
        } else {
            of.extend(&line.samples);
        }
    }
    let least = responses.iter().map(Vec::len).min().unwrap_or(0);
    for of in &mut responses {
        of.truncate(least);
    }
    (least > 0).then_some(responses)
}

/// A value that one line, or two of them, make.
type Spread = (f64, Option<[f64; 2]>);

fn evaluate(figure: &Figure, line: &Line, lines: &[&Line]) -> Option<Spread> {
    let (_, by, baseline) = shows(&figure.shows);
    if by == Estimate::Deviation && line.figures.n < 2 {
        // One sample deviates from nothing.
        return None;
    }
    let own = estimate(&line.figures, by);
    let beside = |arm: &str| {
        let mut same = lines.iter().filter(|it| is_beside(it, line));
        same.find(|it| it.quantity == line.quantity && it.arm == arm)
    };
    let base = match baseline {
        Some(arm) => Some(beside(arm)?),
        None => None,
    };
    let (value, spread) = match (&figure.shows, base) {
        (Shows::Itself(..) | Shows::Parts { .. }, _) => own,
        (Shows::Share { among, .. }, _) => {
            if !among.contains(&line.arm.as_str()) {
                return None;
            }
            let same = lines.iter().filter(|it| {
                is_beside(it, line)
                    && it.quantity == line.quantity
                    && among.contains(&it.arm.as_str())
            });
            let whole: f64 = same.map(|it| estimate(&it.figures, by).0).sum();
            scaled(own, 100.0 / whole)
        }
        (Shows::Portion { whole, .. }, _) => {
            let mut same = lines
                .iter()
                .filter(|it| is_beside(it, line) && it.arm == line.arm);
            let whole = same.find(|it| it.quantity == *whole)?;
            scaled(ratio(&line.figures, &whole.figures, by, false), 100.0)
        }
        (Shows::Added { .. }, Some(base)) => {
            let (base, base_spread) = estimate(&base.figures, by);
            let spread = own.1.zip(base_spread).map(|(own_ends, base_ends)| {
                let down = (own.0 - own_ends[0]).hypot(base_ends[1] - base);
                let up = (own_ends[1] - own.0).hypot(base - base_ends[0]);
                [own.0 - base - down, own.0 - base + up]
            });
            (own.0 - base, spread)
        }
        (Shows::Factor { .. }, Some(base)) => {
            ratio(&base.figures, &line.figures, by, base.arm == line.arm)
        }
        (Shows::Overhead { .. }, Some(base)) => {
            let rest = ratio(&base.figures, &line.figures, by, base.arm == line.arm);
            let (rest, spread) = scaled(rest, 100.0);
            // What is left of it when the rest grows is less.
            let spread = spread.map(|[least, most]| [100.0 - most, 100.0 - least]);
            (100.0 - rest, spread)
        }
        (shows, Some(base)) => {
            let ratio = ratio(&line.figures, &base.figures, by, base.arm == line.arm);
            let (impact, spread) = scaled(ratio, 100.0);
            match shows {
                Shows::Increment { .. } => (
                    impact - 100.0,
                    spread.map(|ends| ends.map(|end| end - 100.0)),
                ),
                _ => (impact, spread),
            }
        }
        (_, None) => return None,
    };
    value.is_finite().then_some((value, spread))
}

/// Whether both are of the same point and stack.
fn is_beside(one: &Line, other: &Line) -> bool {
    one.stack == other.stack && one.at == other.at
}

fn estimate(figures: &Figures, by: Estimate) -> Spread {
    match by {
        Estimate::Best => (figures.best, Some([figures.best, figures.median])),
        Estimate::Median => (figures.median, Some(figures.median_interval)),
        Estimate::Mean => (figures.mean, Some(figures.mean_interval)),
        Estimate::Deviation => (figures.stdev, None),
    }
}

fn scaled((value, spread): Spread, by: f64) -> Spread {
    (value * by, spread.map(|ends| ends.map(|end| end * by)))
}

/// A ratio, and its interval on the logarithmic scale: relative errors of independent measurements
/// add as squares there, and the interval never reaches below zero. Where the interval of either
/// part reaches zero, one end is open. The ratio of best times reaches to that of medians. Of a
/// line with itself it is 1 without a doubt.
fn ratio(above: &Figures, below: &Figures, by: Estimate, same: bool) -> Spread {
    let ((a, a_spread), (b, b_spread)) = (estimate(above, by), estimate(below, by));
    let value = a / b;
    if same {
        return (value, None);
    }
    if by == Estimate::Best {
        let medians = above.median / below.median;
        return (value, Some([value.min(medians), value.max(medians)]));
    }
    let spread = a_spread.zip(b_spread);
    (
        value,
        spread.map(|(a_ends, b_ends)| ratio_ends((a, a_ends), (b, b_ends))),
    )
}

/// The ends of the interval of a ratio of two values with intervals.
pub(super) fn ratio_ends((a, a_ends): (f64, [f64; 2]), (b, b_ends): (f64, [f64; 2])) -> [f64; 2] {
    // How far apart two values are on the logarithmic scale.
    let apart = |less: f64, more: f64| {
        if less > 0.0 {
            (more / less).ln()
        } else {
            f64::INFINITY
        }
    };
    let down = apart(a_ends[0], a).hypot(apart(b, b_ends[1]));
    let up = apart(a, a_ends[1]).hypot(apart(b_ends[0], b));
    [a / b * (-down).exp(), a / b * up.exp()]
}

/// The floor of a figure: the value if only the cryptographic operations took time. It is the
/// larger of a plain call with the operations of one call, and the operations of all clients in
/// turns.
fn floor(figure: &Figure, line: &Line, lines: &[&Line]) -> Option<f64> {
    let of = |quantity| {
        let mut same = lines.iter().filter(|it| is_beside(it, line));
        same.find(|it| it.quantity == quantity && it.arm == line.arm)
            .map(|it| it.figures.best)
    };
    let floor = of(Quantity::Floor)?;
    let (quantity, by, baseline) = shows(&figure.shows);
    if quantity != Quantity::Time {
        return None;
    }
    // What waiting for each other takes is known of the mean only.
    let together = of(Quantity::FloorTogether).filter(|_| by == Estimate::Mean);
    let together = together.unwrap_or_default();
    let base = baseline.and_then(|arm| {
        let mut same = lines.iter().filter(|it| is_beside(it, line));
        same.find(|it| it.quantity == quantity && it.arm == arm)
            .map(|it| estimate(&it.figures, by).0)
    });
    match (&figure.shows, base) {
        (Shows::Itself(_, Estimate::Deviation), _) => None,
        (Shows::Itself(..) | Shows::Parts { .. }, _) => Some(floor.max(together)),
        (Shows::Impact { .. }, Some(base)) => {
            let least = together.max(base + floor);
            Some(statistics::impact_percent(least, base))
        }
        (Shows::Increment { .. }, Some(base)) => {
            let least = together.max(base + floor);
            Some(statistics::increment_percent(least, base))
        }
        _ => None,
    }
}
