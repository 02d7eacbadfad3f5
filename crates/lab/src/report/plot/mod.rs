//! Plots: lines over an axis of numbers, or bars in rows where the axis has names; one bar where
//! they are parts of one whole.
//!
//! The rule kept here: whatever is drawn can be told apart without its colour (marks and dashes
//! tell stacks apart, labels arms), and says its value when it is pointed at.

mod lines;
mod rows;
mod scale;
mod stacked;
mod svg;

use super::shown::{Series, Shown, Value};
use crate::papers::Reported;
use crate::study::{Shows, Stack};
use svg::{Anchor, Svg, width_of};

/// How wide a plot is drawn: for a desk, and for a phone.
pub(super) const WIDTHS: [(f64, &str); 2] = [(790.0, "wide"), (328.0, "narrow")];

/// Most series in a plot of lines; more are drawn in several, below each other and on the same
/// axes.
const MOST_SERIES: usize = 7;
/// Room between plots of one figure.
const BETWEEN_PANELS: f64 = 16.0;

/// Room around the legend's lines.
const LEGEND_LINE: f64 = 20.0;

/// The colours of plots, which the page's style has, too, for SVG files of their own.
pub(super) const STYLE: &str = include_str!("plot.css");

/// The plot of a figure at this width; `None`, if there is nothing to draw.
pub(super) fn draw(shown: &Shown<'_>, width: f64, class: &str) -> Option<String> {
    let drawn = Drawn::of(shown);
    if drawn.series.is_empty() {
        return None;
    }
    let description = format!("{}: {}", shown.figure.shown_in, shown.figure.caption);
    let (svg, height) = if let Some(whole) = drawn.whole() {
        stacked::draw(&drawn, &whole, width)
    } else if drawn.is_of_lines() {
        let panels = drawn.panels();
        match panels.as_slice() {
            [one] => lines::draw(one, width),
            panels => {
                let (mut whole, mut down) = (Svg::new(), 0.0);
                for panel in panels {
                    let (svg, height) = lines::draw(panel, width);
                    whole.place(svg, down);
                    down += height + BETWEEN_PANELS;
                }
                (whole, down - BETWEEN_PANELS)
            }
        }
    } else {
        rows::draw(&drawn, width)
    };
    Some(svg.finish(width, height, &format!("plot {class}"), &description))
}

/// The plot as a file of its own.
pub(super) fn file(shown: &Shown<'_>) -> Option<String> {
    let (width, class) = WIDTHS[0];
    let drawing = draw(shown, width, class)?;
    let begin = drawing.find('>').map_or(0, |end| end + 1);
    let (tag, rest) = drawing.split_at(begin);
    Some(format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{tag}<style>{STYLE}svg{{background:var(--paper)}}</style>{rest}\n"
    ))
}

/// What of a figure is drawn: no baselines, which are the same everywhere.
struct Drawn<'s, 'r> {
    shown: &'s Shown<'r>,
    series: Vec<&'s Series>,
    arms: Vec<String>,
    stacks: Vec<Stack>,
    /// The series that the axes have room for: those of the whole figure.
    of_axes: Vec<&'s Series>,
}

impl<'s, 'r> Drawn<'s, 'r> {
    fn of(shown: &'s Shown<'r>) -> Self {
        let all = shown.series.iter().filter(|it| !it.values.is_empty());
        let series: Vec<&Series> = all.filter(|it| !it.baseline).collect();
        let mut arms = Vec::new();
        for name in series.iter().map(|it| it.name()) {
            if !arms.contains(&name) {
                arms.push(name);
            }
        }
        Self {
            shown,
            arms,
            stacks: shown.stacks(),
            of_axes: series.clone(),
            series,
        }
    }

    /// The same in plots of few series each: those of one coordinate together, as far as they fit.
    fn panels(&self) -> Vec<Self> {
        let groups = self.series.iter().map(|it| (&it.besides, *it));
        let panels = parted(&groups.collect::<Vec<_>>());
        let panel = |series| Self {
            shown: self.shown,
            series,
            arms: self.arms.clone(),
            stacks: self.stacks.clone(),
            of_axes: self.of_axes.clone(),
        };
        panels.into_iter().map(panel).collect()
    }

