//! Work on a message that stops where a store is to be asked, and goes on with the answer.
//!
//! ```text
//! work ─▶ Question ─▶ its driver asks the store ─▶ work goes on ─▶ … ─▶ result
//! ```
//!
//! The work knows the order of its steps and of its questions. A driver knows where to wait. The
//! driver of blocking calls ([`drive`]) asks at once, on the same thread. A server takes each
//! [`Question`] away from its workers, and lets the [`Work`] go on when the store has answered.
//!
//! The rule kept here: work waits for nothing but the answers to its own questions, and each
//! question is asked once.

use std::fmt;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use soapstone_xml::Buffers;

use super::memory::Memory;

/// Where work finds the buffers of the thread that it is done on, and leaves its question.
#[derive(Debug, Default)]
pub struct Workspace {
    /// Those of the driver, while the work is driven.
    buffers: Mutex<Buffers>,
    question: Mutex<Option<Question>>,
}

/// Which store a question is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Store {
    /// Of replay marks and tries.
    Replay,
    /// Of security contexts.
    Contexts,
    /// Of security contexts, and the library that accepts Kerberos tokens, which reads files.
    Kerberos,
    /// Of assertions that stand elsewhere: their authorities.
    Assertions,
    /// Of tickets: the library that makes Kerberos tokens, which may wait for a KDC.
    Tickets,
    /// None of the endpoint's: the driver's own, which may be another server.
    Driver,
}

/// What work asks a store. The work goes on after [`Asking::answer`].
pub struct Question {
    store: Store,
    ask: Box<dyn FnOnce(Memory<'_>) + Send>,
}

impl Question {
    /// Whether it is for the store of security contexts.
    pub fn is_for_contexts(&self) -> bool {
        matches!(self.store, Store::Contexts | Store::Kerberos)
    }

    /// Whether its answer takes longer than handing work on, whatever the stores are: files are
    /// read for it, or others are asked.
    pub fn outlasts_handing_on(&self) -> bool {
        matches!(
            self.store,
            Store::Kerberos | Store::Tickets | Store::Assertions | Store::Driver
        )
    }

    /// Whether its answer may have to wait for a KDC, or for an authority of assertions, and for no
    /// store.
    pub fn asks_others(&self) -> bool {
        matches!(self.store, Store::Tickets | Store::Assertions)
    }

    /// Whether its answer may have to wait for an authority of assertions.
    pub fn asks_authorities(&self) -> bool {
        self.store == Store::Assertions
    }

    /// Asks the store, and waits for it.
    fn answer(self, memory: Memory<'_>) {
        (self.ask)(memory);
    }
}

impl fmt::Debug for Question {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Question")
            .field("store", &self.store)
            .finish_non_exhaustive()
    }
}

/// How far work has come, for its driver.
enum Progress<T> {
    Done(T),
    /// It goes on when the question is answered.
    Asks(Question),
}

/// How far a step of work has come.
#[derive(Debug)]
pub enum Stepped<T> {
    /// The work has ended.
    Done(T),
    /// The work goes on when its question is answered.
    Asks(Asking<T>),
}

/// Work that waits for the answer to its question. The two stay together, so that work goes on
/// after its answer alone.
#[derive(Debug)]
pub struct Asking<T> {
    question: Question,
    work: Work<T>,
}

impl<T> Asking<T> {
    /// What it asks.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// Asks the store, waits for it, and gives back the work that goes on.
    #[must_use = "a try that nobody ends stays counted"]
    pub fn answer(self, memory: Memory<'_>) -> Work<T> {
        self.question.answer(memory);
        self.work
    }
}

/// Work that can go from one thread to another between its steps.
pub struct Work<T> {
    workspace: Arc<Workspace>,
    future: Pin<Box<dyn Future<Output = T> + Send>>,
}

impl<T> Work<T> {
    /// Work in a workspace of its own. It begins with the first [`step`](Self::step).
    pub fn new<F>(work: impl FnOnce(Arc<Workspace>) -> F) -> Self
    where
        F: Future<Output = T> + Send + 'static,
    {
        let workspace = Arc::<Workspace>::default();
        Self {
            future: Box::pin(work(Arc::clone(&workspace))),
            workspace,
        }
    }

    /// Works until there is a question, or to the end. Work that waits for anything else is asked
    /// again until it goes on.
    pub fn step(mut self, buffers: &mut Buffers) -> Stepped<T> {
        match advance(&self.workspace, self.future.as_mut(), buffers) {
            Progress::Done(result) => Stepped::Done(result),
            Progress::Asks(question) => Stepped::Asks(Asking {
                question,
                work: self,
            }),
        }
    }
}

impl<T> fmt::Debug for Work<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Work").finish_non_exhaustive()
    }
}

/// Does work to its end on this thread, and waits for the stores on it.
pub(super) fn drive<T>(
    memory: Memory<'_>,
    buffers: &mut Buffers,
    work: impl AsyncFnOnce(&Workspace) -> T,
) -> T {
    let workspace = Workspace::default();
    let mut work = pin!(work(&workspace));
    loop {
        match advance(&workspace, work.as_mut(), buffers) {
            Progress::Done(result) => return result,
            Progress::Asks(question) => question.answer(memory),
        }
    }
}

