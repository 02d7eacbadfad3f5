//! The papers' experiments on the user's own services and messages: what a call costs under each
//! mechanism, over how many calls a conversation pays, what clients at once wait, and what a first
//! call takes.
//!
//! The points come from [`OwnCalls`]: operations, ways and counts of the user's file. The rule kept
//! here: an experiment asks a question of a paper, so that answers can be compared with it.

use std::collections::BTreeMap;

use crate::papers::Numbers;
use crate::study::{
    Arm, Estimate, Experiment, Figure, Finding, Operation, Point, Procedure, Quantity, Scope,
    Setup, Shows, Stack, Study, WARM_UP_CALLS,
};

/// The study of the user's own calls.
pub const OWN: &Study = &Study {
    name: "own",
    paper: None,
    experiments: &[CALLS, CONVERSATIONS, CLIENTS, FIRST],
    claims: &[],
    conclusions: &[],
    numbers: &Numbers {
        sources: &[],
        drawn: &[],
    },
    results: &[],
};

/// The first experiment, of which a choice is told.
pub const CALLS_FIGURE: (u8, &str) = (1, "calls");

const CALLS: Experiment = Experiment {
    number: CALLS_FIGURE.0,
    question: "What does a call cost under each mechanism, in time and in bytes?",
    figures: &[
        Figure {
            shown_in: CALLS_FIGURE.1,
            caption: "mean time of a call, by its operation",
            lines: None,
            x: "operation",
            logarithmic: false,
            shows: Shows::Itself(Quantity::Time, Estimate::Mean),
            reported: &[],
        },
        Figure {
            shown_in: "calls-impact",
            caption: "mean time of a call by that of the plain call",
            lines: Some(CALLS_FIGURE.1),
            x: "operation",
            logarithmic: false,
            shows: Shows::Impact {
                of: Quantity::Time,
                by: Estimate::Mean,
                baseline: "none",
            },
            reported: &[],
        },
        Figure {
            shown_in: "calls-bytes",
            caption: "bytes that security adds to request and response together",
            lines: Some(CALLS_FIGURE.1),
            x: "operation",
            logarithmic: false,
            shows: Shows::Added {
                of: Quantity::Secured,
                by: Estimate::Mean,
                baseline: "none",
            },
            reported: &[],
        },
    ],
    points: |scope| {
        each(scope, |index, name| Point {
            shown_in: CALLS_FIGURE.1,
            at: BTreeMap::from([("operation", name)]),
            arms: arms(scope, index, true),
            procedure: Procedure::Turns {
                repetitions: scope.own.calls,
                requests: 1,
            },
        })
        .collect()
    },
};

const CONVERSATIONS: Experiment = Experiment {
    number: 2,
    question: "After how many calls does a mechanism that costs more to begin cost less in all?",
    figures: &[
        Figure {
            shown_in: "conversations",
            caption: "time of all calls of a conversation with its handshake, by their number",
            lines: None,
            x: "messages",
            logarithmic: true,
            shows: Shows::Itself(Quantity::Total, Estimate::Mean),
            reported: &[],
        },
        Figure {
            shown_in: "conversations-crossovers",
            caption: "after how many calls the second of two mechanisms costs less in all, which costs more before",
            lines: None,
            x: "operation",
            logarithmic: true,
            shows: Shows::Drawn {
                from: "conversations",
                finding: Finding::Crossovers {
                    of: Quantity::Total,
                },
            },
            reported: &[],
        },
    ],
    points: |scope| {
        let counts = scope.own.conversations.iter();
        let point = |messages: &u32| {
            each(scope, |index, name| Point {
                shown_in: "conversations",
                at: BTreeMap::from([("messages", messages.to_string()), ("operation", name)]),
                arms: arms(scope, index, false),
                procedure: Procedure::Conversations {
                    repetitions: scope.own.calls.div_ceil(*messages).max(FEWEST),
                    requests: *messages,
                },
            })
            .collect::<Vec<_>>()
        };
        counts.flat_map(point).collect()
    },
};

