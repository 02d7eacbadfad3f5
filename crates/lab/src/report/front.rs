//! The first screen: what a call costs by mechanism, what to choose, and whether the machine was
//! quiet enough to say so.
//!
//! The rule kept here: every number is of lines of one run, or lies on the straight line between
//! two of its sizes.

use super::counted;
use super::number::{Unit, number};
use super::table::{Cell, Table};
use super::{Report, Run};
use crate::studies;
use crate::study::{Line, Quantity, Stack};

/// What the first screen says.
pub(super) struct Front {
    /// Its anchor.
    pub(super) id: &'static str,
    /// Its title.
    pub(super) title: &'static str,
    /// What to choose.
    pub(super) choices: Vec<String>,
    /// What a call costs.
    pub(super) costs: Table,
    /// Over which load.
    pub(super) note: String,
}

/// The sizes that are told, in characters of an echo, and their names.
const SIZES: [(f64, &str); 3] = [(1e3, "1 kB"), (2e4, "20 kB"), (1e6, "1 MB")];
/// The size and the number of calls that a choice is told for.
const CHOSEN: (f64, &str, f64) = (2e4, "20 kB", 50.0);
/// Mechanisms, and what each gives.
const MECHANISMS: [(&str, &str, &str); 8] = [
    ("none", "no security", "nothing: the plain call"),
    (
        "https",
        "TLS",
        "between neighbours only; connections are kept",
    ),
    ("username", "password", "who calls; send it over TLS only"),
    ("sign", "signature", "integrity, who signed"),
    ("encrypt", "encryption", "confidentiality; not who sent it"),
    (
        "sign-encrypt",
        "sign, then encrypt",
        "integrity, who signed, confidentiality",
    ),
    (
        "encrypt-sign",
        "encrypt, then sign",
        "the same; what was signed is cipher text",
    ),
    (
        "secure-conversation",
        "conversation",
        "the same, with keys of one handshake",
    ),
];
/// Mechanisms that sign and encrypt in the message.
pub(super) const BOTH: [&str; 3] = ["sign-encrypt", "encrypt-sign", "secure-conversation"];
/// Figures whose lines are times of an echo, the coordinate that says its size, and sizes that have
/// names.
const FIGURES: [(&str, u8, &str, &str); 3] = [
    ("novakouski2010", 2, "figures-2-3-table-3", "characters"),
    ("novakouski2010", 10, "large-payloads", "characters"),
    ("shopov2007", 1, "table-1", "call"),
];
const CALLS: [(&str, f64); 3] = [("echo-1-kB", 1e3), ("echo-100-kB", 1e5), ("echo-1-MB", 1e6)];

/// A time, and where it lies with 95 % confidence, µs.
#[derive(Clone, Copy)]
pub(super) struct Time {
    pub(super) value: f64,
    ends: [f64; 2],
}

impl Time {
    pub(super) fn of(line: &Line) -> Self {
        Self {
            value: line.figures.mean,
            ends: line.figures.mean_interval,
        }
    }

    /// So far on the way to another time.
    fn towards(self, other: Self, share: f64) -> Self {
        let between = |from: f64, to: f64| from + (to - from) * share;
        Self {
            value: between(self.value, other.value),
            ends: [0, 1].map(|end| between(self.ends[end], other.ends[end])),
        }
    }

    pub(super) fn plus(self, more: f64) -> Self {
        Self {
            value: self.value + more,
            ends: self.ends.map(|end| end + more),
        }
    }
}

/// What the first screen says; `None`, if no run has times of echoes on our stack.
pub(super) fn front(report: &Report<'_>) -> Option<Front> {
    let lines: Vec<Vec<&Line>> = FIGURES.map(|it| lines(report.runs, it)).into();
    let plain = |size| time(&lines, "none", size);
    // Of whatever has neither a mechanism nor a size there is nothing to tell.
    SIZES.iter().find_map(|it| plain(it.0))?;
    let start = handshake(report.runs, &lines);
    // One unit for the whole table, that of its largest time.
    let all = MECHANISMS.iter().flat_map(|mechanism| {
        let times = SIZES
            .iter()
            .filter_map(|it| time(&lines, mechanism.0, it.0));
        times.map(|it| it.0.value).collect::<Vec<_>>()
    });
    let unit = Unit::of_quantity(Quantity::Time, all.fold(0.0, f64::max));
    let head = ["mechanism", "gives"].into_iter();
    let head = head.chain(SIZES.map(|it| it.1)).map(Cell::text);
    let rows = MECHANISMS.into_iter().filter_map(|(arm, name, gives)| {
        let cells = SIZES.map(|(size, _)| {
            let own = time(&lines, arm, size);
            own.map(|(own, plain)| cost(own, plain, &unit, arm == "none"))
        });
        cells.iter().any(Option::is_some).then(|| {
            let cells = cells.map(|it| it.unwrap_or_else(|| Cell::number("–")));
            let mut row = vec![Cell::name(name), Cell::text(gives)];
            row.extend(cells);
            row
        })
    });
    let note = format!(
        "Mean time of an echo of so many characters both ways, one client that calls as soon as its last answer is there, both gateways and \
         the service on this machine. Sizes that were not measured lie on straight lines between their neighbours. Beside it, as a multiple \
         of the plain call.{}",
        match start {
            Some(start) => format!(
                " A conversation begins with a handshake of {}, which is not in the table.",
                told(start)
            ),
            None => String::new(),
        }
    );
    Some(Front {
        id: "costs",
        title: "What does a call cost, and what shall I use?",
        choices: choice(&lines, start).into_iter().collect(),
        costs: Table {
            head: head.collect(),
            rows: rows.collect(),
        },
        note,
    })
}

