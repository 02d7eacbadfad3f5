//! Every value of every figure, recomputed from the samples by other code.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use soapstone_lab::papers::Reported;
use soapstone_lab::studies;
use soapstone_lab::study::{
    Design, Estimate, Experiment, Factor, Figure, Level, OwnCalls, Quantity, Scale, Scope, Shows,
    Stack, Study,
};

use super::estimates::{Estimated, estimated, ratio};
use super::read::{Chance, between, line, number, values};
use super::{page_of, run};

/// Samples of each line.
pub(super) const SAMPLES: usize = 7;

/// Stack, arm and coordinates.
pub(super) type Place = (String, String, BTreeMap<String, String>);

/// Samples of a figure, by quantity.
pub(super) type Raw = BTreeMap<(Place, &'static str), Vec<f64>>;

/// What a figure shows: its quantity, the figure of its samples, and the arm that others are
/// compared with.
fn asked(shows: &Shows) -> Option<(Quantity, Estimate, Option<&'static str>)> {
    match *shows {
        Shows::Itself(of, by)
        | Shows::Share { of, by, .. }
        | Shows::Portion { of, by, .. }
        | Shows::Parts { of, by, .. } => Some((of, by, None)),
        Shows::Allocation { of, .. } => Some((of, Estimate::Mean, None)),
        Shows::Impact { of, by, baseline }
        | Shows::Increment { of, by, baseline }
        | Shows::Overhead { of, by, baseline }
        | Shows::Added { of, by, baseline }
        | Shows::Factor { of, by, baseline }
        | Shows::Modelled {
            of, by, baseline, ..
        } => Some((of, by, Some(baseline))),
        Shows::Drawn { .. } => None,
    }
}

/// A glance at two stacks.
pub(super) fn glance() -> Scope {
    Scope {
        scale: Scale::Quick,
        stacks: vec![Stack::Soapstone, Stack::Cxf],
        databases: vec!["sqlite".to_owned()],
        own: OwnCalls::default(),
        design: Design::default(),
    }
}

/// Samples for every arm at every point of a figure, on two stacks.
pub(super) fn samples(
    study: &Study,
    experiment: &Experiment,
    figure: &Figure,
    chance: &mut Chance,
) -> Raw {
    let mut raw = Raw::new();
    let Some((quantity, _, baseline)) = asked(&figure.shows) else {
        return raw;
    };
    let points = (experiment.points)(&glance());
    for point in points.iter().filter(|it| it.shown_in == figure.lines_of()) {
        let at: BTreeMap<String, String> = point
            .at
            .iter()
            .map(|(axis, value)| ((*axis).to_owned(), value.clone()))
            .collect();
        let mut arms: BTreeSet<(String, String)> = point
            .arms
            .iter()
            .map(|it| (it.call.stack.to_string(), it.name.clone()))
            .collect();
        if arms.is_empty() {
            // What measures by its own means says its arms as it goes.
            let reported = study.reported(figure);
            let reported = reported.iter().map(|it| it.arm);
            let among = match figure.shows {
                Shows::Share { among, .. } => among,
                _ => &[],
            };
            let names = reported
                .chain(baseline)
                .chain(among.iter().copied())
                .chain(["one/way", "another"]);
            arms.extend(names.map(|it| ("soapstone".to_owned(), it.to_owned())));
        }
        for (stack, arm) in arms {
            let place = (stack, arm.clone(), at.clone());
            let middle = 10_f64.powf(2.0 + 3.0 * chance.share());
            let mut add = |quantity: Quantity, samples: Vec<f64>| {
                raw.insert((place.clone(), quantity.name()), samples);
            };
            add(quantity, chance.samples(SAMPLES, middle, 0.3));
            if let Shows::Portion { whole, .. } = figure.shows {
                add(whole, chance.samples(SAMPLES, 3.0 * middle, 0.1));
            }
            if arm.contains('/') && quantity == Quantity::Time {
                add(Quantity::Floor, vec![middle * 0.5]);
                add(Quantity::FloorTogether, vec![middle * chance.share()]);
            }
        }
    }
    raw
}

pub(super) fn lines(
    study: &Study,
    experiment: &Experiment,
    figure: &Figure,
    raw: &Raw,
) -> Vec<Value> {
    let of = (study.name, experiment.number, figure.lines_of());
    let lines = raw.iter().map(|(((stack, arm, at), quantity), samples)| {
        line(of, &json!(at), (stack, arm), quantity, samples)
    });
    lines.collect()
}

/// What a figure is to show of an arm.
fn expected(figure: &Figure, raw: &Raw, place: &Place) -> Option<(Estimated, Option<f64>)> {
    let (quantity, by, baseline) = asked(&figure.shows)?;
    let of = |arm: &str, quantity: Quantity| {
        let key = (
            (place.0.clone(), arm.to_owned(), place.2.clone()),
            quantity.name(),
        );
        raw.get(&key)
    };
    let own = of(&place.1, quantity)?;
    let base = baseline.and_then(|arm| of(arm, quantity));
    let itself = baseline == Some(place.1.as_str());
    let of_base = |above: &[f64], below: &[f64]| match itself {
        true => (1.0, None),
        false => ratio(above, below, by),
    };
    let map = |it: Estimated, to: fn(f64) -> f64| (to(it.0), it.1.map(|ends| ends.map(to)));
    let value = match figure.shows {
        Shows::Itself(..) | Shows::Parts { .. } => estimated(own, by),
        Shows::Share { among, .. } => {
            let same = raw.iter().filter(|((it, name), _)| {
                (&it.0, &it.2) == (&place.0, &place.2)
                    && *name == quantity.name()
                    && among.contains(&it.1.as_str())
            });
            let whole: f64 = same.map(|it| estimated(it.1, by).0).sum();
            let (value, ends) = estimated(own, by);
            let share = |it: f64| it / whole * 100.0;
            (share(value), ends.map(|it| it.map(share)))
        }
        Shows::Impact { .. } | Shows::Modelled { .. } => map(of_base(own, base?), |it| 100.0 * it),
        Shows::Increment { .. } => map(of_base(own, base?), |it| 100.0 * it - 100.0),
        Shows::Overhead { .. } => {
            let (value, ends) = map(of_base(base?, own), |it| 100.0 - 100.0 * it);
            (value, ends.map(|[most, least]| [least, most]))
        }
        Shows::Factor { .. } => of_base(base?, own),
        Shows::Portion { whole, .. } => map(ratio(own, of(&place.1, whole)?, by), |it| 100.0 * it),
        Shows::Added { .. } => {
            let ((own, own_ends), (base, base_ends)) = (estimated(own, by), estimated(base?, by));
            let ends = own_ends.zip(base_ends).map(|(a, b)| {
                let half = |a: f64, b: f64| ((a - own).powi(2) + (b - base).powi(2)).sqrt();
                [own - base - half(a[0], b[1]), own - base + half(a[1], b[0])]
            });
            (own - base, ends)
        }
        Shows::Allocation { .. } | Shows::Drawn { .. } => return None,
    };
    let alone = of(&place.1, Quantity::Floor).map(|it| it[0]);
    let together = of(&place.1, Quantity::FloorTogether).map(|it| it[0]);
    let together = together.filter(|_| by == Estimate::Mean).unwrap_or(0.0);
    let floor = alone.and_then(|alone| match figure.shows {
        Shows::Itself(_, Estimate::Deviation) => None,
        Shows::Itself(..) | Shows::Parts { .. } => Some(alone.max(together)),
        Shows::Impact { .. } | Shows::Increment { .. } => {
            let base = estimated(base?, by).0;
            let impact = 100.0 * together.max(base + alone) / base;
            let less = matches!(figure.shows, Shows::Increment { .. });
            Some(impact - if less { 100.0 } else { 0.0 })
        }
        _ => None,
    });
    Some((value, floor))
}

/// Shares of the variation of a design by its contrasts, for one stack.
fn shares(of: &[Factor], raw: &Raw, stack: &str) -> BTreeMap<String, Estimated> {
    let cells = 1_usize << of.len();
    let mut samples = vec![Vec::new(); cells];
    for ((place, _), found) in raw.iter().filter(|it| it.0.0.0 == stack) {
        let mut cell = 0;
        for (bit, factor) in of.iter().enumerate() {
            let is_high = match factor.high {
                Level::Arms(arms) => arms.contains(&place.1.as_str()),
                Level::At(axis, value) => place.2.get(axis).is_some_and(|it| it == value),
            };
            cell |= usize::from(is_high) << bit;
        }
        samples[cell].clone_from(found);
    }
    let mean = |of: &[f64]| of.iter().sum::<f64>() / of.len() as f64;
    let all: Vec<f64> = samples.concat();
    let total: f64 = all.iter().map(|it| (it - mean(&all)).powi(2)).sum();
    let errors: f64 = samples
        .iter()
        .flat_map(|of| of.iter().map(|it| (it - mean(of)).powi(2)))
        .sum();
    // The standard error of a contrast of means, by the errors within combinations; t of 48 degrees
    // of freedom for eight of seven samples.
    assert_eq!((cells, SAMPLES), (8, 7));
    let half = 2.010_635 * (errors / 48.0 * cells as f64 / SAMPLES as f64).sqrt();
    let mut shares = BTreeMap::new();
    for effect in 1..cells {
        let names = of
            .iter()
            .enumerate()
            .filter(|(bit, _)| effect >> bit & 1 == 1);
        let names: Vec<&str> = names.map(|it| it.1.name).collect();
        let contrast: f64 = (0..cells)
            .map(|cell| {
                let lows = (effect & !cell).count_ones();
                let sign = if lows % 2 == 0 { 1.0 } else { -1.0 };
                sign * mean(&samples[cell])
            })
            .sum();
        let share =
            |contrast: f64| 100.0 * SAMPLES as f64 * contrast * contrast / cells as f64 / total;
        let size = contrast.abs();
        let ends = [share((size - half).max(0.0)), share(size + half)];
        shares.insert(names.join(" × "), (share(contrast), Some(ends)));
    }
    shares.insert("errors".to_owned(), (100.0 * errors / total, None));
    shares
}

fn near(told: &str, expected: f64, what: &str) {
    let read: f64 = told.parse().unwrap_or_else(|_| panic!("{what}: {told}"));
    let error = (read - expected).abs();
    // The tables of t have seven digits, and a percentage near zero is the difference of two
    // numbers near a hundred.
    assert!(
        error <= expected.abs() * 1e-5 + 1e-5,
        "{what}: told {told}, expected {expected}"
    );
}

/// Coordinates in a row of CSV.
fn at(row: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    const OTHERS: [&str; 14] = [
        "study",
        "experiment",
        "figure",
        "stack",
        "arm",
        "value",
        "least",
        "most",
        "unit",
        "n",
        "floor",
        "paper_least",
        "paper_most",
        "paper_place",
    ];
    let axes = row
        .iter()
        .filter(|it| !OTHERS.contains(&it.0.as_str()) && !it.1.is_empty());
    axes.map(|it| (it.0.clone(), it.1.clone())).collect()
}

/// Whether all of a figure is as it is to be.
fn examine(study: &Study, experiment: &Experiment, figure: &Figure, raw: &Raw) {
    let runs = [run("one", &lines(study, experiment, figure, raw))];
    let name = format!("{}-{}-{}", study.name, experiment.number, figure.shown_in);
    let told = values(&runs, &name);
    assert!(!told.is_empty(), "{name}");
    let mut shown = BTreeSet::new();
    let mut all: BTreeMap<Place, Estimated> = BTreeMap::new();
    for row in &told {
        let place: Place = (row["stack"].clone(), row["arm"].clone(), at(row));
        let what = format!("{name}: {place:?}");
        if let Shows::Allocation { factors, .. } = figure.shows {
            let (value, ends) = shares(factors, raw, &place.0)[&place.1];
            near(&row["value"], value, &what);
            match ends {
                Some([least, most]) => {
                    near(&row["least"], least, &what);
                    near(&row["most"], most, &what);
                }
                None => assert_eq!(row["least"], "", "{what}"),
            }
            all.insert(place, (value, ends));
            continue;
        }
        let ((value, ends), floor) =
            expected(figure, raw, &place).expect("a place that was measured");
        near(&row["value"], value, &what);
        let [least, most] = ends.map_or([None; 2], |it| it.map(Some));
        for (column, expected) in [("least", least), ("most", most), ("floor", floor)] {
            match expected {
                Some(expected) => near(&row[column], expected, &format!("{what}, {column}")),
                None => assert_eq!(row[column], "", "{what}, {column}"),
            }
        }
        shown.insert(place.clone());
        all.insert(place, (value, ends));
    }
    if !matches!(figure.shows, Shows::Allocation { .. }) {
        let quantity = asked(&figure.shows).expect("a quantity").0;
        let of = raw.keys().filter(|it| it.1 == quantity.name());
        let mut measured: BTreeSet<Place> = of.map(|it| it.0.clone()).collect();
        if let Shows::Share { among, .. } = figure.shows {
            measured.retain(|it| among.contains(&it.1.as_str()));
        }
        assert_eq!(shown, measured, "{name}");
    }
    let page = page_of(&runs);
    let article = between(&page, &format!("<article id=\"{name}\">"), "</article>");
    in_the_table(article, &told, &name);
    what_held(article, &study.reported(figure), &all, &name);
}

/// The table has the same values, with three digits at least.
fn in_the_table(article: &str, told: &[BTreeMap<String, String>], name: &str) {
    let table = between(article, "<table class=\"values\">", "</table>");
    let divisor = match between(table, "<th scope=\"col\">", "<").split(' ').next() {
        Some("ms" | "kB") => 1e3,
        Some("s" | "MB") => 1e6,
        _ => 1.0,
    };
    let cells = table.split("<td class=\"number\">").skip(1);
    let cells = cells.map(|it| it.split(['<']).next().unwrap_or_default());
    let mut read: Vec<f64> = cells
        .filter(|it| *it != "–")
        .map(|it| divisor * number(it))
        .collect();
    let mut values: Vec<f64> = told
        .iter()
        .map(|it| it["value"].parse().expect("a number"))
        .collect();
    read.sort_by(f64::total_cmp);
    values.sort_by(f64::total_cmp);
    assert_eq!(read.len(), values.len(), "{name}");
    let largest = values.iter().fold(0.0_f64, |most, it| most.max(it.abs()));
    for (read, value) in read.iter().zip(&values) {
        let error = (read - value).abs();
        assert!(
            error <= value.abs() * 0.006 + largest * 1e-5,
            "{name}: {read} {value}"
        );
    }
}

/// *What held* says below, within, within our interval, above or partly as the values and their
/// intervals lie.
fn what_held(article: &str, reported: &[Reported], all: &BTreeMap<Place, Estimated>, name: &str) {
    let of_it = |reported: &Reported, place: &Place| {
        let arm = place.1.split('/').next() == Some(reported.arm) || place.1 == reported.arm;
        let mut at = reported.at.iter();
        let fits = |(axis, value): &(&str, &str)| {
            let found = place.2.get(*axis);
            match value.strip_prefix('!') {
                Some(value) => found.is_some_and(|it| it != value),
                None => found.is_some_and(|it| it == value),
            }
        };
        arm && at.all(fits)
    };
    let mut expected = Vec::new();
    for reported in reported {
        for stack in ["soapstone", "cxf"] {
            let values = all
                .iter()
                .filter(|it| it.0.0 == stack && of_it(reported, it.0));
            let values: Vec<Estimated> = values.map(|it| *it.1).collect();
            if values.is_empty() {
                continue;
            }
            let [least, most] = reported.range;
            let lies = values.iter().map(|(value, ends)| {
                let [low, high] = ends.unwrap_or([*value; 2]);
                match *value {
                    value if (least..=most).contains(&value) => "within",
                    _ if low <= most && high >= least => "within our interval",
                    value if value < least => "below",
                    _ => "above",
                }
            });
            let lies: BTreeSet<&str> = lies.collect();
            let lies: Vec<&str> = lies.into_iter().collect();
            expected.push(match lies.as_slice() {
                [only] => *only,
                ["within", "within our interval"] => "within our interval",
                _ => "partly",
            });
        }
    }
    let told: Vec<&str> = if expected.is_empty() {
        assert!(!article.contains("class=\"held\""), "{name}");
        Vec::new()
    } else {
        let table = between(article, "<table class=\"held\">", "</table>");
        let words = table.split("<td class=\"number\">").skip(1);
        let words = words.filter_map(|it| it.split("</td>").next()?.split("<small>").nth(1));
        words.filter_map(|it| it.split('<').next()).collect()
    };
    assert_eq!(told, expected, "{name}");
}

#[test]
fn every_figure_of_every_study_shows_what_its_samples_say() {
    let mut chance = Chance(0x9e37_79b9_7f4a_7c15);
    let mut kinds = BTreeSet::new();
    for _ in 0..2 {
        for study in studies::ALL {
            for experiment in study.experiments {
                for figure in experiment.figures {
                    let raw = samples(study, experiment, figure, &mut chance);
                    if !raw.is_empty() {
                        examine(study, experiment, figure, &raw);
                        let kind = format!("{:?}", figure.shows);
                        kinds.insert(kind.split([' ', '(']).next().unwrap_or_default().to_owned());
                    }
                }
            }
        }
    }
    let all = [
        "Added",
        "Allocation",
        "Factor",
        "Impact",
        "Increment",
        "Itself",
        "Modelled",
        "Overhead",
        "Parts",
        "Portion",
        "Share",
    ];
    assert_eq!(kinds, all.map(str::to_owned).into());
}
