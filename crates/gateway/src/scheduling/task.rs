//! Work on messages that may ask a store: steps are done on the crypto workers, and stores are
//! asked away from them.
//!
//! ```text
//! worker ─▶ question ─▶ a thread that waits for the store ─▶ worker ─▶ … ─▶ result
//! ```
//!
//! The clients of stores block: each exchange has one deadline over names, TLS and answers. So a
//! thread of the runtime waits, a bounded number of them ([`Executor`]). It is neither a worker nor
//! one that serves sockets. A store in memory is asked where the work is done.
//!
//! The rule kept here: from its first question on, work goes on to its end, whoever waits for it. A
//! client that goes away leaves no mark without its message, and no try without its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use soapstone::endpoint::{Asking, Stepped, Work, Workspace};
use soapstone::xml::Buffers;
use tokio::time::Instant;

use super::class::WorkClass;
use super::executor::Executor;
use super::workers::{Away, NotDone};
use crate::observe::metrics::GatewayMetrics;
use crate::observe::traces::Observed;
use crate::scheduling::endpoint::RouteStores;

/// Where work finds its workspace.
#[derive(Clone)]
pub(crate) struct Desk {
    workspace: Arc<Workspace>,
    pause: Arc<Pause>,
}

/// For how many nanoseconds work waited for a worker since this was last asked.
#[derive(Default)]
struct Pause(AtomicU64);

impl Desk {
    pub(crate) fn workspace(&self) -> &Workspace {
        &self.workspace
    }

    /// How long the work waited for a worker since this was last asked.
    pub(crate) fn pause_over(&self) -> Duration {
        match self.pause.0.load(Ordering::Relaxed) {
            0 => Duration::ZERO,
            // Nothing is added while the work is done.
            _ => Duration::from_nanos(self.pause.0.swap(0, Ordering::Relaxed)),
        }
    }
}

impl Pause {
    fn add(&self, time: Duration) {
        let nanoseconds = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        self.0.fetch_add(nanoseconds, Ordering::Relaxed);
    }
}

/// Work on a message, and what its steps take.
pub(crate) struct Task<T> {
    work: Work<T>,
    asked: Asked,
}

/// Whom the work asks, and what its steps take.
struct Asked {
    stores: Option<Arc<RouteStores>>,
    /// Whether it may ask somebody who is none of these stores.
    beyond_stores: bool,
    /// Whether it goes on with a message that was let in, or is about the answer to it.
    was_let_in: bool,
    class: WorkClass,
    pause: Arc<Pause>,
    waits: Waits,
    observed: Option<Arc<Observed>>,
}

/// How long the work has waited. Metrics are told once for each message: how often it waited would
/// tell which step refused it.
#[derive(Default)]
struct Waits {
    /// For a worker, unless it takes none.
    worker: Option<Duration>,
    /// For stores, if it asked any that takes its time.
    store: Option<Duration>,
}

impl Waits {
    fn tell(&self, metrics: &GatewayMetrics) {
        if let Some(waited) = self.worker {
            metrics.queue_wait.record(waited);
        }
        if let Some(waited) = self.store {
            metrics.store_wait.record(waited);
        }
    }
}

impl<T: Send + 'static> Task<T> {
    /// Work whose steps take so much, and which asks these stores.
    pub(crate) fn new<F>(
        class: WorkClass,
        stores: Option<Arc<RouteStores>>,
        work: impl FnOnce(Desk) -> F,
    ) -> Self
    where
        F: Future<Output = T> + Send + 'static,
    {
        let pause = Arc::<Pause>::default();
        let begin = |workspace| {
            let pause = Arc::clone(&pause);
            work(Desk { workspace, pause })
        };
        Self {
            work: Work::new(begin),
            asked: Asked {
                stores,
                beyond_stores: false,
                was_let_in: false,
                class,
                pause,
                waits: Waits::default(),
                observed: None,
            },
        }
    }

    /// Records for what the work waits in the trace of its message.
    pub(crate) fn recorded(mut self, observed: &Arc<Observed>) -> Self {
        self.asked.observed = Some(Arc::clone(observed));
        self
    }

    /// Says that the work goes on with a message that was let in, or is about the answer to it. Its
    /// marks are taken, or somebody was asked and has done it: it is refused for want of no worker,
    /// and new work comes behind it.
    pub(crate) fn let_in_before(mut self) -> Self {
        self.asked.was_let_in = true;
        self
    }

    /// Says whether the work may wait for a server that is none of its stores: it begins only where
    /// there is room for that.
    pub(crate) fn asking_beyond_stores(mut self, asks: bool) -> Self {
        self.asked.beyond_stores = asks;
        self
    }

    /// Has the work done. What is `held` for it is let go with it: given back when it has ended,
    /// and dropped no sooner where nobody waits for that.
    ///
    /// # Errors
    ///
    /// See [`NotDone`]. When the returned future is dropped before the first question, the work
    /// does not go on.
    pub(crate) async fn perform<H: Send + 'static>(
        self,
        executor: &Arc<Executor>,
        held: H,
    ) -> (Result<T, NotDone>, Option<H>) {
        let Self { work, mut asked } = self;
        if !asked.was_let_in && asked.may_wait() && !executor.workers().has_room() {
            return (Err(NotDone::Full), Some(held));
        }
        let asking = match asked.step(executor, None, work).await {
            Ok(Stepped::Done(result)) => {
                asked.waits.tell(executor.metrics());
                return (Ok(result), Some(held));
            }
            Ok(Stepped::Asks(asking)) => asking,
            Err(not_done) => return (Err(not_done), Some(held)),
        };
        let executor = Arc::clone(executor);
        let away = executor.workers().leave();
        let going_on = async move {
            let result = asked.finish(&executor, &away, asking).await;
            asked.waits.tell(executor.metrics());
            (result, held)
        };
        match tokio::spawn(going_on).await {
            Ok((result, held)) => (result, Some(held)),
            Err(_) => (Err(NotDone::Failed), None),
        }
    }
}

