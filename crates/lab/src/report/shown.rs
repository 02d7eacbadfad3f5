//! What a figure shows of the lines: values by series and point, with their spread, beside what the paper reported.
//!
//! The rule kept here: what is compared was measured in the same run, at the same point, on the same stack.

use std::collections::BTreeMap;

use super::Run;
use super::number::Unit;
use crate::statistics::{self, Factorial, Figures};
use crate::study::{
    Arm, Estimate, Experiment, Factor, Figure, LeftOut, Level, Line, Quantity, Record, Reported,
    Scale, Scope, Shows, Stack, Study,
};

/// Coordinates of a point.
pub(super) type At = BTreeMap<String, String>;

/// A figure with what lines say of it.
pub(super) struct Shown<'r> {
    /// The study.
    pub(super) study: &'static Study,
    /// The experiment.
    pub(super) experiment: &'static Experiment,
    /// The figure.
    pub(super) figure: &'static Figure,
    /// Values along its axis, in order.
    pub(super) xs: Vec<String>,
    /// What is drawn.
    pub(super) series: Vec<Series>,
    /// Every line of it that counts, in order.
    pub(super) lines: Vec<&'r Line>,
    /// Arms that a stack could not do.
    pub(super) left_out: Vec<&'r LeftOut>,
    /// Of its values.
    pub(super) unit: Unit,
}

/// Values of one arm on one stack, along the axis.
pub(super) struct Series {
    /// Who answered.
    pub(super) stack: Stack,
    /// What was compared.
    pub(super) arm: String,
    /// Coordinates besides the one along the axis.
    pub(super) besides: Vec<(String, String)>,
    /// What all others are compared with: it is 100 %, or 0 %, or 1 everywhere.
    pub(super) baseline: bool,
    /// Values, in the order of the axis.
    pub(super) values: Vec<Value>,
}

/// One value of a figure.
pub(super) struct Value {
    /// Coordinates.
    pub(super) at: At,
    /// Where it stands along the axis.
    pub(super) x: String,
    /// The value, in the unit that lines have, or percent, or times.
    pub(super) value: f64,
    /// Its 95 % confidence interval; of a best time, up to where the median would be.
    pub(super) spread: Option<[f64; 2]>,
    /// What it would be, if of all security only private keys took time.
    pub(super) floor: Option<f64>,
    /// How many samples it is made of.
    pub(super) n: usize,
}

impl Series {
    /// `sign-encrypt/Basic256, sqlite`: without the stack.
    pub(super) fn name(&self) -> String {
        let besides = self.besides.iter().map(|(_, value)| value.as_str());
        let mut name = vec![self.arm.as_str()];
        name.extend(besides);
        name.join(", ")
    }

    /// With the stack.
    pub(super) fn full_name(&self) -> String {
        format!("{} · {}", self.name(), self.stack)
    }
}

impl Value {
    /// `books 2500, source memory`.
    pub(super) fn place(&self) -> String {
        place(&self.at)
    }
}

/// `books 2500, source memory`.
pub(super) fn place(at: &At) -> String {
    let parts: Vec<String> = at
        .iter()
        .map(|(axis, value)| format!("{axis} {value}"))
        .collect();
    parts.join(", ")
}

/// Whether something that the paper says of `named` is said of this arm: of the arm itself, or of what stands before its first `/`.
pub(super) fn is_arm(named: &str, arm: &str) -> bool {
    named == arm || arm.split('/').next() == Some(named)
}

/// Whether a point has all of these coordinates.
pub(super) fn is_at(wanted: &[(&str, &str)], at: &At) -> bool {
    wanted
        .iter()
        .all(|(axis, value)| at.get(*axis).is_some_and(|it| it == value))
}

impl Reported {
    /// Whether it is about this arm at this point.
    pub(super) fn is_of(&self, arm: &str, at: &At) -> bool {
        is_arm(self.arm, arm) && is_at(self.at, at)
    }
}

