//! Answers to the questions that conclusions are.
//!
//! The rule kept here: values are compared at the same point, which differs only in what the
//! question names.

use super::super::shown::{At, is_arm, is_at};
use super::super::values::ratio_ends;
use super::data::Datum;
use super::{Answer, Kind};
use crate::statistics::{Growth, Less, Measured, Place, crossings};
use crate::study::{Asks, Conclusion, Grows, Of, Study};

/// So much change, as a share of what it begins with, is none.
const CONSTANT: f64 = 0.1;
/// The least share of the variation that a straight line explains of what grows along one.
const STRAIGHT: f64 = 0.95;

/// What the numbers of answers are.
pub(super) const fn unit(asks: &Asks) -> &'static str {
    match asks {
        Asks::Order { .. } | Asks::Ratio { .. } => " ×",
        Asks::Growth { .. } => " % from end to end",
        Asks::Share { .. } | Asks::Crossover { .. } | Asks::Threshold { .. } => "",
    }
}

/// The answers of these values, one for each place where the question can be asked.
pub(super) fn answers(conclusion: &Conclusion, [first, second]: &[Vec<Datum>; 2]) -> Vec<Answer> {
    match conclusion.asks {
        Asks::Order { less, more } => {
            let pairs = pairs((first, &less), (second, &more));
            pairs.into_iter().map(|it| order(it.0, it.1)).collect()
        }
        Asks::Ratio { of, over, within } => {
            let pairs = pairs((first, &of), (second, &over));
            let ratios = pairs.into_iter().map(|(of, over)| {
                let own = (of.value, of.interval);
                let ends = ratio_ends(own, (over.value, over.interval));
                lies(of.value / over.value, ends, within)
            });
            ratios.collect()
        }
        Asks::Share { of, among, within } => shares(first, &of, among, within),
        Asks::Crossover {
            first: one,
            second: other,
            along,
            within,
        } => {
            let courses = courses((first, &one), (second, &other), along);
            courses.iter().map(|it| crossover(it, within)).collect()
        }
        Asks::Growth {
            of,
            over,
            along,
            grows,
        } => growths(first, &of, over, along)
            .iter()
            .map(|points| growth(points, grows))
            .collect(),
        Asks::Threshold {
            of,
            over,
            along,
            from,
        } => {
            let courses = courses((first, &of), (second, &over), along);
            let places = courses.into_iter().flatten();
            places.map(|it| threshold(&it, from)).collect()
        }
    }
}

/// The answers of the numbers that the paper prints for it.
pub(super) fn printed(study: &Study, conclusion: &Conclusion) -> Vec<Answer> {
    let Some(((source, with), within)) = conclusion.printed.zip(conclusion.asks.within()) else {
        return Vec::new();
    };
    let source = study.numbers.source(source);
    let values = source.into_iter().flat_map(|it| it.values());
    values
        .filter(|it| it.has(with))
        .map(|it| {
            let middle = f64::midpoint(it.printed.least, it.printed.most);
            lies(middle, it.printed.range(), within)
        })
        .collect()
}

fn selected<'d>(data: &'d [Datum], of: &'d Of) -> impl Iterator<Item = &'d Datum> {
    data.iter().filter(|it| {
        let mut arms = of.arms.iter();
        arms.any(|arm| is_arm(arm, &it.arm)) && is_at(of.at, &it.at)
    })
}

/// Coordinates that neither of two names.
fn others(at: &At, one: &Of, other: &Of) -> At {
    let named = |axis: &str| {
        let mut all = one.at.iter().chain(other.at);
        all.any(|it| it.0 == axis)
    };
    let others = at.iter().filter(|it| !named(it.0));
    others
        .map(|(axis, value)| (axis.clone(), value.clone()))
        .collect()
}

/// Values that are compared with each other. Where both name the same arms, each is compared with
/// itself.
fn pairs<'d>(
    (first, one): (&'d [Datum], &'d Of),
    (second, other): (&'d [Datum], &'d Of),
) -> Vec<(&'d Datum, &'d Datum)> {
    let same_arms = one.arms == other.arms;
    let mut pairs = Vec::new();
    for own in selected(first, one) {
        let place = others(&own.at, one, other);
        let beside = selected(second, other).filter(|it| {
            others(&it.at, one, other) == place
                && (!same_arms || it.arm == own.arm)
                && (it.arm != own.arm || it.at != own.at || first != second)
        });
        pairs.extend(beside.map(|it| (own, it)));
    }
    pairs
}

