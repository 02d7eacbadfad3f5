//! Word that something changed which operators want to see at once: a refusal, a backend that comes
//! or goes, a configuration taken into use.
//!
//! The rule kept here: telling waits for nobody, and whoever listens is told that there is a
//! change, never which.

use std::sync::Arc;

use tokio::sync::watch;

/// Tells listeners of changes. Clones tell the same listeners.
#[derive(Clone, Debug)]
pub(crate) struct Changes(Arc<watch::Sender<u64>>);

impl Default for Changes {
    fn default() -> Self {
        Self(Arc::new(watch::Sender::new(0)))
    }
}

impl Changes {
    /// Something changed.
    pub(crate) fn tell(&self) {
        self.0.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Hears of each change from now on; of several that nobody waited for, once.
    pub(crate) fn listen(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }
}
