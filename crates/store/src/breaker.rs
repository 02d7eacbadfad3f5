//! Stops asking what does not answer.
//!
//! After a failure nobody asks for a while, which grows from failure to failure; then one caller
//! tries, and the others go on being turned away until that one has had an answer. The rule kept
//! here: whoever is turned away does not wait.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The first pause: shorter than any fail-over, long enough that a dead server costs each worker
/// next to nothing.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause, which bounds how much later than the server we are back.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A breaker in the way to one server, or to one thing that it does. `P` says why nobody asks.
#[derive(Debug)]
pub struct Breaker<P = String> {
    state: Mutex<State<P>>,
    /// How long the one who tries may take.
    trial: Duration,
}

#[derive(Debug)]
struct State<P> {
    failures: u32,
    /// Until when nobody asks, and why.
    pause: Option<(Instant, P)>,
}

impl<P> Default for State<P> {
    fn default() -> Self {
        Self {
            failures: 0,
            pause: None,
        }
    }
}

impl<P: Clone> Breaker<P> {
    /// A breaker that turns nobody away yet. While one caller tries, the others are turned away for
    /// `trial` at most.
    pub fn new(trial: Duration) -> Self {
        Self {
            state: Mutex::default(),
            trial,
        }
    }

    /// Whether to ask now.
    ///
    /// # Errors
    ///
    /// Why not: what the last failure was.
    pub fn enter(&self, now: Instant) -> Result<(), P> {
        match &mut self.state().pause {
            Some((until, problem)) if now < *until => Err(problem.clone()),
            Some((until, _)) => {
                *until = now + self.trial;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// Why nobody asks now; nobody is let through by that.
    pub fn pausing(&self, now: Instant) -> Option<P> {
        let state = self.state();
        let pause = state.pause.as_ref().filter(|(until, _)| now < *until);
        pause.map(|(_, problem)| problem.clone())
    }

    /// There was an answer.
    pub fn succeeded(&self) {
        let mut state = self.state();
        if state.pause.is_some() {
            *state = State::default();
        }
    }

    /// There was none.
    pub fn failed(&self, problem: P, now: Instant) {
        let mut state = self.state();
        let pause = SHORTEST_PAUSE * 2_u32.saturating_pow(state.failures.min(8));
        state.failures = state.failures.saturating_add(1);
        state.pause = Some((now + pause.min(LONGEST_PAUSE), problem));
    }

    fn state(&self) -> MutexGuard<'_, State<P>> {
        // Each change is complete in itself, whoever panics beside it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRIAL: Duration = Duration::from_millis(50);

    #[test]
    fn after_a_failure_one_caller_tries_and_the_others_are_turned_away() {
        let breaker = Breaker::new(TRIAL);
        let start = Instant::now();
        assert_eq!(breaker.enter(start), Ok(()));
        breaker.failed("gone".to_owned(), start);
        assert_eq!(breaker.enter(start), Err("gone".to_owned()));
        assert_eq!(breaker.pausing(start), Some("gone".to_owned()));
        let later = start + SHORTEST_PAUSE;
        assert_eq!(breaker.pausing(later), None);
        assert_eq!(breaker.enter(later), Ok(()));
        assert_eq!(breaker.enter(later), Err("gone".to_owned()));
        breaker.succeeded();
        assert_eq!(breaker.enter(later), Ok(()));
        assert_eq!(breaker.enter(later), Ok(()));
    }

    #[test]
    fn pauses_grow_up_to_a_second() {
        let breaker = Breaker::new(TRIAL);
        let mut now = Instant::now();
        for expected in [100, 200, 400, 800, 1000, 1000] {
            breaker.failed("gone".to_owned(), now);
            now += Duration::from_millis(expected) - Duration::from_millis(1);
            assert_eq!(breaker.enter(now), Err("gone".to_owned()), "{expected}");
            now += Duration::from_millis(1);
            assert_eq!(breaker.enter(now), Ok(()), "{expected}");
        }
    }

    #[test]
    fn one_who_tries_and_is_never_heard_of_again_is_followed_by_another() {
        let breaker = Breaker::new(TRIAL);
        let start = Instant::now();
        breaker.failed("gone".to_owned(), start);
        let later = start + SHORTEST_PAUSE;
        assert_eq!(breaker.enter(later), Ok(()));
        assert_eq!(breaker.enter(later + TRIAL), Ok(()));
    }
}
