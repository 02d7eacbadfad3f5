//! `wst:Lifetime` (WS-Trust 1.4, 4.1 and 4.4).
//!
//! The one rule: a time without a zone is no time.

use std::fmt;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use soapstone_wss::names::WSU;
use soapstone_wss::{DATE_TIME_FORM, only_attributes, parse_date_time};
use soapstone_xml::Element;

use super::read::{MessageError, set, text};
use super::write::Writer;

/// From when to when a token is wanted, or is good. Either end may be left open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lifetime {
    /// `wsu:Created`.
    pub created: Option<Timestamp>,
    /// `wsu:Expires`.
    pub expires: Option<Timestamp>,
}

impl Lifetime {
    /// Both ends.
    #[must_use]
    pub const fn new(created: Timestamp, expires: Timestamp) -> Self {
        Self {
            created: Some(created),
            expires: Some(expires),
        }
    }

    pub(crate) fn read(lifetime: Element<'_>) -> Result<Self, MessageError> {
        let mut read = Self::default();
        for child in lifetime.children() {
            let place = match (child.namespace(), child.local()) {
                (WSU, "Created") => &mut read.created,
                (WSU, "Expires") => &mut read.expires,
                _ => {
                    return Err(MessageError::unexpected(
                        "`wsu:Created` or `wsu:Expires`",
                        child,
                    ));
                }
            };
            set(place, child, instant(child)?)?;
        }
        Ok(read)
    }

    pub(crate) fn write(self, writer: &mut Writer<'_>) {
        let instants = [("wsu:Created", self.created), ("wsu:Expires", self.expires)];
        writer.element("wst:Lifetime", None, &[], |writer| {
            for (name, instant) in instants {
                if let Some(instant) = instant {
                    writer.text_in(name, WSU, &format!("{instant:.3}"));
                }
            }
        });
    }
}

impl fmt::Display for Lifetime {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |instant: Option<Timestamp>| match instant {
            Some(instant) => instant.to_string(),
            None => "any time".to_owned(),
        };
        write!(out, "{} to {}", end(self.created), end(self.expires))
    }
}

fn instant(element: Element<'_>) -> Result<Timestamp, MessageError> {
    let text = text(element)?;
    if let Err(problem) = only_attributes(element, &[]) {
        let expected = "no attributes without a namespace";
        return Err(MessageError::value(element, expected, Some(problem)));
    }
    parse_date_time(&text)
        .ok_or_else(|| MessageError::value(element, DATE_TIME_FORM, Some(text.clone())))
}

/// `instant + duration`, or the end of time.
pub(crate) fn later(instant: Timestamp, duration: Duration) -> Timestamp {
    SignedDuration::try_from(duration)
        .ok()
        .and_then(|duration| instant.checked_add(duration).ok())
        .unwrap_or(Timestamp::MAX)
}

/// How long it is from `start` to `end`; nothing if it is not later.
pub(crate) fn between(start: Timestamp, end: Timestamp) -> Duration {
    Duration::try_from(end.duration_since(start)).unwrap_or_default()
}
