//! Marks and tallies as they lie in Redis or Valkey.
//!
//! One script checks and remembers the marks of a message and changes its tallies, and nothing
//! comes between. Each call has a name of its own that it leaves with the marks, so that a call
//! that is repeated, because its answer was lost, knows its own marks again. In a cluster a key
//! lives in the slot of its own name (two messages that share a mark must meet there), so a message
//! whose keys live in several slots takes a script for each. Slots with marks come first; when a
//! later one finds a mark, the earlier ones take back what they did.
//!
//! The rule kept here: a call has done all that it was asked for, or says why not.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use redis::{Cmd, Value};
use soapstone::attempts::{KeyName, Tally};
use soapstone::crypto::random;
use soapstone::wss::{End, ReplayKey};

use crate::remote::{Effect, Remote, Unanswered};
use crate::tallies::Change;
use soapstone::crypto::hexadecimal;

/// Added to the life of keys, so that they outlive their messages though the clocks of primaries
/// and replicas differ by that much.
const MARGIN_MILLISECONDS: i64 = 5_000;

/// By how much the server's clock lengthens the life of keys at most. A mark that would have to
/// live longer is not set: with a clock that is further ahead, a node would fill the store with
/// marks, or leave marks that end before their messages do.
const MOST_AHEAD_MILLISECONDS: i64 = 3_600_000;

/// Sets all marks for the caller, unless one is set by another, and then changes all tallies, which
/// are text: failed, a colon, open. The answer is 0 for a mark that is set, 1 without tallies, and
/// otherwise two numbers for each tally, of before the change.
///
/// A key lives until its end by the clock of the caller or of the server, whichever comes later: a
/// node whose clock was set forth accepts messages that end soon by its clock only. A mark that has
/// ended by the server's clock may have been there, and one that would live too long is not set:
/// the answer is the server's clock as a negative number of milliseconds then. A server that may
/// not be asked for the time has none, and a mark without an end lives by the server's alone.
///
/// KEYS: marks, then tallies. ARGV: caller, how much the server's clock may lengthen lives, number
/// of marks, change of failed, change of open; for each key how many milliseconds it lives, and the
/// millisecond of its end, or 0.
const RECORD: &str = "\
local marks = tonumber(ARGV[3])
for i = 1, marks do
  local caller = redis.call('GET', KEYS[i])
  if caller and caller ~= ARGV[1] then return 0 end
end
local time = redis.pcall('TIME')
local now = not time.err and time[1] * 1000 + math.floor(time[2] / 1000)
local function life(i)
  local life = tonumber(ARGV[2 * i + 4])
  if now then life = math.max(life, math.min(tonumber(ARGV[2 * i + 5]) - now, life + tonumber(ARGV[2]))) end
  return life
end
for i = 1, marks do
  local ends = tonumber(ARGV[2 * i + 5])
  if now and ends ~= 0 and (ends <= now or ends - now > life(i)) then return -now end
end
for i = 1, marks do
  redis.call('SET', KEYS[i], ARGV[1], 'PX', string.format('%.0f', life(i)))
