//! What runs servers: the asynchronous runtime, and the wish to stop.
//!
//! The rule kept here: whatever runs until it is told to stop can be told with Ctrl-C and with
//! SIGTERM.

use tokio::runtime::{Builder, Runtime};

use crate::allocator;
use crate::failure::Failure;

/// A runtime with a thread per processor. From then on memory comes back while the program rests.
///
/// # Errors
/// [`Failure`] when the system gives no threads.
pub fn multi_threaded() -> Result<Runtime, Failure> {
    allocator::give_back_while_resting();
    Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|error| {
            Failure::new(format_args!(
                "the system gives no threads to run on: {error}"
            ))
        })
}

/// Done when the process is told to stop; never, where the system has no way to tell it. It listens
/// from the call on, not only from when it is waited for. To be called on a runtime.
pub fn stop_requested() -> impl Future<Output = ()> {
    #[cfg(unix)]
    let signals = {
        use tokio::signal::unix::{SignalKind, signal};
        signal(SignalKind::terminate())
            .and_then(|terminate| Ok((terminate, signal(SignalKind::interrupt())?)))
    };
    #[cfg(unix)]
    return async move {
        let Ok((mut terminate, mut interrupt)) = signals else {
            return std::future::pending().await;
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    #[cfg(not(unix))]
    return async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending().await
        }
    };
}
