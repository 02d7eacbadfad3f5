//! Timestamps that were written anew after they were signed: with another end, or in another form.
//!
//! The rule kept here: moments are guessed second by second near the one that stands there, and
//! what fits is proven by the digest.

use jiff::{SignedDuration, Timestamp};
use soapstone_wss::parse_date_time;

use crate::cause::Step;
use crate::search::{Budget, Test};
use crate::tokens::{Kind, tokens};

/// Seconds around a moment that are tried one by one.
const NEAR: i64 = 2 * 3600;
/// Minutes behind it that are tried.
const FAR: i64 = 7 * 24 * 60;

/// What was done to the timestamp with this canonical form.
pub(crate) fn rewritten(
    form: &[u8],
    budget: &mut Budget,
    test: &mut Test<'_>,
) -> Option<Vec<Step>> {
    let texts = texts(form);
    written_otherwise(form, &texts, budget, test)
        .or_else(|| both_moved(form, &texts, budget, test))
        .or_else(|| one_moved(form, &texts, budget, test))
}

/// A moment of a form, and where it stands.
type Found = (usize, usize, Timestamp);

/// The form with each moment written by `written`.
fn with_moments(form: &[u8], texts: &[Found], written: impl Fn(Timestamp) -> String) -> Vec<u8> {
    let mut out = form.to_vec();
    for (start, end, moment) in texts.iter().rev() {
        out.splice(*start..*end, written(*moment).into_bytes());
    }
    out
}

/// The same moments in another form.
fn written_otherwise(
    form: &[u8],
    texts: &[Found],
    budget: &mut Budget,
    test: &mut Test<'_>,
) -> Option<Vec<Step>> {
    let mut tried = |says: String, written: &dyn Fn(Timestamp) -> String| {
        let out = with_moments(form, texts, written);
        let steps = budget
            .take(out.len())
            .then(|| test(&out, false))
            .flatten()?;
        let step = Step::new("timestamp-format", says);
        Some(std::iter::once(step).chain(steps).collect())
    };
    let patterns: [(&str, &str); 6] = [
        ("milliseconds", "%Y-%m-%dT%H:%M:%S.%3fZ"),
        ("no fraction of seconds", "%Y-%m-%dT%H:%M:%SZ"),
        ("the zone +00:00", "%Y-%m-%dT%H:%M:%S+00:00"),
        (
            "milliseconds and the zone +00:00",
            "%Y-%m-%dT%H:%M:%S.%3f+00:00",
        ),
        ("seven digits of a fraction", "%Y-%m-%dT%H:%M:%S.%7fZ"),
        ("nine digits of a fraction", "%Y-%m-%dT%H:%M:%S.%9fZ"),
    ];
    // A fraction that is left out would be another moment.
    let is_whole = |(_, _, moment): &Found| moment.subsec_nanosecond() == 0;
    let all_whole = texts.iter().all(is_whole);
    for (name, pattern) in patterns {
        let keeps = pattern.contains('f') || all_whole;
        let written = |moment: Timestamp| moment.strftime(pattern).to_string();
        if keeps && let Some(found) = tried(format!("its moments written with {name}"), &written) {
            return Some(found);
        }
    }
    // Local time, which somebody on the way brought to UTC.
    for quarter in (-48..=56).filter(|quarter| *quarter != 0) {
        let offset = SignedDuration::from_mins(quarter * 15);
        let sign = if quarter < 0 { '-' } else { '+' };
        let (hours, minutes) = ((quarter.abs() * 15) / 60, (quarter.abs() * 15) % 60);
        for fraction in ["", ".%3f"] {
            if fraction.is_empty() && !all_whole {
                continue;
            }
            let pattern = format!("%Y-%m-%dT%H:%M:%S{fraction}");
            let written = |moment: Timestamp| {
                let local = moment.checked_add(offset).unwrap_or(moment);
                let local = local.strftime(&pattern);
                format!("{local}{sign}{hours:02}:{minutes:02}")
            };
            let says = format!("its moments in the zone {sign}{hours:02}:{minutes:02}");
            if let Some(found) = tried(says, &written) {
                return Some(found);
            }
        }
    }
    // Milliseconds that were lost on the way: both moments mostly have the same.
    for milliseconds in (1..1000).filter(|_| all_whole) {
        let written = |moment: Timestamp| {
            let whole = moment.strftime("%Y-%m-%dT%H:%M:%S");
            format!("{whole}.{milliseconds:03}Z")
        };
        let says = format!("its moments with .{milliseconds:03} seconds, which were lost");
        if let Some(found) = tried(says, &written) {
            return Some(found);
        }
    }
    None
}

