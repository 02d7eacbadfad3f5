//! Traces: a span for each request, with one below it for each step of its message, exported to a
//! collector (OTLP over HTTP).
//!
//! [`Recording`] collects the spans of one request. When the request is over they go into a queue
//! of a bounded size. A task of its own exports the queue ([`export`]), so that a collector that is
//! slow or away costs spans and nothing else.
//!
//! The rule kept here: a span holds names of the configuration and of the code, times and numbers;
//! nothing that a message holds, and no text that a peer chose. The spans of a request are queued
//! when its answer is ready, never before: the time that hides why a message was refused is over
//! then.

mod collector;
mod export;
mod otlp;
mod recording;
mod span;
mod traced;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use soapstone::crypto::random;
use soapstone_broker::{Bucket, Rate};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::config::traces::TracesConfig;
use crate::observe::trace_context::TraceContext;
use collector::Collector;
use span::Finished;

pub(crate) use recording::{Calling, Observed, Recording, ToldChoice};
pub(crate) use traced::Traced;

/// Most spans that wait for the collector: those of a thousand requests, some 1 MB.
const MOST_WAITING: usize = 8192;

/// What is recorded, and what of it waits for the collector.
#[derive(Debug)]
pub(crate) struct Traces {
    target: RwLock<Option<Arc<Target>>>,
    queue: Mutex<Queue>,
    arrived: Notify,
    /// All that waited was exported or is lost.
    emptied: Notify,
    /// The gateway ends: the collector gets one more chance.
    ending: AtomicBool,
    /// Differs from one process to the next.
    instance: String,
    exported: AtomicU64,
    lost: AtomicU64,
    over_rate: AtomicU64,
}

#[derive(Debug, Default)]
struct Queue {
    finished: Vec<Finished>,
    spans: usize,
    /// Spans that are on their way to the collector.
    leaving: usize,
}

/// Where spans go, and of which requests.
#[derive(Debug)]
struct Target {
    collector: Collector,
    one_in: u64,
    rate: Rate,
    bucket: Bucket,
}

/// What became of spans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) waiting: usize,
    pub(crate) exported: u64,
    pub(crate) lost: u64,
    pub(crate) over_rate: u64,
}

impl Traces {
    /// Nothing is recorded until [`Self::configure`] says where to.
    pub(crate) fn new(instance: String) -> Arc<Self> {
        Arc::new(Self {
            target: RwLock::default(),
            queue: Mutex::default(),
            arrived: Notify::new(),
            emptied: Notify::new(),
            ending: AtomicBool::new(false),
            instance,
            exported: AtomicU64::new(0),
            lost: AtomicU64::new(0),
            over_rate: AtomicU64::new(0),
        })
    }

    /// Records from now on as a configuration says, or nothing. What waits is exported to the new
    /// collector; without one it is lost.
    pub(crate) fn configure(&self, config: Option<TracesConfig>) {
        let target = config.and_then(|config| {
            let (one_in, rate) = (config.one_in, config.rate);
            Some(Arc::new(Target {
                collector: Collector::new(config, &self.instance)?,
                one_in,
                rate,
                bucket: Bucket::default(),
            }))
        });
        *self.target.write().unwrap_or_else(PoisonError::into_inner) = target;
        self.arrived.notify_one();
    }

    fn target(&self) -> Option<Arc<Target>> {
        self.target
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Begins to record a request that came within that context; `None` where it is not recorded.
    /// The flag of the context decides, and for a request without one chance does.
    pub(crate) fn begin(
        self: &Arc<Self>,
        context: Option<TraceContext>,
        started: Instant,
    ) -> Option<Arc<Recording>> {
        let target = self.target()?;
        let is_chosen = match context {
            Some(context) => context.sampled,
            None => u64::from_ne_bytes(random::bytes()) % target.one_in == 0,
        };
        if !is_chosen {
            return None;
        }
        // Whoever may send requests may set the flag (Trace Context, 7.2).
        if target.bucket.take(target.rate, started.into_std()).is_err() {
            self.over_rate.fetch_add(1, Ordering::Relaxed);
            return None;
        }
        Some(Arc::new(Recording::new(context, started)))
    }

    /// Hands in the spans of a request. Those that find no room are lost.
    fn push(&self, finished: Finished) {
        let count = finished.spans.len();
        let mut queue = self.queue();
        if queue.spans + count > MOST_WAITING {
            drop(queue);
            self.lose(count);
            return;
        }
        queue.spans += count;
        queue.finished.push(finished);
        drop(queue);
        self.arrived.notify_one();
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lose(&self, spans: usize) {
        self.lost.fetch_add(spans as u64, Ordering::Relaxed);
    }

    /// What became of spans until now.
    pub(crate) fn counts(&self) -> Counts {
        let queue = self.queue();
        Counts {
            waiting: queue.spans + queue.leaving,
            exported: self.exported.load(Ordering::Relaxed),
            lost: self.lost.load(Ordering::Relaxed),
            over_rate: self.over_rate.load(Ordering::Relaxed),
        }
    }

    /// Exports what waits, but takes no longer than `patience`: the gateway ends.
    pub(crate) async fn flush(&self, patience: Duration) {
        self.ending.store(true, Ordering::Relaxed);
        let emptied = async {
            loop {
                let notified = self.emptied.notified();
                if self.counts().waiting == 0 {
                    return;
                }
                self.arrived.notify_one();
                notified.await;
            }
        };
        if tokio::time::timeout(patience, emptied).await.is_err() {
            let spans = self.counts().waiting;
            tracing::warn!(spans, after = ?patience, "spans were lost at the end: the collector did not take them in time");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finished(spans: usize) -> Finished {
        let span = |_| span::Span {
            id: 1,
            parent: None,
            kind: span::Kind::Internal,
            name: "open".to_owned(),
            begun: 1,
            ended: 2,
            attributes: Vec::new(),
            error: None,
        };
        Finished {
            trace: 1,
            spans: (0..spans).map(span).collect(),
        }
    }

    #[test]
    fn spans_that_find_no_room_are_lost_and_counted() {
        let traces = Traces::new("1".to_owned());
        traces.push(finished(MOST_WAITING - 1));
        traces.push(finished(2));
        traces.push(finished(1));
        traces.push(finished(1));
        let expected = Counts {
            waiting: MOST_WAITING,
            lost: 3,
            ..Counts::default()
        };
        assert_eq!(traces.counts(), expected);
    }
}
