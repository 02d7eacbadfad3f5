//! Replay marks and tallies in Redis or Valkey, so that no node accepts what another one has
//! accepted.
//!
//! The rule kept here: a message is admitted when all its marks were set by this call, and as many
//! replicas have them as was asked for; or, where the configuration says so, on the word of this
//! node while the store is away.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;
use soapstone::attempts::{Attempts, KeyName, Outcome, Tally};
use soapstone::config::{StoreConfig, StoreServers, WhenUnavailable};
use soapstone::replay::{ReplayCache, ReplayError};
use soapstone::wss::{FirstSeen, ReplayKey};

use crate::doubt::Doubt;
use crate::ledger::Ledger;
use crate::memory::MemoryReplay;
use crate::remote::{Remote, Unanswered};
use crate::tallies::Change;

/// Remembers marks and tallies in Redis or Valkey until they expire.
///
/// The process remembers what it accepted as well: a copy is refused without a question, and still
/// is when the store has lost its mark, or when another one is configured.
#[derive(Debug)]
pub struct RedisReplay {
    ledger: Ledger,
    /// Which data it is: servers and database. The ledger knows the prefix.
    data: (StoreServers, u32),
    own: MemoryReplay,
    missed: Arc<Missed>,
    /// Whether another store was asked before, which may have accepted what this one does not
    /// know.
    is_other: bool,
    may_decide_alone: bool,
    decided_alone: AtomicU64,
    unanswered: AtomicU64,
}

/// What the store accepted, and this process found no room for.
#[derive(Debug, Default)]
struct Missed {
    messages: Mutex<Doubt>,
    /// Whether endpoints with another store follow, which are to know of it.
    retired: AtomicBool,
}

impl Missed {
    fn messages(&self) -> MutexGuard<'_, Doubt> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl RedisReplay {
    pub(crate) fn new(
        remote: Arc<Remote>,
        config: &StoreConfig,
        when_unavailable: WhenUnavailable,
        capacity: usize,
    ) -> Self {
        Self {
            ledger: Ledger::new(remote, &config.prefix),
            data: (config.servers.clone(), config.database),
            own: MemoryReplay::new(capacity),
            missed: Arc::default(),
            is_other: true,
            may_decide_alone: when_unavailable == WhenUnavailable::Accept,
            decided_alone: AtomicU64::new(0),
            unanswered: AtomicU64::new(0),
        }
    }

    pub(crate) fn own(&self) -> &MemoryReplay {
        &self.own
    }

    pub(crate) fn own_mut(&mut self) -> &mut MemoryReplay {
        &mut self.own
    }

    /// Goes on with what a predecessor found no room for, where both have the same store, and with
    /// what it knows of their servers.
    pub(crate) fn know(&mut self, predecessor: &Self) {
        if self.data.0 == predecessor.data.0 {
            self.ledger.remote().know(predecessor.ledger.remote());
        }
        if !self.follows(predecessor) {
            return;
        }
        if self.is_other {
            self.missed = Arc::clone(&predecessor.missed);
            self.is_other = false;
        } else {
            if Arc::ptr_eq(&self.missed, &predecessor.missed) {
                return;
            }
            let before = predecessor.missed.messages().clone();
            self.missed.messages().join(&before);
        }
    }

    /// Whether it has the same store.
    pub(crate) fn follows(&self, other: &Self) -> bool {
        self.data == other.data && self.ledger.prefix() == other.ledger.prefix()
    }

    /// Has the process doubt what it cannot remember: nobody asks this store any more. Requests in
    /// hand may still do.
    pub(crate) fn retire(&self) {
        self.missed.retired.store(true, Ordering::SeqCst);
        self.own.memory().doubt(&self.missed.messages());
    }

    /// How many messages were accepted on the word of this node alone, because the store did not
    /// answer.
    pub fn decided_alone(&self) -> u64 {
        self.decided_alone.load(Ordering::Relaxed)
    }

    /// How many messages the store did not answer for, those refused included.
    pub fn unanswered(&self) -> u64 {
        self.unanswered.load(Ordering::Relaxed)
    }

    /// Notes marks of an accepted message that found no room here.
    fn miss(&self, marks: &[ReplayKey], now: Timestamp) {
        let memory = self.own.memory();
        let mut missed = self.missed.messages();
        missed.note(marks, now, memory.elapsed());
        if self.missed.retired.load(Ordering::SeqCst) {
            memory.doubt(&missed);
        }
    }

    /// What came of a question that the store did not answer: the word of this node, where it has
    /// one and the store is away.
    fn unanswered_by<T>(
        &self,
        problem: Unanswered,
        alone: Option<Result<T, ReplayError>>,
    ) -> Result<T, ReplayError> {
        self.unanswered.fetch_add(1, Ordering::Relaxed);
        match (problem, alone) {
            (Unanswered::Unreachable(_), Some(alone)) => alone,
            (problem, _) => Err(ReplayError::Unavailable {
                problem: format!("the store of replay marks: {problem}"),
            }),
        }
    }

