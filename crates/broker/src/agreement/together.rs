//! Calls that several processes judge together: what each has counted of a provider is added up
//! elsewhere, and one of them judges a window that is full.
//!
//! The rule kept here: a call is judged in one window, whoever counted it.

use std::time::{Duration, Instant};

use super::violation::{AgreementEvent, Violation};
use super::window::{ServedCounts, ServedWindow};
use super::{Agreement, Exclusion, Moment, State, Window, note};

impl Agreement {
    /// The same, of which windows of calls that providers served end elsewhere.
    #[must_use]
    pub fn judged_together(self) -> Self {
        Self {
            is_judged_together: true,
            ..self
        }
    }

    /// Whether they do.
    pub fn is_judged_together(&self) -> bool {
        self.is_judged_together
    }

    /// What was counted since this was last asked, of each backend that has had calls. What waits
    /// stays, and so does what was counted by other terms than these.
    pub fn counted(&self, waits: impl Fn(&str) -> bool) -> Vec<(String, ServedCounts)> {
        let mut state = self.state();
        if !self.is_in_use(&state) {
            return Vec::new();
        }
        let providers = state.providers.iter_mut();
        let counted =
            providers
                .filter(|(backend, _)| !waits(backend))
                .map(|(backend, provider)| {
                    let counted = std::mem::take(&mut provider.window);
                    (backend.clone(), counted.counts())
                });
        counted.collect()
    }

    /// What was counted comes back: nobody has added it up. Where other terms are in use meanwhile,
    /// it [ends](Self::finish_counts). Returns what that changed.
    pub fn count_again(
        &self,
        backend: &str,
        counts: &ServedCounts,
        now: Moment,
    ) -> Vec<AgreementEvent> {
        let mut state = self.state();
        if !self.is_in_use(&state) {
            drop(state);
            return self.finish_counts(backend, counts, now);
        }
        if counts.calls > 0
            && let Some(provider) = state.provider(backend)
        {
            provider.window.add(counts, now);
        }
        Vec::new()
    }

    /// What was counted comes back when the windows of these terms have ended: nobody has added it
    /// up. What is a matter of single calls comes out, as at any end.
    pub fn finish_counts(
        &self,
        backend: &str,
        counts: &ServedCounts,
        now: Moment,
    ) -> Vec<AgreementEvent> {
        if counts.calls == 0 {
            return Vec::new();
        }
        let mut window = ServedWindow::default();
        window.add(counts, now);
        let whole = window.is_full(self.terms.window, now);
        let found = window.close(&self.terms, backend, whole, now);
        let mut events = Vec::new();
        note(&mut self.state().violations, found, &mut events);
        events
    }

    /// What of a provider's obligations was not met in a window that is full, and began then by
    /// another clock than this one's: it ends no earlier.
    pub fn judge(
        &self,
        backend: &str,
        counts: &ServedCounts,
        begun: Duration,
        now: Moment,
    ) -> Vec<Violation> {
        let begun = Moment {
            at: now.at,
            unix: begun,
        };
        let ended = match self.terms.window {
            Window::Calls(_) => Moment {
                unix: now.unix.max(begun.unix),
                ..now
            },
            Window::Time { length, .. } => Moment {
                at: now.at.checked_add(length).unwrap_or(now.at),
                unix: begun.unix.saturating_add(length),
            },
        };
        let mut window = ServedWindow::default();
        window.add(counts, begun);
        window.close(&self.terms, backend, true, ended)
    }

    /// Tells of what was judged, and whether the backend gets no calls: since when it is excluded.
    /// That ends no exclusion earlier which there is, and one that is over takes no strikes away.
    /// Terms that exclude nobody any more exclude nobody here.
    pub fn judged(
        &self,
        backend: &str,
        mut found: Vec<Violation>,
        excluded: Option<Instant>,
        now: Moment,
    ) -> Vec<AgreementEvent> {
        let mut state = self.state();
        let mut events = Vec::new();
        let exclusion = state.exclusion.zip(excluded);
        if let Some(provider) = state.provider(backend) {
            events.extend(provider.lapse(&self.terms.name, backend, now));
            if let (Some((Exclusion { time, .. }, since)), Some(last)) =
                (exclusion, found.last_mut())
                && provider.exclude(since.checked_add(time), now)
            {
                last.excluded = Some(time);
            }
        }
        let State { violations, .. } = &mut *state;
        note(violations, found, &mut events);
        events
    }

    /// It is not known what others have found, and this process decides for now. Returns what that
    /// changed. What was found and excludes nobody comes back: with that of others it may yet, and
    /// is to be told when that is known.
    pub fn judged_alone(
        &self,
        backend: &str,
        mut found: Vec<Violation>,
        now: Moment,
    ) -> (Vec<AgreementEvent>, Vec<Violation>) {
        let mut state = self.state();
        let mut events = Vec::new();
        let exclusion = state.exclusion;
        if let Some(provider) = state.provider(backend) {
            events.extend(provider.lapse(&self.terms.name, backend, now));
            provider.strike(exclusion, &mut found, now);
        }
        if found.iter().all(|one| one.excluded.is_none()) {
            return (events, found);
        }
        note(&mut state.violations, found, &mut events);
        (events, Vec::new())
    }

    /// Another process has excluded a backend, for that long from now on, or longer where this one
    /// has. Terms that exclude nobody any more exclude nobody here.
    pub fn excluded_elsewhere(&self, backend: &str, left: Duration, now: Moment) {
        let mut state = self.state();
        if state.exclusion.is_some()
            && let Some(provider) = state.provider(backend)
        {
            provider.exclude(now.at.checked_add(left), now);
        }
    }
}
