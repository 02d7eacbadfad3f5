//! What follows from the lines of another figure: where totals of two arms change places, by how
//! much time grows with size, when a start is paid off, and how much times spread after it.
//!
//! The rule kept here: nothing is said that intervals leave open; what they leave open is told as
//! that.

mod compared;
mod sequences;

use super::counted::Order;
use super::number::tick;
use super::shown::{At, Series, Value};
use super::values;
use crate::statistics::{Crossing, Growth, Less, Measured, Place, crossings};
use crate::study::{Estimate, Figure, Finding, Line, Quantity, Shows, Stack};

/// The operation of points that differ in the size of their messages alone.
const ECHO: &str = "Echo";

/// What was found: series as of any other figure, and what is to be said of them in words.
#[derive(Default)]
pub(super) struct Found {
    /// Series; places without a value say why.
    pub(super) series: Vec<Series>,
    /// Sentences.
    pub(super) notes: Vec<String>,
}

/// What follows from these lines of the figure `from`, with the coordinate `x` along the axis.
pub(super) fn found(
    finding: Finding,
    x: &str,
    from: &Figure,
    lines: &[&Line],
    order: &Order,
) -> Found {
    let by = |quantity, estimate| {
        let shows = Shows::Itself(quantity, estimate);
        values::series(&Figure { shows, ..*from }, lines, order)
    };
    let of = |quantity| by(quantity, Estimate::Mean);
    match finding {
        Finding::Crossovers { of: quantity } => crossovers(x, quantity, &of(quantity)),
        Finding::Least { of: quantity } => compared::least(x, quantity, &of(quantity)),
        Finding::Even {
            of: quantity,
            arm,
            beside,
        } => even((x, quantity), [arm, beside], &of(quantity)),
        Finding::Remainder { plus, minus } => {
            compared::remainder(x, (plus, minus), &of(Quantity::Time))
        }
        Finding::Change {
            over,
            from: low,
            to: high,
        } => {
            let shows = match over {
                Some(baseline) => Shows::Increment {
                    of: Quantity::Time,
                    by: Estimate::Mean,
                    baseline,
                },
                None => Shows::Itself(Quantity::Time, Estimate::Mean),
            };
            let series = values::series(&Figure { shows, ..*from }, lines, order);
            compared::change([low, high], &series)
        }
        Finding::Rates => Found {
            series: rates(x, &of(Quantity::Time)),
            notes: Vec::new(),
        },
        Finding::Convergence { percent } => Found {
            series: convergence(x, percent, &of(Quantity::Total), &of(Quantity::Later)),
            notes: Vec::new(),
        },
        Finding::Increase => Found {
            series: sequences::increase(x, lines, order),
            notes: Vec::new(),
        },
        Finding::FirstBelowMean => Found {
            series: sequences::first_below_mean(x, lines, order),
            notes: Vec::new(),
        },
        Finding::Spread => Found {
            series: by(Quantity::Later, Estimate::Deviation),
            notes: Vec::new(),
        },
    }
}

impl Found {
    /// The series of this name, made if there is none.
    fn series(&mut self, stack: Stack, arm: String, besides: Vec<(String, String)>) -> &mut Series {
        let same = |it: &Series| it.stack == stack && it.arm == arm && it.besides == besides;
        let place = self.series.iter().position(same).unwrap_or_else(|| {
            self.series.push(Series {
                stack,
                arm,
                besides,
                baseline: false,
                values: Vec::new(),
                blanks: Vec::new(),
            });
            self.series.len() - 1
        });
        &mut self.series[place]
    }
}

/// The coordinate along the axis, and the others.
fn parted(besides: &[(String, String)], x: &str) -> (String, Vec<(String, String)>) {
    let along = besides.iter().find(|it| it.0 == x);
    let others = besides.iter().filter(|it| it.0 != x).cloned();
    (
        along.map(|it| it.1.clone()).unwrap_or_default(),
        others.collect(),
    )
}

/// A value with its interval; of one sample there is none, unless bytes were counted.
fn measured(value: &Value, quantity: Quantity) -> Measured {
    match value.spread.filter(|_| value.n > 1) {
        Some(interval) => Measured {
            value: value.value,
            interval,
        },
        None if quantity.is_counted() => Measured {
            value: value.value,
            interval: [value.value; 2],
        },
        None => Measured::alone(value.value),
    }
}

