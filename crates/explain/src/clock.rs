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
    let forms: [(&str, &str); 6] = [
        ("milliseconds", "%Y-%m-%dT%H:%M:%S.000Z"),
        ("no milliseconds", "%Y-%m-%dT%H:%M:%SZ"),
        ("the zone +00:00", "%Y-%m-%dT%H:%M:%S+00:00"),
        (
            "milliseconds and the zone +00:00",
            "%Y-%m-%dT%H:%M:%S.000+00:00",
        ),
        ("seven digits of seconds", "%Y-%m-%dT%H:%M:%S.0000000Z"),
        ("milliseconds as they are", "%Y-%m-%dT%H:%M:%S.%3fZ"),
    ];
    for (name, pattern) in forms {
        let mut out = form.to_vec();
        for (start, end, moment) in texts.iter().rev() {
            let text = moment.strftime(pattern).to_string();
            out.splice(*start..*end, text.into_bytes());
        }
        if budget.take(out.len())
            && let Some(steps) = test(&out, false)
        {
            let step = Step::new(
                "timestamp-format",
                format!("its moments written with {name}"),
            );
            return Some(std::iter::once(step).chain(steps).collect());
        }
    }
    for (place, (start, end, moment)) in texts.iter().enumerate().rev() {
        let written = std::str::from_utf8(&form[*start..*end]).ok()?;
        // Only what is behind the seconds has other forms.
        let behind = written.get(19..)?;
        let first = texts.first().map_or(*moment, |(_, _, first)| *first);
        let seconds = (-NEAR..=NEAR).map(|second| (*moment, second));
        let minutes = (1..=FAR).map(|minute| (first, minute * 60));
        let mut out = form.to_vec();
        for (from, second) in seconds.chain(minutes) {
            let Ok(other) = from.checked_add(SignedDuration::from_secs(second)) else {
                continue;
            };
            let text = format!("{}{behind}", other.strftime("%Y-%m-%dT%H:%M:%S"));
            if text.len() != end - start {
                continue;
            }
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

/// The moments of a form, and where they stand.
fn texts(form: &[u8]) -> Vec<(usize, usize, Timestamp)> {
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
