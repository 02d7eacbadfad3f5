//! What became of a call, and what that changed.
//!
//! The rule kept here: a failure is of the backend, never of the client. A fault that a service
//! answers with is an answer.

use std::fmt;
use std::time::Duration;

use crate::performance::Operation;

/// What became of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The backend answered.
    Answered {
        /// After that time.
        took: Duration,
        /// A call of that operation, where it is known.
        operation: Option<Operation>,
    },
    /// It did not, or not usably.
    Failed(Failed),
    /// The call ended for a reason that says nothing of the backend: its client has gone.
    Abandoned,
}

impl Outcome {
    /// An answer to a call whose operation is not known.
    pub fn answered(took: Duration) -> Self {
        let operation = None;
        Self::Answered { took, operation }
    }
}

/// How a backend failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failed {
    /// There was no connection.
    Unreachable,
    /// The exchange broke, or the answer is not readable.
    Broken,
    /// The answer was late.
    Late,
    /// The backend says that it cannot serve the call now: 502, 503 or 504.
    Unavailable,
    /// The answer is not secured as the policy demands.
    Unproven,
}

impl Failed {
    /// A stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unreachable => "unreachable",
            Self::Broken => "broken",
            Self::Late => "late",
            Self::Unavailable => "unavailable",
            Self::Unproven => "unproven",
        }
    }
}

/// What a call or a check changed of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It gets no calls for a while, because of calls that failed.
    Ejected {
        /// How the last one failed.
        failed: Failed,
        /// For how long.
        time: Duration,
    },
    /// A call on trial was answered: it gets calls again.
    Returned,
    /// Checks failed: it gets no calls.
    Down,
    /// Checks succeed: it gets calls again.
    Up,
    /// Its calls took much longer than its reports say: these count for nothing.
    Doubted {
        /// What the last calls took, in the mean.
        seen: Duration,
        /// What the reports say of such calls.
        claimed: Duration,
    },
    /// It was doubted before, and its calls contradicted as many reports again.
    StillDoubted {
        /// What the last calls took, in the mean.
        seen: Duration,
        /// What the reports say of such calls.
        claimed: Duration,
    },
    /// Its reports fit its calls again, and count.
    Believed,
}

impl fmt::Display for Change {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ejected { failed, time } => write!(
                out,
                "the backend gets no calls for {time:?}: calls failed, the last one {}",
                failed.name()
            ),
            Self::Returned => out.write_str("the backend answers and gets calls again"),
            Self::Down => out.write_str("health checks fail: the backend gets no calls"),
            Self::Up => out.write_str("health checks succeed: the backend gets calls again"),
            Self::Doubted { seen, claimed } => write!(
                out,
                "the backend is slower than its reports say: calls took {seen:?}, reported {claimed:?}; its reports count for nothing"
            ),
            Self::StillDoubted { seen, claimed } => write!(
                out,
                "the backend is still slower than its reports say: calls took {seen:?}, reported {claimed:?}"
            ),
            Self::Believed => out.write_str("the reports of the backend fit its calls again"),
        }
    }
}
