//! Windows of calls that processes measure together, in Redis or Valkey.
//!
//! A window has a key for what was counted since it began, by the clock of the server, and by which
//! terms it is judged. Its provider has another one, for violations that count towards an
//! exclusion. Each process adds what it has counted now and then, and whoever finds the window full
//! takes it: one alone judges it. Each call has a turn of its own, which stays with its answer in a
//! key of the process, so that a call that is repeated with its turn adds nothing twice.
//!
//! The rule kept here: what a process counted is in one window, however often it has to say so.

use std::sync::Arc;
use std::time::Duration;

use redis::Value;
use soapstone::crypto::{DigestAlgorithm, digest, hexadecimal, random};

use crate::problem::StoreProblem;
use crate::remote::{Effect, Remote, Unanswered};

/// Adds counts and takes the window if it is full. The answer is empty or beginning and counts,
/// with colons between, and for how many milliseconds there is an exclusion.
///
/// KEYS: the window, its provider, the answers to this process. ARGV: the turn, for how many
/// milliseconds its answer lives, counts of calls, late, failed and weak ones, calls of a full
/// window or 0, its milliseconds or 0, for how many milliseconds the window lives.
const ADD: &str = "\
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local told = redis.call('HGET', KEYS[3], 'told')
if redis.call('HGET', KEYS[3], 'turn') ~= ARGV[1] then
  local names = {'calls', 'late', 'failed', 'weak'}
  if tonumber(ARGV[3]) > 0 then
    redis.call('HSETNX', KEYS[1], 'begun', string.format('%.0f', now))
    for i, name in ipairs(names) do redis.call('HINCRBY', KEYS[1], name, ARGV[i + 2]) end
  end
  told = ''
  local begun = redis.call('HGET', KEYS[1], 'begun')
  if begun then
    redis.call('PEXPIRE', KEYS[1], ARGV[9])
    local counts = redis.call('HMGET', KEYS[1], unpack(names))
    local most, length = tonumber(ARGV[7]), tonumber(ARGV[8])
    if most > 0 and tonumber(counts[1]) >= most or length > 0 and now - begun >= length then
      told = begun .. ':' .. table.concat(counts, ':')
      redis.call('DEL', KEYS[1])
    end
  end
  redis.call('HSET', KEYS[3], 'turn', ARGV[1], 'told', told)
  redis.call('PEXPIRE', KEYS[3], ARGV[2])
end
return {told, math.max(0, (redis.call('HGET', KEYS[2], 'until') or 0) - now)}";

/// Counts violations towards an exclusion, unless there is one. The answer is 1 where it begins.
///
/// Violations of which the exclusion would be over count, and take nothing away: neither those that
/// were counted before, nor any of the life of what is known.
///
/// KEYS: the window, its provider, the answers to this process. ARGV: the turn, for how many
/// milliseconds its answer lives, violations, after how many the exclusion begins, its
/// milliseconds, for how many milliseconds what is known of the provider lives.
const STRIKE: &str = "\
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if redis.call('HGET', KEYS[3], 'struck') == ARGV[1] then
  return tonumber(redis.call('HGET', KEYS[3], 'excluded'))
end
local excluded, left = 0, tonumber(ARGV[5])
if now >= tonumber(redis.call('HGET', KEYS[2], 'until') or 0) then
  local strikes = redis.call('HINCRBY', KEYS[2], 'strikes', ARGV[3])
  if left > 0 and strikes >= tonumber(ARGV[4]) then
    redis.call('HDEL', KEYS[2], 'strikes')
    redis.call('HSET', KEYS[2], 'until', string.format('%.0f', now + left))
    excluded = 1
  end
end
redis.call('HSET', KEYS[3], 'struck', ARGV[1], 'excluded', excluded)
redis.call('PEXPIRE', KEYS[3], ARGV[2])
if redis.call('PTTL', KEYS[2]) < tonumber(ARGV[6]) then redis.call('PEXPIRE', KEYS[2], ARGV[6]) end
return excluded";

/// For how long what belongs to no window stays: strikes of a provider that behaves since then.
const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);

/// For how long an answer stays whose turn may be repeated: far longer than stores are away.
const REPEATED: Duration = Duration::from_secs(24 * 3600);

