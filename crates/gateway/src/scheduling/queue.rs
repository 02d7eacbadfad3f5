//! The queue of the crypto workers: permits to work, work that waits for one, and work that waits
//! elsewhere.
//!
//! The rule kept here: no more is worked on at once than there are permits, and work that has come
//! back, or is about an answer, is next.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use soapstone::xml::Buffers;
use tokio::sync::Notify;

/// Work that waits for a permit, and the buffers that work uses.
pub(super) struct WorkQueue {
    queue: Mutex<Waiting>,
    arrived: Condvar,
    capacity: usize,
    permits: usize,
    waiting: AtomicUsize,
    /// Told when no work is away any more.
    all_back: Notify,
    /// Buffers that no work uses. The last ones used are the first to be used again, so that few
    /// are large.
    spare: Mutex<Vec<Buffers>>,
}

struct Waiting {
    work: VecDeque<Box<dyn Work>>,
    /// Work that has come back, and work about answers.
    back: VecDeque<Box<dyn Work>>,
    /// Work that has been away from its permit, and has not ended.
    away: usize,
    /// Permits that are taken.
    taken: usize,
    open: bool,
}

/// The right to work on one message; free again when dropped.
pub(super) struct Permit<'s>(&'s WorkQueue);

/// Work that waits elsewhere and comes back, until it has ended.
pub(crate) struct Away(Arc<WorkQueue>);

/// Whether work begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coming {
    New,
    /// It goes on, or is about an answer.
    Back,
}

/// Work that waits for a thread.
pub(super) trait Work: Send {
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

impl WorkQueue {
    /// A queue for so many permits, in which so much work may wait for one.
    pub(super) fn new(permits: usize, capacity: usize) -> Arc<Self> {
        Arc::new(Self {
            queue: Mutex::new(Waiting {
                work: VecDeque::new(),
                back: VecDeque::new(),
                away: 0,
                taken: 0,
                open: true,
            }),
            arrived: Condvar::new(),
            capacity,
            permits,
            waiting: AtomicUsize::new(0),
            all_back: Notify::new(),
            spare: Mutex::default(),
        })
    }

    /// Whether work may begin that can be [`Away`]: so much may be in hand as there are permits and
    /// places in the queue.
    pub(super) fn admits(&self) -> bool {
        self.has_room(&self.lock())
    }

    /// Lets work be away from its permit.
    pub(super) fn leave(self: &Arc<Self>) -> Away {
        self.lock().away += 1;
        Away(Arc::clone(self))
    }

    /// Waits until no work is away.
    pub(super) async fn all_back(&self) {
        loop {
            let all_back = self.all_back.notified();
            if self.lock().away == 0 {
                return;
            }
            all_back.await;
        }
    }

    /// Takes no more work; what is queued is still done.
    pub(super) fn close(&self) {
        self.lock().open = false;
        self.arrived.notify_all();
    }

    /// How much work waits for a permit: new work, and before it what is back or is about answers,
    /// which may be more than the capacity.
    pub(super) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// How much new work may wait.
    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// How many permits there are.
    pub(super) fn permits(&self) -> usize {
        self.permits
    }

    /// Lets go of memory that no work needed since this was last called.
    pub(super) fn trim(&self) {
        self.spare().iter_mut().for_each(Buffers::trim);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_room(&self, queue: &Waiting) -> bool {
        queue.work.len().saturating_add(queue.away) < self.capacity.saturating_add(self.permits)
    }

    pub(super) fn enqueue(&self, coming: Coming, work: Box<dyn Work>) -> Result<(), NotDone> {
        let mut queue = self.lock();
        if !queue.open {
            return Err(NotDone::Failed);
        }
        match coming {
            Coming::New if queue.work.len() >= self.capacity || !self.has_room(&queue) => {
                return Err(NotDone::Full);
            }
            Coming::New => queue.work.push_back(work),
            Coming::Back => queue.back.push_back(work),
        }
        self.waiting.store(queue.waiting(), Ordering::Relaxed);
        drop(queue);
        self.arrived.notify_one();
        Ok(())
    }

    fn spare(&self) -> std::sync::MutexGuard<'_, Vec<Buffers>> {
        self.spare.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does work with buffers used before or new. `None` if it panicked, and then the buffers are
    /// gone.
    pub(super) fn with_buffers<T>(&self, job: impl FnOnce(&mut Buffers) -> T) -> Option<T> {
        let taken = self.spare().pop();
        let mut buffers = taken.unwrap_or_default();
        let result = std::panic::catch_unwind(AssertUnwindSafe(|| job(&mut buffers))).ok()?;
        self.spare().push(buffers);
        Some(result)
    }

    /// A permit, unless all are taken or somebody waits for one whose turn is before.
    pub(super) fn free_permit(&self, coming: Coming) -> Option<Permit<'_>> {
        let mut queue = self.lock();
        let is_next = queue.back.is_empty() && (coming == Coming::Back || queue.work.is_empty());
        let free = queue.open && is_next && queue.taken < self.permits;
        free.then(|| {
            queue.taken += 1;
            Permit(self)
        })
    }

    /// Does work that has a permit. `None` if it panicked: a bug of ours, which must cost one
    /// message, not the thread and all after it.
    pub(super) fn work<T>(
        &self,
        _permit: Permit<'_>,
        job: impl FnOnce(&mut Buffers) -> T,
    ) -> Option<T> {
        let result = self.with_buffers(job);
        if result.is_none() {
            tracing::error!("a crypto worker panicked; its message was answered with a fault");
        }
        result
    }

    pub(super) fn serve(&self) {
        while let Some((permit, work)) = self.next() {
            self.work(permit, |buffers| work.run(buffers));
        }
    }

    fn next(&self) -> Option<(Permit<'_>, Box<dyn Work>)> {
        let mut queue = self.lock();
        loop {
            if queue.taken < self.permits
                && let Some(work) = queue.next()
            {
                queue.taken += 1;
                self.waiting.store(queue.waiting(), Ordering::Relaxed);
                return Some((Permit(self), work));
            }
            if !queue.open && queue.waiting() == 0 {
                return None;
            }
            queue = self
                .arrived
                .wait(queue)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Waiting {
    /// How much work waits for a permit.
    fn waiting(&self) -> usize {
        self.back.len() + self.work.len()
    }

    fn next(&mut self) -> Option<Box<dyn Work>> {
        self.back.pop_front().or_else(|| self.work.pop_front())
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.away -= 1;
        if queue.away == 0 {
            self.0.all_back.notify_waiters();
        }
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut queue = self.0.lock();
        queue.taken -= 1;
        let (awaited, open) = (queue.waiting() > 0, queue.open);
        drop(queue);
        if !open {
            // Whoever waits is to see that it is over.
            self.0.arrived.notify_all();
        } else if awaited {
            self.0.arrived.notify_one();
        }
    }
}
