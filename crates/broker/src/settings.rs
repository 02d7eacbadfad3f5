//! What an operator says of a pool and of its members.
//!
//! The rule kept here: what is left out is what most services need.

use std::time::Duration;

use crate::security::SecurityIndex;

/// How one of the backends that can take a call is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    /// By chance, as the weights say.
    Random,
    /// In turn, as the weights say.
    RoundRobin,
    /// The one with fewer calls in hand of two that chance draws (Mitzenmacher: The Power of Two
    /// Choices in Randomized Load Balancing, 2001). A herd of callers that all see the same counts
    /// does not run to one backend.
    #[default]
    LeastLoad,
    /// The one of two that chance draws among the best which will answer first, as the last answers
    /// tell.
    Performance,
    /// The same by time and strength of security, weighed against each other (Yau, Yin, An: An
    /// Adaptive Tradeoff Model for Service Performance and Security, 2009).
    Balanced {
        /// What time counts, in hundredths; strength counts the rest.
        time: u8,
    },
}

impl Selection {
    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::RoundRobin => "round-robin",
            Self::LeastLoad => "least-load",
            Self::Performance => "performance",
            Self::Balanced { .. } => "balanced",
        }
    }
}

/// What an operator says of a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// How a backend is chosen.
    pub selection: Selection,
    /// When calls say that a backend gets none for a while.
    pub ejection: Ejection,
    /// How many checks change what is known of a backend.
    pub checks: Checks,
    /// For how long a backend that came or came back gets less than its share. Zero: not at all.
    pub slow_start: Duration,
    /// To how many other backends a call may go that the first one did not answer.
    pub retries: usize,
    /// How old a measured time may be to predict another one.
    pub fresh: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            selection: Selection::default(),
            ejection: Ejection::default(),
            checks: Checks::default(),
            slow_start: Duration::ZERO,
            // A third backend that fails as well tells of a failure that all have in common.
            retries: 2,
            fresh: Duration::from_secs(30),
        }
    }
}

/// When calls say that a backend gets none for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ejection {
    /// So many failures in a row. `None`: these are no reason.
    pub failures: Option<u32>,
    /// Such a share of failures. `None`: it is no reason.
    pub share: Option<FailureShare>,
    /// For how long, the first time. Each further time it is twice as long.
    pub time: Duration,
    /// For how long at most.
    pub longest: Duration,
    /// Most backends that failures may eject at once, in hundredths of all; one may always be
    /// ejected where there are several. Backends that cannot be reached do not count: nothing is
    /// lost without them.
    pub most: u8,
}

impl Default for Ejection {
    fn default() -> Self {
        Self {
            failures: Some(5),
            share: Some(FailureShare::default()),
            time: Duration::from_secs(5),
            longest: Duration::from_secs(300),
            most: 50,
        }
    }
}

/// A share of calls that fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailureShare {
    /// Hundredths of the calls.
    pub percent: u8,
    /// Of so many calls at least: a few say nothing of a share.
    pub of: u32,
    /// Within that time.
    pub within: Duration,
}

impl Default for FailureShare {
    fn default() -> Self {
        Self {
            percent: 50,
            of: 20,
            within: Duration::from_secs(10),
        }
    }
}

/// How many checks change what is known of a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks {
    /// So many checks in a row that fail: it is down.
    pub fall: u32,
    /// So many checks in a row that succeed: it is up again.
    pub rise: u32,
}

impl Default for Checks {
    fn default() -> Self {
        Self { fall: 3, rise: 2 }
    }
}

/// What an operator says of one member.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Terms {
    /// Its share of calls, beside those of the others; at least 1.
    pub weight: u32,
    /// Most calls in hand at once.
    pub limit: Option<u32>,
    /// It gets calls only where no other member can.
    pub backup: bool,
    /// What the policy in front of it gives.
    pub security: SecurityIndex,
}

impl Default for Terms {
    fn default() -> Self {
        Self {
            weight: 1,
            limit: None,
            backup: false,
            security: SecurityIndex::default(),
        }
    }
}
