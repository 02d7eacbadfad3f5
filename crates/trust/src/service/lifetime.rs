//! When a token ends that is wanted for a time (WS-Trust 1.4, 4.1).
//!
//! The one rule: nobody gets a longer life than the service grants, nor one that begins later.

use std::time::Duration;

use jiff::Timestamp;

use crate::fault::Refusal;
use crate::message::{Lifetime, between, later};

/// When a token ends that is wanted for `lifetime`; where that does not say, after the usual one.
/// `granted` is the usual and the longest one.
pub(super) fn end(
    lifetime: Option<Lifetime>,
    granted: (Duration, Duration),
    skew: Duration,
    now: Timestamp,
) -> Result<Timestamp, Refusal> {
    let longest = later(now, granted.1);
    let usual = later(now, granted.0).min(longest);
    let Some(lifetime) = lifetime else {
        return Ok(usual);
    };
    let refused = Err(Refusal::TimeRange { lifetime, now });
    let created = lifetime.created.unwrap_or(now);
    // Tokens are not made for later.
    if created > later(now, skew) {
        return refused;
    }
    let Some(expires) = lifetime.expires else {
        return Ok(usual);
    };
    if expires <= created {
        return refused;
    }
    // Where the clock of the requestor is off by no more than is forgiven, its times are taken for
    // a duration.
    let end = match between(created, now) <= skew {
        true => later(now, between(created, expires)),
        false => expires,
    };
    match end > now {
        true => Ok(end.min(longest)),
        false => refused,
    }
}
