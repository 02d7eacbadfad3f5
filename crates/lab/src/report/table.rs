//! The tables of the report, as rows of cells that HTML and Markdown write each in its way.
//!
//! The rule kept here: a cell is text; who writes it escapes it.

mod conclusions;

pub(super) use conclusions::{conclusions, counted, drawn};

use super::claims::{self, Held};
use super::number::{Unit, tick};
use super::shown::{Series, Shown, place};
use super::{Report, absent, words};
use crate::statistics::NORMAL;
use crate::study::{Line, Shows, Stack};

/// A table.
pub(super) struct Table {
    /// Names of columns.
    pub(super) head: Vec<Cell>,
    /// Rows; as many cells as there are columns.
    pub(super) rows: Vec<Vec<Cell>>,
}

/// A cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Cell {
    /// What it says.
    pub(super) text: String,
    /// What stands under it in small print.
    pub(super) small: String,
    /// Names a row, or is a number.
    pub(super) kind: Kind,
}

/// What a cell is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// Words.
    #[default]
    Text,
    /// Names its row.
    Name,
    /// A number.
    Number,
    /// A goal that is met.
    Good,
    /// A goal that is not.
    Bad,
}

impl Cell {
    fn new(kind: Kind, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            kind,
            small: String::new(),
        }
    }

    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::new(Kind::Text, text)
    }

    pub(super) fn name(text: impl Into<String>) -> Self {
        Self::new(Kind::Name, text)
    }

    pub(super) fn number(text: impl Into<String>) -> Self {
        Self::new(Kind::Number, text)
    }

    pub(super) fn with_small(self, small: impl Into<String>) -> Self {
        Self {
            small: small.into(),
            ..self
        }
    }
}

const NOTHING: &str = "–";

/// The headline claims: what the paper says, every stack today, and our goal.
pub(super) fn claims(report: &Report<'_>) -> Option<Table> {
    if report.headlines.is_empty() {
        return None;
    }
    let absent: Vec<Vec<Stack>> = report
        .headlines
        .iter()
        .map(|(_, place)| absent::in_figure(&report.shown[*place], report.runs))
        .collect();
    let measured = report.headlines.iter().flat_map(|it| &it.0.measured);
    let mut others: Vec<Stack> = measured
        .map(|it| it.0)
        .chain(absent.iter().flatten().copied())
        .filter(|it| *it != Stack::Soapstone)
        .collect();
    others.sort_unstable();
    others.dedup();
    // Ours comes first, so that it is seen on a phone.
    let mut head = ["claim", "soapstone", "the paper"]
        .map(str::to_owned)
        .to_vec();
    head.extend(others.iter().map(|stack| format!("{stack} today")));
    head.extend(["goal", "met", "floor"].map(str::to_owned));
    let head = head.into_iter().map(Cell::text).collect();
    let rows = report.headlines.iter().zip(&absent);
    let rows = rows.map(|((headline, place), absent)| {
        let shown = &report.shown[*place];
        let shows = &shown.figure.shows;
        let claim = headline.claim;
        let unit = claim_unit(shown, claim.paper, &headline.measured);
        let of = |stack: Stack| {
            let found = headline.measured.iter().find(|it| it.0 == stack);
            Cell::number(match found {
                Some(it) => unit.range(it.1),
                None if absent.contains(&stack) => "absent".to_owned(),
                None => NOTHING.to_owned(),
            })
        };
        let stack = headline.study.paper.map_or("", |paper| paper.stack);
        let mut row = vec![
            Cell::name(words::sentence(claim.says)).with_small(format!(
                "{}, {}, {}",
                words::short_title(headline.study),
                words::places(claim.shown_in),
                claim.arm
            )),
            of(Stack::Soapstone),
            Cell::number(unit.range(claim.paper)).with_small(stack),
        ];
        row.extend(others.iter().map(|stack| of(*stack)));
        let most = match shows {
            Shows::Factor { .. } => "at least",
            _ => "at most",
        };
        row.push(Cell::number(match claim.goal {
            Some(goal) => format!("{most} {}", unit.with(goal)),
            None => NOTHING.to_owned(),
        }));
        row.push(match headline.is_met(shows) {
            Some(true) => Cell::new(Kind::Good, "yes"),
            Some(false) if headline.is_out_of_reach(shows) => {
                Cell::new(Kind::Bad, "no").with_small("the floor alone is above it")
            }
            Some(false) => Cell::new(Kind::Bad, "no"),
            None => Cell::text(NOTHING),
        });
        let floor = headline.floor.map(|floor| unit.with(floor));
        row.push(Cell::number(floor.unwrap_or(NOTHING.to_owned())));
        row
    });
    Some(Table {
        head,
        rows: rows.collect(),
    })
}

fn claim_unit(shown: &Shown<'_>, paper: [f64; 2], measured: &[(Stack, [f64; 2])]) -> Unit {
    let all = measured.iter().map(|it| it.1[1]).chain([paper[1]]);
    Unit::of(&shown.figure.shows, all.fold(0.0, f64::max))
}

