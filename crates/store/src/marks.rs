//! Replay marks in Redis or Valkey, so that no node accepts what another one has accepted.
//!
//! A message's marks are checked and remembered by one script, which nothing comes between. Each call has a name of its own that it
//! leaves with the marks, so that a call that is repeated, because its answer was lost, knows its own marks again. In a cluster a mark
//! lives in the slot of its own key (two messages that share one mark must meet there), so a message whose marks live in several
//! slots takes a script for each; when a later one finds a mark, those of the earlier ones are taken back.
//!
//! The rule kept here: a message is admitted when all its marks were set by this call, and as many replicas have them as was asked for.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Instant;

use jiff::Timestamp;
use redis::Value;
use soapstone::config::WhenUnavailable;
use soapstone::crypto::{hexadecimal, random};
use soapstone::replay::{ReplayCache, ReplayError};
use soapstone::wss::{FirstSeen, Mark};

use crate::memory::MemoryReplay;
use crate::remote::{Effect, Remote, Unanswered};

/// Added to the life of marks, so that they outlive their messages though the clocks of primaries and replicas differ by that much.
const MARGIN_MILLISECONDS: i64 = 5_000;

/// By how much the server's clock lengthens the life of marks at most: no message that is accepted with a clock that is further ahead is good by
/// that of others.
const MOST_AHEAD_MILLISECONDS: i64 = 3_600_000;

/// Sets all marks for the caller, unless one is set by another. A mark lives until its end by the clock of the caller or of the server, whichever
/// comes later: a node whose clock was set forth accepts messages that end soon by its clock only. A server that may not be asked for the time has none.
/// ARGV: caller, how much the server's clock may lengthen lives; for each mark how many milliseconds it lives, and the millisecond of its end.
const REMEMBER: &str = "\
for i = 1, #KEYS do
  local caller = redis.call('GET', KEYS[i])
  if caller and caller ~= ARGV[1] then return 0 end
end
local time = redis.pcall('TIME')
local now = not time.err and time[1] * 1000 + math.floor(time[2] / 1000)
for i = 1, #KEYS do
  local life = tonumber(ARGV[2 * i + 1])
  if now then life = math.max(life, math.min(tonumber(ARGV[2 * i + 2]) - now, life + tonumber(ARGV[2]))) end
  redis.call('SET', KEYS[i], ARGV[1], 'PX', string.format('%.0f', life))
end
return 1";

/// Takes the caller's marks back.
const TAKE_BACK: &str = "\
for i = 1, #KEYS do
  if redis.call('GET', KEYS[i]) == ARGV[1] then redis.call('DEL', KEYS[i]) end
end
return 1";

/// Remembers marks in Redis or Valkey until they expire.
#[derive(Debug)]
pub struct RedisReplay {
    remote: Arc<Remote>,
    prefix: String,
    /// Where this node may decide alone.
    alone: Option<Arc<Alone>>,
    decided_alone: AtomicU64,
    unanswered: AtomicU64,
}

/// What this node has seen.
#[derive(Debug)]
struct Alone {
    memory: MemoryReplay,
    /// The millisecond from which everything is expired that was accepted by the word of the store and found no room here.
    missed: AtomicI64,
}

/// A mark as it is kept.
struct Entry {
    key: String,
    /// For how many milliseconds by our clock.
    life: i64,
    /// Until which millisecond.
    end: i64,
}

impl RedisReplay {
    pub(crate) fn new(
        remote: Arc<Remote>,
        prefix: &str,
        when_unavailable: WhenUnavailable,
        capacity: usize,
    ) -> Self {
        Self {
            remote,
            prefix: prefix.to_owned(),
            alone: (when_unavailable == WhenUnavailable::Accept).then(|| {
                Arc::new(Alone {
                    memory: MemoryReplay::new(capacity),
                    missed: AtomicI64::new(i64::MIN),
                })
            }),
            decided_alone: AtomicU64::new(0),
            unanswered: AtomicU64::new(0),
        }
    }

    /// Goes on with what a predecessor has seen, where both may decide alone.
    pub(crate) fn keep_memory_of(&mut self, predecessor: &Self) {
        if let (Some(alone), Some(before)) = (&mut self.alone, &predecessor.alone) {
            *alone = Arc::clone(before);
        }
    }

    /// How many messages were accepted on the word of this node alone, because the store did not answer.
    pub fn decided_alone(&self) -> u64 {
        self.decided_alone.load(Ordering::Relaxed)
    }

    /// How many messages the store did not answer for, those refused included.
    pub fn unanswered(&self) -> u64 {
        self.unanswered.load(Ordering::Relaxed)
    }

