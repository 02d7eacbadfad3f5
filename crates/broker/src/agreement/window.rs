//! What is counted of calls until a window is full, and what the counts say then.
//!
//! A window holds counts alone, so that its memory does not grow with its calls. The share of calls
//! that were answered in time says whether a quantile is met, without the times themselves: the
//! quantile of 95 % is within 200 ms if 95 % of the calls are.
//!
//! The rule kept here: a call counts in one window.

use std::time::Duration;

use super::terms::{AgreementTerms, Moment, Share, Window};
use super::violation::{Obligation, Violation};

/// What became of a call, as its agreement sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served<'a> {
    /// It was answered after that time.
    Answered(Duration),
    /// It was not answered, or not usably.
    Failed,
    /// The answer was weaker than agreed.
    Weak {
        /// Why.
        why: &'a str,
        /// When it came; `None` where it was refused, and so is none.
        took: Option<Duration>,
    },
    /// The client has gone after that time. What took too long by then was late.
    Left(Duration),
}

/// What was counted of the calls that a backend served.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ServedCounts {
    /// Calls.
    pub calls: u64,
    /// Those of them that were not answered in time.
    pub late: u64,
    /// Those of them that were not answered.
    pub failed: u64,
    /// Those of them whose answer was weaker than agreed.
    pub weak: u64,
    /// Why the last weak answer was one.
    pub weakness: String,
}

/// Calls that a provider served.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServedWindow {
    begun: Option<Moment>,
    pub(crate) calls: u64,
    pub(crate) late: u64,
    pub(crate) failed: u64,
    pub(crate) weak: u64,
    /// Why the last weak answer was one.
    weakness: String,
}

/// Requests that a client sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct AskedWindow {
    begun: Option<Moment>,
    pub(crate) calls: u64,
    /// By obligation: operation, size, rate.
    pub(crate) refused: [u64; 3],
}

/// Whether a window with so many calls that began then is full.
fn is_full(window: Window, begun: Option<Moment>, calls: u64, now: Moment) -> bool {
    match (window, begun) {
        (_, None) => false,
        (Window::Calls(most), Some(_)) => calls >= most,
        (Window::Time { length, .. }, Some(begun)) => is_over(length, begun, now),
    }
}

fn is_over(length: Duration, begun: Moment, now: Moment) -> bool {
    now.at.saturating_duration_since(begun.at) >= length
}

/// The end of a window in records: a span of time ends when it is over, however late it is looked
/// at.
fn end(window: Window, begun: Moment, now: Moment) -> Duration {
    match window {
        Window::Time { length, .. } if is_over(length, begun, now) => begun.unix + length,
        _ => now.unix,
    }
}

impl ServedWindow {
    /// Counts a call. Says whether it counts.
    pub(crate) fn count(&mut self, terms: &AgreementTerms, served: Served<'_>, now: Moment) {
        let most = terms.of_provider.time.map(|time| time.within);
        let too_long = |took: Duration| most.is_some_and(|most| took > most);
        let (late, failed) = match served {
            Served::Answered(took) => (too_long(took), false),
            Served::Failed => (most.is_some(), true),
            Served::Weak { why, took } => {
                self.weak = self.weak.saturating_add(1);
                why.clone_into(&mut self.weakness);
                (took.map_or(most.is_some(), too_long), took.is_none())
            }
            // It says nothing of the provider.
            Served::Left(after) if !too_long(after) => return,
            Served::Left(_) => (true, false),
        };
        self.begun.get_or_insert(now);
        self.calls = self.calls.saturating_add(1);
        self.late = self.late.saturating_add(u64::from(late));
        self.failed = self.failed.saturating_add(u64::from(failed));
    }

    /// Adds what was counted apart.
    pub(crate) fn add(&mut self, counts: &ServedCounts, now: Moment) {
        self.begun.get_or_insert(now);
        for (own, more) in [
            (&mut self.calls, counts.calls),
            (&mut self.late, counts.late),
            (&mut self.failed, counts.failed),
            (&mut self.weak, counts.weak),
        ] {
            *own = own.saturating_add(more);
        }
        if counts.weak > 0 {
            self.weakness.clone_from(&counts.weakness);
        }
    }

    /// What was counted.
    pub(crate) fn counts(self) -> ServedCounts {
        ServedCounts {
            calls: self.calls,
            late: self.late,
            failed: self.failed,
            weak: self.weak,
            weakness: self.weakness,
        }
    }

    pub(crate) fn is_full(&self, window: Window, now: Moment) -> bool {
        is_full(window, self.begun, self.calls, now)
    }

