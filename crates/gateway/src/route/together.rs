//! Agreements where several gateways count together, in a store that they share: requests by their
//! rates, and calls that providers served by their windows.
//!
//! The rule kept here: a request is let in by the store, or, where the file says so and the store
//! is away, by what this gateway alone has let in. Each of these is counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use soapstone::config::{StoreConfig, WhenUnavailable};
use soapstone_broker::{Agreement, AgreementEvent, Excess, Exclusion, Rate, ServedCounts, Window};
use soapstone_store::{
    RedisBuckets, RedisWindows, StoreError, StoreProblem, Stores, WindowCounts, WindowEnd,
};

use crate::observe::violations::moment;

/// Where requests under agreements are counted.
#[derive(Clone)]
pub(crate) struct Together {
    buckets: Arc<RedisBuckets>,
    windows: Arc<RedisWindows>,
    when_unavailable: WhenUnavailable,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    unanswered: AtomicU64,
    decided_alone: AtomicU64,
}

impl Together {
    /// Those of a store.
    ///
    /// # Errors
    ///
    /// When the keys and certificates for TLS cannot be used.
    pub(super) fn open(
        stores: &Stores,
        store: &StoreConfig,
        when_unavailable: WhenUnavailable,
    ) -> Result<Self, StoreError> {
        Ok(Self {
            buckets: Arc::new(stores.buckets(store)?),
            windows: Arc::new(stores.windows(store)?),
            when_unavailable,
            counts: Arc::default(),
        })
    }

    /// The same after those of a former configuration: what was counted stays.
    pub(super) fn following(self, former: &Self) -> Self {
        Self {
            counts: Arc::clone(&former.counts),
            ..self
        }
    }

    /// Takes a token of an agreement.
    pub(super) fn take(
        &self,
        agreement: &Agreement,
        rate: Rate,
        now: Instant,
    ) -> Result<(), Excess> {
        let terms = agreement.terms();
        // Another agreement of the same name is another one, here as in each gateway.
        let name = [&terms.name, &terms.service, &terms.client].map(|it| it.replace('\n', " "));
        let taken = self
            .buckets
            .take(&name.join("\n"), rate.each(), rate.depth());
        match taken {
            Ok(None) => {
                // So that what this gateway decides alone begins with what it has let in.
                agreement.drain(rate, now);
                Ok(())
            }
            Ok(Some(wait)) => Err(Excess::Rate { wait }),
            Err(problem) => {
                self.counts.unanswered.fetch_add(1, Ordering::Relaxed);
                tracing::debug!(agreement = terms.name, %problem, "the store of rates does not answer");
                let is_away = matches!(problem, StoreProblem::Away { .. });
                match is_away && self.when_unavailable == WhenUnavailable::Accept {
                    false => Err(Excess::Unknown),
                    true => {
                        let taken = agreement.take(rate, now);
                        taken.map_err(|wait| Excess::Rate { wait })?;
                        self.counts.decided_alone.fetch_add(1, Ordering::Relaxed);
                        Ok(())
                    }
                }
            }
        }
    }

    /// Adds up what was counted of the calls that providers served, and judges what is full. What
    /// the store does not take stays here until it does.
    pub(super) fn look(&self, agreement: &Agreement) -> Vec<AgreementEvent> {
        let mut events = Vec::new();
        for (backend, counts) in agreement.counted() {
            let name = name_of(agreement, &backend);
            let end = match agreement.terms().window {
                Window::Calls(most) => WindowEnd::Calls(most),
                Window::Time { length, .. } => WindowEnd::Time(length),
            };
            let counted = WindowCounts {
                calls: counts.calls,
                late: counts.late,
                failed: counts.failed,
                weak: counts.weak,
            };
            let added = self.windows.add(&name, counted, end);
            let now = moment();
            let Ok(added) = added else {
                agreement.count_again(&backend, &counts, now);
                continue;
            };
            if let Some(left) = added.excluded {
                agreement.excluded_elsewhere(&backend, left, now);
            }
            let Some((begun, full)) = added.full else {
                continue;
            };
            let full = ServedCounts {
                calls: full.calls,
                late: full.late,
                failed: full.failed,
                weak: full.weak,
                weakness: match counts.weak {
                    0 => "told by another gateway".to_owned(),
                    _ => counts.weakness,
                },
            };
            let found = agreement.judge(&backend, &full, begun, now);
            let exclusion = agreement.terms().of_provider.exclusion;
            let excluded = match (exclusion, u32::try_from(found.len()).unwrap_or(u32::MAX)) {
                (None, _) | (_, 0) => Some(false),
                (Some(exclusion), violations) => {
                    let Exclusion { after, time } = exclusion;
                    self.windows.strike(&name, violations, after, time).ok()
                }
            };
            events.extend(agreement.judged(&backend, found, excluded, now));
        }
        events
    }

    /// How many requests the store has not answered for, and how many of them were let in
    /// nevertheless.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let Counts {
            unanswered,
            decided_alone,
        } = &*self.counts;
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        (count(unanswered), count(decided_alone))
    }
}

/// What an agreement is called in the store, or a backend under it. Another one of the same name is
/// another one, as it is in each gateway.
fn name_of(agreement: &Agreement, backend: &str) -> String {
    let terms = agreement.terms();
    let parts = [&terms.name, &terms.service, &terms.client, backend];
    parts.map(|part| part.replace('\n', " ")).join("\n")
}
