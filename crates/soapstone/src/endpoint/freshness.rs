//! How fresh messages must be, as an endpoint file says it.

use soapstone_wss::TimestampPolicy;

use crate::config::TimestampConfig;

/// How fresh messages without a Timestamp must be, where the file says so.
pub(super) fn freshness_alone(given: &TimestampConfig) -> Option<TimestampPolicy> {
    let default = TimestampPolicy::default();
    (given.ttl.is_some() || given.skew.is_some()).then(|| TimestampPolicy {
        required: false,
        sent: false,
        ttl: given.ttl.unwrap_or(default.ttl),
        skew: given.skew.unwrap_or(default.skew),
    })
}
