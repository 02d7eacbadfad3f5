//! The routes whose warm-up is not over: until it is, `/readyz` says no.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::observe::changes::Changes;

/// Their paths.
#[derive(Debug)]
pub(crate) struct Cold {
    paths: Mutex<BTreeSet<String>>,
    changes: Changes,
}

impl Cold {
    /// All of these are cold. Those listeners are told when one is not any more.
    pub(crate) fn new(paths: impl Iterator<Item = String>, changes: Changes) -> Self {
        Self {
            paths: Mutex::new(paths.collect()),
            changes,
        }
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.lock().iter().cloned().collect()
    }

    /// The warm-up of that path is over.
    pub(crate) fn warm(&self, path: &str) {
        self.lock().remove(path);
        self.changes.tell();
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
