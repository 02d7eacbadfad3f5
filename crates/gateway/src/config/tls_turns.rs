//! Whose turn it is to shake hands with a private key in a token.
//!
//! A token takes its time, and a signature of TLS holds a thread meanwhile. Strangers decide how
//! many handshakes there are.
//!
//! The rule kept here: handshakes hold few threads, however many come. One that waits for its turn
//! holds none, and one that waits for its peer has no turn.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::ready;

use tokio::sync::{Semaphore, SemaphorePermit};

/// Most handshakes of all tokens that hold a thread at once. The runtime has 512 for those that
/// hold one.
static OF_ALL: Semaphore = Semaphore::const_new(128);

/// The turns of a key. Whoever has a key in a file takes none.
#[derive(Clone, Debug, Default)]
pub(crate) struct Turns(Option<Arc<Semaphore>>);

impl Turns {
    /// Those of a key in a token that does so many operations at once. For each of them another
    /// handshake is ready, so that the token need not wait.
    pub(super) fn of_token(sessions: usize) -> Self {
        Self(Some(Arc::new(Semaphore::new(sessions * 2))))
    }

    /// Goes through a handshake. Each of its steps is a turn: any of them may sign.
    pub(crate) async fn take<H: Future>(&self, handshake: H) -> H::Output {
        let Some(own) = &self.0 else {
            return handshake.await;
        };
        let mut handshake = pin!(handshake);
        let mut turn = pin!(next(own));
        poll_fn(|context| {
            let _held = ready!(turn.as_mut().poll(context));
            let step = handshake.as_mut().poll(context);
            // The handshake wakes the task when it can go on, which asks for another turn then.
            turn.set(next(own));
            step
        })
        .await
    }
}

/// Waits for a turn of a key, and for one of all keys. Neither is ever closed.
async fn next(own: &Semaphore) -> [Option<SemaphorePermit<'_>>; 2] {
    let own = own.acquire().await.ok();
    [own, OF_ALL.acquire().await.ok()]
}
