//! The two endpoints that a route can have.
//!
//! The rule kept here: configuration, log and metrics call them by the same names.

/// Which of a route's endpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Direction {
    /// The endpoint that faces the client.
    Inbound,
    /// The endpoint that faces the backend.
    Outbound,
}

impl Direction {
    pub(crate) const ALL: [Self; 2] = [Self::Inbound, Self::Outbound];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Inbound => "inbound",
            Self::Outbound => "outbound",
        }
    }
}
