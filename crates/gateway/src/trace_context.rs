//! `traceparent` and `tracestate` (W3C Trace Context): which trace a request belongs to, for logs
//! and for the backend.
//!
//! The rule kept here: a context that is not as it should be goes nowhere, since whoever reads it
//! next may read it otherwise.

use http::{HeaderMap, HeaderName};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// Takes a context away that cannot be read (Trace Context, 4.3); of a good one the name of the
/// trace.
pub(crate) fn settle(headers: &mut HeaderMap) -> Option<String> {
    let mut given = headers.get_all(TRACEPARENT).into_iter();
    let (first, another) = (given.next(), given.next());
    let trace = first
        .filter(|_| another.is_none())
        .and_then(|value| trace_of(value.to_str().ok()?))
        .map(str::to_owned);
    if trace.is_none() {
        headers.remove(TRACEPARENT);
        headers.remove(TRACESTATE);
    }
    trace
}

/// The name of the trace: `version "-" trace-id "-" parent-id "-" trace-flags`, of a later version
/// with more behind it (Trace Context, 3.2).
fn trace_of(value: &str) -> Option<&str> {
    let mut parts = value.split('-');
    let mut part = |length: usize| {
        let part = parts.next()?;
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        (part.len() == length && part.bytes().all(is_digit)).then_some(part)
    };
    let (version, trace, parent, _flags) = (part(2)?, part(32)?, part(16)?, part(2)?);
    let is_zero = |part: &str| part.bytes().all(|byte| byte == b'0');
    let ends = parts.next().is_none();
    (version != "ff" && !is_zero(trace) && !is_zero(parent) && (ends || version != "00"))
        .then_some(trace)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";

    #[test]
    fn a_good_context_stays_and_names_its_trace() {
        for value in [
            format!("00-{TRACE}-b7ad6b7169203331-01"),
            format!("cc-{TRACE}-b7ad6b7169203331-01-what-comes"),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(TRACEPARENT, value.parse().expect("a value"));
            headers.insert(TRACESTATE, "a=b".parse().expect("a value"));
            assert_eq!(settle(&mut headers).as_deref(), Some(TRACE), "{value}");
            assert_eq!(headers.len(), 2);
        }
    }

    #[test]
    fn a_context_that_is_not_as_it_should_be_goes_nowhere() {
        for value in [
            format!("00-{TRACE}-b7ad6b7169203331"),
            format!("00-{TRACE}-b7ad6b7169203331-01-more"),
            format!("ff-{TRACE}-b7ad6b7169203331-01"),
            format!("00-{TRACE}-0000000000000000-01"),
            format!("00-{}-b7ad6b7169203331-01", "0".repeat(32)),
            format!("00-{}-b7ad6b7169203331-01", TRACE.to_uppercase()),
            String::new(),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(TRACEPARENT, value.parse().expect("a value"));
            headers.insert(TRACESTATE, "a=b".parse().expect("a value"));
            assert_eq!(settle(&mut headers), None, "{value}");
            assert!(headers.is_empty(), "{value}");
        }
        let mut twice = HeaderMap::new();
        let value = format!("00-{TRACE}-b7ad6b7169203331-01");
        twice.append(TRACEPARENT, value.parse().expect("a value"));
        twice.append(TRACEPARENT, value.parse().expect("a value"));
        assert_eq!(settle(&mut twice), None);
        assert!(twice.is_empty());
    }
}
