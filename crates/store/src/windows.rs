//! Windows of calls that processes measure together, in Redis or Valkey.
//!
//! A window is one key: when it began by the clock of the server, what was counted since, and
//! violations that count towards an exclusion. Each process adds what it has counted now and then,
//! and whoever finds the window full takes it: one alone judges it. Each call has a turn of its
//! own, which stays with its answer, so that a call that is repeated adds nothing twice.
//!
//! The rule kept here: what a process counted is in one window, or comes back to it.

use std::sync::Arc;
use std::time::Duration;

use redis::{Cmd, Value};
use soapstone::crypto::{DigestAlgorithm, digest, hexadecimal, random};

use crate::problem::StoreProblem;
use crate::remote::{Effect, Remote, Unanswered};

/// Adds counts and takes the window if it is full. The answer is empty or beginning and counts,
/// with colons between, and for how many milliseconds there is an exclusion.
///
/// KEYS: the window. ARGV: caller, its turn, counts of calls, late, failed and weak ones, calls of
/// a full window or 0, its milliseconds or 0, for how many milliseconds the key lives.
const ADD: &str = "\
local key, caller = KEYS[1], ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local told = redis.call('HGET', key, 'told:' .. caller)
if redis.call('HGET', key, 'turn:' .. caller) ~= ARGV[2] then
  local names = {'calls', 'late', 'failed', 'weak'}
  if tonumber(ARGV[3]) > 0 then
    redis.call('HSETNX', key, 'begun', string.format('%.0f', now))
    for i, name in ipairs(names) do redis.call('HINCRBY', key, name, ARGV[i + 2]) end
  end
  told = ''
  local begun = redis.call('HGET', key, 'begun')
  if begun then
    local counts = redis.call('HMGET', key, unpack(names))
    local most, length = tonumber(ARGV[7]), tonumber(ARGV[8])
    if most > 0 and tonumber(counts[1]) >= most or length > 0 and now - begun >= length then
      told = begun .. ':' .. table.concat(counts, ':')
      redis.call('HDEL', key, 'begun', unpack(names))
    end
  end
  redis.call('HSET', key, 'turn:' .. caller, ARGV[2], 'told:' .. caller, told)
  redis.call('PEXPIRE', key, ARGV[9])
end
return {told, math.max(0, (redis.call('HGET', key, 'until') or 0) - now)}";

/// Counts violations towards an exclusion, unless there is one. The answer is 1 where it begins.
///
/// KEYS: the window. ARGV: caller, its turn, violations, after how many the exclusion begins, its
/// milliseconds, for how many milliseconds the key lives.
const STRIKE: &str = "\
local key, caller = KEYS[1], ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if redis.call('HGET', key, 'struck:' .. caller) == ARGV[2] then
  return tonumber(redis.call('HGET', key, 'excluded:' .. caller))
end
local excluded = 0
if now >= tonumber(redis.call('HGET', key, 'until') or 0) then
  if redis.call('HINCRBY', key, 'strikes', ARGV[3]) >= tonumber(ARGV[4]) then
    redis.call('HDEL', key, 'strikes')
    redis.call('HSET', key, 'until', string.format('%.0f', now + ARGV[5]))
    excluded = 1
  end
end
redis.call('HSET', key, 'struck:' .. caller, ARGV[2], 'excluded:' .. caller, excluded)
redis.call('PEXPIRE', key, ARGV[6])
return excluded";

/// For how long what belongs to no window stays: strikes of a provider that behaves since then.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

/// Windows of a deployment in its shared store.
#[derive(Debug)]
pub struct RedisWindows {
    remote: Arc<Remote>,
    prefix: String,
    /// This process.
    caller: String,
}

/// What was counted of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowCounts {
    /// Calls.
    pub calls: u64,
    /// Those that took too long.
    pub late: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that were answered too weakly.
    pub weak: u64,
}

/// When a window is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WindowEnd {
    /// After so many calls, or some more: processes add what they counted now and then.
    Calls(u64),
    /// After so long.
    Time(Duration),
}

