//! Reads pages as a browser would show them: tables, cells, numbers. And makes the lines that they are of.

use serde_json::{Value, json};
use soapstone_lab::statistics::Figures;

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

/// Cells of a table of this class in this article, each row as a list; what is in small print is left out.
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
