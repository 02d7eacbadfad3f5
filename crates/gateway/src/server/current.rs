//! The configuration in use.
//!
//! The rule kept here: requests in hand keep the configuration that they began with.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use crate::route::serving::Serving;

/// The configuration in use, until another one takes its place.
pub(crate) struct Current(RwLock<Arc<Serving>>);

impl Current {
    pub(crate) fn new(serving: Serving) -> Self {
        Self(RwLock::new(Arc::new(serving)))
    }

    /// The configuration in use.
    pub(crate) fn serving(&self) -> Arc<Serving> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes the next one into use, which is made from the one before. Requests wait meanwhile.
    pub(crate) fn replace(&self, next: impl FnOnce(&Serving) -> Serving) {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(next(&current));
    }

    /// Closes the connections to backends that no request uses at the moment.
    pub(crate) fn close_idle(&self) {
        for route in self.serving().routes.iter() {
            route.upstream.backend.close_idle(Duration::ZERO);
        }
    }
}
