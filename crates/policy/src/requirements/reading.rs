//! Reading that all assertions share: what is nested, and what is in the wrong place.
//!
//! The one rule: nothing is passed over in silence but the configuration of other stacks.

use std::sync::Arc;

use super::foreign;
use crate::alternative::Assertion;
use crate::problem::{PolicyProblem, ProblemKind};

/// The assertions of the nested policy; none where there is none.
pub(super) fn nested(assertion: &Assertion) -> &[Arc<Assertion>] {
    assertion
        .nested()
        .map_or(&[], |alternative| &alternative.assertions)
}

/// Adds a problem for whatever stands in an assertion beside its nested policy, where nobody would
/// obey it: an assertion, a reference to the policy that should be there (WS-Policy 1.5, 4.3.2 has
/// none without a `wsp:Policy` around it), or an element of others.
pub(super) fn refuse_beside(assertion: &Assertion, problems: &mut Vec<PolicyProblem>) {
    for one in assertion.parameters() {
        let name = &one.name;
        let kind = if name.security_version().is_some() || name.policy_version().is_some() {
            let what = "a wsp:Policy around it";
            ProblemKind::Missing { what }
        } else if foreign::is_configuration(name) {
            continue;
        } else {
            ProblemKind::Unknown
        };
        problems.push(PolicyProblem::at(name, &one.place, kind));
    }
}

/// Whether `assertion` is one of WS-SecurityPolicy, of whatever version; adds the problem if it is
/// not.
pub(super) fn is_security(assertion: &Assertion, problems: &mut Vec<PolicyProblem>) -> bool {
    if assertion.name().security_version().is_some() {
        return true;
    }
    if !assertion.is_ignorable() {
        let kind = foreign::refusal(assertion.name());
        problems.push(PolicyProblem::new(assertion, kind));
    }
    false
}

pub(super) fn not_supported(assertion: &Assertion, reason: &'static str) -> PolicyProblem {
    PolicyProblem::new(assertion, ProblemKind::NotSupported { reason })
}
