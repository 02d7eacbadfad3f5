//! What is found out about the parties of agreements.
//!
//! The rule kept here: a violation tells what was promised and what was measured, and of how many
//! calls. What nobody measured is no violation.

use std::time::Duration;

/// What a party owes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Obligation {
    /// The client: which operations it calls.
    Operation,
    /// The client: how large its requests are.
    Size,
    /// The client: how many requests it sends.
    Rate,
    /// The provider: how quickly it answers.
    ResponseTime,
    /// The provider: how often it answers.
    Availability,
    /// The provider: how its answers are secured.
    Security,
    /// The provider: that its reports fit its calls.
    Reports,
    /// The provider: that the policy which it registered is no weaker than agreed, and that its
    /// answers are no weaker than that policy.
    Description,
}

impl Obligation {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Operation,
        Self::Size,
        Self::Rate,
        Self::ResponseTime,
        Self::Availability,
        Self::Security,
        Self::Reports,
        Self::Description,
    ];

    /// A stable name, for records and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Operation => "operation",
            Self::Size => "size",
            Self::Rate => "rate",
            Self::ResponseTime => "response-time",
            Self::Availability => "availability",
            Self::Security => "security",
            Self::Reports => "reports",
            Self::Description => "description",
        }
    }

    /// The party that owes it: `client` or `provider`.
    pub fn party(self) -> &'static str {
        match self {
            Self::Operation | Self::Size | Self::Rate => "client",
            Self::ResponseTime
            | Self::Availability
            | Self::Security
            | Self::Reports
            | Self::Description => "provider",
        }
    }
}

/// A party did not do what it owes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The name of the agreement.
    pub agreement: String,
    /// The name of the service.
    pub service: String,
    /// The client's subject.
    pub client: String,
    /// The backend that it is about, where the provider owes it.
    pub backend: Option<String>,
    /// The subject that the provider's answers are signed with, where the agreement says so.
    pub provider: Option<String>,
    /// What was owed.
    pub obligation: Obligation,
    /// What was promised, in words.
    pub promised: String,
    /// What was measured, in words.
    pub measured: String,
    /// Calls in the window; of the obligation about reports, reports, and of that about
    /// descriptions, times that one was read.
    pub calls: u64,
    /// Those of them that were not as promised.
    pub violating: u64,
    /// When the window began and ended, since 1970.
    pub window: (Duration, Duration),
    /// What it costs, in words.
    pub penalty: Option<String>,
    /// For how long the provider gets no calls because of it.
    pub excluded: Option<Duration>,
}

/// What changed under an agreement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgreementEvent {
    /// A party did not do what it owes.
    Violated(Box<Violation>),
    /// The time is over for which a provider got no calls.
    Returned {
        /// The name of the agreement.
        agreement: String,
        /// The backend.
        backend: String,
    },
    /// An agreement that was in force has come to its end.
    Expired {
        /// The name of the agreement.
        agreement: String,
    },
}

/// Why a request is refused by its agreement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Excess {
    /// It calls another operation than agreed.
    Operation,
    /// It may call another operation than agreed, and that is not the client's proven word.
    Unproven,
    /// It is larger than agreed.
    Size,
    /// Nobody can tell how many the client has sent: who counts them is away.
    Unknown,
    /// The client has sent as many as agreed.
    Rate {
        /// How long to wait for the next one.
        wait: Duration,
    },
}

impl Excess {
    /// What the client owes; `None` where it is not known to be the client's doing.
    pub fn obligation(&self) -> Option<Obligation> {
        match self {
            Self::Operation => Some(Obligation::Operation),
            Self::Unproven | Self::Unknown => None,
            Self::Size => Some(Obligation::Size),
            Self::Rate { .. } => Some(Obligation::Rate),
        }
    }

    /// A stable name for metrics and logs.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Operation | Self::Unproven => "agreement-operation",
            Self::Size => "agreement-size",
            Self::Unknown => "agreement-unknown",
            Self::Rate { .. } => "agreement-rate",
        }
    }
}