impl<'r> Shown<'r> {
    /// The figure with the lines of these runs; `None`, if they have none of it.
    pub(super) fn of(
        study: &'static Study,
        experiment: &'static Experiment,
        figure: &'static Figure,
        runs: &'r [Run],
    ) -> Option<Self> {
        let lines = latest(study, experiment, figure, runs);
        let left_out = left_out(study, experiment, figure, runs);
        if lines.is_empty() && left_out.is_empty() {
            return None;
        }
        let order = Order::of(experiment, figure, &lines);
        let mut shown = Self {
            study,
            experiment,
            figure,
            xs: order.xs.clone(),
            series: series(figure, &lines, &order),
            lines,
            left_out,
            unit: Unit::of(&figure.shows, 0.0),
        };
        shown.lines.sort_by_cached_key(|line| order.line(line));
        shown.unit = Unit::of(&figure.shows, shown.most());
        Some(shown)
    }

    /// The largest value, the paper's included.
    fn most(&self) -> f64 {
        let values = self.series.iter().flat_map(|it| &it.values);
        let paper = self.figure.reported.iter().map(|it| it.most);
        values.map(|it| it.value).chain(paper).fold(0.0, f64::max)
    }

    /// `mchale2012-1-figures-5-6`.
    pub(super) fn file_name(&self) -> String {
        format!(
            "{}-{}-{}",
            self.study.name, self.experiment.number, self.figure.shown_in
        )
    }

    /// Stacks that it has values of, ours first.
    pub(super) fn stacks(&self) -> Vec<Stack> {
        let mut stacks: Vec<Stack> = self.series.iter().map(|it| it.stack).collect();
        stacks.sort_unstable();
        stacks.dedup();
        stacks
    }

    /// What the paper reported of this arm at this point.
    pub(super) fn reported(&self, arm: &str, at: &At) -> Option<&'static Reported> {
        let mut reported = self.figure.reported.iter();
        reported.find(|it| it.is_of(arm, at))
    }
}

/// Lines of a figure: those of the last run that has the point with that stack, so that none is compared with another run's.
fn latest<'r>(
    study: &Study,
    experiment: &Experiment,
    figure: &Figure,
    runs: &'r [Run],
) -> Vec<&'r Line> {
    let mut last: BTreeMap<(&BTreeMap<_, _>, Stack), (usize, Vec<&Line>)> = BTreeMap::new();
    for (run, record) in records(runs) {
        let Record::Line(line) = record else { continue };
        if !is_of(
            study,
            experiment,
            figure,
            &line.study,
            line.experiment,
            &line.shown_in,
        ) {
            continue;
        }
        let entry = last
            .entry((&line.at, line.stack))
            .or_insert_with(|| (run, Vec::new()));
        if entry.0 != run {
            *entry = (run, Vec::new());
        }
        // A point that was begun twice in one run counts as it was measured last.
        entry
            .1
            .retain(|it| (&it.arm, it.quantity) != (&line.arm, line.quantity));
        entry.1.push(line);
    }
    last.into_values().flat_map(|(_, lines)| lines).collect()
}

fn left_out<'r>(
    study: &Study,
    experiment: &Experiment,
    figure: &Figure,
    runs: &'r [Run],
) -> Vec<&'r LeftOut> {
    let mut all: Vec<&LeftOut> = Vec::new();
    for (_, record) in records(runs) {
        let Record::LeftOut(it) = record else {
            continue;
        };
        let same = |other: &&LeftOut| {
            (&other.arm, other.stack, &other.left_out) == (&it.arm, it.stack, &it.left_out)
        };
        if is_of(
            study,
            experiment,
            figure,
            &it.study,
            it.experiment,
            &it.shown_in,
        ) && !all.iter().any(same)
        {
            all.push(it);
        }
    }
    all
}

fn records(runs: &[Run]) -> impl Iterator<Item = (usize, &Record)> {
    let runs = runs.iter().enumerate();
    runs.flat_map(|(number, run)| run.records.iter().map(move |record| (number, record)))
}

fn is_of(
    study: &Study,
    experiment: &Experiment,
    figure: &Figure,
    of_study: &str,
    of_experiment: u8,
    shown_in: &str,
) -> bool {
    of_study == study.name && of_experiment == experiment.number && shown_in == figure.shown_in
}

