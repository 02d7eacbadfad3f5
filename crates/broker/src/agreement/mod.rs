//! Agreements between clients and providers: who is let in, what is measured, and what follows.
//!
//! ```text
//! request ─▶ admit ─▶ Free · Under(agreement) · Refused(excess)
//!                         │
//!              standing of each backend ─▶ choice ─▶ ended(backend, served)
//!                                                       └▶ window full ─▶ Violated · excluded
//! ```
//!
//! The rule kept here: an agreement is for the client that it names, and takes from no other one.
//! A provider that breaks it gets no calls under this agreement; the calls of others go on.

mod reports;
mod status;
mod terms;
#[cfg(test)]
mod tests;
mod together;
mod violation;
mod window;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::bucket::Bucket;
use crate::rate::Rate;

pub use status::{AgreementStatus, ProviderStatus};
pub use terms::{
    AgreementTerms, Class, ClientTerms, Exclusion, Moment, ProviderTerms, ResponseTime, Share,
    Validity, Window,
};
pub use violation::{AgreementEvent, Excess, Obligation, Violation};
use window::{AskedWindow, ServedWindow};
pub use window::{Served, ServedCounts};

/// Most backends that one agreement knows: those of a route, and some that have gone.
const MOST_BACKENDS: usize = 1024;

/// An agreement in use.
#[derive(Debug)]
pub struct Agreement {
    terms: AgreementTerms,
    /// These two are shared with the agreement of the same name in former configurations, the
    /// bucket if its rate is the same.
    bucket: Arc<Bucket>,
    state: Arc<Mutex<State>>,
    /// Windows of calls that providers served end elsewhere.
    is_judged_together: bool,
    /// Which of the terms that the state has seen these are.
    edition: u64,
}

#[derive(Debug, Default)]
struct State {
    /// The terms in use. Calls in hand may be under former ones.
    edition: u64,
    /// How these exclude a provider: terms that were withdrawn exclude nobody.
    exclusion: Option<Exclusion>,
    asked: AskedWindow,
    providers: BTreeMap<String, Provider>,
    admitted: u64,
    refused: u64,
    /// Whether it was in force when that was last looked at.
    in_force: bool,
    /// Violations by the position of their obligation.
    violations: [u64; Obligation::ALL.len()],
}

impl State {
    /// The provider with that backend. `None` where there is no room for another one.
    fn provider(&mut self, backend: &str) -> Option<&mut Provider> {
        if !self.providers.contains_key(backend) && self.providers.len() >= MOST_BACKENDS {
            let is_idle = |provider: &Provider| {
                provider.excluded.is_none() && provider.strikes == 0 && provider.window.calls == 0
            };
            self.providers.retain(|_, provider| !is_idle(provider));
            if self.providers.len() >= MOST_BACKENDS {
                return None;
            }
        }
        Some(self.providers.entry(backend.to_owned()).or_default())
    }
}

/// A backend under an agreement.
#[derive(Debug, Default)]
struct Provider {
    window: ServedWindow,
    /// Violations since it was last excluded.
    strikes: u32,
    excluded: Option<Instant>,
}

impl Provider {
    /// Ends an exclusion whose time is over. Returns that it did.
    fn lapse(&mut self, agreement: &str, backend: &str, now: Moment) -> Option<AgreementEvent> {
        self.excluded.take_if(|until| *until <= now.at)?;
        Some(AgreementEvent::Returned {
            agreement: agreement.to_owned(),
            backend: backend.to_owned(),
        })
    }

    /// Excludes it until then, and strikes before count towards no other exclusion. None ends
    /// earlier for that, and a moment that is over, or beyond all moments, changes nothing. Says
    /// whether it is excluded until then.
    fn exclude(&mut self, until: Option<Instant>, now: Moment) -> bool {
        let until = until.filter(|until| *until > now.at);
        if until.is_some() {
            self.strikes = 0;
            self.excluded = self.excluded.max(until);
        }
        until.is_some()
    }

    /// Counts violations towards an exclusion, and excludes it where they are enough. The last one
    /// tells of that. An exclusion that is over has to [lapse](Self::lapse) before.
    fn strike(&mut self, exclusion: Option<Exclusion>, found: &mut [Violation], now: Moment) {
        let (Some(exclusion), None) = (exclusion, self.excluded) else {
            return;
        };
        let strikes = u32::try_from(found.len()).unwrap_or(u32::MAX);
        self.strikes = self.strikes.saturating_add(strikes);
        if let (true, Some(last)) = (self.strikes >= exclusion.after, found.last_mut()) {
            self.strikes = 0;
            self.excluded = now.at.checked_add(exclusion.time);
            last.excluded = Some(exclusion.time);
        }
    }
}