    /// Numbers along the axis, at three places or more.
    fn is_of_lines(&self) -> bool {
        self.shown.xs.len() > 2 && self.shown.xs.iter().all(|x| x.parse::<f64>().is_ok())
    }

    /// The arms that are parts of one whole, in the order of drawing, where the figure shows such.
    /// Those of which the paper reported something come first, so that it stands where they
    /// end.
    fn whole(&self) -> Option<Vec<String>> {
        match self.shown.figure.shows {
            Shows::Parts { parts, .. } => {
                let parts = parts
                    .iter()
                    .filter(|it| self.arms.iter().any(|arm| arm == *it));
                Some(parts.map(|it| (*it).to_owned()).collect())
            }
            Shows::Share { .. } => {
                let mut parts = self.arms.clone();
                let is_reported = |arm: &String| {
                    let mut reported = self.shown.reported.iter();
                    reported.any(|it| it.arm == arm)
                };
                parts.sort_by_key(|arm| !is_reported(arm));
                Some(parts)
            }
            _ => None,
        }
    }

    /// The colour of a series: its arm's; its stack's, where there is one arm only, or each has one
    /// row and its name beside it.
    fn colour(&self, series: &Series) -> usize {
        let in_rows = !self.is_of_lines() && self.shown.xs.len() < 2;
        let place = if self.arms.len() > 1 && !in_rows {
            self.arms.iter().position(|it| *it == series.name())
        } else {
            self.stacks.iter().position(|it| *it == series.stack)
        };
        place.unwrap_or(0) % COLOURS
    }

    /// The mark and dashes of a series: its stack's. Where colours begin anew, they change, too.
    fn shape(&self, series: &Series) -> usize {
        let arm = self.arms.iter().position(|it| *it == series.name());
        let stack = self.stacks.iter().position(|it| *it == series.stack);
        stack.unwrap_or(0) + arm.unwrap_or(0) / COLOURS
    }

    /// A series in the legend and in titles.
    fn label(&self, series: &Series) -> String {
        if self.stacks.len() > 1 {
            series.full_name()
        } else {
            series.name()
        }
    }

    /// What a mark says when it is pointed at.
    fn title(&self, series: &Series, value: &Value) -> String {
        let unit = self.shown.unit;
        let mut title = format!(
            "{}\n{}\n{}",
            series.full_name(),
            value.place(),
            unit.with(value.value)
        );
        if let Some(spread) = value.spread {
            let what = super::words::spread(&self.shown.figure.shows);
            title.push_str(&format!("\n{what}: {}", unit.range(spread)));
        }
        if let Some(floor) = value.floor {
            title.push_str(&format!("\nfloor: {}", unit.with(floor)));
        }
        if let Some(reported) = self.shown.reported(&series.arm, &value.at) {
            title.push_str(&format!("\n{}", told(reported, self.shown)));
        }
        title
    }

    /// Everything that an axis must have room for: values, the paper's, and their intervals as far
    /// as they do not dwarf the values, which those of few samples may.
    fn values(&self) -> Vec<f64> {
        let values = self.of_axes.iter().flat_map(|it| &it.values);
        let own = values.clone().map(|it| it.value);
        let paper = self.reported().flat_map(|it| [it.least, it.most]);
        let mut all: Vec<f64> = own.chain(paper).collect();
        let least = all.iter().copied().fold(f64::INFINITY, f64::min);
        let most = all.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let room = if least >= 0.0 {
            least / 2.0..=most * 1.5
        } else {
            least - (most - least) / 2.0..=most + (most - least) / 2.0
        };
        let ends = values.flat_map(|it| it.spread.into_iter().flatten());
        all.extend(ends.map(|end| end.clamp(*room.start(), *room.end())));
        all
    }