fn lines<'r>(
    runs: &'r [Run],
    (study, experiment, figure, _): (&str, u8, &str, &str),
) -> Vec<&'r Line> {
    let Some(study) = studies::named(study) else {
        return Vec::new();
    };
    let Some(experiment) = study.experiment(experiment) else {
        return Vec::new();
    };
    let mut lines = counted::latest(study, experiment, figure, runs);
    lines.retain(|it| it.stack == Stack::Soapstone && it.quantity == Quantity::Time);
    lines
}

/// The time of an arm at this size, and that of the plain call of the same figure.
fn time(lines: &[Vec<&Line>], arm: &str, size: f64) -> Option<(Time, Time)> {
    let mut figures = FIGURES.iter().zip(lines);
    figures.find_map(|((_, _, _, axis), lines)| {
        let own = at(lines, axis, arm, size)?;
        Some((own, at(lines, axis, "none", size)?))
    })
}

/// The time of an arm at this size, on the straight line between its neighbours; nothing beyond the
/// smallest and the largest size.
fn at(lines: &[&Line], axis: &str, arm: &str, size: f64) -> Option<Time> {
    let of_arm = lines
        .iter()
        .filter(|it| it.arm.split('/').next() == Some(arm));
    let mut points: Vec<(f64, Time)> = of_arm
        .filter_map(|line| {
            let found = line.at.get(axis)?;
            let named = CALLS.iter().find(|it| it.0 == found).map(|it| it.1);
            Some((named.or_else(|| found.parse().ok())?, Time::of(line)))
        })
        .collect();
    points.sort_by(|one, other| f64::total_cmp(&one.0, &other.0));
    let above = points.iter().position(|it| it.0 >= size)?;
    let (at, time) = points[above];
    if at == size {
        return Some(time);
    }
    let (from, before) = *points.get(above.checked_sub(1)?)?;
    Some(before.towards(time, (size - from) / (at - from)))
}

/// What the handshake of a conversation takes: the first call of a later client above a later call
/// of the same size.
fn handshake(runs: &[Run], lines: &[Vec<&Line>]) -> Option<f64> {
    let study = studies::named("novakouski2010")?;
    let all = counted::latest(study, study.experiment(3)?, "figure-4-later", runs);
    let is_first = |it: &&&Line| {
        it.stack == Stack::Soapstone
            && it.quantity == Quantity::Newcomer
            && it.arm.starts_with("secure-conversation")
            && it.at.get("payload").is_some_and(|it| it == "Echo-12")
    };
    let first = all.iter().find(is_first)?;
    let later = at(&lines[0], "characters", "secure-conversation", 12.0)?;
    Some((first.figures.mean - later.value).max(0.0))
}

pub(super) fn cost(own: Time, plain: Time, unit: &Unit, is_plain: bool) -> Cell {
    let cell = Cell::number(unit.with(own.value));
    if is_plain {
        cell
    } else {
        cell.with_small(format!("{} ×", number(own.value / plain.value)))
    }
}

/// A time in the unit that suits it.
pub(super) fn told(time: f64) -> String {
    let unit = Unit::of_quantity(Quantity::Time, time);
    unit.with(time)
}