    /// Remembers marks and begins openings, here and in the store.
    fn admit(
        &self,
        marks: &[ReplayKey],
        names: &[KeyName],
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(FirstSeen, Vec<Tally>), ReplayError> {
        if marks.is_empty() && names.is_empty() {
            return Ok((FirstSeen::assertion(marks), Vec::new()));
        }
        if self.is_other {
            self.own.certain(marks, now)?;
        }
        if self.own.holds(marks, now) {
            return Err(ReplayError::Seen);
        }
        // Its mark in the store may have ended as well.
        self.own.recalls(marks, now)?;
        if self.may_decide_alone {
            return self.admit_perhaps_alone(marks, names, until, now);
        }
        match self.ledger.record(marks, names, Change::BEGUN, until, now) {
            Ok(Some(before)) => {
                // Not before the answer: whoever is told to try again is no copy of himself.
                match self.own.remember(marks, now) {
                    Err(ReplayError::Seen) => return Err(ReplayError::Seen),
                    Err(_) => self.miss(marks, now),
                    Ok(_) => {}
                }
                let known = before.into_iter().zip(names);
                let before = known.map(|(tally, name)| {
                    let failed = self.own.tally(name, now).failed.max(tally.failed);
                    Tally { failed, ..tally }
                });
                Ok((FirstSeen::assertion(marks), before.collect()))
            }
            Ok(None) => Err(ReplayError::Seen),
            Err(problem) => self.unanswered_by(problem, None),
        }
    }

    fn admit_perhaps_alone(
        &self,
        marks: &[ReplayKey],
        names: &[KeyName],
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(FirstSeen, Vec<Tally>), ReplayError> {
        let own = self.own.begin(marks, names, until, now);
        if let Err(ReplayError::Seen) = own {
            return Err(ReplayError::Seen);
        }
        let is_remembered = own.is_ok();
        let outcome = match self.ledger.record(marks, names, Change::BEGUN, until, now) {
            Ok(Some(before)) => {
                if !is_remembered {
                    self.miss(marks, now);
                }
                return Ok((FirstSeen::assertion(marks), before));
            }
            Ok(None) => Err(ReplayError::Seen),
            Err(problem) => {
                // It has no word when it may have seen more than it remembers.
                let elapsed = self.own.memory().elapsed();
                let missing = self.missed.messages().about(marks, now, elapsed).is_some();
                let full = ReplayError::Full {
                    capacity: self.own.capacity(),
                };
                let alone = own.and_then(|own| if missing { Err(full) } else { Ok(own) });
                self.unanswered_by(problem, Some(alone)).inspect(|_| {
                    self.decided_alone.fetch_add(1, Ordering::Relaxed);
                })
            }
        };
        if let (Err(error), true) = (&outcome, is_remembered) {
            let withdrawn = Change::BEGUN.reversed();
            self.own.change(names, withdrawn, until, now).ok();
            if *error != ReplayError::Seen {
                // Whoever is told to try again is no copy of himself.
                self.own.forget(marks);
            }
        }
        outcome
    }

    /// Changes tallies in the store, and here: all of them where this node may decide alone, and
    /// otherwise failures, which are to be known under another store as well.
    fn change(
        &self,
        names: &[KeyName],
        change: Change,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<Tally>, ReplayError> {
        let own = if self.may_decide_alone {
            Some(self.own.change(names, change, until, now))
        } else {
            if change.failed > 0 {
                self.own.change(names, Change::FAILURE, until, now).ok();
            }
            None
        };
        match self.ledger.record(&[], names, change, until, now) {
            Ok(Some(before)) => Ok(before),
            // Without marks none is found.
            Ok(None) => Err(ReplayError::Seen),
            Err(problem) => self.unanswered_by(problem, own),
        }
    }
}

impl ReplayCache for RedisReplay {
    fn first_seen(&self, marks: &[ReplayKey], now: Timestamp) -> Result<FirstSeen, ReplayError> {
        let (first_seen, _) = self.admit(marks, &[], now, now)?;
        Ok(first_seen)
    }
}

impl Attempts for RedisReplay {
    fn begin(
        &self,
        marks: &[ReplayKey],
        names: &[KeyName],
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(FirstSeen, Vec<Tally>), ReplayError> {
        self.admit(marks, names, until, now)
    }

    fn end(
        &self,
        names: &[KeyName],
        outcome: Outcome,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<Tally>, ReplayError> {
        if names.is_empty() {
            return Ok(Vec::new());
        }
        self.change(names, Change::ended(outcome), until, now)
    }

    /// Remembered here as well, to be known under another store. That comes first, so that nothing
    /// is promised for which there is no room.
    fn cancel(
        &self,
        name: &KeyName,
        by: &KeyName,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(), ReplayError> {
        self.own.cancel(name, by, until, now)?;
        let cancelled = self.ledger.cancel(name, until, now);
        cancelled.or_else(|problem| self.unanswered_by(problem, None))
    }

    fn is_cancelled(&self, name: &KeyName, now: Timestamp) -> Result<bool, ReplayError> {
        if self.own.is_cancelled(name, now)? {
            return Ok(true);
        }
        let known = self.ledger.is_cancelled(name);
        known.or_else(|problem| self.unanswered_by(problem, None))
    }
}
