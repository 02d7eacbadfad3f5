//! What operators learn of a gateway: log, metrics, traces, the audit trail, and calls for the
//! registry.
//!
//! The rule kept here: what is told never delays a message, and tells nothing that a message holds.
//! Refused messages are kept only where the configuration says so, sealed and as they arrived.

pub(crate) mod audit;
pub(crate) mod calls;
pub(crate) mod changes;
pub(crate) mod log;
pub(crate) mod metrics;
pub(crate) mod record;
pub(crate) mod trace_context;
pub(crate) mod traces;
pub(crate) mod violations;
