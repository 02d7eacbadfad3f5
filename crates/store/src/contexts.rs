//! Security contexts in Redis or Valkey, sealed, so that any node can go on with any conversation.
//!
//! A conversation is one hash, whose name is derived from scope and identifier and which has a
//! field per instance: the one that was made last, and while a renewal is young the one before.
//! Before each sealed value stands, as a decimal number, the millisecond from which the field is no
//! longer used; a renewal brings that of the instance before nearer without opening it.
//!
//! The rule kept here: what is found was sealed under exactly the name that was asked for, and is
//! neither expired nor cancelled.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use redis::Value;
use soapstone::conversation::{ContextStore, StoreUnavailable};
use soapstone::crypto::{DigestAlgorithm, digest, hexadecimal};
use soapstone::wss::{ContextName, ContextOwner, SecurityContext};

use crate::canary::Canary;
use crate::moments::later;
use crate::remote::{Effect, Unanswered};

/// Added to the life of a conversation's hash, so that it outlives its contexts though the clocks
/// of servers and nodes differ by that much.
const MARGIN_MILLISECONDS: i64 = 60_000;

/// Digits of a moment before a sealed value: milliseconds since 1970, up to the year 5138.
const MOMENT_DIGITS: usize = 14;

// In these scripts the first change is the one that takes memory: where there is none, the script
// ends before it has changed anything.

/// Begins a conversation. ARGV: field, value, milliseconds to keep it.
const INSERT: &str = "\
local fields = redis.call('HKEYS', KEYS[1])
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
for i = 1, #fields do
  if fields[i] ~= ARGV[1] then redis.call('HDEL', KEYS[1], fields[i]) end
end
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1";

/// Adds an instance, keeps the latest of the others for a while, and forgets the rest.
/// ARGV: field, value, milliseconds to keep it, digits of a moment, end of the instance before,
/// now.
const RENEW: &str = "\
local fields = redis.call('HGETALL', KEYS[1])
local digits = tonumber(ARGV[4])
local latest, latest_end, living
for i = 1, #fields, 2 do
  local ends = tonumber(string.sub(fields[i + 1], 1, digits))
  if ends > tonumber(ARGV[6]) then
    living = true
    if fields[i] ~= ARGV[1] and (not latest or ends > latest_end) then
      latest, latest_end = i, ends
    end
  end
end
if not living then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
for i = 1, #fields, 2 do
  if i ~= latest and fields[i] ~= ARGV[1] then redis.call('HDEL', KEYS[1], fields[i]) end
end
if latest and latest_end > tonumber(ARGV[5]) then
  redis.call('HSET', KEYS[1], fields[latest], ARGV[5] .. string.sub(fields[latest + 1], digits + 1))
end
if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[3]) then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
return 1";

/// Puts one value of an instance into the place of another, where no other instance is later.
/// ARGV: field, value before, value after, digits of a moment. A call that is repeated finds what
/// it has written.
const AMEND: &str = "\
local found = redis.call('HGET', KEYS[1], ARGV[1])
if found == ARGV[3] then return 1 end
if found ~= ARGV[2] then return 0 end
local digits = tonumber(ARGV[4])
local ends = tonumber(string.sub(found, 1, digits))
local fields = redis.call('HGETALL', KEYS[1])
for i = 1, #fields, 2 do
  if fields[i] ~= ARGV[1] and tonumber(string.sub(fields[i + 1], 1, digits)) > ends then return 0 end
end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1";

/// Remembers security contexts in Redis or Valkey until they expire or are cancelled.
#[derive(Debug)]
pub struct RedisContexts {
    canary: Arc<Canary>,
    unanswered: AtomicU64,
}

impl RedisContexts {
    /// Contexts that lie, and are sealed, as the canary.
    pub(crate) fn new(canary: Arc<Canary>) -> Self {
        Self {
            canary,
            unanswered: AtomicU64::new(0),
        }
    }

    /// How many questions the store has not answered.
    pub fn unanswered(&self) -> u64 {
        self.unanswered.load(Ordering::Relaxed)
    }

    fn key(&self, scope: &str, identifier: &str) -> Result<String, StoreUnavailable> {
        Ok(format!(
            "{}:context:{}",
            self.canary.prefix,
            short(&[scope, identifier])?
        ))
    }