    /// Ends the window and says what of the provider's obligations was not met. `whole` says that
    /// it was full: what ends early shows no share.
    pub(crate) fn close(
        &mut self,
        terms: &AgreementTerms,
        backend: &str,
        whole: bool,
        now: Moment,
    ) -> Vec<Violation> {
        let counted = std::mem::take(self);
        let Some(begun) = counted.begun else {
            return Vec::new();
        };
        let provider = &terms.of_provider;
        let calls = counted.calls;
        let least = match terms.window {
            Window::Calls(_) => 1,
            Window::Time { at_least, .. } => at_least,
        };
        let is_judged = whole && calls >= least;
        let violation = |obligation, violating, promised, measured| Violation {
            agreement: terms.name.clone(),
            service: terms.service.clone(),
            client: terms.client.clone(),
            backend: Some(backend.to_owned()),
            provider: provider.subject.clone(),
            obligation,
            promised,
            measured,
            calls,
            violating,
            window: (begun.unix, end(terms.window, begun, now)),
            penalty: provider.penalty.clone(),
            excluded: None,
        };
        let mut found = Vec::new();
        if let Some(time) = provider.time.filter(|_| is_judged)
            && time.quantile.is_missed(counted.late, calls)
        {
            let (most, share) = (time.within, Share::of(calls - counted.late, calls));
            found.push(violation(
                Obligation::ResponseTime,
                counted.late,
                format!("{} within {most:?}", time.quantile),
                format!("{share} within {most:?}"),
            ));
        }
        if let Some(promised) = provider.availability.filter(|_| is_judged)
            && promised.is_missed(counted.failed, calls)
        {
            let share = Share::of(calls - counted.failed, calls);
            found.push(violation(
                Obligation::Availability,
                counted.failed,
                format!("{promised} answered"),
                format!("{share} answered"),
            ));
        }
        if counted.weak > 0 {
            found.push(violation(
                Obligation::Security,
                counted.weak,
                "every answer secured as agreed".to_owned(),
                counted.weakness.clone(),
            ));
        }
        found
    }
}

/// What a client owes, in the order of the counts.
const OWED: [Obligation; 3] = [Obligation::Operation, Obligation::Size, Obligation::Rate];

/// How long a window of calls of a client is open at least. Its end makes records, and otherwise
/// the client would set their pace.
const SHORTEST: Duration = Duration::from_secs(60);

impl AskedWindow {
    /// Counts a request; `refused` says which obligation was not met.
    pub(crate) fn count(&mut self, refused: Option<Obligation>, now: Moment) {
        self.begun.get_or_insert(now);
        self.calls = self.calls.saturating_add(1);
        let at = refused.and_then(|refused| OWED.iter().position(|one| *one == refused));
        if let Some(count) = at.and_then(|at| self.refused.get_mut(at)) {
            *count = count.saturating_add(1);
        }
    }

    pub(crate) fn is_full(&self, window: Window, now: Moment) -> bool {
        let may_end = match window {
            Window::Calls(_) => self
                .begun
                .is_some_and(|begun| is_over(SHORTEST, begun, now)),
            Window::Time { .. } => true,
        };
        may_end && is_full(window, self.begun, self.calls, now)
    }

    /// Ends the window and says what of the client's obligations was not met. A request that was
    /// refused was one, whether or not the window was full.
    pub(crate) fn close(&mut self, terms: &AgreementTerms, now: Moment) -> Vec<Violation> {
        let counted = std::mem::take(self);
        let Some(begun) = counted.begun else {
            return Vec::new();
        };
        let client = &terms.of_client;
        let promised = |obligation| match obligation {
            Obligation::Operation => client.operations.join(", "),
            Obligation::Size => format!("at most {} bytes", client.bytes.unwrap_or_default()),
            _ => client.rate_text.clone(),
        };
        let counts = OWED.into_iter().zip(counted.refused);
        let violation = |(obligation, violating): (Obligation, u64)| Violation {
            agreement: terms.name.clone(),
            service: terms.service.clone(),
            client: terms.client.clone(),
            backend: None,
            provider: None,
            obligation,
            promised: promised(obligation),
            measured: format!("{violating} of {} requests beyond it", counted.calls),
            calls: counted.calls,
            violating,
            window: (begun.unix, end(terms.window, begun, now)),
            penalty: client.penalty.clone(),
            excluded: None,
        };
        counts
            .filter(|(_, count)| *count > 0)
            .map(violation)
            .collect()
    }
}
