//! Times on messages: `wsu:Timestamp` and the `wsu:Created` of a `UsernameToken`.
//!
//! The one rule: a time is believed only within the bounds of the plan, whatever the message says
//! of its own life.

use std::time::Duration;

use jiff::fmt::temporal::DateTimePrinter;
use jiff::{SignedDuration, Timestamp};
use soapstone_xml::Element;

use crate::attributes::only_attributes;
use crate::names::WSU;
use crate::rejected::Rejected;

/// How times are written.
const MILLISECONDS: DateTimePrinter = DateTimePrinter::new().precision(Some(3));

/// Freshness of messages (SOAP Message Security 1.1.1, 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TimestampPolicy {
    /// Inbound: a message without one is refused. One that is there is checked in any case.
    pub required: bool,
    /// Outbound: messages have one.
    pub sent: bool,
    /// Time from `Created` to `Expires`, and the longest age accepted, whatever `Expires` says.
    pub ttl: Duration,
    /// Difference of clocks that is forgiven.
    pub skew: Duration,
}

impl Default for TimestampPolicy {
    /// Five minutes, the customary bound of WS-Security stacks, and one minute of skew.
    fn default() -> Self {
        Self {
            required: true,
            sent: true,
            ttl: Duration::from_secs(300),
            skew: Duration::from_secs(60),
        }
    }
}

/// The peer's clock, as far as it is known to differ from ours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PeerClock {
    /// How far it is ahead of ours; less than nothing, where it is behind.
    pub ahead: SignedDuration,
    /// How much further behind it may be taken to be while a copy of a message is remembered. A
    /// copy that was too old is fresh again if the clock is taken to be further behind.
    pub drift: Duration,
}

impl PeerClock {
    /// A moment of our clock, as the peer's shows it.
    pub(crate) fn shown(&self, ours: Timestamp) -> Timestamp {
        shifted(ours, self.ahead)
    }

    /// A moment of the peer's clock, as ours shows it.
    fn ours(&self, shown: Timestamp) -> Timestamp {
        shifted(shown, -self.ahead)
    }
}

/// `instant + duration`, or the end of time that it is beyond.
fn shifted(instant: Timestamp, duration: SignedDuration) -> Timestamp {
    if duration.is_zero() {
        return instant;
    }
    let end = match duration.is_negative() {
        true => Timestamp::MIN,
        false => Timestamp::MAX,
    };
    instant.checked_add(duration).unwrap_or(end)
}

/// The life that a message claims, by our clock, checked against it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// `wsu:Created`.
    pub created: Timestamp,
    /// When the message stops being acceptable: `wsu:Expires` or the bound of the plan, whichever
    /// comes first.
    pub expires: Timestamp,
    /// [`PeerClock::drift`].
    pub(crate) drift: Duration,
}

/// The life that a message claims, as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// `wsu:Created`.
    pub created: Timestamp,
    /// `wsu:Expires`.
    pub expires: Option<Timestamp>,
}

impl Life {
    /// Reads a `wsu:Timestamp`: one `Created`, at most one `Expires`, nothing else (SOAP Message
    /// Security 1.1.1, 10).
    pub(crate) fn read(timestamp: Element<'_>) -> Result<Self, Rejected> {
        let malformed = |problem: String| Rejected::Malformed {
            element: "wsu:Timestamp",
            problem,
        };
        only_attributes(timestamp, &[]).map_err(malformed)?;
        let mut created = None;
        let mut expires = None;
        for child in timestamp.children() {
            let place = match (child.namespace(), child.local()) {
                (WSU, "Created") if expires.is_none() => &mut created,
                (WSU, "Expires") => &mut expires,
                _ => {
                    return Err(malformed(format!(
                        "expected `Created`, then `Expires`, found `{}`",
                        child.local()
                    )));
                }
            };
            if place.replace(instant(child, "wsu:Timestamp")?).is_some() {
                return Err(malformed(format!(
                    "expected one `{}`, found more",
                    child.local()
                )));
            }
        }
        let created =
            created.ok_or_else(|| malformed("expected `Created`, found none".to_owned()))?;
        Ok(Self { created, expires })
    }
}

