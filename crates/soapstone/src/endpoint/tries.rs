//! What the store is told of the openings of one message: its replay keys, and the tries of the
//! keys that it asks to decipher with.
//!
//! The rule kept here: a try counts from before its deciphering until it has succeeded.

use jiff::Timestamp;
use soapstone_wss::{Authenticated, DecipheringKey, FirstSeen, Rejected, ReplayKey};

use super::asking::{Store, Workspace};
use crate::attempts::{KeyName, Outcome, Tally};
use crate::replay::ReplayError;

/// Most openings that have not ended under one key. Stacks that use one `EncryptedKey` for several
/// messages send few at once; an attack on one block of CBC needs 258 (Jager and Somorovsky, 2011).
const MOST_OPEN: u32 = 32;

/// What the store is told of one message: its replay keys, and the openings under its keys.
pub(super) struct Tries {
    marks: Vec<ReplayKey>,
    keys: Vec<DecipheringKey>,
    names: Vec<KeyName>,
    before: Vec<Tally>,
    failures_until: Timestamp,
    until: Timestamp,
    /// Whether a key came to light, whose openings outlast the marks of the message.
    outlasts_marks: bool,
}

impl Tries {
    pub(super) fn of(message: &Authenticated<'_>, now: Timestamp) -> Self {
        let marks = message.marks().to_vec();
        let keys = message.deciphering_keys().to_vec();
        let failures_until = keys.iter().map(|key| key.failures_until).max();
        let failures_until = failures_until.unwrap_or(now);
        let until = marks.iter().map(|mark| mark.until).max();
        Self {
            names: keys.iter().map(|key| key.name).collect(),
            marks,
            keys,
            before: Vec::new(),
            failures_until,
            until: until.unwrap_or(failures_until),
            outlasts_marks: false,
        }
    }

    /// Takes the replay keys of the message, and begins an opening under each key that it asks to
    /// decipher with: one step of the store.
    pub(super) async fn begin(
        &mut self,
        workspace: &Workspace,
        now: Timestamp,
    ) -> Result<FirstSeen, Rejected> {
        if self.marks.is_empty() && self.keys.is_empty() {
            return Ok(FirstSeen::assertion(&[]));
        }
        let marks = std::mem::take(&mut self.marks);
        let (names, until) = (self.names.clone(), self.until);
        let begun = workspace.ask(Store::Replay, move |memory| match names.is_empty() {
            true => {
                let first_seen = memory.replay.first_seen(&marks, now);
                first_seen.map(|first_seen| (first_seen, Vec::new()))
            }
            false => memory.replay.begin(&marks, &names, until, now),
        });
        let (first_seen, before) = begun.await.map_err(refusal)?;
        self.before = before;
        let mut tried = self.keys.iter().zip(&self.before);
        let worn = tried.find(|(key, tally)| {
            tally.failed >= key.most_failures
                || tally.failed.saturating_add(tally.open) >= MOST_OPEN
        });
        if let Some((_, tally)) = worn {
            let refused = worn_out(*tally);
            self.untried(workspace, now).await.ok();
            return Err(refused);
        }
        Ok(first_seen)
    }

    /// Begins an opening under one more key, which came to light. It stays open as long as a
    /// failure is remembered: the marks of this message do not tell its cipher text.
    pub(super) async fn begin_with(
        &mut self,
        key: DecipheringKey,
        workspace: &Workspace,
        now: Timestamp,
    ) -> Result<(), Rejected> {
        let until = key.failures_until;
        // The opening that the message has begun under this key is the same try.
        let mut begun = self.names.iter().zip(&self.before);
        if let Some((_, before)) = begun.find(|(name, _)| **name == key.name) {
            return match before.failed >= key.most_failures {
                true => Err(worn_out(*before)),
                false => {
                    self.failures_until = self.failures_until.max(until);
                    Ok(())
                }
            };
        }
        let mut more = Self {
            marks: Vec::new(),
            names: vec![key.name],
            keys: vec![key],
            before: Vec::new(),
            failures_until: until,
            until,
            outlasts_marks: true,
        };
        more.begin(workspace, now).await?;
        self.keys.append(&mut more.keys);
        self.names.append(&mut more.names);
        self.before.append(&mut more.before);
        self.failures_until = self.failures_until.max(until);
        self.outlasts_marks = true;
        Ok(())
    }

    /// Tells the store that the message is good, and says whether it was asked. A fresh key of the
    /// header needs no word: what began under it ends with the marks of its message.
    pub(super) async fn succeeded(
        &self,
        workspace: &Workspace,
        now: Timestamp,
    ) -> Result<bool, ReplayError> {
        let is_fresh = self.before.iter().all(|tally| *tally == Tally::default());
        if is_fresh && !self.outlasts_marks {
            return Ok(false);
        }
        self.ended(Outcome::Succeeded, self.until, workspace, now)
            .await
    }

    /// Tells the store that no key was tried: too many openings are under way, or the key is away.
    pub(super) async fn untried(
        &self,
        workspace: &Workspace,
        now: Timestamp,
    ) -> Result<bool, ReplayError> {
        self.ended(Outcome::Succeeded, self.until, workspace, now)
            .await
    }

    /// Where the store cannot hear of it, what began stays open, and counts as a try all the same.
    pub(super) async fn failed(
        &self,
        workspace: &Workspace,
        now: Timestamp,
    ) -> Result<bool, ReplayError> {
        self.ended(Outcome::Failed, self.failures_until, workspace, now)
            .await
    }

    async fn ended(
        &self,
        outcome: Outcome,
        until: Timestamp,
        workspace: &Workspace,
        now: Timestamp,
    ) -> Result<bool, ReplayError> {
        if self.names.is_empty() {
            return Ok(false);
        }
        let names = self.names.clone();
        let ended = workspace.ask(Store::Replay, move |memory| {
            memory.replay.end(&names, outcome, until, now)
        });
        ended.await.map(|_| true)
    }
}

fn worn_out(tally: Tally) -> Rejected {
    Rejected::KeyTriedTooOften {
        tries: tally.failed.saturating_add(tally.open),
    }
}

pub(super) fn refusal(error: ReplayError) -> Rejected {
    match error {
        ReplayError::Seen => Rejected::Replayed,
        other => Rejected::ReplayUnknown {
            problem: other.to_string(),
        },
    }
}