/// The order of everything in a figure: that of the study, as lines are in the order of a run, which is drawn by chance.
struct Order {
    x: &'static str,
    xs: Vec<String>,
    arms: Vec<String>,
    besides: Vec<(String, String)>,
}

impl Order {
    fn of(experiment: &Experiment, figure: &Figure, lines: &[&Line]) -> Self {
        let databases = lines.iter().filter_map(|it| it.at.get("source"));
        let mut databases: Vec<String> = databases.filter(|it| *it != "memory").cloned().collect();
        databases.sort_unstable();
        databases.dedup();
        let mut order = Self {
            x: figure.x,
            xs: Vec::new(),
            arms: Vec::new(),
            besides: Vec::new(),
        };
        for scale in [Scale::Full, Scale::Quick] {
            let points = (experiment.points)(&Scope {
                scale,
                stacks: Stack::ALL.to_vec(),
                databases: databases.clone(),
            });
            for point in points.iter().filter(|it| it.shown_in == figure.shown_in) {
                let at = point.at.iter();
                order.note(at.map(|(axis, value)| (*axis, value.as_str())));
                order.note_arms(point.arms.iter().map(|Arm { name, .. }| name.as_str()));
            }
        }
        for line in lines {
            order.note(
                line.at
                    .iter()
                    .map(|(axis, value)| (&**axis, value.as_str())),
            );
            order.note_arms([line.arm.as_str()].into_iter());
        }
        let present = |x: &String| lines.iter().any(|it| it.at.get(figure.x) == Some(x));
        order.xs.retain(present);
        if order.xs.iter().all(|x| x.parse::<f64>().is_ok()) {
            let number = |x: &String| x.parse().unwrap_or(0.0);
            order
                .xs
                .sort_by(|one, other| f64::total_cmp(&number(one), &number(other)));
        }
        order
    }

    fn note<'a>(&mut self, at: impl Iterator<Item = (&'a str, &'a str)>) {
        for (axis, value) in at {
            if axis == self.x {
                if !self.xs.iter().any(|it| it == value) {
                    self.xs.push(value.to_owned());
                }
            } else if !self.besides.iter().any(|it| it.0 == axis && it.1 == value) {
                self.besides.push((axis.to_owned(), value.to_owned()));
            }
        }
    }

    fn note_arms<'a>(&mut self, arms: impl Iterator<Item = &'a str>) {
        for arm in arms {
            if !self.arms.iter().any(|it| it == arm) {
                self.arms.push(arm.to_owned());
            }
        }
    }

    fn x(&self, x: &str) -> usize {
        place_of(&self.xs, |it| it == x)
    }

    fn series(
        &self,
        besides: &[(String, String)],
        arm: &str,
        stack: Stack,
    ) -> (Vec<usize>, usize, Stack) {
        let besides = besides
            .iter()
            .map(|one| place_of(&self.besides, |it| it == one))
            .collect();
        (besides, place_of(&self.arms, |it| it == arm), stack)
    }

    fn line(&self, line: &Line) -> (Vec<usize>, usize, usize, Stack, Quantity) {
        let (besides, arm, stack) = self.series(&besides(line, self.x), &line.arm, line.stack);
        (
            besides,
            self.x(along(line, self.x)),
            arm,
            stack,
            line.quantity,
        )
    }
}

fn place_of<T>(all: &[T], is: impl FnMut(&T) -> bool) -> usize {
    all.iter().position(is).unwrap_or(all.len())
}

fn besides(line: &Line, x: &str) -> Vec<(String, String)> {
    let at = line.at.iter().filter(|(axis, _)| **axis != x);
    at.map(|(axis, value)| (axis.to_string(), value.clone()))
        .collect()
}

fn along<'l>(line: &'l Line, x: &str) -> &'l str {
    line.at.get(x).map_or("", String::as_str)
}

/// The quantity that a figure shows, which figure of its samples, and the arm that others are compared with.
pub(super) fn shows(shows: &Shows) -> (Quantity, Estimate, Option<&'static str>) {
    match *shows {
        Shows::Itself(of, by) | Shows::Share { of, by } => (of, by, None),
        Shows::Allocation { of, .. } => (of, Estimate::Mean, None),
        Shows::Impact { of, by, baseline }
        | Shows::Increment { of, by, baseline }
        | Shows::Overhead { of, by, baseline }
        | Shows::Factor { of, by, baseline } => (of, by, Some(baseline)),
    }
}