fn order(less: &Datum, more: &Datum) -> Answer {
    let kind = if less.interval[1] < more.interval[0] {
        Kind::Holds
    } else if more.interval[1] < less.interval[0] {
        Kind::Reversed
    } else {
        Kind::NotToldApart
    };
    Answer {
        kind,
        number: more.value / less.value,
    }
}

/// How a value lies beside a range.
fn lies(value: f64, [low, high]: [f64; 2], [least, most]: [f64; 2]) -> Answer {
    let kind = if (least..=most).contains(&value) {
        Kind::Holds
    } else if low <= most && least <= high {
        Kind::NotToldApart
    } else if value < least {
        Kind::Less
    } else {
        Kind::More
    };
    Answer {
        kind,
        number: value,
    }
}

/// Shares of sums, or values as they are.
fn shares(
    data: &[Datum],
    of: &Of,
    among: &'static [&'static str],
    within: [f64; 2],
) -> Vec<Answer> {
    if among.is_empty() {
        let values = selected(data, of);
        return values
            .map(|it| lies(it.value, it.interval, within))
            .collect();
    }
    let mut places: Vec<&At> = Vec::new();
    for datum in selected(data, of) {
        if !places.contains(&&datum.at) {
            places.push(&datum.at);
        }
    }
    let whole = Of {
        arms: among,
        at: of.at,
    };
    let answers = places.into_iter().filter_map(|place| {
        let at_place = |it: &&Datum| it.at == *place;
        let parts: Vec<&Datum> = selected(data, of).filter(at_place).collect();
        let all: Vec<&Datum> = selected(data, &whole).filter(at_place).collect();
        // A part that is missing makes another whole.
        if all.len() < among.len() || parts.len() < of.arms.len() {
            return None;
        }
        let sum = |of: &[&Datum], end: usize| of.iter().map(|it| it.interval[end]).sum::<f64>();
        let value = |of: &[&Datum]| of.iter().map(|it| it.value).sum::<f64>();
        let is_part = |it: &&Datum| parts.iter().any(|part| part.arm == it.arm);
        let rest: Vec<&Datum> = all.iter().copied().filter(|it| !is_part(it)).collect();
        let share = |part: f64, rest: f64| 100.0 * part / (part + rest);
        let (number, ends) = if rest.len() + parts.len() == all.len() {
            let ends = [
                share(sum(&parts, 0), sum(&rest, 1)),
                share(sum(&parts, 1), sum(&rest, 0)),
            ];
            (share(value(&parts), value(&rest)), ends)
        } else {
            let part = (value(&parts), [sum(&parts, 0), sum(&parts, 1)]);
            let all = (value(&all), [sum(&all, 0), sum(&all, 1)]);
            let ends = ratio_ends(part, all).map(|it| 100.0 * it);
            (100.0 * part.0 / all.0, ends)
        };
        Some(lies(number, ends, within))
    });
    answers.collect()
}

/// Two arms beside each other along an axis, for each combination of the other coordinates.
fn courses<'d>(
    (first, one): (&'d [Datum], &'d Of),
    (second, other): (&'d [Datum], &'d Of),
    along: &str,
) -> Vec<Vec<Place>> {
    let mut courses: Vec<((String, String, At), Vec<Place>)> = Vec::new();
    for (own, beside) in pairs((first, one), (second, other)) {
        let Some(at) = own.at.get(along).and_then(|it| it.parse().ok()) else {
            continue;
        };
        let mut at_others = own.at.clone();
        at_others.remove(along);
        let key = (own.arm.clone(), beside.arm.clone(), at_others);
        let measured = |it: &Datum| Measured {
            value: it.value,
            interval: it.interval,
        };
        let place = Place {
            at,
            first: measured(own),
            second: measured(beside),
        };
        match courses.iter_mut().find(|it| it.0 == key) {
            Some(course) => course.1.push(place),
            None => courses.push((key, vec![place])),
        }
    }
    let courses = courses.into_iter().map(|(_, mut places)| {
        places.sort_by(|one, other| f64::total_cmp(&one.at, &other.at));
        places
    });
    courses.collect()
}