/// Works until there is a question, or to the end.
fn advance<T, F>(workspace: &Workspace, mut work: Pin<&mut F>, buffers: &mut Buffers) -> Progress<T>
where
    F: Future<Output = T> + ?Sized,
{
    loop {
        match polled(workspace, work.as_mut(), buffers) {
            Some(progress) => return progress,
            None => std::thread::yield_now(),
        }
    }
}

/// How far work has come after one poll; `None` if it waits for anything but its own question.
fn polled<T, F>(
    workspace: &Workspace,
    work: Pin<&mut F>,
    buffers: &mut Buffers,
) -> Option<Progress<T>>
where
    F: Future<Output = T> + ?Sized,
{
    std::mem::swap(&mut *workspace.buffers(), buffers);
    let polled = work.poll(&mut Context::from_waker(Waker::noop()));
    std::mem::swap(&mut *workspace.buffers(), buffers);
    match polled {
        Poll::Ready(result) => Some(Progress::Done(result)),
        Poll::Pending => locked(&workspace.question).take().map(Progress::Asks),
    }
}

impl Workspace {
    /// The buffers of the thread that drives the work. They are not held where a question is asked.
    pub fn buffers(&self) -> MutexGuard<'_, Buffers> {
        locked(&self.buffers)
    }

    /// Has something else asked that the work needs to know, by whoever drives it, and waits for
    /// the answer. The driver takes it away from its workers, as it does questions to stores.
    pub async fn ask_driver<A: Send + 'static>(
        &self,
        ask: impl FnOnce() -> A + Send + 'static,
    ) -> A {
        self.ask(Store::Driver, move |_| ask()).await
    }

    /// Has a store asked, and waits for the answer.
    pub(super) async fn ask<A: Send + 'static>(
        &self,
        store: Store,
        ask: impl FnOnce(Memory<'_>) -> A + Send + 'static,
    ) -> A {
        let answer = Arc::new(Mutex::new(None));
        let answered = Arc::clone(&answer);
        *locked(&self.question) = Some(Question {
            store,
            ask: Box::new(move |memory| {
                let found = ask(memory);
                *locked(&answered) = Some(found);
            }),
        });
        std::future::poll_fn(|_| match locked(&answer).take() {
            Some(answer) => Poll::Ready(answer),
            None => Poll::Pending,
        })
        .await
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // What a panic leaves behind is whole: buffers that work has taken from are replaced.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::*;
    use crate::conversation::NoContexts;
    use crate::replay::ForgetfulReplayCache;

    const MEMORY: Memory<'_> = Memory {
        replay: &ForgetfulReplayCache,
        contexts: &NoContexts,
    };

    /// Asks both stores, and leaves a buffer behind.
    async fn asked(workspace: &Workspace) -> [bool; 2] {
        let now = Timestamp::UNIX_EPOCH;
        let seen = workspace.ask(Store::Replay, move |memory| {
            memory.replay.first_seen(&[], now)
        });
        let seen = seen.await.is_ok();
        let cancelled = workspace.ask(Store::Contexts, |memory| memory.contexts.cancel("", ""));
        let cancelled = cancelled.await == Ok(true);
        workspace.buffers().give(Vec::with_capacity(5_000));
        [seen, cancelled]
    }

    #[test]
    fn work_goes_on_with_the_answer_on_whichever_thread() {
        let mut work = Work::new(async |workspace: Arc<Workspace>| asked(&workspace).await);
        let mut asked = Vec::new();
        let (result, mut buffers) = loop {
            let (stepped, buffers) = std::thread::scope(|scope| {
                let step = scope.spawn(move || {
                    let mut buffers = Buffers::default();
                    let stepped = work.step(&mut buffers);
                    (stepped, buffers)
                });
                step.join().expect("no panic")
            });
            match stepped {
                Stepped::Done(result) => break (result, buffers),
                Stepped::Asks(asking) => {
                    asked.push(asking.question().is_for_contexts());
                    work = asking.answer(MEMORY);
                }
            }
        };
        assert_eq!(asked, [false, true]);
        assert_eq!(result, [true, false]);
        let left = buffers.take(5_000).capacity();
        assert_eq!(left, 5_000, "it is the thread's buffers that work uses");
    }

    #[test]
    fn work_that_waits_for_something_else_is_asked_again() {
        let mut polls = 0;
        let waiting = std::future::poll_fn(move |_| {
            polls += 1;
            match polls {
                3 => Poll::Ready(polls),
                _ => Poll::Pending,
            }
        });
        let stepped = Work::new(|_| waiting).step(&mut Buffers::default());
        assert!(matches!(stepped, Stepped::Done(3)), "{stepped:?}");
    }

    #[test]
    fn blocking_work_is_driven_to_its_end() {
        assert_eq!(drive(MEMORY, &mut Buffers::default(), asked), [true, false]);
    }
}
