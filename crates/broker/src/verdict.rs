//! What each member is worth to a call, for people.
//!
//! The rule kept here: it is computed by what chooses, and nothing is changed by asking.

use std::time::Duration;

use crate::security::{SecurityIndex, Shortfall};
use crate::status::State;

/// Whether a call might go to a member now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prospect {
    /// It may be chosen.
    May,
    /// It may be chosen, although it is not known to answer as needed: no other one is, either.
    Late,
    /// It may be chosen, although it is ejected or excluded: all that could be chosen otherwise
    /// are.
    LastResort,
    /// It does not cover what is needed.
    Uncovered,
    /// Health checks fail.
    Down,
    /// It has as many calls in hand as it may.
    Full,
    /// It is ejected, and others are not.
    Ejected,
    /// A call on trial is in its hand.
    OnTrial,
    /// Others come first, and it is there for them.
    OthersFirst,
    /// Others are known to answer as needed, or nearer to it.
    OthersInTime,
}

impl Prospect {
    /// Whether it may be chosen.
    pub fn is_eligible(self) -> bool {
        matches!(self, Self::May | Self::Late | Self::LastResort)
    }
}

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
    /// Whether the call might go there, by the rules that choose.
    pub prospect: Prospect,
}
