//! Why a call goes where it goes, or nowhere.
//!
//! The rule kept here: each has a stable name for metrics, and a sentence for operators.

use std::fmt;
use std::time::Duration;

/// Why a member was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// No other member can take the call.
    Only,
    /// Chance drew it.
    Drawn,
    /// It was its turn.
    Turn,
    /// Chance drew two, and it had no more calls in hand for its weight.
    LessLoaded {
        /// Its own calls in hand.
        in_hand: u32,
        /// Those of the other one.
        other: u32,
    },
    /// Of two of the best it will answer first.
    Fastest {
        /// In that time, where it is known.
        time: Option<Duration>,
    },
    /// Of two of the best its time and strength are worth most.
    Balanced {
        /// The time in which it will answer, where it is known.
        time: Option<Duration>,
    },
    /// Its time is not known: a call measures it.
    Measuring,
    /// None is known to answer as needed, and this one is nearest to that.
    Nearest {
        /// The time in which it will answer.
        time: Duration,
    },
    /// Calls of the same key go there.
    Sticky,
    /// One call on trial after an ejection.
    Trial,
    /// All that could be chosen otherwise are ejected, or excluded by an agreement.
    LastResort,
}

impl Reason {
    /// Every name, for counters.
    pub const NAMES: [&str; 11] = [
        "balanced",
        "drawn",
        "fastest",
        "last-resort",
        "less-loaded",
        "measuring",
        "nearest",
        "only",
        "sticky",
        "trial",
        "turn",
    ];

    /// A stable name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Only => "only",
            Self::Drawn => "drawn",
            Self::Turn => "turn",
            Self::LessLoaded { .. } => "less-loaded",
            Self::Fastest { .. } => "fastest",
            Self::Balanced { .. } => "balanced",
            Self::Measuring => "measuring",
            Self::Nearest { .. } => "nearest",
            Self::Sticky => "sticky",
            Self::Trial => "trial",
            Self::LastResort => "last-resort",
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Only => out.write_str("no other backend can take the call"),
            Self::Drawn => out.write_str("drawn by chance"),
            Self::Turn => out.write_str("its turn"),
            Self::LessLoaded { in_hand, other } => write!(
                out,
                "less load of two that were drawn: {in_hand} calls in hand, the other one {other}"
            ),
            Self::Fastest { time } => {
                write!(
                    out,
                    "of two of the best it will answer first: {}",
                    Time(*time)
                )
            }
            Self::Balanced { time } => write!(
                out,
                "of two of the best its time ({}) and strength are worth most",
                Time(*time)
            ),
            Self::Measuring => out.write_str("its time is not known: the call measures it"),
            Self::Nearest { time } => write!(
                out,
                "no backend is known to answer as needed; this one is nearest: {time:?}"
            ),
            Self::Sticky => out.write_str("calls that belong together go there"),
            Self::Trial => out.write_str("one call on trial after an ejection"),
            Self::LastResort => out.write_str("all backends are ejected or excluded"),
        }
    }
}

/// A time that may not be known.
struct Time(Option<Duration>);

impl fmt::Display for Time {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(time) => write!(out, "in {time:?}"),
            None => out.write_str("in a time that is not known"),
        }
    }
}

/// Why no member was chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The security of none covers what the call needs.
    Uncovered,
    /// Health checks say that all are down.
    Down,
    /// All that could take the call have as many in hand as they may.
    Busy,
    /// All that could take the call have been tried.
    Tried,
}

impl Refusal {
    /// A stable name for metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uncovered => "needs-uncovered",
            Self::Down => "backends-down",
            Self::Busy => "backends-busy",
            Self::Tried => "backends-tried",
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Uncovered => "the security of no backend covers what the call needs",
            Self::Down => "health checks fail for all backends that could take the call",
            Self::Busy => "all backends have as many calls in hand as they may",
            Self::Tried => "no other backend can take the call",
        })
    }
}
