//! What calls of the user's own services cost, and what to choose for them.
//!
//! The rule kept here: every number is of lines of one run.

use super::Run;
use super::counted;
use super::front::{BOTH, Front, Time, chosen, cost, told};
use super::number::Unit;
use super::table::{Cell, Table};
use crate::studies::{CALLS_FIGURE, OWN};
use crate::study::{Line, Quantity};

/// The costs and the choice for each operation; `None`, if no run has calls of the user's.
pub(super) fn front(runs: &[Run]) -> Option<Front> {
    let calls = lines(runs, CALLS_FIGURE, Quantity::Time);
    let operations = each(&calls, |it| it.at.get("operation").map(String::as_str));
    let arms = each(&calls, |it| Some(it.arm.as_str()));
    let most = calls.iter().map(|it| it.figures.mean).fold(0.0, f64::max);
    let unit = Unit::of_quantity(Quantity::Time, most);
    let of = |operation: &str, arm: &str| {
        let mut found = calls.iter();
        let is_it =
            |it: &&&Line| it.arm == arm && it.at.get("operation").is_some_and(|it| it == operation);
        found.find(is_it).map(|it| Time::of(it))
    };
    let mut rows = Vec::new();
    for &arm in &arms {
        let mut row = vec![Cell::name(arm)];
        for &operation in &operations {
            let times = of(operation, arm).zip(of(operation, "none"));
            row.push(match times {
                Some((own, plain)) => cost(own, plain, &unit, arm == "none"),
                None => Cell::number("–"),
            });
        }
        rows.push(row);
    }
    let counts = lines(runs, (2, "conversations"), Quantity::Total);
    let counts = counts
        .iter()
        .filter_map(|it| it.at.get("messages")?.parse().ok());
    let most_calls = counts.fold(1.0, f64::max);
    let firsts = lines(runs, (4, "first-calls"), Quantity::Newcomer);
    let (mut choices, mut handshakes) = (Vec::new(), Vec::new());
    for &operation in &operations {
        let plain = of(operation, "none")?;
        let mut all = Vec::new();
        for &arm in &arms {
            let mechanism = arm.split('/').next().unwrap_or(arm);
            let Some(own) = of(operation, arm).filter(|_| BOTH.contains(&mechanism)) else {
                continue;
            };
            if mechanism != "secure-conversation" {
                all.push((arm, own));
                continue;
            }
            let is_first = |it: &&&Line| {
                it.arm == arm && it.at.get("operation").is_some_and(|it| it == operation)
            };
            // Without its handshake a conversation would look better than it is.
            let Some(first) = firsts.iter().find(is_first) else {
                continue;
            };
            let handshake = (first.figures.mean - own.value).max(0.0);
            all.push((arm, own.plus(handshake / most_calls)));
            handshakes.push(format!("{} for {arm} with {operation}", told(handshake)));
        }
        let load = format!("For calls of {operation}, {most_calls} a conversation");
        choices.extend(chosen(&load, all, plain));
    }
    let mut note = "Mean time of a call, one client that calls as soon as its last answer is there. direct is the call without gateways, none \
         the same way through both gateways without security. Beside it, as a multiple of none."
        .to_owned();
    if !handshakes.is_empty() {
        note.push_str(&format!(
            " A conversation begins with a handshake, which is not in the table: {}.",
            handshakes.join(", ")
        ));
    }
    let head = ["mechanism"].into_iter().chain(operations);
    (!rows.is_empty()).then(|| Front {
        id: "own-costs",
        title: "What do my calls cost, and what shall I use?",
        choices,
        costs: Table {
            head: head.map(Cell::text).collect(),
            rows,
        },
        note,
    })
}

fn lines<'r>(
    runs: &'r [Run],
    (experiment, figure): (u8, &str),
    quantity: Quantity,
) -> Vec<&'r Line> {
    let Some(experiment) = OWN.experiment(experiment) else {
        return Vec::new();
    };
    let mut lines = counted::latest(OWN, experiment, figure, runs);
    lines.retain(|it| it.quantity == quantity);
    lines
}

/// Each text once, in the order of the lines.
fn each<'l>(lines: &[&'l Line], of: impl Fn(&'l Line) -> Option<&'l str>) -> Vec<&'l str> {
    let mut found = Vec::new();
    for text in lines.iter().filter_map(|it| of(it)) {
        if !found.contains(&text) {
            found.push(text);
        }
    }
    found
}