/// What is known of a request.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// `{namespace}local` and local name of its operation. `None`: it has none, or it is not sure
    /// which.
    pub operation: Option<(&'a str, &'a str)>,
    /// How large it is, in plain.
    pub bytes: u64,
    /// Whether all that is said of its operation fits that, or is the client's proven word. Where
    /// not, a backend may see another operation, which is nothing that the client did.
    pub is_proven: bool,
}

/// Whether a request is let in.
#[derive(Debug)]
pub enum Admission {
    /// The client has no agreement in force.
    Free,
    /// It is let in under this one.
    Under(Arc<Agreement>),
    /// Its agreements do not let it in.
    Refused {
        /// The nearest one.
        agreement: Arc<Agreement>,
        /// Why.
        excess: Excess,
    },
}

/// What an agreement says of a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is the provider's.
    Party,
    /// It is another one.
    Other,
    /// It is the provider's, and gets no calls for a while.
    Excluded,
}

/// Lets a request of a client in, under the first of its agreements that does. What that changed
/// comes with it.
pub fn admit<'a>(
    agreements: impl IntoIterator<Item = &'a Arc<Agreement>>,
    asked: &Asked<'_>,
    now: Moment,
) -> (Admission, Vec<AgreementEvent>) {
    let take = |agreement: &Agreement, rate| {
        let taken = agreement.take(rate, now.at);
        taken.map_err(|wait| Excess::Rate { wait })
    };
    admit_by(agreements, asked, now, take)
}

/// The same, where somebody else has the buckets: `take` takes a token of an agreement with that
/// rate. It is asked last, so that what is refused for another reason costs nothing.
pub fn admit_by<'a>(
    agreements: impl IntoIterator<Item = &'a Arc<Agreement>>,
    asked: &Asked<'_>,
    now: Moment,
    mut take: impl FnMut(&Agreement, Rate) -> Result<(), Excess>,
) -> (Admission, Vec<AgreementEvent>) {
    let mut nearest: Option<(&Arc<Agreement>, Excess)> = None;
    // One of them may let in what the client has sent.
    let mut is_uncertain = false;
    let in_force = agreements
        .into_iter()
        .filter(|agreement| agreement.terms.is_in_force(now.unix));
    for agreement in in_force {
        let checked = agreement.check(asked);
        let rate = agreement.terms.of_client.rate;
        let admitted = checked.and_then(|()| rate.map_or(Ok(()), |rate| take(agreement, rate)));
        let excess = match admitted {
            Ok(()) => {
                let events = agreement.count(false, None, now);
                return (Admission::Under(Arc::clone(agreement)), events);
            }
            Err(excess) => excess,
        };
        is_uncertain |= matches!(excess, Excess::Unproven | Excess::Unknown);
        let is_nearer = match (&nearest, &excess) {
            (None, _) => true,
            (Some((_, Excess::Rate { wait })), Excess::Rate { wait: other }) => other < wait,
            (Some((_, known)), excess) => excess.obligation() > known.obligation(),
        };
        if is_nearer {
            nearest = Some((agreement, excess));
        }
    }
    match nearest {
        None => (Admission::Free, Vec::new()),
        Some((agreement, excess)) => {
            let unmet = excess.obligation().filter(|_| !is_uncertain);
            let events = agreement.count(true, unmet, now);
            let agreement = Arc::clone(agreement);
            (Admission::Refused { agreement, excess }, events)
        }
    }
}

impl Agreement {
    /// A new one.
    pub fn new(terms: AgreementTerms) -> Self {
        let state = State {
            exclusion: terms.of_provider.exclusion,
            ..State::default()
        };
        Self {
            terms,
            bucket: Arc::default(),
            state: Arc::new(Mutex::new(state)),
            is_judged_together: false,
            edition: 0,
        }
    }

