//! A replay cache for tests that open messages more than once, on purpose.

use jiff::Timestamp;
use soapstone::replay::{ReplayCache, ReplayError};
use soapstone::wss::{FirstSeen, Mark};

/// Takes every message for the first of its kind.
#[derive(Debug)]
pub(crate) struct Forgetful;

impl ReplayCache for Forgetful {
    fn first_seen(&self, marks: &[Mark], _: Timestamp) -> Result<FirstSeen, ReplayError> {
        Ok(FirstSeen::assertion(marks))
    }
}
