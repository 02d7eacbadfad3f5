//! Spans that have ended, and what they hold.
//!
//! The rule kept here: a span holds names of the configuration and of the code, times and numbers.

use http::StatusCode;

/// Kinds of spans (`Span.SpanKind` of OTLP).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Internal = 1,
    Server = 2,
    Client = 3,
}

/// A span that has ended.
#[derive(Debug)]
pub(super) struct Span {
    pub(super) id: u64,
    pub(super) parent: Option<u64>,
    pub(super) kind: Kind,
    pub(super) name: String,
    /// Nanoseconds since 1970.
    pub(super) begun: u64,
    pub(super) ended: u64,
    pub(super) attributes: Vec<(&'static str, Value)>,
    /// The stable name of what went wrong.
    pub(super) error: Option<&'static str>,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Value {
    Text(String),
    Name(&'static str),
    Number(u64),
}

/// The spans of one request that is over.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) trace: u128,
    pub(super) spans: Vec<Span>,
}

/// The status of an answer, as spans have it.
pub(super) fn status_attribute(status: StatusCode) -> (&'static str, Value) {
    let number = Value::Number(status.as_u16().into());
    ("http.response.status_code", number)
}
