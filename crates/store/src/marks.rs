//! Replay marks and tallies in Redis or Valkey, so that no node accepts what another one has
//! accepted.
//!
//! The rule kept here: a message is admitted when all its marks were set by this call, and as many
//! replicas have them as was asked for; or, where the configuration says so, on the word of this
//! node while the store is away.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use jiff::Timestamp;
use soapstone::attempts::{Attempts, KeyName, Outcome, Tally};
use soapstone::config::WhenUnavailable;
use soapstone::replay::{ReplayCache, ReplayError};
use soapstone::wss::{FirstSeen, Mark};

use crate::ledger::Ledger;
use crate::memory::MemoryReplay;
use crate::remote::{Remote, Unanswered};
use crate::tallies::Change;

/// Remembers marks in Redis or Valkey until they expire.
#[derive(Debug)]
pub struct RedisReplay {
    ledger: Ledger,
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

impl RedisReplay {
    pub(crate) fn new(
        remote: Arc<Remote>,
        prefix: &str,
        when_unavailable: WhenUnavailable,
        capacity: usize,
    ) -> Self {
        Self {
            ledger: Ledger::new(remote, prefix),
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

    /// Changes tallies here, where this node may decide alone, and in the store.
    fn change(
        &self,
        names: &[KeyName],
        change: Change,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<Tally>, ReplayError> {
        let own = self.alone.as_deref().map(|alone| {
            let tallies = &alone.memory.tallies;
            tallies.change(names, change, until, now)
        });
        match self.ledger.record(&[], names, change, until, now) {
            Ok(Some(before)) => Ok(before),
            // Without marks none is found.
            Ok(None) => Err(ReplayError::Seen),
            Err(problem) => self.unanswered_by(problem, own),
        }
    }

    /// The word of this node, where it has one and the store is away.
    fn unanswered_by<T>(
        &self,
        problem: Unanswered,
        own: Option<Result<T, ReplayError>>,
    ) -> Result<T, ReplayError> {
        self.unanswered.fetch_add(1, Ordering::Relaxed);
        match (problem, own) {
            (Unanswered::Unreachable(_), Some(own)) => own,
            (problem, _) => Err(ReplayError::Unavailable {
                problem: format!("the store of replay marks: {problem}"),
            }),
        }
    }

    /// Remembers marks and begins openings, here and in the store.
    fn admit(
        &self,
        marks: &[Mark],
        names: &[KeyName],
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(FirstSeen, Vec<Tally>), ReplayError> {
        if marks.is_empty() && names.is_empty() {
            return Ok((FirstSeen::assertion(marks), Vec::new()));
        }
        let own = self.alone.as_deref();
        let alone = own.map(|alone| alone.begin(marks, names, until, now));
        if let Some(Err(ReplayError::Seen)) = alone {
            return Err(ReplayError::Seen);
        }
        match self.ledger.record(marks, names, Change::BEGUN, until, now) {
            Ok(Some(before)) => {
                if let (Some(own), Some(Err(_))) = (own, alone) {
                    own.miss(marks);
                }
                Ok((FirstSeen::assertion(marks), before))
            }
            Ok(None) => {
                if let (Some(own), Some(Ok(_))) = (own, alone) {
                    let tallies = &own.memory.tallies;
                    let withdrawn = Change::BEGUN.reversed();
                    tallies.change(names, withdrawn, until, now).ok();
                }
                Err(ReplayError::Seen)
            }
            Err(problem) => {
                let admitted = self.unanswered_by(problem, alone)?;
                self.decided_alone.fetch_add(1, Ordering::Relaxed);
                Ok(admitted)
            }
        }
    }
}

impl Alone {
    /// The word of this node alone, which it has not when it may have seen more than it remembers.
    fn begin(
        &self,
        marks: &[Mark],
        names: &[KeyName],
        until: Timestamp,
        now: Timestamp,
    ) -> Result<(FirstSeen, Vec<Tally>), ReplayError> {
        let admitted = self.memory.begin(marks, names, until, now)?;
        match now.as_millisecond() < self.missed.load(Ordering::Relaxed) {
            true => Err(ReplayError::Full {
                capacity: self.memory.capacity(),
            }),
            false => Ok(admitted),
        }
    }

    fn miss(&self, marks: &[Mark]) {
        for mark in marks {
            let end = mark.until.as_millisecond().saturating_add(1);
            self.missed.fetch_max(end, Ordering::Relaxed);
        }
    }
}

impl ReplayCache for RedisReplay {
    fn first_seen(&self, marks: &[Mark], now: Timestamp) -> Result<FirstSeen, ReplayError> {
        let (first_seen, _) = self.admit(marks, &[], now, now)?;
        Ok(first_seen)
    }
}

impl Attempts for RedisReplay {
    fn begin(
        &self,
        marks: &[Mark],
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

    fn record_failure(
        &self,
        name: &KeyName,
        until: Timestamp,
        now: Timestamp,
    ) -> Result<u32, ReplayError> {
        let before = self.change(std::slice::from_ref(name), Change::FAILURE, until, now)?;
        Ok(crate::failures_after(&before))
    }

    fn failures(&self, name: &KeyName, now: Timestamp) -> Result<u32, ReplayError> {
        match self.ledger.failures(name) {
            Ok(failed) => Ok(failed),
            Err(problem) => {
                let alone = self.alone.as_deref();
                self.unanswered_by(problem, alone.map(|alone| alone.memory.failures(name, now)))
            }
        }
    }
}
