//! Points: what is measured together, and how.
//!
//! The rule kept here: what is compared at a point is measured in turns, so that the moods of the
//! machine fall on all arms alike.

use std::collections::BTreeMap;
use std::time::Duration;

use super::call::{Call, Operation, Stack, Step};
use super::condition::Condition;
use super::design::Design;
use super::line::Line;
use super::providers::Trial;
use super::setup::Setup;

/// What of a study is to run, and on what.
#[derive(Clone, Debug)]
pub struct Scope {
    /// A glance, or the counts of the paper.
    pub scale: Scale,
    /// The stacks that are there.
    pub stacks: Vec<Stack>,
    /// Names of the databases that there are: `sqlite`, `mysql`, `postgres`.
    pub databases: Vec<String>,
    /// What the user's own services are asked; no study of a paper asks them.
    pub own: OwnCalls,
    /// The user's own design of factors.
    pub design: Design,
}

/// Calls of the user's own services, and the ways that they take.
#[derive(Clone, Debug, Default)]
pub struct OwnCalls {
    /// The name of each; [`Operation::Own`] counts them.
    pub operations: Vec<String>,
    /// The ways through the gateways, beside the one without security and the one past them.
    pub setups: Vec<Setup>,
    /// Calls of each operation that are measured on each way.
    pub calls: u32,
    /// How many clients call at once, from the fewest on.
    pub clients: Vec<u32>,
    /// How many calls a conversation has, from the fewest on.
    pub conversations: Vec<u32>,
    /// How many new clients make a first call on each way.
    pub newcomers: u32,
}

impl Scope {
    /// Arms for these ways on each stack that takes them over a network: other stacks than ours
    /// have no gateways, and so no way past them, and the services behind TLS alone have two
    /// ways only, with TLS and without.
    pub fn arms(&self, setups: &[Setup], operation: Operation) -> Vec<Arm> {
        let mut arms = Vec::new();
        for &stack in &self.stacks {
            match stack {
                Stack::Soapstone => {
                    arms.extend(
                        setups
                            .iter()
                            .map(|setup| Arm::new(stack, *setup, operation)),
                    );
                }
                Stack::Cxf | Stack::Cxf35 | Stack::Gsoap | Stack::Metro | Stack::Wcf => {
                    let setups = setups.iter().filter(|setup| !setup.direct);
                    arms.extend(setups.map(|setup| Arm::new(stack, *setup, operation)));
                }
                Stack::Tls => {
                    let setups = [Setup::PLAIN, Setup::PLAIN.over_tls()];
                    arms.extend(setups.map(|setup| Arm::new(stack, setup, operation)));
                }
                Stack::Wss4j | Stack::Xmlsec1 => {}
            }
        }
        arms
    }

    /// Arms for these ways on each stack that processes messages in memory.
    pub fn arms_in_memory(&self, setups: &[Setup], operation: Operation) -> Vec<Arm> {
        let in_memory = [Stack::Soapstone, Stack::Wss4j, Stack::Xmlsec1];
        let stacks = self.stacks.iter().filter(|stack| in_memory.contains(stack));
        stacks
            .flat_map(|stack| {
                setups
                    .iter()
                    .map(|setup| Arm::new(*stack, *setup, operation))
            })
            .collect()
    }
}

/// How much of everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// All studies together within five minutes on two cores.
    Quick,
    /// As often as the paper did.
    Full,
}

impl Scale {
    /// One number or the other.
    pub fn pick<T>(self, quick: T, full: T) -> T {
        match self {
            Self::Quick => quick,
            Self::Full => full,
        }
    }
}

/// One thing that is compared with others: who answers which call.
#[derive(Clone, Debug, PartialEq)]
pub struct Arm {
    /// Its name, the same at all points of a figure; what a figure's baseline names.
    pub name: String,
    /// The call.
    pub call: Call,
}

impl Arm {
    /// An arm that is named after its way.
    pub fn new(stack: Stack, setup: Setup, operation: Operation) -> Self {
        Self {
            name: setup.arm(),
            call: Call {
                stack,
                setup,
                operation,
            },
        }
    }
}

/// A place on the axes of a figure, and what is measured there.
#[derive(Clone, Debug)]
pub struct Point {
    /// The figure: [`Figure::shown_in`](super::Figure::shown_in).
    pub shown_in: &'static str,
    /// Its coordinates: `books` 2500, `source` memory. They make its name, with those of other
    /// points of the figure.
    pub at: BTreeMap<&'static str, String>,
    /// What is compared.
    pub arms: Vec<Arm>,
    /// How its arms are measured.
    pub procedure: Procedure,
}

/// How the arms of a point are measured.
#[derive(Clone, Copy, Debug)]
pub enum Procedure {
    /// In turns, in rows of at most ten calls; a repetition is the total of `requests` calls by
    /// their number. After a first call, whose time is a quantity of its own, and one that is
    /// weighed.
    Turns {
        /// Repetitions.
        repetitions: u32,
        /// Calls in a repetition.
        requests: u32,
    },
    /// In turns, too, but each repetition of an arm is a conversation of its own, whose handshake
    /// is part of its first call: a time of its own, and one of the `requests` calls whose
    /// total is told beside their mean. Arms without conversations have nothing to begin.
    Conversations {
        /// Repetitions.
        repetitions: u32,
        /// Calls in each.
        requests: u32,
    },
    /// Clients at once, each with `requests` calls one after another; in turns of all arms.
    Together {
        /// Clients.
        clients: u32,
        /// Calls of each.
        requests: u32,
        /// Repetitions: each gives one sample, the mean time of its calls.
        repetitions: u32,
    },
    /// At a steady rate, whether or not earlier calls have ended.
    Paced {
        /// Calls that begin in a second.
        per_second: f64,
        /// For how long.
        lasting: Duration,
    },
    /// Deployed anew each time: the first call, and the calls after it.
    Fresh {
        /// How often it is deployed.
        times: u32,
        /// Calls after each deployment.
        calls: u32,
    },
    /// By clients that were not there before: the first call of each, on what runs already.
    Newcomers {
        /// How many, one after the other.
        times: u32,
    },
    /// Deployed anew with the service's side in processes of its own, under a condition; each arm
    /// after the other.
    Under {
        /// What is short.
        condition: Condition,
        /// Clients at once.
        clients: u32,
        /// Calls of each in a repetition.
        requests: u32,
        /// Repetitions: each gives one sample of the mean time of calls, and one of their rate.
        repetitions: u32,
    },
    /// In front of providers of one service; the front is named by the arm. Arms in turns, each
    /// with a round of calls.
    Providers {
        /// What happens to the providers.
        trial: Trial,
        /// Clients at once.
        clients: u32,
        /// Calls of each in a round.
        requests: u32,
        /// Rounds: each gives one sample of each quantity, and one time of each call.
        repetitions: u32,
    },
    /// In turns, by clients that secure and open messages themselves: both spans of each call.
    ByTheClient {
        /// Repetitions.
        repetitions: u32,
    },
    /// In memory, bytes to bytes: what is done to the answer to each arm's call. One sample for
    /// each time.
    InMemory {
        /// What is done.
        step: Step,
        /// How often.
        repetitions: u32,
    },
    /// By the study's own means, in memory: it hands out lines without `study`, `experiment`,
    /// `shown_in` and `at`, which are filled in.
    Own(fn(&Point, &Scope, &mut dyn FnMut(Line))),
}