    /// The same after another one of its name: tokens that were taken stay taken, and windows,
    /// strikes and exclusions go on. Windows that were measured by other terms end, and what their
    /// client did comes out. One of another client or service begins anew.
    pub fn following(
        former: &Self,
        terms: AgreementTerms,
        now: Moment,
    ) -> (Self, Vec<AgreementEvent>) {
        let known = &former.terms;
        if (&known.client, &known.service) != (&terms.client, &terms.service) {
            return (Self::new(terms), former.withdraw(now));
        }
        let goes_on = known.window == terms.window
            && known.backends == terms.backends
            && known.of_provider == terms.of_provider
            && known.of_client == terms.of_client;
        let events = match goes_on {
            true => Vec::new(),
            false => former.withdraw(now),
        };
        let edition = {
            let mut state = former.state();
            state.exclusion = terms.of_provider.exclusion;
            state.edition
        };
        let bucket = match terms.of_client.rate {
            Some(rate) if known.of_client.rate != Some(rate) => {
                Arc::new(former.bucket.at(rate, now.at))
            }
            _ => Arc::clone(&former.bucket),
        };
        let next = Self {
            terms,
            bucket,
            state: Arc::clone(&former.state),
            is_judged_together: false,
            edition,
        };
        (next, events)
    }

    /// What it says.
    pub fn terms(&self) -> &AgreementTerms {
        &self.terms
    }

    /// Takes a token of its own bucket.
    ///
    /// # Errors
    ///
    /// How long to wait for one.
    pub fn take(&self, rate: Rate, now: Instant) -> Result<(), Duration> {
        self.bucket.take(rate, now)
    }

    /// Takes a token of its own bucket, or what there is of one: a bucket that others share let the
    /// request in.
    pub fn drain(&self, rate: Rate, now: Instant) {
        self.bucket.drain(rate, now);
    }

    /// Whether a request is what was agreed on, but for how many there are.
    fn check(&self, asked: &Asked<'_>) -> Result<(), Excess> {
        let client = &self.terms.of_client;
        let is_named = |name: &String| {
            let operation = asked.operation;
            operation.is_some_and(|(whole, local)| name == whole || name == local)
        };
        if !client.operations.is_empty() {
            let is_agreed = client.operations.iter().any(is_named);
            match (asked.operation, asked.is_proven) {
                (_, true) if is_agreed => {}
                (None, false) => return Err(Excess::Unproven),
                (Some(_), false) if is_agreed => return Err(Excess::Unproven),
                _ => return Err(Excess::Operation),
            }
        }
        if client.bytes.is_some_and(|most| asked.bytes > most) {
            return Err(Excess::Size);
        }
        Ok(())
    }

    /// Counts a request, and the obligation that it does not meet.
    fn count(&self, refused: bool, unmet: Option<Obligation>, now: Moment) -> Vec<AgreementEvent> {
        let mut state = self.state();
        let mut events = Vec::new();
        // One that is over may be full.
        self.close_asked(&mut state, now, &mut events);
        state.asked.count(unmet, now);
        match refused {
            false => state.admitted += 1,
            true => state.refused += 1,
        }
        self.close_asked(&mut state, now, &mut events);
        events
    }

    /// What it says of a backend.
    pub fn standing(&self, backend: &str, now: Instant) -> Standing {
        if !self.terms.is_about(backend) {
            return Standing::Other;
        }
        let state = self.state();
        let excluded = state.providers.get(backend).and_then(|it| it.excluded);
        match excluded {
            Some(until) if now < until => Standing::Excluded,
            _ => Standing::Party,
        }
    }

    /// A call under it has come to its end at a backend. Returns what that changed.
    pub fn ended(&self, backend: &str, served: Served<'_>, now: Moment) -> Vec<AgreementEvent> {
        if !self.terms.is_about(backend) {
            return Vec::new();
        }
        let mut state = self.state();
        let mut events = Vec::new();
        if !self.is_in_use(&state) {
            // Its window has ended, and that of other terms has no place for it.
            let mut part = ServedWindow::default();
            part.count(&self.terms, served, now);
            let found = part.close(&self.terms, backend, false, now);
            note(&mut state.violations, found, &mut events);
            return events;
        }
        self.close_served(&mut state, now, &mut events);
        let Some(provider) = state.provider(backend) else {
            return events;
        };
        provider.window.count(&self.terms, served, now);
        self.close_served(&mut state, now, &mut events);
        events
    }