/// What the figure shows: a row for each place along the axis and a column for each series, or the
/// other way round, whichever is longer; a row for each series of what is drawn from another
/// figure's lines.
pub(super) fn values(shown: &Shown<'_>) -> Table {
    let names: Vec<Cell> = shown
        .series
        .iter()
        .map(|it| series_name(shown, it))
        .collect();
    let mut xs = shown.xs.clone();
    let nowhere = |series: &Series| {
        series.values.iter().any(|it| it.x.is_empty())
            || series.blanks.iter().any(|it| it.0.is_empty())
    };
    if shown.series.iter().any(nowhere) {
        xs.push(String::new());
    }
    let is_drawn = matches!(shown.figure.shows, Shows::Drawn { .. });
    let cell = |series: usize, x: &String| {
        let series = &shown.series[series];
        let Some(value) = series.values.iter().find(|value| value.x == *x) else {
            let blank = series.blanks.iter().find(|it| it.0 == *x);
            return blank.map_or(Cell::number(NOTHING), |it| Cell::text(&it.1));
        };
        let cell = Cell::number(shown.unit.bare(value.value));
        let cell = match value.spread {
            // Nobody else shows it: there are no lines below.
            Some(spread) if is_drawn => cell.with_small(range(&shown.unit, spread)),
            _ => cell,
        };
        match shown.reported(&series.arm, &value.at) {
            Some(it) if it.along(shown.figure.x).is_some() => {
                cell.with_small(format!("paper {}", range(&shown.unit, [it.least, it.most])))
            }
            _ => cell,
        }
    };
    let label = |x: &String| match x.parse::<f64>() {
        Ok(value) => tick(value),
        Err(_) if x.is_empty() => "value".to_owned(),
        Err(_) => x.clone(),
    };
    let corner = Cell::text(match xs.as_slice() {
        [x] if x.is_empty() => shown.unit.name.to_owned(),
        _ => format!("{} by {}", shown.unit.name, shown.figure.x),
    });
    if is_drawn || names.len() > xs.len() {
        let head = [corner]
            .into_iter()
            .chain(xs.iter().map(|x| Cell::text(label(x))));
        let rows = names.iter().enumerate().map(|(series, name)| {
            let cells = xs.iter().map(|x| cell(series, x));
            [name.clone()].into_iter().chain(cells).collect()
        });
        return Table {
            head: head.collect(),
            rows: rows.collect(),
        };
    }
    let rows = xs.iter().map(|x| {
        let cells = (0..shown.series.len()).map(|series| cell(series, x));
        [Cell::name(label(x))].into_iter().chain(cells).collect()
    });
    Table {
        rows: rows.collect(),
        head: [corner].into_iter().chain(names).collect(),
    }
}

/// A series, and what the paper reported of all of it.
fn series_name(shown: &Shown<'_>, series: &Series) -> Cell {
    let name = Cell::name(if shown.stacks().len() > 1 {
        series.full_name()
    } else {
        series.name()
    });
    let mut values = series.values.iter();
    let of_all = values.find_map(|value| shown.reported(&series.arm, &value.at));
    match of_all {
        Some(it) if it.along(shown.figure.x).is_none() => {
            name.with_small(format!("paper {}", range(&shown.unit, [it.least, it.most])))
        }
        _ => name,
    }
}

fn range(unit: &Unit, [least, most]: [f64; 2]) -> String {
    let (least, most) = (unit.bare(least), unit.bare(most));
    if least == most {
        least
    } else {
        format!("{least} to {most}")
    }
}

/// Columns of [`figures`] behind the coordinates.
pub(super) const FIGURES: [&str; 14] = [
    "arm",
    "stack",
    "quantity",
    "n",
    "best",
    "median",
    "its 95 % interval",
    "mean",
    "its 95 % interval",
    "deviation",
    "1.96·s/√n",
    "p95",
    "worst",
    "unit",
];

/// Every line of the figure.
pub(super) fn figures(shown: &Shown<'_>) -> Table {
    let mut axes: Vec<&str> = shown
        .lines
        .iter()
        .flat_map(|it| it.at.keys().map(|axis| &**axis))
        .collect();
    axes.sort_unstable();
    axes.dedup();
    let head = axes.iter().chain(&FIGURES).map(|it| Cell::text(*it));
    let rows = shown.lines.iter().map(|line| {
        let at = axes.iter();
        let at = at.map(|axis| Cell::text(line.at.get(*axis).map_or(NOTHING, String::as_str)));
        at.chain(line_cells(line)).collect()
    });
    Table {
        head: head.collect(),
        rows: rows.collect(),
    }
}

