//! Shopov and Kakanakov: what one implementation of WS-Security costs an echo, and a service that
//! reads a sensor.
//!
//! Four scenarios (TLS, encrypted, signed, signed and then encrypted) and four calls: echoes of 1
//! kB, 100 kB and 1 MB, and `getTemperature`, which waits for a sensor's controller. Table 1 has
//! columns of the same calls "+ processing", a span that the paper does not define. Experiment 2
//! measures two spans of one call at a client that secures and opens messages itself, and what
//! securing and opening both messages take in memory. The paper does not say either whether its TLS
//! keeps connections: experiment 1 has both. The rule kept here: numbers of the paper only.

mod conclusions;

use std::collections::BTreeMap;

use soapstone::wss::{Mechanism, Suite};

use super::in_memory::{Messages, Processing, Workbench};
use crate::papers::{Laid, Results, SHOPOV};
use crate::study::{
    Arm, Claim, Estimate, Experiment, Figure, Line, Operation, Paper, Point, Procedure, Quantity,
    Scope, Sensor, Setup, Shows, Stack, Study,
};

/// The study.
pub(super) const STUDY: Study = Study {
    name: "shopov2007",
    paper: Some(Paper {
        title: "Evaluation of a single WS-Security implementation",
        authors: "M. Shopov, N. Kakanakov",
        published: "Technical University of Sofia, Plovdiv branch",
        year: 2007,
        stack: "Apache Axis2 with WSS4J",
    }),
    experiments: &[CALLS, PROCESSING, OVERHEAD],
    claims: &[Claim {
        says: "the Security header is 78 % of a message that is signed and encrypted",
        experiment: 3,
        shown_in: "table-2",
        arm: "sign-encrypt/Basic128Rsa15",
        at: &[("call", "getTemperature")],
        paper: [78.11, 78.11],
        goal: None,
    }],
    conclusions: conclusions::ALL,
    numbers: &SHOPOV,
    results: &[Results {
        experiment: 1,
        shown_in: "table-1",
        source: "table-1",
        with: &[("statistic", "mean")],
        quantity: Quantity::Time,
        n: 101,
        suffix: "/Basic128Rsa15",
    }],
};

/// What WSS4J of that time took unless it was told otherwise: AES-128 in CBC mode, RSA 1.5, SHA-1.
const SUITE: &str = "Basic128Rsa15";

/// The scenarios with security in messages.
const SECURED: [Mechanism; 3] = [Mechanism::Encrypt, Mechanism::Sign, Mechanism::SignEncrypt];

/// What is called.
const CALLS_MADE: [(&str, Operation); 4] = [
    ("echo-1-kB", Operation::Echo { characters: 1_000 }),
    (
        "echo-100-kB",
        Operation::Echo {
            characters: 100_000,
        },
    ),
    (
        "echo-1-MB",
        Operation::Echo {
            characters: 1_000_000,
        },
    ),
    ("getTemperature", Operation::Temperature(Sensor::PROMPT)),
];

/// The same service where its sensor takes time, and where its requests get lost: the service asks
/// again after 250 ms.
const SENSORS: [(&str, Operation); 2] = [
    (
        "getTemperature-20-ms",
        Operation::Temperature(Sensor { delay: 20, lost: 0 }),
    ),
    (
        "getTemperature-20-ms-10-percent-lost",
        Operation::Temperature(Sensor {
            delay: 20,
            lost: 10,
        }),
    ),
];

const CALLS: Experiment = Experiment {
    number: 1,
    question: "What do TLS, encryption and signatures cost an echo, and a service that waits for a sensor?",
    figures: &[Figure {
        shown_in: "table-1",
        caption: "mean time of a call",
        lines: None,
        x: "call",
        logarithmic: true,
        shows: Shows::Itself(Quantity::Time, Estimate::Mean),
        reported: &[Laid::printed("table-1", &[("statistic", "mean")])],
    }],
    points: |scope| {
        let calls = CALLS_MADE.into_iter().chain(SENSORS);
        let mut points = points("table-1", scope, calls, scope.scale.pick(9, 101));
        for (point, (_, operation)) in points.iter_mut().zip(CALLS_MADE) {
            point.arms.extend(with_handshakes(scope, operation));
        }
        points
    },
};

/// TLS with a handshake in each call, from the client straight to what ends it.
fn with_handshakes(scope: &Scope, operation: Operation) -> impl Iterator<Item = Arm> {
    let stacks = scope.stacks.iter().filter_map(|stack| match stack {
        Stack::Soapstone => Some((*stack, Setup::DIRECT)),
        Stack::Tls | Stack::Cxf | Stack::Cxf35 | Stack::Gsoap | Stack::Metro | Stack::Wcf => {
            Some((*stack, Setup::PLAIN))
        }
        Stack::Wss4j | Stack::Xmlsec1 => None,
    });
    let arms = stacks.map(move |(stack, setup)| Arm::new(stack, setup.over_new_tls(), operation));
    arms.collect::<Vec<_>>().into_iter()
}

