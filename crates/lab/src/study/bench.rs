//! The bench that answers calls.
//!
//! The rule kept here: a bench checks every answer, and a wrong one is a failure, never a figure.

use std::time::Duration;

use super::call::{Call, Step};
use super::condition::{Condition, Round};
use super::providers::{ProvidersRound, Trial};

/// Bytes of request and response together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sizes {
    /// As the client sends and gets them.
    pub plain: usize,
    /// As they travel secured; the same as plain, where nothing is.
    pub secured: usize,
    /// Request and response as they travel, each; nothing, where a stack tells their sum only.
    pub apart: Option<[usize; 2]>,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoCall<F> {
    /// The stack cannot do it: its arm is left out, and why is told.
    LeftOut(String),
    /// The run cannot go on.
    Failed(F),
}

impl<F> From<F> for NoCall<F> {
    fn from(failure: F) -> Self {
        Self::Failed(failure)
    }
}

/// Answers calls. Whoever runs studies puts it up, with all that [`needs`](super::needs) names.
pub trait Bench {
    /// Why a run cannot go on: a call failed, or its answer was wrong.
    type Failure;

    /// Whether to go on; asked before each point.
    ///
    /// # Errors
    /// Somebody wants the run to stop.
    fn go_on(&mut self) -> Result<(), Self::Failure> {
        Ok(())
    }

    /// Makes a call and checks the answer: the time from sending the request until the whole answer
    /// was there.
    ///
    /// # Errors
    /// The stack cannot do it, the call failed, or its answer was wrong.
    fn call(&mut self, call: &Call) -> Result<Duration, NoCall<Self::Failure>>;

    /// Ends the conversation that the call is made in, so that the next one begins another; where
    /// it is made in none, there is nothing to end.
    ///
    /// # Errors
    /// The stack cannot do it.
    fn end_conversation(&mut self, _call: &Call) -> Result<(), NoCall<Self::Failure>> {
        Ok(())
    }

    /// Makes a call that nobody measures, to weigh its messages.
    ///
    /// # Errors
    /// The stack cannot do it, the call failed, or its answer was wrong.
    fn weigh(&mut self, call: &Call) -> Result<Sizes, NoCall<Self::Failure>>;

    /// So many clients at once, each `requests` calls one after another: the time of each call.
    ///
    /// # Errors
    /// The stack cannot do it, a call failed, or its answer was wrong.
    fn together(
        &mut self,
        call: &Call,
        clients: u32,
        requests: u32,
    ) -> Result<Vec<Duration>, NoCall<Self::Failure>>;

    /// Calls that begin at a steady rate for a while, whether or not earlier ones have ended: the
    /// time of each from when it was to begin.
    ///
    /// # Errors
    /// The stack cannot do it, a call failed, or its answer was wrong.
    fn paced(
        &mut self,
        call: &Call,
        per_second: f64,
        lasting: Duration,
    ) -> Result<Vec<Duration>, NoCall<Self::Failure>>;

    /// Deploys everything that the call needs anew, and then makes so many calls with a new client:
    /// the time of each.
    ///
    /// # Errors
    /// The stack cannot do it, it cannot be deployed, a call failed, or its answer was wrong.
    fn fresh(&mut self, call: &Call, calls: u32) -> Result<Vec<Duration>, NoCall<Self::Failure>>;

    /// A new client, on what runs already: the time of its first call.
    ///
    /// # Errors
    /// The stack cannot do it, the call failed, or its answer was wrong.
    fn newcomer(&mut self, _call: &Call) -> Result<Duration, NoCall<Self::Failure>> {
        Err(NoCall::LeftOut(
            "this stack has no clients that come later".to_owned(),
        ))
    }

    /// Makes a call whose client secures its request and opens the answer itself: the time from
    /// sending the request until the whole answer was there, and until it was opened.
    ///
    /// # Errors
    /// The stack cannot do it, the call failed, or its answer was wrong.
    fn by_the_client(&mut self, _call: &Call) -> Result<[Duration; 2], NoCall<Self::Failure>> {
        Err(NoCall::LeftOut(
            "its clients do not tell how long they open an answer".to_owned(),
        ))
    }

    /// Deploys the service's side in processes of its own, under a condition, and makes so many
    /// rounds of calls: in each, clients at once with `requests` calls one after another.
    ///
    /// # Errors
    /// The stack or the system cannot do it, a call failed, or its answer was wrong.
    fn under(
        &mut self,
        _call: &Call,
        condition: &Condition,
        _clients: u32,
        _requests: u32,
        _rounds: u32,
    ) -> Result<Vec<Round>, NoCall<Self::Failure>> {
        Err(NoCall::LeftOut(format!(
            "this stack cannot be put under a condition ({condition})"
        )))
    }

    /// A round of calls of clients at once to what is in front of providers, while something
    /// happens to these: `requests` calls of each, one after another.
    ///
    /// # Errors
    /// The front is not there, the system cannot make the trial, or nothing can be started.
    fn providers(
        &mut self,
        _call: &Call,
        _front: &str,
        trial: Trial,
        _clients: u32,
        _requests: u32,
    ) -> Result<ProvidersRound, NoCall<Self::Failure>> {
        Err(NoCall::LeftOut(format!(
            "this stack has no providers to choose among ({trial})"
        )))
    }

    /// Secures or opens the answer to the call in memory, bytes to bytes, so many times: the time
    /// of each.
    ///
    /// # Errors
    /// The stack cannot do it, or what came of it was wrong.
    fn process(
        &mut self,
        _call: &Call,
        _step: Step,
        _repetitions: u32,
    ) -> Result<Vec<Duration>, NoCall<Self::Failure>> {
        Err(NoCall::LeftOut(
            "this stack processes no messages in memory".to_owned(),
        ))
    }
}
