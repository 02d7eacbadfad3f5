//! What is right in a configuration file and a risk all the same.
//!
//! The rule kept here: a warning has a stable name, a place and something to do about it, like a
//! problem; it keeps nobody from starting.

use std::fmt;

use super::problem::Problem;

/// A choice that a file makes and that is a risk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Stable name, for those who sort warnings.
    pub name: &'static str,
    /// Where it is made, what follows from it, and what to do about it.
    pub problem: Problem,
}

impl fmt::Display for Warning {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(out)
    }
}
