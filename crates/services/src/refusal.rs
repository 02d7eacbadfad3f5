//! Refusals that HTTP itself can tell: a status and a line of plain text, before any message is
//! looked at.
//!
//! The one rule it keeps: like a fault, a refusal says what was expected and what was found.

use std::fmt;
use std::time::Duration;

use http::StatusCode;

/// Why a request is refused.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// Nothing is served at this path.
    Path { found: String },
    /// The contract of the service has no schema of this number.
    Schema { found: String, contract: String },
    /// A method that has no meaning here.
    Method { allowed: &'static str },
    /// A service was asked for a page, and it has none.
    Page { contract: String },
    /// A body that is compressed.
    Encoding { found: String },
    /// Neither SOAP 1.1 nor SOAP 1.2.
    MediaType { found: String },
    /// An encoding of characters that is not read.
    Charset { found: String },
    /// More than the limit.
    Size { limit: usize },
    /// The body did not arrive in time.
    Late { patience: Duration },
    /// The body ended before its end.
    Broken { cause: String },
}

impl Refusal {
    pub(crate) fn status(&self) -> StatusCode {
        match self {
            Refusal::Path { .. } | Refusal::Schema { .. } => StatusCode::NOT_FOUND,
            Refusal::Method { .. } | Refusal::Page { .. } => StatusCode::METHOD_NOT_ALLOWED,
            // R1115 suggests this status for a media type that is not SOAP's.
            Refusal::Encoding { .. } | Refusal::MediaType { .. } | Refusal::Charset { .. } => {
                StatusCode::UNSUPPORTED_MEDIA_TYPE
            }
            Refusal::Size { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            Refusal::Late { .. } => StatusCode::REQUEST_TIMEOUT,
            Refusal::Broken { .. } => StatusCode::BAD_REQUEST,
        }
    }

    /// The value of the header Allow, which belongs to 405 (RFC 9110, 15.5.6).
    pub(crate) fn allow(&self) -> Option<&'static str> {
        match self {
            Refusal::Method { allowed } => Some(allowed),
            Refusal::Page { .. } => Some("POST"),
            _ => None,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Path { found } => write!(formatter, "there is nothing at {found}; see /"),
            Refusal::Schema { found, contract } => {
                write!(formatter, "there is no schema {found}; see {contract}")
            }
            Refusal::Method { allowed } => {
                write!(formatter, "expected one of the methods {allowed}")
            }
            Refusal::Page { contract } => write!(
                formatter,
                "this is a SOAP service: expected a POST; its contract is at {contract}"
            ),
            Refusal::Encoding { found } => {
                write!(formatter, "expected no Content-Encoding, found {found}")
            }
            Refusal::MediaType { found } => write!(
                formatter,
                "expected Content-Type text/xml (SOAP 1.1) or application/soap+xml (SOAP 1.2), found {found}"
            ),
            Refusal::Charset { found } => {
                write!(formatter, "expected charset utf-8 or utf-16, found {found}")
            }
            Refusal::Size { limit } => {
                write!(formatter, "expected a message of at most {limit} bytes")
            }
            Refusal::Late { patience } => {
                write!(formatter, "the message did not arrive within {patience:?}")
            }
            Refusal::Broken { cause } => write!(formatter, "the message broke off: {cause}"),
        }
    }
}
