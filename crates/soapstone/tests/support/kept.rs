//! A cache of replay keys that remembers them, in memory and with no bound.

use std::sync::Mutex;

use jiff::Timestamp;
use soapstone::attempts::{Attempts, KeyName, Outcome, Tally};
use soapstone::replay::{ReplayCache, ReplayError};
use soapstone::wss::{FirstSeen, ReplayKey};

/// Remembers every key for good, or until its end.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    keys: Mutex<Vec<ReplayKey>>,
    forgets: bool,
    cancelled: Mutex<Vec<KeyName>>,
}

#[allow(dead_code, reason = "shared by tests that use parts of it")]
impl Kept {
    /// One that forgets each key at its end.
    pub(crate) fn until_their_ends() -> Self {
        Self {
            forgets: true,
            ..Self::default()
        }
    }

    /// When the last key ends.
    pub(crate) fn until(&self) -> Option<Timestamp> {
        let keys = self.keys.lock().expect("nobody panicked");
        keys.iter().map(|key| key.until).max()
    }
}

impl ReplayCache for Kept {
    fn first_seen(&self, keys: &[ReplayKey], now: Timestamp) -> Result<FirstSeen, ReplayError> {
        let mut kept = self.keys.lock().expect("nobody panicked");
        if self.forgets {
            kept.retain(|key| key.until > now);
        }
        let is_kept = |key: &ReplayKey| kept.iter().any(|one| one.key == key.key);
        if keys.iter().any(is_kept) {
            return Err(ReplayError::Seen);
        }
        kept.extend(keys);
        Ok(FirstSeen::assertion(keys))
    }
}

impl Attempts for Kept {
    fn begin(
        &self,
        keys: &[ReplayKey],
        names: &[KeyName],
        _: Timestamp,
        now: Timestamp,
    ) -> Result<(FirstSeen, Vec<Tally>), ReplayError> {
        let first_seen = self.first_seen(keys, now)?;
        Ok((first_seen, vec![Tally::default(); names.len()]))
    }

    fn end(
        &self,
        names: &[KeyName],
        _: Outcome,
        _: Timestamp,
        _: Timestamp,
    ) -> Result<Vec<Tally>, ReplayError> {
        Ok(vec![Tally::default(); names.len()])
    }

    fn cancel(
        &self,
        name: &KeyName,
        _: &KeyName,
        _: Timestamp,
        _: Timestamp,
    ) -> Result<(), ReplayError> {
        self.cancelled.lock().expect("nobody panicked").push(*name);
        Ok(())
    }

    fn is_cancelled(&self, name: &KeyName, _: Timestamp) -> Result<bool, ReplayError> {
        let cancelled = self.cancelled.lock().expect("nobody panicked");
        Ok(cancelled.contains(name))
    }
}