end
if marks == #KEYS then return 1 end
local before = {}
for i = marks + 1, #KEYS do
  local value = redis.call('GET', KEYS[i])
  local failed, open = 0, 0
  if value then
    local one, other = string.match(value, '^(%d+):(%d+)$')
    failed, open = tonumber(one), tonumber(other)
  end
  before[#before + 1] = failed
  before[#before + 1] = open
  failed, open = math.max(0, failed + ARGV[4]), math.max(0, open + ARGV[5])
  if failed == 0 and open == 0 then
    redis.call('DEL', KEYS[i])
  else
    local life = math.max(life(i), redis.call('PTTL', KEYS[i]))
    local tally = string.format('%.0f:%.0f', failed, open)
    redis.call('SET', KEYS[i], tally, 'PX', string.format('%.0f', life))
  end
end
return before";

/// Takes the caller's marks back.
const TAKE_BACK: &str = "\
for i = 1, #KEYS do
  if redis.call('GET', KEYS[i]) == ARGV[1] then redis.call('DEL', KEYS[i]) end
end
return 1";

/// The keys of a deployment in its shared store.
#[derive(Debug)]
pub(crate) struct Ledger {
    remote: Arc<Remote>,
    prefix: String,
}

/// A mark or a tally as it is kept.
struct Entry {
    key: String,
    /// For how many milliseconds by our clock.
    life: i64,
    /// Until which millisecond; 0 where no clock says it.
    end: i64,
}

/// The keys of one call that live in one slot.
#[derive(Default)]
struct Slot {
    number: u16,
    marks: Vec<Entry>,
    /// With the place of each in the names that were asked for.
    tallies: Vec<(usize, Entry)>,
}

impl Ledger {
    pub(crate) fn new(remote: Arc<Remote>, prefix: &str) -> Self {
        Self {
            remote,
            prefix: prefix.to_owned(),
        }
    }

    pub(crate) fn remote(&self) -> &Remote {
        &self.remote
    }

    /// What all its keys begin with.
    pub(crate) fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Remembers marks and changes tallies, which are those of before. `None` where a mark was
    /// remembered already; nothing is changed then.
    pub(crate) fn record(
        &self,
        marks: &[ReplayKey],
        names: &[KeyName],
        change: Change,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Option<Vec<Tally>>, Unanswered> {
        let slots = self.slots(marks, names, until, now);
        let caller: [u8; 8] = random::bytes();
        // The first random bytes of a process take their time, which is not the store's.
        let deadline = self.remote.deadline();
        let mut before = vec![Tally::default(); names.len()];
        for (done, slot) in slots.iter().enumerate() {
            let command = record(&slot.marks, &slot.tallies, &caller, change);
            let answer = self
                .remote
                .ask(slot.number, &command, Effect::Writes, deadline);
            let outcome = match answer {
                Ok(Value::Int(0)) if !slot.marks.is_empty() => Ok(None),
                Ok(Value::Int(clock)) if clock < 0 && !slot.marks.is_empty() => {
                    Err(other_clock(clock.saturating_neg(), now))
                }
                Ok(Value::Int(1)) if slot.tallies.is_empty() => continue,
                Ok(Value::Array(numbers)) if slot.read(&numbers, &mut before) => continue,
                Ok(_) => Err(unexpected()),
                Err(problem) => Err(problem),
            };
            for slot in &slots[..done] {
                self.take_back(slot, &caller, change, deadline);
            }
            return outcome;
        }
        Ok(Some(before))
    }

    /// Remembers a name until its end: a tally with a failure.
    pub(crate) fn cancel(
        &self,
        name: &KeyName,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), Unanswered> {
        let entry = Entry::new(self.cancelled_key(name), until, now);
        self.remote.note_life(entry.life);
        let slot = self.remote.slot(&entry.key);
        let command = record(&[], &[(0, entry)], &[], Change::FAILURE);
        let deadline = self.remote.deadline();
        match self.remote.ask(slot, &command, Effect::Writes, deadline)? {
            Value::Array(_) => Ok(()),
            _ => Err(unexpected()),
        }
    }

    /// Whether a name is remembered. Nothing is written, and yet a server is asked as for a write:
    /// one that drops keys early, or misses its replicas, does not count.
    pub(crate) fn is_cancelled(&self, name: &KeyName) -> Result<bool, Unanswered> {
        let key = self.cancelled_key(name);
        let slot = self.remote.slot(&key);
        let mut command = redis::cmd("GET");
        command.arg(key);
        let deadline = self.remote.deadline();
        match self.remote.ask(slot, &command, Effect::Writes, deadline)? {
            Value::Nil => Ok(false),
            Value::BulkString(_) => Ok(true),
            _ => Err(unexpected()),
        }
    }

    /// As far as the time reaches: what stays behind refuses a message that is refused anyway, and
    /// counts an opening too many.
    fn take_back(&self, slot: &Slot, caller: &[u8], change: Change, deadline: Instant) {
        let ask = |command: &Cmd| {
            self.remote
                .ask(slot.number, command, Effect::Writes, deadline)
                .ok()
        };
        if !slot.marks.is_empty() {
            let mut command = script(TAKE_BACK, slot.marks.iter());
            command.arg(caller);
            ask(&command);
        }
        if !slot.tallies.is_empty() {
            ask(&record(&[], &slot.tallies, caller, change.reversed()));
        }
    }

    /// The keys of a call by their slots, those with marks first.
    fn slots(
        &self,
        marks: &[ReplayKey],
        names: &[KeyName],
        until: Timestamp,
        now: Timestamp,
    ) -> Vec<Slot> {
        let mut slots: BTreeMap<u16, Slot> = BTreeMap::new();
        for mark in marks {
            let mut entry = Entry::new(self.mark_key(mark), mark.until, now);
            if mark.end == End::Counted {
                entry.end = 0;
            }
            self.remote.note_life(entry.life);
            let slot = slots.entry(self.remote.slot(&entry.key)).or_default();
            slot.marks.push(entry);
        }
        for (index, name) in names.iter().enumerate() {
            let entry = Entry::new(self.tally_key(name), until, now);
            let slot = slots.entry(self.remote.slot(&entry.key)).or_default();
            slot.tallies.push((index, entry));
        }
        for (number, slot) in &mut slots {
            slot.number = *number;
        }
        let mut slots: Vec<Slot> = slots.into_values().collect();
        slots.sort_by_key(|slot| slot.marks.is_empty());
        slots
    }

    /// 128 bits of the mark's hash name it, as in memory.
    fn mark_key(&self, mark: &ReplayKey) -> String {
        format!(
            "{}:seen:{}",
            self.prefix,
            hexadecimal::encode(&mark.key[..16])
        )
    }

    fn tally_key(&self, name: &KeyName) -> String {
        format!("{}:tried:{}", self.prefix, hexadecimal::encode(&name[..16]))
    }

    fn cancelled_key(&self, name: &KeyName) -> String {
        let name = hexadecimal::encode(&name[..16]);
        format!("{}:cancelled:{name}", self.prefix)
    }
}

impl Entry {
    fn new(key: String, until: Timestamp, now: Timestamp) -> Self {
        let end = until.as_millisecond() + MARGIN_MILLISECONDS;
        let life = (end - now.as_millisecond()).max(MARGIN_MILLISECONDS);
        Self { key, life, end }
    }
}

impl Slot {
    /// Puts the numbers of an answer where their names stand. `false` if there are others.
    fn read(&self, numbers: &[Value], before: &mut [Tally]) -> bool {
        if numbers.len() != 2 * self.tallies.len() {
            return false;
        }
        let number = |value: &Value| match value {
            Value::Int(number) => u32::try_from(*number).ok(),
            _ => None,
        };
        self.tallies
            .iter()
            .zip(numbers.chunks_exact(2))
            .all(|((index, _), pair)| {
                let tally = number(&pair[0]).zip(number(&pair[1]));
                let tally = tally.map(|(failed, open)| Tally { failed, open });
                tally.is_some_and(|tally| {
                    before[*index] = tally;
                    true
                })
            })
    }
}

fn record(marks: &[Entry], tallies: &[(usize, Entry)], caller: &[u8], change: Change) -> Cmd {
    let entries = || marks.iter().chain(tallies.iter().map(|(_, entry)| entry));
    let mut command = script(RECORD, entries());
    command
        .arg(caller)
        .arg(MOST_AHEAD_MILLISECONDS)
        .arg(marks.len())
        .arg(change.failed)
        .arg(change.open);
    for entry in entries() {
        command.arg(entry.life).arg(entry.end);
    }
    command
}

fn script<'e>(script: &str, entries: impl Iterator<Item = &'e Entry>) -> Cmd {
    let keys: Vec<&str> = entries.map(|entry| entry.key.as_str()).collect();
    let mut command = redis::cmd("EVAL");
    command.arg(script).arg(keys.len()).arg(keys);
    command
}

/// The store has another present than this node.
fn other_clock(store: i64, now: Timestamp) -> Unanswered {
    let apart = (store - now.as_millisecond()) / 1000;
    let direction = if apart < 0 { "behind" } else { "ahead of" };
    Unanswered::Refused(format!(
        "its clock is {} s {direction} this node's: whether the message was seen before is not known",
        apart.abs()
    ))
}

fn unexpected() -> Unanswered {
    Unanswered::Refused("a script was answered by something else".to_owned())
}
