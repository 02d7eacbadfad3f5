//! Threads that run the operations of a key, each with a session of its own.
//!
//! A module may hang, and no call of it can be given up. So callers wait for an answer, not for the
//! module. The rule kept here: an operation is tried again only after its session was lost, and
//! then in a new one.

use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::KeyLocation;
use crate::error::Problem;
use crate::module::Module;
use crate::session::{Failure, OpenKey, Operation, Outcome};

/// An operation that somebody waits for.
pub(crate) struct Job {
    pub(crate) operation: Operation,
    pub(crate) deadline: Instant,
    pub(crate) answer: SyncSender<Result<Outcome, Failure>>,
}

/// Takes jobs until nobody can send any more.
pub(crate) fn serve(location: &KeyLocation, module: &Arc<Module>, jobs: &Mutex<Receiver<Job>>) {
    let mut open = None;
    loop {
        let job = {
            let jobs = jobs.lock().unwrap_or_else(PoisonError::into_inner);
            jobs.recv()
        };
        let Ok(job) = job else { return };
        // The caller has gone, and the token has more to do.
        if Instant::now() >= job.deadline {
            continue;
        }
        let outcome = done(location, module, &mut open, &job.operation);
        // A caller that has gone needs no answer.
        let _ = job.answer.send(outcome);
    }
}

/// Runs an operation: in the session that is open, else in a new one, else in a module that was
/// started anew.
fn done(
    location: &KeyLocation,
    module: &Module,
    open: &mut Option<OpenKey>,
    operation: &Operation,
) -> Result<Outcome, Failure> {
    if open.is_some()
        && let Some(outcome) = unless_lost(once(location, module, open, operation))
    {
        return outcome;
    }
    if let Some(outcome) = unless_lost(once(location, module, open, operation)) {
        return outcome;
    }
    module.restart();
    once(location, module, open, operation)
}

fn unless_lost(outcome: Result<Outcome, Failure>) -> Option<Result<Outcome, Failure>> {
    match outcome {
        Err(Failure::Lost(_)) => None,
        outcome => Some(outcome),
    }
}

fn once(
    location: &KeyLocation,
    module: &Module,
    open: &mut Option<OpenKey>,
    operation: &Operation,
) -> Result<Outcome, Failure> {
    let outcome = module.with(|cryptoki| {
        let key = match open {
            Some(key) => key,
            None => open.insert(OpenKey::open(location, module, cryptoki)?),
        };
        let outcome = key.run(operation);
        if matches!(outcome, Err(Failure::Lost(_))) {
            *open = None;
        }
        outcome
    });
    match outcome {
        Ok(outcome) => outcome,
        Err(problem @ Problem::Module { .. }) => Err(Failure::Unusable(problem)),
        Err(problem) => Err(Failure::Lost(problem)),
    }
}
