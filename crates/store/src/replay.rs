//! The replay cache of an endpoint, whichever its configuration asks for.
//!
//! The rule kept here: whichever it is, the process remembers what the endpoint accepted as well.

use jiff::Timestamp;
use soapstone::attempts::{Attempts, KeyName, Outcome, Tally};
use soapstone::replay::{ReplayCache, ReplayError};
use soapstone::wss::{FirstSeen, ReplayKey};

use crate::file::FileReplay;
use crate::marks::RedisReplay;
use crate::memory::{MemoryReplay, ProcessMemory};

/// The replay cache that a configuration asks for.
#[derive(Debug)]
#[non_exhaustive]
pub enum Replay {
    /// In this process.
    Memory(MemoryReplay),
    /// In a file.
    File(FileReplay),
    /// In Redis or Valkey.
    Redis(RedisReplay),
}

impl Replay {
    /// Shares what all endpoints of a process remember, whatever their stores: a message that one
    /// of them accepted is a copy for all.
    pub fn share(&mut self, memory: &ProcessMemory) {
        self.own_mut().share(memory);
    }

    /// Takes the place of a predecessor, after a change of configuration. The marks of the
    /// predecessor count as its own.
    pub fn follow(&mut self, predecessor: &Self) {
        self.own_mut().in_the_room_of(predecessor.own());
        self.know(predecessor);
    }

    /// Is the same endpoint as a predecessor, in the same place: it goes on in its scope.
    pub fn stay(&mut self, predecessor: &Self) {
        self.own_mut().in_the_scope_of(predecessor.own());
    }

    /// Knows what any endpoint of the former configuration knew of a store that both ask.
    pub fn know(&mut self, former: &Self) {
        if let (Self::Redis(replay), Self::Redis(before)) = (self, former) {
            replay.know(before);
        }
    }

    /// Hands over what it knows to all endpoints of the process, unless one of these goes on asking
    /// its store. A change of configuration calls this before it takes effect.
    pub fn retire<'r>(&self, successors: impl IntoIterator<Item = &'r Self>) {
        let Self::Redis(before) = self else { return };
        let is_followed = successors
            .into_iter()
            .any(|replay| matches!(replay, Self::Redis(replay) if replay.follows(before)));
        if !is_followed {
            before.retire();
        }
    }

    fn own(&self) -> &MemoryReplay {
        match self {
            Self::Memory(memory) => memory,
            Self::File(file) => file.own(),
            Self::Redis(redis) => redis.own(),
        }
    }

    fn own_mut(&mut self) -> &mut MemoryReplay {
        match self {
            Self::Memory(memory) => memory,
            Self::File(file) => file.own_mut(),
            Self::Redis(redis) => redis.own_mut(),
        }
    }

    /// How many marks are held, expired ones that were not yet dropped included; `None` where that
    /// is not known without looking.
    pub fn len(&self) -> Option<usize> {
        match self {
            Self::Memory(memory) => Some(memory.len()),
            Self::File(_) | Self::Redis(_) => None,
        }
    }

    /// How many marks may be held; `None` where that is another's to say.
    pub fn capacity(&self) -> Option<usize> {
        match self {
            Self::Memory(memory) => Some(memory.capacity()),
            Self::File(_) | Self::Redis(_) => None,
        }
    }

    /// How many messages a shared store has not answered for.
    pub fn unanswered(&self) -> u64 {
        match self {
            Self::Memory(_) | Self::File(_) => 0,
            Self::Redis(redis) => redis.unanswered(),
        }
    }

    /// How many of those were accepted nevertheless, on the word of this node alone.
    pub fn decided_alone(&self) -> u64 {
        match self {
            Self::Memory(_) | Self::File(_) => 0,
            Self::Redis(redis) => redis.decided_alone(),
        }
    }

    /// Whether no marks are held; `None` where that is not known without looking.
    pub fn is_empty(&self) -> Option<bool> {
        self.len().map(|marks| marks == 0)
    }
}

impl ReplayCache for Replay {
    fn first_seen(&self, marks: &[ReplayKey], now: Timestamp) -> Result<FirstSeen, ReplayError> {
        match self {
            Self::Memory(memory) => memory.first_seen(marks, now),
            Self::File(file) => file.first_seen(marks, now),
            Self::Redis(redis) => redis.first_seen(marks, now),
        }
    }
}

impl Replay {
    fn attempts(&self) -> &dyn Attempts {
        match self {
            Self::Memory(memory) => memory,
            Self::File(file) => file,
            Self::Redis(redis) => redis,
        }
    }
}

impl Attempts for Replay {
    fn begin(
        &self,
        marks: &[ReplayKey],
        names: &[KeyName],
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(FirstSeen, Vec<Tally>), ReplayError> {
        self.attempts().begin(marks, names, until, now)
    }

    fn end(
        &self,
        names: &[KeyName],
        outcome: Outcome,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<Tally>, ReplayError> {
        self.attempts().end(names, outcome, until, now)
    }

    fn cancel(
        &self,
        name: &KeyName,
        by: &KeyName,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), ReplayError> {
        self.attempts().cancel(name, by, until, now)
    }

    fn is_cancelled(&self, name: &KeyName, now: Timestamp) -> Result<bool, ReplayError> {
        self.attempts().is_cancelled(name, now)
    }
}