fn line_cells(line: &Line) -> [Cell; FIGURES.len()] {
    let of = &line.figures;
    let unit = Unit::of_quantity(line.quantity, of.median);
    let figure = |value| Cell::number(unit.bare(value));
    let interval = |ends| Cell::number(range(&unit, ends));
    [
        Cell::text(&line.arm),
        Cell::text(line.stack.name()),
        Cell::text(words::quantity(line.quantity)),
        Cell::number(of.n.to_string()),
        figure(of.best),
        figure(of.median),
        interval(of.median_interval),
        figure(of.mean),
        interval(of.mean_interval),
        figure(of.stdev),
        // Half of the interval as Rodrigues et al. take it: by the normal distribution, whatever
        // the number of samples.
        figure(NORMAL * of.stdev / (of.n.max(1) as f64).sqrt()),
        figure(of.p95),
        figure(of.worst),
        Cell::text(unit.name),
    ]
}

/// What held; `None`, if the paper's numbers of this figure are not known.
pub(super) fn held(shown: &Shown<'_>) -> Option<Table> {
    let held = claims::held(shown);
    if held.is_empty() {
        return None;
    }
    let stacks = shown.stacks();
    let mut head = vec!["what the paper reports".to_owned(), "paper".to_owned()];
    head.extend(stacks.iter().map(ToString::to_string));
    let head = head.into_iter().map(Cell::text).collect();
    let rows = held.iter().map(|it| row_of(it, shown, &stacks));
    let rows = rows.collect();
    Some(Table { head, rows })
}

fn row_of(held: &Held<'_>, shown: &Shown<'_>, stacks: &[Stack]) -> Vec<Cell> {
    let reported = held.reported;
    let at = reported.at.iter();
    let at = place(
        &at.map(|(axis, value)| ((*axis).to_owned(), (*value).to_owned()))
            .collect(),
    );
    let arm = words::arm(reported);
    let what = match at.is_empty() {
        true => arm.to_owned(),
        false => format!("{arm}, {at}"),
    };
    let unit = &shown.unit;
    let mut row = vec![
        Cell::name(what).with_small(reported.place.as_str()),
        Cell::number(unit.range([reported.least, reported.most])),
    ];
    for stack in stacks {
        let ours = held.ours.iter().find(|it| it.0 == *stack);
        row.push(match ours {
            Some((_, ends, lies)) => Cell::number(unit.range(*ends)).with_small(lies.word()),
            None => Cell::number(NOTHING),
        });
    }
    row
}

/// What is said of a figure in words.
pub(super) struct Sentences {
    /// What follows from it, and what held on each stack.
    pub(super) verdicts: Vec<String>,
    /// How its values come about, and what is not known.
    pub(super) notes: Vec<String>,
}

/// What is said of a figure in words.
pub(super) fn sentences(shown: &Shown<'_>) -> Sentences {
    let explained = words::explained(&shown.figure.shows);
    let notes = explained.into_iter().chain(unknown(shown));
    Sentences {
        verdicts: shown.notes.iter().cloned().chain(verdicts(shown)).collect(),
        notes: notes.map(str::to_owned).collect(),
    }
}

/// What is not known of the paper's values.
fn unknown(shown: &Shown<'_>) -> Option<&'static str> {
    match shown.figure.reported {
        _ if !shown.figure.is_of_the_paper() => None,
        [] => {
            Some("The paper prints no value of this figure: it draws them, or puts them in words.")
        }
        _ => None,
    }
}

/// What held, in a sentence for each stack.
fn verdicts(shown: &Shown<'_>) -> Vec<String> {
    let held = claims::held(shown);
    let of = |stack: Stack| {
        let lies: Vec<claims::Comparison> = held
            .iter()
            .flat_map(|it| &it.ours)
            .filter(|it| it.0 == stack)
            .map(|it| it.2)
            .collect();
        let count = |wanted| lies.iter().filter(|it| **it == wanted).count();
        let told = [
            (lies.iter().filter(|it| it.holds()).count(), "holds"),
            (
                count(claims::Comparison::Below),
                "no longer holds: here it is less",
            ),
            (
                count(claims::Comparison::Above),
                "no longer holds: here it is more",
            ),
            (count(claims::Comparison::Across), "holds at some points"),
        ];
        let by_interval = match (lies.len(), count(claims::Comparison::WithinInterval)) {
            (_, 0) => String::new(),
            (1, _) => " (it lies within our interval)".to_owned(),
            (_, some) => format!(" ({some} within our interval)"),
        };
        let mut kinds = told.iter().filter(|it| it.0 > 0);
        match (lies.len(), kinds.next(), kinds.next()) {
            (0, ..) | (_, None, _) => None,
            (1, Some((_, what)), _) => Some(format!(
                "On {stack}, what the paper reports {what}{by_interval}."
            )),
            (all, Some((_, what)), None) => Some(format!(
                "On {stack}, what the paper reports {what}, at all {all} values{by_interval}."
            )),
            (all, ..) => Some(format!(
                "On {stack}, of {all} values that the paper reports, {} hold{by_interval}, {} are less here, {} are more, {} hold at some points.",
                told[0].0, told[1].0, told[2].0, told[3].0
            )),
        }
    };
    shown.stacks().into_iter().filter_map(of).collect()
}