    /// What the paper reported of the arms that are drawn.
    fn reported(&self) -> impl Iterator<Item = &'s Reported> {
        let drawn = |it: &&'s Reported| {
            let values = |series: &&&Series| {
                let mut values = series.values.iter();
                values.any(|value| it.is_of(&series.arm, &value.at))
            };
            self.series.iter().any(|series| values(&series))
        };
        self.shown.reported.iter().filter(drawn)
    }

    /// Values reach over two decades or more, so that a linear axis would show the large ones only.
    fn is_wide(&self) -> bool {
        let values = self.of_axes.iter().flat_map(|it| &it.values);
        let values = values.map(|it| it.value);
        let paper = self.reported().flat_map(|it| [it.least, it.most]);
        let (least, most) = values
            .chain(paper)
            .fold((f64::INFINITY, 0.0_f64), |(least, most), it| {
                (least.min(it), most.max(it))
            });
        least > 0.0 && most / least >= 40.0
    }
}

/// Items in parts of [`MOST_SERIES`] at most: a group stays whole if it fits into one, small groups
/// share one, and large ones are cut into parts of nearly the same size.
fn parted<K: PartialEq, T: Copy>(items: &[(K, T)]) -> Vec<Vec<T>> {
    let mut groups: Vec<(&K, Vec<T>)> = Vec::new();
    for (key, item) in items {
        match groups.iter_mut().find(|it| it.0 == key) {
            Some((_, group)) => group.push(*item),
            None => groups.push((key, vec![*item])),
        }
    }
    let mut parts: Vec<Vec<T>> = Vec::new();
    for (_, group) in groups {
        match parts.last_mut() {
            Some(last) if last.len() + group.len() <= MOST_SERIES => last.extend(group),
            _ => {
                let pieces = group.len().div_ceil(MOST_SERIES);
                let each = group.len().div_ceil(pieces);
                parts.extend(group.chunks(each).map(<[T]>::to_vec));
            }
        }
    }
    parts
}

/// Colours in `plot.css`.
const COLOURS: usize = 7;

/// What the paper says.
fn told(reported: &Reported, shown: &Shown<'_>) -> String {
    format!(
        "paper, {}: {}",
        reported.place,
        shown.unit.range([reported.least, reported.most])
    )
}

/// Writes what a figure's values are above its axis: in two lines, where one is too narrow.
fn axis_title(svg: &mut Svg, shown: &Shown<'_>, logarithmic: bool, width: f64) {
    /// Titles are bold.
    const BOLD: f64 = 1.15;
    let mut text = title_of(shown);
    if logarithmic {
        text.push_str(" (logarithmic)");
    }
    let spaces = text.match_indices(' ').map(|(at, _)| at);
    let wider = |at: &usize| width_of(&text[..*at]).max(width_of(&text[at + 1..]));
    let middle = spaces.min_by(|one, other| wider(one).total_cmp(&wider(other)));
    match middle {
        Some(at) if width_of(&text) * BOLD > width => {
            svg.text("title", (0.0, 10.0), Anchor::Start, &text[..at]);
            svg.text("title", (0.0, 25.0), Anchor::Start, &text[at + 1..]);
        }
        _ => svg.text("title", (0.0, 16.0), Anchor::Start, &text),
    }
}

fn title_of(shown: &Shown<'_>) -> String {
    let unit = shown.unit.name;
    let (quantity, by, baseline) = super::values::shows(&shown.figure.shows);
    let what = format!(
        "{} {}",
        super::words::estimate(by),
        super::words::quantity(quantity)
    );
    match (&shown.figure.shows, baseline) {
        (Shows::Impact { .. } | Shows::Modelled { .. }, Some(baseline)) => {
            format!("{what}, {unit} of {baseline}")
        }
        (Shows::Increment { .. }, Some(baseline)) => format!("{what}, {unit} more than {baseline}"),
        (Shows::Added { .. }, Some(baseline)) => format!("{what} more than {baseline}, {unit}"),
        (Shows::Portion { whole, .. }, _) => {
            format!("{what}, {unit} of {}", super::words::quantity(*whole))
        }
        (Shows::Overhead { .. }, Some(baseline)) => {
            format!("{what}, {unit} of it more than {baseline}")
        }
        (Shows::Factor { .. }, Some(baseline)) => {
            format!("{what}: that of {baseline}, {unit}")
        }
        (Shows::Share { .. }, _) => format!("share of {what}, {unit}"),
        (Shows::Parts { .. }, _) => format!("{what}, parts of one whole, {unit}"),
        (Shows::Allocation { .. }, _) => format!(
            "share of the variation of the {}, {unit}",
            super::words::quantity(quantity)
        ),
        (Shows::Drawn { finding, .. }, _) => format!("{}, {unit}", super::words::finding(finding)),
        _ => format!("{what}, {unit}"),
    }
}

