//! Names of cases and points, and the segments of them that a filter asks for.
//!
//! The rule kept here: a filter is compared with whole segments: `books/2500` is in `1/books/2500`,
//! and neither in `books/25000` nor in `2500/books`.

use std::collections::BTreeSet;

/// As many segments as are told to somebody whose own are in no name.
const TOLD: usize = 4;

/// Whether the name has these segments in it, one after another.
pub(crate) fn has(name: &str, wanted: &str) -> bool {
    format!("/{name}/").contains(&format!("/{wanted}/"))
}

/// What there is in the names that comes nearest to the segments that were wanted, the nearest
/// first: as many segments, of which the first is the same (the axis of `books/2500`), or no more
/// than a third of the characters others. Empty, where there is nothing like it.
pub(crate) fn near(names: &[String], wanted: &str) -> Vec<String> {
    let length = wanted.split('/').count();
    let mut candidates = BTreeSet::new();
    for name in names {
        let segments: Vec<&str> = name.split('/').collect();
        candidates.extend(segments.windows(length).map(|them| them.join("/")));
    }
    let far = wanted.chars().count() / 3;
    let axis = wanted.split_once('/').map(|(axis, _)| format!("{axis}/"));
    let is_on_axis = |it: &str| axis.as_ref().is_some_and(|axis| it.starts_with(axis));
    let mut near: Vec<(usize, String)> = candidates
        .into_iter()
        .map(|candidate| (distance(&candidate, wanted), candidate))
        .filter(|(distance, candidate)| *distance <= far || is_on_axis(candidate))
        .collect();
    near.sort();
    near.truncate(TOLD);
    near.into_iter().map(|(_, candidate)| candidate).collect()
}

/// Characters to put in, to leave out or to change, until one is the other (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (above, character) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = above + 1;
        for (column, there) in other.iter().enumerate() {
            let changed = diagonal + usize::from(*there != character);
            diagonal = row[column + 1];
            row[column + 1] = changed.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_whole() {
        let name = "mchale2012/1/figures-5-6/books/2500";
        for (wanted, is_there) in [
            ("books/2500", true),
            ("mchale2012", true),
            ("books/250", false),
            ("ooks", false),
            ("2500/books", false),
        ] {
            assert_eq!(has(name, wanted), is_there, "{wanted}");
        }
    }

    #[test]
    fn the_nearest_segments_come_first_and_nothing_comes_of_what_is_like_none() {
        let names = ["75x100", "100x5", "15x3000"].map(|load| format!("figure-11/load/{load}"));
        assert_eq!(
            near(&names, "load/1000x5"),
            ["load/100x5", "load/15x3000", "load/75x100"]
        );
        assert_eq!(near(&names, "figure-12"), ["figure-11"]);
        assert_eq!(near(&names, "figure-11/lad"), ["figure-11/load"]);
        assert_eq!(near(&names, "books/1"), <[&str; 0]>::default());
    }

    #[test]
    fn each_character_put_in_left_out_or_changed_counts_once() {
        for (one, other, expected) in [
            ("", "abc", 3),
            ("books", "books", 0),
            ("kitten", "sitting", 3),
            ("1000x5", "100x5", 1),
        ] {
            assert_eq!(distance(one, other), expected);
            assert_eq!(distance(other, one), expected);
        }
    }
}
