//! What each member is worth to a call, for people.
//!
//! The rule kept here: it is computed by what chooses, and nothing is changed by asking.

use std::time::Duration;

use crate::security::{SecurityIndex, Shortfall};
use crate::status::State;

/// What a member is worth to a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Verdict {
    /// The member's name.
    pub name: String,
    /// Whether it gets calls.
    pub state: State,
    /// What the policy in front of it gives: the parts of the security index.
    pub given: SecurityIndex,
    /// Where its security does not cover what is needed; nothing where it does.
    pub shortfalls: Vec<Shortfall>,
    /// The security index as one number: bits of the needed properties, times their share.
    pub security: f64,
    /// The performance index: the time in which it will answer. `None`: it is not known.
    pub time: Option<Duration>,
    /// The same as far as it was seen, without what is claimed. Needs are met by this alone.
    pub seen: Option<Duration>,
    /// The share of its last calls that it answered, in hundredths. `None`: it is not known.
    pub availability: Option<u8>,
    /// Whether time and availability are known to be as needed.
    pub in_time: bool,
}

impl Verdict {
    /// Whether the call may go there.
    pub fn is_eligible(&self) -> bool {
        self.shortfalls.is_empty() && self.state != State::Down
    }
}