    fn remember(&self, marks: &[Mark], now: Timestamp) -> Result<bool, Unanswered> {
        let deadline = self.remote.deadline();
        let mut slots: BTreeMap<u16, Vec<Entry>> = BTreeMap::new();
        for mark in marks {
            let entry = self.entry(mark, now);
            let entries = slots.entry(self.remote.slot(&entry.key)).or_default();
            entries.push(entry);
        }
        let caller: [u8; 8] = random::bytes();
        let mut set: Vec<(u16, &[Entry])> = Vec::with_capacity(slots.len());
        for (slot, entries) in &slots {
            let mut command = script(REMEMBER, entries, &caller);
            command.arg(MOST_AHEAD_MILLISECONDS);
            for entry in entries {
                command.arg(entry.life).arg(entry.end);
            }
            let outcome = match self.remote.ask(*slot, &command, Effect::Writes, deadline) {
                Ok(Value::Int(1)) => {
                    set.push((*slot, entries));
                    continue;
                }
                Ok(Value::Int(0)) => Ok(false),
                Ok(_) => Err(Unanswered::Refused(
                    "a script was answered by something else".to_owned(),
                )),
                Err(problem) => Err(problem),
            };
            self.take_back(&set, &caller, deadline);
            return outcome;
        }
        Ok(true)
    }

    /// As far as the time reaches: a mark that stays behind refuses a message that is refused anyway.
    fn take_back(&self, set: &[(u16, &[Entry])], caller: &[u8], deadline: Instant) {
        for (slot, entries) in set {
            let command = script(TAKE_BACK, entries, caller);
            self.remote
                .ask(*slot, &command, Effect::Writes, deadline)
                .ok();
        }
    }

    /// 128 bits of the mark's hash name it, as in memory.
    fn entry(&self, mark: &Mark, now: Timestamp) -> Entry {
        let key = format!(
            "{}:seen:{}",
            self.prefix,
            hexadecimal::encode(&mark.key[..16])
        );
        let end = mark.until.as_millisecond() + MARGIN_MILLISECONDS;
        let life = (end - now.as_millisecond()).max(MARGIN_MILLISECONDS);
        Entry { key, life, end }
    }
}

impl Alone {
    /// The word of this node alone, which it has not when it may have seen more than it remembers.
    fn first_seen(&self, marks: &[Mark], now: Timestamp) -> Result<FirstSeen, ReplayError> {
        let first_seen = self.memory.first_seen(marks, now)?;
        match now.as_millisecond() < self.missed.load(Ordering::Relaxed) {
            true => Err(ReplayError::Full {
                capacity: self.memory.capacity(),
            }),
            false => Ok(first_seen),
        }
    }

    fn miss(&self, marks: &[Mark]) {
        for mark in marks {
            let end = mark.until.as_millisecond().saturating_add(1);
            self.missed.fetch_max(end, Ordering::Relaxed);
        }
    }
}

fn script(script: &str, entries: &[Entry], caller: &[u8]) -> redis::Cmd {
    let mut command = redis::cmd("EVAL");
    command.arg(script).arg(entries.len());
    for entry in entries {
        command.arg(&entry.key);
    }
    command.arg(caller);
    command
}

impl ReplayCache for RedisReplay {
    fn first_seen(&self, marks: &[Mark], now: Timestamp) -> Result<FirstSeen, ReplayError> {
        if marks.is_empty() {
            return Ok(FirstSeen::assertion(marks));
        }
        let own = self.alone.as_deref();
        let alone = own.map(|alone| alone.first_seen(marks, now));
        if let Some(Err(ReplayError::Seen)) = alone {
            return Err(ReplayError::Seen);
        }
        match (self.remember(marks, now), alone) {
            (Ok(true), alone) => {
                if let (Some(own), Some(Err(_))) = (own, alone) {
                    own.miss(marks);
                }
                Ok(FirstSeen::assertion(marks))
            }
            (Ok(false), _) => Err(ReplayError::Seen),
            (Err(problem), alone) => {
                self.unanswered.fetch_add(1, Ordering::Relaxed);
                match (problem, alone) {
                    (Unanswered::Unreachable(_), Some(alone)) => {
                        let first_seen = alone?;
                        self.decided_alone.fetch_add(1, Ordering::Relaxed);
                        Ok(first_seen)
                    }
                    (problem, _) => Err(ReplayError::Unavailable {
                        problem: format!("the store of replay marks: {problem}"),
                    }),
                }
            }
        }
    }
}