fn crossover(places: &[Place], within: [f64; 2]) -> Answer {
    let all = crossings(places);
    if let Some(found) = all.iter().find(|it| it.less == Less::First) {
        return lies(found.at, found.interval, within);
    }
    let less: Vec<Option<Less>> = places.iter().map(Place::less).collect();
    let always = |wanted: Less| less.iter().all(|it| *it == Some(wanted));
    let kind = if !all.is_empty() {
        Kind::Reversed
    } else if always(Less::First) {
        Kind::More
    } else if always(Less::Second) {
        Kind::Less
    } else {
        Kind::NotToldApart
    };
    Answer {
        kind,
        number: f64::NAN,
    }
}

/// Places along an axis, with values.
type Points = Vec<(f64, f64)>;

/// Points along an axis, for each arm and each combination of the other coordinates.
fn growths(data: &[Datum], of: &Of, over: Option<&str>, along: &str) -> Vec<Points> {
    let mut all: Vec<((&str, At), Points)> = Vec::new();
    for datum in selected(data, of) {
        let Some(at) = datum.at.get(along).and_then(|it| it.parse().ok()) else {
            continue;
        };
        let mut beside = data.iter().filter(|it| it.at == datum.at);
        let value = match over {
            Some(arm) => match beside.find(|it| is_arm(arm, &it.arm)) {
                Some(base) => datum.value - base.value,
                None => continue,
            },
            None => datum.value,
        };
        let mut others = datum.at.clone();
        others.remove(along);
        let key = (datum.arm.as_str(), others);
        match all.iter_mut().find(|it| it.0 == key) {
            Some(points) => points.1.push((at, value)),
            None => all.push((key, vec![(at, value)])),
        }
    }
    all.into_iter().map(|it| it.1).collect()
}

fn growth(points: &[(f64, f64)], grows: Grows) -> Answer {
    let open = Answer {
        kind: Kind::NotToldApart,
        number: f64::NAN,
    };
    let Some(line) = Growth::through(points) else {
        return open;
    };
    let Some(slope) = line.each_interval(points) else {
        return open;
    };
    let least = points.iter().map(|it| it.0).fold(f64::INFINITY, f64::min);
    let most = points
        .iter()
        .map(|it| it.0)
        .fold(f64::NEG_INFINITY, f64::max);
    let begin = points
        .iter()
        .find(|it| it.0 == least)
        .map_or(f64::NAN, |it| it.1);
    let change = |slope: f64| slope * (most - least) / begin.abs();
    let ends = slope.map(change);
    let is_none = -CONSTANT <= ends[0] && ends[1] <= CONSTANT;
    let is_some = ends[0] > CONSTANT;
    let kind = match grows {
        Grows::Constant if is_none => Kind::Holds,
        Grows::Constant if is_some => Kind::Reversed,
        Grows::Linear if is_some && explained(&line, points) >= STRAIGHT => Kind::Holds,
        Grows::Linear if is_none => Kind::Reversed,
        _ => Kind::NotToldApart,
    };
    Answer {
        kind,
        number: 100.0 * change(line.each),
    }
}

/// The share of the variation of points that a line explains.
fn explained(line: &Growth, points: &[(f64, f64)]) -> f64 {
    let mean = points.iter().map(|it| it.1).sum::<f64>() / points.len() as f64;
    let about = |of: &dyn Fn(f64) -> f64| {
        let squares = points.iter().map(|it| (it.1 - of(it.0)).powi(2));
        squares.sum::<f64>()
    };
    1.0 - about(&|at| line.at(at)) / about(&|_| mean)
}

fn threshold(place: &Place, from: f64) -> Answer {
    let less = if place.at >= from {
        Less::First
    } else {
        Less::Second
    };
    let kind = match place.less() {
        None => Kind::NotToldApart,
        Some(found) if found == less => Kind::Holds,
        Some(_) => Kind::Reversed,
    };
    Answer {
        kind,
        number: f64::NAN,
    }
}

#[cfg(test)]
mod tests;
