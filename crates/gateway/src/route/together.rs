//! Agreements where several gateways count together, in a store that they share: requests by their
//! rates, and calls that providers served by their windows.
//!
//! The rule kept here: a request is let in by the store, or, where the file says so and the store
//! is away, by what this gateway alone has let in. Each of these is counted. What the store did not
//! answer about windows is asked again, the same with its turn, until it is answered: it counts
//! once.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use soapstone::config::{StoreConfig, WhenUnavailable};
use soapstone_broker::{
    Agreement, AgreementEvent, Excess, Exclusion, Moment, Rate, ServedCounts, Violation, Window,
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
    /// Held while the store is asked about windows: what is asked then waits nowhere.
    asking: Mutex<()>,
    /// The agreements that go on when counting has come to its end. Nothing more is asked then.
    after: Mutex<Option<Vec<Arc<Agreement>>>>,
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
    Violations(Struck),
}

/// Violations that count towards an exclusion.
struct Struck {
    count: u32,
    /// Those that are told when it is known whether they exclude the provider. The others were
    /// told.
    found: Vec<Violation>,
    /// When they were found: an exclusion begins then, whenever the store answers.
    at: Instant,
}

impl Struck {
    /// What is left of an exclusion that began with them. `None`: it is over.
    fn left(&self, time: Duration, now: Instant) -> Option<Duration> {
        let left = time.saturating_sub(now.saturating_duration_since(self.at));
        (!left.is_zero()).then_some(left)
    }
}

