//! The configuration in use.
//!
//! The rule kept here: requests in hand keep the configuration that they began with.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::watch;

use crate::route::serving::Serving;

/// The configuration in use, until another one takes its place.
pub(crate) struct Current {
    serving: RwLock<Arc<Serving>>,
    /// How often it was replaced.
    replaced: watch::Sender<u64>,
}

impl Current {
    pub(crate) fn new(serving: Serving) -> Self {
        Self {
            serving: RwLock::new(Arc::new(serving)),
            replaced: watch::Sender::new(0),
        }
    }

    /// The configuration in use.
    pub(crate) fn serving(&self) -> Arc<Serving> {
        Arc::clone(&self.serving.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the next one into use, which is made from the one before. Requests wait meanwhile, so
    /// it must ask no store.
    pub(crate) fn replace(&self, next: impl FnOnce(&Serving) -> Serving) {
        let mut current = self.serving.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(next(&current));
        self.replaced.send_modify(|times| *times += 1);
    }

    /// Tells of each time that it is replaced from now on.
    pub(crate) fn replacements(&self) -> watch::Receiver<u64> {
        self.replaced.subscribe()
    }

    /// Closes the connections to backends that no request uses at the moment.
    pub(crate) fn close_idle(&self) {
        for route in self.serving().routes.iter() {
            for upstream in route.upstreams() {
                upstream.backend.close_idle(Duration::ZERO);
            }
        }
    }
}
