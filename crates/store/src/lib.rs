//! What a deployment remembers between messages: replay marks and security contexts.
//!
//! [`MemoryReplay`] and [`MemoryContexts`] are for a process that serves many messages,
//! [`FileReplay`] for calls of the command line that share what they have seen, [`RedisReplay`] and
//! [`RedisContexts`] for nodes that serve the same clients. [`Stores`] opens whichever an
//! endpoint's configuration asks for, and lets endpoints share connections.
//!
//! The rule kept here: when in doubt, refuse. A store that is full, damaged or out of reach admits
//! nothing, unless the configuration says for replay marks that a node may decide alone.
#![forbid(unsafe_code)]
#![warn(clippy::print_stdout, clippy::print_stderr)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::too_many_lines))]

mod breaker;
mod canary;
mod certificates;
mod contexts;
mod doubt;
#[cfg(test)]
mod excursions;
mod file;
mod ledger;
mod marks;
mod memory;
mod memory_contexts;
mod problem;
mod remote;
mod room;
mod sealing;
pub mod server_trust;
mod shares;
mod stores;
mod tallies;

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use jiff::Timestamp;
use soapstone::attempts::{Attempts, KeyName, Outcome, Tally};
use soapstone::config::ReplayConfig;
use soapstone::conversation::{ContextStore, StoreUnavailable};
use soapstone::replay::{ReplayCache, ReplayError};
use soapstone::wss::{ContextName, SecurityContext};
use soapstone::wss::{FirstSeen, Mark};

pub use breaker::Breaker;
pub use contexts::RedisContexts;
pub use file::FileReplay;
pub use marks::RedisReplay;
pub use memory::{MemoryReplay, ProcessMemory};
pub use memory_contexts::MemoryContexts;
pub use problem::StoreProblem;
pub use stores::Stores;

/// Most unexpired marks held when the configuration does not say: 1,048,576.
///
/// At five minutes of life that is 3,500 messages a second; in memory they take some 120 MB.
pub const DEFAULT_CAPACITY: usize = 1 << 20;

/// Most conversations held in memory when the configuration does not say: 65,536.
///
/// At no more than 2 kB each they take 130 MB.
pub const DEFAULT_CONVERSATIONS: usize = 1 << 16;

/// What an owner may hold of the room for conversations in memory when the configuration does not
/// say, as a divisor: a quarter.
pub const DEFAULT_SHARE: usize = 4;

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
    /// Opens the cache of a configuration; in memory when there is none. Caches in Redis that are
    /// opened through one [`Stores`] share connections; this one has its own.
    ///
    /// # Errors
    ///
    /// When the file, or the keys and certificates for TLS, cannot be used. Whether Redis answers
    /// is not asked here.
    pub fn open(config: Option<&ReplayConfig>) -> Result<Self, StoreError> {
        Stores::default().replay(config)
    }

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
    fn first_seen(&self, marks: &[Mark], now: Timestamp) -> Result<FirstSeen, ReplayError> {
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
        marks: &[Mark],
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
}

/// The store of security contexts that a configuration asks for.
#[derive(Debug)]
#[non_exhaustive]
pub enum Contexts {
    /// In this process.
    Memory(MemoryContexts),
    /// In Redis or Valkey, sealed.
    Redis(RedisContexts),
}

impl Contexts {
    /// How many conversations are held, expired ones that were not yet dropped included; `None`
    /// where that is not known without looking.
    pub fn len(&self) -> Option<usize> {
        match self {
            Self::Memory(memory) => Some(memory.len()),
            Self::Redis(_) => None,
        }
    }

    /// How many conversations may be held; `None` where that is another's to say.
    pub fn capacity(&self) -> Option<usize> {
        match self {
            Self::Memory(memory) => Some(memory.capacity()),
            Self::Redis(_) => None,
        }
    }

    /// How many questions a shared store has not answered.
    pub fn unanswered(&self) -> u64 {
        match self {
            Self::Memory(_) => 0,
            Self::Redis(redis) => redis.unanswered(),
        }
    }

    /// Whether no conversations are held; `None` where that is not known without looking.
    pub fn is_empty(&self) -> Option<bool> {
        self.len().map(|conversations| conversations == 0)
    }

    fn store(&self) -> &dyn ContextStore {
        match self {
            Self::Memory(memory) => memory,
            Self::Redis(redis) => redis,
        }
    }
}

impl ContextStore for Contexts {
    fn find(
        &self,
        scope: &str,
        name: &ContextName,
        now: Timestamp,
    ) -> Result<Option<SecurityContext>, StoreUnavailable> {
        self.store().find(scope, name, now)
    }

    fn insert(&self, scope: &str, context: &SecurityContext) -> Result<(), StoreUnavailable> {
        self.store().insert(scope, context)
    }

    fn renew(
        &self,
        scope: &str,
        context: &SecurityContext,
        grace: Duration,
        now: Timestamp,
    ) -> Result<bool, StoreUnavailable> {
        self.store().renew(scope, context, grace, now)
    }

    fn amend(
        &self,
        scope: &str,
        before: &SecurityContext,
        after: &SecurityContext,
    ) -> Result<bool, StoreUnavailable> {
        self.store().amend(scope, before, after)
    }

    fn cancel(&self, scope: &str, identifier: &str) -> Result<bool, StoreUnavailable> {
        self.store().cancel(scope, identifier)
    }
}

/// Why a message is refused that ends when marks ended that are dropped, by the last second of
/// these: without a change of the clock it would have been too old, or too new.
fn set_back(forgotten: i64) -> ReplayError {
    let ended = Timestamp::from_second(forgotten).unwrap_or(Timestamp::MAX);
    ReplayError::Unavailable {
        problem: format!(
            "marks that ended like it, by {ended}, are dropped, and the clock was set since: whether the message was seen before is not known"
        ),
    }
}

/// A moment so much later, or the last that there is.
fn later(moment: Timestamp, by: Duration) -> Timestamp {
    moment.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// Why a store cannot be opened.
#[derive(Debug)]
#[non_exhaustive]
pub enum StoreError {
    /// The file cannot be opened or created.
    File {
        /// Its path.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What the configuration names for TLS to Redis cannot be used.
    Tls {
        /// Why.
        problem: String,
    },
    /// Security contexts cannot rest in Redis without a key that seals them.
    NoSealKey,
}

impl fmt::Display for StoreError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path, source } => {
                write!(
                    out,
                    "the file of replay marks {} cannot be used: {source}",
                    path.display()
                )
            }
            Self::Tls { problem } => {
                write!(out, "TLS to the store is not possible: {problem}")
            }
            Self::NoSealKey => out.write_str(
                "security contexts rest sealed, and there is no usable key: it must have 32 octets",
            ),
        }
    }
}

impl std::error::Error for StoreError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File { source, .. } => Some(source),
            Self::Tls { .. } | Self::NoSealKey => None,
        }
    }
}
