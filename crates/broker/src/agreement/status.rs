//! What is known of an agreement, for operators.
//!
//! The rule kept here: looking changes nothing.

use std::time::Duration;

use super::violation::Obligation;

/// What is known of an agreement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgreementStatus {
    /// Its name.
    pub name: String,
    /// Whether it is in force.
    pub in_force: bool,
    /// Requests that it let in.
    pub admitted: u64,
    /// Requests that it refused.
    pub refused: u64,
    /// Requests in the window that is being measured.
    pub asked: u64,
    /// Those of them that were refused.
    pub excess: u64,
    /// How often each obligation was not met.
    pub violations: Vec<(Obligation, u64)>,
    /// The provider's backends that had calls.
    pub providers: Vec<ProviderStatus>,
}

/// What is known of a backend under an agreement: of the window that is being measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderStatus {
    /// Its name.
    pub backend: String,
    /// Calls.
    pub calls: u64,
    /// Those of them that were not answered in time.
    pub late: u64,
    /// Those of them that were not answered.
    pub failed: u64,
    /// Those of them whose answer was weaker than agreed.
    pub weak: u64,
    /// Violations that count towards an exclusion.
    pub strikes: u32,
    /// For how long it still gets no calls.
    pub excluded: Option<Duration>,
}
