//! `clock = { … }`: the clock of a peer that does not keep time.
//!
//! The rule kept here: what is learnt has a bound.

use std::time::Duration;

use jiff::SignedDuration;

use super::problem::Place;
use super::quoting::OTHER_TEXT;
use super::table::Table;
use super::values::parse_duration;

/// From what a clock is learnt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClockSource {
    /// The `Date` of HTTP answers.
    Date,
    /// The `wsu:Timestamp` of answers.
    Timestamp,
    /// The answer of a device to `GetSystemDateAndTime` of ONVIF.
    Onvif {
        /// The path of its device management service.
        device: String,
    },
}

/// `from` as it is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Source {
    Date,
    Timestamp,
    Onvif,
}

/// By how much a clock is off.
#[derive(Clone, Debug, PartialEq, Eq)]
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
#[derive(Clone, Debug)]
pub struct ClockConfig {
    /// Where the table begins.
    pub place: Place,
    /// By how much it is off.
    pub offset: ClockOffset,
}

/// Most that is believed of a clock that is learnt, where the file says nothing.
const LIMIT: Duration = Duration::from_secs(3_600);

/// The path that the ONVIF Core Specification fixes for the device management service, which is the
/// entry point of a device.
const DEVICE_SERVICE: &str = "/onvif/device_service";

/// Reads the table to its end. `None` where it says no offset, which is reported.
pub(super) fn read_clock(mut table: Table<'_>) -> Option<ClockConfig> {
    const EXPECTED: &str = "`offset` must be \"auto\" or a duration with a sign, such as \"-37s\"";
    let place = table.place();
    let offset = table.required_string("offset", "for example offset = \"-37s\", or \"auto\"");
    let from = table.choice(
        "from",
        &[
            ("date", Source::Date),
            ("timestamp", Source::Timestamp),
            ("onvif", Source::Onvif),
        ],
    );
    let device = read_device(&mut table, from.as_ref().map(|from| from.value));
    let limit = table.duration("limit");
    let read = offset.and_then(|offset| {
        if offset.value == "auto" {
            return Some(ClockOffset::Learnt {
                from: match from.as_ref().map(|from| from.value) {
                    None | Some(Source::Date) => ClockSource::Date,
                    Some(Source::Timestamp) => ClockSource::Timestamp,
                    Some(Source::Onvif) => ClockSource::Onvif { device },
                },
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

/// The longest path that a device is asked at.
const LONGEST_PATH: usize = 1_024;

/// Whether a byte may stand in a path or in a query (RFC 3986, 3.3 and 3.4).
fn may_stand_in_a_path(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:@/?".contains(&byte)
}

/// Reads `device`: the path that a device is asked at.
fn read_device(table: &mut Table<'_>, from: Option<Source>) -> String {
    let Some(device) = table.string("device") else {
        return DEVICE_SERVICE.to_owned();
    };
    let is_path = device.value.starts_with('/')
        && !device.value.starts_with("//")
        && device.value.len() <= LONGEST_PATH
        && device.value.bytes().all(may_stand_in_a_path);
    if from != Some(Source::Onvif) {
        table.report_with_hint(
            device.place,
            "`device` is of a device that is asked for its clock",
            "leave it out, or say from = \"onvif\"",
        );
    } else if !is_path {
        table.report_with_hint(
            device.place,
            format!("`device` must be a path on the backend's host, found {OTHER_TEXT}"),
            format!("for example device = \"{DEVICE_SERVICE}\""),
        );
    }
    device.value
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
