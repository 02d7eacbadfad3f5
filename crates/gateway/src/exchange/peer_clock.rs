//! What answers show of the clock of a backend that does not keep time.
//!
//! The rule kept here: only a route whose file says so learns anything, and the endpoint bounds it.

use http::{HeaderMap, header};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimeParser;
use soapstone::config::ClockSource;
use soapstone::endpoint::said_to_be_made;

use super::reporter::Reporter;
use crate::scheduling::endpoint::OutboundEndpoint;
use crate::wire::packaged::message_in;

/// Half of the second that `Date` leaves out.
const HALF_A_SECOND: jiff::SignedDuration = jiff::SignedDuration::from_millis(500);

/// Learns from an answer to a request that left at `sent`.
pub(super) fn observe(
    reporter: &Reporter<'_>,
    endpoint: &OutboundEndpoint,
    headers: &HeaderMap,
    octets: &[u8],
    sent: Timestamp,
) {
    let Some(from) = endpoint.endpoint.learns_clock_from() else {
        return;
    };
    let theirs = match from {
        ClockSource::Date => date(headers),
        ClockSource::Timestamp => message_in(headers, octets).and_then(said_to_be_made),
        // The device is asked for it (`conversation/device_clock.rs`).
        ClockSource::Onvif { .. } => return,
    };
    let Some(theirs) = theirs else {
        return;
    };
    // The answer was made at some moment between.
    let now = Timestamp::now();
    let between = sent.checked_add(now.duration_since(sent) / 2);
    if let Err(found) = endpoint
        .endpoint
        .learn_clock(theirs, between.unwrap_or(now))
    {
        tracing::warn!(
            route = reporter.exchange.route.name,
            request = reporter.id.to_str().unwrap_or_default(),
            ahead = found.ahead.as_secs(),
            limit = found.limit.as_secs(),
            "the backend's clock is off by more seconds than is believed"
        );
    }
}

/// `Date` of a head (RFC 9110, 6.6.1).
fn date(headers: &HeaderMap) -> Option<Timestamp> {
    let date = headers.get(header::DATE)?.to_str().ok()?;
    let parsed = DateTimeParser::new().parse_timestamp(date).ok()?;
    parsed.checked_add(HALF_A_SECOND).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_of_http_is_a_moment() {
        for (text, second) in [
            ("Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("yesterday", None),
            ("", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::DATE, text.parse().expect("a value"));
            let found = date(&headers).map(Timestamp::as_second);
            assert_eq!(found, second, "{text}");
        }
        assert_eq!(date(&HeaderMap::new()), None);
    }
}