/// A line of the legend.
struct Entry {
    label: String,
    colour: usize,
    sample: Sample,
}

/// What stands before a line of the legend.
enum Sample {
    /// A line with the mark of this shape.
    Line(usize),
    /// The mark of what a paper reported.
    Paper,
    /// A part of a bar in this shade, with what it is called there.
    Part(usize, String),
}

/// The class of what a part in this shade is called: the deepest has the colour of paper on it.
fn key_class(shade: usize) -> &'static str {
    if shade == 0 { "key" } else { "label" }
}

/// Draws a legend from this height down, and returns where it ends. An entry that is wider than the
/// drawing goes on in further lines.
fn legend(svg: &mut Svg, entries: &[Entry], (left, top): (f64, f64), right: f64) -> f64 {
    const SAMPLE: f64 = 30.0;
    const GAP: f64 = 18.0;
    let (mut x, mut y) = (left, top + LEGEND_LINE / 2.0);
    for entry in entries {
        let lines = wrapped(&entry.label, right - left - SAMPLE);
        let widest = lines.iter().map(|line| width_of(line));
        let width = SAMPLE + widest.fold(0.0, f64::max) + GAP;
        if (x + width > right || lines.len() > 1) && x > left {
            (x, y) = (left, y + LEGEND_LINE);
        }
        let colour = entry.colour;
        match &entry.sample {
            Sample::Line(shape) => {
                let class = format!("line c{colour} d{}", *shape % 5);
                svg.line(&class, (x, y), (x + 24.0, y));
                svg.mark(*shape, &format!("mark c{colour}"), (x + 12.0, y), 3.6);
            }
            Sample::Paper => svg.diamond(&format!("paper c{colour}"), (x + 12.0, y), 5.0),
            Sample::Part(shade, key) => {
                let class = format!("bar c{colour} s{shade}");
                svg.rectangle(&class, (x, y - 7.0), 24.0, 14.0);
                svg.text(key_class(*shade), (x + 12.0, y + 4.0), Anchor::Middle, key);
            }
        }
        for (number, line) in lines.iter().enumerate() {
            if number > 0 {
                y += LEGEND_LINE;
            }
            svg.text("label", (x + SAMPLE, y + 4.0), Anchor::Start, line);
        }
        x += width;
        if lines.len() > 1 {
            // Nothing stands beside an entry of several lines.
            x = x.max(right);
        }
    }
    y + LEGEND_LINE / 2.0
}

/// A label in as many lines as it takes, broken between words.
fn wrapped(label: &str, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in label.split(' ') {
        match lines.last_mut() {
            Some(line) if width_of(line) + width_of(" ") + width_of(word) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_plot_has_more_than_seven_series_and_groups_stay_together() {
        let sizes = |groups: &[usize]| -> Vec<usize> {
            let items = groups.iter().enumerate();
            let items = items.flat_map(|(key, size)| vec![(key, ()); *size]);
            let parts = parted(&items.collect::<Vec<_>>());
            parts.iter().map(Vec::len).collect()
        };
        assert_eq!(sizes(&[7]), [7]);
        assert_eq!(sizes(&[8]), [4, 4]);
        assert_eq!(sizes(&[5, 5]), [5, 5]);
        assert_eq!(sizes(&[3, 4, 1]), [7, 1]);
        assert_eq!(sizes(&[15]), [5, 5, 5]);
    }

    #[test]
    fn long_labels_go_on_in_further_lines() {
        let label = "secure-conversation/Basic256, EmployeeDetails · soapstone";
        assert_eq!(wrapped(label, 1000.0), [label]);
        let lines = wrapped(label, 290.0);
        assert_eq!(lines.join(" "), label);
        assert!(lines.len() > 1 && lines.iter().all(|line| width_of(line) <= 290.0));
    }
}
