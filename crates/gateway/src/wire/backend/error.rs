//! Why a backend gave no response, and whether the request has left.

use std::fmt;
use std::io;
use std::time::Duration;

use soapstone_store::server_trust;

use crate::wire::body::PassError;

/// Why a backend gave no response.
#[derive(Debug)]
#[non_exhaustive]
pub(crate) enum BackendError {
    /// No connection.
    Connect { address: String, source: io::Error },
    /// No connection in time.
    ConnectTimeout { address: String, after: Duration },
    /// No response in time.
    ResponseTimeout { address: String, after: Duration },
    /// The connection broke, or the answer was not HTTP.
    Exchange {
        address: String,
        source: hyper::Error,
        /// Whether not a byte of the request had left.
        unsent: bool,
    },
    /// Too many interim answers (1xx) came before an answer.
    Interim { address: String },
    /// The answer is HTTP, and cannot be passed on.
    Unfit { address: String, why: &'static str },
}

impl BackendError {
    /// A stable name for metrics and logs.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Connect { .. } => "backend-unreachable",
            Self::ConnectTimeout { .. } => "backend-connect-timeout",
            Self::ResponseTimeout { .. } => "backend-response-timeout",
            Self::Interim { .. } => "backend-interim",
            Self::Exchange { .. } | Self::Unfit { .. } => "backend-broken",
        }
    }

    /// Whether it was slow rather than absent or broken.
    pub(crate) fn is_timeout(&self) -> bool {
        matches!(
            self,
            Self::ConnectTimeout { .. } | Self::ResponseTimeout { .. }
        )
    }

    /// Whether there was no connection, so that not a byte of the request has left.
    pub(crate) fn is_unreachable(&self) -> bool {
        matches!(self, Self::Connect { .. } | Self::ConnectTimeout { .. })
    }

    /// Whether not a byte of the request has left.
    pub(crate) fn is_unsent(&self) -> bool {
        self.is_unreachable() || matches!(self, Self::Exchange { unsent: true, .. })
    }

    /// Whether it was our own request's body that could not be read to its end.
    pub(crate) fn upload_error(&self) -> Option<&PassError> {
        let Self::Exchange { source, .. } = self else {
            return None;
        };
        let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(source);
        while let Some(error) = cause {
            if let Some(found) = error.downcast_ref() {
                return Some(found);
            }
            cause = error.source();
        }
        None
    }
}

impl fmt::Display for BackendError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connect { address, source } => write!(
                formatter,
                "no connection to the backend {address}: {}",
                server_trust::describe(source)
            ),
            Self::ConnectTimeout { address, after } => {
                write!(
                    formatter,
                    "no connection to the backend {address} within {after:?}"
                )
            }
            Self::ResponseTimeout { address, after } => {
                write!(
                    formatter,
                    "no response from the backend {address} within {after:?}"
                )
            }
            Self::Exchange {
                address, source, ..
            } => {
                write!(
                    formatter,
                    "the exchange with the backend {address} broke: {source}"
                )?;
                match std::error::Error::source(source) {
                    Some(cause) => write!(formatter, ": {cause}"),
                    None => Ok(()),
                }
            }
            Self::Interim { address } => write!(
                formatter,
                "the backend {address} sends more interim answers (1xx) than are read"
            ),
            Self::Unfit { address, why } => {
                write!(formatter, "the answer of the backend {address} {why}")
            }
        }
    }
}

impl std::error::Error for BackendError {}
