//! Agreements where several gateways count together, in a store that they share: requests by their
//! rates, and calls that providers served by their windows.
//!
//! The rule kept here: a request is let in by the store, or, where the file says so and the store
//! is away, by what this gateway alone has let in. Each of these is counted. What the store did not
//! answer about windows is asked again, the same with its turn, until it is answered: it counts
//! once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use soapstone::config::{StoreConfig, WhenUnavailable};
use soapstone_broker::{
    Agreement, AgreementEvent, Excess, Exclusion, Moment, Rate, ServedCounts, Window,
};
use soapstone_store::{
    Added, RedisBuckets, RedisWindows, StoreError, StoreProblem, Stores, Turn, WindowCounts,
    WindowEnd, WindowName,
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
    windows_unanswered: AtomicU64,
    /// Whether the store did not answer about windows when it was last asked.
    are_windows_away: AtomicBool,
    /// What is to be asked again about windows.
    waiting: Mutex<BTreeMap<WindowName, Question>>,
}

/// What the store has not answered for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct UnansweredCounts {
    /// Requests.
    pub(crate) requests: u64,
    /// Those of them that were let in nevertheless.
    pub(crate) decided_alone: u64,
    /// Questions about windows.
    pub(crate) windows: u64,
}

/// What the store is asked about a window, until it is answered.
struct Question {
    /// By whose terms calls were counted, which may be those of a former configuration.
    agreement: Arc<Agreement>,
    backend: String,
    turn: Turn,
    about: About,
}

enum About {
    Calls(ServedCounts),
    Violations(u32, Exclusion),
}

/// What came of asking.
#[derive(Default)]
struct Round {
    events: Vec<AgreementEvent>,
    asked: u64,
    problem: Option<StoreProblem>,
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

