//! The versions of WS-Policy and WS-SecurityPolicy that go together.

use crate::names::{PolicyVersion, SecurityPolicyVersion};

/// The versions of both specifications that go together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version {
    pub(super) policy: PolicyVersion,
    pub(super) security: SecurityPolicyVersion,
}

impl Version {
    pub(super) const CURRENT: Self = Self {
        policy: PolicyVersion::V15,
        security: SecurityPolicyVersion::V12,
    };
    pub(super) const OF_2005: Self = Self {
        policy: PolicyVersion::V12,
        security: SecurityPolicyVersion::V11,
    };
}
