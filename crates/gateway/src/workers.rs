//! A bounded number of threads for cryptography, so that a burst of RSA does not starve the sockets.
//!
//! The engine's buffers go from one message to the next, whichever thread works on it. The queue before the threads is bounded: work that
//! does not fit is refused at once, which the peer learns as `503`.
//!
//! The rule kept here: work whose asker has gone is not done.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use soapstone::xml::Buffers;
use tokio::sync::oneshot;

/// The threads and their queue.
pub(crate) struct Workers {
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// How long work takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effort {
    /// Some tens of microseconds, less than a change of threads and back: a small message and no private key, nothing to wait for.
    Brief,
    /// Anything else.
    Heavy,
}

struct Shared {
    queue: Mutex<Queue>,
    arrived: Condvar,
    capacity: usize,
    waiting: AtomicUsize,
    /// Buffers that no work uses. The last ones used are the first to be used again, so that few are large.
    spare: Mutex<Vec<Buffers>>,
}

struct Queue {
    work: VecDeque<Box<dyn Work>>,
    open: bool,
}

trait Work: Send {
    fn run(self: Box<Self>, buffers: &mut Buffers);
}

/// Why work was not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotDone {
    /// The queue is full.
    Full,
    /// The work panicked, or the workers have stopped.
    Failed,
}

/// What work came to, and how long it waited for a thread.
pub(crate) struct Done<T> {
    pub(crate) result: T,
    pub(crate) waited: Duration,
}

struct Task<F, T> {
    job: F,
    queued: Instant,
    answer: oneshot::Sender<Done<T>>,
}

impl<F, T> Work for Task<F, T>
where
    F: FnOnce(&mut Buffers) -> T + Send,
    T: Send,
{
    fn run(self: Box<Self>, buffers: &mut Buffers) {
        if self.answer.is_closed() {
            return;
        }
        let waited = self.queued.elapsed();
        let result = (self.job)(buffers);
        // The asker may have gone meanwhile; then nobody needs the result.
        let _ = self.answer.send(Done { result, waited });
    }
}

impl Workers {
    /// Starts the threads. `capacity` is how much work may wait for one.
    ///
    /// # Errors
    ///
    /// When the system gives no thread.
    pub(crate) fn start(count: usize, capacity: usize) -> std::io::Result<Self> {
        let shared = Arc::new(Shared {
            queue: Mutex::new(Queue {
                work: VecDeque::new(),
                open: true,
            }),
            arrived: Condvar::new(),
            capacity,
            waiting: AtomicUsize::new(0),
            spare: Mutex::default(),
        });
        let mut workers = Self {
            shared,
            threads: Vec::with_capacity(count),
        };
        for number in 0..count.max(1) {
            let shared = Arc::clone(&workers.shared);
            let thread = std::thread::Builder::new()
                .name(format!("crypto-{number}"))
                .spawn(move || shared.serve())?;
            workers.threads.push(thread);
        }
        Ok(workers)
    }

    /// How much work waits for a thread.
    pub(crate) fn waiting(&self) -> usize {
        self.shared.waiting.load(Ordering::Relaxed)
    }

    /// How many threads there are.
    pub(crate) fn count(&self) -> usize {
        self.threads.len()
    }

    /// Does brief work on this thread.
    ///
    /// # Errors
    ///
    /// [`NotDone::Failed`] if it panicked.
    pub(crate) fn run_here<T>(&self, job: impl FnOnce(&mut Buffers) -> T) -> Result<T, NotDone> {
        self.shared.with_buffers(job).ok_or(NotDone::Failed)
    }

    /// Lets go of memory that no work needed since this was last called.
    pub(crate) fn trim(&self) {
        self.shared.spare().iter_mut().for_each(Buffers::trim);
    }

    /// Has work done on one of the threads.
    ///
    /// # Errors
    ///
    /// See [`NotDone`]. When the returned future is dropped before the work begins, it never begins.
    pub(crate) async fn run<F, T>(&self, job: F) -> Result<Done<T>, NotDone>
    where
        F: FnOnce(&mut Buffers) -> T + Send + 'static,
        T: Send + 'static,
    {
        let (answer, done) = oneshot::channel();
        self.shared.enqueue(Box::new(Task {
            job,
            queued: Instant::now(),
            answer,
        }))?;
        done.await.map_err(|_| NotDone::Failed)
    }
}

