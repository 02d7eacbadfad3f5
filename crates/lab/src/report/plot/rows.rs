//! Bars in rows, where the axis has names: a group for each name, a row for each series in it.
//!
//! The rule kept here: bars begin at 0; where values reach over decades, marks on a logarithmic
//! axis stand for them.

use super::scale::Scale;
use super::svg::{Anchor, Svg, width_of};
use super::{Drawn, Entry, Sample, axis_title, legend, told};
use crate::report::number::tick;
use crate::report::shown::{Series, Shown, Value};

pub(super) const TOP: f64 = 30.0;
/// Below this width, labels stand above their bars.
pub(super) const NARROW: f64 = 500.0;
pub(super) const BAR: f64 = 12.0;

/// Draws them, and says how high that is.
pub(super) fn draw(drawn: &Drawn<'_, '_>, width: f64) -> (Svg, f64) {
    let mut svg = Svg::new();
    let unit = drawn.shown.unit;
    let narrow = width < NARROW;
    let labels = drawn.series.iter().map(|it| width_of(&drawn.label(it)));
    let left = if narrow {
        2.0
    } else {
        (labels.fold(0.0, f64::max) + 12.0).min(width * 0.45)
    };
    let values: Vec<f64> = drawn.values().iter().map(|it| it / unit.divisor).collect();
    let widest = values
        .iter()
        .map(|it| width_of(&unit.bare(*it * unit.divisor)));
    let right = width - 12.0 - widest.fold(0.0, f64::max).min(90.0);
    let ticks = ((right - left) / 70.0) as usize;
    let logarithmic = drawn.is_wide() || drawn.shown.figure.logarithmic;
    let along = Scale::of(&values, logarithmic, (left, right), ticks);
    let row = if narrow { 34.0 } else { 20.0 };

    let groups = groups(drawn);
    let heads = groups.iter().filter(|it| !it.0.is_empty()).count();
    let rows: usize = groups.iter().map(|it| it.1.len()).sum();
    let bottom = TOP + heads as f64 * 24.0 + rows as f64 * row + groups.len() as f64 * 6.0;

    axis_title(&mut svg, drawn.shown, along.is_logarithmic(), width);
    axis(&mut svg, &along, (TOP, bottom), width);
    let mut y = TOP;
    for (head, members) in &groups {
        if !head.is_empty() {
            svg.text("label title", (0.0, y + 16.0), Anchor::Start, head);
            y += 24.0;
        }
        for (series, value) in members {
            let bar = if narrow {
                svg.text(
                    "label",
                    (2.0, y + 12.0),
                    Anchor::Start,
                    &drawn.label(series),
                );
                y + 17.0
            } else {
                let end = (left - 8.0, y + 14.0);
                svg.text("label", end, Anchor::End, &drawn.label(series));
                y + 4.0
            };
            one(&mut svg, drawn, &along, (series, value), bar);
            y += row;
        }
        y += 6.0;
    }
    svg.line("axis", (along.base(), TOP - 4.0), (along.base(), bottom));
    let mut entries = Vec::new();
    if drawn.reported().next().is_some() {
        entries.push(Entry {
            label: "what the paper reported".to_owned(),
            colour: 6,
            sample: Sample::Paper,
        });
    }
    let mut end = bottom + 24.0;
    if !entries.is_empty() {
        end = legend(&mut svg, &entries, (0.0, end), width);
    }
    (svg, end + 4.0)
}

/// Draws lines at the ticks of a scale from the top to the bottom, and their labels below, as many
/// as there is room for.
pub(super) fn axis(svg: &mut Svg, along: &Scale, (top, bottom): (f64, f64), width: f64) {
    for value in along.minor() {
        let x = along.place(value);
        svg.line("axis", (x, bottom), (x, bottom + 2.5));
    }
    let mut free = f64::NEG_INFINITY;
    for value in &along.ticks {
        let x = along.place(*value);
        svg.line("grid", (x, top - 4.0), (x, bottom));
        let text = tick(*value);
        let half = width_of(&text) / 2.0;
        if x - half > free && x + half <= width {
            let place = if x - half < 0.0 {
                Anchor::Start
            } else {
                Anchor::Middle
            };
            svg.text("soft", (x.max(0.0), bottom + 16.0), place, &text);
            free = x + half + 8.0;
        }
    }
}

/// What a place along the axis is called: `rsa-sha1`, `2500 books`.
pub(super) fn head_of(shown: &Shown<'_>, x: &str) -> String {
    if x.parse::<f64>().is_ok() {
        format!("{x} {}", shown.figure.x)
    } else {
        x.to_owned()
    }
}

type Member<'s> = (&'s Series, &'s Value);

/// Values by their place along the axis; without a name, where there is one place only and the axis
/// names nothing.
fn groups<'s>(drawn: &Drawn<'s, '_>) -> Vec<(String, Vec<Member<'s>>)> {
    let group = |x: &String| {
        let head = head_of(drawn.shown, x);
        let members = drawn.series.iter().flat_map(|series| {
            let values = series.values.iter().filter(|value| value.x == *x);
            values.map(|value| (*series, value))
        });
        (head, members.collect::<Vec<_>>())
    };
    let mut xs = drawn.shown.xs.clone();
    if drawn
        .series
        .iter()
        .any(|it| it.values.iter().any(|it| it.x.is_empty()))
    {
        xs.insert(0, String::new());
    }
    let groups = xs.iter().map(group);
    groups.filter(|it| !it.1.is_empty()).collect()
}

fn one(svg: &mut Svg, drawn: &Drawn<'_, '_>, along: &Scale, (series, value): Member<'_>, top: f64) {
    let unit = drawn.shown.unit;
    let colour = drawn.colour(series);
    let place = |it: f64| along.place(it / unit.divisor);
    let (base, end, middle) = (along.base(), place(value.value), top + BAR / 2.0);
    svg.begin("point", &drawn.title(series, value));
    let mut last = end;
    if along.is_logarithmic() {
        svg.line(&format!("whisker c{colour}"), (base, middle), (end, middle));
        svg.mark(
            drawn.shape(series),
            &format!("mark c{colour}"),
            (end, middle),
            5.0,
        );
    } else {
        let (from, to) = (base.min(end), base.max(end));
        let stack = drawn.shape(series).min(2);
        svg.rectangle(
            &format!("bar c{colour} s{stack}"),
            (from, top),
            (to - from).max(0.75),
            BAR,
        );
    }
    if let Some(ends) = value.spread {
        let [low, high] = ends.map(place);
        if high - low >= 1.0 {
            svg.line("axis", (low, middle), (high, middle));
            // What goes on beyond the axis has no end here.
            for (x, end) in [low, high].into_iter().zip(ends) {
                if along.has(end / unit.divisor) {
                    svg.line("axis", (x, middle - 3.5), (x, middle + 3.5));
                }
            }
            last = last.max(high);
        }
    }
    svg.end();
    if let Some(reported) = drawn.shown.reported(&series.arm, &value.at) {
        let [low, high] = [reported.least, reported.most].map(place);
        svg.begin("reported", &told(reported, drawn.shown));
        if high - low >= 1.0 {
            svg.line("whisker c6", (low, middle), (high, middle));
        }
        let at = f64::midpoint(low, high);
        svg.diamond("paper c6", (at, middle), 5.0);
        svg.end();
        // The number must not stand on the diamond.
        if (at - last).abs() < 60.0 || (low..=high).contains(&last) {
            last = last.max(high) + 4.0;
        }
    }
    svg.text(
        "soft",
        (last + 6.0, middle + 4.0),
        Anchor::Start,
        &unit.bare(value.value),
    );
}
