//! Whether a call that one backend did not answer goes to another one.
//!
//! The rule kept here: a backend may have obeyed what it did not answer. Such a call is sent again
//! only where its operation may be done twice.

use std::fmt;

/// Whether a call may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeatable {
    /// Nothing of it has left.
    Unsent,
    /// It left, and its operation may be done twice.
    Idempotent,
    /// It left, and may have been obeyed.
    Once,
}

/// Why a call is not sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoRetry {
    /// It may have been obeyed.
    Once,
    /// The failure is no reason: a late answer took the time of the client, and an unproven answer
    /// has been refused.
    Failure,
    /// It went to as many other backends as it may.
    Attempts,
    /// Of the last calls too many were sent again: a failure that all backends have in common.
    Budget,
}

impl fmt::Display for NoRetry {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Once => "the operation may have been done, and must not be done twice",
            Self::Failure => "such a failure is no reason for another attempt",
            Self::Attempts => "the call went to as many backends as it may",
            Self::Budget => "too many of the last calls were sent again",
        })
    }
}

/// How many calls may be sent again: a fifth of all calls, and some more where there are few.
///
/// A fifth is what Envoy and Linkerd grant: enough for the loss of one backend among several, and
/// too little to double the load where all fail.
#[derive(Debug)]
pub(crate) struct Budget {
    /// In fifths of a call.
    left: u32,
}

/// What one call costs.
const CALL: u32 = 5;

/// Most calls that may be sent again in a row.
const MOST: u32 = 10 * CALL;

impl Default for Budget {
    fn default() -> Self {
        Self { left: MOST }
    }
}

impl Budget {
    /// A call that was not sent before.
    pub(crate) fn earn(&mut self) {
        self.left = (self.left + 1).min(MOST);
    }

    /// Takes what a repetition costs; false where there is too little.
    pub(crate) fn spend(&mut self) -> bool {
        let left = self.left.checked_sub(CALL);
        self.left = left.unwrap_or(self.left);
        left.is_some()
    }

    /// What a repetition cost that was not sent comes back.
    pub(crate) fn refund(&mut self) {
        self.left = self.left.saturating_add(CALL).min(MOST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_of_the_calls_may_be_sent_again() {
        let mut budget = Budget::default();
        while budget.spend() {}
        let mut again = 0;
        for _ in 0..100 {
            budget.earn();
            again += u32::from(budget.spend());
        }
        assert_eq!(again, 20);
    }
}
