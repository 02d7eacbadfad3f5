//! What does work: the crypto workers, and the threads that wait for stores.
//!
//! The rule kept here: both are bounded, and no question to a store takes a worker's permit. A
//! question that waits for a KDC or for an authority of assertions takes none of the stores'
//! permits, either, and neither of these takes the other's.

use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use soapstone::xml::Buffers;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::workers::{NotDone, Workers};
use crate::observe::metrics::GatewayMetrics;

/// Most questions that are asked at once; others wait for one to be answered. Each has a thread and
/// a connection. A runtime has 512 such threads, and needs some to hand sockets on.
const MOST_ASKED: usize = 256;

/// Most questions that wait for KDCs at once, for all routes. With those for authorities: the
/// threads that the stores leave, but for some to hand sockets on.
const MOST_WAITING_FOR_KDCS: usize = 128;

/// Most questions that wait for authorities of assertions at once, for all routes. Two routes whose
/// authorities hang leave 16 permits to the others.
const MOST_WAITING_FOR_AUTHORITIES: usize = 80;

/// Most requests in hand for each worker while work on messages that takes a private-key operation
/// keeps the thread's sockets waiting: at some 0.3 ms each (RSA-2048), the last of them waits for 5
/// ms.
const CALM: u64 = 16;

/// The workers of one gateway.
pub(crate) struct Executor {
    workers: Workers,
    /// Held by whoever asks a store.
    store_permits: Semaphore,
    /// Held by whoever may wait for a KDC.
    kdc_permits: Semaphore,
    /// Held by whoever may wait for an authority of assertions.
    authority_permits: Semaphore,
    metrics: Arc<GatewayMetrics>,
}

impl Executor {
    /// Starts as many workers, for which so much work may wait.
    ///
    /// # Errors
    ///
    /// When the system gives no thread.
    pub(crate) fn start(
        workers: usize,
        queue: usize,
        metrics: Arc<GatewayMetrics>,
    ) -> io::Result<Arc<Self>> {
        Ok(Arc::new(Self {
            workers: Workers::start(workers, queue)?,
            store_permits: Semaphore::new(MOST_ASKED),
            kdc_permits: Semaphore::new(MOST_WAITING_FOR_KDCS),
            authority_permits: Semaphore::new(MOST_WAITING_FOR_AUTHORITIES),
            metrics,
        }))
    }

    pub(crate) fn workers(&self) -> &Workers {
        &self.workers
    }

    /// Does brief work on this thread, which takes no permit.
    ///
    /// # Errors
    ///
    /// [`NotDone::Failed`] if it panicked.
    pub(crate) fn run_here<T>(&self, job: impl FnOnce(&mut Buffers) -> T) -> Result<T, NotDone> {
        self.workers.run_here(job)
    }

    /// How many messages wait for a store, a KDC or an authority of assertions.
    pub(crate) fn waiting_for_stores(&self) -> u64 {
        self.metrics.store_waiting.load(Ordering::Relaxed)
    }

    pub(super) fn metrics(&self) -> &GatewayMetrics {
        &self.metrics
    }

    /// The right to ask a store; `None` never, since the semaphore is never closed.
    pub(super) async fn store_permit(&self) -> Option<SemaphorePermit<'_>> {
        self.store_permits.acquire().await.ok()
    }

    /// The right to ask for a ticket; `None` if too many wait for KDCs.
    pub(super) fn kdc_permit(&self) -> Option<SemaphorePermit<'_>> {
        self.kdc_permits.try_acquire().ok()
    }

    /// The right to ask for an assertion; `None` if too many wait for authorities.
    pub(super) fn authority_permit(&self) -> Option<SemaphorePermit<'_>> {
        self.authority_permits.try_acquire().ok()
    }

    /// Whether so little is in hand that sockets may wait for all of it.
    pub(super) fn is_calm(&self) -> bool {
        let most = CALM * self.workers.count() as u64;
        let in_hand = self.metrics.in_flight.load(Ordering::Relaxed);
        // Whoever waits for a store leaves the processors alone.
        in_hand.saturating_sub(self.waiting_for_stores()) <= most
    }
}
