//! A bounded number of messages that are worked on at once, so that a burst of RSA does not starve
//! the sockets.
//!
//! Each has a permit. While there are free ones, work is done where it arrived. If it is heavy, the
//! runtime hands that thread's sockets to another one meanwhile; a change of threads and back takes
//! as long as opening a small message. Without a free permit work waits for one of our own threads,
//! in a queue that is bounded: what does not fit is refused at once, which the peer learns as
//! `503`. The engine's buffers go from one message to the next, whichever thread works on it.
//!
//! Work that waits for a store has no permit meanwhile. It is [`Away`], which counts as waiting.
//! When it comes back, its turn is before that of work which has not begun, and it finds a place in
//! the queue always.
//!
//! The rule kept here: work whose asker has gone is not done.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use soapstone::xml::Buffers;
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::sync::oneshot;

use super::class::WorkClass;
use super::queue::{Coming, Work, WorkQueue};

pub(crate) use super::queue::{Away, NotDone};

/// The permits, the threads and their queue.
pub(crate) struct Workers {
    queue: Arc<WorkQueue>,
    threads: Vec<JoinHandle<()>>,
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
    /// Starts `count` threads, and has as many permits. `capacity` is how much work may wait for
    /// one.
    ///
    /// # Errors
    ///
    /// When the system gives no thread.
    pub(crate) fn start(count: usize, capacity: usize) -> std::io::Result<Self> {
        let mut workers = Self {
            queue: WorkQueue::new(count.max(1), capacity),
            threads: Vec::with_capacity(count),
        };
        for number in 0..count.max(1) {
            let queue = Arc::clone(&workers.queue);
            let thread = std::thread::Builder::new()
                .name(format!("crypto-{number}"))
                .spawn(move || queue.serve())?;
            workers.threads.push(thread);
        }
        Ok(workers)
    }

    /// Whether work may begin that can be [`Away`]: so much may be in hand as there are permits and
    /// places in the queue.
    pub(crate) fn has_room(&self) -> bool {
        self.queue.admits()
    }

    /// Lets work be away from its permit.
    pub(crate) fn leave(&self) -> Away {
        self.queue.leave()
    }

    /// Waits until no work is away.
    pub(crate) async fn all_back(&self) {
        self.queue.all_back().await;
    }

    /// How much work waits for a permit: new work, and before it what is back or is about answers,
    /// which may be more than the capacity.
    pub(crate) fn waiting(&self) -> usize {
        self.queue.waiting()
    }

    /// How much new work may wait.
    pub(crate) fn capacity(&self) -> usize {
        self.queue.capacity()
    }

    /// How many permits there are.
    pub(crate) fn count(&self) -> usize {
        self.queue.permits()
    }

    /// Does brief work on this thread, which takes no permit.
    ///
    /// # Errors
    ///
    /// [`NotDone::Failed`] if it panicked.
    pub(crate) fn run_here<T>(&self, job: impl FnOnce(&mut Buffers) -> T) -> Result<T, NotDone> {
        self.queue.with_buffers(job).ok_or(NotDone::Failed)
    }

    /// Lets go of memory that no work needed since this was last called.
    pub(crate) fn trim(&self) {
        self.queue.trim();
    }

    /// Has work done: on this thread if a permit is free, and on one of ours when there is one
    /// otherwise. Short work keeps this thread's sockets waiting.
    ///
    /// # Errors
    ///
    /// See [`NotDone`]. When the returned future is dropped before the work begins, it never
    /// begins.
    pub(crate) async fn run<F, T>(&self, class: WorkClass, job: F) -> Result<Done<T>, NotDone>
    where
        F: FnOnce(&mut Buffers) -> T + Send + 'static,
        T: Send + 'static,
    {
        self.run_as(Coming::New, class, job).await
    }

    /// The same for work that is about a message which was let in before: it has its turn before
    /// new work, and no queue is too full for it. As much of it waits as there are such messages.
    ///
    /// # Errors
    ///
    /// [`NotDone::Failed`].
    pub(crate) async fn run_next<F, T>(&self, class: WorkClass, job: F) -> Result<Done<T>, NotDone>
    where
        F: FnOnce(&mut Buffers) -> T + Send + 'static,
        T: Send + 'static,
    {
        self.run_as(Coming::Back, class, job).await
    }

    /// The same for work that was [`Away`].
    ///
    /// # Errors
    ///
    /// [`NotDone::Failed`].
    pub(crate) async fn resume<F, T>(
        &self,
        _away: &Away,
        class: WorkClass,
        job: F,
    ) -> Result<Done<T>, NotDone>
    where
        F: FnOnce(&mut Buffers) -> T + Send + 'static,
        T: Send + 'static,
    {
        self.run_next(class, job).await
    }

