//! What is wrong with a shared store, for those who run the node.

use std::fmt;

use crate::remote::Unanswered;

/// A problem of a shared store.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StoreProblem {
    /// It does not answer, which all nodes have in common.
    Away {
        /// The server, and what happened.
        problem: String,
    },
    /// It answers, and may not be relied on, which all nodes have in common.
    Refuses {
        /// The server, and why.
        problem: String,
    },
    /// It does not let this node in, or not do what it asks for.
    Denied {
        /// The server, and what it says.
        problem: String,
    },
    /// Its security contexts are sealed with a key that this node does not have.
    OtherSealKey {
        /// What their keys in the store begin with.
        prefix: String,
    },
}

impl StoreProblem {
    /// Whether messages are better sent to other nodes: they may be let in.
    pub fn is_of_this_node(&self) -> bool {
        matches!(self, Self::Denied { .. })
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Away { .. } | Self::Refuses { .. } => None,
            Self::Denied { .. } => Some(
                "compare `username` and `password` of the store with the server's users, and these with deploy/users.acl",
            ),
            Self::OtherSealKey { .. } => Some(
                "give all nodes the same `seal_key`; while it is being changed, name the other one in `other_seal_key`",
            ),
        }
    }
}

impl From<Unanswered> for StoreProblem {
    fn from(unanswered: Unanswered) -> Self {
        let problem = unanswered.to_string();
        match unanswered {
            Unanswered::Unreachable(_) => Self::Away { problem },
            Unanswered::Denied(_) => Self::Denied { problem },
            Unanswered::Refused(_) | Unanswered::Full => Self::Refuses { problem },
        }
    }
}

impl fmt::Display for StoreProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Away { problem } | Self::Refuses { problem } | Self::Denied { problem } => {
                out.write_str(problem)
            }
            Self::OtherSealKey { prefix } => write!(
                out,
                "other nodes seal the security contexts below `{prefix}` with another key than this one"
            ),
        }
    }
}
