//! A future that is polled again at once when it was woken while it was polled.
//!
//! The parts of hyper that serve a connection, and those that speak with its backend, live in one
//! task and tell each other of bytes: each word wakes the task that is running. A runtime of
//! several threads takes that for work that another thread could do, wakes one, and the connection
//! moves to another processor. Where requests come one at a time, that took longer than to open
//! them.
//!
//! The rule kept here: no wake is lost, and after a few turns others have theirs.

use std::pin::Pin;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Most polls in a row. An exchange takes two or three.
const TURNS: u32 = 8;

/// Nobody polls it: who wakes it wakes its task.
const RESTING: u8 = 0;
/// A bit: it is polled.
const POLLED: u8 = 1;
/// A bit: it was woken since the last poll began. Set anew where it is set already, so that what
/// whoever wakes it has written before is seen by the poll that follows.
const WOKEN: u8 = 2;

/// Such a future, for as long as its task is alone; otherwise, other threads may well have
/// something to do.
pub(crate) struct RepollOnWake<F> {
    future: Pin<Box<F>>,
    bell: Arc<WakeState>,
    waker: Waker,
}

/// What is rung to wake it.
struct WakeState {
    state: AtomicU8,
    task: Mutex<Waker>,
    alone: Box<dyn Fn() -> bool + Send + Sync>,
}

impl<F: Future> RepollOnWake<F> {
    /// Makes one. `alone` says whether other threads should sleep on.
    pub(crate) fn new(future: F, alone: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        let bell = Arc::new(WakeState {
            state: AtomicU8::new(RESTING),
            task: Mutex::new(Waker::noop().clone()),
            alone: Box::new(alone),
        });
        Self {
            future: Box::pin(future),
            waker: Waker::from(Arc::clone(&bell)),
            bell,
        }
    }
}

impl<F: Future> Future for RepollOnWake<F> {
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        let this = &mut *self;
        this.bell.task().clone_from(context.waker());
        let mut inner = Context::from_waker(&this.waker);
        for _ in 0..TURNS {
            this.bell.state.swap(POLLED, Ordering::AcqRel);
            if let Poll::Ready(output) = this.future.as_mut().poll(&mut inner) {
                return Poll::Ready(output);
            }
            if this.bell.state.swap(RESTING, Ordering::AcqRel) & WOKEN == 0 {
                return Poll::Pending;
            }
        }
        context.waker().wake_by_ref();
        Poll::Pending
    }
}

impl WakeState {
    fn task(&self) -> MutexGuard<'_, Waker> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Wake for WakeState {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        let noted = (self.alone)() && self.state.fetch_or(WOKEN, Ordering::AcqRel) & POLLED != 0;
        if !noted {
            let task = self.task().clone();
            task.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicU32};

    use super::*;

    /// How often a task was woken.
    #[derive(Default)]
    struct Task(AtomicU32);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Polls a future once that wakes itself so often before it is ready; says whether it was, how
    /// often it was polled and its task woken.
    fn polled(wakes: u32, alone: bool) -> (bool, u32, u32) {
        let mut polls = 0;
        let future = std::future::poll_fn(|context| {
            polls += 1;
            if polls > wakes {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            context.waker().wake_by_ref();
            Poll::Pending
        });
        let task = Arc::new(Task::default());
        let mut settled = RepollOnWake::new(future, move || alone);
        let waker = Waker::from(Arc::clone(&task));
        let ready = Pin::new(&mut settled)
            .poll(&mut Context::from_waker(&waker))
            .is_ready();
        drop(settled);
        (ready, polls, task.0.load(Ordering::Relaxed))
    }

    #[test]
    fn what_wakes_itself_is_polled_again_and_wakes_nobody() {
        assert_eq!(polled(0, true), (true, 1, 0));
        assert_eq!(polled(3, true), (true, 4, 0));
    }

    #[test]
    fn what_never_settles_lets_others_have_their_turn() {
        assert_eq!(polled(u32::MAX, true), (false, TURNS, 1));
    }

    #[test]
    fn where_others_have_something_to_do_the_task_is_woken() {
        assert_eq!(polled(3, false), (false, 1, 2));
    }

    #[test]
    fn who_wakes_it_while_it_rests_wakes_its_task() {
        let kept = Arc::new(Mutex::new(Waker::noop().clone()));
        let keep = Arc::clone(&kept);
        let future = std::future::poll_fn(move |context| {
            keep.lock().expect("no panic").clone_from(context.waker());
            Poll::<()>::Pending
        });
        let mut settled = RepollOnWake::new(future, || true);
        // A future may move from one task to another between two polls.
        for task in [Arc::new(Task::default()), Arc::default()] {
            let waker = Waker::from(Arc::clone(&task));
            let mut context = Context::from_waker(&waker);
            assert!(Pin::new(&mut settled).poll(&mut context).is_pending());
            assert_eq!(task.0.load(Ordering::Relaxed), 0);
            kept.lock().expect("no panic").wake_by_ref();
            assert_eq!(task.0.load(Ordering::Relaxed), 1);
        }
    }

    /// Each of many wakes from another thread, at any moment of a poll, leads to another poll.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn no_wake_of_another_thread_is_lost() {
        for _ in 0..2_000 {
            let rung = Arc::new(AtomicBool::new(false));
            let mut ringing = None;
            let future = std::future::poll_fn(|context| {
                if rung.load(Ordering::Acquire) {
                    return Poll::Ready(());
                }
                if ringing.is_none() {
                    let (rung, waker) = (Arc::clone(&rung), context.waker().clone());
                    ringing = Some(tokio::spawn(async move {
                        rung.store(true, Ordering::Release);
                        waker.wake();
                    }));
                }
                Poll::Pending
            });
            let settled = RepollOnWake::new(future, || true);
            let settled = tokio::time::timeout(std::time::Duration::from_secs(20), settled);
            settled.await.expect("it is woken");
        }
    }
}