    async fn run_as<F, T>(
        &self,
        coming: Coming,
        class: WorkClass,
        job: F,
    ) -> Result<Done<T>, NotDone>
    where
        F: FnOnce(&mut Buffers) -> T + Send + 'static,
        T: Send + 'static,
    {
        // Only a runtime of several threads can hand its sockets on.
        let hands_on = Handle::current().runtime_flavor() == RuntimeFlavor::MultiThread;
        if (hands_on || class < WorkClass::Blocking)
            && let Some(permit) = self.queue.free_permit(coming)
        {
            let result = if class < WorkClass::Blocking {
                self.queue.work(permit, job)
            } else {
                tokio::task::block_in_place(|| self.queue.work(permit, job))
            };
            let waited = Duration::ZERO;
            return result
                .map(|result| Done { result, waited })
                .ok_or(NotDone::Failed);
        }
        let (answer, done) = oneshot::channel();
        let task = Task {
            job,
            queued: Instant::now(),
            answer,
        };
        self.queue.enqueue(coming, Box::new(task))?;
        done.await.map_err(|_| NotDone::Failed)
    }
}

/// Lets the threads finish what is queued, and waits for them.
impl Drop for Workers {
    fn drop(&mut self) {
        self.queue.close();
        let own = std::thread::current().id();
        // The last work may be what kept the workers: its thread ends by itself.
        for thread in self.threads.drain(..).filter(|it| it.thread().id() != own) {
            // A thread that panicked has nothing left to wait for.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc;

    use super::*;

    /// Keeps a permit taken until the sender is dropped.
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
                .run(WorkClass::Blocking, job)
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
        let mut queued = Box::pin(workers.run(WorkClass::Blocking, |_| 1));
        let first_poll = std::future::poll_fn(|context| {
            std::task::Poll::Ready(queued.as_mut().poll(context).is_pending())
        });
        assert!(first_poll.await);
        assert_eq!(workers.waiting(), 1);
        assert_eq!(
            workers
                .run(WorkClass::Blocking, |_| 2)
                .await
                .map(|done| done.result)
                .unwrap_err(),
            NotDone::Full
        );
        drop(release);
        assert_eq!(queued.await.map(|done| done.result).expect("done"), 1);
        blocked.await.expect("no panic");
    }

    /// Work holds what its route holds, which may be the last to know the workers.
    #[tokio::test]
    async fn workers_that_end_with_their_last_work_do_not_wait_for_its_thread() {
        let workers = Arc::new(Workers::start(1, 1).expect("threads"));
        let (started, running) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let (ended, end) = mpsc::channel();
        let kept = Arc::clone(&workers);
        let asker = tokio::spawn(async move {
            let job = move |_: &mut Buffers| {
                started.send(()).expect("the test waits");
                released.recv().expect_err("nothing is sent");
                drop(kept);
                ended.send(()).expect("the test waits");
            };
            workers.run(WorkClass::Blocking, job).await.map(drop)
        });
        // The runtime has one thread, so that the work is done by one of ours.
        tokio::task::yield_now().await;
        running.recv().expect("the work begins");
        asker.abort();
        asker.await.expect_err("nobody asks any more");
        drop(release);
        assert_eq!(end.recv(), Ok(()));
    }

    /// Asks for work, which is queued when this returns.
    async fn queued<F: Future>(work: F) -> Pin<Box<F>> {
        let mut work = Box::pin(work);
        let pending = std::future::poll_fn(|context| {
            std::task::Poll::Ready(work.as_mut().poll(context).is_pending())
        });
        assert!(pending.await);
        work
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn work_that_was_away_counts_as_waiting_and_has_its_turn_first_when_it_is_back() {
        let workers = Arc::new(Workers::start(1, 1).expect("threads"));
        let away = [workers.leave(), workers.leave()];
        assert!(!workers.has_room(), "a permit and a place are spoken for");
        let (release, blocked) = block(&workers);
        let done = workers
            .run(WorkClass::Blocking, |_| ())
            .await
            .map(|done| done.result);
        assert_eq!(done, Err(NotDone::Full));
        let [first, second] = away;
        drop(second);
        let (order, observed) = mpsc::channel();
        let telling = |what: &'static str| {
            let order = order.clone();
            move |_: &mut Buffers| order.send(what).expect("the test waits")
        };
        let new = queued(workers.run(WorkClass::Blocking, telling("new"))).await;
        let back = queued(workers.resume(&first, WorkClass::Blocking, telling("back"))).await;
        let answer = queued(workers.run_next(WorkClass::Blocking, telling("answer"))).await;
        assert_eq!(workers.waiting(), 3, "they find places in a full queue");
        drop(release);
        new.await.map(|_| ()).expect("it is done");
        back.await.map(|_| ()).expect("it is done");
        answer.await.map(|_| ()).expect("it is done");
        let observed: Vec<_> = observed.try_iter().collect();
        assert_eq!(observed, ["back", "answer", "new"]);
        drop(first);
        workers.all_back().await;
        blocked.await.expect("no panic");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn work_whose_asker_has_gone_is_not_done() {
        let workers = Arc::new(Workers::start(1, 2).expect("threads"));
        let (release, blocked) = block(&workers);
        let (ran, observed) = mpsc::channel();
        let mut abandoned = Box::pin(workers.run(WorkClass::Blocking, move |_| {
            ran.send(()).expect("the test waits")
        }));
        std::future::poll_fn(|context| {
            std::task::Poll::Ready(abandoned.as_mut().poll(context).is_pending())
        })
        .await;
        drop(abandoned);
        drop(release);
        blocked.await.expect("no panic");
        workers
            .run(WorkClass::Blocking, |_| ())
            .await
            .map(|_| ())
            .expect("done");
        assert_eq!(observed.try_recv(), Err(mpsc::TryRecvError::Disconnected));
    }

    async fn panic_then_work() {
        let workers = Workers::start(1, 2).expect("threads");
        let panicked = workers
            .run(WorkClass::Blocking, |_| panic!("a bug"))
            .await
            .map(|done| done.result);
        assert_eq!(panicked, Err(NotDone::Failed));
        assert_eq!(
            workers
                .run(WorkClass::Blocking, |_| 7)
                .await
                .map(|done| done.result),
            Ok(7)
        );
    }

    #[tokio::test]
    async fn a_panic_costs_one_message_and_not_the_thread() {
        panic_then_work().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_panic_costs_one_message_and_not_the_permit() {
        panic_then_work().await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn work_is_done_where_it_arrived_while_there_is_a_permit() {
        let workers = Arc::new(Workers::start(1, 2).expect("threads"));
        let here = || std::thread::current().id();
        let asked = tokio::spawn(async move {
            let done = workers.run(WorkClass::Blocking, move |_| here()).await;
            (here(), done.map(|done| done.result).expect("done"))
        });
        let (asker, worker) = asked.await.expect("no panic");
        assert_eq!(asker, worker);
    }

    /// Whether such work is done on the thread that asks for it.
    async fn is_done_here(class: WorkClass, when_taken: bool) -> bool {
        let workers = Workers::start(1, 2).expect("threads");
        let here = std::thread::current().id();
        let permit =
            when_taken.then(|| workers.queue.free_permit(Coming::New).expect("it is free"));
        let mut work = Box::pin(workers.run(class, move |_| std::thread::current().id() == here));
        let first = std::future::poll_fn(|context| match work.as_mut().poll(context) {
            std::task::Poll::Ready(done) => std::task::Poll::Ready(Some(done)),
            std::task::Poll::Pending => std::task::Poll::Ready(None),
        });
        let first = first.await;
        drop(permit);
        let done = match first {
            Some(done) => done,
            None => work.await,
        };
        done.map(|done| done.result).expect("done")
    }

    #[tokio::test]
    async fn short_work_is_done_here_whatever_the_runtime_if_there_is_a_permit() {
        assert!(is_done_here(WorkClass::Short, false).await);
        assert!(!is_done_here(WorkClass::Short, true).await);
        // This runtime has nobody to hand its sockets to.
        assert!(!is_done_here(WorkClass::Blocking, false).await);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn no_more_is_worked_on_at_once_than_there_are_permits() {
        let workers = Arc::new(Workers::start(2, 64).expect("threads"));
        let (busy, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let ask = |_| {
            let (workers, busy, most) = (workers.clone(), busy.clone(), most.clone());
            tokio::spawn(async move {
                let job = move |_: &mut Buffers| {
                    most.fetch_max(busy.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                    std::thread::sleep(Duration::from_millis(5));
                    busy.fetch_sub(1, Ordering::SeqCst);
                };
                workers
                    .run(WorkClass::Blocking, job)
                    .await
                    .map(|_| ())
                    .expect("done");
            })
        };
        for asked in (0..32).map(ask).collect::<Vec<_>>() {
            asked.await.expect("no panic");
        }
        assert_eq!(most.load(Ordering::SeqCst), 2);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn sockets_are_served_while_all_threads_of_the_runtime_work() {
        let threads = tokio::runtime::Handle::current().metrics().num_workers();
        let workers = Arc::new(Workers::start(threads, 64).expect("threads"));
        let mut releases = Vec::new();
        for _ in 0..threads {
            releases.push(block(&workers));
        }
        let timer = tokio::spawn(tokio::time::sleep(Duration::from_millis(1)));
        let served = tokio::time::timeout(Duration::from_secs(20), timer).await;
        served.expect("somebody serves").expect("no panic");
        for (release, blocked) in releases {
            drop(release);
            blocked.await.expect("no panic");
        }
    }
}