/// Reads a `wsu:Timestamp`, and compares its life with the clock.
pub(crate) fn read(
    timestamp: Element<'_>,
    ttl: Duration,
    skew: Duration,
    clock: PeerClock,
    now: Timestamp,
) -> Result<Freshness, Rejected> {
    let Life { created, expires } = Life::read(timestamp)?;
    let (created, expires) = (
        clock.ours(created),
        expires.map(|expires| clock.ours(expires)),
    );
    let bound = later(created, ttl);
    let freshness = Freshness {
        created,
        expires: expires.map_or(bound, |expires| expires.min(bound)),
        drift: clock.drift,
    };
    freshness.check(skew, now)?;
    Ok(freshness)
}

/// Reads `wsu:Created` of a `UsernameToken`, which ends after `ttl`.
pub(crate) fn read_created(
    created: Element<'_>,
    ttl: Duration,
    skew: Duration,
    clock: PeerClock,
    now: Timestamp,
) -> Result<Freshness, Rejected> {
    let created = clock.ours(instant(created, "wsse:UsernameToken")?);
    let freshness = Freshness {
        created,
        expires: later(created, ttl),
        drift: clock.drift,
    };
    freshness.check(skew, now)?;
    Ok(freshness)
}

impl Freshness {
    fn check(&self, skew: Duration, now: Timestamp) -> Result<(), Rejected> {
        if self.created > later(now, skew) {
            return Err(Rejected::TimestampInFuture {
                created: self.created,
                now,
                skew: skew.as_secs(),
            });
        }
        if now >= later(self.expires, skew) {
            return Err(Rejected::TimestampExpired {
                expired: self.expires,
                now,
                skew: skew.as_secs(),
            });
        }
        Ok(())
    }

    /// How long a replay of the message must be remembered.
    pub(crate) fn remember_until(&self, skew: Duration) -> Timestamp {
        later(later(self.expires, skew), self.drift)
    }
}

/// `instant + duration`, or the end of time.
pub(crate) fn later(instant: Timestamp, duration: Duration) -> Timestamp {
    if duration.is_zero() {
        return instant;
    }
    SignedDuration::try_from(duration)
        .ok()
        .and_then(|duration| instant.checked_add(duration).ok())
        .unwrap_or(Timestamp::MAX)
}

/// `xsd:dateTime` in UTC with milliseconds, as it is written in messages.
pub(crate) fn write(instant: Timestamp) -> String {
    MILLISECONDS.timestamp_to_string(&instant)
}

fn instant(element: Element<'_>, parent: &'static str) -> Result<Timestamp, Rejected> {
    let malformed = |problem| Rejected::Malformed {
        element: parent,
        problem,
    };
    only_attributes(element, &[]).map_err(malformed)?;
    let text = element.text_strict();
    let text = text.as_deref().map(str::trim).unwrap_or_default();
    parse_date_time(text).ok_or_else(|| {
        let local = element.local();
        let found: String = text.chars().take(LONGEST_TOLD).collect();
        malformed(format!(
            "expected `{local}` as {DATE_TIME_FORM}, found `{found}`"
        ))
    })
}

/// Characters of a text that is no time, as an error tells it.
const LONGEST_TOLD: usize = 80;

/// Bytes of `2026-11-20T12:00:00`.
const WITHOUT_ZONE: usize = 19;

/// Digits of the fraction of a second that a moment has: nanoseconds.
const DIGITS_READ: usize = 9;

/// What a text is read as a time for, which a type of XML Schema has more forms than.
pub const DATE_TIME_FORM: &str =
    "xsd:dateTime with a time zone, four digits of the year and an hour below 24";

