//! Work that no request waits for.
//!
//! The rule kept here: it ends with the gateway.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::runtime::Handle;
use tokio::task::JoinSet;

/// The tasks of one gateway that go on without a request.
#[derive(Debug)]
pub(crate) struct Background {
    tasks: Mutex<JoinSet<()>>,
    /// Work may begin on threads that are not the runtime's.
    runtime: Handle,
}

impl Background {
    /// Nothing as yet. Must be called within a runtime.
    pub(crate) fn new() -> Self {
        Self {
            tasks: Mutex::default(),
            runtime: Handle::current(),
        }
    }

    /// Begins work that goes on without its request.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.tasks();
        while tasks.try_join_next().is_some() {}
        tasks.spawn_on(work, &self.runtime);
    }

    /// Ends all of it.
    pub(crate) fn abort(&self) {
        self.tasks().abort_all();
    }

    fn tasks(&self) -> MutexGuard<'_, JoinSet<()>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
