//! What points take, very roughly: time left, and parts of a budget, are made of it.
//!
//! The rule kept here: it decides how often something is measured, and never what a figure says.

use super::call::{Operation, Source, Stack};
use super::point::Procedure;
use super::select::Task;

/// What a point takes, in seconds, very roughly: only parts of the whole are made of it.
pub(super) fn weight(task: &Task) -> f64 {
    /// Of a small secured call.
    const CALL: f64 = 1.5e-3;
    /// Of a record in an answer.
    const RECORD: f64 = 3e-6;
    /// Of a new deployment.
    const DEPLOYMENT: f64 = 0.2;
    /// What a condition adds to a call.
    const UNDER: f64 = 0.03;
    /// Of whatever studies do in memory.
    const OWN: f64 = 3.0;
    let calls: f64 = match task.point.procedure {
        Procedure::Turns {
            repetitions,
            requests,
        }
        | Procedure::Conversations {
            repetitions,
            requests,
        } => f64::from(repetitions) * f64::from(requests) + 2.0,
        Procedure::Together {
            clients,
            requests,
            repetitions,
        } => f64::from(clients) * f64::from(requests) * f64::from(repetitions) + 2.0,
        Procedure::Paced { .. } => 2.0,
        Procedure::Fresh { times, calls } => f64::from(times) * f64::from(calls),
        Procedure::Newcomers { times } => f64::from(times),
        Procedure::ByTheClient { repetitions } => f64::from(repetitions),
        Procedure::Under {
            clients,
            requests,
            repetitions,
            ..
        } => f64::from(clients) * f64::from(requests) * f64::from(repetitions),
        Procedure::Providers {
            clients,
            requests,
            repetitions,
            ..
        } => f64::from(clients) * f64::from(requests) * f64::from(repetitions),
        Procedure::InMemory { repetitions, .. } => f64::from(repetitions),
        Procedure::Own(_) => return OWN,
    };
    let arms = task.point.arms.iter();
    arms.map(|arm| {
        let call = CALL + RECORD * records(arm.call.operation);
        let slower = match arm.call.stack {
            Stack::Soapstone | Stack::Tls => 1.0,
            _ => 8.0,
        };
        let beside = match task.point.procedure {
            Procedure::Paced { lasting, .. } => lasting.as_secs_f64(),
            Procedure::Fresh { times, .. } | Procedure::Newcomers { times } => {
                DEPLOYMENT * f64::from(times)
            }
            Procedure::Under {
                requests,
                repetitions,
                ..
            } => UNDER * f64::from(requests) * f64::from(repetitions) + 4.0 * DEPLOYMENT,
            _ => 0.0,
        };
        slower * (calls * call + beside)
    })
    .sum()
}

/// What a call costs beyond a small one, roughly: the number of records or kilobytes of its
/// messages, for time left.
fn records(operation: Operation) -> f64 {
    match operation {
        Operation::Books { source, books } => match source {
            Source::Memory => f64::from(books),
            Source::Database(_) => 2.0 * f64::from(books),
        },
        Operation::Echo { characters } => f64::from(characters) / 1_000.0,
        Operation::Strings { elements } => f64::from(elements) / 4.0,
        Operation::Sum | Operation::OneEmployee => 0.0,
        // Milliseconds that the service waits, as records.
        Operation::Temperature(sensor) => 330.0 * f64::from(sensor.delay),
        Operation::Employees | Operation::Resource => 25.0,
        // How long a service of the user's takes is not known: as long as a large record of ours.
        Operation::Own(_) => 1_000.0,
    }
}