/// Reads an `xsd:dateTime` that names its time zone (XML Schema Part 2, 3.2.7); `None` for
/// everything else. More than nine digits of a second's fraction are cut, so a time is never later
/// than it was written.
///
/// RFC 3339, RFC 9557 and ISO 8601 have forms that `xsd:dateTime` does not have, and a second 60 is
/// none in XML Schema 1.0 (BSP 1.1, R3213 and R3215): another receiver would not read it, or read
/// another moment. A year of more than four digits and an hour 24 are left out, though schemas have
/// them: no sender means either, and not every receiver reads them.
pub fn parse_date_time(text: &str) -> Option<Timestamp> {
    let date_time = text.as_bytes().get(..WITHOUT_ZONE)?;
    let form = date_time.iter().zip(b"dddd-dd-ddTdd:dd:dd");
    let has_form = |(found, expected): (&u8, &u8)| match expected {
        b'd' => found.is_ascii_digit(),
        expected => found == expected,
    };
    let has_leap_second = &date_time[17..] == b"60";
    if !form.into_iter().all(has_form) || has_leap_second {
        return None;
    }
    let rest = &text[WITHOUT_ZONE..];
    let (digits, zone) = match rest.strip_prefix('.') {
        None => ("", rest),
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|digit: char| digit.is_ascii_digit());
            let digits = &fraction[..fraction.len() - zone.len()];
            (!digits.is_empty()).then_some((digits, zone))?
        }
    };
    if !is_zone(zone) {
        return None;
    }
    match digits.get(..DIGITS_READ) {
        Some(read) if read != digits => {
            let date_time = &text[..WITHOUT_ZONE];
            format!("{date_time}.{read}{zone}").parse().ok()
        }
        _ => text.parse().ok(),
    }
}

/// `Z`, or the difference to UTC in hours and minutes.
fn is_zone(zone: &str) -> bool {
    match zone.as_bytes() {
        b"Z" => true,
        [b'+' | b'-', digits @ ..] => match digits {
            [h1, h2, b':', m1, m2] => {
                let mut digits = [h1, h2, m1, m2].into_iter();
                digits.all(u8::is_ascii_digit) && digits_within([*h1, *h2], [*m1, *m2])
            }
            _ => false,
        },
        _ => false,
    }
}

/// Whether a difference is at most fourteen hours, with less than sixty minutes.
fn digits_within(hours: [u8; 2], minutes: [u8; 2]) -> bool {
    hours < *b"14" && minutes < *b"60" || hours == *b"14" && minutes == *b"00"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// XML Schema Part 2, 3.2.7; BSP 1.1, R3213 and R3215.
    #[test]
    fn a_time_has_one_form_and_no_second_60() {
        for (text, reads) in [
            ("2026-11-20T12:00:59Z", true),
            ("2026-11-20T12:00:59.123Z", true),
            ("2026-11-20T12:00:59.1234567Z", true),
            ("2026-11-20T12:00:59.1234567890Z", true),
            ("2026-11-20T12:00:59.123456789012+01:00", true),
            ("2026-11-20T12:00:59.1234567890", false),
            ("2026-11-20T24:00:00Z", false),
            ("12026-11-20T12:00:59Z", false),
            ("-2026-11-20T12:00:59Z", false),
            ("2026-11-20T12:00:59+01:30", true),
            ("2026-11-20T12:00:59-14:00", true),
            ("2026-11-20T12:00:60Z", false),
            ("2026-12-31T23:59:60.5Z", false),
            ("2026-11-20T12:00:59", false),
            ("2026-11-20T12:00:59.Z", false),
            ("2026-11-20T12:00:59,5Z", false),
            ("2026-11-20T12:00:59z", false),
            ("2026-11-20t12:00:59Z", false),
            ("2026-11-20 12:00:59Z", false),
            ("2026-11-20T12:00Z", false),
            ("20261120T120059Z", false),
            ("2026-11-20T12:00:59+01", false),
            ("2026-11-20T12:00:59+0100", false),
            ("2026-11-20T12:00:59+14:30", false),
            ("2026-11-20T12:00:59+01:60", false),
            ("2026-11-20T12:00:59+01:00:30", false),
            ("2026-11-20T12:00:59Z[UTC]", false),
            ("2026-11-20T12:00:59+01:00[Europe/Vienna]", false),
            ("2026-02-30T12:00:59Z", false),
            ("2026-11-20T12:00:5\u{e9}Z", false),
            ("+002026-11-20T12:00:59Z", false),
            ("", false),
        ] {
            assert_eq!(parse_date_time(text).is_some(), reads, "{text}");
        }
    }

    #[test]
    fn a_fraction_is_cut_after_nine_digits() {
        let nines = format!("2026-11-20T12:00:59.{}Z", "9".repeat(1000));
        for (long, short) in [
            (&*nines, "2026-11-20T12:00:59.999999999Z"),
            (
                "2026-11-20T12:00:59.0000000019+01:30",
                "2026-11-20T12:00:59.000000001+01:30",
            ),
        ] {
            let read = parse_date_time(long);
            assert!(read.is_some(), "{long}");
            assert_eq!(read, short.parse().ok(), "{long}");
        }
    }
}
