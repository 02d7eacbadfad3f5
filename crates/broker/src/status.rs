//! What a pool knows of its members, for operators.
//!
//! The rule kept here: looking changes nothing.

use std::time::Duration;

/// Whether a member gets calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It does.
    Up,
    /// It came or came back a while ago and gets so many hundredths of its share.
    Starting {
        /// Less than 100.
        percent: u32,
    },
    /// Calls failed: it gets none for that time.
    Ejected {
        /// What is left of it.
        left: Duration,
    },
    /// The time of an ejection is over: it gets one call at a time until one is answered.
    HalfOpen,
    /// Health checks fail.
    Down,
}

impl State {
    /// Every name, for gauges.
    pub const NAMES: [&str; 5] = ["up", "starting", "ejected", "half-open", "down"];

    /// A stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Starting { .. } => "starting",
            Self::Ejected { .. } => "ejected",
            Self::HalfOpen => "half-open",
            Self::Down => "down",
        }
    }

    /// Whether it gets calls.
    pub fn is_usable(self) -> bool {
        !matches!(self, Self::Ejected { .. } | Self::Down)
    }
}

/// What is known of a member.
#[derive(Clone, Debug, PartialEq)]
pub struct MemberStatus {
    /// Its name.
    pub name: String,
    /// Whether it gets calls.
    pub state: State,
    /// Its share, as the operator has it.
    pub weight: u32,
    /// Most calls in hand.
    pub limit: Option<u32>,
    /// It is there for others.
    pub backup: bool,
    /// Calls in hand.
    pub in_hand: u32,
    /// Calls that it answered.
    pub answered: u64,
    /// Calls that it failed.
    pub failed: u64,
    /// How often it was ejected.
    pub ejections: u64,
    /// Mean time of its last answers, an exponential mean; `None` before the first.
    pub mean: Option<Duration>,
    /// The share of its last calls that it answered, in hundredths; `None` while it is not known.
    pub availability: Option<u8>,
    /// What its reports claim of the mean time of its calls; `None` where nothing is, or it is
    /// doubted.
    pub claimed: Option<Duration>,
    /// Whether its reports count for nothing, since calls took much longer.
    pub doubted: bool,
    /// Reports that its calls contradicted.
    pub contradictions: u64,
}
