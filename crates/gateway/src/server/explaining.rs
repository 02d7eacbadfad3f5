//! Explanations of refused messages, for operators at the admin listener.
//!
//! The gateway knows nothing of explaining. Whoever runs it may hand it something that does, and
//! then the console shows what that says of a recorded message.
//!
//! The rule kept here: one message at a time, on a thread of its own that gives way to all others.
//! A peer is told nothing.

use std::fmt;
use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError, oneshot};

/// How far the thread gives way: as far as there is (setpriority(2)).
const NICENESS: i32 = 19;

/// A message that was refused and recorded.
#[derive(Clone, PartialEq, Eq)]
pub struct RefusedMessage {
    /// The id of its record.
    pub id: String,
    /// When it was refused.
    pub time: Timestamp,
    /// The message as it arrived; a package begins with its header.
    pub bytes: Vec<u8>,
}

/// Its bytes are nobody's affair.
impl fmt::Debug for RefusedMessage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("RefusedMessage")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// What explains a message, in lines of text.
type Explain = dyn Fn(RefusedMessage) -> String + Send + Sync;

/// Why a message is not explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unexplained {
    /// Nothing was handed over that explains.
    Unable,
    /// Another message is explained.
    Busy,
    /// The gateway ends.
    Ending,
    /// There was no thread, or what explains has failed.
    Failed,
}

/// What explains messages, and the one place where it does.
pub(crate) struct Explaining {
    explain: OnceLock<Arc<Explain>>,
    place: Arc<Semaphore>,
}

impl Default for Explaining {
    fn default() -> Self {
        Self {
            explain: OnceLock::new(),
            place: Arc::new(Semaphore::new(1)),
        }
    }
}

impl Explaining {
    /// Takes what explains messages; the first one stays.
    pub(super) fn set(&self, explain: Arc<Explain>) {
        let _ = self.explain.set(explain);
    }

    /// Whether messages can be explained.
    pub(super) fn is_able(&self) -> bool {
        self.explain.get().is_some()
    }

    /// Explains the message that is found. It is looked for only once there is a place.
    ///
    /// # Errors
    /// Why it is not explained.
    pub(super) async fn of(
        &self,
        message: impl FnOnce() -> RefusedMessage,
    ) -> Result<String, Unexplained> {
        let explain = self.explain.get().ok_or(Unexplained::Unable)?;
        let place = Arc::clone(&self.place);
        let permit = place.try_acquire_owned().map_err(|error| match error {
            TryAcquireError::NoPermits => Unexplained::Busy,
            TryAcquireError::Closed => Unexplained::Ending,
        })?;
        let (told, hears) = oneshot::channel();
        let (explain, message) = (Arc::clone(explain), message());
        let thread = std::thread::Builder::new().name("explanation".to_owned());
        let begun = thread.spawn(move || work(&*explain, message, told, permit));
        begun.map_err(|_| Unexplained::Failed)?;
        // Without an answer the thread has panicked.
        hears.await.map_err(|_| Unexplained::Failed)
    }

    /// Explains nothing more, and waits for the one that is under way.
    pub(super) async fn end(&self) {
        let last = self.place.acquire().await;
        drop(last);
        self.place.close();
    }
}

/// The work of the thread. The place is taken until it is done, whether anybody waits or not.
fn work(
    explain: &Explain,
    message: RefusedMessage,
    told: oneshot::Sender<String>,
    permit: OwnedSemaphorePermit,
) {
    // A system that refuses it schedules the thread as any other.
    let _ = rustix::process::setpriority_process(None, NICENESS);
    let text = explain(message);
    drop(permit);
    // Whoever asked may be gone.
    let _ = told.send(text);
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;
    use std::sync::mpsc;

    use super::*;

    fn message() -> RefusedMessage {
        RefusedMessage {
            id: "p-r1".to_owned(),
            time: Timestamp::UNIX_EPOCH,
            bytes: b"secret".to_vec(),
        }
    }

    #[tokio::test]
    async fn one_message_is_explained_at_a_time_and_none_at_the_end() {
        let explaining = Arc::new(Explaining::default());
        assert_eq!(explaining.of(message).await, Err(Unexplained::Unable));
        let (begun, has_begun) = mpsc::channel();
        let (goes_on, waits) = mpsc::channel::<()>();
        let (begun, waits) = (Mutex::new(begun), Mutex::new(waits));
        explaining.set(Arc::new(move |message| {
            let _ = begun.lock().expect("it is ours").send(());
            let _ = waits.lock().expect("it is ours").recv();
            format!("explained {}", message.id)
        }));
        let first = Arc::clone(&explaining);
        let first = tokio::spawn(async move { first.of(message).await });
        tokio::task::spawn_blocking(move || has_begun.recv())
            .await
            .expect("it ends")
            .expect("it begins");
        assert_eq!(explaining.of(message).await, Err(Unexplained::Busy));
        goes_on.send(()).expect("it waits");
        let told = first.await.expect("it ends");
        assert_eq!(told.as_deref(), Ok("explained p-r1"));
        explaining.end().await;
        assert_eq!(explaining.of(message).await, Err(Unexplained::Ending));
    }

    #[tokio::test]
    async fn a_panic_is_one_failure_and_leaves_the_place_free() {
        let explaining = Explaining::default();
        explaining.set(Arc::new(|message| {
            assert!(message.bytes.is_empty(), "it is not");
            "explained".to_owned()
        }));
        assert_eq!(explaining.of(message).await, Err(Unexplained::Failed));
        let empty = || RefusedMessage {
            bytes: Vec::new(),
            ..message()
        };
        // The place is free a moment after the failure is known.
        explaining
            .place
            .acquire()
            .await
            .expect("it is open")
            .forget();
        explaining.place.add_permits(1);
        assert_eq!(explaining.of(empty).await.as_deref(), Ok("explained"));
    }

    #[test]
    fn the_bytes_of_a_message_are_not_written_for_debugging() {
        assert_eq!(
            format!("{:?}", message()),
            "RefusedMessage { id: \"p-r1\", .. }"
        );
    }
}
