//! The order in which elements stand: references of a signature, and children that a program wrote
//! anew.

use std::ops::Range;
use std::sync::Arc;

use crate::read::MOST;
use crate::search::Change;
use crate::tokens::{Kind, find, name_end, prefix, tokens};

/// References of which each order is tried.
const ALL_ORDERS: usize = 4;

/// Neighbours that are tried in the other order.
const MOST_NEIGHBOURS: usize = 64;

/// The references of a `ds:SignedInfo` in another order than that of the message. Of more than are
/// looked at of a signature ([`read::MOST`](MOST)), no order is tried: each is as long as their
/// number.
pub(super) fn references(form: &[u8], changes: &mut Vec<Change>) {
    let found: Arc<[Range<usize>]> = elements(form)
        .into_iter()
        .filter(|element| element.depth == 1 && element.name == b"Reference")
        .map(|element| element.range)
        .take(MOST + 1)
        .collect();
    if found.len() > MOST {
        return;
    }
    for (order, says) in orders(found.len()) {
        let found = Arc::clone(&found);
        let apply = move |form: &[u8]| Some(arranged(form, &found, &order));
        changes.push(Change::new("reference-order", says, apply).alone());
    }
}

/// Two neighbours in the other order.
pub(super) fn neighbours(form: &[u8], changes: &mut Vec<Change>) {
    let elements = elements(form);
    let followed = elements.iter().enumerate().filter_map(|(number, first)| {
        let inner = elements[number + 1..].iter();
        let second = inner
            .take_while(|other| other.depth >= first.depth)
            .find(|other| other.depth == first.depth)?;
        let between = &form[first.range.end..second.range.start];
        let is_other = form[first.range.clone()] != form[second.range.clone()];
        (is_other && between.iter().all(u8::is_ascii_whitespace)).then_some((first, second))
    });
    for (first, second) in followed.take(MOST_NEIGHBOURS) {
        let says = format!(
            "the element `{}` in front of `{}`",
            String::from_utf8_lossy(second.name),
            String::from_utf8_lossy(first.name)
        );
        let pair = [first.range.clone(), second.range.clone()];
        let apply = move |form: &[u8]| Some(arranged(form, &pair, &[1, 0]));
        changes.push(Change::new("element-order", says, apply).alone());
    }
}

/// An element of a canonical form.
struct Element<'f> {
    /// Its local name.
    name: &'f [u8],
    /// 0 for the outermost.
    depth: usize,
    range: Range<usize>,
}

/// The elements in the order in which they begin.
fn elements(form: &[u8]) -> Vec<Element<'_>> {
    let mut found: Vec<Element<'_>> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut at = 0;
    for (kind, token) in tokens(form) {
        match kind {
            Kind::Start => {
                let name = token.get(1..name_end(token)).unwrap_or_default();
                let colon = match prefix(name) {
                    [] => 0,
                    prefix => prefix.len() + 1,
                };
                open.push(found.len());
                found.push(Element {
                    name: &name[colon..],
                    depth: open.len() - 1,
                    range: at..at,
                });
            }
            Kind::End => {
                if let Some(number) = open.pop() {
                    found[number].range.end = at + token.len();
                }
            }
            Kind::Text | Kind::Other => {}
        }
        at += token.len();
    }
    found.retain(|element| !element.range.is_empty());
    found
}

/// The orders of so many references that are tried, but for the one that they have, with words for
/// each: every one of a few, and of more those in which one is at another end, two neighbours
/// change places, or all are reversed.
fn orders(count: usize) -> Vec<(Vec<usize>, String)> {
    let as_is: Vec<usize> = (0..count).collect();
    let mut all = match count <= ALL_ORDERS {
        true => every_order(count),
        false => near_orders(&as_is),
    };
    all.retain(|(order, _)| *order != as_is);
    all.sort();
    all.dedup_by(|one, other| one.0 == other.0);
    all
}