/// Places along the axis as numbers, with their values.
fn points(series: &Series) -> impl Iterator<Item = (f64, &Value)> {
    let values = series.values.iter();
    values.filter_map(|value| Some((value.x.parse().ok()?, value)))
}

/// So many whole messages: those after which what is said holds. A hair above a whole number is
/// that number.
fn whole(count: f64) -> f64 {
    (count - 1e-6).ceil()
}

fn value(
    besides: &[(String, String)],
    along: &str,
    value: f64,
    spread: Option<[f64; 2]>,
    n: usize,
) -> Value {
    Value {
        at: besides.iter().cloned().collect::<At>(),
        x: along.to_owned(),
        value,
        spread,
        floor: None,
        n,
    }
}

fn crossovers(x: &str, quantity: Quantity, totals: &[Series]) -> Found {
    let mut found = Found::default();
    let mut groups: Vec<(Stack, &[(String, String)])> = Vec::new();
    for series in totals {
        let group = (series.stack, series.besides.as_slice());
        if !groups.contains(&group) {
            groups.push(group);
        }
    }
    let mut pairs = Vec::new();
    for (stack, besides) in groups {
        let of = |it: &&Series| it.stack == stack && it.besides == besides;
        let series: Vec<&Series> = totals.iter().filter(of).collect();
        let begin = pairs.len();
        for (place, one) in series.iter().enumerate() {
            let others = series[place + 1..].iter();
            pairs.extend(others.map(|other| Pair::of([one, other], &series, (x, quantity))));
        }
        found
            .notes
            .push(told((stack, quantity), besides, &pairs[begin..]));
    }
    // A pair has a row for each order in which it changes places somewhere; elsewhere it says why
    // it has no value there.
    for pair in &pairs {
        for (less, value) in pair.values() {
            let of = found.series(pair.stack, pair.name(less), pair.others.clone());
            // Of arms that change places again and again, the first time is told.
            if of.values.iter().all(|it| it.x != value.x) {
                of.values.push(value);
            }
        }
        if let Course::Perhaps(less, _) = pair.course {
            found.series(pair.stack, pair.name(less), pair.others.clone());
        }
    }
    for series in &mut found.series {
        for pair in &pairs {
            let same = (pair.stack, &pair.others) == (series.stack, &series.besides);
            for less in [Less::First, Less::Second] {
                let has_it = series.values.iter().any(|it| it.x == pair.along);
                if same && pair.name(less) == series.arm && !has_it {
                    series.blanks.push((pair.along.clone(), pair.why(less)));
                }
            }
        }
    }
    found.series.sort_by_key(|it| it.stack);
    found
}

/// From where along the axis on an arm has no more than another, for each combination of the other
/// coordinates.
fn even((x, quantity): (&str, Quantity), [arm, beside]: [&str; 2], all: &[Series]) -> Found {
    let mut found = Found::default();
    for series in all.iter().filter(|it| it.arm == arm) {
        let same = |it: &&Series| {
            (it.stack, it.arm.as_str(), &it.besides) == (series.stack, beside, &series.besides)
        };
        let Some(other) = all.iter().find(same) else {
            continue;
        };
        let (along, others) = parted(&series.besides, x);
        let pair = Pair::of([series, other], &[series, other], (x, quantity));
        let of = found.series(series.stack, series.arm.clone(), others);
        let why = match &pair.course {
            Course::Cross(crossings) => {
                let mut downwards = crossings.iter().filter(|it| it.less == Less::Second);
                match downwards.next() {
                    Some(it) => {
                        let (besides, spread) = (&series.besides, Some(it.interval));
                        let value = value(besides, &along, it.at, spread, pair.samples);
                        of.values.push(value);
                        continue;
                    }
                    None => "the other way round".to_owned(),
                }
            }
            Course::Apart(Less::First) => "always less".to_owned(),
            Course::Apart(Less::Second) => "always more".to_owned(),
            Course::Perhaps(_, why) => why.clone(),
            Course::Open => "intervals leave it open".to_owned(),
        };
        of.blanks.push((along, why));
    }
    found
}

