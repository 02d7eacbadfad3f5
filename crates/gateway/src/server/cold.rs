//! The routes whose warm-up is not over: until it is, `/readyz` says no.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Their paths.
#[derive(Debug)]
pub(crate) struct Cold(Mutex<BTreeSet<String>>);

impl Cold {
    /// All of these are cold.
    pub(crate) fn new(paths: impl Iterator<Item = String>) -> Self {
        Self(Mutex::new(paths.collect()))
    }

    pub(crate) fn paths(&self) -> Vec<String> {
        self.lock().iter().cloned().collect()
    }

    /// The warm-up of that path is over.
    pub(crate) fn warm(&self, path: &str) {
        self.lock().remove(path);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
