//! Moments, and what is said of those that a clock was set over.
//!
//! The rule kept here: when in doubt, refuse.

use std::time::Duration;

use jiff::Timestamp;
use soapstone::replay::ReplayError;

/// Why a message is refused that ends when marks ended that are dropped, by the last second of
/// these: without a change of the clock it would have been too old, or too new.
pub(crate) fn set_back(forgotten: i64) -> ReplayError {
    let ended = Timestamp::from_second(forgotten).unwrap_or(Timestamp::MAX);
    ReplayError::Unavailable {
        problem: format!(
            "marks that ended like it, by {ended}, are dropped, and the clock was set since: whether the message was seen before is not known"
        ),
    }
}

/// A moment so much later, or the last that there is.
pub(crate) fn later(moment: Timestamp, by: Duration) -> Timestamp {
    moment.checked_add(by).unwrap_or(Timestamp::MAX)
}