/// Values of two arms, on one stack and of one service.
struct Pair<'s> {
    stack: Stack,
    /// Coordinates of both.
    besides: &'s [(String, String)],
    /// The one along the axis, and the others.
    along: String,
    others: Vec<(String, String)>,
    /// Short names of both.
    names: [String; 2],
    samples: usize,
    course: Course,
}

/// How two arms go on beside each other.
enum Course {
    /// They change places.
    Cross(Vec<Crossing>),
    /// This one is less everywhere.
    Apart(Less),
    /// They may change places: the one that is less at first by its values, and what is known.
    Perhaps(Less, String),
    /// Intervals overlap, at some counts or at all.
    Open,
}

impl<'s> Pair<'s> {
    fn of([one, other]: [&'s Series; 2], all: &[&Series], (x, quantity): (&str, Quantity)) -> Self {
        let (along, others) = parted(&one.besides, x);
        // What grows with the size of a message is of echoes, and their points do not say so.
        let along = match along.as_str() {
            "" => ECHO.to_owned(),
            _ => along,
        };
        let places = places(one, other, quantity);
        let crossings = crossings(&places);
        let is_apart = places.iter().all(|it| it.less().is_some());
        Self {
            stack: one.stack,
            besides: &one.besides,
            along,
            others,
            names: [one, other].map(|it| short(&it.arm, all)),
            samples: one.values.iter().chain(&other.values).map(|it| it.n).sum(),
            course: match places.first().and_then(Place::less) {
                _ if !crossings.is_empty() => Course::Cross(crossings),
                Some(less) if is_apart => Course::Apart(less),
                _ => perhaps(&places),
            },
        }
    }

    /// After both, the one that is less at first before the other.
    fn name(&self, less: Less) -> String {
        let [first, second] = &self.names;
        match less {
            Less::First => format!("{first} → {second}"),
            Less::Second => format!("{second} → {first}"),
        }
    }

    /// Where they change places, and which is less before that.
    fn values(&self) -> Vec<(Less, Value)> {
        let Course::Cross(crossings) = &self.course else {
            return Vec::new();
        };
        let values = crossings.iter().map(|it| {
            let (at, spread) = (whole(it.at), it.interval.map(whole));
            let value = value(self.besides, &self.along, at, Some(spread), self.samples);
            (it.less, value)
        });
        values.collect()
    }

    /// Why they do not change places in this order.
    fn why(&self, less: Less) -> String {
        let [first, second] = &self.names;
        match &self.course {
            Course::Cross(_) => "the other way round".to_owned(),
            Course::Apart(Less::First) => format!("{first} is always less"),
            Course::Apart(Less::Second) => format!("{second} is always less"),
            Course::Perhaps(first, why) if *first == less => why.clone(),
            Course::Perhaps(..) | Course::Open => "intervals leave it open".to_owned(),
        }
    }
}

/// How many pairs change places, in words.
fn told(
    (stack, quantity): (Stack, Quantity),
    besides: &[(String, String)],
    pairs: &[Pair<'_>],
) -> String {
    let count = |wanted: fn(&Course) -> bool| {
        let of = pairs.iter().filter(|it| wanted(&it.course));
        of.count()
    };
    let place = besides.iter().map(|it| format!(", {}", it.1));
    let of = match quantity {
        Quantity::Total => "totals",
        _ => "values",
    };
    format!(
        "On {stack}{}: of {} pairs of arms, {} change places and {} do not; of {} it is not known, as intervals of their {of} overlap.",
        place.collect::<String>(),
        pairs.len(),
        count(|it| matches!(it, Course::Cross(_))),
        count(|it| matches!(it, Course::Apart(_))),
        count(|it| matches!(it, Course::Perhaps(..) | Course::Open))
    )
}

/// The arm up to its first `/`, where no other begins so.
fn short(arm: &str, all: &[&Series]) -> String {
    let begin = |arm: &str| arm.split('/').next().unwrap_or_default().to_owned();
    let same = all.iter().filter(|it| begin(&it.arm) == begin(arm));
    if same.count() > 1 {
        arm.to_owned()
    } else {
        begin(arm)
    }
}

/// Where both have values.
fn places(one: &Series, other: &Series, quantity: Quantity) -> Vec<Place> {
    let places = points(one).filter_map(|(at, first)| {
        let second = other.values.iter().find(|it| it.x == first.x)?;
        Some(Place {
            at,
            first: measured(first, quantity),
            second: measured(second, quantity),
        })
    });
    places.collect()
}

/// Of two arms whose intervals overlap somewhere and that do not clearly change places: whether
/// their values do, and what is known.
fn perhaps(places: &[Place]) -> Course {
    let clear = |place: &&Place| place.less().is_some();
    let (Some(begin), Some(end)) = (places.iter().find(clear), places.iter().rev().find(clear))
    else {
        return Course::Open;
    };
    let by_values = |place: &Place| {
        if place.first.value < place.second.value {
            Less::First
        } else {
            Less::Second
        }
    };
    let ends = places.first().zip(places.last());
    match ends.map(|(first, last)| (by_values(first), by_values(last))) {
        Some((first, last)) if first != last => {
            let known = if end.less() == Some(first) {
                format!("if at all, after {}", tick(end.at))
            } else {
                format!("if at all, before {}", tick(begin.at))
            };
            Course::Perhaps(first, known)
        }
        _ => Course::Open,
    }
}

/// What a thousand bytes more take.
fn rates(x: &str, times: &[Series]) -> Vec<Series> {
    const THOUSAND: f64 = 1_000.0;
    let mut found = Found::default();
    for series in times {
        let (along, others) = parted(&series.besides, x);
        let points: Vec<(f64, f64)> = points(series).map(|it| (it.0, it.1.value)).collect();
        let of = found.series(series.stack, series.arm.clone(), others);
        match Growth::through(&points) {
            Some(growth) => of.values.push(value(
                &series.besides,
                &along,
                growth.each * THOUSAND,
                growth
                    .each_interval(&points)
                    .map(|ends| ends.map(|it| it * THOUSAND)),
                points.len(),
            )),
            None => of.blanks.push((along, "one size only".to_owned())),
        }
    }
    found.series
}

/// After how many messages the total is no more than so many percent above what as many take in the
/// steady state.
fn convergence(x: &str, percent: f64, totals: &[Series], later: &[Series]) -> Vec<Series> {
    let mut found = Found::default();
    for series in totals {
        let (along, others) = parted(&series.besides, x);
        let same = |it: &&Series| {
            (it.stack, &it.arm, &it.besides) == (series.stack, &series.arm, &series.besides)
        };
        let steady = later.iter().find(same).and_then(|it| points(it).last());
        let of = found.series(series.stack, series.arm.clone(), others);
        let Some((most, steady)) = steady else {
            of.blanks
                .push((along, "one message after each deployment".to_owned()));
            continue;
        };
        let steady = measured(steady, Quantity::Later);
        let allowed = |count: f64| {
            let share = count * (1.0 + percent / 100.0);
            Measured {
                value: steady.value * share,
                interval: steady.interval.map(|end| end * share),
            }
        };
        // The largest count says what the steady state is, and so nothing about when it begins.
        let places: Vec<Place> = points(series)
            .filter(|it| it.0 < most)
            .map(|(at, total)| Place {
                at,
                first: measured(total, Quantity::Total),
                second: allowed(at),
            })
            .collect();
        let n = series.values.iter().map(|it| it.n).sum();
        match converged(&places) {
            Ok((at, spread)) => {
                let value = value(&series.besides, &along, at, Some(spread), n);
                of.values.push(value);
            }
            Err(why) => of.blanks.push((along, why)),
        }
    }
    found.series
}

/// From which count on the first stays less than the second, or what is known of it.
fn converged(places: &[Place]) -> Result<(f64, [f64; 2]), String> {
    let Some((first, last)) = places.first().zip(places.last()) else {
        return Err("two counts at least are needed".to_owned());
    };
    let crossing = crossings(places).into_iter().next_back();
    match (last.less(), crossing) {
        (Some(Less::Second), _) => Err(format!("after more than {}", tick(last.at))),
        (None, _) => Err("intervals leave it open".to_owned()),
        (Some(Less::First), Some(crossing)) => {
            Ok((whole(crossing.at), crossing.interval.map(whole)))
        }
        (Some(Less::First), None) => {
            let from = places.iter().find(|it| it.less().is_some());
            let from = from.unwrap_or(first).at;
            Err(format!("after {} or fewer", tick(from)))
        }
    }
}

#[cfg(test)]
mod tests;