/// A moment as it is written, moved by so many seconds. `None` where the text has another length
/// then, and no `xsd:dateTime` in front.
fn moved(written: &[u8], from: Timestamp, seconds: i64) -> Option<String> {
    // Only what is behind the seconds has other forms.
    let behind = std::str::from_utf8(written).ok()?.get(19..)?;
    let other = from.checked_add(SignedDuration::from_secs(seconds)).ok()?;
    let text = format!("{}{behind}", other.strftime("%Y-%m-%dT%H:%M:%S"));
    (text.len() == written.len()).then_some(text)
}

/// Both moments moved by the same time.
fn both_moved(
    form: &[u8],
    texts: &[Found],
    budget: &mut Budget,
    test: &mut Test<'_>,
) -> Option<Vec<Step>> {
    if texts.len() < 2 {
        return None;
    }
    let hours = (-26..=26).map(|half| half * 1800);
    let days = [-7, -1, 1, 7].map(|day| day * 86_400);
    let near = -NEAR / 4..=NEAR / 4;
    for seconds in hours.chain(days).chain(near).filter(|it| *it != 0) {
        let mut out = form.to_vec();
        for (start, end, moment) in texts {
            let text = moved(&form[*start..*end], *moment, seconds)?;
            out[*start..*end].copy_from_slice(text.as_bytes());
        }
        if !budget.take(out.len()) {
            return None;
        }
        if let Some(steps) = test(&out, true) {
            let says = format!(
                "both moments moved by {seconds} s: they were changed after they were signed"
            );
            let step = Step::new("timestamp-changed", says);
            return Some(std::iter::once(step).chain(steps).collect());
        }
    }
    None
}

/// One moment changed.
fn one_moved(
    form: &[u8],
    texts: &[Found],
    budget: &mut Budget,
    test: &mut Test<'_>,
) -> Option<Vec<Step>> {
    for (place, (start, end, moment)) in texts.iter().enumerate().rev() {
        let first = texts.first().map_or(*moment, |(_, _, first)| *first);
        let seconds = (-NEAR..=NEAR).map(|second| (*moment, second));
        let minutes = (1..=FAR).map(|minute| (first, minute * 60));
        let mut out = form.to_vec();
        for (from, second) in seconds.chain(minutes) {
            let Some(text) = moved(&form[*start..*end], from, second) else {
                continue;
            };
            out[*start..*end].copy_from_slice(text.as_bytes());
            if !budget.take(out.len()) {
                return None;
            }
            if let Some(steps) = test(&out, true) {
                let which = if place == 0 { "Created" } else { "Expires" };
                let says = format!("{text} in wsu:{which}: it was changed after it was signed");
                let step = Step::new("timestamp-changed", says);
                return Some(std::iter::once(step).chain(steps).collect());
            }
        }
    }
    None
}

/// The moments of a form.
fn texts(form: &[u8]) -> Vec<Found> {
    let mut found = Vec::new();
    let mut at = 0;
    for (kind, token) in tokens(form) {
        if kind == Kind::Text
            && let Ok(text) = std::str::from_utf8(token)
            && let Some(moment) = parse_date_time(text)
            && found.len() < 2
        {
            found.push((at, at + token.len(), moment));
        }
        at += token.len();
    }
    found
}
