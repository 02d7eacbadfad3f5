//! The values of a figure as CSV (RFC 4180): one row for each value, the paper's beside it.
//!
//! The rule kept here: values are in the unit that the column `unit` names, with all their digits.

use super::number::Unit;
use super::shown::Shown;
use super::values::shows;
use crate::study::{Quantity, Shows};

/// The file.
pub(super) fn file(shown: &Shown<'_>) -> String {
    let mut axes: Vec<&str> = shown
        .series
        .iter()
        .flat_map(|it| &it.values)
        .flat_map(|it| it.at.keys().map(String::as_str))
        .collect();
    axes.sort_unstable();
    axes.dedup();
    let mut text = String::new();
    let head = ["study", "experiment", "figure", "stack", "arm"];
    let tail = [
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
    row(&mut text, head.iter().chain(&axes).chain(&tail).copied());
    let unit = unit(&shown.figure.shows);
    for series in &shown.series {
        for value in &series.values {
            let mut cells = vec![
                shown.study.name.to_owned(),
                shown.experiment.number.to_string(),
                shown.figure.shown_in.to_owned(),
                series.stack.to_string(),
                series.arm.clone(),
            ];
            let at = axes.iter();
            cells.extend(at.map(|axis| value.at.get(*axis).cloned().unwrap_or_default()));
            let or_nothing = |it: Option<f64>| it.map(|it| it.to_string()).unwrap_or_default();
            let reported = shown.reported(&series.arm, &value.at);
            cells.extend([
                value.value.to_string(),
                or_nothing(value.spread.map(|it| it[0])),
                or_nothing(value.spread.map(|it| it[1])),
                unit.to_owned(),
                value.n.to_string(),
                or_nothing(value.floor),
                or_nothing(reported.map(|it| it.least)),
                or_nothing(reported.map(|it| it.most)),
                reported.map(|it| it.place.clone()).unwrap_or_default(),
            ]);
            row(&mut text, cells.iter().map(String::as_str));
        }
    }
    text
}

/// The unit that values of lines have, undivided.
fn unit(of: &Shows) -> &'static str {
    match (of, shows(of).0) {
        (Shows::Itself(..) | Shows::Parts { .. } | Shows::Added { .. }, quantity) => match quantity
        {
            Quantity::Rate => "calls/s",
            Quantity::Memory => "bytes",
            Quantity::Lost | Quantity::Below => "calls",
            Quantity::Met => "%",
            counted if counted.is_counted() => "bytes",
            _ => "µs",
        },
        _ => Unit::of(of, 0.0).name,
    }
}

fn row<'a>(text: &mut String, cells: impl Iterator<Item = &'a str>) {
    for (place, cell) in cells.enumerate() {
        if place > 0 {
            text.push(',');
        }
        if cell.contains([',', '"', '\n', '\r']) {
            text.push('"');
            text.push_str(&cell.replace('"', "\"\""));
            text.push('"');
        } else {
            text.push_str(cell);
        }
    }
    text.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_with_commas_and_quotes_are_quoted() {
        let mut text = String::new();
        row(&mut text, ["a", "b,c", "d \"e\"", ""].into_iter());
        assert_eq!(text, "a,\"b,c\",\"d \"\"e\"\"\",\r\n");
    }
}