/// What came of asking.
#[derive(Default)]
struct Round<'a> {
    /// The agreements of the configuration in which it begins.
    in_use: Vec<&'a Arc<Agreement>>,
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
        let mut events = self.ask_all(agreements);
        // It may have come to its end meanwhile, and whoever ended it did not wait.
        events.extend(self.give_back_unless_asking(moment()));
        events
    }

    fn ask_all<'a>(
        &self,
        agreements: impl Iterator<Item = &'a Arc<Agreement>>,
    ) -> Vec<AgreementEvent> {
        let _asking = self.asking();
        if self.has_ended() {
            return Vec::new();
        }
        let mut round = Round {
            in_use: agreements.collect(),
            ..Round::default()
        };
        let waiting = std::mem::take(&mut *self.waiting());
        for question in waiting.into_values() {
            self.ask(question, &mut round);
        }
        for agreement in round.in_use.clone() {
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

    /// Counting together ends, and these agreements go on. It waits for nothing: what the store is
    /// being asked is given back by the thread that asks.
    pub(super) fn end(&self, after: Vec<Arc<Agreement>>, now: Moment) -> Vec<AgreementEvent> {
        *self.after() = Some(after);
        self.give_back_unless_asking(now)
    }

    /// Counting together ends, and these agreements go on until they end. It waits for what the
    /// store is asked.
    pub(super) fn end_and_wait(
        &self,
        after: Vec<Arc<Agreement>>,
        now: Moment,
    ) -> Vec<AgreementEvent> {
        *self.after() = Some(after.clone());
        self.give_back(&self.asking(), &after, now)
    }

    /// After the end, gives back what waits, unless the store is being asked: whoever asks does so
    /// afterwards. Nobody else is ever found asking, since whoever comes before the end leaves at
    /// once: two that leave it to each other would leave what waits to nobody.
    fn give_back_unless_asking(&self, now: Moment) -> Vec<AgreementEvent> {
        let Some(after) = self.after().clone() else {
            return Vec::new();
        };
        match self.counts.asking.try_lock() {
            Ok(asking) => self.give_back(&asking, &after, now),
            Err(TryLockError::Poisoned(asking)) => {
                self.give_back(&asking.into_inner(), &after, now)
            }
            Err(TryLockError::WouldBlock) => Vec::new(),
        }
    }

    /// Calls about which the store was not heard come back to their agreements, and violations are
    /// told.
    fn give_back(
        &self,
        _asking: &MutexGuard<'_, ()>,
        after: &[Arc<Agreement>],
        now: Moment,
    ) -> Vec<AgreementEvent> {
        let waiting = std::mem::take(&mut *self.waiting());
        let mut events = Vec::new();
        for (name, question) in waiting {
            let (agreement, backend) = (&question.agreement, &question.backend);
            match question.about {
                About::Calls(counts) => {
                    let is_next = |one: &&Arc<Agreement>| {
                        name_of(one, backend) == name && one.terms().is_about(backend)
                    };
                    events.extend(match after.iter().find(is_next) {
                        Some(next) => next.count_again(backend, &counts, now),
                        None => agreement.finish_counts(backend, &counts, now),
                    });
                }
                About::Violations(struck) => {
                    events.extend(agreement.judged(backend, struck.found, None, now));
                }
            }
        }
        events
    }

    fn ask(&self, question: Question, round: &mut Round<'_>) {
        let name = name_of(&question.agreement, &question.backend);
        if self.has_ended() {
            self.waiting().insert(name, question);
            return;
        }
        let turn = &question.turn;
        let answered = match &question.about {
            About::Calls(counts) => {
                let end = match question.agreement.terms().window {
                    Window::Calls(most) => WindowEnd::Calls(most),
                    Window::Time { length, .. } => WindowEnd::Time(length),
                };
                let counted = WindowCounts {
                    calls: counts.calls,
                    late: counts.late,
                    failed: counts.failed,
                    weak: counts.weak,
                };
                round.asked += 1;
                let added = self.windows.add(turn, &name, counted, end);
                added.map(|added| self.added(&question, counts, added, round))
            }
            About::Violations(struck) => {
                let begins = self.strike(&question, struck, round);
                begins.map(|begins| self.struck(&question, struck, begins, round))
            }
        };
        if let Err(problem) = answered {
            self.unanswered(name, question, problem, round);
        }
    }

    /// The agreement in use by which the provider in question is excluded, if it is by any: terms
    /// that an operator withdrew exclude nobody. After the end, those are in use that go on.
    fn exclusion(
        &self,
        question: &Question,
        round: &Round<'_>,
    ) -> Option<(Arc<Agreement>, Exclusion)> {
        let backend = &question.backend;
        let provider = provider_of(&question.agreement, backend);
        let is_same = |one: &&Arc<Agreement>| provider_of(one, backend) == provider;
        let in_use = match &*self.after() {
            Some(after) => after.iter().find(is_same).cloned(),
            None => round.in_use.iter().copied().find(is_same).cloned(),
        };
        let in_use = in_use?;
        let exclusion = in_use.terms().of_provider.exclusion?;
        Some((in_use, exclusion))
    }

    /// It is known whether violations exclude a provider.
    fn struck(&self, question: &Question, struck: &Struck, begins: bool, round: &mut Round<'_>) {
        let (backend, now) = (&question.backend, moment());
        let excluding = self.exclusion(question, round).filter(|_| begins);
        let excluding =
            excluding.and_then(|(agreement, it)| Some((agreement, struck.left(it.time, now.at)?)));
        match excluding {
            Some((agreement, left)) if struck.found.is_empty() => {
                let name = &agreement.terms().name;
                tracing::warn!(
                    agreement = name,
                    backend,
                    "the store excludes a backend for violations that were told before"
                );
                agreement.excluded_elsewhere(backend, left, now);
            }
            Some((agreement, _)) => {
                let found = struck.found.clone();
                let events = agreement.judged(backend, found, Some(struck.at), now);
                round.events.extend(events);
            }
            None => {
                let agreement = &question.agreement;
                let events = agreement.judged(backend, struck.found.clone(), None, now);
                round.events.extend(events);
            }
        }
    }

    /// Counts violations towards the exclusion of the agreement in use. Says whether it begins now.
    fn strike(
        &self,
        question: &Question,
        struck: &Struck,
        round: &mut Round<'_>,
    ) -> Result<bool, StoreProblem> {
        let Some((_, Exclusion { after, time })) = self.exclusion(question, round) else {
            return Ok(false);
        };
        // They count, also where an exclusion that they begin would be over.
        let left = struck.left(time, moment().at).unwrap_or_default();
        round.asked += 1;
        let name = name_of(&question.agreement, &question.backend);
        let turn = &question.turn;
        self.windows
            .strike(turn, &name, struck.count, (after, left))
    }

    /// The store has added what was counted.
    fn added(
        &self,
        question: &Question,
        counts: &ServedCounts,
        added: Added,
        round: &mut Round<'_>,
    ) {
        let Question {
            agreement, backend, ..
        } = question;
        let now = moment();
        if let Some(left) = added.excluded
            && let Some((in_use, _)) = self.exclusion(question, round)
        {
            in_use.excluded_elsewhere(backend, left, now);
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
        if found.is_empty() {
            return;
        }
        let mut struck = Struck {
            count: u32::try_from(found.len()).unwrap_or(u32::MAX),
            found,
            at: now.at,
        };
        let mut question = Question {
            agreement: Arc::clone(agreement),
            backend: backend.clone(),
            turn: Turn::new(),
            about: About::Violations(Struck {
                found: Vec::new(),
                ..struck
            }),
        };
        // Whoever ends counting together waits for one question at most.
        let answered = (!self.has_ended()).then(|| self.strike(&question, &struck, round));
        if let Some(Ok(begins)) = answered {
            self.struck(&question, &struck, begins, round);
            return;
        }
        // Another configuration may be in use since the store was asked.
        let Some((deciding, _)) = self.exclusion(&question, round) else {
            let events = agreement.judged(backend, struck.found, None, now);
            round.events.extend(events);
            return;
        };
        let (events, kept) = deciding.judged_alone(backend, struck.found, now);
        round.events.extend(events);
        struck.found = kept;
        question.about = About::Violations(struck);
        let name = name_of(agreement, backend);
        match answered {
            Some(Err(problem)) => self.unanswered(name, question, problem, round),
            _ => drop(self.waiting().insert(name, question)),
        }
    }

    fn unanswered(
        &self,
        name: WindowName,
        question: Question,
        problem: StoreProblem,
        round: &mut Round<'_>,
    ) {
        self.counts
            .windows_unanswered
            .fetch_add(1, Ordering::Relaxed);
        round.problem.get_or_insert(problem);
        self.waiting().insert(name, question);
    }

    /// Tells once that the store does not answer, and once that it does again.
    fn tell(&self, round: &Round<'_>) {
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

    /// Held while the store is asked.
    fn asking(&self) -> MutexGuard<'_, ()> {
        let asking = &self.counts.asking;
        asking.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Which agreements go on after the end, where it has come.
    fn after(&self) -> MutexGuard<'_, Option<Vec<Arc<Agreement>>>> {
        let after = &self.counts.after;
        after.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn has_ended(&self) -> bool {
        self.after().is_some()
    }
}

/// What the window of a backend under an agreement is called in the store. Another agreement of the
/// same name is another one, as it is in each gateway; and other terms have other windows.
fn name_of(agreement: &Agreement, backend: &str) -> WindowName {
    let terms = agreement.terms();
    WindowName {
        provider: provider_of(agreement, backend),
        terms: format!("{:?}\n{:?}", terms.window, terms.of_provider),
    }
}

/// What the backend is called there, whatever the terms.
fn provider_of(agreement: &Agreement, backend: &str) -> String {
    let terms = agreement.terms();
    let parts = [&terms.name, &terms.service, &terms.client, backend];
    parts.map(|part| part.replace('\n', " ")).join("\n")
}

#[cfg(test)]
mod tests;