fn series(figure: &'static Figure, lines: &[&Line], order: &Order) -> Vec<Series> {
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
            }),
        }
    }
    all.sort_by_cached_key(|it| order.series(&it.besides, &it.arm, it.stack));
    for series in &mut all {
        series.values.sort_by_cached_key(|it| order.x(&it.x));
    }
    all
}

/// For each stack, the share of the variation of all samples that each factor and all of them together explain, and what is left to errors.
/// A stack that lacks a combination of levels has none.
fn allocations(of: Quantity, factors: &[Factor], lines: &[&Line]) -> Vec<Series> {
    let mut stacks: Vec<Stack> = lines.iter().map(|it| it.stack).collect();
    stacks.sort_unstable();
    stacks.dedup();
    let names: Vec<&str> = factors.iter().map(|it| it.name).collect();
    let mut all = Vec::new();
    for stack in stacks {
        let of_stack = |line: &&&Line| line.stack == stack && line.quantity == of;
        let Some(responses) = responses(factors, lines.iter().filter(of_stack).copied()) else {
            continue;
        };
        let Ok(design) = Factorial::of(&names, &responses) else {
            continue;
        };
        let n = design.replications * responses.len();
        let effects = design.effects.iter();
        let shares = effects.map(|it| (it.factors.join(" × "), it.variation));
        let errors = [("errors".to_owned(), design.errors)];
        all.extend(shares.chain(errors).map(|(arm, variation)| Series {
            stack,
            arm,
            besides: Vec::new(),
            baseline: false,
            values: vec![Value {
                at: At::new(),
                x: String::new(),
                value: design.percent(variation),
                spread: None,
                floor: None,
                n,
            }],
        }));
    }
    all
}

/// The samples of each combination of levels, as many of each.
fn responses<'l>(
    factors: &[Factor],
    lines: impl Iterator<Item = &'l Line>,
) -> Option<Vec<Vec<f64>>> {
    let mut responses = vec![Vec::new(); 1 << factors.len()];
    for line in lines {
        let levels = factors.iter().enumerate();
        let high = levels.filter(|(_, factor)| match factor.high {
            Level::Arms(arms) => arms.contains(&line.arm.as_str()),
            Level::At(axis, value) => line.at.get(axis).is_some_and(|it| it == value),
        });
        let combination: usize = high.map(|(place, _)| 1 << place).sum();
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
        (Shows::Itself(..), _) => own,
        (Shows::Share { .. }, _) => {
            let same = lines
                .iter()
                .filter(|it| is_beside(it, line) && it.quantity == line.quantity);
            let whole: f64 = same.map(|it| estimate(&it.figures, by).0).sum();
            scaled(own, 100.0 / whole)
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

/// A ratio, and its interval: relative errors of independent measurements add as squares. The ratio of best times reaches to that of
/// medians. Of a line with itself it is 1 without a doubt.
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
    let spread = a_spread.zip(b_spread).map(|(a_ends, b_ends)| {
        let down = ((a - a_ends[0]) / a).hypot((b_ends[1] - b) / b);
        let up = ((a_ends[1] - a) / a).hypot((b - b_ends[0]) / b);
        [value * (1.0 - down), value * (1.0 + up)]
    });
    (value, spread)
}

/// What the figure would show, if of all security only private keys, digests and ciphers took time: those of the call beside all that a
/// plain call takes, or those of all clients at once in the best order, where that takes longer.
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
    // Which order is the best is known of the mean only.
    let together = of(Quantity::FloorTogether).filter(|_| by == Estimate::Mean);
    let together = together.unwrap_or_default();
    let base = baseline.and_then(|arm| {
        let mut same = lines.iter().filter(|it| is_beside(it, line));
        same.find(|it| it.quantity == quantity && it.arm == arm)
            .map(|it| estimate(&it.figures, by).0)
    });
    match (&figure.shows, base) {
        (Shows::Itself(_, Estimate::Deviation), _) => None,
        (Shows::Itself(..), _) => Some(floor.max(together)),
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