fn every_order(count: usize) -> Vec<(Vec<usize>, String)> {
    let mut all = vec![Vec::new()];
    for _ in 0..count {
        let longer = |order: Vec<usize>| {
            let left: Vec<usize> = (0..count).filter(|one| !order.contains(one)).collect();
            left.into_iter()
                .map(move |one| [&order[..], &[one]].concat())
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    let told = |order: Vec<usize>| {
        let names: Vec<String> = order.iter().map(|place| (place + 1).to_string()).collect();
        let names = names.join(", ");
        let says = format!("the references of the signature in the order {names}");
        (order, says)
    };
    all.into_iter().map(told).collect()
}

/// Few of the orders of many, told by what moved.
fn near_orders(as_is: &[usize]) -> Vec<(Vec<usize>, String)> {
    let reversed = as_is.iter().rev().copied().collect();
    let says = "the references of the signature in the reverse order";
    let mut all = vec![(reversed, says.to_owned())];
    for one in as_is.iter().copied() {
        let others = as_is.iter().copied().filter(|other| *other != one);
        let others: Vec<usize> = others.collect();
        let name = one + 1;
        all.push((
            [&[one], &others[..]].concat(),
            format!("reference {name} of the signature in front of all others"),
        ));
        all.push((
            [&others[..], &[one]].concat(),
            format!("reference {name} of the signature behind all others"),
        ));
        let mut neighbours = as_is.to_vec();
        if one + 1 < as_is.len() {
            neighbours.swap(one, one + 1);
            let says = format!(
                "reference {} of the signature in front of reference {name}",
                name + 1
            );
            all.push((neighbours, says));
        }
    }
    all
}

/// The form with what stands at `places` in another order. What is between them stays.
fn arranged(form: &[u8], places: &[Range<usize>], order: &[usize]) -> Vec<u8> {
    let mut out = Vec::with_capacity(form.len());
    let mut copied = 0;
    for (place, from) in places.iter().zip(order) {
        out.extend_from_slice(&form[copied..place.start]);
        out.extend_from_slice(&form[places[*from].clone()]);
        copied = place.end;
    }
    out.extend_from_slice(&form[copied..]);
    out
}

/// What programs put between tags: processing instructions.
pub(super) fn instructions(form: &[u8], changes: &mut Vec<Change>) {
    if find(form, b"<?").is_some() {
        changes.push(Change::new(
            "processing-instruction",
            "the processing instructions left out",
            |form| {
                let kept = tokens(form)
                    .filter(|(kind, token)| *kind != Kind::Other || !token.starts_with(b"<?"));
                Some(kept.flat_map(|(_, token)| token.to_vec()).collect())
            },
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_change_places_and_what_is_between_them_stays() {
        let form = b"<a><b>1</b> <c><b>2</b></c>t<b>3</b></a>";
        let mut changes = Vec::new();
        neighbours(form, &mut changes);
        let [change] = &changes[..] else {
            panic!("expected one pair, found {}", changes.len());
        };
        let changed = (change.apply)(form).expect("another order");
        assert_eq!(changed, b"<a><c><b>2</b></c> <b>1</b>t<b>3</b></a>");
    }

    #[test]
    fn each_order_is_tried_once_and_of_many_no_more_than_a_few() {
        let tried = |count| orders(count).into_iter().map(|(order, _)| order);
        assert_eq!(tried(0).count() + tried(1).count(), 0);
        assert!(tried(2).eq([[1, 0]]));
        assert_eq!(tried(4).count(), 23);
        let many: Vec<Vec<usize>> = tried(6).collect();
        assert!(many.contains(&vec![5, 4, 3, 2, 1, 0]) && many.contains(&vec![0, 2, 1, 3, 4, 5]));
        assert!(many.len() < 20, "{}", many.len());
    }

    #[test]
    fn of_as_many_references_as_nobody_writes_no_order_is_tried() {
        let tried = |count: usize| {
            let form = format!("<s>{}</s>", "<r:Reference></r:Reference>".repeat(count));
            let mut changes = Vec::new();
            references(form.as_bytes(), &mut changes);
            assert!(changes.iter().all(|change| change.step.says.len() < 80));
            changes.len()
        };
        assert_eq!(tried(MOST), 3 * MOST - 4);
        assert_eq!((tried(MOST + 1), tried(80_000)), (0, 0));
    }

    #[test]
    fn broken_markup_has_elements_without_panic() {
        for broken in ["<", "<a", "</a>", "<a><b></a>", "<>", "<:></:>"] {
            let _ = elements(broken.as_bytes());
        }
    }
}