    fn ask(
        &self,
        key: &str,
        command: &redis::Cmd,
        effect: Effect,
    ) -> Result<Value, StoreUnavailable> {
        let slot = self.canary.remote.slot(key);
        self.canary
            .remote
            .ask(slot, command, effect, self.canary.remote.deadline())
            .inspect_err(|_| {
                self.unanswered.fetch_add(1, Ordering::Relaxed);
            })
            .map_err(|problem| match problem {
                Unanswered::Unreachable(problem) => StoreUnavailable::Unreachable { problem },
                Unanswered::Refused(problem) | Unanswered::Denied(problem) => {
                    StoreUnavailable::Refused { problem }
                }
                Unanswered::Full => StoreUnavailable::Full { capacity: None },
            })
    }

    /// A script on one conversation that says whether there was one.
    fn change(&self, key: &str, command: &redis::Cmd) -> Result<bool, StoreUnavailable> {
        match self.ask(key, command, Effect::Writes)? {
            Value::Int(found) => Ok(found != 0),
            _ => Err(refused(
                "a change was answered by something other than a number",
            )),
        }
    }

    /// What the store has under the name of an instance.
    fn read(&self, key: &str, name: &ContextName) -> Result<Option<Vec<u8>>, StoreUnavailable> {
        let mut command = redis::cmd("HGET");
        command.arg(key).arg(field(name.instance.as_deref())?);
        match self.ask(key, &command, Effect::Reads)? {
            Value::Nil => Ok(None),
            Value::BulkString(value) => Ok(Some(value)),
            _ => Err(refused(
                "HGET was answered by something other than a string",
            )),
        }
    }

    /// The context that a sealed value holds for this name, if its key is still there.
    fn open(
        &self,
        scope: &str,
        name: &ContextName,
        sealed: &[u8],
    ) -> Result<Option<SecurityContext>, StoreUnavailable> {
        let opened = self.canary.keys.open(scope, name, sealed);
        opened.map_err(|_| unreadable(name))
    }

    fn value(&self, scope: &str, context: &SecurityContext) -> Result<Vec<u8>, StoreUnavailable> {
        let sealed = self.canary.keys.seal(scope, context).map_err(refused)?;
        let mut value = Vec::with_capacity(MOMENT_DIGITS + sealed.len());
        value.extend_from_slice(moment(context.expires).as_bytes());
        value.extend_from_slice(&sealed);
        Ok(value)
    }
}

impl ContextStore for RedisContexts {
    fn find(
        &self,
        scope: &str,
        name: &ContextName,
        now: Timestamp,
    ) -> Result<Option<SecurityContext>, StoreUnavailable> {
        let key = self.key(scope, &name.identifier)?;
        let Some(value) = self.read(&key, name)? else {
            return Ok(None);
        };
        let (ends, sealed) = parts(name, &value)?;
        if ends <= now.as_millisecond() {
            return Ok(None);
        }
        let context = self.open(scope, name, sealed)?;
        Ok(context.filter(|context| now < context.expires))
    }

    fn insert(&self, scope: &str, context: &SecurityContext) -> Result<(), StoreUnavailable> {
        let key = self.key(scope, &context.identifier)?;
        let mut command = redis::cmd("EVAL");
        command
            .arg(INSERT)
            .arg(1)
            .arg(&key)
            .arg(field(context.instance.as_deref())?)
            .arg(self.value(scope, context)?)
            .arg(life(context, context.created));
        self.change(&key, &command).map(drop)
    }

    fn renew(
        &self,
        scope: &str,
        context: &SecurityContext,
        grace: Duration,
        now: Timestamp,
    ) -> Result<bool, StoreUnavailable> {
        let key = self.key(scope, &context.identifier)?;
        let mut command = redis::cmd("EVAL");
        command
            .arg(RENEW)
            .arg(1)
            .arg(&key)
            .arg(field(context.instance.as_deref())?)
            .arg(self.value(scope, context)?)
            .arg(life(context, now))
            .arg(MOMENT_DIGITS)
            .arg(moment(later(now, grace)))
            .arg(moment(now));
        self.change(&key, &command)
    }

