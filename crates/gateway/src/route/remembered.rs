//! What a process remembers of messages, whichever route they came to or left from.
//!
//! The rule kept here: a message that one endpoint accepted is a copy for all of them.

use soapstone::endpoint::ReflectionGuard;
use soapstone_store::ProcessMemory;

/// The messages that any route has accepted or sent, under any configuration.
#[derive(Debug, Default)]
pub(crate) struct Remembered {
    pub(super) accepted: ProcessMemory,
    /// Of inbound endpoints, which are services.
    pub(super) answers: ReflectionGuard,
    /// Of outbound endpoints, which are clients.
    pub(super) requests: ReflectionGuard,
}
