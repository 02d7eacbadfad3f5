//! Token buckets that processes share, in Redis or Valkey: together they let in what one of them
//! may.
//!
//! A bucket is the moment at which it will be full again (the generic cell rate algorithm, ITU-T
//! I.371 annex A), in microseconds by the clock of the server: those of the processes need not
//! agree. One script reads and moves it, and nothing comes between. A call that is repeated because
//! its answer was lost takes a second token, so that no more is let in than may.
//!
//! The rule kept here: what the server did not answer has taken no token that anybody counts on.

use std::sync::Arc;
use std::time::Duration;

use redis::Value;
use soapstone::crypto::{DigestAlgorithm, digest, hexadecimal};

use crate::problem::StoreProblem;
use crate::remote::{Effect, Remote, Unanswered};

/// Takes a token. The answer is 0, or for how many microseconds to wait for one.
///
/// A bucket is never emptier than empty: one of a slower rate, or of a clock that was set back, is
/// full again after no more than the time that this rate takes to fill it. A bucket that is full
/// is not kept.
///
/// Numbers of a script are doubles, which have quarters of a microsecond since 1970. So all is
/// counted in nanoseconds from now on, and the moment is kept in two parts: microseconds and, after
/// a point, the nanoseconds beyond. A bucket of one is then exactly full where it is full.
///
/// KEYS: the bucket. ARGV: nanoseconds for each token, nanoseconds for as many as may come at once.
const TAKE: &str = "\
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local each, depth = tonumber(ARGV[1]), tonumber(ARGV[2])
local micros, nanos = string.match(redis.call('GET', KEYS[1]) or '0', '^(%d+)%.?(%d*)$')
local ahead = ((tonumber(micros) or 0) - now) * 1000 + (tonumber(nanos) or 0)
ahead = math.min(math.max(ahead, 0), depth) + each
local wait = ahead - depth
if wait > 0 then return math.ceil(wait / 1000) end
local whole = math.floor(ahead / 1000)
local full = string.format('%.0f.%03.0f', now + whole, ahead - whole * 1000)
redis.call('SET', KEYS[1], full, 'PX', string.format('%.0f', math.ceil(ahead / 1000000) + 1))
return 0";

/// The token buckets of a deployment in its shared store.
#[derive(Debug)]
pub struct RedisBuckets {
    remote: Arc<Remote>,
    prefix: String,
}

impl RedisBuckets {
    pub(crate) fn new(remote: Arc<Remote>, prefix: &str) -> Self {
        Self {
            remote,
            prefix: prefix.to_owned(),
        }
    }

    /// Takes a token of the bucket with that name: one comes after each time, and as many as there
    /// are in `depth` may come at once. `Some` says how long to wait for one. It takes the timeout
    /// of the store at most.
    ///
    /// # Errors
    ///
    /// Why there is no answer.
    pub fn take(
        &self,
        name: &str,
        each: Duration,
        depth: Duration,
    ) -> Result<Option<Duration>, StoreProblem> {
        let name = digest(DigestAlgorithm::Sha256, name.as_bytes());
        let name = name.map_err(Unanswered::from)?;
        // 128 bits name it, as they do marks.
        let name = hexadecimal::encode(&name.as_ref()[..16]);
        let key = format!("{}:bucket:{name}", self.prefix);
        let slot = self.remote.slot(&key);
        let mut command = redis::cmd("EVAL");
        command.arg(TAKE).arg(1).arg(key);
        command.arg(each.as_nanos().to_string());
        command.arg(depth.as_nanos().to_string());
        let deadline = self.remote.deadline();
        match self.remote.ask(slot, &command, Effect::Writes, deadline)? {
            Value::Int(0) => Ok(None),
            Value::Int(wait) => match u64::try_from(wait) {
                Ok(wait) => Ok(Some(Duration::from_micros(wait))),
                Err(_) => Err(unexpected()),
            },
            _ => Err(unexpected()),
        }
    }
}

fn unexpected() -> StoreProblem {
    StoreProblem::Refuses {
        problem: "a script was answered by something else".to_owned(),
    }
}
