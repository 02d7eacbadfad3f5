//! When a message is answered for that is refused.
//!
//! The rule kept here: the moment depends on the size of the message alone.

use std::time::Duration;

use tokio::time::Instant;

/// A message of up to [`TICK_MESSAGE`] bytes that is refused is answered at a multiple of this time
/// after it arrived, a larger one at a multiple of as many times as it is larger: the time depends
/// on the size of the message alone. It does not tell which step refused it: where the padding, the
/// tag, the plaintext or the signature was wrong (Jager and Somorovsky, How to Break XML
/// Encryption, 2011).
///
/// Opening 8 MiB takes about 25 ms (`soapstone lab run engine`); a message of the same size that is
/// made up of small elements up to 20 times that.
const REFUSAL_TICK: Duration = Duration::from_millis(50);

/// Bytes of a message for each [`REFUSAL_TICK`].
const TICK_MESSAGE: usize = 1 << 20;

/// When a message of this size that arrived then is answered for, if it is refused: the first of
/// its moments that is not past.
pub fn refusal_moment(arrived: Instant, bytes: usize) -> Instant {
    let times = u32::try_from(bytes / TICK_MESSAGE).unwrap_or(u32::MAX);
    let tick = REFUSAL_TICK.saturating_mul(times.saturating_add(1));
    let ticks = arrived.elapsed().as_millis() / tick.as_millis() + 1;
    arrived + tick.saturating_mul(u32::try_from(ticks).unwrap_or(u32::MAX))
}
