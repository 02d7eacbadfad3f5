//! `clock = { … }`: the clock of a peer that does not keep time.
//!
//! The rule kept here: what is learnt has a bound.

use std::time::Duration;

use jiff::SignedDuration;

use super::problem::Place;
use super::table::Table;
use super::values::parse_duration;

/// From what a clock is learnt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockSource {
    /// The `Date` of HTTP answers.
    Date,
    /// The `wsu:Timestamp` of answers.
    Timestamp,
}

/// By how much a clock is off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockOffset {
    /// It is ahead of ours by that much.
    Fixed(SignedDuration),
    /// As answers show.
    Learnt {
        /// In which way.
        from: ClockSource,
        /// Most that is believed.
        limit: Duration,
    },
}

/// `clock = { … }`.
#[derive(Clone, Copy, Debug)]
pub struct ClockConfig {
    /// Where the table begins.
    pub place: Place,
    /// By how much it is off.
    pub offset: ClockOffset,
}

/// Most that is believed of a clock that is learnt, where the file says nothing.
const LIMIT: Duration = Duration::from_secs(3_600);

/// Reads the table to its end. `None` where it says no offset, which is reported.
pub(super) fn read_clock(mut table: Table<'_>) -> Option<ClockConfig> {
    const EXPECTED: &str = "`offset` must be \"auto\" or a duration with a sign, such as \"-37s\"";
    let place = table.place();
    let offset = table.required_string("offset", "for example offset = \"-37s\", or \"auto\"");
    let from = table.choice(
        "from",
        &[
            ("date", ClockSource::Date),
            ("timestamp", ClockSource::Timestamp),
        ],
    );
    let limit = table.duration("limit");
    let read = offset.and_then(|offset| {
        if offset.value == "auto" {
            return Some(ClockOffset::Learnt {
                from: from.as_ref().map_or(ClockSource::Date, |from| from.value),
                limit: limit.as_ref().map_or(LIMIT, |limit| limit.value),
            });
        }
        let found = offset_of(&offset.value);
        if found.is_none() {
            table.report_with_hint(
                offset.place,
                EXPECTED,
                "less than nothing is a clock that is behind ours",
            );
        }
        found.map(ClockOffset::Fixed)
    });
    if let Some(ClockOffset::Fixed(_)) = read {
        for key in ["from", "limit"] {
            if let Some(place) = table.place_of(key) {
                table.report_with_hint(
                    place,
                    format!(
                        "`{key}` is of a clock that is learnt, and `offset` says how far it is off"
                    ),
                    "leave it out, or say offset = \"auto\"",
                );
            }
        }
    }
    table.finish();
    Some(ClockConfig {
        place,
        offset: read?,
    })
}

/// A duration with a sign, and nothing between the two.
fn offset_of(text: &str) -> Option<SignedDuration> {
    let (digits, is_behind) = match text.strip_prefix('-') {
        Some(digits) => (digits, true),
        None => (text.strip_prefix('+').unwrap_or(text), false),
    };
    if !digits.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    let duration = SignedDuration::try_from(parse_duration(digits)?).ok()?;
    Some(match is_behind {
        true => -duration,
        false => duration,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_a_duration_with_a_sign() {
        for (text, seconds) in [
            ("-37s", Some(-37)),
            ("37s", Some(37)),
            ("+1h30m", Some(5_400)),
            ("-2d", Some(-172_800)),
            ("--1s", None),
            ("- 1s", None),
            ("", None),
            ("1", None),
        ] {
            let expected = seconds.map(SignedDuration::from_secs);
            assert_eq!(offset_of(text), expected, "{text}");
        }
    }
}