    fn amend(
        &self,
        scope: &str,
        before: &SecurityContext,
        after: &SecurityContext,
    ) -> Result<bool, StoreUnavailable> {
        let key = self.key(scope, &before.identifier)?;
        let Some(value) = self.read(&key, &before.name())? else {
            return Ok(false);
        };
        let (ends, sealed) = parts(&before.name(), &value)?;
        // The end of an instance that was followed by another is brought nearer.
        if ends != milliseconds(before.expires) {
            return Ok(false);
        }
        // Sealing is randomized: compare-and-set uses the bytes that were read, not a fresh seal of
        // the same context.
        let found = self.open(scope, &before.name(), sealed)?;
        if !found.is_some_and(|found| is_same(&found, before)) {
            return Ok(false);
        }
        let mut command = redis::cmd("EVAL");
        command
            .arg(AMEND)
            .arg(1)
            .arg(&key)
            .arg(field(before.instance.as_deref())?)
            .arg(value)
            .arg(self.value(scope, after)?)
            .arg(MOMENT_DIGITS);
        self.change(&key, &command)
    }

    fn cancel(&self, scope: &str, identifier: &str) -> Result<bool, StoreUnavailable> {
        let key = self.key(scope, identifier)?;
        let mut command = redis::cmd("DEL");
        command.arg(&key);
        self.change(&key, &command)
    }
}

/// Whether two contexts of one name say the same. Their keys need not be compared: each instance of
/// a context has a name of its own.
fn is_same(one: &SecurityContext, other: &SecurityContext) -> bool {
    let owner = match (&one.owner, &other.owner) {
        (ContextOwner::Certificate(one), ContextOwner::Certificate(other)) => {
            one.der() == other.der()
        }
        (ContextOwner::User(one), ContextOwner::User(other)) => one == other,
        (
            ContextOwner::Kerberos { client: one, ends },
            ContextOwner::Kerberos {
                client: other,
                ends: end,
            },
        ) => one == other && ends == end,
        (ContextOwner::Subject(one), ContextOwner::Subject(other)) => one == other,
        (ContextOwner::Anonymous, ContextOwner::Anonymous) => true,
        _ => false,
    };
    owner && (one.created, one.expires) == (other.created, other.expires)
}

/// The field of an instance.
fn field(instance: Option<&str>) -> Result<String, StoreUnavailable> {
    instance.map_or_else(|| Ok("-".to_owned()), |instance| short(&[instance]))
}

/// 128 bits of a hash, in hexadecimal digits: names come from messages, and may be as long as
/// messages.
fn short(texts: &[&str]) -> Result<String, StoreUnavailable> {
    let mut hashed = Vec::new();
    for text in texts {
        hashed.extend_from_slice(&(text.len() as u64).to_be_bytes());
        hashed.extend_from_slice(text.as_bytes());
    }
    let digest = digest::digest(DigestAlgorithm::Sha256, &hashed).map_err(refused)?;
    Ok(hexadecimal::encode(&digest.as_ref()[..16]))
}

/// A moment as it stands before a sealed value.
fn milliseconds(moment: Timestamp) -> i64 {
    let most = 10_i64.pow(MOMENT_DIGITS as u32) - 1;
    moment.as_millisecond().clamp(0, most)
}

/// As many digits as every moment has.
fn moment(moment: Timestamp) -> String {
    format!("{:014}", milliseconds(moment))
}

/// The millisecond from which a value is no longer used, and what was sealed.
fn parts<'v>(name: &ContextName, value: &'v [u8]) -> Result<(i64, &'v [u8]), StoreUnavailable> {
    let parts = value.split_at_checked(MOMENT_DIGITS);
    parts
        .and_then(|(digits, sealed)| {
            let digits = std::str::from_utf8(digits).ok()?;
            Some((digits.parse().ok()?, sealed))
        })
        .ok_or_else(|| unreadable(name))
}

fn unreadable(name: &ContextName) -> StoreUnavailable {
    StoreUnavailable::Unreadable {
        identifier: name.identifier.clone(),
    }
}

/// How long the conversation is to be kept, from when the store is told of it.
fn life(context: &SecurityContext, now: Timestamp) -> i64 {
    let life: SignedDuration = context.expires.duration_since(now);
    i64::try_from(life.as_millis())
        .unwrap_or(i64::MAX)
        .clamp(0, i64::from(u32::MAX))
        + MARGIN_MILLISECONDS
}

fn refused(problem: impl ToString) -> StoreUnavailable {
    StoreUnavailable::Refused {
        problem: problem.to_string(),
    }
}