/// One sentence of choice: which mechanism that signs and encrypts takes least at the chosen load,
/// and which are as good.
fn choice(lines: &[Vec<&Line>], start: Option<f64>) -> Option<String> {
    let (size, name, calls) = CHOSEN;
    let all: Vec<(&str, Time, Time)> = BOTH
        .into_iter()
        .filter_map(|arm| {
            let (own, plain) = time(lines, arm, size)?;
            let own = match arm {
                "secure-conversation" => own.plus(start? / calls),
                _ => own,
            };
            Some((arm, own, plain))
        })
        .collect();
    let (_, _, plain) = *all.first()?;
    let all = all.iter().map(|(arm, own, _)| (*arm, *own)).collect();
    let mut text = chosen(
        &format!("For {name} requests, {calls} a conversation"),
        all,
        plain,
    )?;
    if start.is_none()
        && let Some((steady, _)) = time(lines, "secure-conversation", size)
    {
        text.push_str(&format!(
            " secure-conversation takes {} once its handshake is done, which no run has measured (novakouski2010/3).",
            told(steady.value)
        ));
    }
    if let Some((tls, _)) = time(lines, "https", size) {
        text.push_str(&format!(
            " TLS takes {}, where no intermediary has to be passed.",
            told(tls.value)
        ));
    }
    Some(text)
}

/// A choice among mechanisms that sign and encrypt in the message: the one that takes least, those
/// that are as good, and what the others take.
pub(super) fn chosen(load: &str, mut all: Vec<(&str, Time)>, plain: Time) -> Option<String> {
    all.sort_by(|one, other| f64::total_cmp(&one.1.value, &other.1.value));
    let ((best, least), others) = all.split_first()?;
    let mut text = format!(
        "{load}, that must be signed and encrypted in the message: choose {best}, {} a call, {} × the plain call",
        told(least.value),
        number(least.value / plain.value)
    );
    for (arm, time) in others {
        let beside = if time.ends[0] <= least.ends[1] {
            format!("; {arm} is as good within the error")
        } else {
            format!(
                "; {arm} takes {}, {} × as long",
                told(time.value),
                number(time.value / least.value)
            )
        };
        text.push_str(&beside);
    }
    text.push('.');
    Some(text)
}

/// From which share of the median on the 95th percentile of plain calls is noise.
const NOISE: f64 = 0.3;
/// The least samples of a plain call that tell of noise.
const SAMPLES: usize = 5;

/// From which share of stolen processor time on a run is noise.
const STOLEN: f64 = 0.02;

/// The share of processor time that was stolen during a run, each point by its length.
fn stolen(run: &Run) -> Option<f64> {
    let points = run.records.iter().filter_map(|record| match record {
        crate::study::Record::Done(done) => Some((done.seconds, done.stolen?)),
        _ => None,
    });
    let (seconds, stolen) = points.fold((0.0, 0.0), |(all, stolen), (seconds, share)| {
        (all + seconds, stolen + seconds * share)
    });
    (seconds > 0.0).then(|| stolen / seconds)
}

/// What not to trust, if the machine was busy when a run began or plain calls spread widely: the
/// controls that every experiment repeats.
pub(super) fn noise(runs: &[Run]) -> Option<String> {
    let mut reasons = Vec::new();
    for run in runs {
        let manifest = run.manifest.as_ref();
        let load = manifest.and_then(|it| it["load"].as_str()).and_then(|it| {
            let first = it.split_whitespace().next();
            first.and_then(|it| it.parse::<f64>().ok())
        });
        let processors = manifest.and_then(|it| it["machine"]["processors"].as_f64());
        if let Some((load, processors)) = load.zip(processors)
            && load > processors / 2.0
        {
            reasons.push(format!(
                "the load was {} on {processors} processors when {} began",
                number(load),
                run.name
            ));
        }
    }
    for run in runs {
        if let Some(stolen) = stolen(run).filter(|it| *it > STOLEN) {
            reasons.push(format!(
                "the hypervisor gave {} % of the processors' time to others while {} went on",
                number(100.0 * stolen),
                run.name
            ));
        }
    }
    let mut spreads: Vec<f64> = runs
        .iter()
        .flat_map(|run| &run.records)
        .filter_map(|record| {
            let crate::study::Record::Line(line) = record else {
                return None;
            };
            let is_control = ["none", "direct"].contains(&line.arm.as_str())
                && line.quantity == Quantity::Time
                && line.figures.n >= SAMPLES;
            is_control.then(|| line.figures.p95 / line.figures.median - 1.0)
        })
        .collect();
    spreads.sort_by(f64::total_cmp);
    if let Some(spread) = spreads.get(spreads.len() / 2).filter(|it| **it > NOISE) {
        reasons.push(format!(
            "of half of the {} plain calls the 95th percentile is {} % or more above the median",
            spreads.len(),
            number(100.0 * spread)
        ));
    }
    (!reasons.is_empty()).then(|| {
        format!(
            "The machine was noisy: {}. Trust sizes and what intervals tell apart; do not trust single values, ratios near 1 and what is within \
             the error.",
            reasons.join("; ")
        )
    })
}
