//! The wish that a run stop: Ctrl-C, or SIGTERM.
//!
//! The rule kept here: whoever waits for an answer waits for the wish, too.

use tokio::runtime::Runtime;
use tokio::sync::watch;

use crate::failure::Failure;
use crate::runtime;

/// Whether somebody wants the run to stop.
#[derive(Clone)]
pub(in super::super) struct StopSignal(watch::Receiver<bool>);

impl StopSignal {
    /// Listens from now on.
    pub(in super::super) fn listen(runtime: &Runtime) -> Self {
        let (told, wish) = watch::channel(false);
        // The task may begin later, and a signal until then would end the process as it stands.
        let stop = {
            let _entered = runtime.enter();
            runtime::stop_requested()
        };
        runtime.spawn(async move {
            stop.await;
            told.send_replace(true);
        });
        Self(wish)
    }

    /// Whether to go on.
    ///
    /// # Errors
    /// Somebody wants the run to stop.
    pub(in super::super) fn go_on(&self) -> Result<(), Failure> {
        if *self.0.borrow() {
            return Err(stopped());
        }
        Ok(())
    }

    /// What the future gives, unless somebody wants the run to stop before.
    pub(super) async fn or<T>(
        &self,
        future: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let mut wish = self.0.clone();
        tokio::select! {
            done = future => done,
            Ok(_) = wish.wait_for(|wish| *wish) => Err(stopped()),
        }
    }
}

fn stopped() -> Failure {
    Failure::new("stopped before the end").with_hint("the same command goes on from there")
}