    /// The same after those of a former configuration: what was counted stays, and so does what is
    /// to be asked again.
    pub(super) fn following(self, former: &Self) -> Self {
        let windows = Arc::unwrap_or_clone(self.windows);
        Self {
            windows: Arc::new(windows.following(&former.windows)),
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
    /// the store does not answer is asked again the next time, and new counts wait behind it.
    pub(super) fn look<'a>(
        &self,
        agreements: impl Iterator<Item = &'a Arc<Agreement>>,
    ) -> Vec<AgreementEvent> {
        let mut round = Round::default();
        let waiting = std::mem::take(&mut *self.waiting());
        for question in waiting.into_values() {
            self.ask(question, &mut round);
        }
        for agreement in agreements {
            let waits = |backend: &str| self.waiting().contains_key(&name_of(agreement, backend));
            for (backend, counts) in agreement.counted(waits) {
                let question = Question {
                    agreement: Arc::clone(agreement),
                    backend,
                    turn: Turn::new(),
                    about: About::Calls(counts),
                };
                self.ask(question, &mut round);
            }
        }
        self.tell(&round);
        round.events
    }

    /// Calls about which the store was not heard come back to their agreements, which end.
    pub(super) fn give_back(&self, now: Moment) {
        let waiting = std::mem::take(&mut *self.waiting());
        for question in waiting.into_values() {
            if let About::Calls(counts) = &question.about {
                let Question {
                    agreement, backend, ..
                } = &question;
                agreement.count_again(backend, counts, now);
            }
        }
    }

    fn ask(&self, question: Question, round: &mut Round) {
        let name = name_of(&question.agreement, &question.backend);
        round.asked += 1;
        let (agreement, turn) = (&question.agreement, &question.turn);
        let answered = match &question.about {
            About::Calls(counts) => {
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
                let added = self.windows.add(turn, &name, counted, end);
                added.map(|added| self.added(&question, counts, added, round))
            }
            About::Violations(violations, exclusion) => {
                let Exclusion { after, time } = *exclusion;
                let struck = self.windows.strike(turn, &name, *violations, (after, time));
                struck.map(|begins| {
                    if begins {
                        agreement.excluded_elsewhere(&question.backend, time, moment());
                    }
                })
            }
        };
        if let Err(problem) = answered {
            self.unanswered(name, question, problem, round);
        }
    }

    /// The store has added what was counted.
    fn added(&self, question: &Question, counts: &ServedCounts, added: Added, round: &mut Round) {
        let Question {
            agreement, backend, ..
        } = question;
        let now = moment();
        if let Some(left) = added.excluded {
            agreement.excluded_elsewhere(backend, left, now);
        }
        let Some((begun, full)) = added.full else {
            return;
        };
        let full = ServedCounts {
            calls: full.calls,
            late: full.late,
            failed: full.failed,
            weak: full.weak,
            weakness: match counts.weak {
                0 => "told by another gateway".to_owned(),
                _ => counts.weakness.clone(),
            },
        };
        let found = agreement.judge(backend, &full, begun, now);
        let exclusion = agreement.terms().of_provider.exclusion;
        let excluded = match (exclusion, u32::try_from(found.len()).unwrap_or(u32::MAX)) {
            (None, _) | (_, 0) => Some(false),
            (Some(exclusion), violations) => {
                let name = name_of(agreement, backend);
                let turn = Turn::new();
                let Exclusion { after, time } = exclusion;
                let struck = self.windows.strike(&turn, &name, violations, (after, time));
                round.asked += 1;
                struck
                    .map_err(|problem| {
                        let question = Question {
                            agreement: Arc::clone(agreement),
                            backend: backend.clone(),
                            turn,
                            about: About::Violations(violations, exclusion),
                        };
                        self.unanswered(name, question, problem, round);
                    })
                    .ok()
            }
        };
        round
            .events
            .extend(agreement.judged(backend, found, excluded, now));
    }

    fn unanswered(
        &self,
        name: WindowName,
        question: Question,
        problem: StoreProblem,
        round: &mut Round,
    ) {
        self.counts
            .windows_unanswered
            .fetch_add(1, Ordering::Relaxed);
        round.problem.get_or_insert(problem);
        self.waiting().insert(name, question);
    }

    /// Tells once that the store does not answer, and once that it does again.
    fn tell(&self, round: &Round) {
        let is_away = &self.counts.are_windows_away;
        match &round.problem {
            Some(problem) if !is_away.swap(true, Ordering::Relaxed) => {
                let hint = problem.hint().unwrap_or_default();
                tracing::warn!(
                    %problem,
                    hint,
                    "the store does not add up the calls of agreements: no provider is judged"
                );
            }
            None if round.asked > 0 && is_away.swap(false, Ordering::Relaxed) => {
                tracing::info!("the store adds up the calls of agreements again");
            }
            _ => {}
        }
    }

    /// What the store has not answered for.
    pub(crate) fn counts(&self) -> UnansweredCounts {
        let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
        UnansweredCounts {
            requests: count(&self.counts.unanswered),
            decided_alone: count(&self.counts.decided_alone),
            windows: count(&self.counts.windows_unanswered),
        }
    }

    /// Each change under the lock is complete in itself.
    fn waiting(&self) -> MutexGuard<'_, BTreeMap<WindowName, Question>> {
        let waiting = &self.counts.waiting;
        waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the window of a backend under an agreement is called in the store. Another agreement of the
/// same name is another one, as it is in each gateway; and other terms have other windows.
fn name_of(agreement: &Agreement, backend: &str) -> WindowName {
    let terms = agreement.terms();
    let parts = [&terms.name, &terms.service, &terms.client, backend];
    WindowName {
        provider: parts.map(|part| part.replace('\n', " ")).join("\n"),
        terms: format!("{:?}\n{:?}", terms.window, terms.of_provider),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use soapstone_broker::{AgreementTerms, Class, ClientTerms, ProviderTerms, Share, Validity};

    use super::*;

    #[test]
    fn other_terms_of_a_provider_have_other_windows_and_the_same_exclusions() {
        let terms = AgreementTerms {
            name: "gold".to_owned(),
            service: "/books".to_owned(),
            client: "CN=client".to_owned(),
            backends: Vec::new(),
            class: Class::Gold,
            validity: Validity {
                from: Duration::ZERO,
                until: Duration::MAX,
            },
            of_client: ClientTerms::default(),
            of_provider: ProviderTerms::default(),
            window: Window::Calls(10),
        };
        let name = |terms: &AgreementTerms| name_of(&Agreement::new(terms.clone()), "one");
        let known = name(&terms);
        let mut of_client = terms.clone();
        of_client.of_client.bytes = Some(1);
        assert_eq!(name(&of_client), known);
        let mut longer = terms.clone();
        longer.window = Window::Calls(11);
        let mut stricter = terms.clone();
        stricter.of_provider.availability = Share::parse("99%");
        for changed in [longer, stricter] {
            let changed = name(&changed);
            assert_eq!(changed.provider, known.provider);
            assert_ne!(changed.terms, known.terms);
        }
    }
}
