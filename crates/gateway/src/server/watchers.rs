//! Places of the console's pages that are told of changes.
//!
//! The rule kept here: there are so many at most, whoever asks.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Most pages that are told of changes at once. An event of a gateway with ten routes has some
/// 100 kB, and each page has one made for it.
const MOST_WATCHING: usize = 16;

/// Places of the pages that are told of changes.
#[derive(Debug)]
pub(crate) struct Watchers(Arc<Semaphore>);

impl Default for Watchers {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MOST_WATCHING)))
    }
}

impl Watchers {
    /// A place until it is dropped; `None` if all are taken.
    pub(super) fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.0).try_acquire_owned().ok()
    }
}
