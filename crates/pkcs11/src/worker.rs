//! Threads that run the operations of a key, each with a session of its own.
//!
//! A module may hang, and no call of it can be given up. So callers wait for an answer, not for the
//! module. The rule kept here: an operation is tried again only after its session was lost, and
//! then in a new one.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use crate::error::Problem;
use crate::location::KeyLocation;
use crate::module::Module;
use crate::session::{Failure, OpenKey, Operation, Outcome};

/// An operation that somebody waits for.
pub(crate) struct Job {
    pub(crate) operation: Operation,
    pub(crate) deadline: Instant,
    pub(crate) answer: SyncSender<Result<Outcome, Failure>>,
}

/// What the workers of a key are doing.
#[derive(Default)]
pub(crate) struct Progress {
    /// Workers in the module.
    pub(crate) inside: AtomicUsize,
    /// Operations that came back from the module.
    pub(crate) answers: AtomicU64,
}

/// Takes jobs until nobody can send any more.
pub(crate) fn serve(
    location: &KeyLocation,
    module: &Arc<Module>,
    jobs: &Mutex<Receiver<Job>>,
    progress: &Progress,
) {
    let mut open = None;
    loop {
        let job = {
            let jobs = jobs.lock().unwrap_or_else(PoisonError::into_inner);
            jobs.recv()
        };
        let Ok(job) = job else { break };
        // The caller has gone, and the token has more to do.
        if Instant::now() >= job.deadline {
            continue;
        }
        progress.inside.fetch_add(1, Ordering::Relaxed);
        let outcome = done(location, module, &mut open, &job.operation);
        progress.answers.fetch_add(1, Ordering::Relaxed);
        progress.inside.fetch_sub(1, Ordering::Relaxed);
        // A caller that has gone needs no answer.
        let _ = job.answer.send(outcome);
    }
    if let Some(open) = open {
        // Within the module, which is not started anew meanwhile.
        let _ = module.with(|_| open.let_go(module));
    }
}

/// Runs an operation: in the session that is open, else in a new one, else in a module that was
/// started anew.
///
/// A module may say of an input that the session is lost. Where a new session says the same, the
/// input is refused, and nothing is started anew: the sessions of others do not depend on what a
/// peer sends.
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
    match once(location, module, open, operation) {
        Err(Failure::LostOver(_)) => return Err(Failure::Refused),
        Err(Failure::Lost(_)) => {}
        outcome => return outcome,
    }
    module.restart();
    match once(location, module, open, operation) {
        Err(Failure::LostOver(_)) => Err(Failure::Refused),
        outcome => outcome,
    }
}

fn unless_lost(outcome: Result<Outcome, Failure>) -> Option<Result<Outcome, Failure>> {
    match outcome {
        Err(Failure::Lost(_) | Failure::LostOver(_)) => None,
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
        if let Some(former) = open.take_if(|key| key.is_of_former_start(module)) {
            former.let_go(module);
        }
        let key = match open {
            Some(key) => key,
            None => open.insert(OpenKey::open(location, module, cryptoki)?),
        };
        let outcome = key.run(operation);
        if let Err(Failure::Lost(_) | Failure::LostOver(_)) = outcome
            && let Some(lost) = open.take()
        {
            lost.let_go(module);
        }
        outcome
    });
    match outcome {
        Ok(outcome) => outcome,
        Err(problem @ Problem::Module { .. }) => Err(Failure::Unusable(problem)),
        Err(problem) => Err(Failure::Lost(problem)),
    }
}
