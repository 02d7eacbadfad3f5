//! Stops asking what does not answer.
//!
//! After a failure nobody asks for a while, which grows from failure to failure; then one caller tries, and the others go on being
//! turned away until that one has had an answer. The rule kept here: whoever is turned away does not wait.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The first pause: shorter than any fail-over, long enough that a dead server costs each worker next to nothing.
const SHORTEST_PAUSE: Duration = Duration::from_millis(100);

/// The longest pause, which bounds how much later than the server we are back.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// A breaker in the way to one server, or to one thing that it does.
#[derive(Debug)]
pub(super) struct Breaker {
    state: Mutex<State>,
    /// How long the one who tries may take.
    trial: Duration,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    until: Option<Instant>,
    problem: String,
}

impl Breaker {
    pub(super) fn new(trial: Duration) -> Self {
        Self {
            state: Mutex::default(),
            trial,
        }
    }

    /// Whether to ask now; otherwise why not.
    pub(super) fn enter(&self, now: Instant) -> Result<(), String> {
        let mut state = self.state();
        match state.until {
            None => Ok(()),
            Some(until) if now < until => Err(state.problem.clone()),
            Some(_) => {
                state.until = Some(now + self.trial);
                Ok(())
            }
        }
    }

    /// There was an answer.
    pub(super) fn succeeded(&self) {
        let mut state = self.state();
        if state.until.is_some() {
            *state = State::default();
        }
    }

    /// There was none.
    pub(super) fn failed(&self, problem: &str, now: Instant) {
        let mut state = self.state();
        let pause = SHORTEST_PAUSE * 2_u32.saturating_pow(state.failures.min(8));
        state.failures = state.failures.saturating_add(1);
        state.until = Some(now + pause.min(LONGEST_PAUSE));
        problem.clone_into(&mut state.problem);
    }

    fn state(&self) -> MutexGuard<'_, State> {
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
        breaker.failed("gone", start);
        assert_eq!(breaker.enter(start), Err("gone".to_owned()));
        let later = start + SHORTEST_PAUSE;
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
            breaker.failed("gone", now);
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
        breaker.failed("gone", start);
        let later = start + SHORTEST_PAUSE;
        assert_eq!(breaker.enter(later), Ok(()));
        assert_eq!(breaker.enter(later + TRIAL), Ok(()));
    }
}
