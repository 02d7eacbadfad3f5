//! Why a question to a token service brought no assertion.
//!
//! The rule kept here: a failure tells its cause, and whether others would meet it, too.

use std::fmt;

use soapstone::endpoint::TokenError;
use soapstone::wss::SecureError;

use crate::wire::backend::BackendError;
use crate::wire::errand::Undone;

/// Why there is no assertion.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The token service does not answer.
    Away(BackendError),
    /// Its answer did not arrive whole, or is no SOAP message.
    Answer {
        /// What it was.
        detail: String,
    },
    /// The request could not be made, or the answer grants nothing.
    Refused {
        /// Why.
        error: TokenError,
        /// What the fault says that the answer was, where it was one without security.
        peer_fault: Option<String>,
    },
    /// The plain request brings no assertion of a user, or one that nobody would accept.
    User(SecureError),
    /// This side cannot secure the request now: the KDC is away, or what holds the key.
    Unsecured(SecureError),
    /// The gateway has too much to do, or too many questions are under way.
    Busy,
    /// It was not finished in time, or the gateway ends.
    Unfinished,
}

impl Failed {
    /// A stable name for metrics and logs.
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Self::Away(_) => "token-service-away",
            Self::Answer { .. } => "token-service-answer",
            Self::Refused { .. } => "token-refused",
            Self::User(_) => "not-secured",
            Self::Unsecured(_) => "token-not-secured",
            Self::Busy => "token-busy",
            Self::Unfinished => "token-unfinished",
        }
    }

    /// Whether the gateway itself has too much to do, or lacks something for now: the token service
    /// was not asked.
    pub(crate) fn is_busy(&self) -> bool {
        matches!(self, Self::Busy | Self::Unsecured(_))
    }

    /// Whether something was slow rather than wrong.
    pub(crate) fn is_timeout(&self) -> bool {
        match self {
            Self::Away(error) => error.is_timeout(),
            _ => matches!(self, Self::Unfinished),
        }
    }

    /// Whether nobody would be answered: there is no connection. What breaks off or takes too long
    /// may do so for the message of one user.
    pub(crate) fn is_of_the_service(&self) -> bool {
        matches!(self, Self::Away(error) if error.is_unreachable())
    }

    /// Whether the token service answered, so that it is there.
    pub(crate) fn is_an_answer(&self) -> bool {
        match self {
            Self::Answer { .. } => true,
            Self::Refused { error, .. } => !matches!(error, TokenError::Unsecurable(_)),
            _ => false,
        }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Away(error) => write!(out, "token service away: {error}"),
            Self::Answer { detail } => write!(out, "no assertion from the token service: {detail}"),
            Self::Refused {
                peer_fault: Some(text),
                ..
            } => write!(
                out,
                "no assertion from the token service: it refused with the unsecured fault {text}"
            ),
            Self::Refused { error, .. } => {
                write!(out, "no assertion from the token service: {error}")
            }
            Self::User(error) => write!(
                out,
                "no assertion of a user in the request, to ask the token service with: {error}"
            ),
            Self::Unsecured(error) => write!(
                out,
                "no assertion from the token service: the request cannot be secured now: {error}"
            ),
            Self::Busy => {
                out.write_str("no assertion from the token service: too much is under way already")
            }
            Self::Unfinished => {
                out.write_str("no assertion from the token service: it took too long")
            }
        }
    }
}

impl From<Undone> for Failed {
    fn from(undone: Undone) -> Self {
        match undone {
            Undone::Backend(error) => Self::Away(error),
            Undone::Answer { detail } => Self::Answer { detail },
            Undone::Busy => Self::Busy,
            Undone::Unfinished => Self::Unfinished,
        }
    }
}
