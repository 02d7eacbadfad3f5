//! Lines over an axis of numbers.
//!
//! The rule kept here: a line joins measured values only, in the order of the axis.

use super::scale::Scale;
use super::svg::{Anchor, Svg, width_of};
use super::{Drawn, Entry, Sample, axis_title, legend, told};
use crate::report::number::tick;
use crate::report::shown::Value;
use crate::report::words;

/// Height between the axes.
const HEIGHT: f64 = 260.0;
const TOP: f64 = 34.0;
const RIGHT: f64 = 14.0;

/// Draws them, and says how high that is.
pub(super) fn draw(drawn: &Drawn<'_, '_>, width: f64) -> (Svg, f64) {
    let mut svg = Svg::new();
    let unit = drawn.shown.unit;
    let values: Vec<f64> = drawn.values().iter().map(|it| it / unit.divisor).collect();
    let bottom = TOP + HEIGHT;
    let up = Scale::of(&values, drawn.is_wide(), (bottom, TOP), 6);
    let widest = up.ticks.iter().map(|it| width_of(&tick(*it)));
    let left = 12.0 + widest.fold(0.0, f64::max);
    let right = width - RIGHT;
    let along = along(drawn, (left + 8.0, right - 8.0));

    axis_title(&mut svg, drawn.shown, up.is_logarithmic(), width);
    for value in up.minor() {
        let y = up.place(value);
        svg.line("axis", (left, y), (left + 4.0, y));
    }
    for value in along.minor() {
        let x = along.place(value);
        svg.line("axis", (x, bottom), (x, bottom + 2.5));
    }
    for value in &up.ticks {
        let y = up.place(*value);
        svg.line("grid", (left, y), (right, y));
        svg.text("soft", (left - 6.0, y + 4.0), Anchor::End, &tick(*value));
    }
    svg.line("axis", (left, bottom), (right, bottom));
    let mut free = f64::NEG_INFINITY;
    for value in &along.ticks {
        let x = along.place(*value);
        svg.line("axis", (x, bottom), (x, bottom + 4.0));
        let text = tick(*value);
        // The reader's letters may be wider than ours.
        let half = width_of(&text) * 0.58;
        let middle = x.min(width - half);
        if middle - half > free {
            svg.text("soft", (middle, bottom + 18.0), Anchor::Middle, &text);
            free = middle + half + 8.0;
        }
    }
    let middle = f64::midpoint(left, right);
    let name = if along.is_logarithmic() {
        format!("{} (logarithmic)", drawn.shown.figure.x)
    } else {
        drawn.shown.figure.x.to_owned()
    };
    svg.text("soft", (middle, bottom + 36.0), Anchor::Middle, &name);

    let mut entries = Vec::new();
    paper(&mut svg, drawn, &up, &along, (left, right), &mut entries);
    for series in &drawn.series {
        let (colour, shape) = (drawn.colour(series), drawn.shape(series));
        let at = |value: &Value| {
            (
                along.place(number(&value.x)),
                up.place(value.value / unit.divisor),
            )
        };
        let points: Vec<(f64, f64)> = series.values.iter().map(at).collect();
        svg.polyline(&format!("line c{colour} d{}", shape % 5), &points);
        for value in &series.values {
            let (x, y) = at(value);
            svg.begin("point", &drawn.title(series, value));
            if let Some(ends) = value.spread {
                let class = format!("whisker c{colour}");
                whisker(&mut svg, &class, x, &up, ends.map(|end| end / unit.divisor));
            }
            svg.mark(shape, &format!("mark c{colour}"), (x, y), 4.0);
            svg.end();
        }
        entries.push(Entry {
            label: drawn.label(series),
            colour,
            sample: Sample::Line(shape),
        });
    }
    let end = legend(&mut svg, &entries, (0.0, bottom + 44.0), width);
    (svg, end + 4.0)
}

fn number(x: &str) -> f64 {
    x.parse().unwrap_or(0.0)
}

fn along(drawn: &Drawn<'_, '_>, places: (f64, f64)) -> Scale {
    let xs: Vec<f64> = drawn.shown.xs.iter().map(|x| number(x)).collect();
    let ticks = ((places.1 - places.0) / 75.0) as usize;
    Scale::of(&xs, drawn.shown.figure.logarithmic, places, ticks)
}

fn whisker(svg: &mut Svg, class: &str, x: f64, up: &Scale, ends: [f64; 2]) {
    let [low, high] = ends.map(|end| up.place(end));
    if (low - high).abs() < 1.0 {
        return;
    }
    svg.line(class, (x, low), (x, high));
    // What goes on beyond the axis has no end here.
    for (y, end) in [low, high].into_iter().zip(ends) {
        if up.has(end) {
            svg.line(class, (x - 3.5, y), (x + 3.5, y));
        }
    }
}

/// What the paper reported: a band across, where it says it of the whole figure, and a diamond
/// where it says it of one place.
fn paper(
    svg: &mut Svg,
    drawn: &Drawn<'_, '_>,
    up: &Scale,
    along: &Scale,
    (left, right): (f64, f64),
    entries: &mut Vec<Entry>,
) {
    let unit = drawn.shown.unit;
    for reported in drawn.reported() {
        let series = drawn.series.iter().find(|series| {
            let mut values = series.values.iter();
            values.any(|value| reported.is_of(&series.arm, &value.at))
        });
        let colour = series.map_or(6, |series| drawn.colour(series));
        let places = [reported.least, reported.most].map(|it| up.place(it / unit.divisor));
        let place = reported.along(drawn.shown.figure.x);
        let title = format!("{}\n{}", words::arm(reported), told(reported, drawn.shown));
        svg.begin("reported", &title);
        match place {
            Some(x) => {
                let x = along.place(number(x));
                let [low, high] = places;
                let ends = [reported.least, reported.most].map(|it| it / unit.divisor);
                whisker(svg, &format!("whisker c{colour}"), x, up, ends);
                let middle = f64::midpoint(low, high);
                svg.diamond(&format!("paper c{colour}"), (x, middle), 5.5);
            }
            None => {
                let [low, high] = places;
                svg.rectangle(
                    &format!("band c{colour}"),
                    (left, high),
                    right - left,
                    (low - high).max(3.0),
                );
                for y in places {
                    svg.line(&format!("edge c{colour}"), (left, y), (right, y));
                }
                let end = (right - 10.0, f64::midpoint(low, high));
                svg.diamond(&format!("paper c{colour}"), end, 5.5);
            }
        }
        svg.end();
        let label = format!("paper: {}", words::arm(reported));
        if !entries.iter().any(|it| it.label == label) {
            entries.push(Entry {
                label,
                colour,
                sample: Sample::Paper,
            });
        }
    }
}
