//! Explanations of refused messages, for operators at the admin listener.
//!
//! The gateway knows nothing of explaining. Whoever runs it may hand it something that does, and
//! then the console shows what that says of a recorded message.
//!
//! The rule kept here: one message at a time, on a thread of its own that gives way to all others.
//! A peer is told nothing. At the end of the gateway an explanation under way is waited for a
//! moment; its thread, which only reads its own copy of a message, may outlive that.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
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
    is_ending: AtomicBool,
}

impl Default for Explaining {
    fn default() -> Self {
        Self {
            explain: OnceLock::new(),
            place: Arc::new(Semaphore::new(1)),
            is_ending: AtomicBool::new(false),
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

    /// Explains the message that is found. It is looked for only once there is a place. What was
    /// found instead of a message is handed back.
    ///
    /// # Errors
    /// Why it is not explained.
    pub(super) async fn of<E>(
        &self,
        message: impl FnOnce() -> Result<RefusedMessage, E>,
    ) -> Result<Result<String, E>, Unexplained> {
        let explain = self.explain.get().ok_or(Unexplained::Unable)?;
        let place = Arc::clone(&self.place);
        let permit = place.try_acquire_owned().map_err(|error| match error {
            TryAcquireError::NoPermits => Unexplained::Busy,
            TryAcquireError::Closed => Unexplained::Ending,
        })?;
        // Looked at with the place in hand: whoever ends waits for it, or has said so.
        if self.is_ending.load(Ordering::SeqCst) {
            return Err(Unexplained::Ending);
        }
        let message = match message() {
            Ok(message) => message,
            Err(instead) => return Ok(Err(instead)),
        };
        let (told, hears) = oneshot::channel();
        let explain = Arc::clone(explain);
        let thread = std::thread::Builder::new().name("explanation".to_owned());
        let begun = thread.spawn(move || work(&*explain, message, told, permit));
        begun.map_err(|_| Unexplained::Failed)?;
        // Without an answer the thread has panicked.
        hears.await.map(Ok).map_err(|_| Unexplained::Failed)
    }

    /// Explains nothing more, and waits for the one that is under way. A caller that gives up
    /// leaves its thread behind, and no other begins.
    pub(super) async fn end(&self) {
        self.is_ending.store(true, Ordering::SeqCst);
        // Held while it is closed: nobody else takes it.
        let last = self.place.acquire().await;
        self.place.close();
        drop(last);
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
    use std::pin::{Pin, pin};
    use std::sync::{Mutex, mpsc};
    use std::task::{Context, Waker};
    use std::time::Duration;

    use tokio::time::timeout;

    use super::*;

    type Found = Result<RefusedMessage, &'static str>;

    fn told(text: &str) -> Result<Result<String, &'static str>, Unexplained> {
        Ok(Ok(text.to_owned()))
    }

    fn message() -> RefusedMessage {
        RefusedMessage {
            id: "p-r1".to_owned(),
            time: Timestamp::UNIX_EPOCH,
            bytes: b"secret".to_vec(),
        }
    }

    fn found() -> Found {
        Ok(message())
    }

    fn unsought() -> Found {
        panic!("nobody looks for a message without a place")
    }

    /// What explains once it is told to go on; what tells that one began, and what has them go on.
    fn waiting() -> (Explaining, mpsc::Receiver<()>, mpsc::Sender<()>) {
        let explaining = Explaining::default();
        let (begun, has_begun) = mpsc::channel();
        let (goes_on, waits) = mpsc::channel::<()>();
        let (begun, waits) = (Mutex::new(begun), Mutex::new(waits));
        explaining.set(Arc::new(move |message| {
            let _ = begun.lock().expect("it is ours").send(());
            let _ = waits.lock().expect("it is ours").recv();
            format!("explained {}", message.id)
        }));
        (explaining, has_begun, goes_on)
    }

    fn is_pending<F: Future>(future: Pin<&mut F>) -> bool {
        let mut context = Context::from_waker(Waker::noop());
        future.poll(&mut context).is_pending()
    }

    const SOON: Duration = Duration::from_secs(10);

    #[tokio::test]
    async fn one_message_is_explained_at_a_time_and_none_at_the_end() {
        let unable = Explaining::default().of(unsought).await;
        assert_eq!(unable, Err(Unexplained::Unable));
        let (explaining, has_begun, goes_on) = waiting();
        let mut first = pin!(explaining.of(found));
        // As far as its thread; a second place would have the second one wait, too.
        assert!(is_pending(first.as_mut()));
        has_begun.recv_timeout(SOON).expect("it begins");
        let second = timeout(SOON, explaining.of(unsought)).await;
        assert_eq!(second, Ok(Err(Unexplained::Busy)));
        goes_on.send(()).expect("it waits");
        assert_eq!(timeout(SOON, first).await, Ok(told("explained p-r1")));
        let instead = explaining.of(|| Err("no message")).await;
        assert_eq!(instead, Ok(Err("no message")));
        explaining.end().await;
        let late = timeout(SOON, explaining.of(unsought)).await;
        assert_eq!(late, Ok(Err(Unexplained::Ending)));
    }

    /// Whoever ends a gateway does not wait for ever.
    #[tokio::test]
    async fn none_begins_after_an_end_that_was_given_up() {
        let (explaining, has_begun, goes_on) = waiting();
        let mut first = pin!(explaining.of(found));
        assert!(is_pending(first.as_mut()));
        has_begun.recv_timeout(SOON).expect("it begins");
        {
            let mut end = pin!(explaining.end());
            assert!(is_pending(end.as_mut()));
        }
        goes_on.send(()).expect("it waits");
        assert_eq!(timeout(SOON, first).await, Ok(told("explained p-r1")));
        let late = timeout(SOON, explaining.of(unsought)).await;
        assert_eq!(late, Ok(Err(Unexplained::Ending)));
    }

    #[tokio::test]
    async fn a_panic_is_one_failure_and_leaves_the_place_free() {
        let explaining = Explaining::default();
        explaining.set(Arc::new(|message| {
            assert!(message.bytes.is_empty(), "it is not");
            "explained".to_owned()
        }));
        assert_eq!(explaining.of(found).await, Err(Unexplained::Failed));
        let empty = || -> Found {
            Ok(RefusedMessage {
                bytes: Vec::new(),
                ..message()
            })
        };
        // The place is free a moment after the failure is known.
        explaining
            .place
            .acquire()
            .await
            .expect("it is open")
            .forget();
        explaining.place.add_permits(1);
        assert_eq!(explaining.of(empty).await, told("explained"));
    }

    #[test]
    fn the_bytes_of_a_message_are_not_written_for_debugging() {
        assert_eq!(
            format!("{:?}", message()),
            "RefusedMessage { id: \"p-r1\", .. }"
        );
    }
}
