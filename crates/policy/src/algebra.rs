//! Merging and intersecting policies (WS-Policy 1.5, 4.4 and 4.5).
//!
//! The one rule: both work on normal forms, and within the same bounds as normalizing.

use std::sync::Arc;

use crate::alternative::{Alternative, Assertion, NormalPolicy};
use crate::error::PolicyError;
use crate::limits::{Budget, Exhausted, PolicyLimits};
use crate::normal::multiply;

/// What an assertion that is ignorable counts for in an intersection (WS-Policy 1.5, 4.5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum IntersectionMode {
    /// As much as any other.
    #[default]
    Strict,
    /// Nothing.
    Lax,
}

impl NormalPolicy {
    /// The policy that demands what both demand.
    ///
    /// # Errors
    /// More alternatives or work than `limits` allow.
    pub fn merge(&self, other: &Self, limits: &PolicyLimits) -> Result<Self, PolicyError> {
        let alternatives = multiply(
            &self.alternatives,
            &other.alternatives,
            &mut Budget::new(limits),
        )
        .map_err(|exhausted| combined(exhausted, limits))?;
        Ok(Self {
            version: self.version,
            alternatives,
        })
    }

    /// The alternatives on which two parties can agree: each that is compatible with one of the
    /// other, with the assertions of both.
    ///
    /// No alternative in the result: the policies are incompatible.
    ///
    /// # Errors
    /// More alternatives or work than `limits` allow.
    pub fn intersect(
        &self,
        other: &Self,
        mode: IntersectionMode,
        limits: &PolicyLimits,
    ) -> Result<Self, PolicyError> {
        let mut budget = Budget::new(limits);
        let mut alternatives = Vec::new();
        let mut pairs = || {
            for left in &self.alternatives {
                for right in &other.alternatives {
                    if compatible(left, right, mode, &mut budget)? {
                        budget.spend(left.weight() + right.weight())?;
                        budget.alternatives(alternatives.len() + 1)?;
                        let assertions = left.assertions.iter().chain(&right.assertions);
                        alternatives.push(Alternative {
                            assertions: assertions.cloned().collect(),
                        });
                    }
                }
            }
            Ok(())
        };
        pairs().map_err(|exhausted| combined(exhausted, limits))?;
        Ok(Self {
            version: self.version,
            alternatives,
        })
    }
}

/// Two alternatives are compatible if each assertion of either has a compatible one in the other.
fn compatible(
    left: &Alternative,
    right: &Alternative,
    mode: IntersectionMode,
    budget: &mut Budget<'_>,
) -> Result<bool, Exhausted> {
    Ok(covers(left, right, mode, budget)? && covers(right, left, mode, budget)?)
}

/// Whether each assertion of `left` that counts has a compatible one in `right`.
fn covers(
    left: &Alternative,
    right: &Alternative,
    mode: IntersectionMode,
    budget: &mut Budget<'_>,
) -> Result<bool, Exhausted> {
    budget.spend(1)?;
    for assertion in &left.assertions {
        if mode == IntersectionMode::Lax && assertion.is_ignorable() {
            continue;
        }
        if !has_compatible(assertion, right, mode, budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn has_compatible(
    assertion: &Arc<Assertion>,
    among: &Alternative,
    mode: IntersectionMode,
    budget: &mut Budget<'_>,
) -> Result<bool, Exhausted> {
    for other in &among.assertions {
        budget.spend(1)?;
        if assertion.name() != other.name() {
            continue;
        }
        let nested = match (assertion.nested(), other.nested()) {
            (None, None) => true,
            (Some(left), Some(right)) => compatible(left, right, mode, budget)?,
            _ => false,
        };
        if nested {
            return Ok(true);
        }
    }
    Ok(false)
}

fn combined(exhausted: Exhausted, limits: &PolicyLimits) -> PolicyError {
    match exhausted {
        Exhausted::Alternatives => PolicyError::TooManyAlternatives {
            allowed: limits.alternatives,
            place: None,
        },
        Exhausted::Steps => PolicyError::TooMuchWork {
            allowed: limits.steps,
            place: None,
        },
    }
}