/// Windows of a deployment in its shared store.
#[derive(Clone, Debug)]
pub struct RedisWindows {
    remote: Arc<Remote>,
    prefix: String,
    /// This process.
    caller: String,
}

/// Which window.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WindowName {
    /// Whose calls are in it. Violations and exclusions are of this one, whatever the terms.
    pub provider: String,
    /// By which terms it is judged. Calls that were counted by other terms are in another window.
    pub terms: String,
}

/// A call that may be repeated until it is answered, and counts once.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn(String);

impl Turn {
    /// Another one than all before.
    #[must_use]
    pub fn new() -> Self {
        Self(hexadecimal::encode(&random::bytes::<8>()))
    }
}

impl Default for Turn {
    fn default() -> Self {
        Self::new()
    }
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

    /// The same after those of a former configuration: they speak for the same process.
    #[must_use]
    pub fn following(self, former: &Self) -> Self {
        Self {
            caller: former.caller.clone(),
            ..self
        }
    }

    /// Adds what was counted to the window with that name. It takes the timeout of the store at
    /// most. What was not answered may have been added: it is to be repeated with its turn.
    ///
    /// # Errors
    ///
    /// Why there is no answer.
    pub fn add(
        &self,
        turn: &Turn,
        name: &WindowName,
        counts: WindowCounts,
        end: WindowEnd,
    ) -> Result<Added, StoreProblem> {
        let (most, length) = match end {
            WindowEnd::Calls(most) => (most, Duration::ZERO),
            WindowEnd::Time(length) => (0, length),
        };
        let arguments = [
            counts.calls.to_string(),
            counts.late.to_string(),
            counts.failed.to_string(),
            counts.weak.to_string(),
            most.to_string(),
            length.as_millis().to_string(),
            life(length).as_millis().to_string(),
        ];
        match self.ask(ADD, turn, name, &arguments)? {
            Value::Array(parts) => added(&parts).ok_or_else(unexpected),
            _ => Err(unexpected()),
        }
    }

    /// Counts violations towards an exclusion of that length, which begins after so many. Says
    /// whether it begins now: one of no length does not. What was not answered is to be repeated
    /// with its turn.
    ///
    /// # Errors
    ///
    /// Why there is no answer.
    pub fn strike(
        &self,
        turn: &Turn,
        name: &WindowName,
        violations: u32,
        (after, time): (u32, Duration),
    ) -> Result<bool, StoreProblem> {
        let arguments = [
            violations.to_string(),
            after.to_string(),
            time.as_millis().to_string(),
            life(time).as_millis().to_string(),
        ];
        match self.ask(STRIKE, turn, name, &arguments)? {
            Value::Int(begins @ (0 | 1)) => Ok(begins == 1),
            _ => Err(unexpected()),
        }
    }

    fn ask(
        &self,
        script: &str,
        turn: &Turn,
        name: &WindowName,
        arguments: &[String],
    ) -> Result<Value, Unanswered> {
        // 128 bits name it, as they do marks.
        let short = |text: &str| -> Result<String, Unanswered> {
            let whole = digest(DigestAlgorithm::Sha256, text.as_bytes())?;
            Ok(hexadecimal::encode(&whole.as_ref()[..16]))
        };
        let (tag, terms) = (short(&name.provider)?, short(&name.terms)?);
        // What is in braces says in which slot of a cluster a key is: all of a provider in one.
        let provider = format!("{}:window:{{{tag}}}", self.prefix);
        let window = format!("{provider}:{terms}");
        let answers = format!("{window}:{}", self.caller);
        let mut command = redis::cmd("EVAL");
        command.arg(script).arg(3);
        command.arg(window).arg(provider).arg(answers);
        command.arg(&turn.0).arg(REPEATED.as_millis().to_string());
        command.arg(arguments);
        let deadline = self.remote.deadline();
        let slot = self.remote.slot(&tag);
        self.remote.ask(slot, &command, Effect::Writes, deadline)
    }
}

/// For how long a key lives that knows of a window or an exclusion of that length.
fn life(length: Duration) -> Duration {
    LONGEST.saturating_add(length)
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