const PROCESSING: Experiment = Experiment {
    number: 2,
    question: "How long does a client wait for an answer, how long until it has opened it, and what does processing take alone?",
    figures: &[
        Figure {
            shown_in: "table-1-exchange",
            caption: "mean time of a call of a client that secures and opens messages itself, from the secured request to the answer",
            lines: None,
            x: "call",
            logarithmic: true,
            shows: Shows::Itself(Quantity::Exchange, Estimate::Mean),
            reported: &[Laid::printed("table-1", &[("statistic", "mean")])],
        },
        Figure {
            shown_in: "table-1-opened",
            caption: "the same until the answer was opened; the paper does not define its columns \"+ processing\", which stand beside it",
            lines: Some("table-1-exchange"),
            x: "call",
            logarithmic: true,
            shows: Shows::Itself(Quantity::Opened, Estimate::Mean),
            reported: &[Laid::printed(
                "table-1",
                &[("statistic", "mean with processing")],
            )],
        },
        Figure {
            shown_in: "table-1-processing",
            caption: "time that securing and opening both messages of a call take in memory",
            lines: None,
            x: "call",
            logarithmic: true,
            shows: Shows::Itself(Quantity::Processor, Estimate::Mean),
            reported: &[],
        },
    ],
    points: |scope| {
        let spans = points("table-1-exchange", scope, CALLS_MADE, 1);
        let spans = spans.into_iter().map(|point| Point {
            procedure: Procedure::ByTheClient {
                repetitions: scope.scale.pick(9, 101),
            },
            ..point
        });
        let point = |(call, _): (&str, Operation)| Point {
            shown_in: "table-1-processing",
            at: BTreeMap::from([("call", call.to_owned())]),
            arms: Vec::new(),
            procedure: Procedure::Own(processing),
        };
        spans.chain(CALLS_MADE.map(point)).collect()
    },
};

const OVERHEAD: Experiment = Experiment {
    number: 3,
    question: "How much larger do headers make messages?",
    figures: &[
        Figure {
            shown_in: "table-2",
            caption: "how much of request and response is their Security header; the paper's values stand beside the smallest messages, as its own are smaller than an echo of 1 kB",
            lines: None,
            x: "call",
            logarithmic: false,
            shows: Shows::Portion {
                of: Quantity::Header,
                whole: Quantity::Secured,
                by: Estimate::Mean,
            },
            // The paper does not say which message it weighed. Signed, it has 856 bytes without its
            // header: fewer than an echo of 1 kB.
            reported: &[Laid::printed("table-2", &[("statistic", "share")])
                .at(&[("call", "getTemperature")])],
        },
        Figure {
            shown_in: "message-growth",
            caption: "beyond the paper: how much of request and response is there for security only, the growth by ciphers included",
            lines: None,
            x: "call",
            logarithmic: false,
            shows: Shows::Overhead {
                of: Quantity::Secured,
                by: Estimate::Mean,
                baseline: "none",
            },
            reported: &[],
        },
    ],
    points: |scope| {
        let weighed = |(call, _): (&str, Operation)| Point {
            shown_in: "table-2",
            at: BTreeMap::from([("call", call.to_owned())]),
            arms: Vec::new(),
            procedure: Procedure::Own(headers),
        };
        // Sizes do not vary: one call is as good as 101.
        let grown = points("message-growth", scope, CALLS_MADE, 1);
        CALLS_MADE.map(weighed).into_iter().chain(grown).collect()
    },
};

/// A point for each call: the ways of the paper beside plain ones.
fn points(
    shown_in: &'static str,
    scope: &Scope,
    calls: impl IntoIterator<Item = (&'static str, Operation)>,
    repetitions: u32,
) -> Vec<Point> {
    let secured = SECURED.map(|mechanism| Setup::secured(mechanism, SUITE));
    let setups = [
        &[Setup::DIRECT, Setup::PLAIN, Setup::PLAIN.over_tls()],
        &secured[..],
    ]
    .concat();
    let point = |(call, operation): (&str, Operation)| Point {
        shown_in,
        at: BTreeMap::from([("call", call.to_owned())]),
        arms: scope.arms(&setups, operation),
        procedure: Procedure::Turns {
            repetitions,
            requests: 1,
        },
    };
    calls.into_iter().map(point).collect()
}

/// Weighs the messages of the point's call and their Security headers.
fn headers(point: &Point, _scope: &Scope, emit: &mut dyn FnMut(Line)) {
    each_secured(point, |processing, messages, arm| {
        processing.weigh(messages, arm, emit);
    });
}

/// Secures and opens the request and the response of the point's call.
fn processing(point: &Point, scope: &Scope, emit: &mut dyn FnMut(Line)) {
    each_secured(point, |processing, messages, arm| {
        processing.measure(messages, scope.scale, arm, emit);
    });
}

/// Does something with the messages of the point's call under each mechanism.
fn each_secured(point: &Point, mut work: impl FnMut(&Processing, &Messages, &str)) {
    let called = point.at.get("call").map_or("", String::as_str);
    let Some((_, operation)) = CALLS_MADE.into_iter().find(|it| it.0 == called) else {
        return;
    };
    let messages = Messages::of(operation);
    let suite = Suite::named(SUITE).expect("a suite that there is");
    let workbench = Workbench::new();
    for mechanism in SECURED {
        let arm = Setup::secured(mechanism, SUITE).arm();
        work(
            &workbench.processing(mechanism, &suite, |_| ()),
            &messages,
            &arm,
        );
    }
}
