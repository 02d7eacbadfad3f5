//! A value in the shared store by which a node sees that it seals with another key than the others.
//!
//! The first node seals a canary, and each node that can open it keeps it there. A node that cannot
//! open it says so, and leaves it alone: the others are at one about it. While keys are changed a
//! node that opens it with its other key seals it anew with its own, so that it is never sealed
//! with a key that all nodes have given up.
//!
//! The rule kept here: whoever looks changes nothing.

use std::sync::Arc;

use redis::Value;

use crate::remote::{Effect, Remote, Unanswered};
use crate::sealing::{Opener, SealKeys};

/// For how many milliseconds a canary is kept after a node was last content with it. Nodes look
/// once a minute; when all nodes have got another key at once, the old canary is gone after this
/// time.
const LIFE_MILLISECONDS: u32 = 300_000;

/// Puts a canary into the place of another, or where there is none.
/// ARGV: canary, milliseconds to keep it, the one that was there or nothing.
const REPLACE: &str = "\
local found = redis.call('GET', KEYS[1]) or ''
if found ~= ARGV[3] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1";

/// The canary of those who keep contexts under one prefix.
#[derive(Debug)]
pub(crate) struct Canary {
    pub(crate) remote: Arc<Remote>,
    pub(crate) prefix: String,
    pub(crate) keys: SealKeys,
}

impl Canary {
    /// What a node can do with the canary that is there. `None` where there is none.
    pub(crate) fn look(&self) -> Result<Option<Opener>, Unanswered> {
        let found = self.read()?;
        Ok(found.map(|found| self.keys.open_canary(&self.prefix, &found)))
    }

    /// Seals a canary where there is none, and keeps one that this node can open.
    pub(crate) fn keep(&self) -> Result<(), Unanswered> {
        let found = self.read()?;
        let opener = found
            .as_ref()
            .map(|found| self.keys.open_canary(&self.prefix, found));
        let found = found.unwrap_or_default();
        let canary = match opener {
            Some(Opener::Neither) => return Ok(()),
            Some(Opener::Current) => found.clone(),
            None | Some(Opener::Other) => self.keys.seal_canary(&self.prefix)?,
        };
        let mut command = redis::cmd("EVAL");
        command
            .arg(REPLACE)
            .arg(1)
            .arg(self.key())
            .arg(canary)
            .arg(LIFE_MILLISECONDS)
            .arg(found);
        // Another node that comes first is as good.
        self.ask(&command, Effect::Writes).map(drop)
    }

    fn read(&self) -> Result<Option<Vec<u8>>, Unanswered> {
        let mut command = redis::cmd("GET");
        command.arg(self.key());
        match self.ask(&command, Effect::Reads)? {
            Value::Nil => Ok(None),
            Value::BulkString(found) => Ok(Some(found)),
            _ => Err(Unanswered::Refused(
                "GET was answered by something other than a string".to_owned(),
            )),
        }
    }

    fn ask(&self, command: &redis::Cmd, effect: Effect) -> Result<Value, Unanswered> {
        let slot = self.remote.slot(&self.key());
        let deadline = self.remote.deadline();
        self.remote.ask(slot, command, effect, deadline)
    }

    fn key(&self) -> String {
        format!("{}:canary", self.prefix)
    }
}
