//! `traceparent` and `tracestate` (W3C Trace Context): which trace a request belongs to, for logs,
//! for spans and for the backend.
//!
//! The rule kept here: a context that is not as it should be goes nowhere, since whoever reads it
//! next may read it otherwise.

use http::{HeaderMap, HeaderName, HeaderValue};

const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// What `traceparent` says of the request that it came with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TraceContext {
    /// The trace.
    pub(crate) trace: u128,
    /// The span that the request was sent in.
    pub(crate) span: u64,
    /// Whether the sender may have recorded its span.
    pub(crate) sampled: bool,
}

/// Takes a context away that cannot be read (Trace Context, 4.3); a good one stays, and is
/// returned.
pub(crate) fn settle(headers: &mut HeaderMap) -> Option<TraceContext> {
    let mut given = headers.get_all(TRACEPARENT).into_iter();
    let (first, another) = (given.next(), given.next());
    let context = first
        .filter(|_| another.is_none())
        .and_then(|value| TraceContext::parse(value.to_str().ok()?));
    if context.is_none() {
        headers.remove(TRACEPARENT);
        headers.remove(TRACESTATE);
    }
    context
}

impl TraceContext {
    /// Reads `version "-" trace-id "-" parent-id "-" trace-flags`, of a later version with more
    /// behind it (Trace Context, 3.2).
    fn parse(value: &str) -> Option<Self> {
        let mut parts = value.split('-');
        let mut part = |length: usize| {
            let part = parts.next()?;
            let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            let fits = part.len() == length && part.bytes().all(is_digit);
            let number = u128::from_str_radix(part, 16);
            number.ok().filter(|_| fits)
        };
        let (version, trace, span, flags) = (part(2)?, part(32)?, part(16)?, part(2)?);
        let ends = parts.next().is_none();
        let fits = version != 0xff && trace != 0 && span != 0 && (ends || version != 0);
        fits.then_some(Self {
            trace,
            span: u64::try_from(span).ok()?,
            sampled: flags & 1 == 1,
        })
    }

    /// Says it in a request's head, in the place of the context that came with the request.
    pub(crate) fn write(&self, headers: &mut HeaderMap) {
        let Self {
            trace,
            span,
            sampled,
        } = *self;
        let value = format!("00-{trace:032x}-{span:016x}-{:02x}", u8::from(sampled));
        // Digits and hyphens are a value.
        if let Ok(value) = HeaderValue::try_from(value) {
            headers.insert(TRACEPARENT, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
    const READ: TraceContext = TraceContext {
        trace: 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c,
        span: 0xb7ad_6b71_6920_3331,
        sampled: true,
    };

    #[test]
    fn a_good_context_stays_and_names_its_trace() {
        for (value, sampled) in [
            (format!("00-{TRACE}-b7ad6b7169203331-01"), true),
            (format!("00-{TRACE}-b7ad6b7169203331-02"), false),
            (format!("cc-{TRACE}-b7ad6b7169203331-03-what-comes"), true),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(TRACEPARENT, value.parse().expect("a value"));
            headers.insert(TRACESTATE, "a=b".parse().expect("a value"));
            let expected = TraceContext { sampled, ..READ };
            assert_eq!(settle(&mut headers), Some(expected), "{value}");
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
            format!("00-+{}-b7ad6b7169203331-01", &TRACE[1..]),
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

    #[test]
    fn what_is_written_is_read_as_it_was() {
        for context in [
            READ,
            TraceContext {
                trace: 1,
                span: 2,
                sampled: false,
            },
        ] {
            let mut headers = HeaderMap::new();
            context.write(&mut headers);
            assert_eq!(settle(&mut headers), Some(context));
        }
    }
}
