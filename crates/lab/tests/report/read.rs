//! Reads pages as a browser would show them, and files of values: tables, cells, numbers. And makes
//! the lines that they are of.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use soapstone_lab::report::{Report, Run};
use soapstone_lab::statistics::Figures;
use soapstone_lab::studies;

use super::csv::cells;

/// The text between two others, the first time.
pub(super) fn between<'t>(text: &'t str, begin: &str, end: &str) -> &'t str {
    let from = text
        .find(begin)
        .unwrap_or_else(|| panic!("{begin} is not there"))
        + begin.len();
    let to = text[from..]
        .find(end)
        .unwrap_or_else(|| panic!("{end} is not there"));
    &text[from..from + to]
}

/// Cells of a table of this class in this article, each row as a list; what is in small print is
/// left out.
pub(super) fn table(page: &str, article: &str, class: &str) -> Vec<Vec<String>> {
    let article = between(page, &format!("<article id=\"{article}\">"), "</article>");
    let table = between(article, &format!("<table class=\"{class}\">"), "</table>");
    let rows = table.split("<tr>").skip(1);
    rows.map(|row| {
        let cells = row.split("</td>").flat_map(|it| it.split("</th>"));
        let cells = cells.filter(|it| it.contains("<td") || it.contains("<th"));
        cells
            .map(|cell| {
                let text = cell.split("<small>").next().unwrap_or_default();
                let begin = text.rfind('>').map_or(0, |it| it + 1);
                text[begin..].to_owned()
            })
            .collect()
    })
    .collect()
}

/// A number as the report writes it, read back.
pub(super) fn number(text: &str) -> f64 {
    let plain = text.replace(',', "").replace('−', "-");
    plain
        .parse()
        .unwrap_or_else(|_| panic!("{text} is no number"))
}

/// Whether a number is told with three digits at least.
pub(super) fn close(told: &str, expected: f64) {
    let read = number(told);
    // Three digits are shown at least.
    assert!(
        (read - expected).abs() <= expected.abs() * 0.006 + 1e-9,
        "told {told}, expected {expected}"
    );
}

/// Rows of a CSV file, each cell by the name of its column.
pub(super) fn csv(contents: &str) -> Vec<BTreeMap<String, String>> {
    let mut lines = contents.lines();
    let head = cells(lines.next().expect("a head"));
    let rows = lines.map(|row| head.iter().cloned().zip(cells(row)).collect());
    rows.collect()
}

/// The CSV file of a figure, in a report of all studies.
pub(super) fn values(runs: &[Run], figure: &str) -> Vec<BTreeMap<String, String>> {
    let files = Report::of(studies::ALL, runs).attachments();
    let name = format!("{figure}.csv");
    let file = files.iter().find(|it| it.name == name);
    csv(&file.unwrap_or_else(|| panic!("no {name}")).contents)
}

/// A line of JSON as runs leave it.
pub(super) fn line(
    (study, experiment, shown_in): (&str, u8, &str),
    at: &Value,
    (stack, arm): (&str, &str),
    quantity: &str,
    samples: &[f64],
) -> Value {
    json!({
        "study": study, "experiment": experiment, "shown_in": shown_in, "at": at, "stack": stack, "arm": arm,
        "quantity": quantity, "figures": Figures::of(samples).expect("figures"), "samples": samples,
    })
}

/// Chance that is the same each time.
pub(super) struct Chance(pub(super) u64);

impl Chance {
    /// From 0 to 1.
    pub(super) fn share(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// So many samples around a middle, as far from it as a share of it.
    pub(super) fn samples(&mut self, count: usize, middle: f64, spread: f64) -> Vec<f64> {
        let sample = |_| middle * (1.0 + spread * (2.0 * self.share() - 1.0));
        (0..count).map(sample).collect()
    }
}

#[test]
fn no_plot_of_lines_has_more_than_seven_series() {
    let runs = super::everything::everything();
    let files = Report::of(studies::ALL, &runs).attachments();
    let mut panels = 0;
    for file in files.iter().filter(|it| it.name.ends_with(".svg")) {
        for panel in file.contents.split("<g class=\"panel\"") {
            let lines = panel.matches("<polyline class=\"line").count();
            assert!(lines <= 7, "{}: {lines}", file.name);
        }
        panels += file.contents.matches("<g class=\"panel\"").count();
    }
    assert!(panels > 1, "{panels}");
}
