//! What the user's own factors explain, as lines of text.
//!
//! The rule kept here: the largest share first, and what errors explain last.

use super::number::number;
use super::shown::{Series, Shown};

/// A line for each factor, for factors together, and for errors.
pub(super) fn text(shown: &Shown<'_>) -> String {
    let share = |series: &&Series| series.values.first().map_or(0.0, |it| it.value);
    let mut all: Vec<&Series> = shown.series.iter().collect();
    all.sort_by(|one, other| {
        let is_last = |it: &Series| it.arm == "errors";
        let order = is_last(one).cmp(&is_last(other));
        order.then(f64::total_cmp(&share(other), &share(one)))
    });
    let width = all.iter().map(|it| it.arm.chars().count()).max();
    let width = width.unwrap_or_default();
    let mut text = "What the variation of mean times comes from:\n".to_owned();
    for series in all {
        let Some(value) = series.values.first() else {
            continue;
        };
        let name = format!("{:<width$}", series.arm);
        text.push_str(&format!("  {name}  {:>6} %", number(value.value)));
        if let Some([least, most]) = value.known() {
            text.push_str(&format!("  ({} to {} %)", number(least), number(most)));
        }
        text.push('\n');
    }
    text
}