    /// Closes what is full. To be called now and then: nothing else ends a window in which no more
    /// calls come.
    pub fn tick(&self, now: Moment) -> Vec<AgreementEvent> {
        let mut state = self.state();
        let mut events = Vec::new();
        if !self.is_in_use(&state) {
            return events;
        }
        self.close_asked(&mut state, now, &mut events);
        self.close_served(&mut state, now, &mut events);
        let in_force = self.terms.is_in_force(now.unix);
        if std::mem::replace(&mut state.in_force, in_force) && !in_force {
            let agreement = self.terms.name.clone();
            events.push(AgreementEvent::Expired { agreement });
        }
        for (backend, provider) in &mut state.providers {
            events.extend(provider.lapse(&self.terms.name, backend, now));
        }
        events
    }

    /// Ends every window, full or not. What is a matter of single calls comes out: excess of the
    /// client, and weak answers. A part of a window shows no share.
    pub fn finish(&self, now: Moment) -> Vec<AgreementEvent> {
        self.finish_windows(&mut self.state(), now)
    }

    fn finish_windows(&self, state: &mut State, now: Moment) -> Vec<AgreementEvent> {
        let mut events = Vec::new();
        let asked = state.asked.close(&self.terms, now);
        note(&mut state.violations, asked, &mut events);
        let State {
            providers,
            violations,
            ..
        } = state;
        for (backend, provider) in providers {
            let whole = provider.window.is_full(self.terms.window, now);
            let found = provider.window.close(&self.terms, backend, whole, now);
            note(violations, found, &mut events);
        }
        events
    }

    /// Ends every window as [`finish`](Self::finish) does, and these terms exclude nobody any more.
    /// A call that is in hand under them comes into no window of other terms.
    pub fn withdraw(&self, now: Moment) -> Vec<AgreementEvent> {
        let mut state = self.state();
        let events = self.finish_windows(&mut state, now);
        if self.is_in_use(&state) {
            state.edition += 1;
            state.exclusion = None;
        }
        events
    }

    /// Whether the windows are measured by these terms.
    fn is_in_use(&self, state: &State) -> bool {
        self.edition == state.edition
    }

    fn close_asked(&self, state: &mut State, now: Moment, events: &mut Vec<AgreementEvent>) {
        if self.is_in_use(state) && state.asked.is_full(self.terms.window, now) {
            let found = state.asked.close(&self.terms, now);
            note(&mut state.violations, found, events);
        }
    }

    fn close_served(&self, state: &mut State, now: Moment, events: &mut Vec<AgreementEvent>) {
        if self.is_judged_together || !self.is_in_use(state) {
            return;
        }
        let State {
            providers,
            violations,
            exclusion,
            ..
        } = state;
        for (backend, provider) in providers {
            if !provider.window.is_full(self.terms.window, now) {
                continue;
            }
            let mut found = provider.window.close(&self.terms, backend, true, now);
            events.extend(provider.lapse(&self.terms.name, backend, now));
            provider.strike(*exclusion, &mut found, now);
            note(violations, found, events);
        }
    }

    /// What is known of it now.
    pub fn status(&self, now: Moment) -> AgreementStatus {
        let state = self.state();
        let provider = |(backend, provider): (&String, &Provider)| ProviderStatus {
            backend: backend.clone(),
            calls: provider.window.calls,
            late: provider.window.late,
            failed: provider.window.failed,
            weak: provider.window.weak,
            strikes: provider.strikes,
            excluded: left(provider.excluded, now.at),
        };
        let violations = Obligation::ALL.into_iter().zip(state.violations);
        AgreementStatus {
            name: self.terms.name.clone(),
            in_force: self.terms.is_in_force(now.unix),
            admitted: state.admitted,
            refused: state.refused,
            asked: state.asked.calls,
            excess: state.asked.refused.iter().sum(),
            violations: violations.collect(),
            providers: state.providers.iter().map(provider).collect(),
        }
    }

    /// Each change under the lock is complete in itself.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What is left of an exclusion.
fn left(until: Option<Instant>, now: Instant) -> Option<Duration> {
    let left = until?.saturating_duration_since(now);
    (!left.is_zero()).then_some(left)
}

/// Counts violations and tells of them.
fn note(
    counts: &mut [u64; Obligation::ALL.len()],
    found: Vec<Violation>,
    events: &mut Vec<AgreementEvent>,
) {
    for violation in found {
        let place = Obligation::ALL.iter();
        let mut places = place.zip(counts.iter_mut());
        if let Some((_, count)) = places.find(|(one, _)| **one == violation.obligation) {
            *count += 1;
        }
        events.push(AgreementEvent::Violated(Box::new(violation)));
    }
}