impl Asked {
    /// Whether the work may be away from the workers.
    fn may_wait(&self) -> bool {
        let stores = self.stores.as_ref();
        self.beyond_stores || stores.is_some_and(|stores| stores.may_wait())
    }

    async fn finish<T: Send + 'static>(
        &mut self,
        executor: &Executor,
        away: &Away,
        mut asking: Asking<T>,
    ) -> Result<T, NotDone> {
        loop {
            let work = self.ask(executor, asking).await?;
            match self.step(executor, Some(away), work).await? {
                Stepped::Done(result) => return Ok(result),
                Stepped::Asks(next) => asking = next,
            }
        }
    }

    /// Has the next step done: in turn with that of others, or at once if it is brief.
    async fn step<T: Send + 'static>(
        &mut self,
        executor: &Executor,
        away: Option<&Away>,
        work: Work<T>,
    ) -> Result<Stepped<T>, NotDone> {
        let (stores, pause) = (self.stores.clone(), Arc::clone(&self.pause));
        let ready = Instant::now();
        let job = move |buffers: &mut Buffers| {
            pause.add(ready.elapsed());
            go_on(work, stores.as_deref(), buffers)
        };
        if self.class == WorkClass::Inline {
            return executor.workers().run_here(job);
        }
        let class = if executor.is_calm() {
            self.class
        } else {
            WorkClass::Blocking
        };
        let done = match away {
            None if self.was_let_in => executor.workers().run_next(class, job).await?,
            None => executor.workers().run(class, job).await?,
            Some(away) => executor.workers().resume(away, class, job).await?,
        };
        *self.waits.worker.get_or_insert_default() += done.waited;
        self.record("wait", ready, ready + done.waited);
        Ok(done.result)
    }

    fn record(&self, name: &'static str, begun: Instant, ended: Instant) {
        if let Some(observed) = &self.observed {
            observed.waited(name, begun, ended);
        }
    }

    /// Asks the store on a thread that may wait for it, and gives back the work that goes on.
    async fn ask<T: Send + 'static>(
        &mut self,
        executor: &Executor,
        asking: Asking<T>,
    ) -> Result<Work<T>, NotDone> {
        // Work without stores has none to ask.
        let stores = self.stores.clone().ok_or(NotDone::Failed)?;
        let metrics = executor.metrics();
        // A KDC or an authority that hangs keeps its askers for as long as they wait. Behind them,
        // nobody waits.
        let question = asking.question();
        let waits_for_others = match (question.asks_authorities(), question.asks_others()) {
            (true, _) => Some(stores.authority_permit().zip(executor.authority_permit())),
            (false, true) => Some(stores.kdc_permit().zip(executor.kdc_permit())),
            (false, false) => None,
        };
        let waits_for_others = waits_for_others
            .map(|permits| permits.ok_or(NotDone::Full))
            .transpose()?;
        let began = Instant::now();
        metrics.store_waiting.fetch_add(1, Ordering::Relaxed);
        let permit = match waits_for_others {
            Some(_) => None,
            None => executor.store_permit().await,
        };
        let asked = Arc::clone(&stores);
        let answered = tokio::task::spawn_blocking(move || asking.answer(asked.memory())).await;
        drop((permit, waits_for_others));
        metrics.store_waiting.fetch_sub(1, Ordering::Relaxed);
        let answered_at = Instant::now();
        *self.waits.store.get_or_insert_default() += answered_at - began;
        self.record("store", began, answered_at);
        // A panic there would be a bug, and is told where it happens.
        answered.map_err(|_| NotDone::Failed)
    }
}

/// Works until there is a question that takes its time, or to the end.
fn go_on<T>(mut work: Work<T>, stores: Option<&RouteStores>, buffers: &mut Buffers) -> Stepped<T> {
    loop {
        let asking = match work.step(buffers) {
            Stepped::Asks(asking) => asking,
            done => return done,
        };
        work = match stores {
            Some(stores) if !stores.waits_for(asking.question()) => asking.answer(stores.memory()),
            _ => return Stepped::Asks(asking),
        };
    }
}