const CLIENTS: Experiment = Experiment {
    number: 3,
    question: "How long do calls take when clients call at once?",
    figures: &[Figure {
        shown_in: "clients",
        caption: "mean time of a call, by the number of clients that call at once",
        lines: None,
        x: "clients",
        logarithmic: true,
        shows: Shows::Itself(Quantity::Time, Estimate::Mean),
        reported: &[],
    }],
    points: |scope| {
        let counts = scope.own.clients.iter();
        let point = |clients: &u32| {
            each(scope, |index, name| Point {
                shown_in: "clients",
                at: BTreeMap::from([("clients", clients.to_string()), ("operation", name)]),
                arms: arms(scope, index, false),
                procedure: Procedure::Together {
                    clients: *clients,
                    requests: scope.own.calls.div_ceil(*clients * FEWEST).max(1),
                    repetitions: FEWEST,
                },
            })
            .collect::<Vec<_>>()
        };
        counts.flat_map(point).collect()
    },
};

const FIRST: Experiment = Experiment {
    number: 4,
    question: "How long does the first call of a new client take?",
    figures: &[Figure {
        shown_in: "first-calls",
        caption: "mean time of the first call of a new client with a gateway of its own, by its operation",
        lines: None,
        x: "operation",
        logarithmic: false,
        shows: Shows::Itself(Quantity::Newcomer, Estimate::Mean),
        reported: &[],
    }],
    points: |scope| {
        each(scope, |index, name| Point {
            shown_in: "first-calls",
            at: BTreeMap::from([("operation", name)]),
            arms: arms(scope, index, false),
            procedure: Procedure::Newcomers {
                times: scope.own.newcomers,
            },
        })
        .collect()
    },
};

/// Fewest repetitions of what has an interval that tells something.
const FEWEST: u32 = 5;

/// Something for each operation, by its number and its name.
fn each<T>(scope: &Scope, of: impl Fn(usize, String) -> T) -> impl Iterator<Item = T> {
    let operations = scope.own.operations.iter().enumerate();
    operations.map(move |(index, name)| of(index, name.clone()))
}

/// The plain way, those of the file, and if asked for the one past the gateways.
fn arms(scope: &Scope, index: usize, direct: bool) -> Vec<Arm> {
    let setups = direct.then_some(Setup::DIRECT).into_iter();
    let mut setups: Vec<Setup> = setups.chain([Setup::PLAIN]).collect();
    for setup in &scope.own.setups {
        if !setups.contains(setup) {
            setups.push(*setup);
        }
    }
    let arm = |setup: &Setup| Arm::new(Stack::Soapstone, *setup, Operation::Own(index));
    setups.iter().map(arm).collect()
}

/// How many calls of the user's services a run makes at most, of all experiments or of one: to warm
/// up, to weigh, to measure, and one of each operation whose answer others are compared with.
pub fn calls(scope: &Scope, experiment: Option<u8>) -> u64 {
    let chosen = |it: &&Experiment| experiment.is_none_or(|only| only == it.number);
    let experiments = OWN.experiments.iter().filter(chosen);
    let points = experiments.flat_map(|it| (it.points)(scope));
    let each = points.map(|point| {
        let arms = point.arms.len() as u64;
        let measured = match point.procedure {
            Procedure::Turns {
                repetitions,
                requests,
            }
            | Procedure::Conversations {
                repetitions,
                requests,
            } => u64::from(repetitions) * u64::from(requests),
            Procedure::Together {
                clients,
                requests,
                repetitions,
            } => u64::from(clients) * u64::from(requests) * u64::from(repetitions),
            Procedure::Newcomers { times } => u64::from(times),
            _ => 0,
        };
        // Before them, one that is the first and one that is weighed.
        let before = match point.procedure {
            Procedure::Newcomers { .. } => 0,
            _ => 2,
        };
        arms * (measured + before)
    });
    let measured: u64 = each.sum();
    // The plain way and the one past the gateways beside those of the file.
    let setups = scope.own.setups.len() as u64 + 2;
    let warming = match experiment {
        Some(4) => 0,
        _ => setups * u64::from(WARM_UP_CALLS),
    };
    measured + (warming + 1) * scope.own.operations.len() as u64
}