/// What came of counts that were added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Added {
    /// The window was full, and this process judges it: when it began, since 1970 by the clock of
    /// the store, and what was counted in it.
    pub full: Option<(Duration, WindowCounts)>,
    /// For how long there is an exclusion still.
    pub excluded: Option<Duration>,
}

impl RedisWindows {
    pub(crate) fn new(remote: Arc<Remote>, prefix: &str) -> Self {
        Self {
            remote,
            prefix: prefix.to_owned(),
            caller: hexadecimal::encode(&random::bytes::<8>()),
        }
    }

    /// Adds what was counted to the window with that name. It takes the timeout of the store at
    /// most.
    ///
    /// # Errors
    ///
    /// Why there is no answer.
    pub fn add(
        &self,
        name: &str,
        counts: WindowCounts,
        end: WindowEnd,
    ) -> Result<Added, StoreProblem> {
        let (most, length) = match end {
            WindowEnd::Calls(most) => (most, 0),
            WindowEnd::Time(length) => (0, length.as_millis()),
        };
        let mut command = self.script(ADD, name)?;
        command
            .arg([counts.calls, counts.late, counts.failed, counts.weak].as_slice())
            .arg(most)
            .arg(length.to_string())
            .arg(life(Duration::ZERO).as_millis().to_string());
        match self.ask(name, &command)? {
            Value::Array(parts) => added(&parts).ok_or_else(unexpected),
            _ => Err(unexpected()),
        }
    }

    /// Counts violations towards an exclusion of that length, which begins after so many. Says
    /// whether it begins now.
    ///
    /// # Errors
    ///
    /// Why there is no answer.
    pub fn strike(
        &self,
        name: &str,
        violations: u32,
        after: u32,
        time: Duration,
    ) -> Result<bool, StoreProblem> {
        let mut command = self.script(STRIKE, name)?;
        command
            .arg(violations)
            .arg(after)
            .arg(time.as_millis().to_string())
            .arg(life(time).as_millis().to_string());
        match self.ask(name, &command)? {
            Value::Int(begins @ (0 | 1)) => Ok(begins == 1),
            _ => Err(unexpected()),
        }
    }

    fn script(&self, script: &str, name: &str) -> Result<Cmd, Unanswered> {
        let turn: [u8; 8] = random::bytes();
        let mut command = redis::cmd("EVAL");
        command.arg(script).arg(1).arg(self.key(name)?);
        command.arg(&self.caller).arg(hexadecimal::encode(&turn));
        Ok(command)
    }

    fn ask(&self, name: &str, command: &Cmd) -> Result<Value, Unanswered> {
        let slot = self.remote.slot(&self.key(name)?);
        let deadline = self.remote.deadline();
        self.remote.ask(slot, command, Effect::Writes, deadline)
    }

    /// 128 bits name it, as they do marks.
    fn key(&self, name: &str) -> Result<String, Unanswered> {
        let name = digest(DigestAlgorithm::Sha256, name.as_bytes())?;
        let name = hexadecimal::encode(&name.as_ref()[..16]);
        Ok(format!("{}:window:{name}", self.prefix))
    }
}

/// For how long a key lives that knows of an exclusion of that length.
fn life(exclusion: Duration) -> Duration {
    LONGEST.saturating_add(exclusion)
}

fn added(parts: &[Value]) -> Option<Added> {
    let [Value::BulkString(told), Value::Int(excluded)] = parts else {
        return None;
    };
    let told = std::str::from_utf8(told).ok()?;
    let excluded = Duration::from_millis(u64::try_from(*excluded).ok()?);
    let full = match told {
        "" => None,
        told => {
            let numbers: Result<Vec<u64>, _> = told.split(':').map(str::parse).collect();
            let [begun, calls, late, failed, weak] = numbers.ok()?[..] else {
                return None;
            };
            let counts = WindowCounts {
                calls,
                late,
                failed,
                weak,
            };
            Some((Duration::from_millis(begun), counts))
        }
    };
    Some(Added {
        full,
        excluded: (!excluded.is_zero()).then_some(excluded),
    })
}

fn unexpected() -> StoreProblem {
    StoreProblem::Refuses {
        problem: "a script was answered by something else".to_owned(),
    }
}
