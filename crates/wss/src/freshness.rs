//! Times on messages: `wsu:Timestamp` and the `wsu:Created` of a `UsernameToken`.
//!
//! The one rule: a time is believed only within the bounds of the plan, whatever the message says of its own life.

use std::time::Duration;

use jiff::fmt::temporal::DateTimePrinter;
use jiff::{SignedDuration, Timestamp};
use soapstone_xml::Element;

use crate::names::WSU;
use crate::rejected::Rejected;

/// How times are written.
const MILLISECONDS: DateTimePrinter = DateTimePrinter::new().precision(Some(3));

/// The life that a message claims, checked against the clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// `wsu:Created`.
    pub created: Timestamp,
    /// When the message stops being acceptable: `wsu:Expires` or the bound of the plan, whichever comes first.
    pub expires: Timestamp,
}

/// Reads a `wsu:Timestamp`: one `Created`, at most one `Expires`, nothing else (SOAP Message Security 1.1.1, 10).
pub(crate) fn read(
    timestamp: Element<'_>,
    ttl: Duration,
    skew: Duration,
    now: Timestamp,
) -> Result<Freshness, Rejected> {
    let malformed = |problem: String| Rejected::Malformed {
        element: "wsu:Timestamp",
        problem,
    };
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
    let created = created.ok_or_else(|| malformed("expected `Created`, found none".to_owned()))?;
    let bound = later(created, ttl);
    let freshness = Freshness {
        created,
        expires: expires.map_or(bound, |expires| expires.min(bound)),
    };
    freshness.check(skew, now)?;
    Ok(freshness)
}

/// Reads `wsu:Created` of a `UsernameToken`, which ends after `ttl`.
pub(crate) fn read_created(
    created: Element<'_>,
    ttl: Duration,
    skew: Duration,
    now: Timestamp,
) -> Result<Freshness, Rejected> {
    let created = instant(created, "wsse:UsernameToken")?;
    let freshness = Freshness {
        created,
        expires: later(created, ttl),
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
        later(self.expires, skew)
    }
}

/// `instant + duration`, or the end of time.
pub(crate) fn later(instant: Timestamp, duration: Duration) -> Timestamp {
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
    let text = element.text_strict();
    let text = text.as_deref().map(str::trim).unwrap_or_default();
    // `xsd:dateTime` needs the letter T; jiff would take a space as well.
    text.contains('T')
        .then(|| text.parse().ok())
        .flatten()
        .ok_or_else(|| Rejected::Malformed {
            element: parent,
            problem: format!(
                "expected `{}` as xsd:dateTime with a time zone, found `{text}`",
                element.local()
            ),
        })
}
