//! Parts of one whole, where the axis has names: one bar for each name and stack, in which the
//! parts stand one after another, and a bar of their own for arms that are none of them.
//!
//! The rule kept here: the parts of a bar are as long as their values, and so the bar is as long as
//! their sum.

use super::rows::{BAR, NARROW, TOP, axis, head_of};
use super::scale::Scale;
use super::svg::{Anchor, Svg, width_of};
use super::{COLOURS, Drawn, Entry, Sample, axis_title, key_class, legend, told};
use crate::report::shown::{Series, Value};
use crate::study::Stack;

/// How high a bar with names of parts in it is.
const WHOLE: f64 = 18.0;
/// Between two bars of a group.
const GAP: f64 = 6.0;

/// A bar.
struct Bar<'s> {
    /// What it is, where it is not the whole.
    label: Option<String>,
    /// What stands in it, one after another.
    members: Vec<(&'s Series, &'s Value)>,
}

impl Bar<'_> {
    fn length(&self) -> f64 {
        self.members.iter().map(|(_, value)| value.value).sum()
    }

    fn height(&self) -> f64 {
        if self.label.is_some() { BAR } else { WHOLE }
    }
}

/// Draws them, and says how high that is.
pub(super) fn draw(drawn: &Drawn<'_, '_>, parts: &[String], width: f64) -> (Svg, f64) {
    let mut svg = Svg::new();
    let unit = drawn.shown.unit;
    let narrow = width < NARROW;
    let groups = groups(drawn, parts);
    let bars = || groups.iter().flat_map(|(_, bars)| bars);
    let heads = groups.iter().map(|(head, _)| head.as_str());
    let labels = heads.chain(bars().filter_map(|bar| bar.label.as_deref()));
    let left = if narrow {
        2.0
    } else {
        let widest = labels.map(width_of).fold(0.0, f64::max);
        (widest * 1.15 + 12.0).min(width * 0.45)
    };
    let lengths: Vec<f64> = bars().map(|bar| bar.length() / unit.divisor).collect();
    let widest = lengths
        .iter()
        .map(|it| width_of(&unit.bare(*it * unit.divisor)));
    let right = width - 12.0 - widest.fold(0.0, f64::max).min(90.0);
    let ticks = ((right - left) / 70.0) as usize;
    let along = Scale::of(&lengths, false, (left, right), ticks);

    let head = if narrow { 20.0 } else { 0.0 };
    let label = if narrow { 16.0 } else { 0.0 };
    let above = |bar: &Bar<'_>| if bar.label.is_some() { label } else { 0.0 };
    let heights = bars().map(|bar| above(bar) + bar.height() + GAP);
    let bottom = TOP + heights.sum::<f64>() + groups.len() as f64 * (head + GAP);
    axis_title(&mut svg, drawn.shown, false, width);
    axis(&mut svg, &along, (TOP, bottom), width);
    let mut y = TOP;
    for (name, bars) in &groups {
        if narrow {
            svg.text("label title", (2.0, y + 14.0), Anchor::Start, name);
        } else {
            svg.text("label title", (left - 8.0, y + 13.0), Anchor::End, name);
        }
        y += head;
        for bar in bars {
            if let Some(label) = &bar.label {
                if narrow {
                    svg.text("label", (2.0, y + 11.0), Anchor::Start, label);
                } else {
                    svg.text("label", (left - 8.0, y + 10.0), Anchor::End, label);
                }
            }
            y += above(bar);
            one(&mut svg, drawn, parts, &along, bar, y);
            y += bar.height() + GAP;
        }
        y += GAP;
    }
    svg.line("axis", (along.base(), TOP - 4.0), (along.base(), bottom));
    let end = legend(
        &mut svg,
        &entries(drawn, parts),
        (0.0, bottom + 24.0),
        width,
    );
    (svg, end + 4.0)
}