/// Lets the threads finish what is queued, and waits for them.
impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.lock().open = false;
        self.shared.arrived.notify_all();
        for thread in self.threads.drain(..) {
            // A thread that panicked has nothing left to wait for.
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn enqueue(&self, work: Box<dyn Work>) -> Result<(), NotDone> {
        let mut queue = self.lock();
        if !queue.open {
            return Err(NotDone::Failed);
        }
        if queue.work.len() >= self.capacity {
            return Err(NotDone::Full);
        }
        queue.work.push_back(work);
        self.waiting.store(queue.work.len(), Ordering::Relaxed);
        drop(queue);
        self.arrived.notify_one();
        Ok(())
    }

    fn spare(&self) -> std::sync::MutexGuard<'_, Vec<Buffers>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does work with buffers used before or new. `None` if it panicked, and then the buffers are gone.
    fn with_buffers<T>(&self, job: impl FnOnce(&mut Buffers) -> T) -> Option<T> {
        let taken = self.spare().pop();
        let mut buffers = taken.unwrap_or_default();
        let result = std::panic::catch_unwind(AssertUnwindSafe(|| job(&mut buffers))).ok()?;
        self.spare().push(buffers);
        Some(result)
    }

    fn serve(&self) {
        while let Some(work) = self.next() {
            // A panic is a bug of ours; it must cost one message, not the thread and all after it.
            if self.with_buffers(|buffers| work.run(buffers)).is_none() {
                tracing::error!("a crypto worker panicked; its message was answered with a fault");
            }
        }
    }

    fn next(&self) -> Option<Box<dyn Work>> {
        let mut queue = self.lock();
        loop {
            if let Some(work) = queue.work.pop_front() {
                self.waiting.store(queue.work.len(), Ordering::Relaxed);
                return Some(work);
            }
            if !queue.open {
                return None;
            }
            queue = self
                .arrived
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// Keeps the only worker busy until the sender is dropped.
    fn block(workers: &Arc<Workers>) -> (mpsc::Sender<()>, tokio::task::JoinHandle<()>) {
        let (release, released) = mpsc::channel::<()>();
        let (started, running) = mpsc::channel();
        let workers = Arc::clone(workers);
        let handle = tokio::spawn(async move {
            let job = move |_: &mut Buffers| {
                started.send(()).expect("the test waits");
                released.recv().expect_err("nothing is sent");
            };
            workers
                .run(job)
                .await
                .map(|_| ())
                .expect("the work is done");
        });
        tokio::task::block_in_place(|| running.recv().expect("the work begins"));
        (release, handle)
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn work_beyond_the_queue_is_refused_at_once() {
        let workers = Arc::new(Workers::start(1, 1).expect("threads"));
        let (release, blocked) = block(&workers);
        let mut queued = Box::pin(workers.run(|_| 1));
        let first_poll = std::future::poll_fn(|context| {
            std::task::Poll::Ready(queued.as_mut().poll(context).is_pending())
        });
        assert!(first_poll.await);
        assert_eq!(workers.waiting(), 1);
        assert_eq!(
            workers
                .run(|_| 2)
                .await
                .map(|done| done.result)
                .unwrap_err(),
            NotDone::Full
        );
        drop(release);
        assert_eq!(queued.await.map(|done| done.result).expect("done"), 1);
        blocked.await.expect("no panic");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn work_whose_asker_has_gone_is_not_done() {
        let workers = Arc::new(Workers::start(1, 2).expect("threads"));
        let (release, blocked) = block(&workers);
        let (ran, observed) = mpsc::channel();
        let mut abandoned = Box::pin(workers.run(move |_| ran.send(()).expect("the test waits")));
        std::future::poll_fn(|context| {
            std::task::Poll::Ready(abandoned.as_mut().poll(context).is_pending())
        })
        .await;
        drop(abandoned);
        drop(release);
        blocked.await.expect("no panic");
        workers.run(|_| ()).await.map(|_| ()).expect("done");
        assert_eq!(observed.try_recv(), Err(mpsc::TryRecvError::Disconnected));
    }

    #[tokio::test]
    async fn a_panic_costs_one_message_and_not_the_thread() {
        let workers = Workers::start(1, 2).expect("threads");
        let panicked = workers
            .run(|_| panic!("a bug"))
            .await
            .map(|done| done.result);
        assert_eq!(panicked, Err(NotDone::Failed));
        assert_eq!(workers.run(|_| 7).await.map(|done| done.result), Ok(7));
    }
}
