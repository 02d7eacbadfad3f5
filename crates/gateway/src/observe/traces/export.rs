//! Sends spans to the collector: in batches, again where the collector asks for patience, and not
//! for ever (OTLP 1.x, "OTLP/HTTP").
//!
//! The rule kept here: one batch is on its way at a time, and each attempt has an end.

use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use tokio::time::Instant;

use super::collector::Refused;
use super::span::Finished;
use super::{Target, Traces};

/// Spans of a batch that does not wait for more.
const BATCH: usize = 512;

/// How long spans wait for others to go with them.
const DELAY: Duration = Duration::from_secs(1);

/// How often a batch is sent at most. The waits between are 1, 2 and 4 s.
const ATTEMPTS: u32 = 4;

/// Longest wait that a collector may ask for.
const LONGEST_WAIT: Duration = Duration::from_secs(30);

impl Traces {
    /// Exports what is handed in, for as long as the gateway runs.
    pub(crate) async fn export(&self) {
        let mut was_lost = false;
        loop {
            let batch = self.batch().await;
            let count = batch.iter().map(|finished| finished.spans.len()).sum();
            // With the spans that are lost here those that find no room are told.
            let refused = match self.target() {
                Some(target) => self.deliver(&target, &batch, count).await,
                None => {
                    self.lose(count);
                    None
                }
            };
            match &refused {
                Some(why) if !was_lost => tracing::warn!(
                    spans = count,
                    detail = %why,
                    "spans are lost: the collector does not take them"
                ),
                None if was_lost => {
                    tracing::info!(lost = self.counts().lost, "the collector takes spans again")
                }
                _ => {}
            }
            was_lost = refused.is_some();
            self.queue().leaving = 0;
            self.emptied.notify_waiters();
        }
    }

    /// Waits for spans, and for others to go with them.
    async fn batch(&self) -> Vec<Finished> {
        loop {
            let arrived = self.arrived.notified();
            let waiting = self.queue().spans;
            if waiting > 0 {
                break;
            }
            arrived.await;
        }
        let due = Instant::now() + DELAY;
        while self.queue().spans < BATCH && !self.ending.load(Ordering::Relaxed) {
            let arrived = self.arrived.notified();
            if tokio::time::timeout_at(due, arrived).await.is_err() {
                break;
            }
        }
        let mut queue = self.queue();
        let mut count = 0;
        let fitting = queue.finished.iter().take_while(|finished| {
            let fits = count < BATCH;
            count += finished.spans.len();
            fits
        });
        let fitting = fitting.count();
        let batch: Vec<Finished> = queue.finished.drain(..fitting).collect();
        queue.leaving = batch.iter().map(|finished| finished.spans.len()).sum();
        queue.spans -= queue.leaving;
        batch
    }

    /// Sends a batch until the collector takes it. Why it is lost, if it is.
    async fn deliver(&self, target: &Target, batch: &[Finished], count: usize) -> Option<Refused> {
        let collector = &target.collector;
        let body = Bytes::from(collector.resource.request(batch));
        let mut attempt = 1;
        loop {
            let refused = match collector.send(body.clone()).await {
                Ok(rejected) => {
                    let rejected = rejected.min(count as u64);
                    let taken = count as u64 - rejected;
                    self.exported.fetch_add(taken, Ordering::Relaxed);
                    self.lost.fetch_add(rejected, Ordering::Relaxed);
                    return None;
                }
                Err(refused) => refused,
            };
            let is_last = attempt == ATTEMPTS || self.ending.load(Ordering::Relaxed);
            if is_last || !refused.is_passing() {
                self.lose(count);
                return Some(refused);
            }
            let wait = match &refused {
                Refused::Status {
                    wait: Some(wait), ..
                } => (*wait).min(LONGEST_WAIT),
                _ => Duration::from_secs(1 << (attempt - 1)),
            };
            self.pause(wait).await;
            attempt += 1;
        }
    }

    /// Waits, but not when the gateway ends.
    async fn pause(&self, wait: Duration) {
        let until = Instant::now() + wait;
        while !self.ending.load(Ordering::Relaxed) {
            let arrived = self.arrived.notified();
            if tokio::time::timeout_at(until, arrived).await.is_err() {
                return;
            }
        }
    }
}