/// What is explained below: the parts that are there, and the paper's mark.
fn entries(drawn: &Drawn<'_, '_>, parts: &[String]) -> Vec<Entry> {
    let entry = |(place, part): (usize, &String)| Entry {
        label: part.clone(),
        colour: place % COLOURS,
        sample: Sample::Part(place / COLOURS, key(place)),
    };
    let mut entries: Vec<Entry> = parts.iter().enumerate().map(entry).collect();
    if drawn.reported().next().is_some() {
        entries.push(Entry {
            label: "what the paper reported".to_owned(),
            colour: 6,
            sample: Sample::Paper,
        });
    }
    entries
}

/// What a part is called where there is little room.
fn key(place: usize) -> String {
    (place + 1).to_string()
}

/// Bars by their place along the axis and by their stack: the whole, and then what is no part of
/// it.
fn groups<'s>(drawn: &Drawn<'s, '_>, parts: &[String]) -> Vec<(String, Vec<Bar<'s>>)> {
    let mut groups = Vec::new();
    let of = |series: &&'s Series, x: &String, stack: Stack| {
        let series: &'s Series = series;
        let mut values = series.values.iter();
        let value = values.find(|value| value.x == *x && series.stack == stack);
        value.map(|value| (series, value))
    };
    for x in &drawn.shown.xs {
        for stack in &drawn.stacks {
            let members = drawn.series.iter().filter_map(|it| of(it, x, *stack));
            let place = |name: &str| parts.iter().position(|part| part == name);
            let (mut whole, others): (Vec<_>, Vec<_>) =
                members.partition(|(series, _)| place(&series.name()).is_some());
            whole.sort_by_key(|(series, _)| place(&series.name()));
            let mut bars = Vec::new();
            if !whole.is_empty() {
                bars.push(Bar {
                    label: None,
                    members: whole,
                });
            }
            bars.extend(others.into_iter().map(|member| Bar {
                label: Some(member.0.name()),
                members: vec![member],
            }));
            let name = head_of(drawn.shown, x);
            let name = match drawn.stacks.as_slice() {
                [_] => name,
                _ => format!("{name} · {stack}"),
            };
            if !bars.is_empty() {
                groups.push((name, bars));
            }
        }
    }
    groups
}

fn one(
    svg: &mut Svg,
    drawn: &Drawn<'_, '_>,
    parts: &[String],
    along: &Scale,
    bar: &Bar<'_>,
    top: f64,
) {
    let unit = drawn.shown.unit;
    let place = |it: f64| along.place(it / unit.divisor);
    let middle = top + bar.height() / 2.0;
    let mut before = 0.0;
    for (series, value) in &bar.members {
        let (from, to) = (place(before), place(before + value.value));
        let part = parts.iter().position(|it| *it == series.name());
        // What is no part has the colour that nothing else has.
        let (colour, shade) = part.map_or((COLOURS - 1, 2), |it| (it % COLOURS, it / COLOURS));
        svg.begin("point", &drawn.title(series, value));
        let class = format!("bar c{colour} s{shade}");
        svg.rectangle(&class, (from, top), (to - from).max(0.75), bar.height());
        let key = part.map(key).unwrap_or_default();
        if !key.is_empty() && width_of(&key) + 4.0 <= to - from {
            let at = (f64::midpoint(from, to), middle + 4.0);
            svg.text(key_class(shade), at, Anchor::Middle, &key);
        }
        svg.end();
        if part.is_some() && to - from > 2.0 {
            // Neighbours are told apart, whatever their colours look like.
            svg.line("cut", (to, top), (to, top + bar.height()));
        }
        if let Some(reported) = drawn.shown.reported(&series.arm, &value.at) {
            let [low, high] = [reported.least, reported.most].map(|it| place(before + it));
            svg.begin("reported", &told(reported, drawn.shown));
            if high - low >= 1.0 {
                svg.line("whisker c6", (low, middle), (high, middle));
            }
            svg.diamond("paper c6", (f64::midpoint(low, high), middle), 5.0);
            svg.end();
        }
        before += value.value;
    }
    let end = (place(before) + 6.0, middle + 4.0);
    svg.text("soft", end, Anchor::Start, &unit.bare(bar.length()));
}
